"""Adaptors of the arena, against the real packages: a whole episode has our score."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

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


def test_openenv_serves_a_whole_episode(monkeypatch):
    pytest.importorskip("openenv.core", reason="openenv-core is not installed")
    testclient = pytest.importorskip("starlette.testclient")
    monkeypatch.setenv("DRRN_GAME", GAME)
    from drrn.arena.adaptors import openenv

    client = openenv.SolvedClient(base_url="http://localhost")
    total = 0.0
    with testclient.TestClient(openenv.app).websocket_connect("/ws") as socket:

        def send(kind, data):
            socket.send_json({"type": kind, "data": data})
            return client._parse_result(socket.receive_json()["data"])

        result = send("reset", {"seed": SEED})
        while not result.done:
            assert "Actions:" in result.observation.text
            result = send("step", client._step_payload(openenv.Answer(text="1")))
            total += result.reward
    score, facts = expected()
    assert total == pytest.approx(score)
    assert result.observation.facts["total_regret"] == pytest.approx(facts["total_regret"])


def test_verifiers_plays_a_whole_episode():
    pytest.importorskip("verifiers.v1", reason="verifiers is not installed")
    from drrn.arena.adaptors import verifiers

    taskset = verifiers.load_environment(f"drrn-{GAME}", episodes=SEED + 1)
    task = list(taskset)[SEED]
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

    env = verifiers.SolvedEnv.__new__(verifiers.SolvedEnv)
    asyncio.run(env.run(task, SimpleNamespace(player=Player())))
    total, facts = expected()
    assert rewards["return"] == pytest.approx(total)
    assert trace.info["arena"] == facts
