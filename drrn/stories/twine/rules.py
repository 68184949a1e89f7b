"""Reward rules, expectations and paraphrases of a story, from the TOML next to it."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from drrn.errors import InputError, did_you_mean, require
from drrn.files import read_text, read_toml
from drrn.stories.twine.page import Expression, Page
from drrn.stories.twine.patterns import Pattern
from drrn.stories.twine.script import MEANINGS, ExpressionError, Facts, Script
from drrn.stories.twine.story import unescape_html
from drrn.stories.twine.twine1.expressions import parse
from drrn.stories.twine.values import truth
from drrn.text import words

# Fingerprints of stories hash the names and the order of the fields of Condition, Payment and
# Rules: do not change them.


@dataclass(frozen=True)
class Condition:
    """Holds if all its parts hold. Displayed passages count like the page's own passage.

    `where` is an expression of the story's dialect; `check_rules` parses it.
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

    def bind(self, where: Expression) -> None:
        """Set the parsed form of `where`."""
        object.__setattr__(self, "_where", where)

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


COMPARISONS = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}


@dataclass(frozen=True)
class Bound:
    """A comparison with a number, such as `>= 20` or `< 2 %`."""

    sign: str
    number: float  # 0.02 for 2 %
    text: str

    def holds(self, value: float) -> bool:
        """Compare a value; differences below a billionth count as equality."""
        if abs(value - self.number) <= 1e-9 * max(1.0, abs(self.number)):
            return "=" in self.sign
        return bool(COMPARISONS[self.sign](value, self.number))

    @property
    def wants_more(self) -> bool:
        """Whether larger values only help, so that a partial result can prove the bound."""
        return self.sign in (">=", ">")


@dataclass(frozen=True)
class Expectation:
    """One [[expect]] of a TOML, which `drrn test` checks."""

    line: int  # of its [[expect]]
    ending: str | None = None  # a passage, or words of the last page
    odds: Bound | None = None  # of that ending in random play
    reachable: str | None = None  # a passage
    never: str | None = None  # a condition in the story's dialect
    always_ends: bool = False
    at_most_steps: int | None = None
    best: Bound | None = None  # the final reward of the best play

    @property
    def text(self) -> str:
        """The expectation in words."""
        if self.ending is not None:
            claim = f"has odds {self.odds.text}" if self.odds else "can be reached"
            return f'ending "{self.ending}" {claim}'
        if self.reachable is not None:
            return f'passage "{self.reachable}" can be reached'
        if self.never is not None:
            return f"never {self.never}"
        if self.at_most_steps is not None:
            return f"at most {self.at_most_steps:,} steps"
        return f"best play pays {self.best.text}" if self.best else "the story always ends"


@dataclass(frozen=True)
class Rules:
    """The contents of a TOML; a story without one has `Rules()`."""

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
    macros: Mapping[str, str] = field(default_factory=dict)  # meanings, by lower-case name
    training: Mapping[str, Any] = field(default_factory=dict)  # settings that suit the game
    endings: tuple[Payment, ...] = ()
    events: tuple[Payment, ...] = ()
    expectations: tuple[Expectation, ...] = ()  # not part of play
    forbidden: Mapping[str, Condition] = field(default_factory=dict)  # `never`, by its source

    def __post_init__(self) -> None:
        patterns = [Pattern(pattern, re.I) for pattern in (*self.drop, *(self.restart or ()))]
        object.__setattr__(self, "_dropped", patterns)

    def is_action(self, label: str) -> bool:
        return not any(pattern.search(label) for pattern in self._dropped)  # type: ignore[attr-defined]

    def stops(self, page: Page, text: str) -> bool:
        return any(condition.holds(page, text) for condition in self.ends)

    def ending(self, page: Page, text: str) -> int | None:
        """Return the index of the first ending rule that holds."""
        indices = (i for i, rule in enumerate(self.endings) if rule.condition.holds(page, text))
        return next(indices, None)

    def event_reward(self, page: Page, text: str) -> float:
        """Return the reward of the page's events; each event pays once in an episode."""
        total = 0.0
        for i, rule in enumerate(self.events):
            if rule.condition.holds(page, text) and not page.read(f"paid {i}"):
                page.write(f"paid {i}", True)
                total += rule.reward
        return total


