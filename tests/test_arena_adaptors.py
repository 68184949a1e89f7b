"""Solved games in other frameworks (examples/arena): a whole episode has our score."""

import asyncio
import importlib
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from textgames_arena import llm
from textgames_arena.llm import TextMatch

FOLDER = Path(__file__).parents[1] / "examples/arena"

GAME = "long-watch"
SEED = 3


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)


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
    monkeypatch.setattr(llm, "solve_game", None)
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
    importlib.import_module("textarena_game")

    env = ta.make("drrn/Game-v0", game=GAME, rewards=rewards)
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


def test_openenv_serves_a_whole_episode_to_its_client(monkeypatch):
    pytest.importorskip("openenv.core", reason="openenv-core is not installed")
    monkeypatch.setenv("DRRN_GAME", GAME)
    openenv_game = importlib.import_module("openenv_game")

    total = 0.0
    with (
        openenv_server(openenv_game.app) as url,
        openenv_game.SolvedClient(base_url=url).sync() as client,
    ):
        result = client.reset(seed=SEED)
        while not result.done:
            assert "Actions:" in result.observation.text and result.observation.actions
            result = client.step(openenv_game.Answer(text="1"))
            total += result.reward
        assert client.state()["step_count"] == result.observation.facts["decisions"]
    score, facts = expected()
    assert total == pytest.approx(score)
    assert result.observation.facts["total_regret"] == pytest.approx(facts["total_regret"])


def test_verifiers_plays_a_whole_episode_with_a_scripted_agent(monkeypatch):
    pytest.importorskip("verifiers.v1", reason="verifiers is not installed")
    drrn_arena = importlib.import_module("drrn_arena")

    env = drrn_arena.load_environment(f"drrn-{GAME}", episodes=SEED + 1)
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
    monkeypatch.setattr(llm, "solve_game", solved.append)
    asyncio.run(env.run(task, SimpleNamespace(player=Player())))
    assert not solved  # the taskset has solved the game
    monkeypatch.undo()
    total, facts = expected()
    assert rewards["return"] == pytest.approx(total)
    assert trace.info["arena"] == facts
