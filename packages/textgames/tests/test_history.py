"""History: the last pages and actions as part of the state's text."""

from typing import Any

import pytest

import drrn
import textgames
from tests.game_checks import check_outcomes
from tests.sample_games import Dice, Doors, Walk
from tests.trainings import Stepped
from textgames.compiled.compile import compile_game
from textgames.compiled.history import History, with_history
from textgames.game.contract import Observation, another, check_game
from textgames.openers import spec_for

SMALL: dict[str, Any] = {
    "paper": True,
    "model": "table",
    "rounds": 5,
    "episodes_per_round": 60,
    "evaluation_episodes": 30,
    "replicas": 2,
}


class Echo:
    """The first page names the direction that pays on the second page, which does not."""

    name = "echo"
    seed = -1

    def opening(self):
        return [(0.5, ("say", "north")), (0.5, ("say", "south"))]

    def outcomes(self, state, index):
        kind, word = state
        successor = ("question", word) if kind == "say" else ("over", word, index)
        return [(1.0, successor)]

    def look(self, state):
        if state[0] == "say":
            return Observation(f"The way is {state[1]}.", ("on",))
        if state[0] == "question":
            return Observation("Which way?", ("north", "south"))
        correct = ("north", "south")[state[2]] == state[1]
        return Observation("There.", (), 10.0 if correct else -10.0)

    def reset(self, seed=None):
        self.seed = self.seed + 1 if seed is None else seed
        self.state = self.opening()[self.seed % 2][1]
        return self.look(self.state)

    def step(self, index):
        if index not in range(len(self.look(self.state).actions)):
            raise IndexError(index)
        self.state = self.outcomes(self.state, index)[0][1]
        return self.look(self.state)

    def another(self):
        return Echo()


def test_the_text_has_the_last_page_and_its_action():
    game = with_history(Doors(), 1)
    assert game.reset(0).text == "Room 0: two doors."
    earlier = "Earlier: Room 0: two doors.\n> Open the red door.\n"
    assert game.step(0).text == f"{earlier}Now: Room 1: two doors."
    earlier = "Earlier: Room 1: two doors.\n> Open the blue door.\n"
    assert game.step(1).text == f"{earlier}Now: Room 2: two doors."
    assert game.reset(0).text == "Room 0: two doors."


@pytest.mark.parametrize(
    "open_game", [Doors, Dice, Walk, Echo, lambda: textgames.make("long-watch")]
)
@pytest.mark.parametrize("length", [1, 3])
def test_a_game_with_history_keeps_the_contract_and_the_attributes_of_the_game(open_game, length):
    game = with_history(open_game(), length)
    check_game(game)
    assert game.name == open_game().name
    assert getattr(game, "max_steps", 0) == getattr(open_game(), "max_steps", 0)
    twin = another(game)
    assert twin is None or twin.reset(3) == game.reset(3)


@pytest.mark.parametrize("open_game", [Doors, Dice, lambda: textgames.make("long-watch")])
def test_an_enumerable_game_is_compiled_with_its_history(open_game):
    game = with_history(open_game(), 2)
    check_outcomes(game)
    plain = compile_game(open_game(), cache=False)
    compiled = compile_game(game, cache=False)
    assert len(compiled) > len(plain)
    assert textgames.best(compiled).score == pytest.approx(textgames.best(plain).score)
    endings = {ending.passage for ending in compiled.endings}
    assert endings == {ending.passage for ending in plain.endings}


@pytest.mark.parametrize("wrap", [lambda game: game, Stepped], ids=["compiled", "stepped"])
def test_only_history_distinguishes_pages_with_the_same_text(wrap):
    scores = []
    for history in (0, 1):
        trainer = drrn.trainer(wrap(Echo()), history=history, **SMALL)
        scores.append(list(trainer.train())[-1].mean("greedy_final_reward"))
    assert scores[0] < 5 and scores[1] == 10.0


def test_play_and_evaluation_use_the_history_of_the_training(tmp_path):
    trainer = drrn.trainer(Echo(), history=1, **SMALL)
    list(trainer.train())
    trainer.save(tmp_path / "run")
    agent = drrn.load(tmp_path / "run")
    episodes = list(textgames.play_episodes(Echo(), agent.policy("best"), 10, 0))
    assert [episode.final_reward for episode in episodes] == [10.0] * 10
    evaluations = agent.evaluate(Echo(), policies=["best"], episodes=10)
    assert all(each.summary.mean_final_reward == 10.0 for each in evaluations)
    assert agent.exact(Echo(), "greedy")[1][0].final_reward == 10.0
    resumed = drrn.resume(tmp_path / "run", Echo(), rounds=6)
    assert [done.number for done in resumed.train()] == [6]


def test_a_spec_with_history_opens_the_game_with_it():
    spec = spec_for("long-watch", history=1)
    assert spec.open().reset(0) == with_history(textgames.make("long-watch"), 1).reset(0)


def test_a_history_forgets_older_pages():
    history = History(1).add("One.", "go").add("Two.", "stay")
    assert history.prepend_to("Three.") == "Earlier: Two.\n> stay\nNow: Three."
    assert History(1).prepend_to("One.") == "One."