# --- reading

TYPES: dict[str, tuple[type, ...]] = {
    "title": (str,),
    "story": (str,),
    "paraphrases": (str, dict),
    "step_reward": (int, float),
    "max_steps": (int,),
    "default_reward": (int, float),
    "ends": (dict, list),
    "drop": (list, str),
    "restart": (list, str),
    "inputs": (dict,),
    "macros": (dict,),
    "training": (dict,),
    "ending": (list,),
    "event": (list,),
    "expect": (list,),
}


def read_rules(path: Path) -> Rules:
    """Read the rules of a TOML file.

    Raises:
        InputError: the file has a mistake; the message names the key.
    """
    table = read_toml(path)
    _check_keys(table, TYPES, str(path))
    if "story" not in table:
        raise InputError(f'{path}: it names no story: add story = "your-story.twee"')
    for key in ("step_reward", "default_reward"):
        if key in table:
            table[key] = _number(table[key], f"{path}: {key}")
    if not 1 <= table.get("max_steps", 1) <= 10**9:
        raise InputError(f"{path}: max_steps is {table['max_steps']}; it must be at least 1")
    table["story"] = _file_beside(path, table["story"], "story")
    table["paraphrases"] = _paraphrase_files(path, table.get("paraphrases", {}))
    ends = table.get("ends", [])
    ends = ends if isinstance(ends, list) else [ends]
    table["ends"] = tuple(_condition(part, f"{path}: ends") for part in ends)
    for key in ("drop", "restart"):
        if key in table:
            table[key] = _patterns(table[key], f"{path}: {key}")
    inputs = table.get("inputs", {})
    table["inputs"] = {name.lstrip("$"): str(answer) for name, answer in inputs.items()}
    table["macros"] = _macros(table.get("macros", {}), f"{path}: [macros]")
    table["endings"] = _payments(table.pop("ending", []), f"{path}: [[ending]]")
    table["events"] = _payments(table.pop("event", []), f"{path}: [[event]]")
    table["expectations"] = read_expectations(table.pop("expect", []), read_text(path), path)
    nevers = [expected.never for expected in table["expectations"] if expected.never is not None]
    table["forbidden"] = {never: Condition(where=never) for never in nevers}
    return Rules(**table)


def _check_keys(
    table: Mapping[str, Any], types: Mapping[str, tuple[type, ...]], location: str
) -> None:
    for key, value in table.items():
        if key not in types:
            near = did_you_mean(key, types)
            raise InputError(f'{location}: unknown key "{key}".{near} Known: {", ".join(types)}')
        if not isinstance(value, types[key]) or isinstance(value, bool):
            names = " or ".join(sorted(kind.__name__ for kind in types[key]))
            raise InputError(f"{location}: {key} must be {names}, not {type(value).__name__}")


def _file_beside(path: Path, name: str, key: str) -> Path:
    file = path.parent / name
    if not file.is_file():
        raise InputError(f'{path}: {key} names "{file.name}", which is not a file in its folder')
    return file


def _payments(tables: list[Any], location: str) -> tuple[Payment, ...]:
    payments = []
    for number, table in enumerate(tables, 1):
        if not isinstance(table, dict):
            raise InputError(f"{location} {number}: write a table with conditions and a reward")
        parts = {key: value for key, value in table.items() if key != "reward"}
        condition = _condition(parts, f"{location} {number}")
        reward = _number(table.get("reward"), f"{location} {number}: reward")
        payments.append(Payment(condition, reward))
    return tuple(payments)


