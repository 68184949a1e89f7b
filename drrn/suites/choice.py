"""Reads which game of a suite to play: `suite:game?option=value&…`, or a TOML file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from drrn.errors import InputError, did_you_mean
from drrn.files import read_toml
from drrn.suites.catalogue import SUITES, Suite, SuiteOption

NAME = re.compile(r"(?P<suite>\w+):(?P<game>[^?]*)(?:\?(?P<options>.*))?", re.S)
KEYS: dict[str, type] = {"suite": str, "game": str, "title": str, "options": dict, "training": dict}


@dataclass(frozen=True)
class SuiteChoice:
    """A game of a suite with its options."""

    suite: Suite
    game: str  # as the suite names it, or the path of its file
    given: Mapping[str, Any] = field(default_factory=dict)  # options without the defaults
    title: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        """The name that opens it again, with sorted options."""
        options = "&".join(f"{key}={value}" for key, value in sorted(self.given.items()))
        return f"{self.suite.name}:{self.game}{'?' if options else ''}{options}"

    @property
    def short_name(self) -> str:
        """A name without options that is valid as a file name."""
        game = Path(self.game).stem if self.suite.of_file else self.game
        return re.sub(r"[^\w.-]+", "-", f"{self.suite.name}-{game}")

    @cached_property
    def options(self) -> dict[str, Any]:
        """All options, with defaults."""
        defaults = {name: option.default for name, option in self.suite.all_options.items()}
        return defaults | dict(self.given)

    @property
    def fingerprint(self) -> str:
        """A hash of what episodes depend on: suite, version, game or its files, options."""
        table = self.suite.all_options
        items = self.options.items()
        options = sorted((k, v) for k, v in items if k not in table or table[k].plays)
        game = hashes(self.game) if self.suite.of_file else self.game
        values = (self.suite.name, self.suite.version, game, options)
        return hashlib.sha256(repr(values).encode()).hexdigest()


def names_a_suite(name: str) -> bool:
    """Return whether a name is of a suite's game."""
    match = NAME.fullmatch(name)
    return match is not None and match["suite"] in SUITES


def is_suite_toml(name: str) -> bool:
    """Return whether a path is of a TOML file with `suite = …`."""
    path = Path(name)
    try:
        return path.suffix.lower() == ".toml" and path.is_file() and "suite" in read_toml(path)
    except (OSError, ValueError, InputError):  # reported when it is opened as a story
        return False


def lasting_suite_name(name: str) -> str:
    """Return the name with the absolute path of its file, so that it opens from every folder."""
    match = NAME.fullmatch(name)
    if match is None or not SUITES[match["suite"]].of_file or not match["game"]:
        return name
    options = "" if match["options"] is None else f"?{match['options']}"
    return f"{match['suite']}:{Path(match['game']).expanduser().resolve()}{options}"


def read_choice(name: str) -> SuiteChoice:
    """Read a name or the path of a TOML file.

    Raises:
        InputError: An unknown suite, key or option, a wrong value, or a missing file.
    """
    return _from_toml(Path(name)) if is_suite_toml(name) else _from_name(name)


def hashes(path: str) -> dict[str, str]:
    """Return hashes of a game's file and of TextWorld's JSON next to it.

    They do not depend on when the game was generated.
    """
    story = Path(path)
    table = story.with_suffix(".json")
    files: dict[Path, Callable[[bytes], bytes]] = {story: bytes}
    if table.is_file():
        files = {story: _undated, table: _sorted_json}
    present = {file: normal for file, normal in files.items() if file.is_file()}
    return {
        file.suffix: hashlib.sha256(normal(file.read_bytes())).hexdigest()
        for file, normal in present.items()
    }


def _undated(story: bytes) -> bytes:
    """Return a Z-machine file without its date and its checksum, which includes the date."""
    return story[:0x12] + story[0x18:0x1C] + story[0x1E:]


def _sorted_json(game: bytes) -> bytes:
    """Sort the one list of TextWorld's JSON whose order differs each time it is written."""
    with suppress(ValueError, TypeError, KeyError):
        table = json.loads(game)
        table["grammar"]["names_to_exclude"].sort(key=str)
        return json.dumps(table, sort_keys=True).encode()
    return game


def _from_name(name: str) -> SuiteChoice:
    match = NAME.fullmatch(name)
    if match is None:
        raise InputError(f"{name}: a game of a suite is named suite:game?option=value&option=value")
    options: dict[str, Any] = {}
    for pair in filter(None, (match["options"] or "").split("&")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f'{name}: "{pair}" has no value: write {key}=VALUE')
        if key in options:
            raise InputError(f"{name}: {key} is given twice")
        options[key] = unquote(value)
    return _choice(SUITES[match["suite"]], match["game"], options, name)


def _from_toml(path: Path) -> SuiteChoice:
    table = read_toml(path)
    for key, value in table.items():
        if key not in KEYS:
            near = did_you_mean(key, KEYS)
            raise InputError(f'{path}: unknown key "{key}".{near} Known: {", ".join(KEYS)}')
        if not isinstance(value, KEYS[key]):
            types = f"{KEYS[key].__name__}, not {type(value).__name__}"
            raise InputError(f"{path}: {key} must be {types}")
    name = table["suite"]
    if name not in SUITES:
        near = did_you_mean(name, SUITES)
        raise InputError(f'{path}: no suite is named "{name}".{near} Known: {", ".join(SUITES)}')
    game = table.get("game", "")
    if SUITES[name].of_file and game:
        game = str(path.resolve().parent / game)
    more = {key: table[key] for key in ("title", "training") if key in table}
    return _choice(SUITES[name], game, table.get("options", {}), str(path), **more)


def _choice(
    suite: Suite, game: str, options: Mapping[str, Any], source: str, **more: Any
) -> SuiteChoice:
    if not game:
        example = f"{suite.name}:{suite.example}"
        raise InputError(f"{source}: name a game after the suite, such as {example}")
    if suite.of_file:
        path = Path(game).expanduser()
        _check_file(path)
        game = str(path.resolve())
    known = suite.all_options
    values = {}
    for key, value in options.items():
        if key not in known and not suite.properties:
            hint = f"{did_you_mean(key, known)} Known: {', '.join(sorted(known))}"
            raise InputError(f'{source}: {suite.title} has no option "{key}".{hint}')
        values[key] = _value(known.get(key) or SuiteOption(key, least=0), value, source)
    return SuiteChoice(suite, suite.aliases.get(game, game), values, **more)


def _check_file(path: Path) -> None:
    if not path.is_file():
        files = path.parent.glob("*") if path.parent.is_dir() else ()
        near = did_you_mean(str(path), [str(file) for file in files if file.is_file()])
        raise InputError(f"{path}: no such file.{near}")


def _value(option: SuiteOption, value: Any, source: str) -> Any:
    if not option.choices:
        return _whole_number(option, value, source)
    words = [str(word) for word in value] if isinstance(value, list) else str(value).split(",")
    for word in words if option.several else [",".join(words)]:
        if word not in option.choices:
            hint = f"{did_you_mean(word, option.choices)} Known: {', '.join(option.choices)}"
            raise InputError(f'{source}: {option.name} is "{word}".{hint}')
    return ",".join(words)


def _whole_number(option: SuiteOption, value: Any, source: str) -> int:
    name = option.name
    try:
        number = int(str(int(value) if isinstance(value, bool) else value))
    except ValueError as error:
        raise InputError(f'{source}: {name} must be a whole number, not "{value}"') from error
    if option.least is not None and number < option.least:
        raise InputError(f"{source}: {name} is {number}; it must be at least {option.least}")
    return number
