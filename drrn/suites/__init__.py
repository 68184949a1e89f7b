"""Games of the suites that people use, as extras: TextWorldExpress, TextWorld, Jericho, ScienceWorld."""

from drrn.game.make import GameSpec
from drrn.suites.catalogue import SUITES
from drrn.suites.naming import is_suite_toml, lasting_suite_name, names_a_suite, read_choice
from drrn.suites.suite import JAVA_COMMAND, Suite, has_java
from drrn.suites.suite_game import SuiteGame

__all__ = [
    "SUITES",
    "Suite",
    "SuiteGame",
    "has_java",
    "is_suite_toml",
    "lasting_suite_name",
    "names_a_suite",
    "open_suite",
    "suites_cure",
]


def open_suite_of(spec: GameSpec) -> SuiteGame:
    """Open the game of a suite that a spec names; called by `make`."""
    return open_suite(spec.source)


def open_suite(name: str) -> SuiteGame:
    """The game behind `suite:game?options`, or behind a TOML that says `suite = …`."""
    choice = read_choice(name)
    choice.suite.check_installed()
    return SuiteGame(choice)


def suites_cure() -> str:
    """The command that installs the suites that are missing, and Java where there is none; empty if nothing is."""
    missing = [suite.name for suite in SUITES.values() if not suite.installed]
    extras = "suites" if len(missing) == len(SUITES) else ",".join(missing)
    commands = [] if has_java() else [JAVA_COMMAND]
    return " && ".join([*commands, *([f"pip install 'drrn[{extras}]'"] if missing else [])])
