"""A suite of games that others made: what it is called, what it needs, and which options its games take."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from drrn.errors import InputError

JAVA_COMMAND = (
    "brew install openjdk"
    if sys.platform == "darwin"
    else "apt-get install -y default-jre-headless"
)


@dataclass(frozen=True)
class SuiteOption:
    """What can be said of a suite's game: a whole number, one of some words, or several of them."""

    name: str
    default: Any = None
    least: int | None = None  # of a number
    choices: tuple[str, ...] = ()  # of words
    several: bool = False  # words, separated by commas
    plays: bool = True  # whether what is played depends on it


@dataclass(frozen=True)
class Suite:
    """A suite: how its games are named, what must be installed, and how well its episodes repeat."""

    name: str  # before the colon of a game's name
    title: str
    module: str  # that is imported
    package: str  # that is installed
    adaptor: str  # module:class of the environment
    example: str  # what stands after the colon
    parts: tuple[str, ...]  # what a page's text can be made of
    text: tuple[str, ...]  # what it is made of where nothing is said
    max_steps: int
    repeats: str  # a note: how far a seed makes the episode
    options: tuple[SuiteOption, ...] = ()
    properties: bool = (
        False  # whether any other option is handed to the suite, which knows its games' properties
    )
    of_file: bool = False  # whether a game is a file
    java: bool = False
    java_options: str = "-XX:+UseSerialGC"  # one thread for each of several Java machines
    aliases: Mapping[str, str] = field(default_factory=dict)  # other names of games
    fallback: tuple[str, ...] = ("look",)  # what can be said where the suite lists nothing

    @property
    def all_options(self) -> dict[str, SuiteOption]:
        """Its own options and those of every suite, by name."""
        common = (
            SuiteOption("text", ",".join(self.text), choices=self.parts, several=True),
            SuiteOption("max_steps", self.max_steps, least=1),
            SuiteOption(
                "seconds", 60, least=1, plays=False
            ),  # for a step; then it is taken to hang
            SuiteOption("copies", 8, least=1, plays=False),  # environments at once
        )
        return {option.name: option for option in (*self.options, *common)}

    @property
    def version(self) -> str | None:
        """Which version is installed; None where it is not."""
        if not self.installed:
            return None
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "of unknown version"

    @property
    def installed(self) -> bool:
        try:
            return importlib.util.find_spec(self.module) is not None
        except (ImportError, ValueError):  # a module of that name without a place
            return False

    def check_installed(self) -> None:
        """Refuse to go on without the suite, or without Java where it needs that."""
        if not self.installed:
            raise InputError(f"{self.title} is not installed: pip install 'drrn[{self.name}]'")
        if self.java and not has_java():
            raise InputError(
                f"{self.title} needs Java, and there is no java on the path: {JAVA_COMMAND}"
            )


def has_java() -> bool:
    return shutil.which("java") is not None
