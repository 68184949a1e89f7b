"""The map of a story as data: its places, and the ways between them; from a compiled game, or from what was seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from drrn.compiled.chain import Chain, uniform
from drrn.compiled.game import Compiled
from drrn.compiled.graph import first_words
from drrn.errors import InputError, require
from drrn.game.optional import THE_END
from drrn.stories.playtest.evidence import Evidence, PageRecord
from drrn.text import ranges

Way = tuple[int, int]


@dataclass(frozen=True)
class StoryMap:
    """Places (a passage, or a page where there are no passages; or an ending), and the ways between them under random
    play. Lists have an entry for each place."""

    name: str
    labels: list[str]
    reward: list[float | None]  # of endings; None: the story goes on there
    trap: list[bool]  # no ending can be reached from some state of it
    visits: list[float]  # expected in a random game
    distance: list[int]  # steps from the start
    ways: dict[Way, float]  # how often each is expected to be gone
    noun: str = "passage"  # what a place is
    texts: list[str] = field(default_factory=list)  # a text of each place
    words: dict[Way, dict[str, float]] = field(
        default_factory=dict
    )  # the actions of each way, and how often each
    untried: dict[int, list[str]] = field(default_factory=dict)  # actions that nobody took, so far
    seen_only: bool = False  # drawn from what a play-test saw, which need not be all


def story_map(compiled: Compiled) -> StoryMap:
    """States gathered by their passage, or by their text in games that have no passages; endings apart."""
    named = np.array([passage != "" for passage in compiled.passages])[compiled.passage]
    gathered = np.where(named, compiled.passage, len(compiled.passages) + compiled.text)
    keys = [
        (int(p), int(e))
        for p, e in zip(np.where(compiled.ended, -1, gathered), compiled.ending_at, strict=True)
    ]
    number: dict[tuple[int, int], int] = {}
    place = np.array([number.setdefault(key, len(number)) for key in keys])
    chain = Chain(compiled, uniform(compiled))
    visits = chain.visits()
    lost = ~chain.leads_to(compiled.ended)
    flow = visits[chain.origin] * chain.chance
    pairs, at = np.unique(
        place[chain.origin] * len(number) + place[chain.successor], return_inverse=True
    )
    amount = np.bincount(at, flow)
    steps = _distance(compiled, chain)
    order = np.argsort(place, kind="stable")
    of_place = np.split(order, np.cumsum(np.bincount(place))[:-1])
    return StoryMap(
        name=compiled.title,
        labels=[_label(compiled, int(states[0])) for states in of_place],
        reward=[
            float(compiled.reward[states[0]]) if compiled.ended[states[0]] else None
            for states in of_place
        ],
        trap=[bool(compiled.ended.any() and lost[states].any()) for states in of_place],
        visits=[float(visits[states].sum()) for states in of_place],
        distance=[int(steps[states].min()) for states in of_place],
        ways={
            divmod(int(pair), len(number)): float(a) for pair, a in zip(pairs, amount, strict=True)
        },
        noun="passage" if named.any() else "page",
        texts=[compiled.texts[compiled.text[states[0]]] for states in of_place],
        words=_words(compiled, place, visits, len(number)),
    )


def _words(compiled: Compiled, place: Any, visits: Any, places: int) -> dict[Way, dict[str, float]]:
    """The actions that lead from place to place, and how often random play takes each."""
    counts = np.diff(compiled.row_first)[compiled.row]
    outcomes = ranges(compiled.row_first[compiled.row], counts)
    slot = np.repeat(np.arange(len(compiled.row)), counts)
    state = compiled.slot_state[slot]
    flow = visits[state] / compiled.count[state] * compiled.probability[outcomes]
    pairs = place[state] * places + place[compiled.successor[outcomes]]
    keys, at = np.unique(pairs * len(compiled.actions) + compiled.action[slot], return_inverse=True)
    found: defaultdict[Way, dict[str, float]] = defaultdict(dict)
    for key, amount in zip(keys, np.bincount(at, flow), strict=True):
        pair, action = divmod(int(key), len(compiled.actions))
        found[divmod(pair, places)][compiled.actions[action]] = float(amount)
    return dict(found)


def _label(compiled: Compiled, state: int) -> str:
    """The passage or the ending's name; where a game has no such names, the first words of the text."""
    if not compiled.ended[state]:
        return compiled.place_of(state)
    ending = compiled.endings[compiled.ending_at[state]]
    return first_words(ending.text) if ending.passage == THE_END and ending.text else ending.passage


