"""Our two stories keep the shape of the paper's two games, and good play in them needs reading."""

from pathlib import Path

import numpy as np
import pytest

import drrn
from drrn.compiled.solve import best, random_play
from drrn.game.episodes import play_episodes, random_policy, summarise
from drrn.game.make import BUILT_IN
from drrn.stories.authored import paraphrases_of
from drrn.stories.playtest.evidence import Evidence
from drrn.stories.playtest.playtest import gather
from drrn.stories.playtest.survey import explore as add_explored
from drrn.stories.twine.renderer import Journey
from drrn.writing import words


@pytest.fixture(scope="module")
def surveys():
    return {name: surveyed(drrn.make(name)) for name in BUILT_IN}


def surveyed(game):
    evidence = Evidence()
    return gather(game, evidence, statistics=add_explored(game, evidence))


def test_the_long_watch_has_the_shape_of_the_papers_first_game(surveys):
    found = surveys["long-watch"]
    assert found.complete and not found.never_reached and not found.problems
    assert (found.statistics.kind, found.statistics.transitions) == ("choice", "deterministic")
    assert found.statistics.passages >= 70 and found.statistics.most_actions <= 4
    assert {ending.reward for ending in found.endings} == {-20, -10, 0, 10, 20}
    assert 1200 <= found.statistics.state_vocabulary <= 1800
    assert 70 <= found.statistics.words_per_description <= 85


def test_the_night_market_has_the_shape_of_the_papers_second_game(surveys):
    found = surveys["night-market"]
    assert found.complete and not found.never_reached and not found.problems
    assert (found.statistics.kind, found.statistics.transitions) == (
        "choice & hypertext",
        "stochastic",
    )
    assert found.statistics.pages >= 200 and 8 <= found.statistics.most_actions <= 9
    assert len(found.endings) >= 12
    assert (
        min(e.reward for e in found.endings) == -20 and max(e.reward for e in found.endings) == 30
    )
    assert 2000 <= found.statistics.state_vocabulary <= 2400


@pytest.mark.parametrize(("name", "score"), [("long-watch", -7), ("night-market", -8)])
def test_random_play_scores_like_random_play_of_the_papers_games(name, score):
    summary = summarise(play_episodes(drrn.make(name), random_policy(0), 4_000, 0))
    assert summary.mean_final_reward == pytest.approx(score, abs=0.6)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_ending_has_a_rule_and_every_rule_an_ending(name, surveys):
    found = surveys[name]
    assert all(ending.rule for ending in found.endings) and found.unused_rules == []


def state_of(scene, cells):
    return scene.face.text, scene.moves, frozenset(cells.items())


def ways(game):
    """Every reachable state: where each of its actions can lead, and the endings."""
    found = {}
    endings = {}
    pending = []

    def arrive(move, cells):
        after = []
        for _, scene in game.renderer.outcomes(move, cells):
            written = {**cells, **scene.writes}
            state = state_of(scene, written)
            after.append(state)
            if state not in found:
                found[state] = []
                pending.append((state, scene, written))
                if scene.face.ended:
                    endings.setdefault(scene.rule, []).append(state)
        return after

    arrive(game.renderer.opening, {})
    while pending:
        state, scene, cells = pending.pop()
        found[state] = [arrive(move, cells) for move in scene.moves]
    return found, endings


def distances(found, goals):
    """Steps to the nearest goal, if chance is kind."""
    before = {}
    for state, actions in found.items():
        for after in (after for action in actions for after in action):
            before.setdefault(after, []).append(state)
    distance = dict.fromkeys(goals, 0)
    border = list(goals)
    while border:
        fresh = {
            p: distance[state] + 1
            for state in border
            for p in before.get(state, [])
            if p not in distance
        }
        distance |= fresh
        border = list(fresh)
    return distance


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_story_can_be_played_to_every_ending(name):
    game = drrn.make(name, shuffle=False)
    found, endings = ways(game)
    assert set(endings) == set(range(len(game.rules.endings)))
    for rule, goals in endings.items():
        distance = distances(found, goals)
        assert any(reached(game, found, distance, seed) for seed in range(3000)), (
            f"[[ending]] {rule + 1}"
        )


def reached(game, found, distance, seed):
    """Whether a real game, always one step nearer, gets there before chance leads away."""
    observation = game.reset(seed)
    cells = {}
    for _ in range(60):
        cells |= game.scene.writes
        state = state_of(game.scene, cells)
        if observation.ended or state not in distance:
            return distance.get(state) == 0
        near = [
            min((distance.get(to, 999) for to in action), default=999) for action in found[state]
        ]
        observation = game.step(near.index(min(near)))
    return False


