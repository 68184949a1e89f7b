"""Installing the paper's games from a clone of the authors' repository, or an imitation of it."""

import json
import os
import re
from pathlib import Path

import pytest

import drrn
from lab.authors import added
from lab.authors.install import add_games, read_sources
from lab.experiments.statistics import paraphrases_of
from storytest.twine.paraphrases import read_paraphrases
from tests.commands import main
from tests.imitated_twee import write_twee
from tests.imitation import CROSSING, add_imitation, pickled_words, treat_as_published, write_clone
from tests.stories import open_story
from textgames.compiled.solve import best, random_play
from textgames.errors import InputError

SIMULATOR = "simulators/MySimulator.py"
pytestmark = pytest.mark.usefixtures("home", "working_folder")


@pytest.fixture
def text_games():
    """A clone of the authors' repository, which is not part of this one."""
    if not os.environ.get("TEXTGAMES_TEXT_GAMES"):
        pytest.skip("TEXTGAMES_TEXT_GAMES does not name a clone of jvking/text-games")
    return Path(os.environ["TEXTGAMES_TEXT_GAMES"])


def compiled(name):
    return drrn.compile_game(drrn.make(name), cache=False)


def files_of(folder):
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in paths}


# Games


def test_installed_games_open_by_name(imitation):
    add_imitation(imitation)
    assert [open_story(name).title for name in added.NAMES] == ["Saving John", "Machine of Death"]
    drrn.check_game(drrn.make("saving-john"))
    drrn.check_game(drrn.make("machine-of-death"))


def test_passages_of_the_pickle_have_their_texts_and_choices(imitation):
    add_imitation(imitation)
    game = open_story("saving-john", shuffle=False)
    page = game.reset(0)
    assert page.text == "The lamp is out.\nWhich way?"
    assert page.actions == ("Take the hill.", "Take the wood.", "Lie down.", "Wait.")
    assert game.step(1).text == "It is dark, and it’s long."


def test_a_link_inside_a_text_stays_there(imitation):
    add_imitation(imitation)
    game = open_story("machine-of-death", shuffle=False)
    page = game.reset(0)
    assert page.text == (
        "The river is wide. To the left is a kiosk, and a ferry lies at the quay.\n\nYou have 2 coins."
    )
    assert page.actions == ("kiosk", "ferry")
    assert game.scene is not None and game.scene.face.hypertext


def test_a_link_on_a_separate_line_is_a_choice_and_bytes_become_letters(imitation):
    add_imitation(imitation)
    game = open_story("machine-of-death", shuffle=False)
    game.reset(0)
    game.step(0)
    page = game.step(0)
    assert page.text.startswith('"Tea?" You drink it. The cup’s chipped.\n\nThe river')
    assert page.text.endswith("Your pockets are empty.")
    assert page.actions == ("kiosk", "ferry", '"I can swim.”')


@pytest.mark.parametrize("as_published", [False, True])
def test_rewards_are_those_of_the_paper_or_of_the_published_code(imitation, as_published):
    """The published code misses an ending with another apostrophe, and one with an entity."""
    add_imitation(imitation, as_published=as_published)
    gate, crossing = (open_story(name).rules for name in added.NAMES)
    assert [gate.step_reward, crossing.step_reward] == [0 if as_published else -0.1, -0.1]
    assert [rule.reward for rule in gate.endings] == [20, -10, 0 if as_published else 5]
    assert [rule.reward for rule in crossing.endings] == [-10, 0 if as_published else 10, 20]


def test_endings_are_identified_by_their_passages(imitation):
    add_imitation(imitation)
    game = open_story("machine-of-death", shuffle=False)
    game.reset(0)
    game.step(0)
    game.step(1)
    assert game.ending == "Ashore"
    assert game.scene is not None and game.scene.face.passage == "Ferry"


def test_paraphrases_match_actions_with_other_quotation_marks(imitation):
    add_imitation(imitation)
    pairs = paraphrases_of(drrn.make("machine-of-death"))
    assert pairs == {"kiosk": "booth", '"I can swim.”': "I know how to swim."}
    assert "booth" in drrn.make("machine-of-death", paraphrased=True).reset(0).actions


