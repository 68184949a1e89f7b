"""Twine's archives: HTML that holds a story's data and no engine to play it."""

from __future__ import annotations

import html
import re

from drrn.stories.formats.kept import format_for
from drrn.stories.formats.publishing import filled
from drrn.stories.twine.reading import TWINE_2, TWINE_2_END, read_twine_html

SCRIPT = re.compile(r"<script\b", re.I)


def with_engine(page: str, source: str) -> str:
    """The page as it stands or, where it is an archive, its first story published with the format that it names."""
    data = next(iter(archived_data(page)), None)
    if data is None:
        return page
    story = read_twine_html(data, source)
    return filled(format_for(story), html.escape(story.title), data)


def archived_data(page: str) -> list[str]:
    """The `tw-storydata` elements of an archive; none where the page has an engine."""
    found: list[str] = []
    position = 0
    while opening := TWINE_2.search(page, position):
        end = TWINE_2_END.search(page, opening.end())
        if SCRIPT.search(page, position, opening.start()) or end is None:
            return []
        position = end.end()
        found.append(f"{page[opening.start() : end.start()]}</tw-storydata>")
    return [] if SCRIPT.search(page, position) else found
