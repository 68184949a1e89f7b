"""Play any game step by step: the episodes of all replicas step together, by one forward pass."""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from drrn.learning.equations import draw_actions
from drrn.learning.experience import Steps
from drrn.learning.learner import Generators
from drrn.learning.menus import Menus
from drrn.models import Model, Pages
from drrn.models.base import NARROW, Readers
from drrn.models.encodings import encoding_caches
from drrn.playing.lanes import LanePage, Lanes, LocalLanes
from drrn.playing.policies import Policy, Rollouts, probabilities_of
from drrn.playing.recall import Memory, Recall, remember
from drrn.text import Store
from textgames.game.contract import Game, step_limit_of
from textgames.game.episodes import Episode, Visits

Choice = tuple[int, float]  # the index of an action, and its probability


@dataclass
class Trajectory:
    """One episode in ids, while it is played: pages, indices of the actions taken, rewards."""

    replica: int
    lane: int
    page: LanePage  # the present one
    states: list[int] = field(default_factory=list)
    menus: list[list[int]] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)  # of the actions when taken
    stopped: bool = False  # truncated, by the game or by the step limit
    visits: Visits = field(default_factory=Visits)
    circle: bool = False  # whether the episode is in a circle

    @property
    def episode(self) -> Episode:
        final = self.page.observation.reward if self.ended else 0.0
        return Episode(final, sum(self.rewards), len(self.taken), self.page.ending)

    @property
    def ended(self) -> bool:
        return not self.menus[-1]

    @property
    def over(self) -> bool:
        return self.ended or self.stopped

    def show(self, page: LanePage) -> None:
        """Enter a page."""
        self.page = page
        self.circle = self.visits.is_circle(page.observation)
        self.visits.add(page.observation)


def steps_of(trajectories: Sequence[Trajectory]) -> Steps:
    """The steps of training episodes."""
    some = [trajectory for trajectory in trajectories if trajectory.taken]
    lengths = np.array([len(each.taken) for each in some], np.int64)
    last = np.zeros(lengths.sum(), np.bool_)
    last[np.cumsum(lengths) - 1] = True
    states = [state for each in some for state in each.states]
    taken = [index for each in some for index in each.taken]
    probabilities = [probability for each in some for probability in each.probabilities]
    rewards = [reward for each in some for reward in each.rewards]
    return Steps(
        page_states=np.array(states, np.int64),
        page_actions=Menus.of([menu for each in some for menu in each.menus]),
        taken=np.array(taken, np.int64),
        probabilities=np.array(probabilities, np.float64),
        rewards=np.array(rewards, np.float64),
        last=last,
    )


def pages_of(rows: Sequence[Sequence[tuple[int, Sequence[int]]]], store: Store) -> Pages:
    """The pages of each replica, padded to one number of pages and of actions."""
    most = max((len(menu) for row in rows for _, menu in row), default=1) or 1
    replicas = []
    for row in rows:
        states = np.array([state for state, _ in row], np.int64)
        menus = [[*menu, *[-1] * (most - len(menu))] for _, menu in row]
        replicas.append((states, np.array(menus, np.int64).reshape(-1, most)))
    return Pages.of_replicas(replicas, store)


