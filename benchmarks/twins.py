"""Twine 1 stories told twice, by our own reading and by their engine: the same clicks, and every page compared.

    python benchmarks/twins.py STORY ... [--walks 20] [--clicks 40]

A page that chance makes is compared by its odds: both games list every outcome of a click with its chance, so what a
player may come to see, and how likely, must be the same in both.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import drrn
from drrn.errors import InputError
from drrn.games.hosted.hosted_game import HostedGame
from drrn.games.hosted.stage import UnlistedError

MOST_STATES = 500  # that may stand behind one page; past that a walk ends
PageSeen = tuple[str, tuple[str, ...]]  # text and actions
Belief = dict[Hashable, float]  # states that a player may be in, with their chances


@dataclass
class Comparison:
    """What walks through both games came to."""

    pages: int = 0  # compared, each with its odds
    clicks: int = 0
    difference: str = ""  # the first
    unlisted: str = ""  # why a walk went no further
    seen: set[PageSeen] = field(default_factory=set)


def compare(native: Any, hosted: Any, *, walks: int = 20, clicks: int = 40, seed: int = 0) -> Comparison:
    """Walk through both games side by side; both are opened without shuffling."""
    found, choose = Comparison(), random.Random(seed)
    for _ in range(walks):
        try:
            _walk(native, hosted, choose, clicks, found)
        except UnlistedError as error:
            found.unlisted = str(error)
        if found.difference:
            break
    return found


def _walk(native: Any, hosted: Any, choose: random.Random, clicks: int, found: Comparison) -> None:
    both = [pages(game, game.opening()) for game in (native, hosted)]
    way: list[str] = []
    while True:
        found.pages += 1
        found.difference = difference(*both)
        if found.difference:
            found.difference = f"after {' → '.join(way) or 'the opening'}: {found.difference}"
            return
        seen = choose.choice(sorted(both[0]))
        found.seen.add(seen)
        beliefs = [normal(told[seen]) for told in both]
        if not seen[1] or len(way) == clicks or max(map(len, beliefs)) > MOST_STATES:
            return
        index = choose.randrange(len(seen[1]))
        way.append(seen[1][index])
        found.clicks += 1
        both = [after(game, belief, index) for game, belief in zip((native, hosted), beliefs, strict=True)]


def after(game: Any, belief: Belief, index: int) -> dict[PageSeen, Belief]:
    """What an action leads to, from every state that the player may be in."""
    ways = ((before * chance, s) for state, before in belief.items() for chance, s in game.outcomes(state, index))
    return pages(game, ways)


def pages(game: Any, outcomes: Iterable[tuple[float, Hashable]]) -> dict[PageSeen, Belief]:
    """Outcomes by the page that they show."""
    found: dict[PageSeen, Belief] = {}
    for chance, state in outcomes:
        look = game.look(state)
        belief = found.setdefault((look.text, look.actions), {})
        belief[state] = belief.get(state, 0.0) + chance
    return found


def normal(belief: Belief) -> Belief:
    """The chances, given that one of these states it is."""
    total = math.fsum(belief.values())
    return {state: chance / total for state, chance in belief.items()}


def difference(native: dict[PageSeen, Belief], hosted: dict[PageSeen, Belief]) -> str:
    """What one game may show and the other may not, or not as likely; nothing where they agree."""
    for page in native.keys() | hosted.keys():
        ours, theirs = (math.fsum(told.get(page, {}).values()) for told in (native, hosted))
        if ours and theirs and not math.isclose(ours, theirs, abs_tol=1e-9):
            return f"{page!r:.100} has the chance {ours:g} natively, {theirs:g} hosted"
    only = [sorted(one.keys() - other.keys()) for one, other in ((native, hosted), (hosted, native))]
    return f"native only {only[0][:1]!r}, hosted only {only[1][:1]!r}" if any(only) else ""


def compare_files(path: str, **options: int) -> Comparison | str:
    """Both games of a story's file compared, or why one of them cannot be opened."""
    try:
        native, hosted = (drrn.make(path, engine=engine, shuffle=False) for engine in ("native", "hosted"))
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
            what = found.difference or (f"a walk ended: {found.unlisted}" if found.unlisted else "")
            print(f"| {path} | {found.pages} | {len(found.seen)} | {what} |", flush=True)


if __name__ == "__main__":
    main()
