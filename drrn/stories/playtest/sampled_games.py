"""Games that a play-test plays while there is time: random ones, to estimate odds, and ones that seek what is new.

The search for what is new goes where less has been tried: it returns, by the same clicks and the same chance, to a page
with an action nobody took yet, and from there on takes the action that was taken least often.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from drrn.errors import InputError
from drrn.game.contract import Game, Observation
from drrn.game.optional import is_stopped, step_limit_of
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.sampled import SampledValue, mean_of, share_of
from drrn.stories.playtest.sightings import Arrival, EndingKey, PageSeen, Sightings, arrival_of

# of `sampled_play`, at most
GAMES = 200
SECONDS = 30.0
RETURNS = (
    0.7  # the share of searching games that begin by returning to a page with something left to try
)
PATIENCE = 25  # clicks that bring nothing new, after which a searching game is given up

Choose = Callable[[Arrival], int]


@dataclass
class RandomTally:
    """What random games came to."""

    rewards: list[float] = field(default_factory=list)  # final ones; 0 where a game was stopped
    steps: list[float] = field(default_factory=list)
    endings: Counter[EndingKey] = field(default_factory=Counter)
    failed: int = 0  # games that an error cut short
    stopped: int = 0  # games that met the step limit
    cut_short: int = 0  # games that the clock ended; they count nowhere else

    @property
    def games(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class SampledPlay:
    """What so many games of uniformly random play came to."""

    games: int
    max_steps: int  # where a game was stopped
    final_reward: SampledValue  # 0 in a game that was stopped
    steps: SampledValue
    stopped: SampledValue  # the share of games that were
    endings: dict[EndingKey, SampledValue] = field(default_factory=dict)  # the share of each
    texts: dict[EndingKey, str] = field(default_factory=dict)  # the last page of each


class SampledGames:
    """Plays a game over and over, and notes what it meets."""

    def __init__(self, game: Game, sightings: Sightings) -> None:
        self.game = game
        self.sightings = sightings
        self.tally = RandomTally()
        self.searched = 0  # games that sought what is new
        self._times: Counter[tuple[Hashable, int]] = (
            Counter()
        )  # how often a search took each action

    def play_randomly(self, until: float) -> None:
        """One random game, by the next seed; where its time is over it does not count."""
        seed = self.tally.games + self.tally.failed
        choose = random.Random(seed)
        end = self._play(
            seed,
            lambda page: choose.randrange(len(page.shown.actions)),
            step_limit_of(self.game),
            until,
        )
        if end is None:
            self.tally.cut_short += 1
            return
        arrived, steps, whole = end
        if not whole:
            self.tally.failed += 1
        self.tally.steps.append(steps)
        self.tally.rewards.append(arrived.shown.reward if arrived.ending else 0.0)
        if arrived.ending:
            self.tally.endings[arrived.ending] += 1
        elif whole:
            self.tally.stopped += 1

    def search(self, until: float) -> None:
        """One game that seeks what is new."""
        self.searched += 1
        choose = random.Random(-self.searched)
        way = self._way_back(choose)
        ahead = list(way.choices)[::-1]
        seed = way.seed if way.seed is not None else 10**6 + self.searched

        def least_tried(page: Arrival) -> int:
            if ahead:
                index = ahead.pop()
                return index if index < len(page.shown.actions) else 0
            known = self.sightings.pages[page.key]
            counts = [
                self._times[page.key, i] + len(known.tried.get(i, ()))
                for i in range(len(page.shown.actions))
            ]
            least = min(counts)
            index = choose.choice([i for i, count in enumerate(counts) if count == least])
            self._times[page.key, index] += 1
            return index

        self._play(seed, least_tried, step_limit_of(self.game), until, patience=len(way) + PATIENCE)

    def _way_back(self, choose: random.Random) -> ClickPath:
        """The clicks to a page with an action that was not tried, or to one that was seldom seen; or none."""
        if choose.random() >= RETURNS:
            return ClickPath()
        open_pages = [
            page for page in self.sightings.pages.values() if page.untried and page.path.choices
        ]
        if not open_pages:
            return ClickPath()
        return min(choose.sample(open_pages, min(8, len(open_pages))), key=_pull).path

    def _play(
        self, seed: int, choose: Choose, most: int, until: float, patience: int | None = None
    ) -> tuple[Arrival, int, bool] | None:
        """One game: where it came to, in how many steps, and whether no error cut it short; None: no time was left.

        With patience, it is given up after so many clicks, and so many more after each page that is new.
        """
        indices: list[int] = []
        words: list[str] = []
        shown = Observation("")

        def way() -> ClickPath:
            return ClickPath(tuple(words), tuple(indices), seed, (), shown.text)

        before: Arrival | None = None
        noted = len(getattr(self.game, "errors", ()))
        now = Arrival(shown, arrival_of(self.game, shown).position)
        try:
            shown = self.game.reset(seed)
            now = arrival_of(self.game, shown)
            self.sightings.arrive(None, 0, now, way)
            while shown.actions and len(indices) < most and not is_stopped(self.game):
                if patience is not None and len(indices) > patience:
                    break
                if time.monotonic() > until:
                    return None
                before = now
                index = choose(now)
                indices.append(index)
                words.append(shown.actions[index])
                shown = self.game.step(index)
                now = arrival_of(self.game, shown)
                new = self.sightings.arrive(before, index, now, way)
                if patience is None:
                    self.sightings.gone[before.key, index, now.key] += 1
                elif new:
                    patience = max(patience, len(indices) + PATIENCE)
        except InputError as error:
            self.sightings.throw(f"{now.position.passage}: {error}", way)
            return now, len(indices), False
        finally:
            for thrown in list(getattr(self.game, "errors", ()))[noted:]:
                self.sightings.throw(f"{now.position.passage}: {thrown}", way)
            if len(indices) > len(self.sightings.longest):
                self.sightings.longest = way()
        return now, len(indices), True


def sampled_play(
    game: Game,
    games: int = GAMES,
    *,
    seconds: float = SECONDS,
    progress: Callable[[int], None] | None = None,
) -> SampledPlay:
    """Play games at random, by a fixed seed."""
    played = SampledGames(game, Sightings())
    until = time.monotonic() + seconds
    for number in range(games):
        if number > 1 and time.monotonic() > until:
            break
        played.play_randomly(math.inf)
        if progress:
            progress(number + 1)
    tally = played.tally
    seen = played.sightings.endings
    reward = mean_of(tally.rewards)
    steps = mean_of(tally.steps)
    stopped = share_of(tally.stopped, tally.games)
    assert reward and steps and stopped
    shares = {
        key: found
        for key, count in tally.endings.items()
        if (found := share_of(count, tally.games))
    }
    texts = {key: seen[key].text for key in shares}
    return SampledPlay(tally.games, step_limit_of(game), reward, steps, stopped, shares, texts)


def _pull(page: PageSeen) -> tuple[int, int]:
    """What draws a search to a page: seldom seen, and near."""
    return page.visits, len(page.path)
