"""Installing the paper's games from a clone of the authors' repository, or an imitation of it."""

import json
import os
import re
from pathlib import Path

import pytest

import drrn
from drrn.cli import main
from drrn.compiled.solve import best, random_play
from drrn.errors import InputError
from drrn.lab.authors.install import PUBLISHED, add_games, read_sources
from drrn.stories import added
from drrn.stories.authored import paraphrases_of
from drrn.stories.twine.rules import read_paraphrases
from tests.imitated_twee import write_twee
from tests.imitation import CROSSING, add_imitation, pickled_words, treat_as_published, write_clone
from tests.stories import open_story

SIMULATOR = "simulators/MySimulator.py"
pytestmark = pytest.mark.usefixtures("home", "working_folder")


@pytest.fixture
def text_games():
    """A clone of the authors' repository, which is not part of this one."""
    if not os.environ.get("DRRN_TEXT_GAMES"):
        pytest.skip("DRRN_TEXT_GAMES does not name a clone of jvking/text-games")
    return Path(os.environ["DRRN_TEXT_GAMES"])


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


@pytest.mark.parametrize(
    ("path", "choice", "reward"), [(0, "Use the match.", 20), (1, "Use the flint.", -10)]
)
def test_the_choices_of_the_gate_depend_on_the_path(imitation, path, choice, reward):
    add_imitation(imitation)
    game = open_story("saving-john", shuffle=False)
    game.reset(0)
    game.step(path)
    assert game.step(0).actions == ("Turn back.", choice)
    assert game.step(1).reward == reward


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


def test_residues_of_markup_are_removed_from_texts(imitation):
    add_imitation(imitation)
    texts = compiled("machine-of-death").texts
    assert "Fog comes down. Wait." in texts
    assert not any("endif" in text or "html" in text for text in texts)


def test_an_included_passage_starts_on_a_new_line(imitation):
    add_imitation(imitation)
    texts = compiled("machine-of-death").texts
    assert any(text.startswith("You jump.\nYou swim home.") for text in texts)


def test_the_scores_equal_those_computed_by_hand(imitation):
    add_imitation(imitation)
    ferry = (15 - 1.25) * 8 / 7  # F = 3/4 · 20 + 1/4 · (F - 10) / 2
    game = compiled("machine-of-death")
    assert random_play(game).final_reward == pytest.approx((5 + ferry) / 2)
    assert best(game).score == pytest.approx(20)


def test_an_ending_that_the_published_code_misses_pays_ten_or_as_published_0(imitation):
    add_imitation(imitation, as_published=True)
    ferry = (15 - 1.25) * 8 / 7
    play = random_play(compiled("machine-of-death"))
    assert play.final_reward == pytest.approx((-2.5 + ferry) / 2)
    rules = open_story("machine-of-death").rules
    assert {rule.reward for rule in rules.endings} == {-10, 0, 20}
    add_imitation(imitation)
    rules = open_story("machine-of-death").rules
    assert {rule.reward for rule in rules.endings} == {-10, 10, 20}


@pytest.mark.parametrize(("as_published", "reward"), [(False, 5), (True, 0)])
def test_a_rule_with_another_apostrophe_pays_as_in_the_paper_or_as_published_0(
    imitation, as_published, reward
):
    add_imitation(imitation, as_published=as_published)
    game = open_story("saving-john", shuffle=False)
    game.reset(0)
    assert game.step(3).reward == reward


def test_endings_are_identified_by_their_passages(imitation):
    add_imitation(imitation)
    game = open_story("machine-of-death", shuffle=False)
    game.reset(0)
    game.step(0)
    game.step(1)
    assert game.ending == "Ashore"
    assert game.scene is not None and game.scene.face.passage == "Ferry"


def test_a_step_costs_a_tenth_in_both_games_or_as_published_only_in_the_second(imitation):
    add_imitation(imitation)
    assert [open_story(name).rules.step_reward for name in added.NAMES] == [-0.1, -0.1]
    add_imitation(imitation, as_published=True)
    assert [open_story(name).rules.step_reward for name in added.NAMES] == [0, -0.1]


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


