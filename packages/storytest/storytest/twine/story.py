"""Stories as their authors wrote them: named passages of marked-up text."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from storytest.limits import LIMITS, Limits
from textgames.errors import InputError
from textgames.files import read_toml

RECOGNITION = read_toml(Path(__file__).with_name("recognition.toml"))

# Passages that are not pages.
SPECIAL = frozenset(RECOGNITION["special_passages"].split())
NO_PAGE_TAGS = frozenset(RECOGNITION["no_page_tags"].split())


@dataclass(frozen=True, slots=True)
class Passage:
    """A named piece of marked-up text. `line` is the file's line of its first text line."""

    name: str
    text: str
    tags: tuple[str, ...] = ()
    line: int = 1
    on_one_line: bool = False  # the file writes its line breaks as \\n
    position: tuple[float, float] | None = None  # on the author's map in Twine

    def line_in_file(self, line: int) -> int:
        """The file's line of a line of the passage (the first is 1)."""
        return self.line if self.on_one_line else self.line + line - 1

    @property
    def is_page(self) -> bool:
        return self.name not in SPECIAL and NO_PAGE_TAGS.isdisjoint(self.tags)


@dataclass(frozen=True)
class Story:
    """Passages by name. `format` is the story format in lower case, or ''."""

    source: str  # the file, for messages
    passages: dict[str, Passage]
    title: str = ""
    start: str = "Start"
    format: str = ""
    duplicates: tuple[tuple[str, int], ...] = ()  # names that occur again, and their lines
    data: Mapping[str, Any] = field(default_factory=dict)  # Twee 3's StoryData

    @property
    def format_version(self) -> str:
        """The version of the story format, or ''."""
        version = self.data.get("format-version")
        return version.strip() if isinstance(version, str) else ""

    @cached_property
    def pages(self) -> dict[str, Passage]:
        return {name: passage for name, passage in self.passages.items() if passage.is_page}


def build_story(
    source: str, passages: list[Passage], title: str = "", limits: Limits = LIMITS, **details: Any
) -> Story:
    """A story of passages, which must have names and a start, and not be too long."""
    by_name: dict[str, Passage] = {}
    duplicates = []
    links = 0
    for passage in passages:
        check_passage_name(passage.name, f"{source}, line {passage.line}")
        name = f'passage "{passage.name}"'
        size = len(passage.text)
        if size > limits.passage_characters and (passage.is_page or passage.name == "StoryInit"):
            what = f"{name} has {size:,} characters; the limit is {limits.passage_characters:,}"
            raise InputError(f"{source}, line {passage.line}: {what}; split it")
        links += sum(map(passage.text.count, ("[[", "<<", "(link")))
        if passage.is_page and links > limits.links:  # reading them would take minutes
            what = f"the passages up to here have over {limits.links:,} links and macros"
            raise InputError(f"{source}, line {passage.line}: {what}; split the story")
        if passage.name in by_name:
            duplicates.append((passage.name, passage.line))
        by_name[passage.name] = passage
    if not title and "StoryTitle" in by_name:
        title = by_name["StoryTitle"].text.strip()
    story = Story(source, by_name, title=title, duplicates=tuple(duplicates), **details)
    if not story.pages:
        cure = "is it a Twee file or a published Twine story?"
        raise InputError(f"{source}: no passages found; {cure}")
    if story.start not in story.passages:
        cause = f'no passage named "{story.start}" to start from'
        raise InputError(f'{source}: {cause}; add one, or give StoryData a "start"')
    return story


def check_passage_name(name: str, location: str, longest: int = 500) -> None:
    if not name.strip():
        raise InputError(f"{location}: a passage has no name; give it one")
    if len(name) > longest:
        what = f"a passage name has {len(name):,} characters; the limit is {longest}"
        raise InputError(f"{location}: {what}")


# --- source text


def patterns(section: str) -> dict[str, re.Pattern[str]]:
    """The compiled patterns of a section of `recognition.toml`."""
    table: dict[str, str] = RECOGNITION[section]
    return {name: re.compile(pattern, re.VERBOSE) for name, pattern in table.items()}


def unescape_html(text: str) -> str:
    """Replace HTML entities by their characters."""
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:  # a number of thousands of digits
        return text


def split_link(body: str) -> tuple[str, str]:
    """The label and target of `label|target`, `label->target`, `target<-label` or `target`.

    The label is '' if the link has none.
    """
    if "|" in body:
        label, _, target = body.partition("|")
    elif "->" in body:
        label, _, target = body.rpartition("->")
    elif "<-" in body:
        target, _, label = body.partition("<-")
    else:
        label = ""
        target = body
    return label.strip(), target.strip()


def letters_of(text: str) -> str:
    """The text without blanks, punctuation and markup."""
    return re.sub(r"[\W_]+", "", text)
