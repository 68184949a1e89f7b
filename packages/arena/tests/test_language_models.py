"""Language models as players: a real endpoint on localhost with scripted answers."""

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import textgames
from textgames.compiled.oracle import solve_game
from textgames.errors import InputError
from textgames_arena.__main__ import main
from textgames_arena.llm import Answer, Answers, Endpoint, Options, Prompt, TextMatch
from textgames_arena.match import Match
from textgames_arena.players import ModelPlayer
from textgames_arena.tournament import read_all

pytest.importorskip("openai", reason="openai is not installed")
KEY = "secret-key-0123456789"


class Server(ThreadingHTTPServer):
    """Answers each request with the next (status, body, headers) of a script, then the last."""

    daemon_threads = True

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = list(script)
        self.requests = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        assert isinstance(server, Server)
        server.requests.append((self.path, body, self.headers.get("Authorization")))
        step = server.script.pop(0) if len(server.script) > 1 else server.script[0]
        status, content, headers = step
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def reply(text, status=200, **headers):
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    return status, {"choices": [{"message": {"content": text}}], "usage": usage}, headers


@contextmanager
def serving(*script):
    server = Server(script)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def ask(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def ask_server(server, retries=0, timeout=5.0):
        options = Options(Path(), endpoint=server.url, timeout=timeout, retries=retries)
        return Endpoint("tiny", options).answer("Which?", 0)

    return ask_server


def test_an_answer_has_its_text_and_tokens(ask):
    with serving(reply("2")) as server:
        answer = ask(server)
        assert (answer.text, answer.tokens) == ("2", (7, 2))
        path, body, authorization = server.requests[0]
    assert path == "/v1/chat/completions"
    assert body["model"] == "tiny" and body["messages"][0]["content"] == "Which?"
    assert authorization == f"Bearer {KEY}"


def test_an_error_that_may_pass_is_retried(ask):
    failures = [reply("", status, **{"Retry-After": "0.001"}) for status in (429, 500)]
    with serving(*failures, reply("1")) as server:
        assert ask(server, retries=2).text == "1"
        assert len(server.requests) == 3
    with serving(failures[0]) as server:
        with pytest.raises(InputError, match="429"):
            ask(server, retries=1)
        assert len(server.requests) == 2


UNREADABLE = [b"{broken", b"[" * 100_000, b"{}", b'{"choices": []}', reply(None)[1]]


@pytest.mark.parametrize("body", UNREADABLE, ids=[str(body)[:20] for body in UNREADABLE])
def test_an_unreadable_reply_is_an_empty_answer(body, ask):
    for kind in ("application/json", "text/plain"):
        with serving((200, body, {"Content-Type": kind})) as server:
            assert ask(server).text == ""


@pytest.mark.parametrize("status", [401, 500])
def test_a_refusal_is_one_sentence_without_the_key(status, ask):
    echo: Any = (status, {"error": {"message": f"{'x' * 190} {KEY}"}}, {})
    with serving(echo) as server, pytest.raises(InputError, match=str(status)) as error:
        ask(server)
    assert KEY[:5] not in str(error.value) and error.value.__cause__ is None


def test_a_key_that_a_server_repeats_is_removed_and_never_sent_to_another_server(ask):
    with serving(reply(f"1 {KEY}")) as server:
        assert KEY not in ask(server).text
        with serving((307, b"", {"Location": f"{server.url}/chat/completions"})) as first:
            ask(first)
        assert server.requests[-1][2] is None


def test_a_key_may_end_with_a_line_break_but_not_contain_one(ask, monkeypatch):
    with serving(reply("1")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
        assert ask(server).text == "1"
        assert server.requests[0][2] == f"Bearer {KEY}"
        for key in (f"{KEY}\nX", "schlüssel"):
            monkeypatch.setenv("OPENAI_API_KEY", key)
            with pytest.raises(InputError, match="OPENAI_API_KEY") as error:
                ask(server)
            assert key not in str(error.value)


def test_an_endpoint_out_of_reach_is_one_sentence(ask):
    with serving(reply("1")) as server:
        url = server.url
    with pytest.raises(InputError, match=url):
        ask(server)


def test_an_endpoint_needs_the_package_openai(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(InputError, match=r"pip install openai"):
        Endpoint("tiny", Options(Path(), endpoint="http://localhost/v1"))


@pytest.mark.parametrize("url", ["ftp://x", "localhost", "http://[::1", "http://user:pass@host/v1"])
def test_a_bad_url_is_one_sentence(url, ask, tmp_path, capsys):
    command = ["arena", "long-watch", "--player", "llm:tiny", "--episodes", "1"]
    assert main([*command, "--out", str(tmp_path), "--endpoint", url]) == 2
    error = capsys.readouterr().err
    assert "endpoint" in error and "Traceback" not in error and "pass@" not in error


def test_the_prompt_has_the_page_its_history_and_numbered_actions():
    match = Match(solve_game(textgames.make("long-watch")), history=1)
    first = match.start(0)
    text = Prompt().fill(match)
    assert first.text in text and f"1. {first.actions[0]}" in text and "Earlier" not in text
    match.decide(0)
    text = Prompt().fill(match)
    assert f"Earlier: {first.text}\n> {first.actions[0]}" in text


@pytest.mark.parametrize("text", ["$page", "$page $actions $nothing", "$page $actions $"])
def test_a_prompt_without_its_fields_is_refused(text, tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_text(text)
    with pytest.raises(InputError, match="page"):
        Prompt(path)


def test_answers_are_cached_by_prompt_and_survive_a_cut_line(ask, tmp_path):
    path = tmp_path / "answers/tiny.jsonl"
    match = Match(solve_game(textgames.make("diagnostic:memory/1")))
    with serving(reply("1")) as server:
        for temperature in (0, 0.0):
            options = Options(tmp_path, endpoint=server.url, temperature=temperature)
            model = ModelPlayer("tiny", "tiny", options)
            match.start(0)
            assert model.choose(match) == "1"
            assert match.tokens == [(7, 2)]
        assert len(server.requests) == 1
        with path.open("a") as file:
            file.write('{"key": "cut')
        answers = Answers(path)
        answers.add("other", Answer("2"))
    assert Answers(path).get("other") == Answer("2")
    assert KEY not in path.read_text()


ANSWERS = [
    reply("1"),
    reply("99"),
    reply("I think action 2 is best."),
    reply(""),
    (200, b"{broken", {}),
    reply("", 429, **{"Retry-After": "0.001"}),
    reply("1"),
]


def test_a_tournament_counts_unreadable_answers_and_never_writes_the_key(ask, tmp_path, capsys):
    with serving(*ANSWERS) as server:
        command = ["arena", "long-watch", "diagnostic:memory/1", "--player", "llm:tiny", "random"]
        command += ["--endpoint", server.url, "--episodes", "3", "--out", str(tmp_path)]
        assert main([*command, "--temperature", "1", "--concurrency", "2"]) == 0
        asked = len(server.requests)
        assert main([*command, "--temperature", "1"]) == 0
        assert len(server.requests) == asked  # nothing is played again
    rows = [each for each in read_all(tmp_path) if each.player == "llm:tiny"]
    decisions = [d for each in rows for r in each.results for d in r.decisions]
    unread = [decision for decision in decisions if not decision.readable]
    assert 0 < len(unread) < len(decisions)
    assert all(sum(r.tokens) > 0 for each in rows for r in each.results)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and all(KEY not in path.read_text() for path in files)
    assert KEY not in "".join(capsys.readouterr())


ANSWERED = 12  # more than the decisions of one match, fewer than those of four


def test_an_interrupted_tournament_keeps_its_matches_and_answers(ask, tmp_path, capsys):
    script = [reply("1")] * ANSWERED + [reply("no", 401)]
    command = ["arena", "long-watch", "--player", "llm:tiny", "--episodes", "4"]
    command += ["--out", str(tmp_path), "--temperature", "1", "--concurrency", "1"]
    with serving(*script) as server:
        assert main([*command, "--endpoint", server.url]) == 2
    assert "401" in capsys.readouterr().err
    (rows,) = read_all(tmp_path)
    assert 0 < len(rows.results) < 4
    path = tmp_path / "answers/tiny.jsonl"
    cached = len(Answers(path))
    assert cached == ANSWERED
    with serving(reply("1")) as server:
        assert main([*command, "--endpoint", server.url]) == 0
        asked = len(server.requests)
    (rows,) = read_all(tmp_path)
    assert [result.seed for result in rows.results] == [0, 1, 2, 3]
    assert asked + cached == sum(len(result.decisions) for result in rows.results)
    assert len(Answers(path)) == asked + cached


# --- matches of texts, as examples/arena plays them in other frameworks


@pytest.mark.parametrize("rewards", ["game", "advantage"])
def test_a_match_of_texts_pays_the_games_rewards_or_minus_the_regret(rewards):
    match = TextMatch("long-watch", rewards)
    match.start(3)
    total = 0.0
    while not match.over:
        assert "Actions:" in match.text
        total += match.answer("1")
    facts = match.facts()
    assert total == pytest.approx(facts["score"] if rewards == "game" else -facts["total_regret"])
    assert facts["readable"] == facts["decisions"] > 1


def test_another_match_has_its_own_episode_and_is_not_solved_again(monkeypatch):
    first = TextMatch("long-watch")
    monkeypatch.setattr("textgames_arena.llm.solve_game", None)
    second = first.another()
    first.start(3)
    second.start(3)
    page = second.text
    first.answer("1")
    assert second.text == page and not second.decisions
    while not second.over:
        second.answer("1")
    assert second.facts()["score"] != 0
