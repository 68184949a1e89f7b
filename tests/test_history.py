"""What happened before as part of the state: a wrapper that keeps the contract, and runs that are told to use it."""

import json

import pytest

import drrn
from drrn.cli import main
from drrn.compiled.compile import compile_game
from drrn.compiled.history import History, with_history
from drrn.game.contract import Observation, check_game
from drrn.game.make import spec_for
from tests.game_checks import check_outcomes
from tests.sample_games import Dice, Doors, Walk

SMALL = {
    "paper": True,
    "model": "table",
    "rounds": 5,
    "episodes_per_round": 60,
    "evaluation_episodes": 30,
    "replicas": 2,
}


class Echo:
    """What the first page shows decides what pays on the second, which shows nothing of it."""

    name = "echo"

    def opening(self):
        return [(0.5, ("say", "north")), (0.5, ("say", "south"))]

    def outcomes(self, state, index):
        kind, word = state
        return [(1.0, ("asked", word) if kind == "say" else ("over", word, index))]

    def look(self, state):
        if state[0] == "say":
            return Observation(f"The way is {state[1]}.", ("on",))
        if state[0] == "asked":
            return Observation("Which way?", ("north", "south"))
        return Observation(
            "There.", (), 10.0 if ("north", "south")[state[2]] == state[1] else -10.0
        )

    def reset(self, seed=None):
        self.seed = (
            (self.seed + 1 if seed is None else seed) if hasattr(self, "seed") else seed or 0
        )
        self.state = self.opening()[self.seed % 2][1]
        return self.look(self.state)

    def step(self, index):
        if index not in range(len(self.look(self.state).actions)):
            raise IndexError(index)
        self.state = self.outcomes(self.state, index)[0][1]
        return self.look(self.state)

    def another(self):
        return Echo()


def test_the_text_tells_the_last_pages_and_the_actions_taken_there_in_their_order():
    game = with_history(Doors(), 1)
    assert game.reset(0).text == "Room 0: two doors."
    assert (
        game.step(0).text
        == "Earlier: Room 0: two doors.\n> Open the red door.\nNow: Room 1: two doors."
    )
    assert (
        game.step(1).text
        == "Earlier: Room 1: two doors.\n> Open the blue door.\nNow: Room 2: two doors."
    )
    assert game.reset(0).text == "Room 0: two doors."


def test_no_history_is_the_game_itself():
    game = Doors()
    assert with_history(game, 0) is game


@pytest.mark.parametrize("made", [Doors, Dice, Walk, Echo, lambda: drrn.make("long-watch")])
@pytest.mark.parametrize("length", [1, 3])
def test_a_game_with_history_keeps_the_contract_and_says_what_the_game_says(made, length):
    game = with_history(made(), length)
    check_game(game)
    assert game.name == made().name and getattr(game, "max_steps", 0) == getattr(
        made(), "max_steps", 0
    )
    other = game.another()
    assert other is None or other.reset(3) == game.reset(3)


@pytest.mark.parametrize("made", [Doors, Dice, lambda: drrn.make("long-watch")])
def test_a_game_that_lists_its_outcomes_lists_them_with_its_history(made):
    game = with_history(made(), 2)
    check_outcomes(game)
    plain, compiled = compile_game(made(), cache=False), compile_game(game, cache=False)
    assert len(compiled) > len(plain)
    assert drrn.best(compiled).score == pytest.approx(drrn.best(plain).score)
    assert {place.passage for place in compiled.endings} == {
        place.passage for place in plain.endings
    }


def test_a_game_that_lists_none_is_stepped_with_its_history():
    assert not hasattr(with_history(Walk(), 2), "opening")


@pytest.mark.parametrize("settings", [{}, {"no_compile": True}], ids=["compiled", "stepped"])
def test_only_with_history_can_a_page_be_told_from_another_that_looks_the_same(settings):
    scores = []
    for history in (0, 1):
        trainer = drrn.trainer(Echo(), history=history, **SMALL, **settings)
        scores.append(list(trainer.train())[-1].mean("greedy_final_reward"))
    assert scores[0] < 5 and scores[1] == 10.0


def test_a_trained_player_and_an_evaluation_use_the_history_that_was_learned_with(tmp_path):
    trainer = drrn.trainer(Echo(), history=1, **SMALL)
    list(trainer.train())
    trainer.save(tmp_path / "run")
    agent = drrn.load(tmp_path / "run")
    played = list(drrn.play_episodes(Echo(), agent.policy("best"), 10, 0))
    assert [episode.final_reward for episode in played] == [10.0] * 10
    assert all(
        e.summary.mean_final_reward == 10.0
        for e in agent.evaluate(Echo(), policies=["best"], episodes=10)
    )
    assert agent.exact(Echo(), "greedy")[1][0].final_reward == 10.0
    resumed = drrn.resume(tmp_path / "run", Echo(), rounds=6)
    assert [done.number for done in resumed.train()] == [6]


def test_the_command_line_trains_evaluates_and_resumes_with_history(tmp_path, capsys):
    run = str(tmp_path / "run")
    few = (
        "--rounds 1 --episodes-per-round 6 --evaluation-episodes 4 --replicas 1 --hidden 4".split()
    )
    assert main(["train", "long-watch", "--history", "2", "--out", run, "--no-compile", *few]) == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["settings"]["history"] == 2 and config["game"]["history"] == 0
    assert main(["evaluate", run, "--episodes", "4"]) == 0
    assert main(["play", "long-watch", "--agent", run, "--policy", "best", "--episodes", "2"]) == 0
    assert main(["ask", run, "--examples", "4"]) == 0
    assert main(["train", "--resume", run]) == 0
    assert main(["train", "long-watch", "--history", "-1", "--out", f"{run}2"]) != 0
    assert "history is -1" in capsys.readouterr().err


def test_a_recipe_with_history_opens_the_game_with_it():
    recipe = spec_for("long-watch", history=1)
    assert recipe.open().reset(0) == with_history(drrn.make("long-watch"), 1).reset(0)


def test_a_players_history_forgets_what_is_longer_ago():
    history = History(1).add("One.", "go").add("Two.", "stay")
    assert history.prepend_to("Three.") == "Earlier: Two.\n> stay\nNow: Three."
    assert History(1).prepend_to("One.") == "One."
