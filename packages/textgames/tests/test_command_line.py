"""Command lines that a TOML declares: exit codes, errors, help, options of settings, completion."""

import subprocess
import sys

import pytest

from textgames import command_line, registry
from textgames.completion import script
from textgames.declaration import Setting

TABLE = """
usage = "tool COMMAND ..."
description = "Add and fail."

[groups]
Numbers = ["add"]

[commands.add]
run = "tool_commands:add"
help = "print a sum"
description = "Add numbers."
common = ["--times", "--rate"]
settings = "Settings are options."
shared = ["trust"]
last = ["rarely needed"]
[commands.add.options]
numbers = { nargs = "*", type = "int", metavar = "N", help = "what to add" }
--times = { type = "positive", default = 1, metavar = "N", help = "repeat" }
--game = { metavar = "GAME", help = "a game" }
--out = { type = "path", metavar = "FILE", help = "a file" }
--json = "print JSON"

[commands.fail]
run = "tool_commands:fail"
help = "raise an error"
description = "Raise an error."
[commands.fail.options]
kind = { choices = "KINDS", help = "its type" }
--as = { code = "name", help = "module:name" }
[commands.fail.add]
run = "tool_commands:fail"
help = "add an error"
description = "Add an error."
[commands.fail.add.options]
--loudly = "shout"
"""
MODULE = """
from textgames.errors import InputError

ERRORS = {
    "input": InputError("the file is wrong"),
    "system": OSError("the disk is full"),
    "memory": MemoryError("9 GB"),
    "interrupt": KeyboardInterrupt(),
    "fault": AssertionError("of ours"),
}
def add(options):
    print(sum(options.numbers) * options.times, getattr(options, "rate", None))
    return 1 if options.json else None
def fail(options):
    raise ERRORS[options.kind]
"""
RATE = Setting("rate", float, group="run", default=0.5, least=0, most=1, help="a share of 100%")


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "tool_commands", raising=False)
    (tmp_path / "tool.toml").write_text(TABLE)
    (tmp_path / "tool_commands.py").write_text(MODULE)
    return command_line.Program(
        "tool",
        tmp_path / "tool.toml",
        default="add",
        choices={"KINDS": ("input", "system", "memory", "interrupt", "fault")},
        settings=lambda: {"rate": RATE},
        default_text=lambda setting: f" (default: {setting.default})",
        plugins=False,
    )


@pytest.fixture
def run(program, capsys):
    """Function that runs a command, and returns its exit code, its output and its error."""
    return lambda line: (command_line.main(program, line.split()), *capsys.readouterr())


@pytest.fixture
def help_of(program, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def read(line):
        with pytest.raises(SystemExit) as stop:
            command_line.main(program, line.split())
        assert stop.value.code == 0
        return capsys.readouterr().out

    return read


def test_the_exit_code_is_that_of_the_command(run):
    assert run("add 1 2 --times 3") == (0, "9 None\n", "")
    assert run("add 1 2 --rate 0.25 --json") == (1, "3 0.25\n", "")


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        ("input", 2, "tool: the file is wrong\n"),
        ("system", 2, "tool: system error: the disk is full\n"),
        ("memory", 2, "tool: not enough memory (9 GB)"),
        ("interrupt", 130, "\n"),
    ],
)
def test_an_error_is_one_sentence_and_an_exit_code(run, kind, code, message):
    actual, out, error = run(f"fail {kind}")
    assert (actual, out, error.count("\n")) == (code, "", 1) and error.startswith(message)


def test_a_fault_of_ours_is_raised(run):
    with pytest.raises(AssertionError, match="of ours"):
        run("fail fault")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ad 1", 'no command is named "ad" (see: tool --help). Did you mean "add"?'),
        (
            "add 1 --tims 2",
            'unknown argument "--tims" (see: tool add --help). Did you mean "--times"?',
        ),
        ("add 1 --rte=2", 'Did you mean "--rate"?'),
        ("add --times 0", "--times"),
        ("add --times many", "--times"),
        ("add --rate 2", "--rate is 2"),
        ("fail nonsense", "'interrupt'"),
        ("fail input nonsense", "unknown subcommand 'nonsense'"),
        ("fail input add --loudy", 'Did you mean "--loudly"?'),
    ],
)
def test_a_wrong_command_line_names_the_word_and_the_nearest_known_one(run, line, message):
    code, out, error = run(line)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert error.startswith("tool: ") and message in error


def test_a_first_word_that_looks_like_a_path_is_an_argument_of_the_default_command(run):
    code, _, error = run("tale.html")
    assert (code, error) == (2, 'tool: numbers is "tale.html"; it must be a whole number\n')


def test_the_help_lists_every_command_once_in_its_group(help_of, run):
    text = help_of("--help")
    assert text.startswith("usage: tool COMMAND ...\n\nAdd and fail.\n")
    for name, summary in {"add": "print a sum", "fail": "raise an error"}.items():
        assert text.count(f"\n  {name:<12} {summary}\n") == 1
    assert text.index("Numbers:") < text.index("  add") < text.index("More:") < text.index("  fail")
    assert run("")[:2] == (0, text)


def test_the_help_of_a_command_has_its_common_options_and_help_all_has_every_one(help_of):
    short = help_of("add --help")
    assert "--times" in short and "--rate" in short and "--json" not in short
    long = help_of("add --help-all")
    for part in ("--json", "--trust", "a share of 100% (default: 0.5)", "Settings are options."):
        assert part in long
    assert long.index("settings of the run") < long.index("rarely needed")
    assert max(map(len, long.splitlines())) <= 80


def test_code_that_the_user_names_is_trusted_unless_it_is_a_file(run, monkeypatch, tmp_path):
    trusted: list[str] = []
    monkeypatch.setattr(registry, "trust", lambda *names: trusted.extend(names))
    run("add --trust mine:Game")
    run("fail input --as mine:Other")
    (tmp_path / "mine:file").touch()
    run("fail input --as mine:file")
    assert trusted == ["mine:Game", "mine:Other"]
    assert run("add --trust mine")[0] == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tool a", ["add"]),
        ("tool add --ti", ["--times"]),
        ("tool fail inp", ["input"]),
        ("tool add --out /et", ["/etc"]),
    ],
)
def test_bash_completes_a_line(program, line, words):
    pytest.importorskip("shtab")
    code = f"""{script(program, "bash")}
COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_tool tool "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"; echo "${{COMPREPLY[*]}}"
"""
    result = subprocess.run(["bash", "-c", code], capture_output=True, text=True)
    assert set(words) <= set(result.stdout.split())
