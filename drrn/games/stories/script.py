"""A story ready to be told, whatever dialect it was written in."""

from __future__ import annotations

from dataclasses import dataclass, field

from drrn.games.stories.page import Expression, Node
from drrn.games.stories.story import Story


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """What cannot be played, and where it stands."""

    line: int
    passage: str
    what: str

    def __str__(self) -> str:
        return f'line {self.line}, passage "{self.passage}": {self.what}'


@dataclass
class Facts:
    """What a story's expressions touch, for the checks that read no page."""

    read: set[str] = field(default_factory=set)  # variables, without the $
    written: set[str] = field(default_factory=set)
    tracked: set[str] = field(default_factory=set)  # what the engine must keep: visited, turns, previous …
    chance: bool = False
    asked: set[str] = field(default_factory=set)  # variables that the player is asked to fill in


@dataclass
class Script:
    """A node for each passage, and what was learned while reading them."""

    story: Story
    answers: dict[str, str]  # to what the story asks the player
    lenient: bool = False  # whether what fails while playing is left out, too
    nodes: dict[str, Node] = field(default_factory=dict)
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    links: dict[str, set[str]] = field(default_factory=dict)  # passage → passages that it names
    expressions: dict[str, Expression] = field(default_factory=dict)  # by source, so that each is parsed once
    facts: Facts = field(default_factory=Facts)
    problems: list[Problem] = field(default_factory=list)
