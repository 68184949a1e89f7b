"""The boxes of a map: a page with a row for each of its links; pages in a chain share a box; an ending is its own."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from drrn.stories.map.story_map import StoryMap
from drrn.writing import percent, visible

WIDTH = 204.0  # of every box, in pixels
PAD = 6.0
TITLE_LINE = 15.0
ROW = 14.0
# that fit into a line
TITLE_LETTERS = 25
ROW_LETTERS = 33
MOST_TITLE_LINES = 2
MOST_ROWS = 8
MOST_IN_CHAIN = 6
NARROW = frozenset(" iIjltfr.,:;!|'’()[]")
BROAD = frozenset("mwMW@%—…↩→")
NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class LinkRow:
    """The words of one or more links of a page, and the places that they lead to, the most likely first;
    none: it was not tried."""

    words: str
    targets: tuple[int, ...]
    often: tuple[float, ...]  # how often each target is reached so, in a random game


@dataclass(frozen=True)
class BoxedPage:
    """A place in its box: where it begins below the box's top, its title, and its links."""

    place: int
    top: float
    title: tuple[str, ...]
    rows: tuple[LinkRow, ...]
    origins: tuple[
        int, ...
    ] = ()  # places that lead here, where no line does: named above the title

    @property
    def title_top(self) -> float:
        """Where the title begins, below the box's top."""
        return self.top + PAD + ROW * bool(self.origins)

    @property
    def title_y(self) -> float:
        """The middle of the first line of its title, below the box's top."""
        return self.title_top + TITLE_LINE / 2

    def row_y(self, row: int) -> float:
        """The middle of a row, below the box's top."""
        return self.title_top + TITLE_LINE * len(self.title) + ROW * (row + 0.5)

    @property
    def bottom(self) -> float:
        return self.row_y(len(self.rows)) - ROW / 2 + PAD


@dataclass(frozen=True)
class MapBox:
    """A box: an ending, a page, or pages of which each leads to the next alone."""

    pages: tuple[BoxedPage, ...]
    ending: bool

    @property
    def height(self) -> float:
        return self.pages[-1].bottom

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(page.place for page in self.pages)


def boxes_of(drawn: StoryMap) -> list[MapBox]:
    """A box for each chain of places, nearest to the start first."""
    chains = _chains(drawn)
    nearest = sorted(chains, key=lambda chain: (drawn.distance[chain[0]], chain[0]))
    rows = _rows(drawn)
    return [_box(drawn, chain, rows) for chain in nearest]


def _box(drawn: StoryMap, chain: list[int], rows: dict[int, list[LinkRow]]) -> MapBox:
    pages: list[BoxedPage] = []
    for place in chain:
        top = pages[-1].bottom if pages else 0.0
        ending = drawn.reward[place] is not None
        title = title_lines(drawn.labels[place])
        pages.append(
            BoxedPage(
                place, top, (*title, _pays(drawn, place)) if ending else title, tuple(rows[place])
            )
        )
    return MapBox(tuple(pages), drawn.reward[chain[0]] is not None)


def _pays(drawn: StoryMap, place: int) -> str:
    """What an ending pays, where any does, and how likely random play ends there."""
    odds = percent(min(1.0, drawn.visits[place]))
    return (
        f"pays {drawn.reward[place]:g} · {odds}" if any(drawn.reward) else f"{odds} of random games"
    )


def title_lines(label: str) -> tuple[str, ...]:
    """A title in lines that fit its box."""
    text = plain(label)
    lines = textwrap.wrap(
        text, max(2, int(TITLE_LETTERS * len(text) / max(breadth(text), 1.0)))
    ) or ["…"]
    if len(lines) > MOST_TITLE_LINES:
        lines[MOST_TITLE_LINES - 1 :] = [
            cut(" ".join(lines[MOST_TITLE_LINES - 1 :]), TITLE_LETTERS)
        ]
    return tuple(lines)


def plain(text: str) -> str:
    """Text in one line, without characters that steer a terminal, deceive a reader or are none in XML."""
    return " ".join(NO_XML.sub("", visible(text)).split())


