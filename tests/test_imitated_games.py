"""The paths of the paper's two games, in every clone: on the imitation, whose figures can be worked out by hand."""

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.compiled.fixed_point import fixed_point
from drrn.compiled.memoryless import best_memoryless
from drrn.compiled.solve import best, random_play
from drrn.game.episodes import play_episodes, random_policy, summarise
from drrn.lab.experiments.results import Results
from drrn.stories import added as place
from drrn.stories.twine.rules import read_paraphrases
from tests.imitation import add_imitation

FERRY = (
    (15 - 1.25) * 8 / 7
)  # F = 3/4 · 20 + 1/4 · (F - 10) / 2: random play from the ferry, without tea
# The gate, D: 1/4 (D + 20) / 2 + 1/4 (D - 10) / 2 + 1/4 · (-10) + 1/4 · 5, so 0; it takes 8/3 steps to the end.
RANDOM = {"saving-john": (0.0, -0.1 * (8 / 3 - 1)), "machine-of-death": ((5 + FERRY) / 2, None)}
# The ferry may be kept waiting, a third of a time on average, and each wait costs a tenth.
BEST = {"saving-john": (20.0, 19.8), "machine-of-death": (20.0, 20 - 0.1 / 3)}


@pytest.fixture(params=place.NAMES)
def name(request):
    return request.param


@pytest.fixture
def game(imitated_games, name):
    return drrn.make(imitated_games / f"{name}.toml")


@pytest.fixture
def compiled(game):
    return drrn.compile_game(game, cache=False)


@pytest.fixture
def crossing(imitated_games):
    return imitated_games / "machine-of-death.toml"


def test_the_best_and_the_random_score_are_those_worked_out_by_hand(compiled, name):
    chance, (final_reward, total) = random_play(compiled), RANDOM[name]
    assert (best(compiled).score, best(compiled, 1.0).score) == pytest.approx(BEST[name])
    assert chance.final_reward == pytest.approx(final_reward)
    assert total is None or chance.total == pytest.approx(total)


def test_random_play_scores_what_the_states_say(game, name):
    summary = summarise(play_episodes(game, random_policy(0), 4_000, 0))
    assert summary.mean_final_reward == pytest.approx(RANDOM[name][0], abs=0.8)


def test_no_state_needs_more_than_what_its_page_shows(compiled, name):
    assert best_memoryless(compiled).score == pytest.approx(BEST[name][0])


@pytest.mark.parametrize("n_steps", [1, 4])
def test_q_learning_comes_to_rest_at_the_same_score_wherever_it_begins(compiled, name, n_steps):
    starts = [np.random.default_rng(seed) for seed in (1, 2)]
    one, two = (
        fixed_point(compiled, 1.0, 0.9, 500, n_steps=n_steps, start=start) for start in starts
    )
    assert one.final_reward == pytest.approx(two.final_reward, abs=1e-6)
    assert one.final_reward == pytest.approx(BEST[name][0], abs=0.01)


def test_every_rule_is_reached_and_every_page_counted(imitated_games):
    gate, crossing = (drrn.make(imitated_games / f"{name}.toml").explore() for name in place.NAMES)
    for found, stochastic, most_actions, hypertext in (
        (gate, False, 4, False),
        (crossing, True, 3, True),
    ):
        assert found.complete and found.stochastic is stochastic
        assert {face.ending.rule for face in found.faces if face.ending} == {0, 1, 2}
        assert max(len(face.actions) for face in found.faces) == most_actions
        assert any(face.hypertext for face in found.faces) is hypertext
    # The gate is a page for each way; the tea makes three pages of the quay.
    assert [len({face.text for face in found.faces}) for found in (gate, crossing)] == [7, 8]


def test_states_that_differ_in_nothing_to_come_are_one(imitated_games):
    compiled = drrn.compile_game(drrn.make(imitated_games / "saving-john.toml"), cache=False)
    # The way that one came counts at the gate alone. At the door it is told again, which costs a tenth.
    assert (compiled.raw_states, compiled.raw_complete, len(compiled)) == (14, True, 9)


def test_links_inside_the_text_are_shown_in_it(crossing):
    game = drrn.make(crossing, shuffle=False)
    page = game.reset(0)
    assert (
        game.scene.hypertext
        and page.actions == ("kiosk", "ferry")
        and all(a in page.text for a in page.actions)
    )


def test_every_paraphrase_is_of_an_action_that_the_game_shows(crossing):
    actions = {action for face in drrn.make(crossing).explore().faces for action in face.actions}
    assert set(read_paraphrases(crossing.with_name("machine-of-death.paraphrases.tsv"))) <= actions


def test_the_paraphrased_game_plays_by_the_same_chances(crossing):
    compiled = drrn.compile_game(drrn.make(crossing, paraphrased=True), cache=False)
    assert "booth" in compiled.actions and "kiosk" not in compiled.actions
    assert random_play(compiled).final_reward == pytest.approx((5 + FERRY) / 2)


def test_annotate_of_a_game_with_rules_keeps_them(crossing, tmp_path):
    assert main(["annotate", str(crossing), "--out", str(tmp_path / "mine.toml")]) == 0
    assert [
        rule.reward for rule in drrn.make(tmp_path / "mine.toml", outside=True).rules.endings
    ] == [-10, 10, 20]


def test_annotate_says_where_it_has_not_seen_all(crossing, tmp_path, monkeypatch):
    monkeypatch.setattr("drrn.cli.annotate.RANDOM_SECONDS", 0)
    assert (
        main(["annotate", str(crossing), "--out", str(tmp_path / "mine.toml"), "--limit", "9"]) == 0
    )
    assert (
        "states were visited: drrn test looks for more endings"
        in (tmp_path / "mine.toml").read_text()
    )


@pytest.mark.usefixtures("home")
def test_the_papers_experiments_are_run_on_the_games_by_name(imitation, tmp_path, jobs_in_process):
    """Statistics, scores, paraphrased play and the report; no example is in the imitation, so none has a Q-value."""
    add_imitation(imitation)
    tiny = ["rounds=1", "episodes_per_round=5", "epochs=1", "evaluation_episodes=5"]
    command = [
        "reproduce",
        "--quick",
        "--games",
        "paper",
        "--jobs",
        "1",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*command, "--set", *tiny, "--only", "drrn-2x100", "table"]) == 0
    results = Results(tmp_path / "out")
    assert all(results.record(name, "table")["wanted"]["rounds"] == 1 for name in place.NAMES)
    text = (tmp_path / "out/RESULTS.md").read_text(encoding="utf-8")
    assert "Saving John" in text and "Machine of Death" in text
