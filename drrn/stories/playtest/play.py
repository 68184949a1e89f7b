"""Passes of a play-test: random games, searching games, games of an agent, a search of all states.

A searching game takes actions that were seldom taken, and goes where one was never taken.
"""

import contextlib
import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from drrn.compiled.search import EndingId
from drrn.errors import InputError, OutOfTime
from drrn.game.contract import Enumerable, Game, Observation, is_stopped, step_limit_of
from drrn.game.episodes import Policy, episode
from drrn.stories.authored import AuthoredGame
from drrn.stories.hosted.game import HostedGame
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.counts import GameCounts
from drrn.stories.playtest.evidence import Arrival, Evidence, PageRecord, Pages, Tally, arrival_of
from drrn.stories.search import StateSearch, clock

RANDOM_GAMES = 200  # at most, of `Games.play_many`
RANDOM_SECONDS = 30.0
# Steps without a new page after which a searching game is given up: one that first returns to a
# page with an action that was never taken, and any other.
PATIENCE = 60
LONG_PATIENCE = 300
MAX_CLICKS = 10_000  # of a searching game: a player has no step limit
# Kinds of searching games: how curious it is (see `ClickPath`), and whether it first returns.
KINDS = ((0, False), (0, True), (2, False))
TOWARDS_NEWS = 8.0  # weight of an action that leads nearer to one that was never taken
REFRESH = 40  # clicks off known paths, in all games, until the distances are computed again
CACHE_BONUS = 1.5  # how much slower games may be that cache their steps: they become faster
FORGETTING = 0.8  # of the speed of earlier games, for each game
RANDOM_SHARE = 0.5  # of the time, for random games
ENDLESS_SHARE = 0.25  # while no random game has reached an ending
MAX_AGENT_GAMES = 200
AGENT_SEED = 2 * 10**6
LEARNING = 0.7  # part of the agent's time that is spent on training
# The search of states.
MAX_STATES = 100_000
MAX_OUTCOMES = 300  # of one action
EARLY = 0.3
MIN_STATES = 60  # a search visits these even if its time is over
MAX_OVERTIME = 3  # … but takes at most this many times its time longer
NEGLIGIBLE = 1e-7  # share of random games
MAX_WORK = 2_000_000  # outcomes followed to compute the odds of endings
ENOUGH = 20_000  # states after which the search stops once it finds nothing new

Origin = tuple[Hashable, int, float]  # state, index of the action, probability
# Trains an agent on a game, which raises `OutOfTime` when training must stop. Returns a function
# that starts an episode and returns its policy.
TrainPlayer = Callable[[Game], Callable[[], Policy]]


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
    walks: bool = False  # in one engine, so that every variable has the value of this game
    curious: int = 0  # see `ClickPath.curious`

    def arrive(self, page: Observation) -> bool:
        """Record the page that the last action led to; return whether it is new."""
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
        """Return the clicks so far."""
        clicks = zip(self.arrivals, self.indices, strict=False)
        actions = tuple(arrival.page.actions[index] for arrival, index in clicks)
        text = self.arrivals[-1].page.text if self.arrivals else ""
        words = tuple(arrival.position.words for arrival in self.arrivals)
        choices = tuple(self.indices)
        return ClickPath(
            actions, choices, self.seed, (), text, self.curious, words if any(words) else ()
        )


@dataclass
class Pace:
    """The speed of games; recent ones count more."""

    seconds: float = 0.0
    pages: float = 0.0

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.seconds if self.seconds else math.inf

    def add(self, seconds: float, pages: float) -> None:
        """Add a game."""
        self.seconds = FORGETTING * self.seconds + seconds
        self.pages = FORGETTING * self.pages + pages


