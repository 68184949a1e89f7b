"""Installing the paper's games from a clone of their authors' files, or an imitation of it."""

import os
import re
from pathlib import Path

import pytest

import drrn
from lab.authors import STEP_REWARDS, StoryNode, add_games, read_pickle, read_sources
from lab.experiments.results import Results
from lab.experiments.statistics import paraphrases_of
from storytest.twine.paraphrases import read_paraphrases
from tests.commands import main
from tests.imitation import CROSSING, add_imitation, pickled_string, treat_as_published, write_clone
from tests.stories import open_story
from textgames.compiled.solve import best, random_play
from textgames.errors import InputError

SIMULATOR = "simulators/MySimulator.py"
# Random play from the ferry without tea: F = 3/4 · 20 + 1/4 · (F - 10) / 2.
FERRY = (15 - 1.25) * 8 / 7
# Random play from the door: D = 1/4 (D + 20) / 2 + 1/4 (D - 10) / 2 + 1/4 · (-10) + 1/4 · 5 = 0.
RANDOM = {"saving-john": 0.0, "machine-of-death": (5 + FERRY) / 2}
# The best final reward and return: the player waits 1/3 times for the ferry, which costs 0.1.
BEST = {"saving-john": (20.0, 20.0), "saving-john-step": (20.0, 19.8)}
BEST["machine-of-death"] = (20.0, 20 - 0.1 / 3)
HARMFUL = {
    "a function": b"cos\nsystem\n(S'touch THE_CODE_WAS_RUN'\ntR.",
    "an instance": b"(S'touch THE_CODE_WAS_RUN'\nios\nsystem\n.",
    "a module": b'c__builtin__\neval\n(S\'open("THE_CODE_WAS_RUN", "w")\'\ntR.',
    "a newer protocol": b"\x80\x02cos\nsystem\nq\x00X\x05\x00\x00\x00touchq\x01\x85q\x02Rq\x03.",
}
pytestmark = pytest.mark.usefixtures("home", "working_folder")


@pytest.fixture
def text_games():
    """A clone of the authors' repository, which is not part of this one."""
    if not os.environ.get("TEXTGAMES_TEXT_GAMES"):
        pytest.skip("TEXTGAMES_TEXT_GAMES does not name a clone of jvking/text-games")
    return Path(os.environ["TEXTGAMES_TEXT_GAMES"])


def compiled(name):
    return drrn.compile_game(drrn.make(name), cache=False)


# The files


@pytest.mark.parametrize("data", HARMFUL.values(), ids=HARMFUL)
def test_a_pickle_that_names_anything_but_the_storys_class_is_rejected(data, tmp_path):
    with pytest.raises(InputError, match=r"names (os|__builtin__|builtins)\.(system|eval)"):
        read_pickle(data)
    assert not list(tmp_path.rglob("THE_CODE_WAS_RUN"))


def test_plain_data_is_read():
    data = (
        b"(dp1\nS'a'\np2\n(lp3\nI-7\nag2\nas"
        + pickled_string("it’s “x”\n")
        + b"(i__main__\nStoryNode\n(dS'links'\ng3\nsbs."
    )
    content = read_pickle(data)
    node = content.pop("it’s “x”\n")
    assert isinstance(node, StoryNode) and node.links == [-7, "a"]
    assert content == {"a": [-7, "a"]}


def test_the_hash_ignores_line_endings(imitation):
    path = imitation / SIMULATOR
    with treat_as_published(imitation):
        before = read_sources(imitation)
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert read_sources(imitation) == before


def test_files_that_differ_from_the_published_ones_are_rejected(capsys, home, imitation):
    assert main(["games", "add", str(imitation)]) == 2
    output = capsys.readouterr().err
    assert "differs" in output and f"checkout 936b583 -- {SIMULATOR}" in output
    assert not home.exists()
    with treat_as_published(imitation):
        (imitation / "simulators/savingjohn.pickle").unlink()
        with pytest.raises(InputError, match="savingjohn"):
            add_games(imitation)
    with pytest.raises(InputError, match=f"has no {SIMULATOR}.*git clone"):
        add_games(imitation / "nowhere")


# The games


def test_the_command_installs_games_that_open_by_name_and_runs_no_code(
    capsys, imitation, tmp_path, shared_compile_cache
):
    assert main(["play", "saving-john", "--policy", "random"]) == 2
    assert "python -m lab games" in capsys.readouterr().err
    with treat_as_published(imitation):
        assert main(["games", "add", str(imitation)]) == 0
    assert "installed: saving-john, machine-of-death" in capsys.readouterr().out
    for name in STEP_REWARDS:
        drrn.check_game(drrn.make(name))
    main(["games"])
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    assert rows["saving-john"][1:3] == ["Saving", "John"]
    assert not list(tmp_path.rglob("THE_CODE_WAS_RUN"))


def test_other_files_replace_the_games(imitation):
    add_imitation(imitation)
    write_clone(imitation, CROSSING.replace("The river is wide.", "The river is a mile wide."))
    add_imitation(imitation)
    assert drrn.make("machine-of-death").reset(0).text.startswith("The river is a mile wide.")


