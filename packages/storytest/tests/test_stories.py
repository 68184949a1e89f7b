"""The built-in stories resemble the paper's games, and good play in them needs the texts."""

from functools import cache

import pytest

import textgames
from lab.experiments.statistics import distances_of, statistics_of
from storytest.playtest.playtest import inspect_game
from tests.source_code import ROOT
from tests.stories import open_story
from textgames.compiled.solve import best, random_play

FULL = pytest.mark.full


@cache
def survey(name):
    """The compiled story and its findings, which all tests share."""
    game = open_story(name)
    compiled = textgames.compile_game(game)
    return compiled, inspect_game(game, compiled)


@pytest.mark.parametrize(
    ("name", "kind", "rewards"),
    [
        ("long-watch", "choice, deterministic", (-20, 20)),
        pytest.param("night-market", "choice & hypertext, stochastic", (-20, 30), marks=FULL),
    ],
)
def test_the_stories_resemble_the_papers_games(name, kind, rewards):
    """Every passage is reached, and every ending has a rule and every rule an ending."""
    _, findings = survey(name)
    table = findings.statistics
    assert f"{table.kind}, {table.transitions}" == kind
    assert table.pages >= 70 and table.most_actions <= 9
    all_rewards = [ending.reward for ending in findings.endings]
    assert (min(all_rewards), max(all_rewards)) == rewards
    assert findings.complete and not findings.never_reached
    assert {problem.kind for problem in findings.problems} <= {"expectation"}  # without games
    assert all(ending.rule for ending in findings.endings) and findings.unused_rules == []


@pytest.mark.parametrize(
    ("name", "states", "description"),
    [("long-watch", 1500, 78), pytest.param("night-market", 2200, None, marks=FULL)],
)
def test_the_texts_are_as_long_as_those_of_the_papers_games(name, states, description):
    compiled, findings = survey(name)
    table = statistics_of(open_story(name), compiled)
    assert table["state_vocabulary"] == pytest.approx(states, rel=0.2)
    length = table["words_per_description"]
    assert description is None or length == pytest.approx(description, abs=8)
    assert (table["pages"], table["actions"], table["kind"], table["endings"]) == (
        findings.statistics.pages,
        findings.statistics.actions,
        findings.statistics.kind,
        len(findings.endings),
    )
    if distance := distances_of(open_story(name), compiled).get("paraphrased"):
        assert distance.oov_rate == pytest.approx(0.186, abs=0.02)
        assert distance.bleu is None or distance.bleu == pytest.approx(0.325, abs=0.03)


@pytest.mark.parametrize(
    ("name", "fingerprint"),
    [
        ("long-watch", "67c67ae5016fd2a4a9bf1cbbe5e44619464616d4e66e90b87793aa353b1c02ce"),
        ("night-market", "6400cef299728cdff45812f15d457837f2000a4c9ebedd03f9e37c513b8f2048"),
    ],
)
def test_the_fingerprints_of_the_built_in_stories_stay_the_same(name, fingerprint):
    """Recorded results belong to these hashes, which include the field names of the rules."""
    assert open_story(name).fingerprint == fingerprint


@pytest.mark.full
def test_the_documentation_has_the_scores_of_the_stories():
    page = (ROOT / "docs/storytest/stories.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.count("|") == 4]
    rows = {line.split("|")[1].strip(): line.split("|")[2:4] for line in lines}
    for column, name in enumerate(("long-watch", "night-market")):
        compiled = textgames.compile_game(textgames.make(name), cache=False)
        scores = random_play(compiled)
        expected = f"{scores.final_reward:.2f}, {scores.total:.2f}"
        assert rows["random play: final reward, return"][column].strip() == expected
        expected = f"{best(compiled).score:.2f}, {best(compiled, 1.0).score:.2f}"
        assert rows["best possible: final reward, return"][column].strip() == expected
