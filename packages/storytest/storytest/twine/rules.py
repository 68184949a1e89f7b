"""Reward rules and expectations of a story, from the TOML next to it."""

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from storytest.twine.paraphrases import DEFAULT_SET
from storytest.twine.patterns import Pattern
from storytest.twine.script import Expression, ExpressionError, Facts, Page, Script
from storytest.twine.story import RECOGNITION, unescape_html
from storytest.twine.twine1.expressions import parse
from storytest.twine.values import truth
from textgames.errors import InputError, did_you_mean
from textgames.files import read_text, read_toml

# Kinds of problems that `storytest` reports, in the order of the report.
PROBLEM_KINDS: list[str] = RECOGNITION["problem_kinds"]

# Fingerprints of stories hash the names and the order of the fields of Condition, Payment and
# Rules: do not change them.


@dataclass(frozen=True)
class Condition:
    """Holds if all its parts hold. Displayed passages count like the page's own passage.

    `where` is an expression of Twine 1, which `check_rules` parses.
    """

    passage: str | None = None
    contains: str | None = None
    starts_with: str | None = None
    ends_with: str | None = None
    regex: str | None = None
    tag: str | None = None
    where: str | None = None

    _regex: Pattern | None = field(default=None, init=False, compare=False, repr=False)
    _where: Expression | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_regex", Pattern(self.regex) if self.regex is not None else None)

    def holds(self, page: Page, text: str) -> bool:
        return (
            (self.passage is None or self.passage in page.passages)
            and (self.contains is None or self.contains in text)
            and (self.starts_with is None or text.startswith(self.starts_with))
            and (self.ends_with is None or text.endswith(self.ends_with))
            and (self._regex is None or self._regex.search(text))
            and (self.tag is None or any(self.tag in page.tags[name] for name in page.passages))
            and (self.where is None or truth(self._where(page)))  # type: ignore[misc]
        )

    @property
    def parts(self) -> dict[str, str]:
        """The parts by key, without those that are None."""
        parts = ((key, getattr(self, key)) for key in CONDITION_KEYS)
        return {key: value for key, value in parts if value is not None}


CONDITION_KEYS = tuple(f.name for f in fields(Condition) if f.init)


@dataclass(frozen=True)
class Payment:
    """The reward of an ending or of an event."""

    condition: Condition
    reward: float


@dataclass(frozen=True)
class Bound:
    """A comparison with a number, such as `>= 20` or `< 2 %`."""

    sign: str
    number: float  # 0.02 for 2 %
    text: str

    def holds(self, value: float) -> bool:
        """Compare a value. Differences below a billionth count as equality."""
        if abs(value - self.number) <= 1e-9 * max(1.0, abs(self.number)):
            return "=" in self.sign
        return self.sign[0] == ("<" if value < self.number else ">")

    @property
    def wants_more(self) -> bool:
        """Whether larger values only help, so that a partial result can prove the bound."""
        return self.sign in (">=", ">")


@dataclass(frozen=True)
class Expectation:
    """One [[expect]] of a TOML, which `storytest` checks."""

    line: int  # of its [[expect]]
    ending: str | None = None  # a passage, or words of the last page
    odds: Bound | None = None  # of that ending in random play
    reachable: str | None = None  # a passage
    never: str | None = None  # a condition like `where`
    always_ends: bool = False
    at_most_steps: int | None = None
    best: Bound | None = None  # the final reward of the best play

    @property
    def text(self) -> str:
        if self.ending is not None:
            claim = f"has odds {self.odds.text}" if self.odds else "can be reached"
            return f'ending "{self.ending}" {claim}'
        if self.reachable is not None:
            return f'passage "{self.reachable}" can be reached'
        if self.never is not None:
            return f"never {self.never}"
        if self.at_most_steps is not None:
            return f"at most {self.at_most_steps:,} clicks"
        return f"best play is worth {self.best.text}" if self.best else "the story always ends"


