"""A survey of a game by random play, which chooses settings that the user has not changed.

The questions are statistical. Would a player act better if it knew an earlier page (history), or
the order of the words (order)? Which words of long pages that never recur matter at all (words)?
The actions that seem best in one half of the episodes are compared in the other half, so that
chance alone gains nothing.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.learning.equations import BackwardOrder, group_means, monte_carlo
from drrn.learning.experience import reward_factor
from drrn.reading import ON_PAGE, Lookup
from drrn.settings import STRONG, Settings
from textgames.arrays import Ids
from textgames.compiled.history import History
from textgames.game.contract import Game
from textgames.game.episodes import episode, random_policy
from textgames.wording import words

log = logging.getLogger("textgames")

Floats = NDArray[np.float64]

# For parser games. Most commands do nothing: the memory plans after every few episodes, and the
# network learns the order of the commands of a page, since their values hardly differ. All
# commands are known, so that no noise is needed to prepare for others.
PARSER_GAME: dict[str, Any] = {
    "listwise": True,
    "phrases": True,
    "trace": 0.0,
    "sweeps": 30,
    "replan": 5,
    "optimism_count": 0.03,
    "alpha_relative": True,
    "alpha_spread": True,
    "state_dropout": 0.0,
    "action_dropout": 0.0,
    "action_noise": 0.0,
}


def track(items: Iterable[int], total: int, label: str) -> Iterable[int]:
    """The items. `drrn train` replaces this function by a progress bar."""
    return items


@dataclass(frozen=True)
class Rules:
    """How much a survey plays, and from when on a result changes a setting."""

    episodes: int = 400  # episodes of random play
    steps: int = 10_000  # steps after which a survey ends early
    shortest_run: int = 800  # least number of episodes of a run that is surveyed
    lag: int = 8  # number of earlier pages that are compared
    clear: float = 4.0  # standard errors from which a difference is believed
    clear_word: float = 5.0  # the same for a word; thousands of words are tested
    long_episode: float = 50  # steps of an episode from which the discount is closer to 1
    long_page: int = 25  # words of a page from which most of them may be irrelevant
    visits: float = 6  # visits of a pair before its own mean is trusted
    pages: int = 6  # least number of pages with a mark that is tested
    commands: int = 32  # least number of actions on every page of a parser game
    idle: float = 0.1  # least share of steps in a parser game that lead back to the page
    covered: float = 0.9  # least share of pages with a word that matters


RULES = Rules()


@dataclass(frozen=True)
class Survey:
    """What random play reveals about a game."""

    length: float  # mean number of steps of an episode
    late: bool  # whether most of the rewards come at the end of an episode
    history: int  # the earliest page before the present one that matters; 0: none
    order: bool  # whether the order of words matters
    matches: bool  # whether the words of an action on the page, and the words there, matter
    words: tuple[str, ...] | None  # those of pages that matter; None: all may
    spread: float  # of the returns of episodes, 0 included
    visits: float  # mean number of times that a pair of a page and an action was tried
    commands: bool  # whether every page has the same many actions, which often do nothing
    hidden: bool  # whether the first choice changes later rewards, although pages do not show it
    sample: Sample


@dataclass(frozen=True)
class Sample:
    """The steps of random episodes, in the order of play."""

    texts: list[str]  # distinct texts of pages
    actions: list[str]  # distinct texts of actions
    marks: list[tuple[str, ...]]  # [N] of the action, see `reading.Lookup`
    page: Ids  # [N] index of the text
    action: Ids  # [N] index of the action's text
    reward: Floats  # [N]
    last: NDArray[np.bool_]  # [N]
    menus: set[frozenset[str]]  # the distinct menus

    @property
    def targets(self) -> tuple[Floats, Floats]:
        """The reward and the undiscounted return of each step."""
        none = np.zeros(len(self.page))
        return self.reward, monte_carlo(BackwardOrder.of(self.last), self.reward, none, 1.0)

    @property
    def pair(self) -> Ids:
        """A number for the page and the action of each step."""
        return np.asarray(self.page * (int(self.action.max()) + 1) + self.action)

    @property
    def number(self) -> Ids:
        """The episode of each step."""
        return np.asarray(np.cumsum(self.last) - self.last)

    @property
    def starts(self) -> Ids:
        """The first step of each step's episode."""
        return np.asarray(np.append(0, np.flatnonzero(self.last)[:-1] + 1)[self.number])

    def with_history(self, length: int) -> Sample:
        """The same steps, with earlier pages in the texts as in `compiled.history`."""
        texts: dict[str, int] = {}
        pages = []
        history = History(length)
        for page, action, is_last in zip(self.page, self.action, self.last, strict=True):
            text = self.texts[page]
            pages.append(texts.setdefault(history.prepend_to(text), len(texts)))
            history = History(length) if is_last else history.add(text, self.actions[action])
        return replace(self, texts=list(texts), page=np.array(pages, np.int64))


