"""How a map's parts look and what is written on them, whatever they are drawn with."""

from __future__ import annotations

import math
from collections.abc import Sequence

from drrn.stories.map.boxes import ROW_LETTERS, BoxedPage, breadth, cut, plain
from drrn.stories.map.layout import MapLayout
from drrn.stories.map.story_map import StoryMap

CLASSES = 9  # of rewards, from the worst to the best
MOST_WAYS = 12  # that the tooltip of a line tells
NOT_TRIED = "not tried"
LEAST_CHIP = 14  # letters of the name of where a link leads


def line_width(often: float) -> float:
    """As wide as a way is often gone, within what can be seen."""
    return 0.9 + 2.9 * min(1.0, math.sqrt(max(often, 0.0)))


def reward_class(drawn: StoryMap, place: int) -> str:
    """The class of an ending's reward: r0 the worst to r8 the best, r4 is 0; "" for what is no ending."""
    reward = drawn.reward[place]
    if reward is None:
        return ""
    span = max(abs(other) for other in drawn.reward if other is not None) or 1.0
    return f"r{round((CLASSES - 1) * (0.5 + 0.5 * reward / span))}"


def counted_places(drawn: StoryMap) -> str:
    """How many places and endings there are."""
    endings = sum(reward is not None for reward in drawn.reward)
    places = len(drawn.labels) - endings
    counted = (
        f"{places:,} {drawn.noun}{'s' * (places != 1)}, {endings:,} ending{'s' * (endings != 1)}"
    )
    return f"{counted}, as far as seen" if drawn.seen_only else counted


def reference(drawn: StoryMap, layout: MapLayout, source: int, target: int) -> str:
    """The name of where a link leads, with a sign: back, on, or to the same place."""
    if source == target:
        return "↻"
    ahead = layout.layer[layout.at[target]] > layout.layer[layout.at[source]]
    return f"{'→' if ahead else '↩'} {plain(drawn.labels[target])}"


def row_words(drawn: StoryMap, layout: MapLayout, page: BoxedPage, row: int) -> tuple[str, str]:
    """The words of a link and the name of where it leads, "" where a line shows it, cut to fit in a row together."""
    link = page.rows[row]
    named = layout.references.get((page.place, row), [])
    if not link.targets:
        return cut(link.words or "…", ROW_LETTERS - breadth(NOT_TRIED) - 1), NOT_TRIED
    if not named:
        return cut(link.words or "…", ROW_LETTERS), ""
    chip = reference(drawn, layout, page.place, named[0])
    more = f" +{len(named) - 1}" if len(named) > 1 else ""
    room = ROW_LETTERS - 1 - breadth(more)
    least = min(breadth(chip), LEAST_CHIP, room)
    words = cut(link.words or "…", max(room - breadth(chip), room - max(least, room // 2)))
    return words, cut(chip, max(room - breadth(words), least)) + more


def way_words(drawn: StoryMap, sources: Sequence[int], target: int) -> list[str]:
    """What the tooltip of a line says: the links that it stands for."""
    said = []
    for source in sources:
        words = drawn.words.get((source, target)) or {"": drawn.ways.get((source, target), 0.0)}
        for link, often in sorted(words.items(), key=lambda item: -item[1]):
            told = f"“{link}” " if link else ""
            said.append(
                f"{drawn.labels[source]} {told}→ {drawn.labels[target]}: {often:.2g} times in a random game"
            )
    return [
        *said[:MOST_WAYS],
        *([f"… and {len(said) - MOST_WAYS} more"] if len(said) > MOST_WAYS else []),
    ]


def origin_words(drawn: StoryMap, page: BoxedPage) -> str:
    """The names of places that lead to a page to which no line leads."""
    more = f" +{len(page.origins) - 1}" if len(page.origins) > 1 else ""
    return cut(f"from {plain(drawn.labels[page.origins[0]])}", ROW_LETTERS - len(more)) + more
