"""Play-tests on the page: the report, the map with its pages and odds, and the saved result."""

import asyncio
import time
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from storytest.map.story_map import story_map
from tests.machine import Machine
from tests.page_client import client_of, upload
from tests.stories import FORK, REWARDS
from textgames.compiled.compile import compile_game
from textgames.compiled.solve import best, random_play
from textgames.errors import InputError
from textgames.openers import GameSpec
from textgames_page.async_service import AsyncService
from textgames_page.library import GameEntry, Library
from textgames_page.playtest_worker import PlayTestWorker, map_data
from textgames_page.services import Services

pytest.importorskip("starlette")


def probabilities(findings, field="probability"):
    return {ending["name"]: ending[field]["mean"] for ending in findings["endings"]}


def worker_of(game):
    worker = PlayTestWorker(GameSpec("fork"))
    worker.game = game
    return worker


def test_the_odds_from_the_first_page_are_those_of_the_story(fork):
    compiled = compile_game(fork)
    start = worker_of(fork).page(0)
    findings = start["findings"]
    random_reward = findings["random"]["final_reward"]["mean"]
    assert random_reward == pytest.approx(random_play(compiled).final_reward)
    assert findings["best"]["final_reward"]["mean"] == pytest.approx(best(compiled).score)
    assert probabilities(findings, "best") == {"Island": 1.0, "Home": 0.0}
    assert start["path"]["actions"] == []


def test_from_the_water_two_thirds_of_random_games_reach_the_island(fork):
    worker = worker_of(fork)
    page = worker.page(worker.map.labels.index("Grey"))
    # x = 1/2 + 1/2 · (1/2 x)
    assert probabilities(page["findings"]) == {
        "Island": pytest.approx(2 / 3),
        "Home": pytest.approx(1 / 3),
    }
    assert (page["path"]["actions"], page["texts"]) == (["Go out."], ["You are out on the water."])


def test_the_map_has_the_links_of_each_page(fork):
    data = map_data(story_map(compile_game(fork)))
    labels = [page["label"] for page in data["pages"]]
    links = {(labels[link["from"]], labels[link["to"]]): link["actions"] for link in data["links"]}
    assert links == {
        ("Start", "Grey"): ["Go out."],
        ("Start", "Home"): ["Stay in."],
        ("Grey", "Start"): ["Turn back."],
        ("Grey", "Island"): ["Row on."],
    }
    assert [page["label"] for page in data["pages"] if page["ending"]] == ["Home", "Island"]


def test_odds_of_sampled_games_are_near_the_exact_ones(fork):
    findings = worker_of(fork).sampled_page(["Go out."], seconds=60)
    assert probabilities(findings)["Island"] == pytest.approx(2 / 3, abs=0.1)
    assert findings["random"]["games"] == 300
    assert worker_of(fork).sampled_page(["Fly."])["random"] is None


def wait_for(client, test, condition):
    while not condition(data := client.get(test).json()):
        time.sleep(0.1)
    return data


def test_a_story_is_tested_in_a_process_and_its_report_outlives_the_server(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path / "home"))
    toml = 'story = "fork.twee"\n' + REWARDS + '[[expect]]\nreachable = "Island"\n'
    with client_of(tmp_path / "runs") as client:
        game = upload(client, "fork.twee", FORK, ("fork.toml", toml)).json()["game"]["id"]
        test = f"/api/tests/{game}"
        assert client.get(test).status_code == 404
        assert client.post(test, json={"seconds": 0}).status_code == 400
        assert client.post(test, json={"seconds": 3}).status_code == 201
        assert client.post(test).status_code == 409  # it is running
        assert client.get(f"{test}/map").status_code == 404
        data = wait_for(client, test, lambda data: data["status"] != "running")
        assert data["status"] == "done"
        check_report(client, test)
    with client_of(tmp_path / "runs") as other:  # the server was started again
        check_report(other, test)