def _number(value: Any, location: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and -1e9 <= value <= 1e9:
        return float(value)
    raise InputError(f"{location} must be a number, at most a billion")


def _condition(table: Any, location: str) -> Condition:
    if not isinstance(table, dict) or not table:
        raise InputError(f"{location}: give at least one of {', '.join(CONDITION_KEYS)}")
    _check_keys(table, dict.fromkeys(CONDITION_KEYS, (str,)), location)
    try:
        return Condition(**table)
    except re.error as error:
        regex = table["regex"]
        raise InputError(f"{location}: regex {regex!r} cannot be used: {error}") from error


def _macros(table: dict[str, Any], location: str) -> dict[str, str]:
    """Return the meanings by lower-case name; `loadJS` and `<<loadjs>>` are the same name."""
    meanings: dict[str, str] = {}
    for key, meaning in table.items():
        name = key.strip("<> ").lower()
        if len(name.split()) != 1:
            raise InputError(
                f'{location}: "{key}" is not the name of a macro: use one word, such as loadJS'
            )
        if name in meanings:
            raise InputError(f"{location}: {key} occurs twice (case is ignored): remove one")
        if not isinstance(meaning, str) or meaning.lower() not in MEANINGS:
            near = did_you_mean(meaning.lower(), MEANINGS) if isinstance(meaning, str) else ""
            options = ", ".join(MEANINGS)
            raise InputError(
                f"{location}: {key} = {meaning!r} is not a known meaning.{near} Known: {options}"
            )
        meanings[name] = meaning.lower()
    return meanings


def _patterns(value: Any, location: str) -> tuple[str, ...]:
    patterns = (value,) if isinstance(value, str) else tuple(value)
    for pattern in patterns:
        try:
            Pattern(pattern, re.I)
        except (re.error, TypeError) as error:
            raise InputError(
                f"{location}: the pattern {pattern!r} cannot be used: {error}"
            ) from error
    return patterns


# --- expectations

EXPECTATION_KEYS = ("ending", "odds", "reachable", "never", "always_ends", "at_most_steps", "best")
BOUND = re.compile(r"(>=|<=|==|>|<)\s*(-?\d+(?:\.\d+)?)\s*(%?)")


def read_expectations(tables: list[Any], text: str, path: object) -> tuple[Expectation, ...]:
    """Read the [[expect]] tables of a TOML with this text; errors name the line."""
    heading = re.compile(r"\s*\[\[\s*expect\s*\]\]")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if heading.match(line)]
    lines += [1] * (len(tables) - len(lines))  # of inline tables
    rows = zip(tables, lines, strict=False)
    return tuple(
        _expectation(table, line, f"{path}, line {line}: [[expect]]") for table, line in rows
    )


def _expectation(table: Any, line: int, location: str) -> Expectation:
    if not isinstance(table, Mapping):
        raise InputError(f'{location}: write a table, such as reachable = "Passage"')
    for key in table:
        if key not in EXPECTATION_KEYS:
            near = did_you_mean(key, EXPECTATION_KEYS)
            options = ", ".join(EXPECTATION_KEYS)
            raise InputError(f'{location}: unknown key "{key}".{near} Known: {options}')
    if len(set(table) - {"odds"}) != 1 or ("odds" in table and "ending" not in table):
        options = ", ".join(key for key in EXPECTATION_KEYS if key != "odds")
        raise InputError(f"{location}: give exactly one of {options}; odds needs an ending")
    values = dict(table)
    for key in {"ending", "reachable", "never"} & values.keys():
        if not isinstance(values[key], str) or not values[key].strip():
            raise InputError(f'{location}: {key} must be text in quotes, such as {key} = "…"')
    if values.get("always_ends", True) is not True:
        raise InputError(f"{location}: always_ends can only be true: otherwise leave it out")
    steps = values.get("at_most_steps", 1)
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= 10**6:
        raise InputError(f"{location}: at_most_steps must be a whole number from 1 to a million")
    for key in {"odds", "best"} & values.keys():
        values[key] = _bound(str(values[key]).strip(), f"{location}: {key}", share=key == "odds")
    return Expectation(line, **values)


