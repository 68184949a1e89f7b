"""The command line: `commands.toml` declares the commands; a module is imported to run one."""

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from drrn import registry, settings
from drrn.declaration import Setting
from drrn.errors import InputError, did_you_mean, require
from drrn.files import read_toml
from drrn.version import __version__
from drrn.writing import visible

Table = Mapping[str, Any]  # of commands.toml


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are an `InputError`."""

    commands: dict[str, "Parser"]  # of the root, by name
    summaries: dict[str, str]  # one line for each of them

    def error(self, message: str) -> NoReturn:
        message = message.replace("argument [add]: invalid choice:", "unknown subcommand")
        raise InputError(f"{message} (see: {self.prog} --help)")

    def all_actions(self) -> list[argparse.Action]:
        """Return the arguments of the command and of its subcommand."""
        actions = list(self._actions)
        for each in self._actions:
            if isinstance(each, argparse._SubParsersAction):
                actions += [action for sub in each.choices.values() for action in sub._actions]
        return actions

    def option_names(self) -> list[str]:
        """Return the names of its options, such as --json."""
        return list(dict.fromkeys(n for each in self.all_actions() for n in each.option_strings))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: success; 1: a check found a difference; 2: an error that the user can fix, reported in one
    sentence; 130: interrupted by Ctrl-C; 141: the reader of our output closed it.
    """
    logging.getLogger("drrn").addFilter(_remove_control_characters)
    words = sys.argv[1:] if arguments is None else list(arguments)
    root = parser(words[0] if words else "", full="--help-all" in words)
    try:
        options = _read(root, words)
        if options.command is None:
            root.print_help()
            return 0
        trust_code(root.commands[options.command], options)
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
        return 128 + 13  # as after SIGPIPE
    except KeyboardInterrupt:
        print(file=sys.stderr)  # below the ^C
        return 130
    except Exception as error:
        message = _description_of(error)
        if not message:
            raise
        return _fail(message)
    return code


def trust_code(command: Parser, options: argparse.Namespace) -> None:
    """Allow the Python code that the user names with --trust, or with an option that takes code."""
    for name in getattr(options, "trust", ()):
        if not registry.is_object(name):
            raise InputError(f'--trust "{name}": give it as module:name')
        registry.trust(name)
    for action in command.all_actions():
        names = CODE.get(getattr(action, "code", ""))
        value = getattr(options, action.dest, None) if names else None
        for text in value if isinstance(value, list) else [value]:
            if names and isinstance(text, str):
                registry.trust(*names(text))


def _code_of_settings(text: str) -> Iterator[str]:
    """Yield the values of settings that take code, from NAME=VALUE,VALUE."""
    from drrn.runs.config import CODE_SETTINGS

    name = ""
    for part in text.split(","):
        before, equals, after = part.partition("=")
        name = before if equals else name
        if name in CODE_SETTINGS:
            yield after if equals else part


