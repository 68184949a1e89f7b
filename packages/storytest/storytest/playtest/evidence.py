"""Evidence: everything that games and searches observed in a story, with the clicks to each."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeGuard, TypeVar

from storytest.authored import AuthoredGame, Position
from storytest.playtest.clicks import ClickPath
from storytest.playtest.findings import Play
from storytest.twine.rules import Condition
from storytest.twine.script import Page
from storytest.twine.values import Value
from textgames.compiled.search import EndingId
from textgames.errors import InputError
from textgames.estimate import Estimate, mean_of, share_of
from textgames.game.contract import THE_END, Game, Observation, checked, ending_of
from textgames.wording import words

Key = TypeVar("Key")
Shares = Mapping[EndingId, Estimate | None]  # probability of each ending under a policy
MakePath = Callable[[], ClickPath]


@dataclass(frozen=True)
class Arrival:
    """A page that was reached, and the position of the story there."""

    page: Observation
    position: Position
    ending: EndingId | None  # if the page is one

    @cached_property
    def key(self) -> Hashable:
        """Identity of the page for a search: passage (elsewhere: text) and actions."""
        return (self.position.passage or self.page.text, self.page.actions, self.ending)


@dataclass
class PageRecord:
    """A page, the shortest clicks to it, and the pages that its actions led to."""

    passage: str
    actions: tuple[str, ...]
    path: ClickPath
    ending: EndingId | None = None
    successors: dict[int, set[Hashable]] = field(default_factory=dict)  # by index of the action
    visits: int = 0

    @property
    def untried(self) -> list[int]:
        """Indices of actions that were never taken."""
        return [index for index in range(len(self.actions)) if index not in self.successors]


@dataclass
class EndingRecord:
    """An ending that was reached."""

    path: ClickPath | None = None
    reward: float = 0.0
    text: str = ""
    variants: dict[str, None] = field(default_factory=dict)  # last words of its pages
    failure: ClickPath | None = None  # to a page of it that threw an error


@dataclass
class Tally:
    """The results of the games of one policy."""

    rewards: list[float] = field(default_factory=list)  # final ones; 0 without an ending
    returns: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    endings: Counter[EndingId] = field(default_factory=Counter)
    failed: int = 0  # games that ended in an error
    truncated: int = 0  # games that reached the step limit

    @property
    def games(self) -> int:
        return len(self.steps)

    def add(self, last: Arrival | None, total: float, steps: int) -> None:
        """Add a game by its last page, which a game that ended in an error lacks."""
        ending = last.ending if last else None
        self.steps.append(steps)
        self.returns.append(total)
        self.rewards.append(last.page.reward if last and ending else 0.0)
        if ending:
            self.endings[ending] += 1
        self.failed += last is None
        self.truncated += last is not None and ending is None

    def share(self, keys: Iterable[EndingId]) -> Estimate | None:
        """Estimate the share of games that reach one of some endings, if any were played."""
        return share_of(sum(self.endings[key] for key in keys), self.games)

    def shares(self, keys: Iterable[EndingId]) -> Shares:
        """Estimate the share of games that reach each ending."""
        return {key: self.share([key]) for key in keys}

    @property
    def play(self) -> Play | None:
        """The estimated scores, if a game was finished."""
        reward = mean_of(self.rewards)
        if reward is None:
            return None
        unfinished = share_of(self.truncated, self.games)
        return Play(reward, mean_of(self.returns), mean_of(self.steps), unfinished, self.games)


@dataclass
class Evidence:
    """What was observed so far."""

    forbidden: Mapping[str, Condition] = field(default_factory=dict)
    passages: dict[str, ClickPath] = field(default_factory=dict)
    # Pairs of passages shown on one page or on two consecutive pages.
    links: set[tuple[str, str]] = field(default_factory=set)
    pages: dict[Hashable, PageRecord] = field(default_factory=dict)
    endings: dict[EndingId, EndingRecord] = field(default_factory=dict)
    variables: dict[str, dict[str, Value]] = field(default_factory=dict)  # values by their repr
    below_zero: dict[str, ClickPath] = field(default_factory=dict)  # variables
    # Variables that every page with a passage had, and clicks to pages that lacked one.
    always_set: dict[str, set[str]] = field(default_factory=dict)
    unset: dict[tuple[str, str], ClickPath] = field(default_factory=dict)
    errors: dict[str, ClickPath] = field(default_factory=dict)  # by "passage: message"
    # By passage, kind and text.
    faults: dict[tuple[str, str, str], ClickPath] = field(default_factory=dict)
    asking: set[str] = field(default_factory=set)  # passages with text boxes
    violations: dict[str, ClickPath] = field(default_factory=dict)  # forbidden conditions that held
    taken: Counter[tuple[str, str]] = field(default_factory=Counter)  # passage, words of the action
    steps: Counter[tuple[Hashable, int, Hashable]] = field(default_factory=Counter)  # random games
    longest: ClickPath = field(default_factory=ClickPath)
    random: Tally = field(default_factory=Tally)
    words: list[int] = field(default_factory=list)  # of random games with an ending
    searching_games: int = 0
    states: int = 0
    complete: bool = False  # every state was visited
    max_values: int = 1_000  # recorded for one variable

    def arrive(self, before: Arrival | None, index: int, now: Arrival, path: MakePath) -> bool:
        """Record a page reached by an action on the page before. Report whether it is new."""
        passages = _passages(before, now)
        for name in passages:
            if name not in self.passages:
                self.passages[name] = path()
            elif self.passages[name].curious and not (usual := path()).curious:
                self.passages[name] = usual
        origins = before.position.shown if before else ()
        self.links.update((one, other) for one in (*origins, *passages) for other in passages)
        self._record_values(before, now, path)
        if now.position.asks:
            self.asking.add(now.position.passage)
        for error in now.position.errors:
            self.add_error(error, path)
        for kind, text in now.position.faults:
            _add_shorter(self.faults, (now.position.passage, kind, text), path)
        if now.ending:
            self._record_ending(now.ending, now, path())
        is_new = now.key not in self.pages
        if is_new:
            passage = now.position.passage
            self.pages[now.key] = PageRecord(passage, now.page.actions, path(), now.ending)
        self.pages[now.key].visits += 1
        if before is not None:
            self.taken[before.position.passage, before.page.actions[index]] += 1
            self.pages[before.key].successors.setdefault(index, set()).add(now.key)
        return is_new

    def merge(self, other: "Evidence") -> None:
        """Add what another process observed in the same story."""
        longest = max(self.longest, other.longest, key=len)
        for passage, names in other.always_set.items():
            self.always_set[passage] = self.always_set.get(passage, names) & names
        for name, values in other.variables.items():
            self.variables.setdefault(name, {}).update(values)
        for name in vars(self).keys() - {"forbidden", "always_set", "variables", "max_values"}:
            setattr(self, name, _sum(getattr(self, name), getattr(other, name)))
        self.longest = longest

    def add_error(self, error: str, path: MakePath) -> None:
        """Record an error, with the fewest clicks that led to it."""
        _add_shorter(self.errors, error, path)

    def _record_ending(self, key: EndingId, now: Arrival, path: ClickPath) -> None:
        record = self.endings.setdefault(key, EndingRecord())
        if record.path is None or len(path) < len(record.path):
            record.path = path
            record.reward = now.page.reward
            record.text = now.page.text
        if now.position.errors and record.failure is None:
            record.failure = path

    def _record_values(self, before: Arrival | None, now: Arrival, path: MakePath) -> None:
        variables = now.position.variables
        old = before.position.variables if before else {}
        for passage in now.position.shown:
            names = self.always_set.setdefault(passage, set(variables))
            for name in names - variables.keys():
                self.unset[passage, name] = path()
                names.discard(name)
        for name, value in variables.items():
            if _is_negative(value) and not _is_negative(old.get(name)):
                _add_shorter(self.below_zero, name, path)
            values = self.variables.setdefault(name, {})
            key = repr(value)  # true is not 1, although Python holds them equal
            if key not in values and len(values) < self.max_values:
                values[key] = value
        for text, condition in self.forbidden.items():
            if text not in self.violations and _holds(condition, now):
                self.violations[text] = path()


def is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_negative(value: Value) -> bool:
    return isinstance(value, (int, float)) and value < 0


def _add_shorter(paths: dict[Key, ClickPath], key: Key, path: MakePath) -> None:
    """Store the clicks to something, unless shorter or less curious ones are known."""
    if key not in paths:
        paths[key] = path()
    elif len(paths[key]) > 1 or paths[key].curious:
        paths[key] = _sum(paths[key], path())


def _sum(mine: Any, theirs: Any) -> Any:
    """Unite what two processes observed: counts add up, and the better path stays."""
    if mine is None or theirs is None:
        return theirs if mine is None else mine
    if isinstance(mine, ClickPath):
        return min(mine, theirs, key=lambda path: (path.curious, len(path)))
    if isinstance(mine, (Counter, list)) or type(mine) is int:
        return mine + theirs
    if isinstance(mine, set):
        return mine | theirs
    if isinstance(mine, dict):
        for key, value in theirs.items():
            mine[key] = _sum(mine.get(key), value)
    elif isinstance(mine, (PageRecord, EndingRecord, Tally)):
        for name, value in vars(theirs).items():
            setattr(mine, name, _sum(getattr(mine, name), value))
    return mine


def _passages(before: Arrival | None, now: Arrival) -> tuple[str, ...]:
    """The passages since the page before: on the page, or passed through by an engine."""
    history = now.position.history
    past = before.position.history if before else ()
    through = history[len(past) :] if history[: len(past)] == past else ()
    return tuple(dict.fromkeys((*through, *now.position.shown)))


def _holds(condition: Condition, now: Arrival) -> bool:
    page = Page(now.position.passage, {}, {}, now.position.cells, lambda _: 0)
    try:
        return condition.holds(page, now.page.text)
    except InputError:  # such as a comparison with text
        return False


def arrival_of(game: Game, page: Observation, state: Any = None) -> Arrival:
    """The arrival at a page, which shows a state. The default is the state of the game."""
    if isinstance(game, AuthoredGame):
        state = game.state if state is None else state
        return Arrival(page, game.position_at(state), game.face_at(state).ending)
    page = checked(game, page)
    name = ending_of(game, page)
    if name and state is not None:
        ending_at = getattr(game, "ending_at", None)
        name = ending_at(state) if ending_at else THE_END
    return Arrival(page, Position(), EndingId(name, None, page.text, page.reward) if name else None)


@lru_cache(maxsize=4096)
def count_words(text: str) -> int:
    return len(words(text))
