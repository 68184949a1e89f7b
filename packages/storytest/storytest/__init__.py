"""Play-tests for Twine and Ink stories: problems, endings and their odds, coverage, a map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textgames.version import __version__ as __version__

if TYPE_CHECKING:
    from storytest.playtest.findings import Findings
    from textgames.game.contract import Game
    from textgames.notebook import Picture

__all__ = ["__version__", "draw_map", "test"]


def test(story: Any, **options: Any) -> Findings:
    """Play-test a story.

    Args:
        story: The path of a story, or a game from `textgames.make(path, shuffle=False)`.
        **options: Those of `storytest.playtest.playtest.StoryTest`.

    Example:
        >>> findings = storytest.test("my-story.html", seconds=10)
        >>> for problem in findings.problems:
        ...     print(problem.passage, problem.text)
    """
    from storytest.playtest.playtest import StoryTest
    from textgames.openers import make

    is_path = isinstance(story, str) or hasattr(story, "__fspath__")
    game = make(story, shuffle=False, lenient=True) if is_path else story
    return StoryTest(game, **options).run()


def draw_map(game: Game) -> Picture:
    """Draw the map of a game's pages and endings; a notebook displays it.

    Raises:
        InputError: The game cannot be compiled, or has too many pages to draw.
    """
    from storytest.map.svg import game_map

    return game_map(game)
