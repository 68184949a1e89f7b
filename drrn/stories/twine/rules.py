"""Reward rules, from the TOML beside a story: what its endings pay, when play stops, which links are no actions."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from drrn.errors import InputError, did_you_mean
from drrn.files import read_text, read_toml
from drrn.stories.twine.expectations import Expectation, check_expected_places, read_expectations
from drrn.stories.twine.page import Expression, Page
from drrn.stories.twine.paraphrases import DEFAULT_SET
from drrn.stories.twine.patterns import Pattern
from drrn.stories.twine.script import MEANINGS, ExpressionError, Facts, Script
from drrn.stories.twine.story import decoded
from drrn.stories.twine.values import truth

if sys.version_info >= (3, 11):
    pass
else:
    pass


@dataclass(frozen=True)
class Condition:
    """Holds where all that it names hold. A passage counts as shown when it was displayed, too.

    What `where` says is in the story's dialect: `check_rules` has it read before the story is told.
    """

    passage: str | None = None
    contains: str | None = None
    starts_with: str | None = None
    ends_with: str | None = None
    regex: str | None = None
    tag: str | None = None
    where: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_regex", Pattern(self.regex) if self.regex is not None else None)

    def bind(self, where: Expression) -> None:
        """Take what `where` means, once the story's dialect has read it."""
        object.__setattr__(self, "_where", where)

    _regex: Pattern | None = field(default=None, init=False, compare=False, repr=False)
    _where: Expression | None = field(default=None, init=False, compare=False, repr=False)

    def holds(self, page: Page, text: str) -> bool:
        return (
            (self.passage is None or self.passage in page.shown)
            and (self.contains is None or self.contains in text)
            and (self.starts_with is None or text.startswith(self.starts_with))
            and (self.ends_with is None or text.endswith(self.ends_with))
            and (self._regex is None or self._regex.search(text))
            and (self.tag is None or any(self.tag in page.tags[name] for name in page.shown))
            and (self.where is None or truth(self._where(page)))  # type: ignore[misc]
        )

    @property
    def parts(self) -> dict[str, str]:
        """What it names, by key."""
        named = ((key, getattr(self, key)) for key in CONDITION_KEYS)
        return {key: value for key, value in named if value is not None}


CONDITION_KEYS = tuple(f.name for f in fields(Condition) if f.init)


@dataclass(frozen=True)
class Payment:
    """A rule of an ending or of an event on the way."""

    condition: Condition
    reward: float


@dataclass(frozen=True)
class Rules:
    """Everything the TOML may say, with its defaults; a story without a TOML has `Rules()`."""

    title: str = ""
    story: Path | None = None
    paraphrases: Mapping[str, Path] = field(
        default_factory=dict
    )  # the file of each set, by the set's name
    step_reward: float = 0.0
    max_steps: int = 500
    default_reward: float = 0.0
    ends: tuple[Condition, ...] = ()
    drop: tuple[str, ...] = ()  # patterns of links that are no actions
    restart: tuple[str, ...] | None = (
        None  # patterns of those that begin the story again; None: known by their signs
    )
    inputs: Mapping[str, str] = field(default_factory=dict)
    macros: Mapping[str, str] = field(
        default_factory=dict
    )  # what macros mean, by name in lower case
    training: Mapping[str, Any] = field(default_factory=dict)  # settings that suit the game
    endings: tuple[Payment, ...] = ()
    events: tuple[Payment, ...] = ()
    expectations: tuple[Expectation, ...] = ()  # what `drrn test` checks; no part of play
    forbidden: Mapping[str, Condition] = field(
        default_factory=dict
    )  # what must never hold, by its words

    def __post_init__(self) -> None:
        patterns = [Pattern(pattern, re.I) for pattern in (*self.drop, *(self.restart or ()))]
        object.__setattr__(self, "_dropped", patterns)

    def is_action(self, label: str) -> bool:
        return not any(pattern.search(label) for pattern in self._dropped)  # type: ignore[attr-defined]

    def stops(self, page: Page, text: str) -> bool:
        return any(condition.holds(page, text) for condition in self.ends)

    def ending(self, page: Page, text: str) -> int | None:
        """The first ending rule that holds, by number."""
        return next(
            (i for i, rule in enumerate(self.endings) if rule.condition.holds(page, text)), None
        )

    def event_reward(self, page: Page, text: str) -> float:
        """What the page pays on the way; each event pays once in an episode."""
        total = 0.0
        for i, rule in enumerate(self.events):
            if rule.condition.holds(page, text) and not page.read(f"paid {i}"):
                page.write(f"paid {i}", True)
                total += rule.reward
        return total


