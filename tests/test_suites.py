"""Games of suites behind the contract, each suite by a small stand-in of ours that has its interface."""

import json
import shutil

import pytest

import drrn
from drrn.cli import main
from drrn.game.make import is_suite, spec_for
from drrn.game.optional import fingerprint_of
from drrn.suites.catalogue import SUITES, read_choice
from drrn.suites.environments import JerichoEnvironment, TextWorldEnvironment
from tests.suite_files import game_file
from tests.trainings import SMALL, same_weights

NAMES = ["twx:coin", "textworld:tale.z8", "jericho:tale.z8", "scienceworld:find-plant"]


@pytest.fixture
def game(stand_ins, tmp_path, monkeypatch):
    """Opens a game of a suite; files are found in the current folder, and all games are closed."""
    monkeypatch.chdir(tmp_path)
    game_file(tmp_path)
    opened = []

    def made(name):
        opened.append(drrn.make(name))
        return opened[-1]

    yield made
    for one in opened:
        one.close()


def walked(game, *actions, seed=0):
    """The pages along some actions."""
    pages = [game.reset(seed)]
    for action in actions:
        pages.append(game.step(pages[-1].actions.index(action)))
    return pages


@pytest.mark.parametrize("name", NAMES)
def test_a_game_of_a_suite_keeps_the_contract(game, name):
    drrn.check_game(game(name), episodes=2, max_steps=60)


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_sorted_and_copies_play_on_their_own(game, name):
    first = game(name)
    other = first.another()
    page = first.reset(3)
    assert list(page.actions) == sorted(page.actions)
    assert other.reset(3) == page
    assert first.step(0) == other.step(0)
    assert fingerprint_of(first) == fingerprint_of(other)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_a_game_of_a_suite_is_trained_and_other_processes_give_the_same_numbers(game, name):
    settings = {**SMALL, "rounds": 1, "episodes_per_round": 4, "replicas": 1}
    trainers = [
        drrn.trainer(f"{name}?max_steps=5&copies=2", paper=True, workers=workers, **settings)
        for workers in (1, 2)
    ]
    for trainer in trainers:
        list(trainer.train())
        trainer.game.close()
    assert same_weights(*trainers)


def test_rewards_are_differences_of_the_score(game):
    pages = walked(game("textworld:tale.z8"), "go down", "take apple", "look", "eat apple")
    assert [page.reward for page in pages] == [0, 0, 1, 0, 2]
    pages = walked(game("scienceworld:find-plant?variation=0"), "wait", "focus on plant")
    assert [page.reward for page in pages] == [0, 1, 91]  # it began at 8
    pages = walked(game("jericho:tale.z8"), "take lamp", "leave")
    assert [page.reward for page in pages] == [0, 5, 5]


@pytest.mark.parametrize(
    ("name", "way", "ending"),
    [
        ("twx:coin?seed=0", ["take coin"], "won"),
        ("twx:coin?seed=0", ["eat coin"], "lost"),
        ("textworld:tale.z8", ["go down", "take apple", "eat apple"], "won"),
        ("textworld:tale.z8", ["go down", "take apple", "drop apple"], "lost"),
        ("jericho:tale.z8", ["take lamp", "leave"], "won"),
        ("jericho:tale.z8", ["leave"], "lost"),
        ("scienceworld:boil?variation=1", ["focus on stone"], "won"),
        ("scienceworld:boil?variation=1", ["focus on bird"], "lost"),
    ],
)
def test_an_ending_has_a_name_and_no_actions(game, name, way, ending):
    played = game(name)
    last = walked(played, *way)[-1]
    assert (last.actions, played.ending, played.stopped) == ((), ending, False)
    with pytest.raises(RuntimeError, match="has ended"):
        played.step(0)


@pytest.mark.slow
def test_a_step_limit_is_not_an_ending(game):
    """The loop stops an episode by itself; the suites' own limits, which look like endings, are out of the way."""
    for name in NAMES:
        played = game(f"{name}?max_steps=3")
        quiet = next(a for a in ("look around", "look", "sing") if a in played.reset(0).actions)
        episodes = drrn.play_episodes(
            played, lambda page, a=quiet: page.actions.index(a), episodes=1, seed=0
        )
        assert [(e.steps, e.ending) for e in episodes] == [(3, None)]
    played = game("twx:coin")
    played.reset(0)
    pages = [played.step(played.reset(0).actions.index("look around"))]
    pages += [played.step(pages[-1].actions.index("look around")) for _ in range(200)]
    assert not played.stopped and all(page.actions for page in pages)