def survey(game: Game, rules: Rules = RULES) -> Survey:
    """Play random episodes with a fixed seed, and answer the questions."""
    sample = play(game, rules)
    if not len(sample.page):
        return Survey(0.0, False, 0, False, False, None, 0.0, math.inf, False, False, sample)
    size = np.abs(sample.reward)
    totals = np.append(np.bincount(sample.number, sample.reward), 0.0)
    return Survey(
        length=len(sample.page) / int(sample.last.sum()),
        late=float(size[sample.last].sum()) > 0.5 * float(size.sum()),
        history=history_needed(sample, rules),
        order=order_matters(sample, rules),
        matches=matches_matter(sample, rules),
        words=words_that_matter(sample, rules),
        spread=float(np.ptp(totals)),
        visits=len(sample.page) / len(np.unique(sample.pair)),
        commands=has_commands(sample, rules),
        hidden=first_choice_is_hidden(sample, rules),
        sample=sample,
    )


def play(game: Game, rules: Rules = RULES) -> Sample:
    """Play random episodes."""
    texts: dict[str, int] = {}
    actions: dict[str, int] = {}
    columns: dict[str, list[Any]] = {name: [] for name in ("page", "action", "reward", "last")}
    marks: list[tuple[str, ...]] = []
    menus: set[frozenset[str]] = set()
    policy = random_policy(0)
    for number in track(range(rules.episodes), rules.episodes, "survey"):
        steps = list(episode(game, policy, number))
        for before, after in pairwise(steps):
            assert after.index is not None
            text = before.page.text
            menu = before.page.actions
            menus.add(frozenset(menu))
            columns["page"].append(texts.setdefault(text, len(texts)))
            columns["action"].append(actions.setdefault(menu[after.index], len(actions)))
            columns["reward"].append(float(after.page.reward))
            columns["last"].append(after is steps[-1])
            own = Lookup(text, menu).marks(after.index) if len(menu) > 1 else []
            marks.append((*dict.fromkeys(own), f"{own.count(ON_PAGE)} on the page"))
        if len(marks) >= rules.steps:
            break
    arrays = {name: np.array(values) for name, values in columns.items()}
    return Sample(texts=list(texts), actions=list(actions), marks=marks, menus=menus, **arrays)


def has_commands(sample: Sample, rules: Rules) -> bool:
    """Whether the game seems to be a parser game."""
    back = float(((sample.page[1:] == sample.page[:-1]) & ~sample.last[:-1]).mean())
    by_chance = float(((np.bincount(sample.page) / len(sample.page)) ** 2).sum())
    widest = max(map(len, sample.menus))
    return (
        len(sample.menus) == 1
        and widest >= rules.commands
        and back > max(rules.idle, 2 * by_chance)
    )


def first_choice_is_hidden(sample: Sample, rules: Rules) -> bool:
    """Whether rewards depend on the first choice, more than a few steps before (χ² test)."""
    first = sample.starts
    later = first + rules.lag < np.arange(len(first))
    if not later.any():
        return False
    choice = sample.pair[first][later]
    pages, page = np.unique(sample.page[later], return_inverse=True)
    reward = sample.reward[later] - group_means(page, sample.reward[later])
    variance = group_means(page, reward**2)
    cells, cell = np.unique(np.stack([page, choice]), axis=1, return_inverse=True)
    between = group_means(cell, reward) ** 2 / np.maximum(variance, 1e-12)
    freedom = cells.shape[1] - len(pages)
    return bool(between.sum() - freedom > rules.clear * math.sqrt(2 * freedom))


def history_needed(sample: Sample, rules: Rules) -> int:
    """The earliest of the last pages, or actions on them, whose knowledge pays."""
    step = np.arange(len(sample.page))
    start = step - sample.starts
    earliest = 0
    for lag in range(1, rules.lag + 1):
        for column in (sample.page, sample.action):
            key = np.where(start >= lag, column[step - lag], -1)
            if advantage(sample, sample.page, key) > rules.clear:
                earliest = lag
    return earliest


def order_matters(sample: Sample, rules: Rules) -> bool:
    """Whether the order of the words on a page pays, given which words it has."""
    bags: dict[tuple[str, ...], int] = {}
    bag = [bags.setdefault(tuple(sorted(words(text))), len(bags)) for text in sample.texts]
    if len(bags) == len(sample.texts):
        return False
    return advantage(sample, np.array(bag)[sample.page], sample.page) > rules.clear