class SteppedRollouts(Rollouts):
    """Plays a game with a model. In training episodes, replicas learn the words that they read."""

    recall: Recall | None = None  # reads the pages that are played to evaluate
    pages: Memory | None = None  # if set, remembers the pages that are played to learn
    most_scratch = 50_000  # texts of an evaluation's scratch store, before it starts a new one
    in_order = False  # episodes have the seeds 0, 1, 2 …: each variation of a fold is played once

    def __init__(self, game: Game, model: Model, lanes: Lanes | None = None) -> None:
        self.model = model
        self.lanes = lanes or LocalLanes(game)
        self.limit = step_limit_of(game)
        self._known: list[tuple[set[int], set[int]]] = []  # texts that each replica has read
        self._generation = (0, 0)
        self._wide: dict[tuple[int, ...], list[int]] = {}  # wide menus are stored once

    def play(self, count: int, policy: Policy, generators: Generators) -> list[list[Episode]]:
        store = self.model.store.scratch()
        trajectories = self._play(count, policy, generators, store)
        return [[trajectory.episode for trajectory in own] for own in trajectories]

    def record(
        self,
        count: int,
        policy: Policy,
        generators: Generators,
        budgets: Sequence[int] | None = None,
    ) -> list[Steps]:
        """Play training episodes. `budgets` limits the steps of each replica.

        An episode starts only if its replica's budget allows it to reach the step limit.
        """
        played = self._play(count, policy, generators, self.model.store, budgets)
        return [steps_of(own) for own in played]

    def _play(
        self,
        count: int,
        policy: Policy,
        generators: Generators,
        store: Store,
        budgets: Sequence[int] | None = None,
    ) -> list[list[Trajectory]]:
        waiting = self._episodes(count, generators, interleaved=budgets is not None)
        # Steps that remain to each replica, without those of running episodes.
        left = list(budgets or [sys.maxsize] * len(generators))
        trajectories: list[list[Trajectory]] = [[] for _ in generators]
        self._wide.clear()
        free = list(range(min(self.lanes.most, len(waiting))))[::-1]
        running: list[Trajectory] = []
        caches = encoding_caches(self.model)
        while waiting or running:
            starts = []
            while free and waiting and (episode := self._next(waiting, left)):
                starts.append((*episode, free.pop()))
            if not starts and not running:  # the budgets are used up
                break
            new = self.begin(starts, store)
            for trajectory in new:
                trajectories[trajectory.replica].append(trajectory)
            # a first page may be an ending
            running = self._still_running([*running, *new], free, left)
            running.sort(key=lambda trajectory: trajectory.replica)  # as `choices` needs them
            if running:
                self.step(running, self.choices(running, policy, generators, store, caches), store)
                running = self._still_running(running, free, left)
            if self.progress:
                total = count * len(generators)
                self.progress(total - len(waiting) - len(running), total)
            texts = max(len(store.states), len(store.actions))
            if store is not self.model.store and texts > self.most_scratch:
                store = self.model.store.scratch()  # with the present pages only
                for trajectory in running:
                    self._read(trajectory, store)
                caches = encoding_caches(self.model)
        return trajectories

    def _episodes(
        self, count: int, generators: Generators, interleaved: bool
    ) -> list[tuple[int, int]]:
        """The replica and the seed of each episode, the first one last."""
        replicas = []
        for replica, generator in enumerate(generators):
            seeds = range(count) if self.in_order else generator.integers(2**62, size=count)
            replicas.append([(replica, int(seed)) for seed in seeds])
        rows = zip(*replicas, strict=True) if interleaved else replicas
        return list(itertools.chain.from_iterable(rows))[::-1]

    def _next(self, waiting: list[tuple[int, int]], left: list[int]) -> tuple[int, int] | None:
        """Remove the next episode that its replica's budget allows. None if there is none."""
        for at in reversed(range(len(waiting))) if max(left) >= self.limit else ():
            replica, _ = waiting[at]
            if left[replica] >= self.limit:
                left[replica] -= self.limit
                return waiting.pop(at)
        return None

    def _still_running(
        self, trajectories: Sequence[Trajectory], free: list[int], left: list[int]
    ) -> list[Trajectory]:
        """The episodes that are not over. Lanes and unused steps of the others are free."""
        for trajectory in trajectories:
            if trajectory.over:
                free.append(trajectory.lane)
                left[trajectory.replica] += self.limit - len(trajectory.taken)
        return [trajectory for trajectory in trajectories if not trajectory.over]

    def begin(self, episodes: Sequence[tuple[int, int, int]], store: Store) -> list[Trajectory]:
        """Start episodes, each given by a replica, a seed and a lane."""
        if not episodes:
            return []
        lanes = [lane for _, _, lane in episodes]
        pages = self.lanes.reset(lanes, [seed for _, seed, _ in episodes])
        trajectories = []
        for (replica, _, lane), page in zip(episodes, pages, strict=True):
            trajectory = Trajectory(replica, lane, page)
            trajectory.show(page)
            self._read(trajectory, store)
            trajectories.append(trajectory)
        return trajectories

    def choices(
        self,
        running: Sequence[Trajectory],
        policy: Policy,
        generators: Generators,
        store: Store,
        caches: Readers | None = None,
    ) -> list[Choice]:
        """Choose an action in each episode. Episodes are sorted by replica.

        `caches` have encodings of texts, for as long as the weights stay fixed.
        """
        replicas = range(len(generators))
        rows = [[each for each in running if each.replica == r] for r in replicas]
        ids = [[(each.states[-1], each.menus[-1]) for each in row] for row in rows]
        pages = pages_of(ids, store)
        q = self.model.q(pages, caches).cpu().numpy()
        choices: list[Choice] = []
        for r, row in enumerate(rows):
            uniform = generators[r].random(len(row))
            if row:
                count = len(row)
                circle = np.array([each.circle for each in row])
                own = pages[r, :count]
                probabilities = probabilities_of(policy, r, q[r, :count], own, circle)
                index = draw_actions(probabilities, uniform)
                taken = probabilities[np.arange(count), index]
                choices += zip(index.tolist(), taken.tolist(), strict=True)
        return choices

    def step(self, running: Sequence[Trajectory], choices: Sequence[Choice], store: Store) -> None:
        """Take an action in every episode."""
        lanes = [trajectory.lane for trajectory in running]
        pages = self.lanes.step(lanes, [index for index, _ in choices])
        for trajectory, (index, probability), page in zip(running, choices, pages, strict=True):
            trajectory.taken.append(index)
            trajectory.probabilities.append(probability)
            trajectory.rewards.append(page.observation.reward)
            trajectory.show(page)
            self._read(trajectory, store)

    def _read(self, trajectory: Trajectory, store: Store) -> None:
        """Add the present page as ids. In a training episode, the replica learns new words."""
        page = trajectory.page
        shown = self.recall.page(page.observation) if self.recall else page.observation
        state, menu = store.page(shown.text, shown.actions)
        if len(menu) > NARROW:
            menu = self._wide.setdefault(tuple(menu), menu)
        if store is self.model.store:
            self._learn_words(trajectory.replica, state, menu)
            if self.pages is not None:
                remember(self.pages, [shown])
        else:  # earlier pages are not needed
            trajectory.states.clear()
            trajectory.menus.clear()
        trajectory.states.append(state)
        trajectory.menus.append(menu)
        truncated = page.stopped or len(trajectory.taken) >= self.limit
        trajectory.stopped = bool(menu) and truncated

    def _learn_words(self, replica: int, state: int, menu: Sequence[int]) -> None:
        store = self.model.store
        generation = (store.states.generation, store.actions.generation)
        if generation != self._generation:  # ids belong to other texts now
            self._known = [(set(), set()) for _ in self.model.seeds]
            self._generation = generation
        states, actions = self._known[replica]
        if state in states and actions.issuperset(menu):
            return
        new = np.array([action for action in menu if action not in actions], np.int64)
        self.model.meet(replica, np.array([state]), new)
        states.add(state)
        actions.update(menu)
