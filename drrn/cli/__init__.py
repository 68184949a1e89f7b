"""The command line: `commands.toml` declares the commands; a module is imported to run one."""

import argparse
import importlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from drrn import settings
from drrn.declaration import Setting
from drrn.errors import InputError, require
from drrn.files import read_toml
from drrn.version import __version__
from drrn.writing import visible

Table = Mapping[str, Any]  # of commands.toml


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are an `InputError`."""

    def error(self, message: str) -> NoReturn:
        message = message.replace("argument [add]: invalid choice:", "unknown subcommand")
        raise InputError(f"{message} (see: {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: success; 1: a check found a difference; 2: an error that the user can fix, reported in one
    sentence; 130: interrupted by Ctrl-C; 141: the reader of our output closed it.
    """
    logging.getLogger("drrn").addFilter(_remove_control_characters)
    words = sys.argv[1:] if arguments is None else list(arguments)
    root = parser(words[0] if words else "")
    try:
        options, unknown = root.parse_known_args(words)
        if unknown:
            command = f"drrn {options.command or ''}".strip()
            raise InputError(f"unrecognised: {' '.join(unknown)} (see: {command} --help)")
        if options.command is None:
            root.print_help()
            return 0
        if options.torch:
            require("torch", "torch")
        module, _, function = options.run.partition(":")
        run = getattr(importlib.import_module(f"drrn.cli.{module}"), function)
        code: int = run(options) or 0
        sys.stdout.flush()
    except InputError as error:
        return _fail(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        print(file=sys.stderr)  # below the ^C
        return 130
    except Exception as error:
        message = _description_of(error)
        if not message:
            raise
        return _fail(message)
    return code


def _description_of(error: Exception) -> str:
    """Describe an exception of a user's code or of the system; "" for a fault of this package."""
    from drrn.game.make import failure_of_user

    if isinstance(error, MemoryError):
        return f"not enough memory ({error}); choose smaller sizes, or fewer replicas"
    return failure_of_user(error) or (
        f"system error: {error}" if isinstance(error, OSError) else ""
    )


def _fail(message: str) -> int:
    print(f"drrn: {visible(message)}", file=sys.stderr)
    return 2


def _remove_control_characters(record: logging.LogRecord) -> bool:
    """Remove what controls a terminal from a warning, which may quote a story."""
    record.msg = visible(record.getMessage())
    record.args = ()
    return True


# --- parsers, from commands.toml


def parser(name: str | None = None) -> Parser:
    """Return the parser of all commands; if one is named, only that one has its options."""
    table = read_toml(Path(__file__).with_name("commands.toml"))
    root = Parser(prog="drrn", **_description(table))
    root.add_argument("-V", "--version", action="version", version=f"drrn {__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for each, command in table["commands"].items():
        if name in (None, each):
            _add_command(commands, each, command, table["shared"])
        else:
            commands.add_parser(each, help=command["help"])
    return root


def _add_command(commands: Any, name: str, table: Table, shared: Table) -> None:
    texts = {"help": table["help"], "usage": table.get("usage"), **_description(table)}
    command = commands.add_parser(name, **texts)
    options = dict(table.get("options", {}))
    for group in table.get("shared", ()):
        for option, value in shared[group].items():
            own = options.get(option, {})
            options[option] = {**value, **own} if isinstance(value, dict) else value
    _add_options(command, options)
    for title, group in table.get("groups", {}).items():
        _add_options(command.add_argument_group(title), group)
    if "settings" in table:
        _add_settings(command.add_argument_group("settings", table["settings"]))
    command.set_defaults(run=table["run"], torch=table.get("torch", False))
    if "add" in table:
        actions = command.add_subparsers(title="commands", metavar="[add]", dest="action")
        _add_command(actions, "add", table["add"], shared)


def _description(table: Table) -> dict[str, Any]:
    """Return the description of a parser; one with examples keeps its lines."""
    text = table["description"].strip()
    raw = argparse.RawDescriptionHelpFormatter
    formatter = raw if "\n\n" in text else argparse.HelpFormatter
    return {"description": text, "formatter_class": formatter}


def _add_options(group: Any, options: Table) -> None:
    """Add options by name; one that is only a text is a flag with that help."""
    for name, option in options.items():
        if isinstance(option, str):
            group.add_argument(name, action="store_true", help=option)
        else:
            kind = option.get("type")
            read: Any = Path if kind == "path" else None
            if kind in NUMBERS:
                read = _reader(Setting(name, **NUMBERS[kind]))
            choices = option.get("choices")
            if isinstance(choices, str):
                choices = getattr(settings, choices)
            group.add_argument(name, **{**option, "type": read, "choices": choices})


def _add_settings(group: Any) -> None:
    """Add an option for each setting; if it is not given, the namespace does not have it."""
    for setting in settings.all_settings().values():
        name = setting.name.replace("_", "-")
        text = f"{setting.help}{settings.default_text(setting)}".replace("%", "%%")
        common = {"dest": setting.name, "default": argparse.SUPPRESS, "help": text}
        if setting.kind is bool:
            positive = name.removeprefix("no-")
            opposite = positive if name.startswith("no-") else f"no-{name}"
            group.add_argument(f"--{name}", action="store_true", **common)
            common["help"] = f"the opposite of --{name}"
            group.add_argument(f"--{opposite}", action="store_false", **common)
        else:
            metavar = {int: "N", float: "X", str: "PATH"}[setting.kind]
            if setting.choices:
                metavar = f"{{{','.join(setting.choices)}}}"
            read: Callable[[str], Any] = setting.read
            if setting.kind is not str:
                read = _reader(replace(setting, name=f"--{name}"))
            group.add_argument(f"--{name}", type=read, metavar=metavar, **common)


def _reader(setting: Setting) -> Callable[[str], Any]:
    """Return a function that reads a number; its error names the option and the limit."""

    def read(text: str) -> Any:
        value = setting.read(text[:40])
        setting.check(value)
        return value

    return read


# Bounds of the numbers that are options, by `type` in commands.toml.
NUMBERS: dict[str, dict[str, Any]] = {
    "int": {"kind": int},
    "count": {"kind": int, "least": 0, "most": 10**6},
    "positive": {"kind": int, "least": 1, "most": 10**12},
    "port": {"kind": int, "least": 0, "most": 65_535},
    "seconds": {"kind": float, "above": 0, "most": 86_400},
    "pause": {"kind": float, "least": 0, "most": 3600},
}
