"""Games made by Python code: `module:factory`, registered names, specs, invalid objects."""

import dataclasses
import json
import pickle
import subprocess
import sys
from importlib import metadata

import pytest

import textgames
from tests.commands import main
from tests.sample_games import Doors, FixedEnv, Walk
from tests.source_code import ROOT
from textgames.openers import GameSpec, absolute_name, as_game, make, spec_of

MINE = (
    "from tests.sample_games import Doors\n\nclass Mine(Doors):\n    name = 'mine'\n\nthing = 3\n"
)


@pytest.fixture
def folder(import_folder):
    """The current folder, with a user's module in it."""
    (import_folder / "mygames.py").write_text(MINE)
    return import_folder


def game_spec(game):
    """Return the spec of a game that has one."""
    spec = spec_of(game)
    assert spec is not None
    return spec


def test_a_users_game_is_opened_by_module_and_factory(folder):
    game = make("mygames:Mine")
    assert game.name == "mine" and spec_of(game) == GameSpec("mygames:Mine", folder=str(folder))
    assert make("tests.sample_games:fixed_env").reset(0).actions == FixedEnv.actions


def test_a_spec_opens_its_game_from_another_folder_and_another_process(
    folder, monkeypatch, tmp_path_factory
):
    (folder / "tale.twee").write_text(":: Start\nHere.\n\n[[On.|End]]\n\n:: End\nThere.\n")
    games = [
        make("mygames:Mine"),
        make("tale.twee", shuffle=False),
        make("night-market", paraphrased=True),
    ]
    specs = [game_spec(game) for game in games]
    assert pickle.loads(pickle.dumps(specs)) == specs
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    arguments = json.dumps([dataclasses.asdict(spec) for spec in specs])
    code = "import sys, json; sys.path.append({!r})\nfrom textgames.openers import GameSpec\n"
    code += "print([GameSpec(**r).open().name for r in json.loads(sys.argv[1])])"
    root = str(ROOT)
    run = subprocess.run(
        [sys.executable, "-c", code.format(root), arguments],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "['mine', 'tale', 'night-market']"
    assert specs[1].open().reset(0).text == "Here." and spec_of(specs[1].open()) == specs[1]
    assert spec_of(Walk()) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "nowhere_here:Doors",
            "there is no module nowhere_here, neither in this folder nor installed",
        ),
        ("mygames:Nine", r'mygames has no Nine\. Did you mean "Mine"\?'),
        ("mygames:thing", "type int; name a class"),
        ("broken:Doors", "broken.py, line 1: SyntaxError"),
        ("needy:Doors", "ModuleNotFoundError: No module named 'nothing_such'"),
        ("tests.sample_games:GymnasiumWrong", "tests.sample_games has no GymnasiumWrong"),
        ("builtins:dict", "builtins is in Python's standard library"),
        ("numpy:ones", "called without arguments, it raised TypeError"),
        ("numpy:random.default_rng", "a value of type Generator is not a game"),
        ("my-games:Doors", "own game as module:factory"),
    ],
)
def test_every_failure_to_open_a_users_game_is_one_sentence(folder, capsys, name, why):
    (folder / "broken.py").write_text("def (:\n")
    (folder / "needy.py").write_text("import nothing_such\n")
    with pytest.raises(textgames.InputError, match=why) as error:
        make(name)
    assert "\n" not in str(error.value)
    assert main(["play", name, "--policy", "random"]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.fixture
def package(monkeypatch):
    """A package that registers two games, one of them broken."""
    entry_points = [
        metadata.EntryPoint(name, f"tests.sample_games:{name.title()}", "textgames.games")
        for name in ("dice", "gone")
    ]
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: entry_points if group == "textgames.games" else []
    )
    monkeypatch.syspath_prepend("a-new-path")  # registered games are cached for each path


def test_a_registered_name_is_a_game_like_any_other(package, capsys, shared_compile_cache):
    assert make("dice").name == "dice" and spec_of(make("dice")) == GameSpec("dice")
    assert absolute_name("dice") == "dice" and game_spec(make("dice")).open().name == "dice"
    with pytest.raises(textgames.InputError, match=r'game "gone": tests\.sample_games has no Gone'):
        make("gone")
    with pytest.raises(textgames.InputError, match=r'no game is named "dic"\. Did you mean "dice"'):
        make("dic")
    assert main(["games"]) == 0
    output = capsys.readouterr().out
    assert "Doors and Dice" in output and "gone cannot be opened: " in output


@pytest.mark.parametrize(
    ("thing", "why"),
    [
        (Doors, r"Doors is a class; pass an instance, Doors\(\)"),
        (FixedEnv, "FixedEnv is a class"),
        (7, "type int is not a game; a game has a name"),
    ],
)
def test_an_object_that_is_not_a_game_is_rejected(thing, why):
    with pytest.raises(textgames.InputError, match=why):
        as_game(thing)