@dataclass(frozen=True)
class Rules:
    """The contents of a TOML. A story without one has `Rules()`."""

    title: str = ""
    story: Path | None = None
    paraphrases: Mapping[str, Path] = field(default_factory=dict)  # files, by the set's name
    step_reward: float = 0.0
    max_steps: int = 500
    default_reward: float = 0.0
    ends: tuple[Condition, ...] = ()
    drop: tuple[str, ...] = ()  # patterns of links that are not actions
    restart: tuple[str, ...] | None = None  # patterns of restart links; None: recognise them
    inputs: Mapping[str, str] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)  # settings that suit the game
    endings: tuple[Payment, ...] = ()
    events: tuple[Payment, ...] = ()
    expectations: tuple[Expectation, ...] = ()  # not part of play
    forbidden: Mapping[str, Condition] = field(default_factory=dict)  # `never`, by its source
    # Kinds of problems that do not count, with their passages; (): in all. Not part of play.
    allow: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        patterns = [Pattern(pattern, re.I) for pattern in (*self.drop, *(self.restart or ()))]
        object.__setattr__(self, "_dropped", patterns)

    def is_action(self, label: str) -> bool:
        return not any(pattern.search(label) for pattern in self._dropped)  # type: ignore[attr-defined]

    def stops(self, page: Page, text: str) -> bool:
        return any(condition.holds(page, text) for condition in self.ends)

    def allows(self, kind: str, passage: str) -> bool:
        """Whether [allow] has a kind of problem, for all passages or for this one."""
        passages = self.allow.get(kind)
        return passages is not None and (not passages or passage in passages)

    def ending_name(self, rule: int | None, passage: str) -> str:
        """The passage that an ending is named after: its rule's, or else its own."""
        of_rule = self.endings[rule].condition.passage if rule is not None else None
        return of_rule or passage

    def judge(
        self, page: Page, text: str, *, ended: bool, opening: bool
    ) -> tuple[int | None, float]:
        """The index of the first ending rule that holds, and the reward of a page.

        The opening pays no step reward and no events. Each event pays once in an episode.
        """
        rule = None
        reward = 0.0 if opening else self.step_reward
        if ended:
            indices = (i for i, one in enumerate(self.endings) if one.condition.holds(page, text))
            rule = next(indices, None)
            reward = self.default_reward if rule is None else self.endings[rule].reward
        events = 0.0
        for i, event in enumerate(() if opening else self.events):
            if event.condition.holds(page, text) and not page.read(f"paid {i}"):
                page.write(f"paid {i}", True)
                events += event.reward
        return rule, reward + events


# --- reading

Reader = Callable[[Any], Any]  # converts a value, or raises InputError


@contextmanager
def _at(location: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"{location}: {error}") from error


def read_rules(path: Path) -> Rules:
    """Read the rules of a TOML file. An `InputError` names the key of a mistake."""
    table = read_toml(path)
    text = read_text(path)
    with _at(str(path)):
        values = _read(table, READERS)
        if "story" not in values:
            raise InputError('it names no story; add story = "your-story.twee"')
        values["story"] = _file_beside(path, values["story"], "story")
        sets = values.get("paraphrases", {}).items()
        values["paraphrases"] = {
            name: _file_beside(path, file, f"paraphrases.{name}") for name, file in sets
        }
        values["endings"] = _payments(values.pop("ending", []), "[[ending]]")
        values["events"] = _payments(values.pop("event", []), "[[event]]")
    expectations = read_expectations(values.pop("expect", []), text, path)
    nevers = [expected.never for expected in expectations if expected.never is not None]
    forbidden = {never: Condition(where=never) for never in nevers}
    return Rules(**values, expectations=expectations, forbidden=forbidden)


