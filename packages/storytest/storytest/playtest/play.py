"""Games of a play-test: random games and searching games.

A searching game takes actions that were seldom taken, and goes where one was never taken.
"""

import contextlib
import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from storytest.authored import AuthoredGame
from storytest.hosted.game import HostedGame
from storytest.playtest.budget import Budget, Meter
from storytest.playtest.clicks import ClickPath
from storytest.playtest.evidence import (
    Arrival,
    Evidence,
    PageRecord,
    Tally,
    arrival_of,
    count_words,
)
from storytest.playtest.states import Search
from storytest.search import clock
from textgames.errors import InputError
from textgames.game.contract import Enumerable, Game, Observation
from textgames.game.episodes import Policy, episode

# Kinds of searching games: how curious it is (see `ClickPath`), and whether it first returns to a
# page with an action that was never taken.
KINDS = ((0, False), (0, True), (2, False))


def endless() -> Meter:
    """A meter without limits."""
    return Meter(Budget(seconds=math.inf))


@dataclass
class Trace:
    """The clicks and pages of one game, recorded as evidence while it is played."""

    game: Game
    evidence: Evidence
    seed: int | None
    arrivals: list[Arrival] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)  # of the actions between them
    total: float = 0.0  # return
    failed: bool = False  # ended in an error
    curious: int = 0  # see `ClickPath.curious`

    def arrive(self, page: Observation) -> bool:
        """Record the page that the last action led to, and report whether it is new."""
        before = self.arrivals[-1] if self.arrivals else None
        index = self.indices[-1] if before else 0
        now = arrival_of(self.game, page)
        self.arrivals.append(now)
        self.total += page.reward if before else 0.0
        return self.evidence.arrive(before, index, now, self.path)

    def add_error(self, message: str) -> None:
        """Record an error on the present page."""
        passage = self.arrivals[-1].position.passage if self.arrivals else ""
        self.evidence.add_error(f"{passage}: {message}", self.path)

    def path(self) -> ClickPath:
        """The clicks so far."""
        clicks = zip(self.arrivals, self.indices, strict=False)
        words = tuple(arrival.position.words for arrival in self.arrivals)
        return ClickPath(
            actions=tuple(arrival.page.actions[index] for arrival, index in clicks),
            choices=tuple(self.indices),
            seed=self.seed,
            comes_to=self.arrivals[-1].page.text if self.arrivals else "",
            curious=self.curious,
            typed=words if any(words) else (),
        )


@dataclass
class Pace:
    """The yield of games per cost. Recent games count more."""

    memory: float = 0.8  # weight of all games before the last one
    cost: float = 0.0
    result: float = 0.0

    @property
    def rate(self) -> float:
        return self.result / self.cost if self.cost else math.inf

    def add(self, cost: float, result: float) -> None:
        self.cost = self.memory * self.cost + cost
        self.result = self.memory * self.result + result


