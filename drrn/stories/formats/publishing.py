"""Publishing in memory: a story as the HTML page that Twine would write with a story format."""

from __future__ import annotations

import hashlib
import html
import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from drrn.stories.formats.format_file import StoryFormat
from drrn.stories.twine.story import Passage, Story
from drrn.version import __version__

# Passages about the story; they become attributes of the page, or were read before.
ABOUT = frozenset("StoryTitle StoryData StorySettings StoryIncludes".split())
PLACES = re.compile(r"\{\{STORY_(NAME|DATA)\}\}")


def publish(story: Story, story_format: StoryFormat) -> str:
    """The text of the published page."""
    return filled(story_format, html.escape(_title(story)), story_data(story, story_format))


def filled(story_format: StoryFormat, name: str, data: str) -> str:
    """The format's page with a name and a story's data in their places."""
    parts = {"NAME": name, "DATA": data}
    return PLACES.sub(lambda place: parts[place[1]], story_format.source)


def story_data(story: Story, story_format: StoryFormat) -> str:
    """The `tw-storydata` element: style sheets, scripts, colours of tags, and a numbered element for each passage."""
    told = [passage for passage in story.passages.values() if _is_told(passage)]
    numbers = {passage.name: number for number, passage in enumerate(told, 1)}
    attributes = {
        "name": _title(story), "startnode": numbers[story.start], "creator": "drrn", "creator-version": __version__,
        "format": story_format.name, "format-version": story_format.version, "ifid": ifid(story), "options": "",
        "tags": "", "zoom": story.data.get("zoom", 1),
    }  # fmt: skip
    style = _joined(story, "stylesheet", "</style")
    script = _joined(story, "script", "</script")
    inside = (
        f'<style role="stylesheet" id="twine-user-stylesheet" type="text/twine-css">{style}</style>',
        f'<script role="script" id="twine-user-script" type="text/twine-javascript">{script}</script>',
        *_tag_colours(story.data.get("tag-colors")),
        *(_passage_element(numbers[passage.name], passage) for passage in told),
    )
    return f"<tw-storydata{_written(attributes)} hidden>{''.join(inside)}</tw-storydata>"


def ifid(story: Story) -> str:
    """The story's identifier: its own, or one made of its passages, so that it is the same each time."""
    given = story.data.get("ifid")
    if isinstance(given, str) and given.strip():
        return given.strip()
    told = repr([(passage.name, passage.text) for passage in story.passages.values()])
    return str(
        uuid.UUID(bytes=hashlib.sha256(told.encode("utf-8", "replace")).digest()[:16], version=4)
    ).upper()


def _title(story: Story) -> str:
    return story.title or "Untitled Story"


def _is_told(passage: Passage) -> bool:
    return passage.name not in ABOUT and {"script", "stylesheet", "Twine.private"}.isdisjoint(
        passage.tags
    )


def _joined(story: Story, tag: str, closing: str) -> str:
    """All passages with a tag as one text that cannot close its element."""
    texts = (passage.text for passage in story.passages.values() if tag in passage.tags)
    return re.sub(
        re.escape(closing), lambda found: f"<\\{found[0][1:]}", "\n".join(texts), flags=re.I
    )


def _tag_colours(colours: Any) -> Iterable[str]:
    for name, colour in colours.items() if isinstance(colours, dict) else ():
        yield f"<tw-tag{_written({'name': name, 'color': colour})}></tw-tag>"


def _passage_element(number: int, passage: Passage) -> str:
    row, column = divmod(number - 1, 10)  # where Twine's editor would show it
    attributes = {
        "pid": number, "name": passage.name, "tags": " ".join(passage.tags),
        "position": f"{100 + 125 * column},{100 + 125 * row}", "size": "100,100",
    }  # fmt: skip
    return f"<tw-passagedata{_written(attributes)}>{html.escape(passage.text)}</tw-passagedata>"


def _written(attributes: Mapping[str, Any]) -> str:
    return "".join(f' {name}="{html.escape(str(value))}"' for name, value in attributes.items())