def test_the_text_is_made_of_the_parts_that_are_asked_for(game):
    assert (
        game("twx:coin?text=task,look&seed=1").reset(0).text
        == "Find the coin.\nYou are in the kitchen of house 1 (train)."
    )
    assert (
        game("textworld:tale.z8").reset(0).text
        == "-= Attic =-\nYou are in the attic.\nYou are carrying nothing."
    )
    told = walked(game("textworld:tale.z8?text=objective,feedback"), "look")[-1].text
    assert told == "Eat the apple.\nYou look."  # without the status line


def test_a_seed_chooses_the_variation(game):
    coin = game("twx:coin?text=look&variations=2")
    shown = {coin.reset(seed).text for seed in range(20)}
    assert shown == {f"You are in the kitchen of house {house} (train)." for house in (0, 1)}
    assert "house 20" in game("twx:coin?text=look&fold=test").reset(0).text
    task = game("scienceworld:boil?fold=dev&text=look&simplifications=easy,openDoors")
    assert {task.reset(seed).text for seed in range(20)} == {
        f"A workshop ({n}, easy,openDoors)." for n in (5, 6)
    }


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("twx:", "name a game after the suite, such as twx:coin"),
        ("twx:coins", 'has no game "coins". Did you mean "coin"\\?'),
        ("twx:coin?numLocation=3", r'Unrecognized property name.* Did you mean "numLocations"\?'),
        ("twx:coin?numLocations=many", 'numLocations must be a whole number, not "many"'),
        ("twx:coin?fold=tests", 'fold is "tests". Did you mean "test"\\?'),
        ("twx:coin?text=looks", 'text is "looks". Did you mean "look"\\?'),
        ("twx:coin?seed", 'write seed=VALUE'),
        ("twx:coin?seed=1&seed=2", "seed is given twice"),
        ("twx:coin?copies=0", "copies is 0; it must be at least 1"),
        ("scienceworld:boill", 'has no task "boill". Did you mean "boil"\\?'),
        ("scienceworld:boil?variation=9", "variation is 9; .* 0 to 8"),
        ("scienceworld:boil?simplification=easy", 'no option "simplification". Did you mean "simplifications"\\?'),
        ("jericho:tale.z5", r"tale.z5: no such file. Did you mean"),
        ("jericho:none.z5", "not a story file of the Z-machine"),
        ("jericho:cut.z5", "truncated story file: 128 of its 512 bytes"),
        ("jericho:other.z5", "Jericho does not know this game"),
        ("textworld:lonely.z8", "lonely.json, which tw-make writes"),
        ("textworld:none.z5", "not a game of TextWorld"),
    ],
)  # fmt: skip
def test_a_wrong_name_or_option_is_one_error(game, tmp_path, name, sentence):
    (tmp_path / "none.z5").write_text(
        "Once upon a time there was a file that was no story of the Z-machine at all."
    )
    (tmp_path / "none.json").write_text("{}")
    game_file(tmp_path, "other.z5", known=False)
    whole = game_file(tmp_path, "cut.z5").read_bytes()
    (tmp_path / "cut.z5").write_bytes(whole[:0x1A] + b"\0\x40" + whole[0x1C:])
    (tmp_path / "lonely.z8").write_bytes((tmp_path / "tale.z8").read_bytes())
    with pytest.raises(drrn.InputError, match=sentence) as caught:
        game(name)
    assert "\n" not in str(caught.value)


def test_options_of_stories_are_refused(game):
    with pytest.raises(
        drrn.InputError, match="engine is for stories, and this is a game of a suite"
    ):
        drrn.make("twx:coin", engine="hosted")


def test_a_suite_that_is_missing_is_named_with_its_cure(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    game_file(tmp_path)
    for name in NAMES:
        suite = SUITES[name.partition(":")[0]]
        with pytest.raises(
            drrn.InputError,
            match=rf"{suite.title} is not installed: pip install 'drrn\[{suite.name}\]'",
        ):
            drrn.make(name.replace("tale.z8", str(tmp_path / "tale.z8")))


def test_the_error_for_missing_java_names_the_command(stand_ins, monkeypatch):
    monkeypatch.setenv("PATH", "")
    for name in ("twx:coin", "scienceworld:boil"):
        with pytest.raises(
            drrn.InputError,
            match=r"needs Java, and there is no java on the path: (apt-get|brew) install",
        ):
            drrn.make(name)


def test_the_suites_are_listed_with_the_command_for_those_that_are_missing(
    stand_ins, capsys, monkeypatch
):
    assert main(["games", "--suites"]) == 0
    told = capsys.readouterr().out
    assert all(
        suite.title in told and f"{suite.name}:{suite.example}" in told for suite in SUITES.values()
    )
    assert "All are installed." in told
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert main(["games", "--suites"]) == 0
    assert (
        "default-jre-headless && pip install 'drrn[suites]'" in capsys.readouterr().out
        or shutil.which("brew")
    )


@pytest.mark.slow
def test_a_name_opens_from_every_folder(game, tmp_path, monkeypatch):
    played = drrn.trainer(
        "textworld:tale.z8?max_steps=4", paper=True, **{**SMALL, "rounds": 1, "replicas": 1}
    )
    list(played.train())
    played.save(tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "config.json").read_text())["game"]
    assert kept["source"] == f"textworld:{tmp_path / 'tale.z8'}?max_steps=4"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = drrn.resume(tmp_path / "run", rounds=2)
    assert len(list(again.train())) == 1
    assert spec_for("twx:coin").source == "twx:coin"
    for trainer in (played, again):
        trainer.game.close()


