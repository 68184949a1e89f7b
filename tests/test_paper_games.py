"""The paper's two games, against figures computed exactly from the authors' simulators."""

from functools import cache

import numpy as np
import pytest

import drrn
from drrn.compiled.memoryless import best_memoryless, fixed_point
from drrn.compiled.solve import best, random_play
from drrn.game.episodes import play_episodes, random_policy, summarise
from drrn.stories.twine.rules import read_paraphrases
from tests.stories import open_story


@cache
def exploration(shared_games, name):
    return open_story(shared_games / f"{name}.toml").explore(limit=30_000)


def random_play_summary(shared_games, name):
    game = drrn.make(shared_games / f"{name}.toml")
    return summarise(play_episodes(game, random_policy(0), 8_000, 0))


def actions_of(result):
    return {action for face in result.faces for action in face.actions}


def test_sampled_random_play_of_saving_john_has_the_exact_score(shared_games):
    summary = random_play_summary(shared_games, "savingjohn")
    assert summary.mean_final_reward == pytest.approx(-7.05, abs=0.25)
    assert summary.mean_return == pytest.approx(-8.09, abs=0.3)


def test_saving_john_has_70_texts_107_actions_and_134_states(shared_games):
    result = exploration(shared_games, "savingjohn")
    assert result.complete and not result.stochastic
    assert len(result.visited) == 134
    assert len({face.text for face in result.faces}) == 70
    assert len(actions_of(result)) == 107
    assert max(len(face.actions) for face in result.faces) == 4
    assert not any(face.hypertext for face in result.faces)


@pytest.mark.slow
def test_sampled_random_play_of_machine_of_death_has_the_exact_score(shared_games):
    summary = random_play_summary(shared_games, "machineofdeath")
    assert summary.mean_final_reward == pytest.approx(-7.91, abs=0.25)
    assert summary.mean_return == pytest.approx(-11.1, abs=0.4)


@pytest.mark.slow
def test_machine_of_death_reaches_all_16_ending_rules_and_shows_at_most_9_actions(shared_games):
    result = exploration(shared_games, "machineofdeath")
    assert {face.ending.rule for face in result.faces if face.ending} == set(range(16))
    assert max(len(face.actions) for face in result.faces) == 9
    assert result.stochastic
    assert len(actions_of(result)) == 173


def test_the_page_of_the_mall_shows_its_five_links_inside_the_text(shared_games):
    game = open_story(shared_games / "machineofdeath.toml", shuffle=False)
    faces = [face for face in game.explore(limit=300).faces if face.hypertext]
    mall = next(face for face in faces if "Peak hour ended" in face.text)
    assert mall.actions == (
        "fast food restaurant",
        "UFO catcher",
        "poster",
        "mall's exits",
        "the Machine",
    )
    assert all(action in mall.text for action in mall.actions)


def test_all_but_five_published_paraphrases_are_of_reachable_actions(shared_games):
    actions = actions_of(exploration(shared_games, "machineofdeath"))
    pairs = read_paraphrases(shared_games / "machineofdeath.paraphrases.tsv")
    unused = [original for original in pairs if original not in actions]
    assert len(pairs) == 152
    assert len(unused) == 5  # two on pages of endings, three on a page of a second episode


@pytest.mark.slow
def test_random_play_of_paraphrased_machine_of_death_has_the_same_score(shared_games):
    game = drrn.make(shared_games / "machineofdeath.toml", paraphrased=True)
    summary = summarise(play_episodes(game, random_policy(1), 5_000, 1))
    assert summary.mean_final_reward == pytest.approx(-7.91, abs=0.6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "best_scores", "random_scores"),
    [
        ("savingjohn", (20.00, 19.40), (-7.05, -8.09)),
        ("machineofdeath", (23.33, 21.50), (-7.91, -11.08)),
    ],
)
def test_the_best_and_the_random_score_equal_those_of_the_authors_simulators(
    shared_games, name, best_scores, random_scores
):
    compiled = drrn.compile_game(drrn.make(shared_games / f"{name}.toml"))
    play = random_play(compiled)
    assert (round(best(compiled).score, 2), round(best(compiled, 1.0).score, 2)) == best_scores
    assert (round(play.final_reward, 2), round(play.total, 2)) == random_scores


def test_saving_john_has_134_states_and_73_classes_of_bisimilar_ones(shared_games):
    compiled = drrn.compile_game(drrn.make(shared_games / "savingjohn.toml"))
    assert (compiled.raw_states, compiled.raw_complete, len(compiled)) == (134, True, 73)


@pytest.mark.slow
def test_the_best_score_of_machine_of_death_needs_no_memory(shared_games):
    compiled = drrn.compile_game(drrn.make(shared_games / "machineofdeath.toml"))
    assert best_memoryless(compiled).score == pytest.approx(best(compiled).score)
    assert len(compiled) == 2582 and len(compiled.actions) == 173


@pytest.mark.slow
@pytest.mark.parametrize(("n_steps", "score", "tolerance"), [(1, 8.695, 0.1), (4, 18.615, 0.001)])
def test_one_step_targets_converge_to_a_far_lower_score_than_four_step_targets(
    shared_games, n_steps, score, tolerance
):
    game = drrn.compile_game(drrn.make(shared_games / "machineofdeath.toml"))
    start = np.random.default_rng(n_steps)
    # the tolerance is enough for the score
    result = fixed_point(game, 1.0, 0.9, 500, n_steps=n_steps, start=start, tolerance=tolerance)
    assert result is not None and result.final_reward == pytest.approx(score, abs=0.01)
