"""Errors that the user can fix: one sentence that names what is wrong, where, and the fix."""

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class InputError(Exception):
    """A file, a name or an option is wrong; the message has the location and a fix."""


class OutOfTime(Exception):  # noqa: N818 - not an error
    """The time for playing or compiling a game is over."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ' Did you mean "…"?' for the closest known word, or an empty string."""
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), folded, n=1)
    return f' Did you mean "{folded[near[0]]}"?' if near else ""


def require(module: str, package: str = "") -> ModuleType:
    """Import an optional dependency, or raise an `InputError` with the command that installs it.

    Args:
        module: The module.
        package: What pip installs, if it has another name.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = package or module.partition(".")[0]
        raise InputError(f"{module} is not installed: pip install {name}") from error
