"""The suites that can be played (`catalogue.toml`), and the reader of `suite:game?option=value`."""

import hashlib
import importlib.util
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from textgames.declaration import Setting
from textgames.errors import InputError, did_you_mean
from textgames.files import read_toml, slug
from textgames.openers import missing_file

APT = "apt-get install -y default-jre-headless"
JAVA_COMMAND = "brew install openjdk" if sys.platform == "darwin" else APT
NAME = re.compile(r"(?P<suite>\w+):(?P<game>[^?]*)(?P<options>\?.*)?", re.S)


@dataclass(frozen=True)
class Suite:
    """A suite: the names of its games, what must be installed, and its options."""

    name: str  # before the colon of a game's name
    options: Mapping[str, Setting]
    title: str
    module: str  # to import
    package: str  # to install
    environment: str  # name of its class in `environments`
    example: str  # a game, as after the colon
    repeats: str  # how far a seed determines an episode
    several: Sequence[str] = ()  # options that take several words, separated by commas
    properties: bool = False  # whether unknown options are passed to the suite
    of_file: bool = False  # whether a game is a file
    java: bool = False
    java_options: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)  # other names of games
    fallback: Sequence[str] = ("look",)  # actions if the suite lists none
    highest_score: float | None = None  # of all its games
    starts_at_zero: bool = True  # the score of an episode

    @property
    def version(self) -> str | None:
        """The version that is installed, or None."""
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(self.package)
        return None

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None

    def check_installed(self) -> None:
        """Raise InputError if the suite is not installed, or Java if it needs that."""
        if not self.installed:
            raise InputError(f"{self.title} is not installed: pip install {self.package}")
        if self.java and shutil.which("java") is None:
            cause = "needs Java, but java is not on the PATH"
            raise InputError(f"{self.title} {cause}: {JAVA_COMMAND}")


def _read_suites() -> dict[str, Suite]:
    table = read_toml(Path(__file__).with_name("catalogue.toml"))
    suites = {}
    for name, fields in table["suites"].items():
        options = {}
        for key, values in (table["options"] | fields.pop("options")).items():
            options[key] = Setting(key, str if "choices" in values else int, **values)
        suites[name] = Suite(name, options, **fields)
    return suites


SUITES = _read_suites()