@pytest.mark.parametrize("name", added.NAMES)
def test_the_error_for_a_missing_game_names_the_installation(capsys, name):
    assert main(["play", name, "--policy", "random"]) == 2
    output = capsys.readouterr().err
    assert output.count("\n") == 1 and "git clone https://github.com/jvking/text-games" in output
    assert "drrn games add text-games" in output


def test_the_error_for_a_misspelt_name_suggests_the_game(capsys):
    assert main(["play", "savingjohn", "--policy", "random"]) == 2
    assert 'Did you mean "saving-john"?' in capsys.readouterr().err


@pytest.mark.slow
def test_games_lists_the_installed_games_and_the_source_of_their_rewards(
    capsys, imitation, shared_compile_cache
):
    main(["games"])
    assert (
        "saving-john and machine-of-death: not installed; to install them: git clone"
        in capsys.readouterr().out
    )
    with treat_as_published(imitation):
        assert main(["games", "add", str(imitation), "--as-published"]) == 0
    assert "installed: sources" in capsys.readouterr().out
    main(["games"])
    lines = capsys.readouterr().out.splitlines()
    (first,) = (line for line in lines if line.startswith("saving-john  "))
    (second,) = (line for line in lines if line.startswith("machine-of-death  "))
    assert first.split()[1:3] == ["Saving", "John"]
    assert "hypertext" in second and "stochastic" in second
    assert any(line.endswith(", rewards of the published code") for line in lines)


def test_a_run_records_the_hash_of_the_sources_of_its_game(imitation, tmp_path):
    origin = add_imitation(imitation)
    small = "--updates 2 --rounds 1 --episodes-per-round 5 --evaluation-episodes 5".split()
    small += ["--replicas", "1"]
    assert main(["train", "saving-john", "--out", str(tmp_path / "run"), *small]) == 0
    game = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))["game"]
    assert game["source"] == "saving-john"
    assert game["sources_sha256"] == origin.sha256 and game["as_published"] is False
    assert main(["train", "long-watch", "--out", str(tmp_path / "other"), *small]) == 0
    game = json.loads((tmp_path / "other" / "config.json").read_text(encoding="utf-8"))["game"]
    assert "sources_sha256" not in game


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


def test_the_error_names_a_changed_file_and_the_games_remain(imitation):
    with treat_as_published(imitation):
        origin = add_games(imitation)
        path = imitation / "simulators" / "savingjohn_wordId.pickle"
        path.write_bytes(pickled_words(["another"]))
        with pytest.raises(InputError, match="savingjohn_wordId"):
            add_games(imitation)
    assert added.origin() == origin


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_error_names_a_missing_file_and_the_games_remain(home, imitation, name):
    add_imitation(imitation)
    before = files_of(home)
    (imitation / name).unlink()
    with pytest.raises(InputError, match=re.escape(Path(name).name)):
        add_imitation(imitation)
    assert files_of(home) == before


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
    monkeypatch.setenv("DRRN_HOME", str(home))
    assert before.items() <= files_of(home).items()
    assert "wide" in drrn.make("machine-of-death").reset(0).text


def test_adding_again_repairs_a_damaged_record(imitation):
    add_imitation(imitation)
    parent_folder = added.record_path().read_text().replace("text-games-", "../")
    for text in ("{", "[]", '{"folder": "/"}', parent_folder):
        added.record_path().write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="add the games again"):
            drrn.make("saving-john")
        assert drrn.make("long-watch")
        add_imitation(imitation)
        assert drrn.make("saving-john")


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


def test_one_changed_byte_of_a_published_file_is_rejected(text_games, tmp_path):
    for name in PUBLISHED:
        target = tmp_path / "copy" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((text_games / name).read_bytes())
    path = tmp_path / "copy" / SIMULATOR
    path.write_bytes(path.read_bytes().replace(b"return(-20)", b"return(-21)", 1))
    with pytest.raises(InputError, match=r"MySimulator\.py.*differs"):
        add_games(tmp_path / "copy")