def read_rules(path: Path) -> Rules:
    """Rules from a TOML file; a mistake in it is one sentence that names the key."""
    table = read_toml(path)
    types: dict[str, tuple[type, ...]] = {
        "title": (str,), "story": (str,), "paraphrases": (str, dict), "step_reward": (int, float),
        "max_steps": (int,), "default_reward": (int, float), "ends": (dict, list), "drop": (list, str),
        "restart": (list, str), "inputs": (dict,), "macros": (dict,), "training": (dict,), "ending": (list,),
        "event": (list,), "expect": (list,),
    }  # fmt: skip
    _check_keys(table, types, str(path))
    if "story" not in table:
        raise InputError(f'{path}: it names no story: add story = "your-story.twee"')
    for key in ("step_reward", "default_reward"):
        if key in table:
            table[key] = _number(table[key], f"{path}: {key} must be such that it")
    if not 1 <= table.get("max_steps", 1) <= 10**9:
        raise InputError(f"{path}: max_steps is {table['max_steps']}; it must be at least 1")
    table["story"] = _file_beside(path, table["story"], "story")
    table["paraphrases"] = _paraphrase_files(path, table.get("paraphrases", {}))
    ends = table.get("ends", [])
    table["ends"] = tuple(
        _condition(part, f"{path}: ends") for part in (ends if isinstance(ends, list) else [ends])
    )
    for key in ("drop", "restart"):
        if key in table:
            table[key] = _patterns(table[key], f"{path}: {key}")
    table["inputs"] = {
        name.lstrip("$"): str(answer) for name, answer in table.get("inputs", {}).items()
    }
    table["macros"] = _macros(table.get("macros", {}), f"{path}: [macros]")
    table["endings"] = _payments(table.pop("ending", []), f"{path}: [[ending]]")
    table["events"] = _payments(table.pop("event", []), f"{path}: [[event]]")
    table["expectations"] = read_expectations(table.pop("expect", []), read_text(path), path)
    nevers = [expected.never for expected in table["expectations"] if expected.never is not None]
    table["forbidden"] = {never: Condition(where=never) for never in nevers}
    return Rules(**table)


def _paraphrase_files(path: Path, named: str | dict[str, Any]) -> dict[str, Path]:
    """The file of each set of paraphrases; one file without a name is the default set."""
    if isinstance(named, str):
        return {DEFAULT_SET: _file_beside(path, named, "paraphrases")}
    _check_keys(named, dict.fromkeys(named, (str,)), f"{path}: [paraphrases]")
    return {name: _file_beside(path, file, f"paraphrases.{name}") for name, file in named.items()}


def _file_beside(path: Path, name: str, key: str) -> Path:
    found = path.parent / name
    if not found.is_file():
        raise InputError(f'{path}: {key} names "{found.name}", but there is no such file beside it')
    return found


def check_rules(rules: Rules, script: Script, path: Path) -> None:
    """Have each `where` read by the story's dialect, and refuse what can never match: it would silently pay nothing."""
    texts = [f"{name}\n{decoded(passage.text)}" for name, passage in script.story.passages.items()]
    source = "\n".join((*texts, *rules.inputs.values())).casefold()
    places = [(f"{path}: ends", condition) for condition in rules.ends]
    for kind, payments in (("[[ending]]", rules.endings), ("[[event]]", rules.events)):
        places += [(f"{path}: {kind} {i}", rule.condition) for i, rule in enumerate(payments, 1)]
    places += [(f"{path}: [[expect]] never", condition) for condition in rules.forbidden.values()]
    check_expected_places(rules.expectations, script.story.pages, source, path)
    for place, condition in places:
        _check_condition(condition, place, script, source)
    _check_order(rules.endings, path)


def _check_condition(condition: Condition, place: str, script: Script, source: str) -> None:
    names = script.story.pages
    if condition.passage is not None and condition.passage not in names:
        near = did_you_mean(condition.passage, names)
        raise InputError(f'{place}: the story has no passage "{condition.passage}".{near}')
    tags = {tag for passage in names.values() for tag in passage.tags}
    if condition.tag is not None and condition.tag not in tags:
        raise InputError(
            f'{place}: no passage has the tag "{condition.tag}".{did_you_mean(condition.tag, tags)}'
        )
    if condition.where is not None:
        _bind_where(condition, condition.where, place, script)
    for text in (condition.contains, condition.starts_with, condition.ends_with):
        for word in re.findall(r"[^\W\d_]+", text or ""):
            if word.casefold() not in source:
                raise InputError(
                    f'{place}: the word "{word}" stands nowhere in the story, so it can never match'
                )


