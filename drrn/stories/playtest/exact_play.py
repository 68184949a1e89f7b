"""Exact answers of a play-test, from a compiled game: odds, the best play, ways with their luck, traps, lengths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from drrn.compiled.chain import Chain, uniform
from drrn.compiled.game import Compiled
from drrn.compiled.graph import EndingId, Flags
from drrn.compiled.solve import best, one_slot, policy_score, random_play
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.deciding import with_deciding_chances
from drrn.stories.playtest.sightings import EndingKey
from drrn.text import ranges


@dataclass(frozen=True)
class ExactPlay:
    """What random and best play of a compiled game come to."""

    random_final_reward: float
    random_steps: float | None  # None: random play may go on for ever
    random_odds: dict[EndingKey, float]
    best_final_reward: float
    best_odds: dict[EndingKey, float]
    trapped: float  # how likely random play comes to where no ending can be reached
    traps: dict[
        str, ClickPath
    ]  # passages (or first words) of such states, with a shortest way to each


def exact_play(compiled: Compiled, *, has_passages: bool) -> ExactPlay:
    """Solve a compiled game."""
    chance = random_play(compiled)
    knowing = best(compiled)
    play = policy_score(compiled, one_slot(compiled, knowing.slot))
    keys = [place_key(place, has_passages) for place in compiled.endings]
    return ExactPlay(
        random_final_reward=chance.final_reward,
        random_steps=float(chance.steps) if np.isfinite(chance.steps) else None,
        random_odds=_summed(keys, chance.endings.tolist()),
        best_final_reward=knowing.score,
        best_odds=_summed(keys, play.endings.tolist()),
        trapped=chance.trapped,
        traps=_traps(compiled),
    )


def place_key(place: EndingId, has_passages: bool) -> EndingKey:
    """The key of a compiled game's ending."""
    return EndingKey(place.passage, place.rule, "" if has_passages else place.text)


def _summed(keys: list[EndingKey], odds: list[float]) -> dict[EndingKey, float]:
    total: defaultdict[EndingKey, float] = defaultdict(float)
    for key, share in zip(keys, odds, strict=True):
        total[key] += share
    return dict(total)


def _traps(compiled: Compiled) -> dict[str, ClickPath]:
    lost = ~Chain(compiled, uniform(compiled)).leads_to(compiled.ended)
    if not lost.any():
        return {}
    found: dict[str, ClickPath] = {}
    steps = _first_steps(compiled)
    for state in steps:  # nearest first
        if lost[state]:
            place = compiled.label(state)
            if place not in found:
                found[place] = _way(compiled, steps, state)
    return found


def ways_to_endings(compiled: Compiled, *, has_passages: bool) -> dict[EndingKey, ClickPath]:
    """A shortest way to each ending, with the chance of each of its steps."""
    steps = _first_steps(compiled)
    found = dict[EndingKey, ClickPath]()
    for state in steps:
        if (number := int(compiled.ending_at[state])) >= 0:
            key = place_key(compiled.endings[number], has_passages)
            if key not in found:
                found[key] = _way(compiled, steps, state)
    return {key: with_deciding_chances(compiled, path) for key, path in found.items()}


def states_of_endings(
    compiled: Compiled, keys: Collection[EndingKey], *, has_passages: bool
) -> Flags:
    """Which states are such endings."""
    wanted = np.array(
        [place_key(place, has_passages) in keys for place in compiled.endings] + [False]
    )
    return wanted[compiled.ending_at]  # -1, where the story goes on, is the last


def ways_to_passages(compiled: Compiled) -> dict[str, ClickPath]:
    """A shortest way to each passage that a page stands for."""
    steps = _first_steps(compiled)
    found = dict[str, ClickPath]()
    for state in steps:
        if (name := compiled.passages[compiled.passage[state]]) not in found:
            found[name] = _way(compiled, steps, state)
    return found


def way_to_any(compiled: Compiled, states: Collection[int]) -> ClickPath | None:
    """A shortest way to the nearest of some states; None where none of them can be reached."""
    steps = _first_steps(compiled)
    nearest = next((state for state in steps if state in states), None)
    return (
        None if nearest is None else with_deciding_chances(compiled, _way(compiled, steps, nearest))
    )


def links_taken(compiled: Compiled) -> set[tuple[str, str]]:
    """The passages of every two pages that follow each other."""
    counts = np.diff(compiled.row_first)[compiled.row]
    outcomes = ranges(compiled.row_first[compiled.row], counts)
    left = np.repeat(compiled.passage[compiled.slot_state], counts)
    pairs = np.unique(
        np.column_stack([left, compiled.passage[compiled.successor[outcomes]]]), axis=0
    )
    return {(compiled.passages[one], compiled.passages[other]) for one, other in pairs}


def _first_steps(compiled: Compiled) -> dict[int, tuple[int, float] | None]:
    """Every state, nearest to the start first, with the slot and the chance by which it was first reached."""
    found: dict[int, tuple[int, float] | None] = {
        int(state): None for state in np.flatnonzero(compiled.start)
    }
    queue = list(found)
    for state in queue:
        for slot in range(int(compiled.first[state]), int(compiled.first[state + 1])):
            outcomes = compiled.outcomes(slot)
            for successor, chance in zip(
                compiled.successor[outcomes], compiled.probability[outcomes], strict=True
            ):
                if int(successor) not in found:
                    found[int(successor)] = (slot, float(chance))
                    queue.append(int(successor))
    return found


def _way(compiled: Compiled, steps: dict[int, tuple[int, float] | None], state: int) -> ClickPath:
    text = compiled.texts[compiled.text[state]]
    actions = []
    chances = []
    while (step := steps[state]) is not None:
        slot, chance = step
        actions.append(compiled.actions[compiled.action[slot]])
        chances.append(chance)
        state = int(compiled.slot_state[slot])
    return ClickPath(tuple(actions[::-1]), (), None, tuple(chances[::-1]), text)


def longer_than(compiled: Compiled, steps: int) -> ClickPath | None:
    """The clicks of a game that goes on after so many steps; None where every game has ended by then."""
    reached = [np.flatnonzero((compiled.start > 0) & ~compiled.ended)]
    for _ in range(steps):
        flags = np.zeros(len(compiled), bool)
        for state in reached[-1]:
            rows = compiled.row[compiled.first[state] : compiled.first[state + 1]]
            for row in np.unique(rows):
                flags[compiled.successor[compiled.row_first[row] : compiled.row_first[row + 1]]] = (
                    True
                )
        reached.append(np.flatnonzero(flags & ~compiled.ended))
        if not len(reached[-1]):
            return None
    return _back_through(compiled, reached)


def _back_through(
    compiled: Compiled, reached: list[np.ndarray[tuple[int], np.dtype[np.intp]]]
) -> ClickPath:
    """A way through the layers of states, from the first to a state of the last."""
    state = int(reached[-1][0])
    text = compiled.texts[compiled.text[state]]
    actions = list[str]()
    chances = list[float]()
    for layer in reached[-2::-1]:
        before, slot, chance = next(
            (int(one), slot, float(compiled.probability[outcome]))
            for one in layer
            for slot in range(int(compiled.first[one]), int(compiled.first[one + 1]))
            for outcome in range(*compiled.outcomes(slot).indices(len(compiled.successor)))
            if compiled.successor[outcome] == state
        )
        actions.append(compiled.actions[compiled.action[slot]])
        chances.append(chance)
        state = before
    return ClickPath(tuple(actions[::-1]), (), None, tuple(chances[::-1]), text)
