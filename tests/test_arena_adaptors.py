"""Adaptors of the arena, against the real packages: a whole episode has our score."""

import asyncio
import json
import shutil
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from drrn.arena import adaptors
from drrn.arena.adaptors import TextMatch

GAME = "long-watch"
SEED = 3


def expected(rewards="game"):
    match = TextMatch(GAME, rewards)
    match.start(SEED)
    total = 0.0
    while not match.over:
        total += match.answer("1")
    return total, match.facts()


def test_the_advantages_of_an_episode_are_minus_its_regret():
    total, facts = expected("advantage")
    assert total == pytest.approx(-facts["total_regret"])
    assert facts["readable"] == facts["decisions"] > 1


def test_another_match_has_its_own_episode_and_is_not_solved_again(monkeypatch):
    first = TextMatch(GAME)
    monkeypatch.setattr(adaptors, "solve_game", None)
    second = first.another()
    first.start(SEED)
    second.start(SEED)
    page = second.text
    first.answer("1")
    assert second.text == page and not second.decisions
    total = 0.0
    while not second.over:
        total += second.answer("1")
    assert total == second.facts()["score"] != 0


@pytest.mark.parametrize("rewards", ["game", "advantage"])
def test_textarena_plays_a_whole_episode(rewards):
    ta = pytest.importorskip("textarena", reason="textarena is not installed")
    import drrn.arena.adaptors.textarena  # noqa: F401

    env = ta.make("drrn/long-watch-v0", rewards=rewards)
    env.reset(num_players=1, seed=SEED)
    done = False
    while not done:
        player, observation = env.get_observation()
        assert player == 0 and "Actions:" in observation[-1][1]
        done, info = env.step("1")
    scores, _ = env.close()
    total, facts = expected(rewards)
    assert scores[0] == pytest.approx(total)
    assert info["total_regret"] == pytest.approx(facts["total_regret"])


@contextmanager
def openenv_server(app):
    """Serve an app on a free port; yield its URL."""
    uvicorn = pytest.importorskip("uvicorn")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.slow
def test_openenv_serves_a_whole_episode_to_its_client(monkeypatch):
    pytest.importorskip("openenv.core", reason="openenv-core is not installed")
    monkeypatch.setenv("DRRN_GAME", GAME)
    from drrn.arena.adaptors import openenv

    total = 0.0
    with openenv_server(openenv.app) as url, openenv.SolvedClient(base_url=url).sync() as client:
        result = client.reset(seed=SEED)
        while not result.done:
            assert "Actions:" in result.observation.text and result.observation.actions
            result = client.step(openenv.Answer(text="1"))
            total += result.reward
        assert client.state()["step_count"] == result.observation.facts["decisions"]
    score, facts = expected()
    assert total == pytest.approx(score)
    assert result.observation.facts["total_regret"] == pytest.approx(facts["total_regret"])


def test_verifiers_plays_a_whole_episode_with_a_scripted_agent(monkeypatch):
    pytest.importorskip("verifiers.v1", reason="verifiers is not installed")
    from drrn.arena.adaptors import verifiers

    env = verifiers.load_environment(f"drrn-{GAME}", episodes=SEED + 1)
    task = list(env.taskset)[SEED]
    rewards = {}
    trace = SimpleNamespace(
        info={}, record_reward=lambda name, x, weight: rewards.update({name: x})
    )

    class Player:
        trace_ = trace

        @asynccontextmanager
        async def interaction(self, task):
            prompts = [task.data.prompt]

            async def turn(message=None):
                prompts.append(message)
                assert "Actions:" in (message or prompts[0])
                return SimpleNamespace(terminated=False, last_reply="1")

            yield SimpleNamespace(turn=turn, trace=trace)

    solved: list[object] = []
    monkeypatch.setattr(adaptors, "solve_game", solved.append)
    asyncio.run(env.run(task, SimpleNamespace(player=Player())))
    assert not solved  # the taskset has solved the game
    monkeypatch.undo()
    total, facts = expected()
    assert rewards["return"] == pytest.approx(total)
    assert trace.info["arena"] == facts


class ChatServer(BaseHTTPRequestHandler):
    """An endpoint that streams the answer "1" to every question."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        part = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
        answer = {"index": 0, "delta": {"role": "assistant", "content": "1"}, "finish_reason": None}
        choices = [[answer], [{"index": 0, "delta": {}, "finish_reason": "stop"}]]
        events = [json.dumps({**part, "choices": each}) for each in choices]
        data = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.mark.slow
@pytest.mark.parametrize("rewards", ["game", "advantage"])
def test_verifiers_plays_a_whole_episode_against_an_endpoint(rewards, monkeypatch):
    vf = pytest.importorskip("verifiers.v1", reason="verifiers is not installed")
    if shutil.which("uv") is None:
        pytest.skip("verifiers runs its chat program by uv, which is not installed")
    from drrn.arena.adaptors import verifiers

    env = verifiers.load_environment(f"drrn-{GAME}", episodes=SEED + 1, rewards=rewards)
    (slot,) = env.slots(list(env.taskset)[SEED])
    server = ThreadingHTTPServer(("127.0.0.1", 0), ChatServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    url = f"http://127.0.0.1:{server.server_port}/v1"
    client = vf.EvalClientConfig(base_url=url, api_key_var="OPENAI_API_KEY")

    async def play():
        async with env.serving():
            return await env.run_slot(slot, vf.ModelContext(model="tiny", client=client))

    episode = asyncio.run(play())
    server.shutdown()
    server.server_close()
    if any("uv script" in error.message for error in episode.errors):
        pytest.skip("uv cannot install the packages of the chat program")
    assert episode.ok, episode.errors
    (trace,) = episode.traces
    total, facts = expected(rewards)
    assert trace.rewards["return"].score == pytest.approx(total)
    assert trace.info["arena"] == facts
