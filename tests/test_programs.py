"""The commands of all programs: each runs a function, and its help fits into a terminal."""

import contextlib
import importlib
import io

import pytest

import drrn.cli
import storytest.cli
from lab.__main__ import PROGRAM as LAB
from lab.experiments.plan import EXPERIMENTS, ON_REQUEST
from storytest.authored import EXPLORE_LIMIT
from textgames.command_line import parser
from textgames.compiled.compile import LIMIT, MEMORY
from textgames.completion import script

PROGRAMS = (drrn.cli.PROGRAM, storytest.cli.PROGRAM, LAB)
TABLES = {program.name: program.tables() for program in PROGRAMS}
COMMANDS = [
    pytest.param(program, name, id=f"{program.name} {name}")
    for program in PROGRAMS
    for name in TABLES[program.name]["commands"]
]


def help_of(program, *words):
    """Return the help of a program, or of its command."""
    with contextlib.redirect_stdout(io.StringIO()) as text, pytest.raises(SystemExit) as stop:
        parser(program).parse_args([*words, "--help"])
    assert stop.value.code == 0
    return text.getvalue()


@pytest.mark.parametrize(("program", "name"), COMMANDS)
def test_a_command_has_its_function_and_a_help_of_80_columns(program, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    table = TABLES[program.name]["commands"][name]
    for each in (table, table.get("add", table)):
        module, _, function = each["run"].partition(":")
        assert callable(getattr(importlib.import_module(module), function))
    lines = help_of(program, name).splitlines()
    assert len(lines) > 4 and [line for line in lines if len(line) > 80] == []


def test_the_declared_defaults_and_names_are_those_of_the_library():
    commands = TABLES["storytest"]["commands"]
    assert commands["inspect"]["options"]["--limit"]["default"] == LIMIT
    assert commands["inspect"]["options"]["--memory"]["default"] == MEMORY
    assert commands["annotate"]["options"]["--limit"]["default"] == EXPLORE_LIMIT
    experiments = " ".join(TABLES["python -m lab"]["commands"]["reproduce"]["description"].split())
    assert f"Experiments: {', '.join(EXPERIMENTS)}; those from choices on run" in experiments
    assert list(EXPERIMENTS)[-len(ON_REQUEST) :] == list(ON_REQUEST)


@pytest.mark.parametrize("program", PROGRAMS[:2], ids=lambda program: program.name)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_completed(program, shell):
    pytest.importorskip("shtab")
    text = script(program, shell)
    assert [name for name in TABLES[program.name]["commands"] if name not in text] == []


def test_the_folder_of_runs_of_the_page_must_be_one(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert drrn.cli.main(["serve", "--no-browser", "--runs", str(tmp_path / "file")]) == 2
    assert "not a folder" in capsys.readouterr().err
