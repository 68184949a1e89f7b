"""Trained agents: Q-values, evaluations, advice to a player, and play in any loop."""

import json
from typing import Any

import pytest

import drrn
from drrn.cli import main
from drrn.player import open_agent
from tests.runs import train
from tests.stories import FORK, REWARDS
from textgames.game.episodes import CIRCLE


@pytest.fixture(scope="module")
def tale(tmp_path_factory):
    """The TOML of a small story."""
    folder = tmp_path_factory.mktemp("tale")
    (folder / "tale.twee").write_text(FORK)
    (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    return folder / "tale.toml"


@pytest.fixture(scope="module")
def run(tale):
    """Folder of a finished run on the story."""
    folder = tale.with_name("run")
    assert train(tale, folder) == 0
    return folder


def test_ask_prints_the_q_values_of_the_loaded_agent(run, capsys):
    agent = drrn.load(run)
    q = agent.ask(
        "The sea is grey and the wind is north.", ["Go out.", "Stay in.", "Fly a zeppelin."]
    )
    assert q.shape == (2, 3)
    capsys.readouterr()
    actions = ["--action", "Go out.", "--action", "Stay in."]
    state = "The sea is grey and the wind is north."
    assert main(["ask", str(run), "--state", state, *actions, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["Go out."] == pytest.approx(q[:, 0].tolist())
    assert main(["ask", str(run), "--state", state, *actions]) == 0
    assert "Stay in." in capsys.readouterr().out
    assert main(["ask", str(run), "--examples", "5", "--json"]) == 0
    pages = json.loads(capsys.readouterr().out)
    assert sum(len(page["q"]) for page in pages) == 5
    assert all(len(q) == 2 for page in pages for q in page["q"].values())  # replicas


def test_ask_warns_about_texts_without_a_known_word(run, capsys):
    capsys.readouterr()
    ask = ["ask", str(run), "--json"]
    ask += ["--state", "The sea is grey.", "--action", "Go out."]
    assert main([*ask, "--action", "Qwertyuiop!"]) == 0
    out, error = capsys.readouterr()
    assert set(json.loads(out)) == {"Go out.", "Qwertyuiop!"}
    assert error.count("\n") == 1 and '"Qwertyuiop!"' in error
    assert "sea" not in error and "out" not in error
    assert main(ask) == 0
    assert capsys.readouterr().err == ""


def test_evaluate_prints_means_and_each_replica(run, capsys):
    capsys.readouterr()
    assert main(["evaluate", str(run), "--episodes", "5", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["replicas"]
    keys = "policy exact replica final_reward return steps stopped_by_the_limit endings"
    assert len(rows) == 3 * 2 and set(rows[0]) == set(keys.split())
    assert main(["evaluate", str(run), "--episodes", "5", "--policy", "greedy"]) == 0
    out = capsys.readouterr().out
    assert "final reward" in out and "greedy" in out and "best" not in out
    assert main(["evaluate", str(run), "--exact", "--json"]) == 0
    exact = json.loads(capsys.readouterr().out)["replicas"]
    assert [row["exact"] for row in exact] == [True] * 4 + [False] * 2
    assert main(["evaluate", str(run), "--episodes", "3000", "--json"]) == 0
    sampled = json.loads(capsys.readouterr().out)["replicas"]
    for one, other in zip(exact, sampled, strict=True):
        assert one["final_reward"] == pytest.approx(other["final_reward"], abs=0.8)
        assert sum(one["endings"].values()) + one["stopped_by_the_limit"] == pytest.approx(1)


def test_an_agent_plays_alone_with_each_policy(tale, run, capsys):
    capsys.readouterr()
    play = ["play", str(tale), "--agent", str(run), "--episodes", "20", "--seed", "1"]
    outputs = {}
    for policy in ("softmax", "greedy", "best"):
        assert main([*play, "--json", "--policy", policy]) == 0
        outputs[policy] = capsys.readouterr().out
        assert json.loads(outputs[policy])["episodes"] == 20
    assert main([*play, "--json"]) == 0
    assert capsys.readouterr().out == outputs["best"]
    assert main([*play, "--show"]) == 0
    assert capsys.readouterr().out.count("  → ") >= 20
    assert main(["play", str(tale), "--policy", "best"]) == 2
    assert "--agent RUN" in capsys.readouterr().err


def test_an_agent_of_another_game_causes_a_warning(tale, run, capsys, monkeypatch):
    monkeypatch.setattr("rich.console.Console.input", lambda *a, **k: "q")
    capsys.readouterr()
    assert main(["play", "long-watch", "--agent", str(run)]) == 0
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and '"tale"' in error and '"The Long Watch"' in error
    assert main(["play", str(tale), "--agent", str(run)]) == 0
    assert capsys.readouterr().err == ""


def test_an_agent_acts_in_any_loop(tale, run):
    agent = drrn.load(run)
    page = drrn.make(tale).reset(0)
    q = agent.ask(page.text, page.actions).mean(axis=0)
    assert agent.act(page.text, page.actions) == page.actions[q.argmax()]
    assert agent.act(page.text, list(page.actions)) == page.actions[q.argmax()]
    draws = {agent.act("An unknown text.", ["a", "b"], policy="softmax") for _ in range(60)}
    assert draws == {"a", "b"}
    player = agent.policy("best")
    assert player.act(page.text, page.actions) == page.actions[q.argmax()]
    for _ in range(CIRCLE):
        player.act(page.text, page.actions, reward=1.0)
    assert not player.is_circle(page)  # it pays
    for _ in range(CIRCLE):
        player.act(page.text, page.actions)
    assert player.is_circle(page)
    much: Any = "much"
    with pytest.raises(drrn.InputError, match="reward: 'much' is not a number"):
        player.act(page.text, page.actions, reward=much)
    generator: Any = (action for action in page.actions)
    assert agent.act(page.text, generator) == page.actions[q.argmax()]


@pytest.mark.parametrize(
    ("text", "actions"),
    [("Here.", []), ("Here.", "go"), (None, ["go"]), ("Here.", ["go", None]), ("Here.", 3)],
)
def test_acting_and_asking_need_a_text_and_a_list_of_actions(run, text, actions):
    agent = drrn.load(run)
    for method in (agent.act, agent.ask):
        with pytest.raises(drrn.InputError, match="a text and a list of one or more actions"):
            method(text, actions)


def test_a_run_is_a_player_of_the_arena_whose_replicas_play_in_turn(run):
    settings, policy = open_agent(str(run))
    assert len(settings["weights"]) == 64 and settings["recipe"] == "paper"
    page = drrn.make(run.with_name("tale.toml")).reset(0)
    agent = drrn.load(run)
    for seed in range(4):
        expected = agent.policy(seed=seed, replica=seed % 2)
        assert policy(seed)(page) == expected(page)
