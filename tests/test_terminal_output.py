"""Texts of others do not control the terminal; commands that are interrupted end quietly."""

import json
import os
import re
import subprocess
import sys
import types

import pytest

import drrn
from drrn.cli import main
from drrn.document import Cell, Document, Section, Table, to_markdown
from drrn.writing import visible
from tests.runs import train

CLEAR, TITLE, LINK = "\x1b[2J", "\x1b]0;mine\x07", "\x1b]8;;http://x\x1b\\"
EVIL = f"{CLEAR}{TITLE}{LINK}\x9b1m\u202ereversed\u202c\u2066"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
STORY = f""":: StoryTitle
Tale {EVIL}

:: Start
You {EVIL} stand. [[Go {EVIL} out|Out]] [[Stay|In]]

:: Out {EVIL}
Nothing.

:: Out
Out {EVIL} there.

:: In
In.
"""


@pytest.fixture
def evil(tmp_path):
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
def test_a_story_steers_no_terminal(evil, command, capsys):
    assert main([command[0], str(evil), *command[1:]]) == 0
    told = capsys.readouterr()
    assert not STEERING.search(told.out + told.err) and (
        "reversed" in told.out or "Out" in told.out
    )


def test_json_says_the_same_as_the_story(evil, capsys):
    main(["inspect", str(evil), "--walkthrough", "--json"])
    assert (
        json.loads(capsys.readouterr().out)[0]["text"]
        == drrn.make(evil, shuffle=False).reset(0).text
    )


def test_a_person_and_an_agent_see_plain_pages(evil, tmp_path, capsys, monkeypatch, real_curves):
    train(evil, tmp_path / "run", "--rounds", "1")
    answers = iter(["nonsense", "1", "n"])
    monkeypatch.setattr("builtins.input", lambda *_: next(answers))
    assert (
        main(
            [
                "play",
                str(evil),
                "--agent",
                str(tmp_path / "run"),
                "--scores",
                str(tmp_path / "scores.csv"),
            ]
        )
        == 0
    )
    for command in (
        ["ask", "--examples", "3"],
        ["evaluate", "--episodes", "2"],
        ["evaluate", "--episodes", "2", "--json"],
    ):
        assert main([command[0], str(tmp_path / "run"), *command[1:]]) == 0
    told = capsys.readouterr()
    assert not STEERING.search(told.out + told.err) and "reversed" in told.out


def test_an_error_steers_no_terminal(evil, capsys):
    evil.with_suffix(".twee").write_text(
        STORY.replace("[[Stay|In]]", f"<<wild{CLEAR} {EVIL}>> [[Stay|In]]")
    )
    assert main(["play", str(evil), "--engine", "native", "--policy", "random"]) == 2
    error = capsys.readouterr().err
    assert "wild" in error and not STEERING.search(error)


def test_tabs_line_ends_and_every_script_stay_visible():
    assert visible("a\tb\nשלום नमस्ते \U0001f642") == "a\tb\nשלום नमस्ते \U0001f642"


def test_a_title_is_no_markup_in_a_report():
    title = "[x](http://x) <img src=x> a|b"
    table = Table(title, ["game", title], [[title, Cell("1.0")]], [f"`a < b` of {title}"])
    text = to_markdown(Document("Results", [title], [Section("A", [table, title])]))
    assert "[x]" not in text and "<img" not in text and "`a < b`" in text


def test_a_reader_who_goes_away_ends_the_command_with_the_code_of_a_broken_pipe(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        [sys.executable, "-m", "drrn", "games"],
        stdout=write,
        stderr=subprocess.PIPE,
        env=environment,
    )
    os.close(write)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (141, b"")


def test_ctrl_c_while_the_command_is_loaded_is_quiet(monkeypatch, capsys):
    from drrn.__main__ import start

    def interrupted(_):
        raise KeyboardInterrupt

    module = types.ModuleType("drrn.cli")
    module.__getattr__ = interrupted
    monkeypatch.setitem(sys.modules, "drrn.cli", module)
    assert start() == 130 and capsys.readouterr().err == ""
    asked = "import drrn, sys; assert not {'numpy', 'torch', 'drrn.game'} & set(sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", asked], env=environment, check=True
    )  # before it, nothing takes long