def test_the_published_vocabularies_are_saved_as_json(imitation):
    origin = add_imitation(imitation)
    words = json.loads(
        (origin.path / "machine-of-death.vocabulary.json").read_text(encoding="utf-8")
    )
    assert words == {
        "states": {"river": 0, "wide": 1, "html": 2},
        "actions": {"kiosk": 0, "ferry": 1},
    }


# Command line


def test_the_error_for_a_missing_game_names_the_installation(capsys):
    assert main(["play", "saving-john", "--policy", "random"]) == 2
    output = capsys.readouterr().err
    assert output.count("\n") == 1 and "python -m lab games" in output
    assert main(["play", "savingjohn", "--policy", "random"]) == 2
    assert '"saving-john"' in capsys.readouterr().err


def test_games_lists_the_installed_games(capsys, imitation, shared_compile_cache):
    main(["games"])
    assert "saving-john and machine-of-death: not installed" in capsys.readouterr().out
    with treat_as_published(imitation):
        assert main(["games", "add", str(imitation), "--as-published"]) == 0
    installed = capsys.readouterr().out
    assert "installed: sources" in installed and "rewards of the published code" in installed
    main(["games"])
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    assert rows["saving-john"][1:3] == ["Saving", "John"]
    assert rows["machine-of-death"][-1].isdecimal()


def test_the_sources_of_an_installed_game_are_known(imitation):
    origin = add_imitation(imitation)
    sources = {"sources_sha256": origin.sha256, "as_published": False}
    assert added.sources_of(open_story("saving-john")) == sources
    assert added.sources_of(open_story("long-watch")) == {}


# Installation


def test_adding_the_same_files_again_changes_nothing_and_reports_it(capsys, home, imitation):
    add_imitation(imitation)
    before = files_of(home)
    with treat_as_published(imitation):
        assert main(["games", "add", str(imitation)]) == 0
    assert "installed again" in capsys.readouterr().out
    assert files_of(home) == before


def test_other_files_replace_the_games_and_report_the_old_ones(capsys, home, imitation):
    first = add_imitation(imitation)
    write_clone(imitation, CROSSING.replace("The river is wide.", "The river is a mile wide."))
    with treat_as_published(imitation):
        assert main(["games", "add", str(imitation)]) == 0
    output = capsys.readouterr().out
    assert "installed again" in output and f"before: sources {first.sha256[:12]}" in output
    assert drrn.make("machine-of-death").reset(0).text.startswith("The river is a mile wide.")
    assert not first.path.exists()


def test_adding_again_repairs_a_game_that_was_edited(imitation):
    origin = add_imitation(imitation)
    (origin.path / "saving-john.twee").write_text(":: Start\nMine now.", encoding="utf-8")
    add_imitation(imitation)
    assert drrn.make("saving-john").reset(0).text.startswith("The lamp is out.")


def test_the_hash_ignores_line_endings(imitation):
    path = imitation / SIMULATOR
    with treat_as_published(imitation):
        before = read_sources(imitation)
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert read_sources(imitation) == before
    path.write_bytes(path.read_bytes() + b"# one more line\n")
    with treat_as_published(imitation):
        assert read_sources(imitation) != before


def test_files_that_differ_from_the_published_ones_are_rejected(capsys, home, imitation):
    assert main(["games", "add", str(imitation)]) == 2
    output = capsys.readouterr().err
    assert "differs" in output and f"checkout 936b583 -- {SIMULATOR}" in output
    assert not home.exists()


@pytest.mark.parametrize("data", [None, pickled_words(["another"])], ids=["missing", "changed"])
def test_the_error_names_a_missing_or_changed_file_and_the_games_remain(home, imitation, data):
    path = imitation / "simulators" / "savingjohn_wordId.pickle"
    with treat_as_published(imitation):
        origin = add_games(imitation)
        before = files_of(home)
        path.unlink() if data is None else path.write_bytes(data)
        with pytest.raises(InputError, match="savingjohn_wordId"):
            add_games(imitation)
    assert added.origin() == origin and files_of(home) == before


def test_the_error_for_a_missing_folder_differs_from_that_for_a_wrong_one(tmp_path):
    with pytest.raises(InputError, match=r"no such folder.*git clone"):
        add_games(tmp_path / "nowhere")
    with pytest.raises(InputError, match=f"it has no {SIMULATOR}.*git clone"):
        add_games(tmp_path)


