"""The play-test of a compiled game: how likely its endings are, the best play, the shortest ways, the traps."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from drrn.compiled.chain import Chain, uniform
from drrn.compiled.game import Compiled
from drrn.compiled.graph import Ints
from drrn.compiled.memoryless import best_memoryless
from drrn.compiled.solve import best, one_slot, policy_score, random_play
from drrn.errors import InputError


@dataclass(frozen=True)
class WalkthroughStep:
    """A page, and the action taken on it; `chance` is how likely the action led to the next page."""

    state: int
    passage: str
    text: str
    action: str | None  # None: the episode has ended here
    chance: float


@dataclass(frozen=True)
class EndingOdds:
    """How likely an ending is, and a shortest way to it."""

    random: float  # how likely random play ends here
    best: float  # how likely the best play does
    shortest: list[str]  # the actions of a shortest way, luck permitting


@dataclass(frozen=True)
class PlayTest:
    """Exact expected scores of the best, memoryless and random policies, without a step limit; None: it is infinite."""

    states: int  # merged
    live_states: int  # of (page, variables that may yet matter)
    raw_states: int  # of (page, all variables)
    raw_complete: bool
    best_final_reward: float
    best_return: float | None
    best_steps: float | None
    memoryless_final_reward: (
        float  # of the best policy found that sees pages only; the best of all is an upper bound
    )
    memoryless_return: float | None
    random_final_reward: float
    random_return: float | None
    random_steps: float | None  # the expected length
    random_trapped: float  # how likely random play comes to where no ending can be reached
    traps: list[
        str
    ]  # passages (or first words of pages) with states from which no ending can be reached
    trap_states: int
    endings: list[EndingOdds]  # as the compiled game numbers them


def play_test(compiled: Compiled) -> PlayTest:
    """The play-test of a game, which is solved exactly."""
    chance = random_play(compiled)
    knowing = best(compiled)
    play = policy_score(compiled, one_slot(compiled, knowing.slot))
    lost = np.flatnonzero(~Chain(compiled, uniform(compiled)).leads_to(compiled.ended))
    ways = shortest_ways(compiled)
    return PlayTest(
        states=len(compiled),
        live_states=compiled.live_states,
        raw_states=compiled.raw_states,
        raw_complete=compiled.raw_complete,
        best_final_reward=knowing.score,
        best_return=_best_return(compiled),
        best_steps=finite(play.steps),
        memoryless_final_reward=best_memoryless(compiled).score,
        memoryless_return=_best_return(compiled, memoryless=True),
        random_final_reward=chance.final_reward,
        random_return=finite(chance.total),
        random_steps=finite(chance.steps),
        random_trapped=chance.trapped,
        traps=sorted({compiled.label(int(state)) for state in lost}),
        trap_states=len(lost),
        endings=[
            EndingOdds(float(chance.endings[number]), float(play.endings[number]), ways[number])
            for number in range(len(compiled.endings))
        ],
    )


def shortest_ways(compiled: Compiled) -> list[list[str]]:
    """For each ending, the actions of a way that takes the fewest steps, if chance is kind."""
    came_by = _came_by(compiled)
    ways: dict[int, list[str]] = {}
    for state, slot in came_by.items():  # nearest first
        ending = int(compiled.ending_at[state])
        if ending < 0 or ending in ways:
            continue
        way = []
        while slot is not None:
            way.append(compiled.actions[compiled.action[slot]])
            slot = came_by[int(compiled.slot_state[slot])]
        ways[ending] = way[::-1]
    return [ways[number] for number in range(len(compiled.endings))]


def _came_by(compiled: Compiled) -> dict[int, int | None]:
    """Every state in the order of its distance from the start, and the slot by which it was first reached."""
    came_by: dict[int, int | None] = {int(state): None for state in np.flatnonzero(compiled.start)}
    queue = list(came_by)
    for state in queue:
        for slot in range(compiled.first[state], compiled.first[state + 1]):
            for successor in compiled.successor[compiled.outcomes(slot)]:
                if int(successor) not in came_by:
                    came_by[int(successor)] = slot
                    queue.append(int(successor))
    return came_by


def walkthrough(compiled: Compiled) -> list[WalkthroughStep]:
    """The best play, page by page, as it most likely goes; it stops short where the best is to go on for ever."""
    slots = best(compiled).slot
    came_from = _likeliest(compiled, slots)
    ends = [state for state in came_from if compiled.ended[state]]
    state = ends[0] if ends else next(reversed(came_from))
    steps = [_step(compiled, state, slots, 1.0)]
    while (before := came_from[state]) is not None:
        state, chance = before
        steps.append(_step(compiled, state, slots, chance))
    return steps[::-1]


def _likeliest(compiled: Compiled, slots: Ints) -> dict[int, tuple[int, float] | None]:
    """Every state the play can come to, likeliest first, with the state before it and the chance of that step."""
    found: dict[int, tuple[int, float] | None] = {}
    ahead: list[tuple[float, int, tuple[int, float] | None]] = [
        (-math.log(compiled.start[state]), int(state), None)
        for state in np.flatnonzero(compiled.start)
    ]
    while ahead:
        cost, state, before = heapq.heappop(ahead)
        if state in found:
            continue
        found[state] = before
        if compiled.ended[state]:
            continue
        outcomes = compiled.outcomes(int(slots[state]))
        for successor, chance in zip(
            compiled.successor[outcomes], compiled.probability[outcomes], strict=True
        ):
            if int(successor) not in found:
                heapq.heappush(
                    ahead, (cost - math.log(chance), int(successor), (state, float(chance)))
                )
    return found


def _step(compiled: Compiled, state: int, slots: Ints, chance: float) -> WalkthroughStep:
    action = None if compiled.ended[state] else compiled.actions[compiled.action[slots[state]]]
    return WalkthroughStep(
        state, compiled.label(state), compiled.texts[compiled.text[state]], action, chance
    )


def _best_return(compiled: Compiled, memoryless: bool = False) -> float | None:
    try:
        solved = best_memoryless(compiled, 1.0) if memoryless else best(compiled, 1.0)
    except InputError:  # a loop that pays
        return None
    return finite(solved.score)


def finite(number: float) -> float | None:
    """The number; None where it is infinite."""
    return number if math.isfinite(number) else None
