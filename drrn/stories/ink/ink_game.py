"""A compiled Ink story as a game, played by the runtime of PyPI's `bink`.

Ink draws its lots by a generator of its own, whose seed is part of the state: each episode has one of the game's.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import operator
import os
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drrn.errors import InputError, require
from drrn.game.contract import Observation
from drrn.stories.ink.ink_file import OPENING, InkFile
from drrn.stories.twine.layout import tidy
from drrn.stories.twine.page import Page, Position
from drrn.stories.twine.rules import Rules, fingerprint_of_story
from drrn.stories.twine.story import Story, unescape_html
from drrn.stories.twine.values import Value

MOST_MILLISECONDS = 2_000.0  # for one line of text
MOST_LINES = 5_000  # on one page
SEEDS = 10**6
HTML_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


@dataclass(frozen=True)
class InkPage:
    """What a player sees of an Ink story, and the state behind it."""

    text: str
    choices: tuple[
        tuple[str, int], ...
    ]  # the words, and the number by which Ink knows it; none: an ending
    reward: float
    knot: str  # entered last
    ending: str  # its name, if it is one
    saved: str = field(repr=False)  # the runtime's own state
    paid: frozenset[str] = frozenset()  # events that have paid
    entered: tuple[str, ...] = ()  # knots and stitches, since the page before


class InkGame:
    """Plays a compiled story under its rules."""

    most_copies = 32  # each has a runtime of its own

    def __init__(
        self,
        name: str,
        ink: InkFile,
        rules: Rules,
        *,
        shuffle: bool = True,
        paraphrases: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.ink = ink
        self.rules = rules
        self.shuffle = shuffle
        self.paraphrases = paraphrases or {}
        self.errors: list[str] = []  # that the story ran into while it was played
        self._random = random.Random()
        self._page: InkPage | None = None
        self._order: tuple[int, ...] = ()
        self._begin()

    def _begin(self) -> None:
        """Start a runtime, and note the state and the variables that a story begins with."""
        runtime = require("bink.story", "ink")
        try:
            with _quiet_runtime():
                self._story: Any = runtime.Story(self.ink.text)
            self._story.set_allow_external_function_fallbacks(True)
            self._story.set_error_handler(self._note)
            self._fresh: dict[str, Any] = json.loads(self._story.save_state())
            self._defaults = {f"${name}": self._variable(name) for name in self.ink.variables}
        except RuntimeError as error:
            raise self._wrong(error) from error

    @property
    def title(self) -> str:
        return self.rules.title or self.ink.story.title or self.name

    @property
    def max_steps(self) -> int:
        return self.rules.max_steps

    @property
    def training(self) -> Mapping[str, Any]:
        return self.rules.training

    @property
    def ending(self) -> str | None:
        """The knot that ended the story (a rule's own, where one matched); None while it goes on."""
        return self._page.ending if self._page is not None and not self._page.choices else None

    @property
    def fingerprint(self) -> str:
        """A hash of the story and its rewards."""
        told = f"{self.ink.text}\n{fingerprint_of_story(self.ink.story, self.rules)}"
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def edition(self) -> str:
        """How it is told, beside what the fingerprint covers."""
        return repr(sorted(self.paraphrases.items()))

    @property
    def story(self) -> Story:
        """The knots and stitches as passages."""
        return self.ink.story

    @property
    def position(self) -> Position:
        """Where the episode stands behind its page, for tools and people."""
        return self._position_on(self._page) if self._page else Position()

    def _position_on(self, page: InkPage) -> Position:
        state = json.loads(page.saved)
        cells = self._defaults | {
            f"${name}": _value(value) for name, value in state["variablesState"].items()
        }
        return Position(page.knot, (*page.entered, page.knot), cells)

    def another(self) -> InkGame:
        """The same game once more, with a runtime and a generator of its own."""
        twin = copy.copy(self)
        twin.errors = []
        twin._random = random.Random()
        twin._page = None
        twin._order = ()
        twin._begin()
        return twin

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            self._random = random.Random(f"game {operator.index(seed)}")
        return self._show(self._first(self._random.randrange(SEEDS)))

    def step(self, index: int) -> Observation:
        if self._page is None or not self._order:
            raise RuntimeError("the story has ended, or has not begun: call reset()")
        if not 0 <= index < len(self._order):
            raise IndexError(
                f"action {index} of {len(self._order)}: choose one from 0 to {len(self._order) - 1}"
            )
        return self._show(self._next(self._page, self._order[index]))

    def _show(self, page: InkPage) -> Observation:
        count = len(page.choices)
        self._page = page
        self._order = tuple(
            self._random.sample(range(count), count) if self.shuffle else range(count)
        )
        return self._observation(page, self._order)

    def _observation(self, page: InkPage, order: tuple[int, ...]) -> Observation:
        words = [self.paraphrases.get(label, label) for label, _ in page.choices]
        return Observation(page.text, tuple(words[number] for number in order), page.reward)

    def _first(self, seed: int) -> InkPage:
        """The first page of an episode in which Ink draws its lots by a seed."""
        try:
            self._story.load_state(
                json.dumps({**self._fresh, "storySeed": seed, "previousRandom": 0})
            )
            page = self._told(None)
        except RuntimeError as error:
            raise self._wrong(error) from error
        if not page.choices:
            what = f" ({self.errors[-1]})" if self.errors else ""
            raise InputError(
                f"{self.ink.story.source}: the story offers no choice on its first page{what}"
            )
        return page

    def _next(self, page: InkPage, choice: int) -> InkPage:
        """The page that a choice leads to, from the state that the runtime is in."""
        try:
            self._story.choose_choice_index(page.choices[choice][1])
            return self._told(page)
        except RuntimeError as error:
            raise self._wrong(error) from error

    def _told(self, before: InkPage | None) -> InkPage:
        """Read on to the next choice, and see what the rules say of it; None before: the first page of an episode."""
        text, tags = self._read_on()
        labels = [_line(label) or "…" for label in self._story.get_current_choices()]
        choices = tuple(
            (label, number) for number, label in enumerate(labels) if self.rules.is_action(label)
        )
        saved = self._story.save_state()
        state = json.loads(saved)
        shown = self._entered(before, state["visitCounts"])
        entered = tuple(shown) if before else tuple(dict.fromkeys((OPENING, *shown)))
        paid = before.paid if before else frozenset()
        cells = self._defaults | {
            f"${name}": _value(value) for name, value in state["variablesState"].items()
        }
        page = Page(
            shown[-1],
            {},
            dict.fromkeys(shown, tags),
            {**cells, **dict.fromkeys(paid, True)},
            lambda _: 0,
        )
        page.shown.extend(shown)
        if choices and self.rules.stops(page, text):
            choices = ()
        rule = None if choices else self.rules.ending(page, text)
        reward = self._reward(page, text, rule, ended=not choices) if before else 0.0
        named = self.rules.endings[rule].condition.passage if rule is not None else None
        return InkPage(
            text,
            choices,
            reward,
            shown[-1],
            named or shown[-1],
            saved,
            paid | page.writes.keys(),
            entered,
        )

    def _entered(self, before: InkPage | None, counts: Mapping[str, int]) -> list[str]:
        """The knots and stitches entered since the page before; where there are none, the one that goes on."""
        visits = json.loads(before.saved)["visitCounts"] if before else {}
        found = [
            name for name in self.ink.story.passages if counts.get(name, 0) > visits.get(name, 0)
        ]
        return found or [before.knot if before else OPENING]

    def _reward(self, page: Page, text: str, rule: int | None, *, ended: bool) -> float:
        rules = self.rules
        arrived = rules.default_reward if rule is None else rules.endings[rule].reward
        return (arrived if ended else rules.step_reward) + rules.event_reward(page, text)

    def _read_on(self) -> tuple[str, tuple[str, ...]]:
        """Text and tags up to the next choice; a story that never gets there is told so."""
        lines: list[str] = []
        tags: list[str] = []
        while self._story.can_continue():
            if not self._story.continue_async(MOST_MILLISECONDS) or len(lines) >= MOST_LINES:
                self._begin()  # the runtime is in the middle of a line
                place = f"after {self._page.text[-60:]!r}" if self._page else "on its first page"
                raise InputError(
                    f"{self.ink.story.source}: the story comes to no choice and no end {place}"
                )
            lines.append(_line(self._story.get_current_text()))
            tags += self._story.get_current_tags()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(), tuple(tags)

    def _variable(self, name: str) -> Value:
        try:
            value = self._story.get_variable(name)
        except TypeError:  # the address of a knot
            return ""
        return (
            value
            if isinstance(value, (bool, int, float, str))
            else _list_words(item for item, _ in value.items)
        )

    def _note(self, message: str, is_error: bool) -> None:
        if is_error and message not in self.errors:
            self.errors.append(message)

    def _wrong(self, error: Exception) -> InputError:
        what = " ".join(str(error).split())
        return InputError(
            f"{self.ink.story.source}: the Ink runtime cannot play it: {what}: mend the story, compile it again"
        )


def _line(text: str) -> str:
    return tidy(unescape_html(HTML_TAG.sub("", text)))


def _value(saved: Any) -> Value:
    """A variable as the runtime saves it: text begins with ^, a list has its items as keys."""
    if isinstance(saved, str):
        return saved[1:] if saved.startswith("^") else saved
    if isinstance(saved, dict):
        return _list_words(saved.get("list", {}))
    return saved if isinstance(saved, (bool, int, float)) else 0


def _list_words(names: Any) -> str:
    """An Ink list as the words of its items."""
    return ", ".join(sorted(str(name).rpartition(".")[2] for name in names))


@contextlib.contextmanager
def _quiet_runtime() -> Iterator[None]:
    """What the runtime panics over it prints by itself, past Python, before it reports it: one sentence is enough."""
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
