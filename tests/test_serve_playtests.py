"""Play-tests on the page: their report, the map with its places and odds, and what is kept of them."""

import asyncio
import json
import time
from types import SimpleNamespace

import pytest

from drrn.compiled.compile import compile_game
from drrn.compiled.solve import best, random_play
from drrn.errors import InputError
from drrn.game.episodes import random_policy
from drrn.game.make import make
from drrn.serve.http import RequestError
from drrn.serve.playtest_worker import SolvedMap, map_payload, sampled_odds, seen_pages
from drrn.serve.playtests import RETRY_SECONDS, TOO_LONG, FactsTable, PlayTest
from drrn.stories.map.story_map import story_map
from drrn.stories.playtest.playtest import StoryTest
from tests.small_server import client_of, uploaded
from tests.small_stories import FORK, REWARDS

pytest.importorskip("starlette")


def test_the_odds_from_the_first_place_are_those_of_the_story(fork):
    compiled = compile_game(fork)
    places = SolvedMap(compiled)
    start = places.page(0)
    assert start["label"] == "Start"
    assert start["odds"]["random"]["score"] == pytest.approx(random_play(compiled).final_reward)
    assert start["odds"]["best"]["score"] == pytest.approx(best(compiled).score)
    assert [(one["label"], one["actions"]) for one in start["after"]] == [
        ("Grey", ["Go out."]),
        ("Home", ["Stay in."]),
    ]
    assert [one["label"] for one in start["before"]] == ["Grey"]
    assert start["path"]["actions"] == ()


def test_from_the_water_half_of_random_play_finds_the_island_at_once(fork):
    places = SolvedMap(compile_game(fork))
    number = places.drawing.labels.index("Grey")
    grey = places.page(number)
    odds = {ending["name"]: ending["odds"] for ending in grey["odds"]["random"]["endings"]}
    assert odds == {
        "Island": pytest.approx(2 / 3),
        "Home": pytest.approx(1 / 3),
    }  # x = 1/2 + 1/2 · (1/2 x)
    assert (grey["path"]["actions"], grey["texts"]) == (("Go out.",), ["You are out on the water."])


@pytest.mark.parametrize("name", ["long-watch", "home-world"])
def test_places_are_numbered_as_the_map_numbers_them(name):
    compiled = compile_game(make(name))
    drawing = story_map(compiled)
    for state in range(0, len(compiled), 7):
        if not compiled.ended[state]:
            assert drawing.labels[drawing.node_of_state[state]] == compiled.label(state)
    assert len(set(drawing.node_of_state.tolist())) == len(drawing.labels)


def test_a_map_of_what_was_seen_has_places_too(fork):
    test = StoryTest(fork, 1.0)
    test.run()
    test.solution = None
    drawn = test.story_map()
    seen = seen_pages(drawn, test.evidence)
    assert [one["label"] for one in seen] == [page["label"] for page in map_payload(drawn)["pages"]]
    island = next(one for one in seen if one["label"] == "Island")
    assert (tuple(island["path"]["actions"]), island["exact"]) == (("Go out.", "Row on."), False)
    assert (island["texts"], island["before"][0]["label"]) == (["An island, with figs."], "Grey")


def test_odds_by_games_are_near_the_exact_ones(fork):
    found = sampled_odds(fork, ["Go out."], random_policy(0), seconds=60)
    odds = {ending["name"]: ending["odds"] for ending in found["endings"]}
    assert (found["games"], odds["Island"]) == (300, pytest.approx(2 / 3, abs=0.1))
    assert sampled_odds(fork, ["Fly."], random_policy(0), seconds=0) is None


