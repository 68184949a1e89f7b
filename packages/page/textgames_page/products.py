"""Products that the page opens if they are installed: the tester of stories, and the agent."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from textgames.errors import InputError

STORIES = "Stories cannot be played or tested here: install the package storytest"
AGENTS = "Agents cannot be trained or asked here: install the package drrn"


@contextmanager
def needed(sentence: str) -> Iterator[None]:
    """Raise an InputError with this sentence if an import in the block fails."""
    try:
        yield
    except ImportError as error:
        raise InputError(sentence) from error


def has_stories() -> bool:
    """Whether the tester of stories is installed."""
    try:
        import storytest.open_story  # noqa: F401
    except ImportError:
        return False
    return True


def has_agents() -> bool:
    """Whether the agent is installed, even without PyTorch."""
    try:
        import drrn.runs.run  # noqa: F401
    except ImportError:
        return False
    return True


def check_agents() -> None:
    """Raise an InputError if the agent, or the PyTorch that it needs, is not installed."""
    if not has_agents() or not _has_torch():
        raise InputError(AGENTS)


def _has_torch() -> bool:
    try:
        return importlib.util.find_spec("torch") is not None
    except ImportError:
        return False
