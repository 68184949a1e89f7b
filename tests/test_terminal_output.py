"""Texts of stories do not control the terminal; interrupted commands end quietly."""

import os
import re
import subprocess
import sys
import types
from typing import Any

import pytest

from drrn.__main__ import start
from tests.commands import main

CLEAR = "\x1b[2J"
TITLE = "\x1b]0;mine\x07"
LINK = "\x1b]8;;http://x\x1b\\"
HOSTILE = f"{CLEAR}{TITLE}{LINK}\x9b1m\u202ereversed\u202c\u2066"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
STORY = f""":: StoryTitle
Tale {HOSTILE}

:: Start
You {HOSTILE} stand. [[Go {HOSTILE} out|Out]] [[Stay|In]]

:: Out {HOSTILE}
Nothing.

:: Out
Out {HOSTILE} there.

:: In
In.
"""


@pytest.fixture
def hostile_story(tmp_path):
    path = tmp_path / "tale.twee"
    path.write_text(STORY, encoding="utf-8")
    path.with_suffix(".toml").write_text(
        'story = "tale.twee"\n[[ending]]\npassage = "Out"\nreward = 5\n'
    )
    return path.with_suffix(".toml")


COMMANDS = {
    "inspect": ["inspect"],
    "inspect as JSON": ["inspect", "--json"],
    "the best play": ["inspect", "--walkthrough"],
    "the best play as JSON": ["inspect", "--walkthrough", "--json"],
    "play": ["play", "--policy", "random", "--episodes", "2", "--show"],
    "play as JSON": ["play", "--policy", "random", "--episodes", "40", "--seed", "0", "--json"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_output_of_a_command_has_no_control_characters(hostile_story, command, capsys):
    assert main([command[0], str(hostile_story), *command[1:]]) == 0
    out, error = capsys.readouterr()
    assert not CONTROL.search(out + error)
    assert "reversed" in out or "Out" in out


def test_an_error_has_no_control_characters(hostile_story, capsys):
    hostile_story.with_suffix(".twee").write_text(
        STORY.replace("[[Stay|In]]", f"<<wild{CLEAR} {HOSTILE}>> [[Stay|In]]")
    )
    assert main(["play", str(hostile_story), "--engine", "native", "--policy", "random"]) == 2
    error = capsys.readouterr().err
    assert "wild" in error and not CONTROL.search(error)


def test_a_closed_pipe_ends_the_command_with_exit_code_141(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        [sys.executable, "-m", "drrn", "games"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=environment,
    )
    os.close(writer)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (141, b"")


def test_ctrl_c_during_the_imports_of_the_command_is_quiet(monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    module: Any = types.ModuleType("drrn.cli")
    module.__getattr__ = interrupt
    monkeypatch.setitem(sys.modules, "drrn.cli", module)
    assert start() == 130 and capsys.readouterr().err == ""
    # nothing slow is imported before the handler
    code = "import drrn, sys; assert not {'numpy', 'torch', 'textgames.game'} & set(sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