def test_a_story_is_tested_in_a_process_and_its_report_outlives_the_server(tmp_path, monkeypatch):
    monkeypatch.setenv("DRRN_HOME", str(tmp_path / "home"))
    toml = 'story = "fork.twee"\n' + REWARDS + '[[expect]]\nreachable = "Island"\n'
    with client_of(tmp_path / "runs") as client:
        game = uploaded(client, "fork.twee", FORK, ("fork.toml", toml)).json()["game"]["id"]
        assert client.get(f"/api/tests?game={game}").json() == {"tests": []}
        assert client.post("/api/tests", json={"game": game, "seconds": 0}).status_code == 400
        begun = client.post("/api/tests", json={"game": game, "seconds": 3}).json()
        assert client.post("/api/tests", json={"game": game}).status_code == 409  # it is under way
        with client.stream("GET", f"/api/tests/{begun['id']}/events") as stream:
            events = [line for line in stream.iter_lines() if line.startswith(("event", "data"))]
        assert events[-2] == "event: done"
        assert json.loads(events[-1].removeprefix("data: "))["status"] == "done"
        check_report(client, begun["id"])
    with client_of(tmp_path / "runs") as other:  # the server was started again
        kept = other.get(f"/api/tests?game={game}").json()["tests"][0]
        assert kept["id"] == begun["id"]
        check_report(other, kept["id"])


def check_report(client, test):
    report = client.get(f"/api/tests/{test}").json()["report"]
    assert (report["exact"], report["passages"], report["source"]) == (
        True,
        {"count": 4, "total": 4},
        "fork.twee",
    )
    assert report["expectations"][0]["status"] == "passed"
    places = client.get(f"/api/tests/{test}/map").json()["pages"]
    island = next(page["page"] for page in places if page["label"] == "Island")
    assert client.get(f"/api/tests/{test}/pages/{island}").json()["texts"] == [
        "An island, with figs."
    ]
    assert client.get(f"/api/tests/{test}/pages/99").status_code == 404
    assert client.get(f"/api/tests/{test}/pages/-1").status_code == 404
    svg = client.get(f"/api/tests/{test}/map.svg")
    assert svg.headers["content-type"].startswith("image/svg+xml") and "<style" not in svg.text
    assert "figs" in client.get(f"/api/tests/{test}/report.html").text


def test_a_play_test_that_is_stopped_tells_what_it_found(tmp_path, monkeypatch):
    monkeypatch.setenv("DRRN_HOME", str(tmp_path / "home"))
    endless = ":: Start\nA hall. <<set $n to random(1, 9999999)>><<print $n>>\n\n[[On.|Start]]\n[[Off.|End]]\n"
    endless += "\n:: End\nOut.\n"
    with client_of(tmp_path / "runs") as client:
        game = uploaded(client, "hall.twee", endless).json()["game"]["id"]
        test = client.post("/api/tests", json={"game": game, "seconds": 120}).json()["id"]
        while "games" not in client.get(f"/api/tests/{test}").json()["progress"]:
            time.sleep(0.1)
        client.post(f"/api/tests/{test}/stop")
        while (told := client.get(f"/api/tests/{test}").json())["status"] == "running":
            time.sleep(0.1)
        assert (told["status"], told["report"]["interrupted"]) == ("done", True)


# --- what a game is in a few numbers


def test_a_time_out_is_asked_again_after_a_while_and_a_reason_in_the_story_is_kept(monkeypatch):
    said = [
        RequestError(503, "This took longer."),
        {"pages": 3},
        InputError("too many states"),
        {"pages": 4},
    ]
    told, clock = [], [100.0]

    def ask(test, method, timeout):
        told.append(test.entry.id)
        found = said.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    async def looked():
        table, slow, large = FactsTable(), SimpleNamespace(id="slow"), SimpleNamespace(id="large")
        first = await asyncio.gather(table.of(slow), table.of(slow))
        soon = await table.of(slow)
        clock[0] += RETRY_SECONDS + 1
        return (
            first,
            soon,
            await table.of(slow),
            await table.of(large),
            await table.of(large),
            await table.of(slow),
        )

    monkeypatch.setattr(PlayTest, "ask", ask)
    monkeypatch.setattr("drrn.serve.playtests.time", SimpleNamespace(monotonic=lambda: clock[0]))
    first, soon, later, large, still_large, kept = asyncio.run(looked())
    assert first == [(None, TOO_LONG)] * 2 and soon == first[0]  # one process for all who ask
    assert later == kept == ({"pages": 3}, None)
    assert large == still_large == (None, "Its states cannot all be counted. too many states")
    assert told == ["slow", "slow", "large"]