def check_report(client, test):
    report = client.get(test).json()["report"]
    assert (report["exact"], report["source"]) == (True, "fork.twee")
    assert report["passages"] == {"count": 4, "total": 4}
    assert report["expectations"][0]["status"] == "passed"
    pages = client.get(f"{test}/map").json()["pages"]
    island = next(page["page"] for page in pages if page["label"] == "Island")
    assert client.get(f"{test}/pages/{island}").json()["texts"] == ["An island, with figs."]
    assert client.get(f"{test}/pages/99").status_code == 404
    assert client.get(f"{test}/pages/-1").status_code == 404
    svg = client.get(f"{test}/map.svg")
    assert svg.headers["content-type"].startswith("image/svg+xml") and "<style" not in svg.text
    assert "figs" in client.get(f"{test}/report.html").text


@pytest.mark.full
def test_a_stopped_play_test_reports_its_results(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path / "home"))
    endless = ":: Start\nA hall. <<set $n to random(1, 9999999)>><<print $n>>\n\n"
    endless += "[[On.|Start]]\n[[Off.|End]]\n\n:: End\nOut.\n"
    with client_of(tmp_path / "runs") as client:
        game = upload(client, "hall.twee", endless).json()["game"]["id"]
        test = f"/api/tests/{game}"
        client.post(test, json={"seconds": 120})
        wait_for(client, test, lambda data: "games" in data["progress"])
        client.post(f"{test}/stop")
        data = wait_for(client, test, lambda data: data["status"] != "running")
        assert (data["status"], data["report"]["interrupted"]) == ("done", True)
        page = client.get(f"{test}/pages/0").json()
        assert page["findings"]["random"]["games"] >= 10
        assert probabilities(page["findings"])["End"] == pytest.approx(1.0)


def test_an_inspection_is_repeated_after_a_timeout_but_not_after_an_error(tmp_path, monkeypatch):
    answers: dict[str, list[Any]] = {
        "slow": [HTTPException(503, "This took longer."), {"exact": True}],
        "large": [InputError("too many states")],
    }
    requests = []

    async def ask(service, method, timeout):
        (spec,) = service._arguments
        game = spec.source
        requests.append(game)
        answer = answers[game].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def inspect():
        services = Services(Library(), tmp_path)
        slow = GameEntry("slow", "Slow", "given", GameSpec("slow"), "slow")
        large = GameEntry("large", "Large", "given", GameSpec("large"), "large")
        both = await asyncio.gather(services.inspect(slow), services.inspect(slow))
        assert both[0] == both[1]  # one process for simultaneous requests
        assert both[0][0] is None and "60 seconds" in str(both[0][1])
        for _ in range(2):
            assert await services.inspect(slow) == ({"exact": True}, None)
            _, error = await services.inspect(large)
            assert error is not None and "too many states" in error

    monkeypatch.setattr(AsyncService, "ask", ask)
    asyncio.run(inspect())
    assert requests == ["slow", "slow", "large"]


def test_a_service_of_the_event_loop_reports_and_starts_again_after_its_process_died():
    heard: list[int] = []

    async def ask():
        service = AsyncService(Machine, on_report=heard.append)
        assert await service.ask("count", 2, timeout=60) == "done"
        assert service._service is not None
        service._service.process.kill()
        both = [service.ask("add", number, 1, timeout=60) for number in (2, 3)]
        assert await asyncio.gather(*both) == [3, 4]  # by a new process
        with pytest.raises(InputError, match="line 3"):
            await service.ask("refuse", timeout=60)
        for method, arguments, status in (("fail", (), 500), ("sleep", (99,), 503)):
            with pytest.raises(HTTPException) as error:
                await service.ask(method, *arguments, timeout=1)
            assert error.value.status_code == status
        waiting = [asyncio.create_task(service.ask("sleep", 99, timeout=60)) for _ in range(2)]
        await asyncio.sleep(0.1)
        service.close()
        errors: list[Any] = await asyncio.gather(*waiting, return_exceptions=True)
        assert [error.status_code for error in errors] == [503, 503]

    asyncio.run(ask())
    assert heard == [0, 1]
