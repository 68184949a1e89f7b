"""`storytest inspect` of a game that can only be stepped: random games and their standard errors."""

import json

import pytest

import textgames
from storytest.playtest.playtest import inspect_game
from tests.commands import main
from tests.sample_games import Walk


def inspect_stepped(game, games=60, seconds=600.0):
    return inspect_game(game, None, "it lists no outcomes", seconds=seconds, games=games)


class Corridor:
    """Two steps forward are paid and end the game; waiting is not. May be interrupted at a step."""

    name = "corridor"
    max_steps = 4
    note = "a seed changes nothing"

    def __init__(self, interrupted_at=None):
        self.steps = 0
        self.interrupted_at = interrupted_at

    def reset(self, seed=None):
        self.room = 0
        self.ending = ""
        return textgames.Observation("Room 0.", ("On.", "Wait."))

    def step(self, index):
        self.steps += 1
        if self.steps == self.interrupted_at:
            raise KeyboardInterrupt
        self.room += index == 0
        self.ending = "out" if self.room == 2 else ""
        actions = () if self.ending else ("On.", "Wait.", "Look.")
        return textgames.Observation(f"Room {self.room}.", actions, float(index == 0))


def test_random_games_count_returns_endings_and_pages():
    findings = inspect_stepped(Corridor())
    (out,) = findings.endings
    table = findings.statistics
    assert (findings.games, table.pages, table.actions) == (60, 3, 3)
    assert (table.fewest_actions, table.most_actions, table.state_vocabulary) == (2, 3, 4)
    assert 2 * out.probability.mean <= findings.random.returns.mean < 2
    assert 0 < findings.random.returns.error < 0.2
    assert out.probability.mean + findings.random.unfinished.mean == pytest.approx(1)
    assert (out.name, out.returns.mean, len(out.path)) == ("out", 2, 2)
    assert 0 < out.probability.error < 0.1 and findings.random.steps.mean <= 4


def test_ctrl_c_returns_the_sampled_games():
    findings = inspect_stepped(Corridor(interrupted_at=9))
    assert findings.interrupted and 0 < findings.games < 9
    with pytest.raises(KeyboardInterrupt):
        inspect_stepped(Nothing())


class Nothing(Walk):
    """A game that is interrupted before its first page."""

    def reset(self, seed=None):
        raise KeyboardInterrupt


def test_a_truncated_game_has_no_outcome_but_its_pages_count():
    findings = inspect_stepped(Walk(), 5, 1e-9)
    assert (findings.games, findings.statistics.pages, findings.random) == (0, 1, None)
    assert findings.endings == []


def test_inspect_samples_a_game_that_can_only_be_stepped(capsys, stand_ins):
    assert main(["inspect", "twx:coin?seed=0&copies=1&max_steps=6"]) == 0
    output = capsys.readouterr().out
    assert "cannot be compiled" in output and "Random play (200 games" in output
    assert "Actions per page" in output and "a seed selects the variation" in output
    assert main(["inspect", "tests.sample_games:Walk", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert (findings["games"], findings["statistics"]["pages"]) == (200, 4)
    assert findings["random"]["returns"]["mean"] == 1
    assert findings["random"]["steps"]["mean"] == 3
    # an ending of all 200 games may still have a probability below 1
    assert findings["endings"][0]["probability"]["error"] > 0
