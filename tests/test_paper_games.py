"""The paper's two games, against figures computed exactly from the authors' simulators."""

from functools import cache

import numpy as np
import pytest

import drrn
from drrn.compiled.fixed_point import fixed_point
from drrn.compiled.memoryless import best_memoryless
from drrn.compiled.solve import best, random_play
from drrn.game.episodes import play_episodes, random_policy, summarise
from drrn.stories.twine.rules import read_paraphrases


@cache
def explored(shared_games, name):
    return drrn.make(shared_games / f"{name}.toml").explore(limit=30_000)


def random_games(shared_games, name):
    game = drrn.make(shared_games / f"{name}.toml")
    return summarise(play_episodes(game, random_policy(0), 8_000, 0))


def test_random_play_of_saving_john_scores_what_its_states_say(shared_games):
    summary = random_games(shared_games, "savingjohn")
    assert summary.mean_final_reward == pytest.approx(-7.05, abs=0.25)
    assert summary.mean_return == pytest.approx(-8.09, abs=0.3)


def test_saving_john_has_70_texts_107_actions_and_134_states(shared_games):
    found = drrn.make(shared_games / "savingjohn.toml").explore()
    assert found.complete and not found.stochastic
    assert found.states == 134
    assert len({face.text for face in found.faces}) == 70
    assert len({action for face in found.faces for action in face.actions}) == 107
    assert max(len(face.actions) for face in found.faces) == 4
    assert not any(face.hypertext for face in found.faces)


def test_random_play_of_machine_of_death_scores_what_its_states_say(shared_games):
    summary = random_games(shared_games, "machineofdeath")
    assert summary.mean_final_reward == pytest.approx(-7.91, abs=0.25)
    assert summary.mean_return == pytest.approx(-11.1, abs=0.4)


def test_machine_of_death_reaches_all_16_ending_rules_and_shows_at_most_9_actions(shared_games):
    found = explored(shared_games, "machineofdeath")
    assert {face.ending.rule for face in found.faces if face.ending} == set(range(16))
    assert max(len(face.actions) for face in found.faces) == 9
    assert found.stochastic
    assert len({action for face in found.faces for action in face.actions}) == 173


def test_the_page_of_the_mall_shows_its_five_links_inside_the_text(shared_games):
    game = drrn.make(shared_games / "machineofdeath.toml", shuffle=False)
    found = game.explore(limit=300)
    mall = next(s for s in found.faces if "Peak hour ended" in s.text and s.hypertext)
    assert mall.actions == (
        "fast food restaurant",
        "UFO catcher",
        "poster",
        "mall's exits",
        "the Machine",
    )
    assert all(action in mall.text for action in mall.actions)


def test_every_published_paraphrase_is_of_an_action_that_the_game_shows(shared_games):
    actions = {
        action for face in explored(shared_games, "machineofdeath").faces for action in face.actions
    }
    pairs = read_paraphrases(shared_games / "machineofdeath.paraphrases.tsv")
    unused = [original for original in pairs if original not in actions]
    assert len(pairs) == 152
    assert (
        len(unused) == 5
    )  # two stand on the pages of endings, three on a page that only a second life would show


def test_paraphrased_machine_of_death_plays_by_the_same_chances(shared_games):
    game = drrn.make(shared_games / "machineofdeath.toml", paraphrased=True)
    summary = summarise(play_episodes(game, random_policy(1), 5_000, 1))
    assert summary.mean_final_reward == pytest.approx(-7.91, abs=0.6)


@pytest.mark.parametrize(
    ("name", "best_scores", "random_scores"),
    [
        ("savingjohn", (20.00, 19.40), (-7.05, -8.09)),
        ("machineofdeath", (23.33, 21.50), (-7.91, -11.08)),
    ],
)
def test_the_best_and_the_random_score_are_those_of_the_authors_simulators(
    shared_games, name, best_scores, random_scores
):
    compiled = drrn.compile_game(drrn.make(shared_games / f"{name}.toml"))
    chance = random_play(compiled)
    assert (round(best(compiled).score, 2), round(best(compiled, 1.0).score, 2)) == best_scores
    assert (round(chance.final_reward, 2), round(chance.total, 2)) == random_scores


def test_saving_john_has_134_states_of_which_73_differ(shared_games):
    compiled = drrn.compile_game(drrn.make(shared_games / "savingjohn.toml"))
    assert (compiled.raw_states, compiled.raw_complete, len(compiled)) == (134, True, 73)


def test_machine_of_death_can_be_played_best_without_memory(shared_games):
    compiled = drrn.compile_game(drrn.make(shared_games / "machineofdeath.toml"))
    assert best_memoryless(compiled).score == pytest.approx(best(compiled).score)
    assert len(compiled) == 2582 and len(compiled.actions) == 173


@pytest.mark.parametrize(("n_steps", "score", "still"), [(1, 8.695, 0.1), (4, 18.615, 0.001)])
def test_one_step_targets_come_to_rest_far_below_four_wherever_they_begin(
    shared_games, n_steps, score, still, monkeypatch
):
    monkeypatch.setattr("drrn.compiled.fixed_point.TOLERANCE", still)  # near enough for the score
    game = drrn.compile_game(drrn.make(shared_games / "machineofdeath.toml"))
    found = fixed_point(game, 1.0, 0.9, 500, n_steps=n_steps, start=np.random.default_rng(n_steps))
    assert found.final_reward == pytest.approx(score, abs=0.01)
