"""The paper's games out of a clone of their authors' repository; here, out of a small imitation of it."""

import json
import os
import re
from pathlib import Path

import pytest

import drrn
from drrn.cli import main
from drrn.compiled.solve import best, random_play
from drrn.errors import InputError
from drrn.lab.authors.clone import PUBLISHED, read_sources
from drrn.lab.authors.install import add_games
from drrn.stories import added as place
from drrn.stories.authored import paraphrases_of
from drrn.stories.twine.rules import read_paraphrases
from tests.imitated_twee import write_twee
from tests.imitation import CROSSING, add_imitation, pickled_words, treat_as_published, write_clone

SIMULATOR = "simulators/MySimulator.py"
pytestmark = pytest.mark.usefixtures("home", "working_folder")


@pytest.fixture
def text_games():
    """A clone of the real repository, which is not part of this one."""
    if not os.environ.get("DRRN_TEXT_GAMES"):
        pytest.skip("DRRN_TEXT_GAMES names no clone of jvking/text-games")
    return Path(os.environ["DRRN_TEXT_GAMES"])


def compiled(name):
    return drrn.compile_game(drrn.make(name), cache=False)


def everything(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


# --- the games


def test_both_games_can_be_made_by_name_once_they_are_add_imitation(imitation):
    add_imitation(imitation)
    assert [drrn.make(name).title for name in place.NAMES] == ["Saving John", "Machine of Death"]
    drrn.check_game(drrn.make("saving-john"))
    drrn.check_game(drrn.make("machine-of-death"))


def test_the_pickled_passages_show_their_texts_and_choices(imitation):
    add_imitation(imitation)
    game = drrn.make("saving-john", shuffle=False)
    page = game.reset(0)
    assert page.text == "The lamp is out.\nWhich way?"
    assert page.actions == ("Take the hill.", "Take the wood.", "Lie down.", "Wait.")
    assert game.step(1).text == "It is dark, and it’s long."


@pytest.mark.parametrize(
    ("way", "choice", "reward"), [(0, "Use the match.", 20), (1, "Use the flint.", -10)]
)
def test_the_gate_shows_the_choice_of_the_path_taken(imitation, way, choice, reward):
    add_imitation(imitation)
    game = drrn.make("saving-john", shuffle=False)
    game.reset(0)
    game.step(way)
    assert game.step(0).actions == ("Turn back.", choice)
    assert game.step(1).reward == reward


def test_a_link_whose_words_stand_in_the_text_stays_there(imitation):
    add_imitation(imitation)
    game = drrn.make("machine-of-death", shuffle=False)
    page = game.reset(0)
    assert page.text == (
        "The river is wide. To the left is a kiosk, and a ferry lies at the quay.\n\nYou have 2 coins."
    )
    assert page.actions == ("kiosk", "ferry")
    assert game.scene.hypertext


def test_a_link_on_a_separate_line_is_a_choice_and_bytes_become_letters(imitation):
    add_imitation(imitation)
    game = drrn.make("machine-of-death", shuffle=False)
    game.reset(0)
    game.step(0)
    page = game.step(0)
    assert page.text.startswith('"Tea?" You drink it. The cup’s chipped.\n\nThe river')
    assert page.text.endswith("Your pockets are empty.")
    assert page.actions == ("kiosk", "ferry", '"I can swim.”')


def test_what_the_conversion_left_behind_in_a_text_is_not_shown(imitation):
    add_imitation(imitation)
    texts = compiled("machine-of-death").texts
    assert "Fog comes down. Wait." in texts
    assert not any("endif" in text or "html" in text for text in texts)


def test_a_passage_shown_inside_another_keeps_the_line_break_at_its_edge(imitation):
    add_imitation(imitation)
    assert any(
        text.startswith("You jump.\nYou swim home.") for text in compiled("machine-of-death").texts
    )


def test_lots_and_rewards_give_the_scores_that_can_be_worked_out_by_hand(imitation):
    add_imitation(imitation)
    ferry = (15 - 1.25) * 8 / 7  # F = 3/4 · 20 + 1/4 · (F - 10) / 2
    game = compiled("machine-of-death")
    assert random_play(game).final_reward == pytest.approx((5 + ferry) / 2)
    assert best(game).score == pytest.approx(20)


def test_the_ending_that_the_published_code_never_recognises_pays_ten_or_as_published_nothing(
    imitation,
):
    add_imitation(imitation, as_published=True)
    ferry = (15 - 1.25) * 8 / 7
    assert random_play(compiled("machine-of-death")).final_reward == pytest.approx(
        (-2.5 + ferry) / 2
    )
    assert {rule.reward for rule in drrn.make("machine-of-death").rules.endings} == {-10, 0, 20}
    add_imitation(imitation)
    assert {rule.reward for rule in drrn.make("machine-of-death").rules.endings} == {-10, 10, 20}


@pytest.mark.parametrize(("as_published", "reward"), [(False, 5), (True, 0)])
def test_a_rule_with_another_apostrophe_pays_as_the_paper_has_it_or_as_published_nothing(
    imitation, as_published, reward
):
    add_imitation(imitation, as_published=as_published)
    game = drrn.make("saving-john", shuffle=False)
    game.reset(0)
    assert game.step(3).reward == reward


def test_endings_are_identified_by_their_passages(imitation):
    add_imitation(imitation)
    game = drrn.make("machine-of-death", shuffle=False)
    game.reset(0)
    game.step(0)
    game.step(1)
    assert game.ending == "Ashore" and game.scene.passage == "Ferry"


def test_a_step_costs_a_tenth_in_both_games_or_as_published_in_the_second_alone(imitation):
    add_imitation(imitation)
    assert [drrn.make(name).rules.step_reward for name in place.NAMES] == [-0.1, -0.1]
    add_imitation(imitation, as_published=True)
    assert [drrn.make(name).rules.step_reward for name in place.NAMES] == [0, -0.1]


def test_paraphrases_find_their_actions_whatever_the_quotation_marks(imitation):
    add_imitation(imitation)
    pairs = paraphrases_of(drrn.make("machine-of-death"))
    assert pairs == {"kiosk": "booth", '"I can swim.”': "I know how to swim."}
    assert "booth" in drrn.make("machine-of-death", paraphrased=True).reset(0).actions


def test_the_published_vocabularies_are_saved_as_json(imitation):
    made, _ = add_imitation(imitation)
    words = json.loads((made.path / "machine-of-death.vocabulary.json").read_text(encoding="utf-8"))
    assert words == {
        "states": {"river": 0, "wide": 1, "html": 2},
        "actions": {"kiosk": 0, "ferry": 1},
    }


# --- by name, from the command line


@pytest.mark.parametrize("name", place.NAMES)
def test_without_the_clone_the_name_gives_one_sentence_that_tells_how_to_get_it(capsys, name):
    assert main(["play", name, "--policy", "random"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "git clone https://github.com/jvking/text-games" in said
    assert "drrn games add text-games" in said


def test_a_slip_in_the_name_finds_the_games(capsys):
    assert main(["play", "savingjohn", "--policy", "random"]) == 2
    assert 'Did you mean "saving-john"?' in capsys.readouterr().err


def test_games_lists_the_added_games_and_the_source_of_their_rewards(
    capsys, imitation, shared_compile_cache
):
    main(["games"])
    assert "saving-john and machine-of-death: not installed: git clone" in capsys.readouterr().out
    with treat_as_published(imitation):
        assert main(["games", "add", str(imitation), "--as-published"]) == 0
    assert "installed: sources" in capsys.readouterr().out
    main(["games"])
    lines = capsys.readouterr().out.splitlines()
    own = {
        line.split()[0]: line
        for line in lines
        if line.startswith(("saving-john  ", "machine-of-death  "))
    }
    assert own["saving-john"].split()[1:3] == ["Saving", "John"]
    assert "hypertext" in own["machine-of-death"] and "stochastic" in own["machine-of-death"]
    assert any(line.endswith(", rewards of the published code") for line in lines)


def test_a_run_records_the_hash_of_the_files_that_its_game_was_made_from(imitation, tmp_path):
    made, _ = add_imitation(imitation)
    small = [
        "--updates",
        "2",
        "--rounds",
        "1",
        "--episodes-per-round",
        "5",
        "--evaluation-episodes",
        "5",
        "--replicas",
        "1",
    ]
    assert main(["train", "saving-john", "--out", str(tmp_path / "run"), *small]) == 0
    game = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))["game"]
    assert game["source"] == "saving-john"
    assert game["sources_sha256"] == made.sha256 and game["as_published"] is False
    assert main(["train", "long-watch", "--out", str(tmp_path / "other"), *small]) == 0
    assert (
        "sources_sha256"
        not in json.loads((tmp_path / "other" / "config.json").read_text(encoding="utf-8"))["game"]
    )


# --- installing


def test_adding_the_same_files_again_changes_nothing_and_reports_it(capsys, home, imitation):
    add_imitation(imitation)
    before = everything(home)
    with treat_as_published(imitation):
        assert main(["games", "add", str(imitation)]) == 0
    assert "already installed" in capsys.readouterr().out
    assert everything(home) == before


def test_other_files_replace_the_games_and_report_the_old_ones(capsys, home, imitation):
    first, _ = add_imitation(imitation)
    write_clone(imitation, CROSSING.replace("The river is wide.", "The river is a mile wide."))
    with treat_as_published(imitation):
        assert main(["games", "add", str(imitation)]) == 0
    said = capsys.readouterr().out
    assert "installed again" in said and f"before: sources {first.sha256[:12]}" in said
    assert drrn.make("machine-of-death").reset(0).text.startswith("The river is a mile wide.")
    assert not first.path.exists()


def test_a_game_that_was_changed_by_hand_is_put_right_by_adding_again(imitation):
    made, _ = add_imitation(imitation)
    (made.path / "saving-john.twee").write_text(":: Start\nMine now.", encoding="utf-8")
    assert add_imitation(imitation)[1]
    assert drrn.make("saving-john").reset(0).text.startswith("The lamp is out.")


def test_the_hash_is_of_what_was_read_and_line_ends_do_not_count(imitation):
    path = imitation / SIMULATOR
    with treat_as_published(imitation):
        before = read_sources(imitation).sha256
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert read_sources(imitation).sha256 == before
    path.write_bytes(path.read_bytes() + b"# one more line\n")
    with treat_as_published(imitation):
        assert read_sources(imitation).sha256 != before


def test_files_that_differ_from_the_published_ones_are_refused(capsys, home, imitation):
    assert main(["games", "add", str(imitation)]) == 2
    said = capsys.readouterr().err
    assert "differs from the published file" in said and f"checkout 936b583 -- {SIMULATOR}" in said
    assert not home.exists()


def test_one_file_that_differs_is_named_and_the_games_stay(imitation):
    with treat_as_published(imitation):
        made, _ = add_games(imitation)
        path = imitation / "simulators" / "savingjohn_wordId.pickle"
        path.write_bytes(pickled_words(["another"]))
        with pytest.raises(InputError, match="savingjohn_wordId"):
            add_games(imitation)
    assert place.origin() == made


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_missing_file_is_named_and_what_was_there_stays(home, imitation, name):
    add_imitation(imitation)
    before = everything(home)
    (imitation / name).unlink()
    with pytest.raises(InputError, match=re.escape(Path(name).name)):
        add_imitation(imitation)
    assert everything(home) == before


def test_the_error_for_a_missing_folder_differs_from_that_for_a_wrong_one(tmp_path):
    with pytest.raises(InputError, match=r"no such folder.*git clone"):
        add_games(tmp_path / "nowhere")
    with pytest.raises(InputError, match=f"it has no {SIMULATOR}.*git clone"):
        add_games(tmp_path)


def test_a_file_larger_than_any_published_one_is_not_read_whole(imitation):
    with (imitation / "simulators" / "savingjohn.pickle").open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(InputError, match=r"savingjohn\.pickle: too large"):
        add_games(imitation)


def test_a_disk_that_fails_leaves_the_games_that_were_there(monkeypatch, home, imitation):
    add_imitation(imitation)
    before = everything(home)
    write_clone(imitation, CROSSING.replace("wide", "broad"))

    def full(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        add_imitation(imitation)
    monkeypatch.undo()
    monkeypatch.setenv("DRRN_HOME", str(home))
    assert before.items() <= everything(home).items()
    assert "wide" in drrn.make("machine-of-death").reset(0).text


def test_the_error_for_a_damaged_record_names_the_cure_and_adding_repairs_it(imitation):
    add_imitation(imitation)
    for damage in (
        "{",
        "[]",
        '{"folder": "/"}',
        place.record_path().read_text().replace("text-games-", "../"),
    ):
        place.record_path().write_text(damage, encoding="utf-8")
        with pytest.raises(InputError, match="add the games again"):
            drrn.make("saving-john")
        assert drrn.make("long-watch")
        assert add_imitation(imitation)[1]
        assert drrn.make("saving-john")


def test_the_simulator_is_never_run(tmp_path, imitation):
    add_imitation(imitation)
    assert not list(tmp_path.rglob("THE_CODE_WAS_RUN"))


# --- against the same stories in Twee: the imitation's, and the real ones, where they are


def bare(text):
    return " ".join(re.sub("[\"“”'‘’]", "", text).split())


@pytest.mark.parametrize("name", place.NAMES)
def test_the_imitations_games_are_those_of_the_twee_files(imitation, tmp_path, name):
    add_imitation(imitation)
    assert_the_same_game(name, write_twee(tmp_path / "twee") / f"{name}.toml")


@pytest.mark.parametrize(
    ("name", "twee"), [("saving-john", "savingjohn"), ("machine-of-death", "machineofdeath")]
)
def test_the_published_games_are_those_of_the_twee_files(text_games, shared_games, name, twee):
    add_games(text_games)
    assert_the_same_game(name, shared_games / f"{twee}.toml")


def assert_the_same_game(name, twee):
    ours = compiled(name)
    theirs = compiled(twee)
    for mine, other in ((ours.texts, theirs.texts), (ours.actions, theirs.actions)):
        assert sorted(map(bare, mine)) == sorted(map(bare, other))
    assert len(ours) == len(theirs)
    for discount in (None, 1.0):
        scores = [
            best(game) if discount is None else best(game, discount) for game in (ours, theirs)
        ]
        assert scores[0].score == pytest.approx(scores[1].score)
    chances = [random_play(game) for game in (ours, theirs)]
    assert chances[0].final_reward == pytest.approx(chances[1].final_reward)
    assert chances[0].total == pytest.approx(chances[1].total)


def test_the_imitations_paraphrases_are_those_of_the_tsv(imitation, tmp_path):
    made, _ = add_imitation(imitation)
    ours = read_paraphrases(made.path / "machine-of-death.paraphrases.tsv")
    assert ours == read_paraphrases(
        write_twee(tmp_path / "twee") / "machine-of-death.paraphrases.tsv"
    )


def test_the_published_paraphrases_are_those_of_the_tsv(text_games, shared_games):
    made, _ = add_games(text_games)
    ours = read_paraphrases(made.path / "machine-of-death.paraphrases.tsv")
    assert ours == read_paraphrases(shared_games / "machineofdeath.paraphrases.tsv")


def test_the_published_vocabularies_have_the_sizes_that_the_docs_state(text_games):
    made, _ = add_games(text_games)
    sizes = []
    for name in place.NAMES:
        words = json.loads((made.path / f"{name}.vocabulary.json").read_text(encoding="utf-8"))
        sizes.append((len(words["states"]), len(words["actions"])))
    assert sizes == [(1310, 171), (2258, 419)]


def test_as_published_random_play_of_machine_of_death_scores_a_little_less(text_games):
    add_games(text_games, as_published=True)
    chance = random_play(compiled("machine-of-death"))
    assert -8.2 < chance.final_reward < -7.92
    assert best(compiled("machine-of-death")).score == pytest.approx(23.33, abs=0.01)


def test_one_changed_byte_of_a_published_file_is_noticed(text_games, tmp_path):
    for name in PUBLISHED:
        target = tmp_path / "copy" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((text_games / name).read_bytes())
    path = tmp_path / "copy" / SIMULATOR
    path.write_bytes(path.read_bytes().replace(b"return(-20)", b"return(-21)", 1))
    with pytest.raises(InputError, match="differs from the published file"):
        add_games(tmp_path / "copy")