def test_a_file_that_is_too_large_is_rejected(imitation):
    with (imitation / "simulators" / "savingjohn.pickle").open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(InputError, match=r"savingjohn\.pickle: 1,000,000,000 bytes"):
        add_games(imitation)


def test_a_full_disk_leaves_the_old_games(monkeypatch, home, imitation):
    add_imitation(imitation)
    before = files_of(home)
    write_clone(imitation, CROSSING.replace("wide", "broad"))

    def fail(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match="No space left on device"):
        add_imitation(imitation)
    monkeypatch.undo()
    monkeypatch.setenv("TEXTGAMES_HOME", str(home))
    assert before.items() <= files_of(home).items()
    assert "wide" in drrn.make("machine-of-death").reset(0).text


def test_adding_again_repairs_a_damaged_record(imitation):
    origin = add_imitation(imitation)
    parent_folder = added.record_path().read_text().replace("text-games-", "../")
    for text in ("{", "[]", '{"folder": "/"}', parent_folder):
        added.record_path().write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="add the games again"):
            added.origin()
        assert drrn.make("saving-john")
        add_imitation(imitation)
        assert added.origin() == origin


def test_the_simulator_is_never_run(tmp_path, imitation):
    add_imitation(imitation)
    assert not list(tmp_path.rglob("THE_CODE_WAS_RUN"))


# Comparison with the same stories in Twee


def without_quotes(text):
    return " ".join(re.sub("[\"“”'‘’]", "", text).split())


@pytest.mark.parametrize("name", added.NAMES)
def test_the_games_of_the_imitation_equal_the_twee_files(imitation, tmp_path, name):
    add_imitation(imitation)
    assert_same_game(name, write_twee(tmp_path / "twee") / f"{name}.toml")


@pytest.mark.parametrize(
    ("name", "twee"), [("saving-john", "savingjohn"), ("machine-of-death", "machineofdeath")]
)
def test_the_published_games_equal_the_twee_files(text_games, shared_games, name, twee):
    add_games(text_games)
    assert_same_game(name, shared_games / f"{twee}.toml")


def assert_same_game(name, twee):
    game = compiled(name)
    expected = compiled(twee)
    assert sorted(map(without_quotes, game.texts)) == sorted(map(without_quotes, expected.texts))
    actions = sorted(map(without_quotes, game.actions))
    assert actions == sorted(map(without_quotes, expected.actions))
    assert len(game) == len(expected)
    assert best(game).score == pytest.approx(best(expected).score)
    assert best(game, 1.0).score == pytest.approx(best(expected, 1.0).score)
    play = random_play(game)
    expected_play = random_play(expected)
    assert play.final_reward == pytest.approx(expected_play.final_reward)
    assert play.total == pytest.approx(expected_play.total)


def test_the_paraphrases_of_the_imitation_equal_the_tsv(imitation, tmp_path):
    origin = add_imitation(imitation)
    pairs = read_paraphrases(origin.path / "machine-of-death.paraphrases.tsv")
    expected = write_twee(tmp_path / "twee") / "machine-of-death.paraphrases.tsv"
    assert pairs == read_paraphrases(expected)


def test_the_published_paraphrases_equal_the_tsv(text_games, shared_games):
    origin = add_games(text_games)
    pairs = read_paraphrases(origin.path / "machine-of-death.paraphrases.tsv")
    assert pairs == read_paraphrases(shared_games / "machineofdeath.paraphrases.tsv")


def test_the_published_vocabularies_have_the_sizes_that_the_docs_state(text_games):
    origin = add_games(text_games)
    sizes = []
    for name in added.NAMES:
        words = json.loads((origin.path / f"{name}.vocabulary.json").read_text(encoding="utf-8"))
        sizes.append((len(words["states"]), len(words["actions"])))
    assert sizes == [(1310, 171), (2258, 419)]


def test_random_play_of_machine_of_death_scores_slightly_less_as_published(text_games):
    add_games(text_games, as_published=True)
    play = random_play(compiled("machine-of-death"))
    assert -8.2 < play.final_reward < -7.92
    assert best(compiled("machine-of-death")).score == pytest.approx(23.33, abs=0.01)