def advantage(sample: Sample, page: Ids, key: Ids) -> float:
    """How much more a player gets who knows a key of each page, in standard errors."""
    half = sample.number % 2
    scores = []
    for target in sample.targets:
        parts = [_gains(page, key, sample.action, target, half == side) for side in (0, 1)]
        gains = np.concatenate([gain for gain, _ in parts])
        variance = sum(float(variances.sum()) for _, variances in parts)
        if len(gains) < 2 or variance <= 0:
            continue
        # The spread of the gains is a second estimate of the error, for rewards with outliers.
        spread = float(((gains - gains.mean()) ** 2).sum())
        scores.append(float(gains.sum()) / math.sqrt(max(variance, spread)))
    return max(scores, default=0.0)


def _gains(
    page: Ids, key: Ids, action: Ids, target: Floats, fit: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """The gain by each (page, key), and its variance.

    The best action of the page, and of the page with this key, is chosen on the steps `fit`. They
    are compared on the other steps.
    """
    pages, page_of = np.unique(page, return_inverse=True)
    groups, group = np.unique(np.stack([page_of, key]), axis=1, return_inverse=True)
    count = int(action.max()) + 1
    cells, cell = np.unique(group * count + action, return_inverse=True)
    sums = [np.bincount(cell[on], target[on], len(cells)) for on in (fit, ~fit)]
    counts = [np.bincount(cell[on], minlength=len(cells)) for on in (fit, ~fit)]
    variance = np.bincount(page_of, target**2) / np.bincount(page_of)
    variance -= (np.bincount(page_of, target) / np.bincount(page_of)) ** 2
    owner = groups[0][cells // count]  # the page of each cell
    pairs, pair = np.unique(owner * count + cells % count, return_inverse=True)
    tries = np.bincount(pair, counts[0])
    means = _means(np.bincount(pair, sums[0]), tries)
    usual = pairs[_best(pairs // count, means, len(pages))] % count  # of each page
    informed = cells[_best(cells // count, _means(sums[0], counts[0]), groups.shape[1])]
    default = np.arange(groups.shape[1]) * count + usual[groups[0]]
    at = np.minimum(np.searchsorted(cells, default), len(cells) - 1)
    one = np.searchsorted(cells, informed)
    n = counts[1]
    compared = (cells[at] == default) & (one != at) & (n[at] > 0) & (n[one] > 0)
    one = one[compared]
    at = at[compared]
    weight = np.bincount(group[~fit], minlength=groups.shape[1])[compared]
    difference = sums[1][one] / n[one] - sums[1][at] / n[at]
    error = variance[groups[0][compared]] * (1 / n[one] + 1 / n[at])
    return weight * difference, weight**2 * error


def _means(sums: NDArray[Any], counts: NDArray[Any]) -> Floats:
    return np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)


def _best(owner: Ids, values: Floats, owners: int) -> Ids:
    """The index of the largest value of each owner. Owners are ascending and complete."""
    order = np.lexsort((values, owner))
    ends = np.cumsum(np.bincount(owner, minlength=owners)) - 1
    return np.asarray(order[ends])


def matches_matter(sample: Sample, rules: Rules) -> bool:
    """Whether to mark the words of actions that are on the page.

    If most pairs of a page and an action are new, the words that they share are all that can be
    learned from others. Otherwise, marks must say what an action earns over several pages.
    """
    actions = int(sample.action.max()) + 1
    pairs, pair = np.unique(sample.pair, return_inverse=True)
    if 2 * len(pairs) > len(pair):
        return True
    representative = np.unique(pair, return_index=True)[1]
    marks = [sample.marks[step] for step in representative.tolist()]
    for target in sample.targets:
        value = np.bincount(pair, target) / np.bincount(pair)
        for action in np.unique(sample.action):
            some = np.flatnonzero(pairs % actions == action)
            occurrences = _occurrences([marks[at] for at in some])
            if any(_differs(value[some], on, rules) for on in occurrences):
                return True
    return False


def _occurrences(marks: Sequence[Sequence[str]]) -> Iterable[NDArray[np.bool_]]:
    """Yield for each mark in which of the lists it occurs."""
    occurrences: dict[str, NDArray[np.bool_]] = {}
    for at, own in enumerate(marks):
        for mark in own:
            occurrences.setdefault(mark, np.zeros(len(marks), bool))[at] = True
    return occurrences.values()


def _differs(values: Floats, on: NDArray[np.bool_], rules: Rules) -> bool:
    """Whether the means of two groups differ clearly (Welch's t)."""
    groups = (values[on], values[~on])
    if min(map(len, groups)) < rules.pages:
        return False
    error = sum(float(group.var(ddof=1)) / len(group) for group in groups)
    difference = abs(float(groups[0].mean() - groups[1].mean()))
    return difference > rules.clear * math.sqrt(error) + 1e-12


def words_that_matter(sample: Sample, rules: Rules) -> tuple[str, ...] | None:
    """The words of pages that change what an action earns, if pages are long and new."""
    spelled = [tuple(dict.fromkeys(words(text))) for text in sample.texts]
    lengths = [len(each) for each in spelled]
    if 2 * len(sample.texts) < len(sample.page) or np.median(lengths or [0]) < rules.long_page:
        return None
    important = influential(sample, [spelled[page] for page in sample.page], rules)
    covered = [not important.isdisjoint(each) for each in spelled]
    return tuple(sorted(important)) if np.mean(covered) >= rules.covered else None


def influential(sample: Sample, tokens: Sequence[Sequence[str]], rules: Rules) -> set[str]:
    """The tokens that change what an action earns, given the tokens of each step."""
    numbers: dict[str, int] = {}
    token = np.array([numbers.setdefault(t, len(numbers)) for own in tokens for t in own], np.int64)
    step = np.repeat(np.arange(len(tokens)), [len(own) for own in tokens])
    actions = int(sample.action.max()) + 1
    cells, cell = np.unique(token * actions + sample.action[step], return_inverse=True)
    counts = np.bincount(cell)
    is_clear = np.zeros(len(cells), bool)
    for target in sample.targets:
        means = np.bincount(sample.action, target) / np.maximum(np.bincount(sample.action), 1)
        residual = target - means[sample.action]
        sums = np.bincount(cell, residual[step])
        error = np.sqrt(counts * residual.var())
        is_clear |= (counts > 1) & (np.abs(sums) > rules.clear_word * error)
    spelled = list(numbers)
    return {spelled[number] for number in (cells[is_clear] // actions).tolist()}


def choose(
    settings: Settings, game: Game, words: Sequence[str] | None = None, rules: Rules = RULES
) -> tuple[Settings, Sequence[str]]:
    """The settings for a game, and the words of pages to read (none: all).

    Only settings change that the user has not given and that have the strong recipe's value. A
    short run is not surveyed, even if it is resumed with more rounds. A resumed run keeps the words
    that were selected.
    """
    run = settings.run
    result = None
    is_long = run.rounds * run.episodes_per_round >= rules.shortest_run
    if run.survey and not run.interactions and is_long:
        result = survey(game, rules)
    changes = _changes(settings, result, rules) if result else {}
    if changes:
        text = ", ".join(f"{name}={value}".lower() for name, value in changes.items())
        log.warning("%s: the survey chose %s (--no-survey turns it off)", game.name, text)
    settings = settings.replace(survey=False, **changes)
    if words is not None or not settings.model.select_words:
        return settings, words or ()
    sample = (result.sample if result else play(game, rules)).with_history(settings.run.history)
    return settings, words_that_matter(sample, rules) or ()


def _changes(settings: Settings, result: Survey, rules: Rules) -> dict[str, Any]:
    usual = STRONG.flat()
    changed = {name for name, value in settings.flat().items() if value != usual[name]}
    given = settings.given | changed
    if "alpha" in given:  # a given α is absolute
        given |= {"alpha_relative", "alpha_spread"}
    every = suggestions(result, rules).items()
    return {name: value for name, value in every if name not in given and settings.uses(name)}


def suggestions(result: Survey, rules: Rules = RULES) -> dict[str, Any]:
    """The settings that suit a game, by flat name. Stories need none."""
    changes: dict[str, Any] = {"history": result.history} if result.history else {}
    if result.commands:
        return changes | PARSER_GAME
    if result.length > rules.long_episode:
        changes |= {"advantages": True, "alpha_spread": True}
    if result.length > rules.long_episode and result.late:
        changes |= {"discount": round(1 - 1 / result.length, 5), "returns": "monte-carlo"}
    if result.spread and not 0.5 <= reward_factor(result.spread) <= 2:
        changes |= {"alpha_relative": True, "advantages": True, "alpha_spread": True}
        if result.hidden:  # a sharp policy cuts the traces of Retrace
            changes["returns"] = "monte-carlo"
    if result.visits < rules.visits:
        changes |= {"trace": 0.5, "pseudo_count": 10.0}
    if result.order or result.matches:
        changes |= {"matches": True} if result.matches else {"matches": True, "phrases": True}
    if result.words:
        changes["select_words"] = True
    return changes
