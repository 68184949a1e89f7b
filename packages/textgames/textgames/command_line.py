"""Command lines: a TOML declares the commands of a program, and a module is imported to run one.

Keys of the TOML:

    usage, description, epilog   of the program's --help
    groups       titles, each with the names of its commands, in the order of --help
    commands     a table for each command:
        run          the function that runs it, as module:function
        help         one line
        description  what `PROGRAM COMMAND --help` says
        examples     printed after the options
        options      for argparse, by name. A text is the help of a flag. Otherwise the keys are the
                     arguments of add_argument, where `type` is path or names an entry of NUMBERS,
                     and a text as `choices` names a tuple of the program. `code` says that the user
                     allows the Python code that the value names: "name" itself, "player" after
                     LABEL=, or "settings", NAME=VALUE.
        groups       further options, under a title of their own
        shared       names of tables of options that several commands have
        last         such tables, each after all other options under its name as a title
        settings     it takes every setting of a run as an option
        common       the options of --help, in this order; --help-all prints all of them
        add          a subcommand, with the same keys
    shared       tables of options, besides those of `shared_options.toml`

Another package adds commands with an entry point of the group `textgames.commands`, whose value is
the path of such a TOML.
"""

import argparse
import contextlib
import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from textgames import registry, watchdog
from textgames.declaration import Setting
from textgames.errors import InputError, did_you_mean
from textgames.files import read_toml
from textgames.openers import failure_of_user
from textgames.version import __version__
from textgames.wording import visible

Table = Mapping[str, Any]  # of the TOML
log = logging.getLogger("textgames")


@dataclass(frozen=True)
class Program:
    """A command with subcommands.

    Args:
        name: What the user types.
        table: The path of the TOML that declares the commands.
        default: The command of a first word that is no command's name, such as a path.
        choices: The tuples that `choices` may name.
        settings: Returns the settings that a command with `settings` takes as options.
        default_text: Formats the default of a setting for its help.
        code_settings: Names of the settings that take code.
        plugins: Whether the commands of other packages are added.
    """

    name: str
    table: Path
    default: str = ""
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    settings: Callable[[], Mapping[str, Setting]] = dict
    default_text: Callable[[Setting], str] = str
    code_settings: Collection[str] = ()
    plugins: bool = True

    def tables(self) -> dict[str, Any]:
        """Everything that the TOMLs declare."""
        merged = read_toml(self.table)
        shared = read_toml(Path(__file__).with_name("shared_options.toml"))
        merged["shared"] = {**shared, **merged.get("shared", {})}
        points = registry.registered("command") if self.plugins else {}
        for name in sorted(points):
            try:
                added = read_toml(registry.load(points[name]))
            except InputError as error:  # the other commands work
                log.warning("the command %s is left out: %s", name, error)
                continue
            merged["commands"] |= added["commands"]
        return merged


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


