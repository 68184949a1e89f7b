"""Twine 1 stories told twice, by our own reading and by their engine: the same clicks, and every page compared.

    python benchmarks/twins.py STORY ... [--walks 20] [--clicks 40]

A page that chance makes is compared by its odds: both games list every outcome of a click with its chance, so what a
player may come to see, and how likely, must be the same in both.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import drrn
from drrn.errors import InputError
from drrn.stories.hosted.game import HostedGame
from drrn.stories.hosted.stage import UnlistedError
from drrn.stories.twine.renderer import Journey, Move
from drrn.stories.twine.story_game import StoryGame, StoryState

MOST_STATES = 500  # that may stand behind one page; past that a walk ends
MOST_WAYS = (
    1_000  # in which chance may make a step come out; past that both games draw the same lots
)
PageSeen = tuple[str, tuple[str, ...]]  # text and actions
Belief = dict[Hashable, float]  # states that a player may be in, with their chances


@dataclass
class Comparison:
    """What walks through both games came to."""

    pages: int = 0  # compared
    difference: str = ""  # the first
    unlisted: str = ""  # why some pages were compared without their odds
    seen: set[PageSeen] = field(default_factory=set)


def compare(
    native: Any, hosted: Any, *, walks: int = 20, clicks: int = 40, seed: int = 0
) -> Comparison:
    """Walk through both games side by side; both are opened without shuffling."""
    found, choose = Comparison(), random.Random(seed)
    way_of_comparing: Callable[[Any, Any, random.Random, Comparison, int], None] = _by_odds
    for _ in range(walks):
        try:
            way_of_comparing(native, hosted, choose, found, clicks)
        except TooManyError:
            found.unlisted = (
                f"a step comes out in over {MOST_WAYS:,} ways, so both drew the same lots"
            )
            way_of_comparing = _by_lots
        if found.difference:
            break
    return found


class TooManyError(Exception):
    """Chance makes too many pages of one step to compare them all."""


def _by_odds(
    native: Any, hosted: Any, choose: random.Random, found: Comparison, clicks: int
) -> None:
    _Walk(native, hosted, choose, found).go(clicks)


def _by_lots(
    native: Any, hosted: Any, choose: random.Random, found: Comparison, clicks: int
) -> None:
    """The same clicks and, since both draw them in the same order, the same lots."""
    theirs, before, move = (
        hosted.after(hosted.start, 0, choose.getrandbits(32)),
        Journey(),
        native.renderer.opening,
    )
    for click in range(clicks + 1):
        ours = told(native, before, move, theirs.moment.clicks[-1].draws)
        looks = [game.look(state) for game, state in ((native, ours), (hosted, theirs))]
        one, other = ((look.text, look.actions) for look in looks)
        found.pages += 1
        found.seen.add(other)
        found.difference = difference({one: {}}, {other: {}}, odds=False)
        if found.difference or not one[1] or click == clicks:
            return
        index = choose.randrange(len(one[1]))
        before, move = ours.journey, ours.scene.moves[index]
        theirs = hosted.after(theirs, index, choose.getrandbits(32))


def told(native: StoryGame, before: Journey, move: Move, lots: Sequence[int]) -> StoryState:
    """The state that a move leads to natively, by given lots."""
    journey, given = before.copy(), iter(lots)
    move = journey.follow(move, native.renderer)
    scene = native.renderer.render(move, journey.cells, lambda chances: next(given, 0))
    return StoryState(scene, journey.after(scene))


class _Walk:
    """The same clicks in both games, until they differ or the story ends."""

    def __init__(self, native: Any, hosted: Any, choose: random.Random, found: Comparison) -> None:
        self.native, self.hosted, self.choose, self.found = native, hosted, choose, found
        self.way: list[str] = []
        self.drawn = (
            False  # whether chance fell once where it has no list: then odds are compared no more
        )

    def go(self, clicks: int) -> None:
        ours, theirs = pages(self.native, self.native.opening()), self.first()
        while seen := self.seen(ours, theirs):
            beliefs = normal(ours[seen]), normal(theirs[seen])
            if not seen[1] or len(self.way) == clicks or max(map(len, beliefs)) > MOST_STATES:
                return
            index = self.choose.randrange(len(seen[1]))
            self.way.append(seen[1][index])
            ours, theirs = after(self.native, beliefs[0], index), self.next(beliefs[1], index)

    def first(self) -> dict[PageSeen, Belief]:
        return self.listed(
            lambda: pages(self.hosted, self.hosted.opening()),
            lambda: self.hosted.after(self.hosted.start, 0, self.key()),
        )

    def next(self, belief: Belief, index: int) -> dict[PageSeen, Belief]:
        def fallen() -> Hashable:
            (state,) = self.choose.choices(list(belief), list(belief.values()))
            return self.hosted.after(state, index, self.key())

        return self.listed(lambda: after(self.hosted, belief, index), fallen)

    def listed(
        self, every: Callable[[], dict[PageSeen, Belief]], fallen: Callable[[], Hashable]
    ) -> dict[PageSeen, Belief]:
        """Every outcome in the engine, or the one that fell where it draws otherwise than by lots."""
        if not self.drawn:
            try:
                return every()
            except UnlistedError as error:
                self.found.unlisted, self.drawn = str(error), True
        return pages(self.hosted, [(1.0, fallen())])

    def seen(self, ours: dict[PageSeen, Belief], theirs: dict[PageSeen, Belief]) -> PageSeen | None:
        """A page that both may show; None where they differ."""
        self.found.pages += 1
        if wrong := difference(ours, theirs, odds=not self.drawn):
            self.found.difference = f"after {' → '.join(self.way) or 'the opening'}: {wrong}"
            return None
        seen = self.choose.choice(sorted(theirs))
        self.found.seen.add(seen)
        return seen

    def key(self) -> int:
        return self.choose.getrandbits(32)


def after(game: Any, belief: Belief, index: int) -> dict[PageSeen, Belief]:
    """What an action leads to, from every state that the player may be in."""
    ways = (
        (before * chance, s)
        for state, before in belief.items()
        for chance, s in game.outcomes(state, index)
    )
    return pages(game, ways)


def pages(game: Any, outcomes: Iterable[tuple[float, Hashable]]) -> dict[PageSeen, Belief]:
    """Outcomes by the page that they show."""
    found: dict[PageSeen, Belief] = {}
    for way, (chance, state) in enumerate(outcomes):
        if way >= MOST_WAYS:
            raise TooManyError
        look = game.look(state)
        belief = found.setdefault((look.text, look.actions), {})
        belief[state] = belief.get(state, 0.0) + chance
    return found


def normal(belief: Belief) -> Belief:
    """The chances, given that one of these states it is."""
    total = math.fsum(belief.values())
    return {state: chance / total for state, chance in belief.items()}


def difference(
    native: dict[PageSeen, Belief], hosted: dict[PageSeen, Belief], *, odds: bool = True
) -> str:
    """What one game may show and the other may not, or not as likely; nothing where they agree."""
    if more := sorted(hosted.keys() - native.keys()):
        return _contrast(more[0], sorted(native))
    if odds and (more := sorted(native.keys() - hosted.keys())):
        return f"only natively {more[0]!r:.300}"
    for page, belief in hosted.items() if odds else ():
        ours, theirs = (math.fsum(one.values()) for one in (native[page], belief))
        if not math.isclose(ours, theirs, abs_tol=1e-9):
            return f"{page!r:.100} has the chance {ours:g} natively, {theirs:g} hosted"
    return ""


def _contrast(page: PageSeen, others: list[PageSeen]) -> str:
    """Where a page parts from the one that is most like it."""
    (text, actions), alike = (
        page,
        max(others, key=lambda other: (_common(other[0], page[0]), other[1] == page[1])),
    )
    if text == alike[0]:
        return f"actions {alike[1]!r} natively, {actions!r} hosted"
    start = max(0, _common(text, alike[0]) - 20)
    return f"text {alike[0][start : start + 80]!r} natively, {text[start : start + 80]!r} hosted"


def _common(one: str, other: str) -> int:
    """How many characters two texts begin alike with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def compare_files(path: str, **options: int) -> Comparison | str:
    """Both games of a story's file compared, or why one of them cannot be opened."""
    try:
        native, hosted = (
            drrn.make(path, engine=engine, shuffle=False) for engine in ("native", "hosted")
        )
    except InputError as error:
        return str(error).splitlines()[0]
    assert isinstance(hosted, HostedGame)
    try:
        return compare(native, hosted, **options)
    except InputError as error:
        return str(error).splitlines()[0]
    finally:
        hosted.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stories", nargs="+")
    parser.add_argument("--walks", type=int, default=20)
    parser.add_argument("--clicks", type=int, default=40)
    arguments = parser.parse_args()
    print("| story | pages compared | distinct | differed first |\n| --- | --- | --- | --- |")
    for path in arguments.stories:
        found = compare_files(path, walks=arguments.walks, clicks=arguments.clicks)
        if isinstance(found, str):
            print(f"| {path} | — | — | not both: {found} |", flush=True)
        else:
            what = found.difference or (
                f"nothing ({found.unlisted})" if found.unlisted else "nothing"
            )
            print(f"| {path} | {found.pages} | {len(found.seen)} | {what} |", flush=True)


if __name__ == "__main__":
    main()
