"""The survey of a game that can only be stepped: what random games show of it, with standard errors."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from drrn.game.contract import Game, Observation, checked
from drrn.game.episodes import Episode
from drrn.game.optional import ending_of, is_stopped, step_limit_of, title_of
from drrn.stories.playtest.sampled import SampledValue, mean_of, share_of
from drrn.stories.playtest.survey import last_words
from drrn.text import words

# at most
STEPPED_GAMES = 200
STEPPED_SECONDS = 30.0

PlayProgress = Callable[[int, int], None]  # games that were finished, and steps


@dataclass(frozen=True)
class EndingMet:
    """An ending that random games came to."""

    name: str
    share: SampledValue  # of all games
    returns: SampledValue  # of the games that ended so
    fewest_steps: int
    last_words: str


@dataclass(frozen=True)
class MenuSizes:
    """How many actions were shown at once."""

    least: int
    mean: float
    most: int


@dataclass(frozen=True)
class SteppedSurvey:
    """What random games met. Counts of what was seen are lower bounds; means and shares have standard errors."""

    name: str
    title: str
    why_not: str  # why it is not exact
    note: str  # the game's own, on its seeds
    games: int
    seconds: float
    interrupted: bool
    max_steps: int
    steps_taken: int
    pages: int  # distinct texts
    actions: int  # distinct texts
    state_vocabulary: int
    action_vocabulary: int
    words_per_description: float
    menus: MenuSizes
    returns: SampledValue | None  # None, as below: no game was finished
    best_return: float | None
    final_reward: SampledValue | None
    steps: SampledValue | None
    stopped: SampledValue | None
    endings: list[EndingMet] = field(default_factory=list)


@dataclass
class _Met:
    """What has been met so far."""

    pages: dict[str, int] = field(
        default_factory=dict
    )  # each distinct text, and how many words it has
    actions: set[str] = field(default_factory=set)
    menus: Counter[int] = field(default_factory=Counter)
    steps_taken: int = 0
    played: list[Episode] = field(default_factory=list)
    last_words: dict[str, str] = field(default_factory=dict)  # of each ending

    def see(self, shown: Observation) -> None:
        if shown.text not in self.pages:
            self.pages[shown.text] = len(words(shown.text))
        self.actions.update(shown.actions)
        if shown.actions:
            self.menus[len(shown.actions)] += 1


def stepped_survey(
    game: Game,
    why_not: str,
    games: int = STEPPED_GAMES,
    *,
    seconds: float = STEPPED_SECONDS,
    progress: PlayProgress | None = None,
) -> SteppedSurvey:
    """Play games at random, by fixed seeds, and count. Ctrl-C ends it, and what was found until then is told; a game
    that the clock or Ctrl-C cuts short counts for what it showed, not for its outcome."""
    met = _Met()
    begun = time.monotonic()
    interrupted = False
    try:
        while len(met.played) < games and (not met.pages or time.monotonic() < begun + seconds):
            _play(game, len(met.played), met, begun + seconds, progress)
    except KeyboardInterrupt:
        interrupted = True
        if not met.pages:  # nothing to tell
            raise
    return _counted(game, why_not, met, time.monotonic() - begun, interrupted)


def _play(game: Game, seed: int, met: _Met, until: float, progress: PlayProgress | None) -> None:
    """One game; where its time is over it is left, and no outcome of it is noted."""
    choose = random.Random(seed)
    total = 0.0
    steps = 0
    shown = checked(game, game.reset(seed))
    met.see(shown)
    while shown.actions and steps < step_limit_of(game) and not (steps and is_stopped(game)):
        if time.monotonic() > until:
            return
        shown = checked(game, game.step(choose.randrange(len(shown.actions))))
        total = total + shown.reward
        steps = steps + 1
        met.steps_taken = met.steps_taken + 1
        met.see(shown)
        if progress:
            progress(len(met.played), met.steps_taken)
    ending = ending_of(game, shown)
    if ending is not None:
        met.last_words.setdefault(ending, last_words(shown.text))
    met.played.append(Episode(shown.reward if shown.ended else 0.0, total, steps, ending))


def _counted(
    game: Game, why_not: str, met: _Met, seconds: float, interrupted: bool
) -> SteppedSurvey:
    played = met.played
    totals = [episode.total for episode in met.played]
    stopped = sum(episode.ending is None for episode in played)
    return SteppedSurvey(
        name=game.name,
        title=title_of(game),
        why_not=why_not,
        note=str(getattr(game, "note", "") or ""),
        games=len(played),
        seconds=seconds,
        interrupted=interrupted,
        max_steps=step_limit_of(game),
        steps_taken=met.steps_taken,
        pages=len(met.pages),
        actions=len(met.actions),
        state_vocabulary=len(_vocabulary(met.pages)),
        action_vocabulary=len(_vocabulary(met.actions)),
        words_per_description=sum(met.pages.values()) / len(met.pages),
        menus=_sizes(met.menus),
        returns=mean_of(totals),
        best_return=max(totals, default=None),
        final_reward=mean_of([episode.final_reward for episode in played]),
        steps=mean_of([episode.steps for episode in played]),
        stopped=share_of(stopped, len(played)),
        endings=_endings_met(met),
    )


def _sizes(menus: Counter[int]) -> MenuSizes:
    shown = sum(size * times for size, times in menus.items())
    return MenuSizes(min(menus, default=0), shown / max(1, menus.total()), max(menus, default=0))


def _endings_met(met: _Met) -> list[EndingMet]:
    """The most frequent first."""
    by_name: dict[str, list[Episode]] = {}
    for episode in met.played:
        if episode.ending is not None:
            by_name.setdefault(episode.ending, []).append(episode)
    found = []
    for name, episodes in by_name.items():
        share = share_of(len(episodes), len(met.played))
        returns = mean_of([episode.total for episode in episodes])
        assert share is not None
        assert returns is not None
        fewest = min(episode.steps for episode in episodes)
        found.append(EndingMet(name, share, returns, fewest, met.last_words[name]))
    return sorted(found, key=lambda ending: (-ending.share.mean, ending.name))


def _vocabulary(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in words(text)}