def main(program: Program, arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: success; 1: a check found a difference; 2: an error that the user can fix, reported in one
    sentence; 130: interrupted by Ctrl-C; 141: the reader of our output closed it.
    """
    logging.getLogger("textgames").addFilter(_remove_control_characters)
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options, command = _read(program, words)
        if command is None:
            return 0
        trust_code(program, command, options)
        module, _, function = options.run.partition(":")
        run = getattr(importlib.import_module(module), function)
        with _watched(program, options):
            code: int = run(options) or 0
        sys.stdout.flush()
    except InputError as error:
        return _fail(program, str(error))
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
        return _fail(program, message)
    return code


@contextlib.contextmanager
def _watched(program: Program, options: argparse.Namespace) -> Iterator[None]:
    """Tell Ctrl-C from a game's KeyboardInterrupt, and end with 2 if a game does not return."""
    os.environ[watchdog.SECONDS] = str(getattr(options, "step_seconds", 0))
    handler = signal.getsignal(signal.SIGINT)
    replaces = (
        handler is signal.default_int_handler
        and threading.current_thread() is threading.main_thread()
    )
    if replaces:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        with watchdog.watched(lambda message: print(f"{program.name}: {message}", file=sys.stderr)):
            yield
    except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        if message := failure_of_user(error):
            raise InputError(message) from error
        raise
    finally:
        if replaces:
            signal.signal(signal.SIGINT, handler)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def trust_code(program: Program, command: Parser, options: argparse.Namespace) -> None:
    """Allow the Python code that the user names with --trust, or with an option that takes code."""
    for name in getattr(options, "trust", ()):
        if not registry.is_object(name):
            raise InputError(f'--trust "{name}": give it as module:name')
        registry.trust(name)
    readers: dict[str, Callable[[str], Iterable[str]]] = {
        "name": lambda text: [text],
        "player": lambda text: [text.partition("=")[2] or text],
        "settings": lambda text: _code_of_settings(program, text),
    }
    for action in command.all_actions():
        names = readers.get(getattr(action, "code", ""))
        value = getattr(options, action.dest, None) if names else None
        for text in value if isinstance(value, list) else [value]:
            if names and isinstance(text, str) and not os.path.lexists(text):  # no file's name
                registry.trust(*names(text))


def _code_of_settings(program: Program, text: str) -> Iterator[str]:
    """Yield the values of settings that take code, from NAME=VALUE,VALUE."""
    name = ""
    for part in text.split(","):
        before, equals, after = part.partition("=")
        name = before if equals else name
        if name in program.code_settings:
            yield after if equals else part


def _read(program: Program, words: list[str]) -> tuple[argparse.Namespace, Parser | None]:
    """Parse the command line; the error for an unknown word names the nearest known one."""
    name = words[0] if words else ""
    root = parser(program, name, full="--help-all" in words)
    if name and not name.startswith("-") and name not in root.commands:
        if not program.default or not _is_argument(name):
            near = did_you_mean(name, root.commands)
            help_text = f"see: {program.name} --help"
            raise InputError(f'no command is named "{name[:40]}" ({help_text}).{near}')
        words = [program.default, *words]
        name = program.default
        root = parser(program, name, full="--help-all" in words)
    options, unknown = root.parse_known_args(words)
    command = root.commands.get(name)
    if unknown:
        known = command or root
        option = next((each for each in unknown if each.startswith("-")), unknown[0])
        near = did_you_mean(option.partition("=")[0], known.option_names())
        raise InputError(f'unknown argument "{option[:40]}" (see: {known.prog} --help).{near}')
    if options.command is None:
        root.print_help()
    return options, command


def _is_argument(word: str) -> bool:
    """Whether a word looks like a path or a game rather than like a mistyped command."""
    return os.path.lexists(word) or bool(Path(word).suffix) or any(mark in word for mark in "/:-")


def _description_of(error: Exception) -> str:
    """Describe an exception of a user's code or of the system; "" for a fault of these packages."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({error}); choose smaller sizes, or fewer replicas"
    return failure_of_user(error) or (
        f"system error: {error}" if isinstance(error, OSError) else ""
    )


def _fail(program: Program, message: str) -> int:
    with contextlib.suppress(OSError):  # a game may have closed it
        print(f"{program.name}: {visible(message)}", file=sys.stderr)
    return 2


def _remove_control_characters(record: logging.LogRecord) -> bool:
    """Remove what controls a terminal from a warning, which may quote a story."""
    record.msg = visible(record.getMessage())
    record.args = ()
    return True


# --- parsers


def parser(program: Program, name: str | None = None, *, full: bool = False) -> Parser:
    """Return the parser of all commands; if one is named, only that one has its options.

    The help of a command that names its `common` options has only these, unless `full` is true.
    """
    table = program.tables()
    epilog = f"{_command_list(table)}\n{table.get('epilog', '')}"
    root = Parser(prog=program.name, **_texts({**table, "examples": epilog}))
    version = f"{program.name} {__version__}"
    root.add_argument("-V", "--version", action="version", version=version)
    commands = root.add_subparsers(prog=program.name, dest="command", help=argparse.SUPPRESS)
    for each, command in table["commands"].items():
        if name in (None, each):
            _Command(program, table["shared"], full).add(commands, each, command)
        else:
            commands.add_parser(each)
    root.commands = dict(commands.choices)
    root.summaries = {each: command["help"] for each, command in table["commands"].items()}
    return root


def _command_list(table: Table) -> str:
    """Return each command with one line of help, in groups."""
    commands = table["commands"]
    groups = {
        title: [name for name in names if name in commands]
        for title, names in table.get("groups", {}).items()
    }
    listed = [name for names in groups.values() for name in names]
    rest = [name for name in commands if name not in listed]
    lines = []
    for title, names in {**groups, "More" if groups else "Commands": rest}.items():
        lines += [f"{title}:"] * bool(names)
        lines += [f"  {name:<12} {commands[name]['help']}" for name in names] + [""]
    return "\n".join(lines).rstrip() + "\n"


@dataclass(frozen=True)
class _Command:
    """Adds a command, from its table, to a parser."""

    program: Program
    shared: Table
    full: bool  # list all options

    def add(self, commands: Any, name: str, table: Table) -> None:
        command = commands.add_parser(name, help=table["help"], **_texts(table))
        groups = self._groups(table)
        if "common" in table:
            text = "list all options, in groups"
            command.add_argument("--help-all", action="help", help=text)
            groups = groups if self.full else {"": _common_options(groups, table["common"])}
            command.epilog += table["settings"] if self.full else ""
        for title, group in groups.items():
            self._add_options(command.add_argument_group(title) if title else command, group)
        command.set_defaults(run=table["run"])
        if "add" in table:
            actions = command.add_subparsers(title="commands", metavar="[add]", dest="action")
            self.add(actions, "add", table["add"])

    def _groups(self, table: Table) -> dict[str, Any]:
        """The options of a command, by the title of their group."""
        options = dict(table.get("options", {}))
        for group in table.get("shared", ()):
            for option, value in self.shared[group].items():
                own = options.get(option, {})
                options[option] = {**value, **own} if isinstance(value, dict) else value
        groups = {"": options, **table.get("groups", {})}
        if "settings" in table:
            groups |= _settings_options(self.program)
        return groups | {title: self.shared[title] for title in table.get("last", ())}

    def _add_options(self, group: Any, options: Table) -> None:
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
                arguments["choices"] = self.program.choices[option["choices"]]
            code = arguments.pop("code", "")
            group.add_argument(name, **arguments).code = code


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


def _settings_options(program: Program) -> dict[str, dict[str, Any]]:
    """Return the options of the settings, by group; the namespace has only those that are given."""
    groups: dict[str, dict[str, Any]] = {}
    for setting in program.settings().values():
        group = groups.setdefault(f"settings of the {setting.group}", {})
        name = setting.name.replace("_", "-")
        text = f"{setting.help}{program.default_text(setting)}".replace("%", "%%")
        common = {"dest": setting.name, "default": argparse.SUPPRESS, "help": text}
        if setting.kind is bool:
            positive = name.removeprefix("no-")
            opposite = positive if name.startswith("no-") else f"no-{name}"
            group[f"--{name}"] = {"action": "store_true", **common}
            common["help"] = f"the opposite of --{name}"
            group[f"--{opposite}"] = {"action": "store_false", **common}
            continue
        metavar = {int: "N", float: "X", str: "PATH"}[setting.kind]
        if setting.choices:
            metavar = f"{{{','.join(setting.choices)}}}"
        read: Callable[[str], Any] = setting.read
        if setting.kind is not str:
            read = _reader(replace(setting, name=f"--{name}"))
        common["code"] = "name" if setting.name in program.code_settings else ""
        group[f"--{name}"] = {"type": read, "metavar": metavar, **common}
    return groups


def _reader(setting: Setting) -> Callable[[str], Any]:
    """Return a function that reads a number; its error names the option and the limit."""

    def read(text: str) -> Any:
        value = setting.read(text[:40])
        setting.check(value)
        return value

    return read


# Bounds of the numbers that are options, by `type` in the TOML.
NUMBERS: dict[str, dict[str, Any]] = {
    "int": {"kind": int},
    "count": {"kind": int, "least": 0, "most": 10**6},
    "positive": {"kind": int, "least": 1, "most": 10**12},
    "port": {"kind": int, "least": 0, "most": 65_535},
    "seconds": {"kind": float, "above": 0, "most": 86_400},
    "pause": {"kind": float, "least": 0, "most": 3600},
}