def _bound(text: str, location: str, *, share: bool) -> Bound:
    match = BOUND.fullmatch(text)
    if match is None or (match[3] and not share):
        example = '">= 2 %"' if share else '">= 20"'
        raise InputError(
            f"{location} = {text!r} is not a comparison: write one in quotes, such as {example}"
        )
    number = float(match[2]) / (100 if match[3] else 1)
    if share and not 0 <= number <= 1:
        raise InputError(f"{location} = {text!r}: odds are between 0 and 1, or 0 % and 100 %")
    return Bound(match[1], number, text)


# --- checks against the story


def check_rules(rules: Rules, script: Script, path: Path) -> None:
    """Parse each `where` in the story's dialect, and refuse rules that can never match.

    Raises:
        InputError: a rule names a passage, tag, word or variable that the story does not have.
    """
    passages = script.story.passages.items()
    texts = [f"{name}\n{unescape_html(passage.text)}" for name, passage in passages]
    source = "\n".join((*texts, *rules.inputs.values())).casefold()
    conditions = [(f"{path}: ends", condition) for condition in rules.ends]
    for kind, payments in (("[[ending]]", rules.endings), ("[[event]]", rules.events)):
        for number, payment in enumerate(payments, 1):
            conditions.append((f"{path}: {kind} {number}", payment.condition))
    for condition in rules.forbidden.values():
        conditions.append((f"{path}: [[expect]] never", condition))
    for expectation in rules.expectations:
        location = f"{path}, line {expectation.line}: [[expect]]"
        _check_expectation(expectation, script.story.pages, source, location)
    for location, condition in conditions:
        _check_condition(condition, location, script, source)
    _check_order(rules.endings, path)


def _check_expectation(
    expectation: Expectation, pages: Collection[str], source: str, location: str
) -> None:
    """Refuse a passage, or words, that the story does not have; `source` is in lower case."""
    passage = expectation.reachable
    if passage is not None and passage not in pages:
        near = did_you_mean(passage, pages)
        raise InputError(f'{location}: the story has no passage "{passage}".{near}')
    ending = expectation.ending
    if ending is not None and ending not in pages and (word := _missing_word(ending, source)):
        near = did_you_mean(ending, pages)
        raise InputError(
            f'{location}: the story has no passage "{ending}", nor the word "{word}".{near}'
        )


def _missing_word(text: str, source: str) -> str | None:
    all_words = re.findall(r"[^\W\d_]+", text)
    return next((word for word in all_words if word.casefold() not in source), None)


def _check_condition(condition: Condition, location: str, script: Script, source: str) -> None:
    pages = script.story.pages
    if condition.passage is not None and condition.passage not in pages:
        near = did_you_mean(condition.passage, pages)
        raise InputError(f'{location}: the story has no passage "{condition.passage}".{near}')
    tags = {tag for passage in pages.values() for tag in passage.tags}
    if condition.tag is not None and condition.tag not in tags:
        near = did_you_mean(condition.tag, tags)
        raise InputError(f'{location}: no passage has the tag "{condition.tag}".{near}')
    if condition.where is not None:
        _bind_where(condition, condition.where, location, script)
    for text in (condition.contains, condition.starts_with, condition.ends_with):
        if word := _missing_word(text or "", source):
            raise InputError(
                f'{location}: it can never match: the word "{word}" does not occur in the story'
            )


def _bind_where(condition: Condition, where: str, location: str, script: Script) -> None:
    facts = Facts()
    try:
        condition.bind(parse(where, facts))
    except ExpressionError as error:
        raise InputError(f"{location}: where = {where!r} cannot be parsed: {error}") from error
    if facts.written or facts.chance:
        raise InputError(
            f"{location}: where may only compare: write `is` instead of `=`, and draw nothing"
        )
    script.facts.tracked |= facts.tracked
    script.facts.read |= facts.read
    for variable in sorted(facts.read - script.facts.written):
        near = did_you_mean(variable, script.facts.written)
        raise InputError(f"{location}: it can never match: no passage sets ${variable}.{near}")


