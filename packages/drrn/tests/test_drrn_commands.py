"""The commands of drrn, with small numbers."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import drrn.cli
from drrn.cli import main
from drrn.settings import all_settings
from storytest.twine.story_game import TwineGame
from tests.stories import UP_AND_DOWN
from textgames.files import read_toml

COMMANDS = read_toml(Path(drrn.cli.__file__).with_name("commands.toml"))["commands"]
pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def tale(tmp_path):
    path = tmp_path / "tale.twee"
    path.write_text(UP_AND_DOWN, encoding="utf-8")
    return path


def type_lines(monkeypatch, *lines):
    """Let a person type these lines; after the last, the terminal is closed."""
    remaining = iter(lines)

    def answer(*args, **kwargs):
        try:
            return next(remaining)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("rich.console.Console.input", answer)


def test_games_lists_names_titles_kinds_and_pages(capsys, shared_compile_cache):
    assert main(["games"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "title", "kind", "pages"]
    rows = {line.split()[0]: line for line in lines[1:] if line}
    assert rows["long-watch"].split()[1:] == ["The", "Long", "Watch", "story", "101"]
    assert "Home World" in rows["home-world"] and "The Comet House" in rows["comet-house"]
    assert lines[-1].startswith("diagnostic:") and "memory" in lines[-1]


def test_random_play_prints_five_figures_that_its_seed_decides(capsys, tale):
    def output(*words):
        assert main(["play", str(tale), "--policy", "random", *words]) == 0
        return capsys.readouterr().out

    figures = json.loads(output("--episodes", "50", "--seed", "0", "--json"))
    keys = ["episodes", "mean_final_reward", "mean_return", "mean_steps", "endings"]
    assert list(figures) == keys
    assert figures["episodes"] == 50 and figures["mean_steps"] == 1
    assert sum(figures["endings"].values()) == 50 and set(figures["endings"]) == {"Up", "Down"}
    one, same, other = (output("--episodes", "40", "--seed", seed) for seed in "112")
    assert one == same != other
    shown = output("--episodes", "3", "--seed", "0", "--show")
    assert shown.count("Well, Alex?") == shown.count("→") == shown.count("  reward 0\n") == 3
    assert shown.count("The sky is yours now.") + shown.count("You stay there for good.") == 3


def test_lenient_play_reports_skipped_macros(capsys, tale):
    tale.write_text(UP_AND_DOWN.replace("Well,", "<<wobble>>Well,"), encoding="utf-8")
    play = ["play", str(tale), "--policy", "random", "--episodes", "1", "--seed", "0"]
    assert main(play) == 2
    assert 'passage "Start"): the macro <<wobble>> is not supported' in capsys.readouterr().err
    assert main([*play, "--lenient"]) == 0
    assert "skipped: line 2" in capsys.readouterr().err


def test_a_person_plays(capsys, monkeypatch, tale):
    type_lines(monkeypatch, "?", "u", "9", "1", "n")
    assert main(["play", str(tale), "--seed", "0", "--no-shuffle"]) == 0
    out = capsys.readouterr().out
    assert "nothing to undo" in out and "Choose from 1 to 2" in out and "Final reward 0" in out


def test_undo_goes_one_step_back(capsys, monkeypatch, tmp_path):
    path = tmp_path / "walk.twee"
    path.write_text(
        ":: Start\nOne.\n\n[[On.|Two]]\n\n:: Two\nTwo.\n\n[[End it.|End]]\n\n:: End\nOver.\n"
    )
    type_lines(monkeypatch, "1", "u", "1", "1", "n")
    reset = mock.patch.object(TwineGame, "reset", autospec=True, side_effect=TwineGame.reset)
    with reset as resets:
        main(["play", str(path)])
    assert resets.call_count == 3  # for the title, at the start and to undo
    assert capsys.readouterr().out.count("One.\n") == 2


def test_after_the_end_the_game_starts_again(capsys, monkeypatch, tale, home):
    for again in "yr":
        type_lines(monkeypatch, "1", again, "1")
        assert main(["play", str(tale)]) == 0
        out = capsys.readouterr().out
        assert out.count("in 1 step.\n") == 2 and out.endswith("\n\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["play", "no-such-game"],
        ["play", "long-watch", "--episodes", "5"],
        ["play", "long-watch", "--policy", "random", "--agent", "nosuch"],
        ["play", "long-watch", "--policy", "random", "--episodes", "0"],
        ["play", "long-watch", "--paraphrased", "nonsense", "--policy", "random"],
        ["play", "long-watch", "--policy", "nonsense"],
        ["play", "long-watch", "--json"],
        ["play", "a" * 5000],
        ["play", ""],
        ["play", "x\0y"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40].replace("\0", "NUL"),
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, arguments):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("drrn: ") and error.count("\n") == 1


def test_the_module_runs_without_optional_packages():
    missing = ["rich", "gymnasium", "sacrebleu", "torch", "shtab", "optuna"]
    play = "play long-watch --policy random --episodes 3 --json".split()
    code = f"""
import sys
sys.modules.update(dict.fromkeys({missing}))
from drrn.cli import main
sys.exit(main(["games"]) or main({play}))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0 and "night-market" in result.stdout
    assert json.loads(result.stdout.splitlines()[-1])["episodes"] == 3


def test_the_error_for_a_missing_package_names_the_installation(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert main(["play", "long-watch"]) == 2
    assert "pip install rich" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["runs", "."], ["games"], ["train", "--help"], ["trian"]])
def test_light_commands_do_not_import_pytorch(command, tmp_path):
    code = f"""
import sys
from drrn.cli import main
try:
    main({command})
except SystemExit:
    pass
assert not {{"torch", "matplotlib", "rich", "sqlite3"}} & set(sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def help_text(capsys, *words):
    with pytest.raises(SystemExit):
        main([*words])
    return capsys.readouterr().out


def test_the_help_of_train_has_a_dozen_options_and_help_all_has_every_setting(capsys):
    short = help_text(capsys, "train", "--help")
    common = COMMANDS["train"]["common"]
    listed = re.findall(r"^  (--[\w-]+)", short, re.M)
    assert listed == ["--help-all", *common] and "drrn train --resume" in short
    long = help_text(capsys, "train", "--help-all")
    for name in all_settings():
        assert f"\n  --{name.replace('_', '-')}" in long
    assert long.index("settings of the model") < long.index("settings of the run")
    assert long.index("settings of the run") < long.index("rarely needed") < long.index("--engine")
