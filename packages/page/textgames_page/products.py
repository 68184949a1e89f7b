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


def product() -> str:
    """The name of the product whose page this is."""
    return "drrn" if has_agents() else "storytest" if has_stories() else "textgames"


def has_stories() -> bool:
    """Whether the tester of stories is installed."""
    return _is_installed("storytest.open_story")


def has_agents() -> bool:
    """Whether the agent is installed, even without PyTorch."""
    return _is_installed("drrn.runs.run")


def check_agents() -> None:
    """Raise an InputError if the agent, or the PyTorch that it needs, is not installed."""
    if not has_agents() or not _is_installed("torch"):
        raise InputError(AGENTS)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # there is not even its package
        return False
