"""The built-in stories resemble the paper's games, and good play in them needs the texts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import drrn
from drrn.compiled.solve import best, random_play
from drrn.game.episodes import play_episodes, random_policy, summarise
from drrn.game.make import BUILT_IN
from drrn.stories.authored import paraphrases_of
from drrn.stories.playtest.evidence import Evidence
from drrn.stories.playtest.playtest import gather
from drrn.stories.playtest.survey import explore
from drrn.writing import words
from tests.stories import open_story


@pytest.fixture(scope="module")
def surveys():
    return {name: survey(open_story(name)) for name in BUILT_IN}


def survey(game):
    evidence = Evidence()
    return gather(game, evidence, statistics=explore(game, evidence))


@pytest.mark.slow
def test_the_long_watch_resembles_the_papers_first_game(surveys):
    findings = surveys["long-watch"]
    assert findings.complete and not findings.never_reached
    assert {problem.kind for problem in findings.problems} <= {"expectation"}  # without games
    assert (findings.statistics.kind, findings.statistics.transitions) == (
        "choice",
        "deterministic",
    )
    assert findings.statistics.passages >= 70 and findings.statistics.most_actions <= 4
    assert {ending.reward for ending in findings.endings} == {-20, -10, 0, 10, 20}
    assert 1200 <= findings.statistics.state_vocabulary <= 1800
    assert 70 <= findings.statistics.words_per_description <= 85


@pytest.mark.slow
def test_the_night_market_resembles_the_papers_second_game(surveys):
    findings = surveys["night-market"]
    assert findings.complete and not findings.never_reached
    assert {problem.kind for problem in findings.problems} <= {"expectation"}  # without games
    assert (findings.statistics.kind, findings.statistics.transitions) == (
        "choice & hypertext",
        "stochastic",
    )
    assert findings.statistics.pages >= 200 and 8 <= findings.statistics.most_actions <= 9
    assert len(findings.endings) >= 12
    rewards = [ending.reward for ending in findings.endings]
    assert min(rewards) == -20 and max(rewards) == 30
    assert 2000 <= findings.statistics.state_vocabulary <= 2400


@pytest.mark.slow
@pytest.mark.parametrize(("name", "score"), [("long-watch", -7), ("night-market", -8)])
def test_random_play_scores_like_random_play_of_the_papers_games(name, score):
    summary = summarise(play_episodes(drrn.make(name), random_policy(0), 4_000, 0))
    assert summary.mean_final_reward == pytest.approx(score, abs=0.6)


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_ending_has_a_rule_and_every_rule_an_ending(name, surveys):
    findings = surveys[name]
    assert all(ending.rule for ending in findings.endings) and findings.unused_rules == []


def state_of(scene, cells):
    return scene.face.text, scene.moves, frozenset(cells.items())


def successors_of(game):
    """Return the successors of every reachable state, for each action, and the endings by rule."""
    successors: dict[Any, Any] = {}
    endings: dict[int, list[Any]] = {}
    pending = []

    def outcomes(move, cells):
        states = []
        for _, scene in game.renderer.outcomes(move, cells):
            next_cells = {**cells, **scene.writes}
            state = state_of(scene, next_cells)
            states.append(state)
            if state not in successors:
                successors[state] = []
                pending.append((state, scene, next_cells))
                if scene.face.ended:
                    endings.setdefault(scene.rule, []).append(state)
        return states

    outcomes(game.renderer.opening, {})
    while pending:
        state, scene, cells = pending.pop()
        successors[state] = [outcomes(move, cells) for move in scene.moves]
    return successors, endings


def distances(successors, goals):
    """Return the number of steps to the nearest goal, assuming favourable draws."""
    predecessors: dict[Any, list[Any]] = {}
    for state, actions in successors.items():
        for states in actions:
            for successor in states:
                predecessors.setdefault(successor, []).append(state)
    distance = dict.fromkeys(goals, 0)
    border = list(goals)
    while border:
        next_border = []
        for state in border:
            for predecessor in predecessors.get(state, []):
                if predecessor not in distance:
                    distance[predecessor] = distance[state] + 1
                    next_border.append(predecessor)
        border = next_border
    return distance


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
def test_each_story_can_be_played_to_every_ending(name):
    game = open_story(name, shuffle=False)
    successors, endings = successors_of(game)
    assert set(endings) == set(range(len(game.rules.endings)))
    for rule, goals in endings.items():
        distance = distances(successors, goals)
        reached = any(reaches_goal(game, successors, distance, seed) for seed in range(3000))
        assert reached, f"[[ending]] {rule + 1}"


def reaches_goal(game, successors, distance, seed):
    """Whether a game that always takes the action nearest to a goal reaches one."""
    observation = game.reset(seed)
    cells: dict[str, Any] = {}
    for _ in range(60):
        cells |= game.scene.writes
        state = state_of(game.scene, cells)
        if observation.ended or state not in distance:
            return distance.get(state) == 0
        steps = [
            min((distance.get(successor, 999) for successor in states), default=999)
            for states in successors[state]
        ]
        observation = game.step(steps.index(min(steps)))
    return False


@pytest.mark.slow
def test_every_action_of_more_than_one_word_has_a_distinct_paraphrase():
    game = open_story("night-market")
    actions = {action for face in game.explore().faces for action in face.actions}
    pairs = paraphrases_of(game)
    assert pairs is not None
    assert {action for action in actions if len(words(action)) > 1} == set(pairs)
    assert len(set(pairs.values())) == len(pairs) and not set(pairs.values()) & set(pairs)


@pytest.mark.slow
def test_the_paraphrases_differ_from_the_originals_like_the_papers(surveys):
    distance = surveys["night-market"].statistics.paraphrases["paraphrased"]
    assert distance.oov_rate == pytest.approx(0.186, abs=0.02)
    assert distance.bleu == pytest.approx(0.325, abs=0.03)


@dataclass
class Page:
    """A page of a deterministic story without variables."""

    reward: float  # 0 unless it is an ending
    links: dict[str, str]  # text of the next page, by action


def pages_of(game):
    """Return the pages of a deterministic story by their texts."""
    pages: dict[str, Page] = {}
    pending = [game.renderer.opening]
    while pending:
        ((_, scene),) = game.renderer.outcomes(pending.pop(), {})
        if scene.face.text in pages:
            continue
        links = {}
        for action, move in zip(scene.face.actions, scene.moves, strict=True):
            ((_, next_scene),) = game.renderer.outcomes(move, {})
            links[action] = next_scene.face.text
        pages[scene.face.text] = Page(scene.face.reward if scene.face.ended else 0.0, links)
        pending += scene.moves
    return pages


def values_of(pages, discount=0.9):
    """Return the value of each page, with a step reward of -0.1, by value iteration."""
    values = dict.fromkeys(pages, 0.0)
    for _ in range(300):
        sweep = {}
        for text, page in pages.items():
            q = [
                -0.1 * bool(pages[target].links) + discount * values[target]
                for target in page.links.values()
            ]
            sweep[text] = max(q) if q else page.reward
        values = sweep
    return values


def blind_score(pages, start, action_value):
    """Return the reward of greedy play by values of actions alone; a loop scores -10."""
    text = start
    visited = set()
    while links := pages[text].links:
        if text in visited:
            return -10.0
        visited.add(text)
        text = links[max(links, key=action_value)]
    return pages[text].reward


def test_in_the_long_watch_no_action_is_good_everywhere():
    game = open_story("long-watch")
    pages = pages_of(game)
    value = values_of(pages)
    start = game.reset(0).text
    advantages: dict[str, list[float]] = {}
    for page in pages.values():
        best = max((value[target] for target in page.links.values()), default=0.0)
        for action, target in page.links.items():
            advantages.setdefault(action, []).append(value[target] - best)
    recurring = [each for each in advantages.values() if len(each) > 1]
    mixed = [each for each in recurring if max(each) == 0 and min(each) < 0]
    assert len(mixed) > 0.6 * len(recurring)
    mean = {action: np.mean(each) for action, each in advantages.items()}
    assert blind_score(pages, start, lambda action: mean[action]) <= 3
    vocabulary = sorted({word for action in advantages for word in words(action)})
    rows = [(action, advantage) for action, each in advantages.items() for advantage in each]
    x = np.array([[words(action).count(word) for word in vocabulary] for action, _ in rows])
    weights = np.linalg.lstsq(x, np.array([advantage for _, advantage in rows]), rcond=None)[0]
    by_word = dict(zip(vocabulary, weights, strict=True))

    def linear(action):
        return sum(by_word[word] for word in words(action))

    assert blind_score(pages, start, linear) <= 3
    # reading the pages pays: an ending of 20 is within reach
    assert max(value[target] for target in pages[start].links.values()) > 8


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("index", [0, -1])
def test_a_fixed_position_in_the_order_of_the_story_does_not_help(name, index):
    game = drrn.make(name, shuffle=False)
    summary = summarise(play_episodes(game, lambda page: index % len(page.actions), 300, 0))
    assert summary.mean_final_reward < 5


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


@pytest.mark.slow
def test_the_documentation_has_the_scores_of_the_stories():
    page = (Path(drrn.__file__).parents[1] / "docs/stories.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.count("|") == 4]
    rows = {line.split("|")[1].strip(): line.split("|")[2:4] for line in lines}
    for column, name in enumerate(("long-watch", "night-market")):
        compiled = drrn.compile_game(drrn.make(name), cache=False)
        scores = random_play(compiled)
        expected = f"{scores.final_reward:.2f}, {scores.total:.2f}"
        assert rows["random play: final reward, return"][column].strip() == expected
        expected = f"{best(compiled).score:.2f}, {best(compiled, 1.0).score:.2f}"
        assert rows["best possible: final reward, return"][column].strip() == expected