def _distance(compiled: Compiled, chain: Chain) -> Any:
    steps = np.where(compiled.start > 0, 0, -1)
    for number in range(1, len(compiled) + 1):
        reached = chain.successor[steps[chain.origin] == number - 1]
        reached = reached[steps[reached] < 0]
        if not reached.size:
            break
        steps[reached] = number
    return steps


def seen_map(title: str, sightings: Evidence, games: int, traps: Collection[str] = ()) -> StoryMap:
    """The map of what a play-test saw; how often a way is gone is the mean of so many random games."""
    number: dict[Hashable, int] = {}
    first: list[PageRecord] = []  # the first page seen of each place
    at: dict[Hashable, int] = {}  # the place of each page
    for key, page in sightings.pages.items():
        gathered = page.ending or page.passage or page.path.comes_to
        at[key] = number.setdefault(gathered, len(number))
        if at[key] == len(first):
            first.append(page)
    words: defaultdict[Way, dict[str, float]] = defaultdict(dict)
    for key, page in sightings.pages.items():
        for index, successors in page.successors.items():
            for after in successors:
                said = words[at[key], at[after]]
                often = sightings.steps[key, index, after] / max(games, 1)
                said[page.actions[index]] = said.get(page.actions[index], 0.0) + often
    visits = [0.0] * len(first)
    visits[:1] = [1.0]
    for (_, target), said in words.items():
        visits[target] += sum(said.values())
    return StoryMap(
        name=title,
        labels=[_seen_label(page) for page in first],
        reward=[None if page.ending is None else _pays(sightings, page) for page in first],
        trap=[
            bool(sightings.endings) and page.ending is None and _seen_label(page) in traps
            for page in first
        ],
        visits=visits,
        distance=_steps(words, len(first)),
        ways={way: sum(said.values()) for way, said in words.items()},
        noun="passage" if any(page.passage for page in first) else "page",
        texts=[page.path.comes_to for page in first],
        words=dict(words),
        untried=_untried(sightings, at),
        seen_only=not sightings.complete,
    )


def _untried(sightings: Evidence, at: dict[Hashable, int]) -> dict[int, list[str]]:
    """The actions of each place that were offered and not taken on any of its pages."""
    taken: set[tuple[int, str]] = set()
    offered: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for key, page in sightings.pages.items():
        for index, action in enumerate(page.actions):
            offered[at[key]][action] = None
            if index in page.successors:
                taken.add((at[key], action))
    left = {
        place: [said for said in words if (place, said) not in taken]
        for place, words in offered.items()
    }
    return {place: words for place, words in left.items() if words}


def _steps(ways: Collection[Way], places: int) -> list[int]:
    """How many steps each place is from the first."""
    after: defaultdict[int, list[int]] = defaultdict(list)
    for source, target in ways:
        after[source].append(target)
    steps = {0: 0}
    queue = [0]
    for place in queue:
        for target in after[place]:
            if target not in steps:
                steps[target] = steps[place] + 1
                queue.append(target)
    return [steps.get(place, 0) for place in range(places)]


def _seen_label(page: PageRecord) -> str:
    if page.ending is None:
        return page.passage or first_words(page.path.comes_to)
    return (
        first_words(page.ending.text)
        if page.ending.passage == THE_END and page.ending.text
        else page.ending.passage
    )


def _pays(sightings: Evidence, page: PageRecord) -> float:
    seen = sightings.endings.get(page.ending) if page.ending else None
    return seen.reward if seen else 0.0


def draw(drawn: StoryMap, stem: Path) -> list[Path]:
    """Write the map as `stem.svg` and `stem.png`."""
    require("matplotlib", "plot")
    return [write_map(drawn, stem.with_name(stem.name + suffix)) for suffix in (".svg", ".png")]


def free_map_file(file: Path) -> Path:
    """The file, if a map can be written there; what is there already is left as it is."""
    if file.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"{file}: a map is written as .svg or .png: name such a file")
    if file.suffix.lower() == ".png":
        require("matplotlib", "plot")
    if file.exists():
        raise InputError(f"{file}: it exists and is left as it is: name another file for the map")
    if not file.parent.is_dir():
        raise InputError(f"{file}: there is no folder {file.parent}: make it first")
    return file


def write_map(drawn: StoryMap, file: Path) -> Path:
    """Write the map as the file's name asks: .svg, or .png for print."""
    from drrn.stories.map.png import write_map_png
    from drrn.stories.map.svg import story_map_svg

    try:
        if file.suffix.lower() == ".png":
            write_map_png(drawn, file)
        else:
            file.write_text(story_map_svg(drawn), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from error
    return file
