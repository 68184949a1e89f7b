"""Any game, stepped: all replicas' episodes go on together, so that one forward pass serves them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drrn.game.contract import Game
from drrn.game.episodes import Episode
from drrn.game.optional import step_limit_of
from drrn.learning.equations import draw_actions
from drrn.learning.experience import Steps
from drrn.models import Model, Pages
from drrn.models.base import NARROW
from drrn.models.encodings import EncodingCache
from drrn.playing.lanes import Lanes, LocalLanes, Seen
from drrn.playing.policies import QPolicy, chances
from drrn.playing.trajectory import Trajectory, pages_of, steps_of
from drrn.text import Store

Choice = tuple[int, float]  # the place of an action, and how probable it was

MOST_SCRATCH = (
    50_000  # texts that an evaluation keeps before it lets go of those that are no longer shown
)


@dataclass(frozen=True)
class SteppedRollout:
    """Episodes that one replica played."""

    trajectories: list[Trajectory]

    @property
    def episodes(self) -> list[Episode]:
        return [trajectory.episode for trajectory in self.trajectories]

    def steps(self) -> Steps:
        return steps_of(self.trajectories)


@dataclass
class Seat:
    """An episode under way: whose it is, which lane plays it, and what it shows."""

    replica: int
    lane: int
    trajectory: Trajectory
    seen: Seen


class SteppedRollouts:
    """Plays a game with a model. A replica meets the words it reads while it plays to learn."""

    def __init__(self, game: Game, model: Model, lanes: Lanes | None = None) -> None:
        self.model = model
        self.lanes = lanes or LocalLanes(game)
        self.limit = step_limit_of(game)
        self._met: list[tuple[set[int], set[int]]] = []
        self._generation = (0, 0)
        self._wide: dict[tuple[int, ...], list[int]] = {}  # wide menus that were shown

    def play(
        self,
        episodes: int,
        policy: QPolicy,
        generators: Sequence[np.random.Generator],
        *,
        learn: bool,
    ) -> list[SteppedRollout]:
        """For each replica, `episodes` finished or stopped ones; its generator alone makes them."""
        waiting = [
            (r, int(s))
            for r, by in enumerate(generators)
            for s in by.integers(2**62, size=episodes)
        ][::-1]
        rollouts = [SteppedRollout([]) for _ in generators]
        self._wide.clear()
        free = list(range(min(self.lanes.most, len(waiting))))[::-1]
        seats: list[Seat] = []
        store = self.model.store if learn else self.model.store.scratch()
        kept = self._kept()
        while waiting or seats:
            begun = self.begin(
                [(*waiting.pop(), free.pop()) for _ in range(min(len(free), len(waiting)))], store
            )
            for seat in begun:
                rollouts[seat.replica].trajectories.append(seat.trajectory)
            seats = _those_on([*seats, *begun], free)  # a first page may end the story
            if seats:
                self.step(seats, self.choices(seats, policy, generators, store, kept), store)
                seats = _those_on(seats, free)
            if (
                store is not self.model.store
                and max(len(store.states), len(store.actions)) > MOST_SCRATCH
            ):
                store = self._fresh(seats)
                kept = self._kept()
        return rollouts

    def begin(self, wanted: Sequence[tuple[int, int, int]], store: Store) -> list[Seat]:
        """New episodes, at their first pages: of a replica, by a seed, in a lane."""
        seen = (
            self.lanes.begin([lane for _, _, lane in wanted], [seed for _, seed, _ in wanted])
            if wanted
            else []
        )
        seats = [
            Seat(r, lane, Trajectory(), page)
            for (r, _, lane), page in zip(wanted, seen, strict=True)
        ]
        for seat in seats:
            seat.trajectory.show(seat.seen.observation.text)
            self._see(seat, store)
        return seats

    def choices(
        self,
        seats: Sequence[Seat],
        policy: QPolicy,
        generators: Sequence[np.random.Generator],
        store: Store,
        kept: EncodingCache | None = None,
    ) -> list[Choice]:
        """A choice for each seat, in the order of the seats, which are sorted by replica; by encodings that are kept,
        where the weights stay as they are."""
        rows = [
            [seat.trajectory for seat in seats if seat.replica == r] for r in range(len(generators))
        ]
        pages = pages_of([[trajectory.page for trajectory in row] for row in rows])
        q = (kept or self.model).q(pages, store).cpu().numpy()
        found: list[Choice] = []
        for r, row in enumerate(rows):
            uniform = generators[r].random(len(row))
            if row:
                shown = Pages(pages.states[r, : len(row)], pages.actions[r, : len(row)])
                seen = np.array([trajectory.again for trajectory in row])
                shares = chances(policy, r, q[r, : len(row)], shown, seen)
                places = draw_actions(shares, uniform)
                found += zip(
                    places.tolist(), shares[np.arange(len(row)), places].tolist(), strict=True
                )
        return found

    def step(self, seats: Sequence[Seat], choices: Sequence[Choice], store: Store) -> None:
        """Take an action in every seat."""
        seen = self.lanes.step([seat.lane for seat in seats], [place for place, _ in choices])
        for seat, (place, probability), page in zip(seats, choices, seen, strict=True):
            seat.seen = page
            seat.trajectory.taken.append(place)
            seat.trajectory.probabilities.append(probability)
            seat.trajectory.rewards.append(page.observation.reward)
            seat.trajectory.show(page.observation.text)
            self._see(seat, store)

    def _see(self, seat: Seat, store: Store) -> None:
        """The page as ids; while learning, new words become known to the replica."""
        trajectory = seat.trajectory
        seen = seat.seen
        state, menu = store.page(seen.observation.text, seen.observation.actions)
        if len(menu) > NARROW:  # shown again and again, it is kept once
            menu = self._wide.setdefault(tuple(menu), menu)
        if store is self.model.store:
            self._meet(seat.replica, state, menu)
        else:  # nothing is learned from what lies behind
            trajectory.states.clear()
            trajectory.menus.clear()
        trajectory.states.append(state)
        trajectory.menus.append(menu)
        trajectory.last_reward = seen.observation.reward
        trajectory.ending = seen.ending
        trajectory.stopped = bool(menu) and (seen.stopped or len(trajectory.taken) >= self.limit)

    def _meet(self, replica: int, state: int, menu: Sequence[int]) -> None:
        store = self.model.store
        now = (store.states.generation, store.actions.generation)
        if now != self._generation:  # ids mean other texts than they did
            self._met = [(set(), set()) for _ in self.model.seeds]
            self._generation = now
        states, actions = self._met[replica]
        if state in states and actions.issuperset(menu):
            return
        self.model.meet(
            replica, np.array([state]), np.array([a for a in menu if a not in actions], np.int64)
        )
        states.add(state)
        actions.update(menu)

    def _kept(self) -> EncodingCache | None:
        return EncodingCache(self.model) if EncodingCache.helps(self.model) else None

    def _fresh(self, seats: Sequence[Seat]) -> Store:
        """A scratch store that holds no more than what is shown now."""
        store = self.model.store.scratch()
        for seat in seats:
            self._see(seat, store)
        return store


def _those_on(seats: Sequence[Seat], free: list[int]) -> list[Seat]:
    """The episodes that go on; the lanes of the others become free."""
    free += [seat.lane for seat in seats if seat.trajectory.over]
    return [seat for seat in seats if not seat.trajectory.over]