def breadth(text: str) -> float:
    """How many letters wide a text is: an i is narrow, a W wide, a character of Chinese wider."""
    return sum(_wide(character) for character in text)


def _wide(character: str) -> float:
    if character in NARROW:
        return 0.55
    if character in BROAD:
        return 1.45
    if unicodedata.east_asian_width(character) in "WF":
        return 1.8
    return 1.15 if character.isupper() else 1.0


def cut(text: str, length: float) -> str:
    """The text, cut to be so many letters wide."""
    if breadth(text) <= length:
        return text
    while text and breadth(text) + _wide("…") > length:
        text = text[:-1]
    return text.rstrip() + "…"


def _chains(drawn: StoryMap) -> list[list[int]]:
    """Places in chains: each leads on to the next alone, which nothing else leads to."""
    after: defaultdict[int, set[int]] = defaultdict(set)
    before: defaultdict[int, set[int]] = defaultdict(set)
    for source, target in drawn.ways:
        if source != target:
            after[source].add(target)
            before[target].add(source)
    follows: dict[int, int] = {}
    for source, targets in after.items():
        target = next(iter(targets))
        plainly = (
            len(targets) == 1
            and len(before[target]) == 1
            and drawn.distance[target] > drawn.distance[source]
        )
        if plainly and drawn.reward[target] is None:
            follows[source] = target
    heads = [place for place in range(len(drawn.labels)) if place not in set(follows.values())]
    chains = []
    for head in heads:
        chain = [head]
        while chain[-1] in follows:
            chain.append(follows[chain[-1]])
        chains += [chain[at : at + MOST_IN_CHAIN] for at in range(0, len(chain), MOST_IN_CHAIN)]
    return chains


def _rows(drawn: StoryMap) -> dict[int, list[LinkRow]]:
    """The rows of each place: links of the same words are one."""
    found: defaultdict[int, defaultdict[str, dict[int, float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for way, often in drawn.ways.items():
        said = drawn.words.get(way) or {"": often}
        for words, amount in said.items():
            found[way[0]][plain(words)][way[1]] = amount
    for place, actions in drawn.untried.items():
        for words in actions:
            found[place].setdefault(plain(words), {})
    return {
        place: _merged([_row(w, t) for w, t in found[place].items()])
        for place in range(len(drawn.labels))
    }


def _row(words: str, often: dict[int, float]) -> LinkRow:
    targets = tuple(sorted(often, key=lambda target: (-often[target], target)))
    return LinkRow(words, targets, tuple(often[target] for target in targets))


def _merged(rows: list[LinkRow]) -> list[LinkRow]:
    """Rows, where there are too many of them: first those that lead to the same places as one, then the rest as one."""
    if len(rows) > MOST_ROWS:
        alike: defaultdict[tuple[int, ...], list[LinkRow]] = defaultdict(list)
        for row in rows:
            alike[tuple(sorted(row.targets))].append(row)
        rows = [_joined(group) for group in alike.values()]
    if len(rows) > MOST_ROWS:
        rest = rows[MOST_ROWS - 1 :]
        rows = [*rows[: MOST_ROWS - 1], _joined(rest, f"… {len(rest)} more links")]
    return rows


def _joined(rows: list[LinkRow], words: str = "") -> LinkRow:
    if len(rows) == 1:
        return rows[0]
    often: defaultdict[int, float] = defaultdict(float)
    for row in rows:
        for target, amount in zip(row.targets, row.often, strict=True):
            often[target] += amount
    return _row(words or f"{cut(rows[0].words, ROW_LETTERS - 8)} (+ {len(rows) - 1})", dict(often))


def with_origins(box: MapBox, origins: tuple[int, ...]) -> MapBox:
    """The box with the names of places that lead to it above its first title."""
    first = replace(box.pages[0], origins=origins)
    below = first.bottom - box.pages[0].bottom
    return replace(
        box, pages=(first, *(replace(page, top=page.top + below) for page in box.pages[1:]))
    )


def box_of_place(boxes: Iterable[MapBox]) -> dict[int, int]:
    """The number of the box of each place."""
    return {place: number for number, box in enumerate(boxes) for place in box.places}
