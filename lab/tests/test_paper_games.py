"""The paper's two games, against figures computed exactly from the authors' simulators."""

from functools import cache

import numpy as np
import pytest

import drrn
from storytest.twine.paraphrases import read_paraphrases
from tests.stories import open_story
from textgames.compiled.memoryless import fixed_point
from textgames.compiled.solve import best, random_play


@pytest.fixture
def explored(shared_games):
    @cache
    def explore(name):
        return open_story(shared_games / f"{name}.toml").explore(limit=30_000)

    return explore


def actions_of(result):
    return {action for face in result.faces for action in face.actions}


def test_saving_john_has_70_texts_107_actions_and_134_states(explored):
    result = explored("savingjohn")
    assert result.complete and not result.stochastic and len(result.visited) == 134
    assert len({face.text for face in result.faces}) == 70
    assert len(actions_of(result)) == 107
    assert max(len(face.actions) for face in result.faces) == 4
    assert not any(face.hypertext for face in result.faces)


@pytest.mark.full
def test_machine_of_death_has_16_endings_and_at_most_9_actions_on_a_page(explored, shared_games):
    result = explored("machineofdeath")
    assert {face.ending.rule for face in result.faces if face.ending} == set(range(16))
    assert max(len(face.actions) for face in result.faces) == 9
    assert result.stochastic and len(actions_of(result)) == 173
    pairs = read_paraphrases(shared_games / "machineofdeath.paraphrases.tsv")
    unused = pairs.keys() - actions_of(result)
    assert len(pairs) == 152
    assert len(unused) == 5  # two on pages of endings, three on a page of a second episode


@pytest.mark.parametrize(
    ("name", "best_scores", "random_scores", "states"),
    [
        ("savingjohn", (20.00, 19.40), (-7.05, -8.09), 73),
        pytest.param(
            "machineofdeath", (23.33, 21.50), (-7.91, -11.08), 2582, marks=pytest.mark.full
        ),
    ],
)
def test_scores_and_merged_states_equal_those_of_the_authors_simulators(
    shared_games, name, best_scores, random_scores, states
):
    compiled = drrn.compile_game(drrn.make(shared_games / f"{name}.toml"))
    play = random_play(compiled)
    assert (round(best(compiled).score, 2), round(best(compiled, 1.0).score, 2)) == best_scores
    assert (round(play.final_reward, 2), round(play.total, 2)) == random_scores
    assert len(compiled) == states
    assert (compiled.raw_states, compiled.raw_complete) == (134, True) or name != "savingjohn"


@pytest.mark.full
@pytest.mark.parametrize(("n_steps", "score", "tolerance"), [(1, 8.695, 0.1), (4, 18.615, 0.001)])
def test_one_step_targets_converge_to_a_far_lower_score_than_four_step_targets(
    shared_games, n_steps, score, tolerance
):
    game = drrn.compile_game(drrn.make(shared_games / "machineofdeath.toml"))
    start = np.random.default_rng(n_steps)
    # the tolerance is enough for the score
    result = fixed_point(game, 1.0, 0.9, 500, n_steps=n_steps, start=start, tolerance=tolerance)
    assert result is not None and result.final_reward == pytest.approx(score, abs=0.01)