@dataclass(frozen=True)
class SuiteChoice:
    """A game of a suite with its options."""

    suite: Suite
    game: str  # as the suite names it, or the path of its file
    values: Mapping[str, Any]  # of the options in the name

    @property
    def name(self) -> str:
        """The name that opens it again, with sorted options."""
        options = "&".join(f"{key}={value}" for key, value in sorted(self.values.items()))
        return f"{self.suite.name}:{self.game}{'?' if options else ''}{options}"

    @property
    def short_name(self) -> str:
        """A name without options that is valid as a file name."""
        game = Path(self.game).stem if self.suite.of_file else self.game
        return slug(f"{self.suite.name}-{game}")

    @cached_property
    def options(self) -> dict[str, Any]:
        """All options, with defaults."""
        defaults = {name: option.default for name, option in self.suite.options.items()}
        return defaults | dict(self.values)

    @property
    def max_steps(self) -> int:
        """The step limit of an episode: on the fold train, `train_steps` if it is given."""
        options = self.options
        train_steps = options.get("train_steps") if options.get("fold") == "train" else None
        return int(train_steps or options["max_steps"])

    @property
    def loss_share(self) -> float:
        """The share of a loss of score that is paid: `train_penalty` percent on the fold train."""
        percentage = self.options.get("train_penalty")
        if percentage is None or self.options["fold"] != "train":
            return 1.0
        return float(percentage) / 100

    @property
    def highest_return(self) -> float | None:
        """The best possible return. None if it is unknown, or depends on the first score."""
        if self.suite.starts_at_zero or self.options["initial_score"] == "yes":
            return self.suite.highest_score
        return None

    @property
    def is_fixed(self) -> bool:
        """Whether the suite has folds, but an option selects one variation."""
        options = self.options
        fixed = any(options.get(name) is not None for name in ("seed", "variation"))
        return fixed and "fold" in options

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what episodes depend on: suite, version, game or its files, options."""
        ignored = {name for name, option in self.suite.options.items() if option.same_results}
        for name in ("floor", "initial_score"):  # were added when hashes had been published
            if self.options[name] == self.suite.options[name].default:
                ignored.add(name)
        if self.max_steps == self.options["max_steps"]:
            ignored.add("train_steps")
        if self.loss_share == 1:
            ignored.add("train_penalty")
        options = sorted((name, v) for name, v in self.options.items() if name not in ignored)
        game = hashes(self.game) if self.suite.of_file else self.game
        values = (self.suite.name, self.suite.version, game, options)
        return hashlib.sha256(repr(values).encode()).hexdigest()


def absolute_name(name: str) -> str:
    """Return the name with the absolute path of its file, so that it opens from every folder."""
    match = NAME.fullmatch(name)
    if match is None or not SUITES[match["suite"]].of_file or not match["game"]:
        return name
    path = Path(match["game"]).expanduser().resolve()
    return f"{match['suite']}:{path}{match['options'] or ''}"


def read_choice(name: str) -> SuiteChoice:
    """Read the name of a suite's game, with its options.

    Raises:
        InputError: An option is wrong, or a file is missing.
    """
    match = NAME.fullmatch(name)
    if match is None:
        raise InputError(f"{name}: a game of a suite is named suite:game?option=value&option=value")
    suite = SUITES[match["suite"]]
    game = match["game"]
    if not game:
        example = f"{suite.name}:{suite.example}"
        raise InputError(f"{name}: add a game to the name of the suite, such as {example}")
    if suite.of_file:
        path = Path(game).expanduser()
        if not path.is_file():
            raise missing_file(path)
        game = str(path.resolve())
    options = _read_options(suite, (match["options"] or "")[1:], name)
    choice = SuiteChoice(suite, suite.aliases.get(game, game), options)
    if choice.max_steps > choice.options["max_steps"]:
        raise InputError(f"{name}: train_steps is above max_steps; write a lower train_steps")
    return choice


def suite_of(name: str) -> Suite | None:
    """The suite of a game. None if it is no game of a suite."""
    match = NAME.fullmatch(name)
    return SUITES.get(match["suite"]) if match else None


def with_options(name: str, **changes: Any) -> str:
    """The name of a suite's game with other values of some options.

    None leaves an option as it is. An empty value restores its default.
    """
    match = NAME.fullmatch(name)
    if match is None or match["suite"] not in SUITES:
        raise InputError(f"{name}: not a game of a suite, so it has no options")
    suite = SUITES[match["suite"]]
    values = _read_options(suite, (match["options"] or "")[1:], name)
    if changes.get("fold") and SuiteChoice(suite, match["game"], values).is_fixed:
        raise InputError(f"{name}: always plays one variation, so no fold can be chosen")
    options = {key: str(value) for key, value in values.items()}
    options |= {key: str(value) for key, value in changes.items() if value is not None}
    text = "&".join(f"{key}={value}" for key, value in options.items() if value)
    return f"{match['suite']}:{match['game']}{'?' if text else ''}{text}"


def _read_options(suite: Suite, text: str, source: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for pair in filter(None, text.split("&")):
        key, equals, value = pair.partition("=")
        if not equals or key in options:
            raise InputError(f'{source}: "{pair}": write {key}=VALUE, once')
        option = suite.options.get(key)
        if option is None and not suite.properties:
            near = did_you_mean(key, suite.options)
            hint = f"{near} Known: {', '.join(sorted(suite.options))}"
            raise InputError(f'{source}: {suite.title} has no option "{key}".{hint}')
        try:
            options[key] = _read_value(suite, option or Setting(key, int, least=0), unquote(value))
        except InputError as error:
            raise InputError(f"{source}: {error}") from error
    return options


def _read_value(suite: Suite, option: Setting, text: str) -> Any:
    value = option.read(text)
    for part in text.split(",") if option.name in suite.several else [value]:
        option.check(part)
    return value


def hashes(path: str) -> dict[str, str]:
    """Return hashes of a game's file and of TextWorld's JSON next to it, if they exist."""
    files = (Path(path), Path(path).with_suffix(".json"))
    return {
        file.suffix: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file()
    }
