"""The built-in stories resemble the paper's games, and good play in them needs the texts."""

from functools import cache

import pytest

import textgames
from storytest.playtest.evidence import Evidence
from storytest.playtest.playtest import gather
from storytest.playtest.survey import explore
from tests.source_code import ROOT
from tests.stories import open_story
from textgames.compiled.solve import best, random_play


@cache
def survey(name):
    """The findings of an exploration of a built-in story, which all tests share."""
    game = open_story(name)
    evidence = Evidence()
    return gather(game, evidence, statistics=explore(game, evidence))


def test_the_long_watch_resembles_the_papers_first_game():
    findings = survey("long-watch")
    statistics = findings.statistics
    assert (statistics.kind, statistics.transitions) == ("choice", "deterministic")
    assert statistics.passages >= 70 and statistics.most_actions <= 4
    assert {ending.reward for ending in findings.endings} == {-20, -10, 0, 10, 20}
    assert 1200 <= statistics.state_vocabulary <= 1800
    assert 70 <= statistics.words_per_description <= 85


@pytest.mark.full
def test_the_night_market_resembles_the_papers_second_game():
    findings = survey("night-market")
    statistics = findings.statistics
    assert (statistics.kind, statistics.transitions) == ("choice & hypertext", "stochastic")
    assert statistics.pages >= 200 and 8 <= statistics.most_actions <= 9
    rewards = [ending.reward for ending in findings.endings]
    assert len(rewards) >= 12 and min(rewards) == -20 and max(rewards) == 30
    assert 2000 <= statistics.state_vocabulary <= 2400
    distance = statistics.paraphrases["paraphrased"]
    assert distance.oov_rate == pytest.approx(0.186, abs=0.02)
    assert distance.bleu is None or distance.bleu == pytest.approx(0.325, abs=0.03)


@pytest.mark.parametrize(
    "name", ["long-watch", pytest.param("night-market", marks=pytest.mark.full)]
)
def test_every_passage_is_reached_and_every_ending_has_a_rule_and_every_rule_an_ending(name):
    findings = survey(name)
    assert findings.complete and not findings.never_reached
    assert {problem.kind for problem in findings.problems} <= {"expectation"}  # without games
    assert all(ending.rule for ending in findings.endings) and findings.unused_rules == []


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
