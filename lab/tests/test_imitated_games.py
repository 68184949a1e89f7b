"""The imitated games, whose scores are computed by hand, in place of the paper's games."""

import numpy as np
import pytest

import drrn
from lab.authors import added
from lab.experiments.results import Results
from storytest.twine.paraphrases import read_paraphrases
from tests.commands import main
from tests.imitation import add_imitation
from tests.stories import open_story
from textgames.compiled.memoryless import fixed_point
from textgames.compiled.solve import best, random_play
from textgames.game.episodes import play_episodes, random_policy, summarise

# Random play from the ferry without tea: F = 3/4 · 20 + 1/4 · (F - 10) / 2.
FERRY = (15 - 1.25) * 8 / 7
# Random play from the door takes 8/3 steps:
# D = 1/4 (D + 20) / 2 + 1/4 (D - 10) / 2 + 1/4 · (-10) + 1/4 · 5 = 0.
RANDOM = {"saving-john": (0.0, -0.1 * (8 / 3 - 1)), "machine-of-death": ((5 + FERRY) / 2, None)}
# The player waits for the ferry 1/3 times on average; each wait costs 0.1.
BEST = {"saving-john": (20.0, 19.8), "machine-of-death": (20.0, 20 - 0.1 / 3)}


@pytest.fixture(params=added.NAMES)
def name(request):
    return request.param


@pytest.fixture
def game(imitated_games, name):
    return open_story(imitated_games / f"{name}.toml")


@pytest.fixture
def compiled(game):
    return drrn.compile_game(game, cache=False)


@pytest.fixture
def crossing(imitated_games):
    return imitated_games / "machine-of-death.toml"


def test_the_best_and_the_random_score_equal_those_computed_by_hand(compiled, name):
    play = random_play(compiled)
    final_reward, total = RANDOM[name]
    assert (best(compiled).score, best(compiled, 1.0).score) == pytest.approx(BEST[name])
    assert play.final_reward == pytest.approx(final_reward)
    assert total is None or play.total == pytest.approx(total)


def test_sampled_random_play_has_the_exact_score(game, name):
    summary = summarise(play_episodes(game, random_policy(0), 4_000, 0))
    assert summary.mean_final_reward == pytest.approx(RANDOM[name][0], abs=0.8)


@pytest.mark.parametrize("n_steps", [1, 4])
def test_q_learning_converges_to_the_same_score_from_every_start(compiled, name, n_steps):
    scores = []
    for seed in (1, 2):
        start = np.random.default_rng(seed)
        result = fixed_point(compiled, 1.0, 0.9, 500, n_steps=n_steps, start=start)
        assert result is not None
        scores.append(result.final_reward)
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
    assert scores[0] == pytest.approx(BEST[name][0], abs=0.01)


def test_every_ending_is_reached_and_every_page_is_counted(imitated_games):
    gate, crossing = (open_story(imitated_games / f"{name}.toml").explore() for name in added.NAMES)
    for result, stochastic, most_actions, hypertext in (
        (gate, False, 4, False),
        (crossing, True, 3, True),
    ):
        assert result.complete and result.stochastic is stochastic
        assert {face.ending.rule for face in result.faces if face.ending} == {0, 1, 2}
        assert max(len(face.actions) for face in result.faces) == most_actions
        assert any(face.hypertext for face in result.faces) is hypertext
    assert len({face.text for face in gate.faces}) == 7  # one page of the gate per path
    assert len({face.text for face in crossing.faces}) == 8  # three pages of the quay


def test_states_with_the_same_future_are_merged(imitated_games):
    compiled = drrn.compile_game(drrn.make(imitated_games / "saving-john.toml"), cache=False)
    # The path matters only at the gate. At the door it is forgotten, which costs 0.1.
    assert (compiled.raw_states, compiled.raw_complete, len(compiled)) == (14, True, 9)


def test_links_inside_a_text_are_parts_of_it(crossing):
    game = open_story(crossing, shuffle=False)
    page = game.reset(0)
    assert game.scene is not None and game.scene.face.hypertext
    assert page.actions == ("kiosk", "ferry")
    assert all(action in page.text for action in page.actions)


def test_every_paraphrase_is_of_a_reachable_action(crossing):
    faces = open_story(crossing).explore().faces
    actions = {action for face in faces for action in face.actions}
    paraphrases = read_paraphrases(open_story(crossing).rules.paraphrases["paraphrased"])
    assert paraphrases.keys() <= actions


def test_the_paraphrased_game_has_the_same_score_of_random_play(crossing):
    compiled = drrn.compile_game(drrn.make(crossing, paraphrased=True), cache=False)
    assert "booth" in compiled.actions and "kiosk" not in compiled.actions
    assert random_play(compiled).final_reward == pytest.approx((5 + FERRY) / 2)


def test_annotate_keeps_the_rules_of_a_game(crossing, tmp_path):
    assert main(["annotate", str(crossing), "--out", str(tmp_path / "mine.toml")]) == 0
    rules = open_story(tmp_path / "mine.toml", outside=True).rules
    assert [rule.reward for rule in rules.endings] == [-10, 10, 20]


@pytest.mark.usefixtures("home")
def test_the_paper_experiments_run_on_the_installed_games(imitation, tmp_path, jobs_in_process):
    """The imitation has none of the paper's example states, so no Q-value is reported."""
    add_imitation(imitation)
    tiny = ["rounds=1", "episodes_per_round=5", "epochs=1", "evaluation_episodes=5"]
    command = ["reproduce", "--quick", "--games", "paper", "--jobs", "1"]
    command += ["--out", str(tmp_path / "out")]
    assert main([*command, "--set", *tiny, "--only", "drrn-2x100", "table"]) == 0
    results = Results(tmp_path / "out")
    for name in added.NAMES:
        record = results.record(name, "table")
        assert record is not None and record["wanted"]["rounds"] == 1
    text = (tmp_path / "out/RESULTS.md").read_text(encoding="utf-8")
    assert "Saving John" in text and "Machine of Death" in text