def _read(root: Parser, words: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; the error for an unknown word names the nearest known one."""
    name = words[0] if words else ""
    if name and not name.startswith("-") and name not in root.commands:
        near = did_you_mean(name, root.commands)
        raise InputError(f'no command is named "{name[:40]}" (see: drrn --help).{near}')
    options, unknown = root.parse_known_args(words)
    if unknown:
        command = root.commands.get(name, root)
        option = next((each for each in unknown if each.startswith("-")), unknown[0])
        near = did_you_mean(option.partition("=")[0], command.option_names())
        raise InputError(f'unknown argument "{option[:40]}" (see: {command.prog} --help).{near}')
    return options


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


def parser(name: str | None = None, *, full: bool = False) -> Parser:
    """Return the parser of all commands; if one is named, only that one has its options.

    The help of a command that names its `common` options has only these, unless `full` is true.
    """
    table = read_toml(Path(__file__).with_name("commands.toml"))
    epilog = f"{_command_list(table)}\n{table['epilog']}"
    root = Parser(prog="drrn", **_texts({**table, "examples": epilog}))
    root.add_argument("-V", "--version", action="version", version=f"drrn {__version__}")
    commands = root.add_subparsers(prog="drrn", dest="command", help=argparse.SUPPRESS)
    for each, command in table["commands"].items():
        if name in (None, each):
            _add_command(commands, each, command, table["shared"], full)
        else:
            commands.add_parser(each)
    root.commands = dict(commands.choices)
    root.summaries = {each: command["help"] for each, command in table["commands"].items()}
    return root


def _command_list(table: Table) -> str:
    """Return each command with one line of help, in groups."""
    commands = table["commands"]
    groups = table["groups"]
    listed = [name for names in groups.values() for name in names]
    rest = [name for name in commands if name not in listed]
    lines = []
    for title, names in {**groups, "More": rest}.items():
        lines += [f"{title}:"] * bool(names)
        lines += [f"  {name:<12} {commands[name]['help']}" for name in names] + [""]
    return "\n".join(lines).rstrip() + "\n"


def _add_command(commands: Any, name: str, table: Table, shared: Table, full: bool) -> None:
    command = commands.add_parser(name, help=table["help"], **_texts(table))
    options = dict(table.get("options", {}))
    for group in table.get("shared", ()):
        for option, value in shared[group].items():
            own = options.get(option, {})
            options[option] = {**value, **own} if isinstance(value, dict) else value
    groups = {"": options, **table.get("groups", {})}
    if "settings" in table:
        groups |= _settings_options()
    groups |= {title: shared[title] for title in table.get("last", ())}
    if "common" in table:
        text = "list all options, in groups"
        command.add_argument("--help-all", action="help", help=text)
        groups = groups if full else {"": _common_options(groups, table["common"])}
        command.epilog += table["settings"] if full else ""
    for title, group in groups.items():
        _add_options(command.add_argument_group(title) if title else command, group)
    command.set_defaults(run=table["run"], torch=table.get("torch", False))
    if "add" in table:
        actions = command.add_subparsers(title="commands", metavar="[add]", dest="action")
        _add_command(actions, "add", table["add"], shared, full)


def _common_options(groups: Mapping[str, Table], common: Sequence[str]) -> dict[str, Any]:
    """Return all options in one group: those of --help first, the others without a help text."""
    options = {name: option for group in groups.values() for name, option in group.items()}
    first = [name for name in options if not name.startswith("-")] + list(common)
    others = {name: options[name] for name in options if name not in first}
    for name, option in others.items():
        flag = {"action": "store_true"}
        others[name] = (flag if isinstance(option, str) else option) | {"help": argparse.SUPPRESS}
    return {name: options[name] for name in first} | others


def _texts(table: Table) -> dict[str, Any]:
    """Return the description and the examples of a parser; examples are not wrapped."""
    text = table["description"].strip()
    examples = table.get("examples", "")
    raw = argparse.RawDescriptionHelpFormatter
    formatter = raw if "\n\n" in text or examples else argparse.HelpFormatter
    texts = {"usage": table.get("usage"), "description": text, "epilog": examples}
    return {**texts, "formatter_class": formatter}


def _add_options(group: Any, options: Table) -> None:
    """Add options by name; one that is only a text is a flag with that help."""
    for name, option in options.items():
        if isinstance(option, str):
            group.add_argument(name, action="store_true", help=option)
            continue
        arguments = dict(option)
        kind = option.get("type")
        if kind in NUMBERS:
            arguments["type"] = _reader(Setting(name, **NUMBERS[kind]))
        elif kind == "path":
            arguments["type"] = Path
        if isinstance(option.get("choices"), str):
            arguments["choices"] = getattr(settings, option["choices"])
        code = arguments.pop("code", "")
        group.add_argument(name, **arguments).code = code


def _settings_options() -> dict[str, dict[str, Any]]:
    """Return the options of the settings, by group; the namespace has only those that are given."""
    groups: dict[str, dict[str, Any]] = {}
    for setting in settings.all_settings().values():
        group = groups.setdefault(f"settings of the {setting.group}", {})
        name = setting.name.replace("_", "-")
        text = f"{setting.help}{settings.default_text(setting)}".replace("%", "%%")
        common = {"dest": setting.name, "default": argparse.SUPPRESS, "help": text}
        if setting.kind is bool:
            positive = name.removeprefix("no-")
            opposite = positive if name.startswith("no-") else f"no-{name}"
            group[f"--{name}"] = {"action": "store_true", **common}
            common["help"] = f"the opposite of --{name}"
            group[f"--{opposite}"] = {"action": "store_false", **common}
        else:
            metavar = {int: "N", float: "X", str: "PATH"}[setting.kind]
            if setting.choices:
                metavar = f"{{{','.join(setting.choices)}}}"
            read: Callable[[str], Any] = setting.read
            if setting.kind is not str:
                read = _reader(replace(setting, name=f"--{name}"))
            takes_code = setting.own or setting.name == "sentences"
            common["code"] = "name" if takes_code else ""
            group[f"--{name}"] = {"type": read, "metavar": metavar, **common}
    return groups


def _reader(setting: Setting) -> Callable[[str], Any]:
    """Return a function that reads a number; its error names the option and the limit."""

    def read(text: str) -> Any:
        value = setting.read(text[:40])
        setting.check(value)
        return value

    return read


# The names in an option that takes code, by `code` in commands.toml.
CODE: dict[str, Callable[[str], Iterable[str]]] = {
    "name": lambda text: [text],
    "player": lambda text: [text.partition("=")[2] or text],
    "settings": _code_of_settings,
}
# Bounds of the numbers that are options, by `type` in commands.toml.
NUMBERS: dict[str, dict[str, Any]] = {
    "int": {"kind": int},
    "count": {"kind": int, "least": 0, "most": 10**6},
    "positive": {"kind": int, "least": 1, "most": 10**12},
    "port": {"kind": int, "least": 0, "most": 65_535},
    "seconds": {"kind": float, "above": 0, "most": 86_400},
    "pause": {"kind": float, "least": 0, "most": 3600},
}