@dataclass
class Games:
    """Plays a game repeatedly and records what it meets."""

    game: Game
    evidence: Evidence
    pages: Pages | None = None  # counts the pages
    strict: bool = False  # raises errors of the game instead of recording them
    # One of several processes plays games number `first`, `first + stride`, …
    first: int = 0
    stride: int = 1
    types: bool = False  # whether random games type words that the story compares with
    random_seconds: float = 0.0  # of random games
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

    def play_random(self, until: float) -> None:
        """Play one random game with the next seed."""
        tally = self.evidence.random
        seed = self.first + self.stride * (tally.games + tally.failed)
        draw = random.Random(seed)
        trace = Trace(self.game, self.evidence, seed, curious=int(self.types))
        self.play(tally, lambda page: draw.randrange(len(page.actions)), trace, until)
        for (before, after), index in zip(pairwise(trace.arrivals), trace.indices, strict=False):
            self.evidence.steps[before.key, index, after.key] += 1
        if trace.arrivals:
            pages = [(arrival.page, arrival.position) for arrival in trace.arrivals]
            game = None if trace.walks else self.game
            ending = trace.arrivals[-1].ending
            name = ending.passage if ending else None
            self.evidence.counts.add(game, pages, trace.indices, name)

    def play_many(
        self, seconds: float, *, finish: bool = True, progress: Callable[[int], None] | None = None
    ) -> None:
        """Play random games for some time; with `finish`, at least two, the last to its end."""
        until = clock() + seconds
        for number in range(RANDOM_GAMES):
            if number > finish and clock() > until:
                break
            self.play_random(math.inf if finish else until)
            if progress:
                progress(number + 1)

    def play_next(self, start: float, last: float, *, random_only: bool = False) -> None:
        """Play a random or a searching game, so that random ones get their share since a start.

        A game that is not finished at the time `last` is cut short.
        """
        now = clock()
        share = RANDOM_SHARE if any(self.evidence.random.endings.values()) else ENDLESS_SHARE
        if random_only or self.random_seconds <= share * (now - start):
            self.play_random(last)
            self.random_seconds += clock() - now
        else:
            self.search(last)

    def type_words(self) -> None:
        """Let random games type words, if the story asks for some; exact odds are of [inputs]."""
        if not self.types and isinstance(self.game, HostedGame) and self.game.stage.asks:
            self.types = True
            self.random_seconds = 0.0  # those that typed nothing do not count
            self.evidence.random = Tally()
            self.evidence.counts = GameCounts()
            self.evidence.least_odds = {}

    def play_agent(self, train: TrainPlayer, seconds: float) -> None:
        """Train an agent on the game and let it play, for some seconds in all.

        Its score is a lower bound of what can be scored; the pages that it meets count as evidence.
        """
        evidence = self.evidence
        start = clock()
        watched = WatchedGame(self.game, evidence, start + LEARNING * seconds)
        try:
            new_policy = train(watched)
        except (OutOfTime, InputError):  # no time, or settings that do not suit the game
            return
        evidence.agent_lessons = watched.episodes
        for number in range(MAX_AGENT_GAMES):
            if clock() > start + seconds:
                return
            trace = Trace(self.game, evidence, AGENT_SEED + number)
            self.play(evidence.agent, new_policy(), trace, start + seconds)

    def search_states(self, until: float, progress: Callable[[int], None]) -> str:
        """Visit every state while there is time; set `evidence.complete` if all were visited.

        Returns why not all of them were visited, or "".
        """
        if not isinstance(self.game, Enumerable):
            return ""
        evidence = self.evidence
        search = _Search(self.game, evidence, until)
        try:
            search.run(progress)
            evidence.complete = search.complete
            evidence.least_odds = search.least_odds()
        except InputError as error:  # the opening could not be shown a second time
            evidence.complete = False
            return str(error)
        finally:
            evidence.states = max(evidence.states, len(search.visited))
        return search.why_not

    def play(self, tally: Tally, policy: Policy, trace: Trace, until: float) -> None:
        """Play one game by a policy and count it, unless its time is over before its end."""
        with self._pace(trace):
            is_finished = self._play(trace, policy, until, lambda _: True)
        if is_finished:
            last = None if trace.failed else trace.arrivals[-1]
            tally.add(last, trace.total, len(trace.indices))
        else:
            tally.cut_short += 1

    def search(self, until: float, *, curious: bool = False) -> None:
        """Play one game that searches for new pages: links that were never taken come first.

        Its kind is that which finds most in its time, or, every other time, the next one; with
        `curious`, one that types likely words and does not always wait.
        """
        evidence = self.evidence
        evidence.searching_games += 1
        number = evidence.searching_games
        seed = self.first + self.stride * number
        draw = random.Random(-seed)
        has_engine = isinstance(self.game, HostedGame)
        kinds = [kind for kind in KINDS if (kind[0] or not curious) and (has_engine or not kind[0])]
        kind = kinds[number // 2 % len(kinds)]
        if number % 2 == 0:
            kind = max(kinds, key=lambda kind: self._news[kind].pages_per_second)
        trace = Trace(self.game, evidence, 10**6 + seed, curious=kind[0])
        patience = PATIENCE if kind[1] else LONG_PATIENCE
        path = self._path_to_news() if kind[1] else None
        if path:
            trace = Trace(self.game, evidence, path.seed, curious=path.curious)
        choices = path.choices if path else ()
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

        start = clock()
        before = len(evidence.passages) + len(evidence.links) / 4
        with self._pace(trace):
            self._play(trace, explore, until, is_patient, MAX_CLICKS)
        news = len(evidence.passages) + len(evidence.links) / 4 - before
        self._news[kind].add(clock() - start, news)

    def _path_to_news(self) -> ClickPath | None:
        """Return the clicks to a page with an action that was never taken, if any."""
        pages = self.evidence.pages
        keys = [key for key, page in pages.items() if page.path.seed is not None]
        keys = [key for key in keys if self._never_taken(pages[key])]
        if not keys:
            return None
        key = min(keys, key=lambda key: (self._returns[key], len(pages[key].path)))
        self._returns[key] += 1
        return pages[key].path

    def _seldom_taken(self, now: Arrival, draw: random.Random) -> int:
        """Draw an action; those towards untried ones are likely, and often taken ones are not."""
        if self._drawn_clicks % REFRESH == 0:
            self._measure_distances()
        self._drawn_clicks += 1
        taken = self.evidence.taken
        passage = now.position.passage
        weights = [1 / (1 + taken[passage, action]) for action in now.page.actions]
        distance = self._distances.get(now.key, math.inf)
        for index, keys in self.evidence.pages[now.key].successors.items():
            if min(self._distances.get(key, math.inf) for key in keys) < distance:
                weights[index] *= TOWARDS_NEWS
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
        """Return the actions of a page that were never taken from its passage."""
        if not page.passage:
            return page.untried
        taken = self.evidence.taken
        return [i for i, action in enumerate(page.actions) if not taken[page.passage, action]]

    @contextlib.contextmanager
    def _pace(self, trace: Trace) -> Iterator[None]:
        """Let a game stay in one engine if that is faster than to cache its steps.

        Games alternate until both speeds are known; then every eighth game tries the slower one.
        """
        game = self.game
        if not isinstance(game, HostedGame):
            yield
            return
        self._paced_games += 1
        cached = self._paces[False].pages_per_second
        is_faster = self._paces[True].pages_per_second > CACHE_BONUS * cached
        game.walks = trace.curious > 0 or is_faster != (self._paced_games % 8 == 0)
        game.curious = trace.curious
        trace.walks = game.walks
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
        """Play while `goes_on(is_new)` holds after a page; return False if time ran out."""

        def choose(page: Observation) -> int:
            index = policy(page)
            trace.indices.append(index)
            return index

        old_errors = len(_errors(self.game))
        try:
            for step in episode(self.game, choose, trace.seed, max_steps=max_steps):
                is_new = trace.arrive(step.page)
                if self.pages is not None:
                    self.pages[step.page.text, step.page.actions] += 1
                if not goes_on(is_new):
                    break
                if step.page.actions and clock() > until:
                    return False
        except InputError as error:
            if self.strict:
                raise
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


class WatchedGame:
    """A game to train on: its pages are evidence, and it stops when its time is over."""

    def __init__(self, game: Game, evidence: Evidence, until: float) -> None:
        self.game = game
        self.evidence = evidence
        self.until = until
        self.name = game.name
        self.max_steps = step_limit_of(game)
        self.episodes = 0

    @property
    def ending(self) -> str | None:
        ending = self._trace.arrivals[-1].ending
        return ending.passage if ending else None

    @property
    def stopped(self) -> bool:
        return is_stopped(self.game)

    def reset(self, seed: int | None = None) -> Observation:
        self._check_time()
        self.episodes += 1
        seed = self.episodes if seed is None else seed
        self._trace = Trace(self.game, self.evidence, seed)
        page = self.game.reset(seed)
        self._trace.arrive(page)
        return page

    def step(self, index: int) -> Observation:
        self._check_time()
        self._trace.indices.append(index)
        page = self.game.step(index)
        self._trace.arrive(page)
        return page

    def _check_time(self) -> None:
        if clock() > self.until:
            raise OutOfTime


class _Search(StateSearch):
    """A search that records as evidence what it meets, and the clicks that lead there."""

    max_outcomes = MAX_OUTCOMES

    def __init__(self, game: Game, evidence: Evidence, until: float) -> None:
        super().__init__(game, MAX_STATES, until)
        # A search that cannot be complete ends early: games find more in the same time.
        self.start = clock()
        self.overtime = until + MAX_OVERTIME * (until - self.start)
        self.enough = math.inf if evidence.forbidden else clock() + EARLY * (until - clock())
        self.evidence = evidence
        self.origins: dict[Hashable, Origin | None] = {}  # how each state was reached
        self.arrivals: dict[Hashable, Arrival] = {}
        # Successors with their probabilities, of each action of each state (None: the opening).
        self.rows: dict[Hashable, dict[int, dict[Hashable, float]]] = {}
        self.last_news = 0  # number of states when something new was last seen

    def is_over(self) -> bool:
        """Stop if most states brought nothing new, unless a condition must be checked in all.

        A small story is exact on a busy machine, too: its states are counted, not its time.
        """
        if len(self.visited) < min(MIN_STATES, self.limit) and clock() < self.overtime:
            return False
        if clock() > self.enough and (self.why_not or self._takes_too_long()):
            return True
        is_worthwhile = len(self.visited) < max(ENOUGH, 2 * self.last_news)
        return super().is_over() or not (self.evidence.forbidden or is_worthwhile)

    def _takes_too_long(self) -> bool:
        """Return whether the states that wait need more than twice the time that is left."""
        waiting = len(self._new_pages) + len(self._old_pages)
        pace = (clock() - self.start) / max(1, len(self.visited) - waiting)
        return pace * waiting > 2 * (self.until - clock())

    def fail(self, before: Hashable, index: int, error: InputError) -> None:
        """Record the error; the search continues elsewhere."""
        if before is None:
            raise error
        arrival = self.arrivals[before]
        path = self._path(before)
        actions = (*path.actions, arrival.page.actions[index])
        failing = ClickPath(actions, (*path.choices, index))
        self.evidence.add_error(f"{arrival.position.passage}: {error}", lambda: failing)

    def record(self, before: Hashable, index: int, chance: float, state: Hashable) -> bool:
        if state not in self.origins:
            self.arrivals[state] = arrival_of(self.game, self.game.look(state), state)
            self.origins[state] = None if before is None else (before, index, chance)
        origin = self.arrivals[before] if before is not None else None
        size = self.evidence.size
        now = self.arrivals[state]
        is_new_page = self.evidence.arrive(origin, index, now, lambda: self._path(state))
        if (before, index) not in self.unlisted:
            row = self.rows.setdefault(before, {}).setdefault(index, {})
            row[state] = row.get(state, 0.0) + chance
        if size != self.evidence.size:
            self.last_news = len(self.origins)
        return is_new_page

    def least_odds(self) -> dict[EndingId, float]:
        """Return what share of random games reaches each ending within the states visited."""
        odds: Counter[EndingId] = Counter()
        mass = self.rows.get(None, {}).get(0, {})
        work = 0
        for _ in range(step_limit_of(self.game) + 1):
            after: dict[Hashable, float] = {}
            for state, share in mass.items():
                arrival = self.arrivals[state]
                if arrival.ending:
                    odds[arrival.ending] += share  # type: ignore[assignment]
                    continue
                for row in self.rows.get(state, {}).values():
                    work += len(row)
                    for successor, chance in row.items():
                        part = share * chance / len(arrival.page.actions)
                        after[successor] = after.get(successor, 0.0) + part
            mass = {state: share for state, share in after.items() if share > NEGLIGIBLE}
            if not mass or work > MAX_WORK:
                break
        return dict(odds)

    def _path(self, state: Hashable) -> ClickPath:
        """Return the clicks by which a state was first reached."""
        last = self.arrivals[state]
        actions: list[str] = []
        choices: list[int] = []
        chances: list[float] = []
        while (origin := self.origins[state]) is not None:
            chances.append(self._chance(origin, actions[-1] if actions else None, last))
            state, index, _ = origin
            actions.append(self.arrivals[state].page.actions[index])
            choices.append(index)
        for steps in (actions, choices, chances):
            steps.reverse()
        return ClickPath(tuple(actions), tuple(choices), None, tuple(chances), last.page.text)

    def _chance(self, origin: Origin, action: str | None, last: Arrival) -> float:
        """Return how likely a step leads to where the next action, or the last page, follows."""
        state, index, chance = origin
        successors = self.rows.get(state, {}).get(index, {})
        if len(successors) < 2:
            return chance
        favourable = 0.0
        for successor, probability in successors.items():
            arrival = self.arrivals[successor]
            if arrival.key == last.key if action is None else action in arrival.page.actions:
                favourable += probability
        return min(1.0, max(favourable, chance))
