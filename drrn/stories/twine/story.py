"""A story as its author wrote it: named passages of marked-up text."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drrn.errors import InputError

LONGEST_PASSAGE = 1_500_000  # characters, and of a page that is made of passages
LONGEST_NAME = 500

# Passages that hold something other than pages.
SPECIAL = frozenset(
    "StoryTitle StoryAuthor StorySubtitle StoryMenu StoryInit StorySettings StoryIncludes StoryData StoryCaption "
    "StoryBanner StoryInterface StoryShare StoryDisplayTitle StoryMetadata MenuOptions MenuShare MenuStory "
    "PassageHeader PassageFooter PassageReady PassageDone".split()
)
NO_PAGE_TAGS = frozenset(
    "script stylesheet annotation widget Twine.image Twine.private Twine.system Twine.audio Twine.video".split()
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A named piece of a story's marked-up text."""

    name: str
    text: str
    tags: tuple[str, ...] = ()
    line: int = 1  # of its first line of text, in the file
    on_one_line: bool = False  # whether the file writes its line breaks as \\n

    def line_in_file(self, within: int) -> int:
        """The line of the file that a line of the passage, from 1, stands on."""
        return self.line if self.on_one_line else self.line + within - 1

    @property
    def is_page(self) -> bool:
        return self.name not in SPECIAL and NO_PAGE_TAGS.isdisjoint(self.tags)


@dataclass(frozen=True)
class Story:
    """Passages by name; `format` is the story format that the file names, in lower case, or ''."""

    source: str  # the file, for messages
    passages: dict[str, Passage]
    title: str = ""
    start: str = "Start"
    format: str = ""
    notes: tuple[str, ...] = field(default=())  # what a reader found odd but could live with
    data: Mapping[str, Any] = field(default_factory=dict)  # Twee 3's StoryData as it stands

    @property
    def format_version(self) -> str:
        """The version of the story format that StoryData names, or ''."""
        version = self.data.get("format-version")
        return version.strip() if isinstance(version, str) else ""

    @property
    def pages(self) -> dict[str, Passage]:
        return {name: passage for name, passage in self.passages.items() if passage.is_page}


def story_of(source: str, passages: list[Passage], **details: Any) -> Story:
    """A story of the passages, checked for what no reader can mend."""
    found: dict[str, Passage] = {}
    notes = []
    for passage in passages:
        check_passage_name(passage.name, f"{source}, line {passage.line}")
        _check_length(passage, f"{source}, line {passage.line}")
        if passage.name in found:
            notes.append(
                f'line {passage.line}: passage "{passage.name}" stands twice; the later one counts'
            )
        found[passage.name] = passage
    title = details.pop("title", "") or (
        found["StoryTitle"].text.strip() if "StoryTitle" in found else ""
    )
    story = Story(source, found, title=title, notes=tuple(notes), **details)
    if not story.pages:
        raise InputError(
            f"{source}: no passages found: is it a Twee file or a published Twine story?"
        )
    if story.start not in story.passages:
        raise InputError(
            f'{source}: no passage named "{story.start}" to start from: name one so, or give StoryData a "start"'
        )
    return story


def check_passage_name(name: str, place: str) -> None:
    if not name.strip():
        raise InputError(f"{place}: a passage without a name: give it one")
    if len(name) > LONGEST_NAME:
        raise InputError(
            f"{place}: a passage name of {len(name):,} characters; the most is {LONGEST_NAME}"
        )


def _check_length(passage: Passage, place: str) -> None:
    if len(passage.text) > LONGEST_PASSAGE and (passage.is_page or passage.name == "StoryInit"):
        raise InputError(
            f'{place}: passage "{passage.name}" has {len(passage.text):,} characters; '
            f"the most is {LONGEST_PASSAGE:,}: split it"
        )


def decoded(text: str) -> str:
    """Text with its HTML entities decoded."""
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:  # a number of thousands of digits
        return text