def test_every_action_of_more_than_one_word_has_a_paraphrase_and_none_repeats():
    game = drrn.make("night-market")
    actions = {action for face in game.explore().faces for action in face.actions}
    pairs = paraphrases_of(game)
    assert {action for action in actions if len(words(action)) > 1} == set(pairs)
    assert len(set(pairs.values())) == len(pairs) and not set(pairs.values()) & set(pairs)


def test_the_paraphrases_stand_as_far_from_the_originals_as_the_papers(surveys):
    found = surveys["night-market"].statistics.paraphrases["paraphrased"]
    assert found.oov_rate == pytest.approx(0.186, abs=0.02)
    assert found.bleu == pytest.approx(0.325, abs=0.03)


def graph(game):
    """Deterministic pages: text → (reward, {action: text})."""
    pages = {}
    pending = [(game.renderer.opening, Journey())]
    while pending:
        move, journey = pending.pop()
        ((_, scene),) = game.renderer.outcomes(move, journey.cells)
        if scene.face.text in pages:
            continue
        pages[scene.face.text] = (scene.face.reward if scene.face.ended else 0.0, {}, scene)
        pending += [(onward, journey) for onward in scene.moves]
    by_move = {}
    for text, (_, _, scene) in pages.items():
        for action, move in zip(scene.face.actions, scene.moves, strict=True):
            ((_, after),) = game.renderer.outcomes(move, {})
            by_move.setdefault(text, {})[action] = after.face.text
    return {text: (reward, by_move.get(text, {})) for text, (reward, _, _) in pages.items()}


def values(pages, discount=0.9):
    value = dict.fromkeys(pages, 0.0)
    for _ in range(300):
        value = {
            text: reward
            if not ways
            else max(-0.1 * (not_ended(pages, to)) + discount * value[to] for to in ways.values())
            for text, (reward, ways) in pages.items()
        }
    return value


def not_ended(pages, text):
    return bool(pages[text][1])


def blind_score(pages, start, worth):
    """Greedy play by what an action's words are worth, without the page; a loop counts -10."""
    text = start
    seen = set()
    while pages[text][1]:
        if text in seen:
            return -10.0
        seen.add(text)
        text = pages[text][1][max(pages[text][1], key=worth)]
    return pages[text][0]


def test_in_the_long_watch_no_action_is_good_everywhere():
    game = drrn.make("long-watch")
    pages = graph(game)
    value = values(pages)
    start = game.reset(0).text
    advantages = {}
    best_somewhere = set()
    poor_somewhere = set()
    for _, ways in pages.values():
        if ways:
            best = max(value[to] for to in ways.values())
            for action, to in ways.items():
                advantages.setdefault(action, []).append(value[to] - best)
                (best_somewhere if value[to] == best else poor_somewhere).add(action)
    recurring = {action for action, found in advantages.items() if len(found) > 1}
    assert len(recurring & best_somewhere & poor_somewhere) > 0.6 * len(recurring)
    mean = {action: np.mean(found) for action, found in advantages.items()}
    assert blind_score(pages, start, lambda action: mean[action]) <= 3
    vocabulary = sorted({word for action in advantages for word in words(action)})
    rows = [(action, a) for action, found in advantages.items() for a in found]
    x = np.array([[words(action).count(word) for word in vocabulary] for action, _ in rows])
    weights = np.linalg.lstsq(x, np.array([a for _, a in rows]), rcond=None)[0]
    by_word = dict(zip(vocabulary, weights, strict=True))
    assert (
        blind_score(pages, start, lambda action: sum(by_word[word] for word in words(action))) <= 3
    )
    assert max(value[to] for to in pages[start][1].values()) > 8  # reading pays: 20 is within reach


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("place", [0, -1])
def test_a_fixed_place_in_the_storys_own_order_does_not_help(name, place):
    game = drrn.make(name, shuffle=False)
    summary = summarise(play_episodes(game, lambda o: place % len(o.actions), 300, 0))
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
    assert drrn.make(name).fingerprint == fingerprint


def test_the_readme_has_the_scores_of_the_stories():
    readme = (Path(drrn.__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    lines = [line for line in readme.splitlines() if line.count("|") == 4]
    rows = {line.split("|")[1].strip(): line.split("|")[2:4] for line in lines}
    for column, name in enumerate(("long-watch", "night-market")):
        compiled = drrn.compile_game(drrn.make(name), cache=False)
        scores = random_play(compiled)
        expected = f"{scores.final_reward:.2f}, {scores.total:.2f}"
        assert rows["random play: final reward, return"][column].strip() == expected
        expected = f"{best(compiled).score:.2f}, {best(compiled, 1.0).score:.2f}"
        assert rows["best possible: final reward, return"][column].strip() == expected
