"""Compare our interpreter of Twine 1 with the stories' own engine, page by page for the same clicks.

    python benchmarks/twins.py STORY ... [--walks 20] [--clicks 40]

Random pages are compared by their probabilities: both games list every outcome of a click, and the pages that a player
may see must have the same probabilities in both.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import drrn
from storytest.hosted.game import HostedGame
from storytest.search import UnlistedError
from storytest.twine.renderer import Move, count_visit
from storytest.twine.story_game import StoryState, TwineGame
from storytest.twine.values import Value
from textgames.errors import InputError

MAX_STATES = 500  # behind one page; a walk ends there
MAX_OUTCOMES = 1_000  # of a step; with more, both games make the same random draws
Page = tuple[str, tuple[str, ...]]  # text and actions
Belief = dict[Hashable, float]  # states that a player may be in, with their probabilities


@dataclass
class Comparison:
    """The result of walks through both games."""

    pages: int = 0
    difference: str = ""  # the first one
    unlisted: str = ""  # why some pages were compared without their probabilities
    distinct: set[Page] = field(default_factory=set)


def compare(
    native: Any, hosted: Any, *, walks: int = 20, clicks: int = 40, seed: int = 0
) -> Comparison:
    """Walk through both games side by side; both are opened without shuffling."""
    result = Comparison()
    choose = random.Random(seed)
    walk: Callable[[Any, Any, random.Random, Comparison, int], None] = _walk_by_odds
    for _ in range(walks):
        try:
            walk(native, hosted, choose, result, clicks)
        except TooManyError:
            result.unlisted = f"a step has over {MAX_OUTCOMES:,} outcomes, so both made equal draws"
            walk = _walk_by_draws
        if result.difference:
            break
    return result


class TooManyError(Exception):
    """A step has too many outcomes to compare them all."""


def _walk_by_odds(
    native: Any, hosted: Any, choose: random.Random, result: Comparison, clicks: int
) -> None:
    _Walk(native, hosted, choose, result).go(clicks)


def _walk_by_draws(
    native: Any, hosted: Any, choose: random.Random, result: Comparison, clicks: int
) -> None:
    """Make the same clicks and the same random draws in both."""
    theirs = hosted.after(hosted.start, 0, choose.getrandbits(32))
    before: Mapping[str, Value] = {}
    move = native.renderer.opening
    for click in range(clicks + 1):
        ours = native_state(native, before, move, theirs.moment.clicks[-1].draws)
        looks = [game.look(state) for game, state in ((native, ours), (hosted, theirs))]
        one, other = ((look.text, look.actions) for look in looks)
        result.pages += 1
        result.distinct.add(other)
        result.difference = difference({one: {}}, {other: {}}, odds=False)
        if result.difference or not one[1] or click == clicks:
            return
        index = choose.randrange(len(one[1]))
        before = ours.cells
        move = ours.scene.moves[index]
        theirs = hosted.after(theirs, index, choose.getrandbits(32))


def native_state(
    native: TwineGame, before: Mapping[str, Value], move: Move, draws: Sequence[int]
) -> StoryState:
    """Return the state that a move leads to in our interpreter, with fixed random draws."""
    cells = dict(before)
    rest = iter(draws)
    count_visit(move, cells, native._tracked)
    scene = native.renderer.render(move, cells, lambda chances: next(rest, 0))
    return StoryState(scene, {**cells, **scene.writes})


class _Walk:
    """A walk with the same clicks in both games, until they differ or the story ends."""

    def __init__(self, native: Any, hosted: Any, choose: random.Random, result: Comparison) -> None:
        self.native = native
        self.hosted = hosted
        self.choose = choose
        self.result = result
        self.path: list[str] = []
        self.compares_odds = True  # until a draw has outcomes that cannot be listed

    def go(self, clicks: int) -> None:
        ours = pages(self.native, self.native.opening())
        theirs = self.first()
        while page := self.common_page(ours, theirs):
            _, actions = page
            our_belief = normal(ours[page])
            their_belief = normal(theirs[page])
            too_many = max(len(our_belief), len(their_belief)) > MAX_STATES
            if not actions or len(self.path) == clicks or too_many:
                return
            index = self.choose.randrange(len(actions))
            self.path.append(actions[index])
            ours = after(self.native, our_belief, index)
            theirs = self.next(their_belief, index)

    def first(self) -> dict[Page, Belief]:
        return self.outcomes(
            lambda: pages(self.hosted, self.hosted.opening()),
            lambda: self.hosted.after(self.hosted.start, 0, self.key()),
        )

    def next(self, belief: Belief, index: int) -> dict[Page, Belief]:
        def draw() -> Any:
            (state,) = self.choose.choices(list(belief), list(belief.values()))
            return self.hosted.after(state, index, self.key())

        return self.outcomes(lambda: after(self.hosted, belief, index), draw)

    def outcomes(
        self, every: Callable[[], dict[Page, Belief]], draw: Callable[[], Hashable]
    ) -> dict[Page, Belief]:
        """Return every outcome in the engine, or one draw if they cannot be listed."""
        if self.compares_odds:
            try:
                return every()
            except UnlistedError as error:
                self.result.unlisted = str(error)
                self.compares_odds = False
        return pages(self.hosted, [(1.0, draw())])

    def common_page(self, ours: dict[Page, Belief], theirs: dict[Page, Belief]) -> Page | None:
        """Return a page that both may show; None if they differ."""
        self.result.pages += 1
        if wrong := difference(ours, theirs, odds=self.compares_odds):
            self.result.difference = f"after {' → '.join(self.path) or 'the opening'}: {wrong}"
            return None
        page = self.choose.choice(sorted(theirs))
        self.result.distinct.add(page)
        return page

    def key(self) -> int:
        return self.choose.getrandbits(32)


def after(game: Any, belief: Belief, index: int) -> dict[Page, Belief]:
    """Return the pages that an action leads to, from every state that the player may be in."""
    outcomes = (
        (before * chance, s)
        for state, before in belief.items()
        for chance, s in game.outcomes(state, index)
    )
    return pages(game, outcomes)


def pages(game: Any, outcomes: Iterable[tuple[float, Hashable]]) -> dict[Page, Belief]:
    """Group outcomes by the page that they show."""
    result: dict[Page, Belief] = {}
    for count, (chance, state) in enumerate(outcomes):
        if count >= MAX_OUTCOMES:
            raise TooManyError
        look = game.look(state)
        belief = result.setdefault((look.text, look.actions), {})
        belief[state] = belief.get(state, 0.0) + chance
    return result


def normal(belief: Belief) -> Belief:
    """Normalise the probabilities of some states."""
    total = math.fsum(belief.values())
    return {state: chance / total for state, chance in belief.items()}


def difference(native: dict[Page, Belief], hosted: dict[Page, Belief], *, odds: bool = True) -> str:
    """Describe the first page that only one game may show, or that differs in probability; "" if none."""
    if more := sorted(hosted.keys() - native.keys()):
        return _contrast(more[0], sorted(native))
    if odds and (more := sorted(native.keys() - hosted.keys())):
        return f"only natively {more[0]!r:.300}"
    for page, belief in hosted.items() if odds else ():
        ours, theirs = (math.fsum(one.values()) for one in (native[page], belief))
        if not math.isclose(ours, theirs, abs_tol=1e-9):
            return f"{page!r:.100} has the chance {ours:g} natively, {theirs:g} hosted"
    return ""


def _contrast(page: Page, others: list[Page]) -> str:
    """Describe the difference between a page and the most similar one."""
    text, actions = page
    alike = max(others, key=lambda other: (_common(other[0], text), other[1] == actions))
    if text == alike[0]:
        return f"actions {alike[1]!r} natively, {actions!r} hosted"
    start = max(0, _common(text, alike[0]) - 20)
    return f"text {alike[0][start : start + 80]!r} natively, {text[start : start + 80]!r} hosted"


def _common(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def compare_files(path: str, **options: int) -> Comparison | str:
    """Compare both games of a file, or return why one of them cannot be opened."""
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
        result = compare_files(path, walks=arguments.walks, clicks=arguments.clicks)
        if isinstance(result, str):
            print(f"| {path} | — | — | not both: {result} |", flush=True)
        else:
            nothing = f"nothing ({result.unlisted})" if result.unlisted else "nothing"
            what = result.difference or nothing
            print(f"| {path} | {result.pages} | {len(result.distinct)} | {what} |", flush=True)


if __name__ == "__main__":
    main()
