"""Games of other projects' suites: TextWorldExpress, TextWorld, Jericho, ScienceWorld."""

from drrn.game.make import GameSpec
from drrn.suites.catalogue import JAVA_COMMAND, SUITES, Suite, has_java
from drrn.suites.choice import is_suite_toml, lasting_suite_name, names_a_suite, read_choice
from drrn.suites.game import SuiteGame

__all__ = [
    "SUITES",
    "Suite",
    "SuiteGame",
    "has_java",
    "is_suite_toml",
    "lasting_suite_name",
    "names_a_suite",
    "open_suite_of",
    "suites_cure",
]


def open_suite_of(spec: GameSpec) -> SuiteGame:
    """Open `suite:game?options`, or a TOML file with `suite = …`; called by `make`."""
    choice = read_choice(spec.source)
    choice.suite.check_installed()
    return SuiteGame(choice)


def suites_cure() -> str:
    """Return the command that installs what is missing, Java included; empty if nothing is."""
    missing = [suite.name for suite in SUITES.values() if not suite.installed]
    extras = "suites" if len(missing) == len(SUITES) else ",".join(missing)
    commands = [] if has_java() else [JAVA_COMMAND]
    if missing:
        commands.append(f"pip install 'drrn[{extras}]'")
    return " && ".join(commands)