def _read(table: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    values = {}
    for key, value in table.items():
        if key not in readers:
            near = did_you_mean(key, readers)
            raise InputError(f'unknown key "{key}".{near} Known: {", ".join(readers)}')
        with _at(key):
            values[key] = readers[key](value)
    return values


def _file_beside(path: Path, name: str, key: str) -> Path:
    file = path.parent / name
    if not file.is_file() and not (key == "story" and file.is_dir()):
        raise InputError(f'{key} names "{file.name}", which is not a file in its folder')
    return file


def _checked(holds: Callable[[Any], bool], what: str, convert: Reader = lambda v: v) -> Reader:
    def read(value: Any) -> Any:
        if not holds(value):
            raise InputError(f"must be {what}, not {value!r:.40}")
        return convert(value)

    return read


def _whole(most: int) -> Reader:
    what = f"a whole number from 1 to {most:,}"
    return _checked(lambda v: type(v) is int and 1 <= v <= most, what)


_text = _checked(lambda v: isinstance(v, str), "text in quotes")
_table = _checked(lambda v: isinstance(v, dict), "a table")
_tables = _checked(lambda v: isinstance(v, list), "a list of tables")
_true = _checked(lambda v: v is True, "true (or left out)")
_names = _checked(
    lambda v: isinstance(v, list) and all(isinstance(name, str) for name in v),
    "a list of passages",
    tuple,
)
_number = _checked(
    lambda v: type(v) in (int, float) and abs(v) <= 1e9, "a number, at most a billion", float
)


def _condition(table: Any) -> Condition:
    parts = _read(_table(table), dict.fromkeys(CONDITION_KEYS, _text))
    if not parts:
        raise InputError(f"give at least one of {', '.join(CONDITION_KEYS)}")
    try:
        return Condition(**parts)
    except re.error as error:
        raise InputError(f"regex {parts['regex']!r} cannot be used: {error}") from error


def _conditions(value: Any) -> tuple[Condition, ...]:
    return tuple(map(_condition, value if isinstance(value, list) else [value]))


def _payments(tables: list[Any], kind: str) -> tuple[Payment, ...]:
    payments = []
    for number, table in enumerate(tables, 1):
        with _at(f"{kind} {number}"):
            parts = dict(_table(table))
            reward = parts.pop("reward", None)
            condition = _condition(parts)
            if reward is None:
                raise InputError("it has no reward; add one, such as reward = 10")
            payments.append(Payment(condition, **_read({"reward": reward}, {"reward": _number})))
    return tuple(payments)


def _patterns(value: Any) -> tuple[str, ...]:
    patterns = (value,) if isinstance(value, str) else tuple(value)
    for pattern in patterns:
        try:
            Pattern(pattern, re.I)
        except (re.error, TypeError) as error:
            raise InputError(f"the pattern {pattern!r} cannot be used: {error}") from error
    return patterns


def _inputs(value: Any) -> dict[str, str]:
    return {name.lstrip("$"): str(answer) for name, answer in _table(value).items()}


def _paraphrase_files(value: Any) -> dict[str, str]:
    sets = {DEFAULT_SET: value} if isinstance(value, str) else _table(value)
    return _read(sets, dict.fromkeys(sets, _text))


def _allowed(value: Any) -> dict[str, tuple[str, ...]]:
    """Read a list of kinds of problems, or a table of their passages by kind."""
    if isinstance(value, list):
        value = {str(kind): [] for kind in value}
    return _read(_table(value), dict.fromkeys(PROBLEM_KINDS, _names))


READERS: dict[str, Reader] = {
    "title": _text,
    "story": _text,
    "paraphrases": _paraphrase_files,
    "step_reward": _number,
    "max_steps": _whole(10**9),
    "default_reward": _number,
    "ends": _conditions,
    "drop": _patterns,
    "restart": _patterns,
    "inputs": _inputs,
    "training": _table,
    "ending": _tables,
    "event": _tables,
    "expect": _tables,
    "allow": _allowed,
}


# --- expectations

HEADING = re.compile(r"\s*\[\[\s*expect\s*\]\]")
BOUND = re.compile(r"(>=|<=|==|>|<)\s*(-?\d+(?:\.\d+)?)\s*(%?)")


def _odds(value: Any) -> Bound:
    bound = _bound(value, '">= 2 %"')
    if not 0 <= bound.number <= 1:
        raise InputError(f"{bound.text!r}: odds must be between 0 and 1, or 0 % and 100 %")
    return bound


def _bound(value: Any, example: str = '">= 20"') -> Bound:
    text = str(value).strip()
    match = BOUND.fullmatch(text)
    if match is None or (match[3] and "%" not in example):
        raise InputError(f"{text!r} is not a comparison; write one in quotes, such as {example}")
    return Bound(match[1], float(match[2]) / (100 if match[3] else 1), text)


EXPECTATION_READERS: dict[str, Reader] = {
    "ending": _text,
    "odds": _odds,
    "reachable": _text,
    "never": _text,
    "always_ends": _true,
    "at_most_steps": _whole(10**6),
    "best": _bound,
}


def read_expectations(tables: list[Any], text: str, path: object) -> tuple[Expectation, ...]:
    """Read the [[expect]] tables of a TOML with this text. Errors name the line."""
    lines = [n for n, line in enumerate(text.splitlines(), 1) if HEADING.match(line)]
    lines += [1] * (len(tables) - len(lines))  # of inline tables
    expectations = []
    for table, line in zip(tables, lines, strict=False):
        with _at(f"{path}, line {line}: [[expect]]"):
            values = _read(_table(table), EXPECTATION_READERS)
            if len(values.keys() - {"odds"}) != 1 or ("odds" in values and "ending" not in values):
                options = ", ".join(key for key in EXPECTATION_READERS if key != "odds")
                raise InputError(f"give exactly one of {options}; odds needs an ending")
            expectations.append(Expectation(line, **values))
    return tuple(expectations)


# --- checks against the story


def check_rules(rules: Rules, script: Script, path: Path) -> None:
    """Parse each `where`, and refuse rules that can never match."""
    passages = script.story.passages.items()
    texts = [f"{name}\n{unescape_html(passage.text)}" for name, passage in passages]
    source = "\n".join((*texts, *rules.inputs.values())).casefold()
    for expectation in rules.expectations:
        with _at(f"{path}, line {expectation.line}: [[expect]]"):
            _check_expectation(expectation, script.story.pages, source)
    conditions = [("ends", condition) for condition in rules.ends]
    for kind, payments in (("[[ending]]", rules.endings), ("[[event]]", rules.events)):
        rows = enumerate(payments, 1)
        conditions += [(f"{kind} {number}", payment.condition) for number, payment in rows]
    conditions += [("[[expect]] never", condition) for condition in rules.forbidden.values()]
    for key, condition in conditions:
        with _at(f"{path}: {key}"):
            _check_condition(condition, script, source)
    rules_by_name = [(f"[[ending]] {i}", rule) for i, rule in enumerate(rules.endings, 1)]
    for (first, rule), (second, later) in itertools.combinations(rules_by_name, 2):
        if rule.condition.parts.items() <= later.condition.parts.items():
            raise InputError(f"{path}: {second} can never match: {first} always matches first")


def _check_expectation(expectation: Expectation, pages: Collection[str], source: str) -> None:
    _check_name("passage", expectation.reachable, pages)
    ending = expectation.ending
    if ending is not None and ending not in pages and (word := _missing_word(ending, source)):
        near = did_you_mean(ending, pages)
        raise InputError(f'the story has no passage "{ending}", nor the word "{word}".{near}')


def _check_name(kind: str, name: str | None, names: Collection[str]) -> None:
    if name is not None and name not in names:
        raise InputError(f'the story has no {kind} "{name}".{did_you_mean(name, names)}')


def _missing_word(text: str, source: str) -> str | None:
    all_words = re.findall(r"[^\W\d_]+", text)
    return next((word for word in all_words if word.casefold() not in source), None)


def _check_condition(condition: Condition, script: Script, source: str) -> None:
    pages = script.story.pages
    _check_name("passage", condition.passage, pages)
    tags = {tag for passage in pages.values() for tag in passage.tags}
    _check_name("tag", condition.tag, tags)
    if condition.where is not None:
        _bind_where(condition, condition.where, script.facts)
    for text in (condition.contains, condition.starts_with, condition.ends_with):
        if word := _missing_word(text or "", source):
            raise InputError(f'it can never match: the word "{word}" does not occur in the story')


def _bind_where(condition: Condition, where: str, facts: Facts) -> None:
    used = Facts()
    try:
        object.__setattr__(condition, "_where", parse(where, used))
    except ExpressionError as error:
        raise InputError(f"where = {where!r} cannot be parsed: {error}") from error
    if used.written or used.chance:
        message = "where can only compare; write `is` instead of `=`, and no random functions"
        raise InputError(message)
    facts.tracked |= used.tracked
    facts.read |= used.read
    for variable in sorted(used.read - facts.written):
        near = did_you_mean(variable, facts.written)
        raise InputError(f"it can never match: no passage sets ${variable}.{near}")