@pytest.mark.slow
def test_the_fingerprint_covers_all_that_episodes_depend_on(game, tmp_path):
    prints = [
        fingerprint_of(game(f"twx:coin{options}"))
        for options in ("", "?seed=1", "?seconds=9&copies=3", "?seed=2")
    ]
    assert prints[0] == prints[2] and len(set(prints)) == 3
    before = read_choice(f"jericho:{tmp_path / 'tale.z8'}").fingerprint
    (tmp_path / "tale.z8").write_bytes((tmp_path / "tale.z8").read_bytes() + b"more")
    assert read_choice(f"jericho:{tmp_path / 'tale.z8'}").fingerprint != before


def test_a_textworld_game_generated_on_another_day_has_the_same_fingerprint(tmp_path):
    def fingerprint(day, words, quests=("coin",)):
        story = tmp_path / "coin.z8"
        story.write_bytes(b"\x08" + bytes(17) + day + bytes(4) + day[:2] + bytes(34))
        told = {"grammar": {"names_to_exclude": words}, "quests": quests}
        story.with_suffix(".json").write_text(json.dumps(told))
        return read_choice(f"textworld:{story}").fingerprint

    made = fingerprint(b"261116", ["attic", None, "coin"])
    assert fingerprint(b"270101", [None, "coin", "attic"]) == made
    assert fingerprint(b"261116", ["attic", None, "coin"], ("key",)) != made


def test_other_names_are_left_to_others():
    assert is_suite("twx:coin") and is_suite("jericho:a/b.z5?seed=1")
    assert not any(map(is_suite, ["long-watch", "mygames:Doors", "twx", "tale.toml"]))


def test_a_menu_of_jericho_is_asked_for_once_in_each_state_of_the_world(stand_ins, tmp_path):
    options = read_choice(f"jericho:{game_file(tmp_path)}").options
    played = JerichoEnvironment(str(tmp_path / "tale.z8"), options)
    first = played.reset(1)
    for _ in range(3):
        assert played.step("sing").actions == first.actions
    assert played.env.asked == 1
    played.step("take lamp")
    assert played.env.asked == 2
    exact = JerichoEnvironment(str(tmp_path / "tale.z8"), {**options, "menus": "state"})
    for _ in range(2):
        exact.reset(1)
        exact.step("sing")
    assert exact.env.asked == 2


def test_looking_and_asking_for_a_menu_leave_jerichos_game_as_it_was(stand_ins, tmp_path):
    options = read_choice(f"jericho:{game_file(tmp_path)}").options
    played = JerichoEnvironment(str(tmp_path / "tale.z8"), options)
    played.reset(1)
    played.step("sing")
    assert played.env.state[1] == 1  # moves


def test_jericho_is_never_given_the_seed_0_which_it_ignores(stand_ins, tmp_path):
    options = read_choice(f"jericho:{game_file(tmp_path)}").options
    played = JerichoEnvironment(str(tmp_path / "tale.z8"), options)
    for seed in (0, 2**31 - 2, 2**31 - 1):
        played.reset(seed)
    assert all(1 <= seed < 2**31 for seed in played.env.seeds)
    assert (
        len({played.reset(seed).text for seed in range(4)}) == 1
    )  # the first page does not depend on it
    assert (
        len({played.reset(seed) and played.step("sing").text for seed in range(20)}) == 3
    )  # the second does


def test_jericho_finds_objects_by_the_games_own_dictionary(stand_ins, tmp_path):
    options = read_choice(f"jericho:{game_file(tmp_path)}").options
    played = JerichoEnvironment(str(tmp_path / "tale.z8"), options)
    played.reset(1)
    assert played.env.found == {("brass", "ADJ"), ("lantern", "NOUN")}


def test_textworld_is_asked_for_no_more_than_is_shown(stand_ins, tmp_path):
    options = read_choice(f"textworld:{game_file(tmp_path)}").options
    played = TextWorldEnvironment(str(tmp_path / "tale.z8"), options)
    assert "feedback" not in played.env.asked and "objective" not in played.env.asked
