"""The suites that can be played, as data: a new one is an entry here and an environment class."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drrn.errors import InputError

APT = "apt-get install -y default-jre-headless"
JAVA_COMMAND = "brew install openjdk" if sys.platform == "darwin" else APT
FOLDS = ("train", "dev", "test")
# Constant identity hashes in Java: sets of objects then iterate in the order of insertion.
SAME_HASHES = "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockExperimentalVMOptions -XX:hashCode=2"


@dataclass(frozen=True)
class SuiteOption:
    """An option of a suite's games: a whole number, one word of a list, or several of them."""

    name: str
    default: Any = None
    least: int | None = None  # of a number
    choices: tuple[str, ...] = ()  # of words
    several: bool = False  # words, separated by commas
    plays: bool = True  # whether episodes depend on it


@dataclass(frozen=True)
class Suite:
    """A suite: the names of its games, what must be installed, and its options."""

    name: str  # before the colon of a game's name
    title: str
    module: str  # to import
    package: str  # to install
    environment: str  # name of its class in `environments`
    example: str  # a game, as after the colon
    parts: tuple[str, ...]  # possible parts of a page's text
    text: tuple[str, ...]  # default parts
    max_steps: int
    repeats: str  # how far a seed determines an episode
    options: tuple[SuiteOption, ...] = ()
    properties: bool = False  # whether unknown options are passed to the suite
    of_file: bool = False  # whether a game is a file
    java: bool = False
    java_options: str = "-XX:+UseSerialGC"  # one thread per Java machine
    aliases: Mapping[str, str] = field(default_factory=dict)  # other names of games
    fallback: tuple[str, ...] = ("look",)  # actions if the suite lists none

    @property
    def all_options(self) -> dict[str, SuiteOption]:
        """The options of this suite and those of all suites, by name."""
        common = (
            SuiteOption("text", ",".join(self.text), choices=self.parts, several=True),
            SuiteOption("max_steps", self.max_steps, least=1),
            SuiteOption("seconds", 60, least=1, plays=False),  # time limit of a step
            SuiteOption("copies", 8, least=1, plays=False),  # environments at once
        )
        return {option.name: option for option in (*self.options, *common)}

    @property
    def version(self) -> str | None:
        """The version that is installed; None if none is."""
        if not self.installed:
            return None
        # Imported here: it is slow, and the environments' processes do not need it.
        from importlib import metadata

        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "of unknown version"

    @property
    def installed(self) -> bool:
        try:
            return importlib.util.find_spec(self.module) is not None
        except (ImportError, ValueError):  # a module of that name without a file
            return False

    def check_installed(self) -> None:
        """Raise InputError if the suite is not installed, or Java if it needs that."""
        if not self.installed:
            raise InputError(f"{self.title} is not installed: pip install 'drrn[{self.name}]'")
        if self.java and not has_java():
            cause = "needs Java, and there is no java on the path"
            raise InputError(f"{self.title} {cause}: {JAVA_COMMAND}")


def has_java() -> bool:
    return shutil.which("java") is not None


def install_command() -> str:
    """Return the command that installs what is missing, Java included; empty if nothing is."""
    missing = [suite.name for suite in SUITES.values() if not suite.installed]
    extras = "suites" if len(missing) == len(SUITES) else ",".join(missing)
    commands = [] if has_java() else [JAVA_COMMAND]
    if missing:
        commands.append(f"pip install 'drrn[{extras}]'")
    return " && ".join(commands)


_TWX = Suite(
    "twx",
    "TextWorldExpress",
    module="textworld_express",
    package="textworld-express",
    environment="TwxEnvironment",
    example="coin",
    parts=("observation", "look", "inventory", "task"),
    text=("observation", "look", "inventory"),
    max_steps=100,
    repeats="a seed selects the variation and determines the whole episode",
    options=(
        SuiteOption("fold", "train", choices=FOLDS),
        SuiteOption("seed", least=0),
        SuiteOption("variations", least=1),
    ),
    properties=True,
    java=True,
    # The quick compiler alone: 2,000 steps of cooking take half the time, start included.
    java_options="-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    aliases={"cooking": "cookingworld", "commonsense": "twc", "common-sense": "twc"},
    fallback=("look around",),
)
_TEXTWORLD = Suite(
    "textworld",
    "TextWorld",
    module="textworld",
    package="textworld",
    environment="TextWorldEnvironment",
    example="PATH.z8",
    parts=("objective", "feedback", "description", "inventory"),
    text=("description", "inventory"),
    max_steps=100,
    repeats="a file is one game without chance: every episode starts alike",
    of_file=True,
)
_JERICHO = Suite(
    "jericho",
    "Jericho",
    module="jericho",
    package="jericho",
    environment="JerichoEnvironment",
    example="PATH.z5",
    parts=("feedback", "look", "inventory"),
    text=("feedback", "look", "inventory"),
    max_steps=100,
    repeats="a seed determines the game's chance; with menus=state, also the lists of actions "
    "repeat in every process",
    options=(
        SuiteOption("seed", least=1),
        SuiteOption("tagger", "dictionary", choices=("dictionary", "spacy")),
        SuiteOption("menus", "world", choices=("world", "state")),
    ),
    of_file=True,
    fallback=("no", "wait", "yes"),  # as in Jericho's own agents
)
_SIMPLIFICATIONS = (
    "easy teleportAction selfWateringFlowerPots openContainers openDoors noElectricalAction"
)
_SCIENCEWORLD = Suite(
    "scienceworld",
    "ScienceWorld",
    module="scienceworld",
    package="scienceworld",
    environment="ScienceWorldEnvironment",
    example="boil",
    parts=("task", "observation", "look", "inventory"),
    text=("task", "observation", "look", "inventory"),
    max_steps=100,
    repeats="version 1.2.3 alone does not repeat (its sets depend on Java's identity hashes); "
    "with the option that drrn gives Java, all tested episodes did",
    options=(
        SuiteOption("fold", "train", choices=FOLDS),
        SuiteOption("variation", least=0),
        SuiteOption("variations", least=1),
        SuiteOption("simplifications", "", choices=tuple(_SIMPLIFICATIONS.split()), several=True),
    ),
    java=True,
    java_options=f"-XX:+UseSerialGC {SAME_HASHES}",
    fallback=("look around",),
)
SUITES = {suite.name: suite for suite in (_TWX, _TEXTWORLD, _JERICHO, _SCIENCEWORLD)}