def _bind_where(condition: Condition, where: str, place: str, script: Script) -> None:
    facts = Facts()
    try:
        condition.bind(script.dialect.parse(where, facts))
    except ExpressionError as error:
        raise InputError(f"{place}: where = {where!r} cannot be read: {error}") from error
    if facts.written or facts.chance:
        raise InputError(
            f"{place}: where may only compare: write `is` instead of `=`, and draw no lots"
        )
    script.facts.tracked |= facts.tracked
    script.facts.read |= facts.read
    for variable in sorted(facts.read - script.facts.written):
        near = did_you_mean(variable, script.facts.written)
        raise InputError(f"{place}: no passage sets ${variable}, so it can never match.{near}")


def _check_order(endings: Iterable[Payment], path: Path) -> None:
    seen: list[dict[str, str]] = []
    for number, rule in enumerate(endings, 1):
        parts = rule.condition.parts
        for earlier, other in enumerate(seen, 1):
            if other.items() <= parts.items():
                raise InputError(
                    f"{path}: [[ending]] {number} can never match: [[ending]] {earlier} always comes first"
                )
        seen.append(parts)


def _payments(tables: list[Any], place: str) -> tuple[Payment, ...]:
    return tuple(_payment(table, f"{place} {number}") for number, table in enumerate(tables, 1))


def _payment(table: Any, place: str) -> Payment:
    if not isinstance(table, dict):
        raise InputError(f"{place}: write it as a table with conditions and a reward")
    conditions = {key: value for key, value in table.items() if key != "reward"}
    return Payment(
        _condition(conditions, place),
        _number(table.get("reward"), f"{place}: it needs a reward that"),
    )


def _number(value: Any, what: str) -> float:
    """A finite number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and -1e9 <= value <= 1e9:
        return float(value)
    raise InputError(f"{what} is a number, at most a billion")


def _condition(table: Any, place: str) -> Condition:
    if not isinstance(table, dict) or not table:
        raise InputError(f"{place}: name at least one of {', '.join(CONDITION_KEYS)}")
    _check_keys(table, dict.fromkeys(CONDITION_KEYS, (str,)), place)
    try:
        return Condition(**table)
    except re.error as error:
        raise InputError(f"{place}: regex {table['regex']!r} cannot be read: {error}") from error


def _macros(given: dict[str, Any], place: str) -> dict[str, str]:
    """What macros mean, by name; how a name is written, `loadJS` or `<<loadjs>>`, does not matter."""
    found: dict[str, str] = {}
    for name, meaning in given.items():
        known = name.strip("<> ").lower()
        if not known or len(known.split()) > 1:
            raise InputError(
                f'{place}: "{name}" is no name of a macro: write it as one word, such as loadJS'
            )
        if known in found:
            raise InputError(
                f"{place}: {name} stands twice, since capitals do not matter: leave one out"
            )
        if not isinstance(meaning, str) or meaning.lower() not in MEANINGS:
            near = did_you_mean(meaning.lower(), MEANINGS) if isinstance(meaning, str) else ""
            raise InputError(
                f"{place}: {name} = {meaning!r} is no meaning.{near} Known: {', '.join(MEANINGS)}"
            )
        found[known] = meaning.lower()
    return found


def _patterns(patterns: Any, place: str) -> tuple[str, ...]:
    found = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    for pattern in found:
        try:
            Pattern(pattern, re.I)
        except (re.error, TypeError) as error:
            raise InputError(f"{place}: the pattern {pattern!r} cannot be read: {error}") from error
    return found


def _check_keys(
    table: Mapping[str, Any], types: Mapping[str, tuple[type, ...]], place: str
) -> None:
    for key, value in table.items():
        if key not in types:
            raise InputError(
                f'{place}: unknown key "{key}".{did_you_mean(key, types)} Known: {", ".join(types)}'
            )
        if not isinstance(value, types[key]) or (
            isinstance(value, bool) and bool not in types[key]
        ):
            wanted = " or ".join(sorted({kind.__name__ for kind in types[key]}))
            raise InputError(f"{place}: {key} must be {wanted}, not {type(value).__name__}")
