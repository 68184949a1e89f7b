"""From `suite:game?option=value&…`, or from a TOML, to what is to be played; a mistake is one sentence."""

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
from drrn.suites.catalogue import SUITES
from drrn.suites.suite import Suite, SuiteOption

NAME = re.compile(r"(?P<suite>\w+):(?P<game>[^?]*)(?:\?(?P<options>.*))?", re.S)
KEYS: dict[str, type] = {"suite": str, "game": str, "title": str, "options": dict, "training": dict}


@dataclass(frozen=True)
class SuiteChoice:
    """A game of a suite, and what was said of it."""

    suite: Suite
    game: str  # as the suite names it, or the path of its file
    given: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        """The name that opens it again; options in the order of the alphabet."""
        said = "&".join(f"{key}={value}" for key, value in sorted(self.given.items()))
        return f"{self.suite.name}:{self.game}{'?' if said else ''}{said}"

    @property
    def short_name(self) -> str:
        """A name that can be a file's: what it is, without its options."""
        game = Path(self.game).stem if self.suite.of_file else self.game
        return re.sub(r"[^\w.-]+", "-", f"{self.suite.name}-{game}")

    @cached_property
    def options(self) -> dict[str, Any]:
        """Every option, with its default where nothing was said."""
        return {name: option.default for name, option in self.suite.all_options.items()} | dict(
            self.given
        )

    @property
    def fingerprint(self) -> str:
        """A hash of all that play depends on: the suite and its version, the game or its files, the options."""
        known = self.suite.all_options
        options = sorted(
            (k, v) for k, v in self.options.items() if k not in known or known[k].plays
        )
        what = hashes(self.game) if self.suite.of_file else self.game
        return hashlib.sha256(
            repr((self.suite.name, self.suite.version, what, options)).encode()
        ).hexdigest()


def names_a_suite(name: str) -> bool:
    """Whether a name is of a suite's game."""
    found = NAME.fullmatch(name)
    return found is not None and found["suite"] in SUITES


def is_suite_toml(name: str) -> bool:
    """Whether a path is of a TOML that says `suite = …`."""
    path = Path(name)
    try:
        return path.suffix.lower() == ".toml" and path.is_file() and "suite" in read_toml(path)
    except (OSError, ValueError, InputError):  # whoever opens it as a story says what is wrong
        return False


def lasting_suite_name(name: str) -> str:
    """The name with the whole path of its file, so that it opens from every folder."""
    found = NAME.fullmatch(name)
    if found is None or not SUITES[found["suite"]].of_file or not found["game"]:
        return name
    options = "" if found["options"] is None else f"?{found['options']}"
    return f"{found['suite']}:{Path(found['game']).expanduser().resolve()}{options}"


def read_choice(name: str) -> SuiteChoice:
    """What a name or the path of a TOML asks for."""
    return _from_toml(Path(name)) if is_suite_toml(name) else _from_name(name)


def hashes(path: str) -> dict[str, str]:
    """A hash of a game's file, and of the JSON that TextWorld writes beside it; a game made anew has the same."""
    story = Path(path)
    beside = Path(path).with_suffix(".json")
    files: dict[Path, Callable[[bytes], bytes]] = {story: bytes}
    if beside.is_file():
        files = {story: _undated, beside: _in_order}
    return {
        f.suffix: hashlib.sha256(plain(f.read_bytes())).hexdigest()
        for f, plain in files.items()
        if f.is_file()
    }


def _undated(story: bytes) -> bytes:
    """A Z-machine file without the day on which it was made, and without the checksum, which counts that day."""
    return story[:0x12] + story[0x18:0x1C] + story[0x1E:]


def _in_order(game: bytes) -> bytes:
    """TextWorld's JSON with the one list sorted whose order differs each time it is written."""
    with suppress(ValueError, TypeError, KeyError):
        told = json.loads(game)
        told["grammar"]["names_to_exclude"].sort(key=str)
        return json.dumps(told, sort_keys=True).encode()
    return game


def _from_name(name: str) -> SuiteChoice:
    found = NAME.fullmatch(name)
    if found is None:
        raise InputError(f"{name}: a game of a suite is named suite:game?option=value&option=value")
    given: dict[str, Any] = {}
    for pair in filter(None, (found["options"] or "").split("&")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f'{name}: "{pair}" says no value: write {key}=VALUE')
        if key in given:
            raise InputError(f"{name}: {key} is given twice")
        given[key] = unquote(value)
    suite = SUITES[found["suite"]]
    return _choice(suite, found["game"], given, place=name)


def _from_toml(path: Path) -> SuiteChoice:
    table = read_toml(path)
    for key, value in table.items():
        if key not in KEYS:
            raise InputError(
                f'{path}: unknown key "{key}".{did_you_mean(key, KEYS)} Known: {", ".join(KEYS)}'
            )
        if not isinstance(value, KEYS[key]):
            raise InputError(
                f"{path}: {key} must be {KEYS[key].__name__}, not {type(value).__name__}"
            )
    if table["suite"] not in SUITES:
        near = did_you_mean(table["suite"], SUITES)
        raise InputError(
            f'{path}: no suite is named "{table["suite"]}".{near} Known: {", ".join(SUITES)}'
        )
    suite = SUITES[table["suite"]]
    game = table.get("game", "")
    if suite.of_file and game:
        game = str(path.resolve().parent / game)
    options = table.get("options", {})
    return _choice(
        suite,
        game,
        options,
        str(path),
        title=table.get("title", ""),
        training=table.get("training", {}),
    )


def _choice(
    suite: Suite, game: str, options: Mapping[str, Any], place: str, **more: Any
) -> SuiteChoice:
    if not game:
        raise InputError(
            f"{place}: name a game after the suite, such as {suite.name}:{suite.example}"
        )
    if suite.of_file:
        _check_file(Path(game).expanduser())
        game = str(Path(game).expanduser().resolve())
    known = suite.all_options
    given = {}
    for key, value in options.items():
        if key not in known and not suite.properties:
            near = did_you_mean(key, known)
            raise InputError(
                f'{place}: {suite.title} has no option "{key}".{near} Known: {", ".join(sorted(known))}'
            )
        given[key] = _value(known.get(key) or SuiteOption(key, least=0), value, place)
    return SuiteChoice(suite, suite.aliases.get(game, game), given, **more)


def _check_file(path: Path) -> None:
    if not path.is_file():
        beside = (
            [str(other) for other in path.parent.glob("*") if other.is_file()]
            if path.parent.is_dir()
            else []
        )
        raise InputError(f"{path}: no such file.{did_you_mean(str(path), beside)}")


def _value(option: SuiteOption, value: Any, place: str) -> Any:
    """What was said of an option, as a whole number or as words that it knows."""
    if not option.choices:
        return _whole(option, value, place)
    words = [str(word) for word in value] if isinstance(value, list) else str(value).split(",")
    for word in words if option.several else [",".join(words)]:
        if word not in option.choices:
            near = did_you_mean(word, option.choices)
            raise InputError(
                f'{place}: {option.name} is "{word}".{near} Known: {", ".join(option.choices)}'
            )
    return ",".join(words)


def _whole(option: SuiteOption, value: Any, place: str) -> int:
    try:
        number = int(str(int(value) if isinstance(value, bool) else value))
    except ValueError as error:
        raise InputError(f'{place}: {option.name} must be a whole number, not "{value}"') from error
    if option.least is not None and number < option.least:
        raise InputError(f"{place}: {option.name} is {number}; it must be at least {option.least}")
    return number