def _check_order(endings: Iterable[Payment], path: Path) -> None:
    earlier_parts: list[dict[str, str]] = []
    for number, rule in enumerate(endings, 1):
        parts = rule.condition.parts
        for earlier, other in enumerate(earlier_parts, 1):
            if other.items() <= parts.items():
                raise InputError(
                    f"{path}: [[ending]] {number} can never match: "
                    f"[[ending]] {earlier} always matches first"
                )
        earlier_parts.append(parts)


# --- paraphrases

DEFAULT_SET = "paraphrased"  # the name of a set without a name


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance of paraphrases from their originals, by the paper's measures."""

    pairs: int
    oov_rate: float  # share of words that no original action has
    bleu: float | None  # corpus BLEU-4, from 0 to 1; None without sacrebleu


def _paraphrase_files(path: Path, table: str | dict[str, Any]) -> dict[str, Path]:
    if isinstance(table, str):
        return {DEFAULT_SET: _file_beside(path, table, "paraphrases")}
    _check_keys(table, dict.fromkeys(table, (str,)), f"{path}: [paraphrases]")
    return {name: _file_beside(path, file, f"paraphrases.{name}") for name, file in table.items()}


def paraphrase_file(sets: Mapping[str, Path], choice: bool | str, path: Path) -> Path | None:
    """Return the file of a set, by its name; True is the default set, or the only one."""
    if choice is False:
        return None
    if not sets:
        raise InputError(f'{path}: no paraphrases: add paraphrases = "FILE.tsv" to the TOML')
    name = choice if isinstance(choice, str) else DEFAULT_SET
    if not isinstance(choice, str) and len(sets) == 1:
        name = next(iter(sets))
    if name not in sets:
        near = did_you_mean(name, sets)
        raise InputError(f'{path}: no paraphrases named "{name}".{near} Known: {", ".join(sets)}')
    return sets[name]


def read_paraphrases(path: Path) -> dict[str, str]:
    """Read original → paraphrase from a TSV with the header `original<TAB>paraphrase`."""
    lines = read_text(path).splitlines()
    if not lines or lines[0].split("\t") != ["original", "paraphrase"]:
        raise InputError(f'{path}, line 1: the header must be "original", a tab, "paraphrase"')
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        cells = [cell.strip() for cell in line.split("\t")]
        if not line.strip():
            continue
        if len(cells) != 2 or not all(cells):
            raise InputError(f"{path}, line {number}: expected an original, a tab and a paraphrase")
        if not words(cells[1]):
            raise InputError(f'{path}, line {number}: the paraphrase "{cells[1]}" has no words')
        if cells[0] in pairs:
            raise InputError(f'{path}, line {number}: "{cells[0]}" occurs twice')
        pairs[cells[0]] = cells[1]
    return pairs


def distance(pairs: dict[str, str], actions: Collection[str]) -> Distance:
    """Return the OOV rate against all original actions, and BLEU-4 (no case, no punctuation)."""
    vocabulary = {word for action in (*actions, *pairs) for word in words(action)}
    all_words = [word for paraphrase in pairs.values() for word in words(paraphrase)]
    oov = sum(word not in vocabulary for word in all_words)
    return Distance(len(pairs), oov / len(all_words), _bleu(pairs))


def _bleu(pairs: dict[str, str]) -> float | None:
    try:
        sacrebleu = require("sacrebleu", "paper")
    except InputError:
        return None
    paraphrases = [" ".join(words(text)) for text in pairs.values()]
    originals = [" ".join(words(text)) for text in pairs]
    score: float = sacrebleu.corpus_bleu(paraphrases, [originals], tokenize="none").score
    return score / 100