def test_passages_of_the_pickle_have_their_texts_and_choices(imitation):
    add_imitation(imitation)
    game = open_story("saving-john", shuffle=False)
    page = game.reset(0)
    assert page.text == "The lamp is out.\nWhich way?"
    assert page.actions == ("Take the hill.", "Take the wood.", "Lie down.", "Wait.")
    assert game.step(1).text == "It is dark, and it’s long."


def test_a_link_stays_inside_its_text_or_is_a_choice_on_a_line(imitation):
    add_imitation(imitation)
    game = open_story("machine-of-death", shuffle=False)
    page = game.reset(0)
    assert page.text == (
        "The river is wide. To the left is a kiosk, and a ferry lies at the quay.\n\n"
        "You have 2 coins."
    )
    assert page.actions == ("kiosk", "ferry")
    assert game.scene is not None and game.scene.face.hypertext
    game.step(0)
    page = game.step(0)
    assert page.text.startswith('"Tea?" You drink it. The cup’s chipped.\n\nThe river')
    assert page.text.endswith("Your pockets are empty.")
    assert page.actions == ("kiosk", "ferry", '"I can swim.”')
    assert not game.step(1).actions and game.ending == "Ashore"


def test_rewards_are_those_of_the_paper(imitation):
    """The published code misses an ending with another apostrophe, and one with an entity."""
    add_imitation(imitation)
    gate, crossing, step = (open_story(name).rules for name in STEP_REWARDS)
    assert [gate.step_reward, crossing.step_reward, step.step_reward] == [0, -0.1, -0.1]
    assert [rule.reward for rule in gate.endings] == [20, -10, 5]
    assert [rule.reward for rule in crossing.endings] == [-10, 10, 20]
    assert gate.endings == step.endings


def test_paraphrases_match_actions_with_other_quotation_marks(imitation):
    add_imitation(imitation)
    pairs = paraphrases_of(drrn.make("machine-of-death"))
    assert pairs == {"kiosk": "booth", '"I can swim.”': "I know how to swim."}
    game = drrn.compile_game(drrn.make("machine-of-death", paraphrased=True), cache=False)
    assert "booth" in game.actions and "kiosk" not in game.actions
    assert random_play(game).final_reward == pytest.approx(RANDOM["machine-of-death"])


@pytest.mark.parametrize("name", STEP_REWARDS)
def test_the_best_and_the_random_score_equal_those_computed_by_hand(imitation, name):
    add_imitation(imitation)
    game = compiled(name)
    assert (best(game).score, best(game, 1.0).score) == pytest.approx(BEST[name])
    assert random_play(game).final_reward == pytest.approx(RANDOM[name.removesuffix("-step")])


def test_every_ending_is_reached_and_states_with_the_same_future_are_merged(imitation):
    add_imitation(imitation)
    for name, stochastic, pages in (("saving-john", False, 7), ("machine-of-death", True, 8)):
        result = open_story(name).explore()
        assert result.complete and result.stochastic is stochastic
        assert {face.ending.rule for face in result.faces if face.ending} == {0, 1, 2}
        assert len({face.text for face in result.faces}) == pages
    game = compiled("saving-john-step")  # the path matters only at the gate
    assert (game.raw_states, game.raw_complete, len(game)) == (14, True, 9)


def test_the_paper_experiments_run_on_the_installed_games(imitation, tmp_path, jobs_in_process):
    """The imitation has none of the paper's example states, so no Q-value is reported."""
    add_imitation(imitation)
    tiny = ["rounds=1", "episodes_per_round=5", "evaluation_episodes=5"]
    command = ["reproduce", "--quick", "--games", "paper", "--jobs", "1"]
    command += ["--out", str(tmp_path / "out"), "--set", *tiny, "--only", "drrn-2x100"]
    assert main([*command, "choice-memory", "choice-step-reward", "choice-biases"]) == 0
    names = [name for game, name in Results(tmp_path / "out").jobs() if game == "saving-john"]
    assert names == ["choice-biases", "choice-memory", "choice-step-reward", "drrn-2x100", "game"]
    text = (tmp_path / "out/RESULTS.md").read_text(encoding="utf-8")
    assert "Saving John" in text and "Machine of Death" in text


# The published files


def without_quotes(text):
    return " ".join(re.sub("[\"“”'‘’]", "", text).split())


@pytest.mark.parametrize(
    ("name", "twee"), [("saving-john-step", "savingjohn"), ("machine-of-death", "machineofdeath")]
)
def test_the_published_games_equal_the_twee_files(text_games, shared_games, name, twee):
    add_games(text_games)
    game, expected = compiled(name), compiled(shared_games / f"{twee}.toml")
    for texts in ("texts", "actions"):
        ours, theirs = (sorted(map(without_quotes, getattr(g, texts))) for g in (game, expected))
        assert ours == theirs
    assert len(game) == len(expected)
    assert best(game, 1.0).score == pytest.approx(best(expected, 1.0).score)
    assert random_play(game).total == pytest.approx(random_play(expected).total)


def test_the_published_paraphrases_equal_the_tsv(text_games, shared_games, home):
    add_games(text_games)
    pairs = read_paraphrases(home / "games/text-games/machine-of-death.paraphrases.tsv")
    assert pairs == read_paraphrases(shared_games / "machineofdeath.paraphrases.tsv")