@dataclass
class Games:
    """Plays a game repeatedly and records what it meets."""

    game: Game
    evidence: Evidence
    meter: Meter = field(default_factory=endless)
    # One of several processes plays games number `first`, `first + stride`, …
    first: int = 0
    stride: int = 1
    # Steps without a new page after which a searching game is given up.
    patience: int = 300
    refresh: int = 40  # clicks off known paths, in all games, until distances are measured again
    types: bool = False  # whether random games type words that the story compares with
    _random_part: float = 0.0  # of the budget, spent on random games
    # Speeds of games that stay in one engine (True), and of those that cache their steps.
    _paces: dict[bool, Pace] = field(default_factory=lambda: {False: Pace(), True: Pace()})
    _paced_games: int = 0
    _returns: Counter[Hashable] = field(default_factory=Counter)  # to a page
    # Clicks from each page to the nearest one with an action that was never taken.
    _distances: dict[Hashable, int] = field(default_factory=dict)
    _drawn_clicks: int = 0  # of all searching games: those that are not on a known path
    # Passages and links that each kind of searching game first reached.
    _news: dict[tuple[int, bool], Pace] = field(
        default_factory=lambda: {kind: Pace() for kind in KINDS}
    )

    def play_random(self, until: float = math.inf) -> None:
        """Play one random game with the next seed, and count it unless it is cut short."""
        tally = self.evidence.random
        seed = self.first + self.stride * (tally.games + tally.failed)
        draw = random.Random(seed)
        trace = Trace(self.game, self.evidence, seed, curious=int(self.types))
        with self._pace(trace):
            is_finished = self._play(
                trace, lambda page: draw.randrange(len(page.actions)), until, lambda _: True
            )
        if is_finished:
            last = None if trace.failed else trace.arrivals[-1]
            tally.add(last, trace.total, len(trace.indices))
        for (before, after), index in zip(pairwise(trace.arrivals), trace.indices, strict=False):
            self.evidence.steps[before.key, index, after.key] += 1
        if trace.arrivals and trace.arrivals[-1].ending:
            pages = (arrival.page.text for arrival in trace.arrivals)
            self.evidence.words.append(sum(map(count_words, pages)))

    def play_many(self, games: int = 200) -> None:
        """Play random games to their ends until the budget is spent, at least two."""
        for number in range(games):
            if number > 1 and self.meter.spent > 1:
                break
            self.play_random()

    def play_next(self, last: float, *, random_only: bool = False) -> None:
        """Play a random or a searching game, so that random ones get half of what is spent.

        They get a quarter while none has reached an ending. A game that is not finished when the
        part `last` of the budget is spent is cut short.
        """
        spent = self.meter.spent
        share = 0.5 if self.evidence.random.endings else 0.25
        if random_only or self._random_part <= share * spent:
            self.play_random(last)
            self._random_part += self.meter.spent - spent
        else:
            self.search(last)

    def type_words(self) -> None:
        """Let random games type words, if the story asks for some. Earlier games do not count."""
        if not self.types and isinstance(self.game, HostedGame) and self.game.stage.asks:
            self.types = True
            self._random_part = 0.0
            self.evidence.random = Tally()
            self.evidence.words = []

    def search_states(self, until: float, progress: Callable[[int], None]) -> str:
        """Visit every state until a part of the budget is spent.

        Sets `evidence.complete` if all were visited, and otherwise returns why not.
        """
        if not isinstance(self.game, Enumerable):
            return ""
        evidence = self.evidence
        search = Search(self.game, evidence, self.meter, until)
        try:
            search.run(progress)
            evidence.complete = search.complete
        except InputError as error:  # the opening could not be shown a second time
            evidence.complete = False
            return str(error)
        finally:
            evidence.states = max(evidence.states, len(search.visited))
        return search.why_not

    def search(
        self, until: float = math.inf, *, curious: bool = False, longest: int = 10_000
    ) -> None:
        """Play one game that searches for new pages: links that were never taken come first.

        Its kind is that which finds most for its cost, or, every other time, the next one.

        Args:
            until: The part of the budget after which the game is cut short.
            curious: Type likely words, and do not always wait.
            longest: The limit of its clicks.
        """
        evidence = self.evidence
        evidence.searching_games += 1
        number = evidence.searching_games
        seed = self.first + self.stride * number
        draw = random.Random(-seed)
        kind = self._kind(number, curious)
        trace = Trace(self.game, evidence, 10**6 + seed, curious=kind[0])
        path = self._path_to_news() if kind[1] else None
        if path:
            trace = Trace(self.game, evidence, path.seed, curious=path.curious)
        choices = path.choices if path else ()
        patience = self.patience // 5 if kind[1] else self.patience
        last_step = len(choices) + patience

        def explore(page: Observation) -> int:
            number = len(trace.indices)
            is_on_path = number < len(choices) and choices[number] < len(page.actions)
            return choices[number] if is_on_path else self._seldom_taken(trace.arrivals[-1], draw)

        def is_patient(is_new: bool) -> bool:
            nonlocal last_step
            if is_new:
                last_step = max(last_step, len(trace.indices) + patience)
            return len(trace.indices) <= last_step

        spent = self.meter.spent
        before = len(evidence.passages) + len(evidence.links) / 4
        with self._pace(trace):
            self._play(trace, explore, until, is_patient, longest)
        news = len(evidence.passages) + len(evidence.links) / 4 - before
        self._news[kind].add(self.meter.spent - spent, news)

    def _kind(self, number: int, curious: bool) -> tuple[int, bool]:
        has_engine = isinstance(self.game, HostedGame)
        kinds = [kind for kind in KINDS if (kind[0] or not curious) and (has_engine or not kind[0])]
        if number % 2:
            return kinds[number // 2 % len(kinds)]
        return max(kinds, key=lambda kind: self._news[kind].rate)

    def _path_to_news(self) -> ClickPath | None:
        """The clicks to a page with an action that was never taken, if any."""
        pages = self.evidence.pages
        keys = [key for key, page in pages.items() if page.path.seed is not None]
        keys = [key for key in keys if self._never_taken(pages[key])]
        if not keys:
            return None
        key = min(keys, key=lambda key: (self._returns[key], len(pages[key].path)))
        self._returns[key] += 1
        return pages[key].path

    def _seldom_taken(self, now: Arrival, draw: random.Random, pull: float = 8.0) -> int:
        """Draw an action: seldom taken ones are likely, those towards untried ones by `pull`."""
        if self._drawn_clicks % self.refresh == 0:
            self._measure_distances()
        self._drawn_clicks += 1
        taken = self.evidence.taken
        passage = now.position.passage
        weights = [1 / (1 + taken[passage, action]) for action in now.page.actions]
        distance = self._distances.get(now.key, math.inf)
        for index, keys in self.evidence.pages[now.key].successors.items():
            if min(self._distances.get(key, math.inf) for key in keys) < distance:
                weights[index] *= pull
        return draw.choices(range(len(weights)), weights)[0]

    def _measure_distances(self) -> None:
        pages = self.evidence.pages
        origins: dict[Hashable, list[Hashable]] = {}
        for key, page in pages.items():
            for keys in page.successors.values():
                for successor in keys:
                    origins.setdefault(successor, []).append(key)
        queue = [key for key, page in pages.items() if self._never_taken(page)]
        self._distances = dict.fromkeys(queue, 0)
        for key in queue:  # grows
            for origin in origins.get(key, ()):
                if origin not in self._distances:
                    self._distances[origin] = self._distances[key] + 1
                    queue.append(origin)

    def _never_taken(self, page: PageRecord) -> list[int]:
        if not page.passage:
            return page.untried
        taken = self.evidence.taken
        return [i for i, action in enumerate(page.actions) if not taken[page.passage, action]]

    @contextlib.contextmanager
    def _pace(self, trace: Trace, cache_bonus: float = 1.5) -> Iterator[None]:
        """Let a game stay in one engine if that is faster than to cache its steps.

        Games alternate until both speeds are known. Then every eighth game tries the slower one.
        Games that cache may be slower by `cache_bonus`, because they become faster.
        """
        game = self.game
        if not isinstance(game, HostedGame):
            yield
            return
        self._paced_games += 1
        is_faster = self._paces[True].rate > cache_bonus * self._paces[False].rate
        game.walks = trace.curious > 0 or is_faster != (self._paced_games % 8 == 0)
        game.curious = trace.curious
        start = clock()
        try:
            yield
        finally:
            self._paces[game.walks].add(clock() - start, len(trace.arrivals))
            game.walks = False
            game.curious = 0

    def _play(
        self,
        trace: Trace,
        policy: Policy,
        until: float,
        goes_on: Callable[[bool], bool],
        max_steps: int | None = None,
    ) -> bool:
        """Play while `goes_on(is_new)` holds after a page. False means: cut short."""

        def choose(page: Observation) -> int:
            index = policy(page)
            trace.indices.append(index)
            return index

        old_errors = len(_errors(self.game))
        try:
            for step in episode(self.game, choose, trace.seed, max_steps=max_steps):
                self.meter.clicks += 1
                is_new = trace.arrive(step.page)
                if not goes_on(is_new):
                    break
                if step.page.actions and self.meter.spent > until:
                    return False
        except InputError as error:
            trace.add_error(str(error))
            trace.failed = True
        finally:
            for message in _errors(self.game)[old_errors:]:
                trace.add_error(message)
            if len(trace.indices) > len(self.evidence.longest):
                self.evidence.longest = trace.path()
        return True


def _errors(game: Game) -> list[str]:
    return game.errors if isinstance(game, AuthoredGame) else []
