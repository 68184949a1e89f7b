"""A compiled Ink story as a game, played by the runtime in PyPI's `bink`.

Ink has its own random generator, whose seed is part of the state; each episode gets a seed from the
game's generator. A story without chance can be compiled, because saved states can be loaded again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drrn.errors import InputError, require
from drrn.game.contract import Observation
from drrn.stories.authored import INK, AuthoredGame, Position, fingerprint_of_story
from drrn.stories.ink.file import OPENING, InkFile, read_ink
from drrn.stories.twine.layout import tidy
from drrn.stories.twine.page import Page
from drrn.stories.twine.rules import Rules, check_rules
from drrn.stories.twine.script import Facts, Script
from drrn.stories.twine.story import Story, unescape_html
from drrn.stories.twine.values import Value

MAX_LINE_MILLISECONDS = 2_000.0
MAX_PAGE_LINES = 5_000
SEEDS = 10**6
HTML_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def open_ink(
    path: Path,
    rules: Rules | None = None,
    toml: Path | None = None,
    *,
    shuffle: bool = True,
    paraphrases: Mapping[str, str] | None = None,
    encoding: str | None = None,
) -> InkGame:
    """Open a compiled story under the rules of its TOML file.

    Raises:
        InputError: The file is not compiled Ink, or a rule cannot match.
    """
    ink = read_ink(path, encoding)
    rules = rules or Rules()
    if toml is not None:
        facts = Facts(written=set(ink.variables))
        check_rules(rules, Script(ink.story, {}, facts=facts), toml)
    game_class = InkGame if ink.has_chance else EnumerableInkGame
    name = path.stem.removesuffix(".ink")
    return game_class(name, ink, rules, shuffle=shuffle, paraphrases=paraphrases)


@dataclass(frozen=True)
class InkPage:
    """A page of an Ink story, and the state behind it."""

    text: str
    choices: tuple[tuple[str, int], ...]  # label and Ink's index; empty at an ending
    reward: float
    knot: str  # the last one entered
    ending: str  # name of the ending, if it is one
    saved: str = field(repr=False)  # state of the runtime
    paid: frozenset[str] = frozenset()  # events that have paid
    entered: tuple[str, ...] = ()  # knots and stitches entered since the previous page


@dataclass(frozen=True)
class InkState:
    """A state of a story without chance; equal states have equal continuations."""

    key: str
    page: InkPage = field(compare=False)


class InkGame(AuthoredGame):
    """Plays a compiled story under its rules."""

    engine = INK
    most_copies = 32  # one runtime each

    def __init__(
        self,
        name: str,
        ink: InkFile,
        rules: Rules,
        *,
        shuffle: bool = True,
        paraphrases: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, rules, shuffle=shuffle, paraphrases=paraphrases)
        self.ink = ink
        self._forget_episode()

    def _forget_episode(self) -> None:
        self._errors: list[str] = []
        self._page: InkPage | None = None
        self._start_runtime()

    def _start_runtime(self) -> None:
        runtime = require("bink.story", "ink")
        try:
            with _silent_stderr():
                self._runtime: Any = runtime.Story(self.ink.text)
            self._runtime.set_allow_external_function_fallbacks(True)
            self._runtime.set_error_handler(self._record_error)
            self._first_state: dict[str, Any] = json.loads(self._runtime.save_state())
            self._defaults = {f"${name}": self._variable(name) for name in self.ink.variables}
        except RuntimeError as error:
            raise self._runtime_error(error) from error

    @property
    def story(self) -> Story:
        """The knots and stitches as passages."""
        return self.ink.story

    @property
    def links(self) -> Mapping[str, frozenset[str]]:
        return self.ink.links

    @property
    def errors(self) -> Sequence[str]:
        return self._errors

    @property
    def ending(self) -> str | None:
        return self._page.ending if self._page is not None and not self._page.choices else None

    @property
    def fingerprint(self) -> str:
        """A hash of the story and its rewards."""
        text = f"{self.ink.text}\n{fingerprint_of_story(self.ink.story, self.rules)}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def edition(self) -> str:
        """What the fingerprint does not cover and a player sees."""
        return repr(sorted(self.paraphrases.items()))

    @property
    def position(self) -> Position:
        return self._position_on(self._page) if self._page else Position()

    def position_at(self, state: InkState) -> Position:
        return self._position_on(state.page)

    def _position_on(self, page: InkPage) -> Position:
        cells = self._cells(json.loads(page.saved))
        return Position(page.knot, (*page.entered, page.knot), cells)

    def _open(self) -> Observation:
        return self._show(self._first_page(self._random.randrange(SEEDS)))

    def _take(self, option: int) -> Observation:
        assert self._page is not None
        return self._show(self._next_page(self._page, option))

    def _show(self, page: InkPage) -> Observation:
        self._page = page
        self._options = self._random_order(len(page.choices))
        return self._observation(page, self._options)

    def _observation(self, page: InkPage, order: Sequence[int]) -> Observation:
        labels = self._reworded(label for label, _ in page.choices)
        return Observation(page.text, tuple(labels[index] for index in order), page.reward)

    def _first_page(self, seed: int) -> InkPage:
        """Return the first page of an episode that has the given random seed."""
        state = {**self._first_state, "storySeed": seed, "previousRandom": 0}
        try:
            self._runtime.load_state(json.dumps(state))
            page = self._read_page(None)
        except RuntimeError as error:
            raise self._runtime_error(error) from error
        if not page.choices:
            cause = f" ({self._errors[-1]})" if self._errors else ""
            source = self.ink.story.source
            raise InputError(f"{source}: the story offers no choice on its first page{cause}")
        return page

    def _next_page(self, page: InkPage, choice: int) -> InkPage:
        """Return the page after a choice; the runtime must be in the state of `page`."""
        try:
            self._runtime.choose_choice_index(page.choices[choice][1])
            return self._read_page(page)
        except RuntimeError as error:
            raise self._runtime_error(error) from error

    def _read_page(self, before: InkPage | None) -> InkPage:
        """Read up to the next choice and apply the rules; `before` is None on the first page."""
        text, tags = self._read_lines()
        labels = [_plain(label) or "…" for label in self._runtime.get_current_choices()]
        choices = tuple(
            (label, index) for index, label in enumerate(labels) if self.rules.is_action(label)
        )
        saved = self._runtime.save_state()
        state = json.loads(saved)
        shown = self._entered_knots(before, state["visitCounts"])
        entered = tuple(shown) if before else tuple(dict.fromkeys((OPENING, *shown)))
        paid = before.paid if before else frozenset()
        knot = shown[-1]
        cells = self._cells(state) | dict.fromkeys(paid, True)
        page = Page(knot, {}, dict.fromkeys(shown, tags), cells, lambda _: 0)
        page.passages.extend(shown)
        if choices and self.rules.stops(page, text):
            choices = ()
        rule = None if choices else self.rules.ending(page, text)
        reward = self._reward(page, text, rule, ended=not choices) if before else 0.0
        ending = self._ending_name(rule, knot)
        paid |= page.writes.keys()
        return InkPage(text, choices, reward, knot, ending, saved, paid, entered)

    def _entered_knots(self, before: InkPage | None, counts: Mapping[str, int]) -> list[str]:
        """Return the knots and stitches entered since the last page, or the current one."""
        visits = json.loads(before.saved)["visitCounts"] if before else {}
        names = self.ink.story.passages
        entered = [name for name in names if counts.get(name, 0) > visits.get(name, 0)]
        return entered or [before.knot if before else OPENING]

    def _reward(self, page: Page, text: str, rule: int | None, *, ended: bool) -> float:
        rules = self.rules
        ending_reward = rules.default_reward if rule is None else rules.endings[rule].reward
        return (ending_reward if ended else rules.step_reward) + rules.event_reward(page, text)

    def _read_lines(self) -> tuple[str, tuple[str, ...]]:
        """Return the text and tags up to the next choice."""
        lines: list[str] = []
        tags: list[str] = []
        while self._runtime.can_continue():
            finished = self._runtime.continue_async(MAX_LINE_MILLISECONDS)
            if not finished or len(lines) >= MAX_PAGE_LINES:
                self._start_runtime()  # this one is in the middle of a line
                where = f"after {self._page.text[-60:]!r}" if self._page else "on its first page"
                cause = f"the story reaches no choice and no end {where}"
                raise InputError(f"{self.ink.story.source}: {cause}; correct the loop in it")
            lines.append(_plain(self._runtime.get_current_text()))
            tags += self._runtime.get_current_tags()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(), tuple(tags)

    def _cells(self, state: Mapping[str, Any]) -> dict[str, Value]:
        saved = state["variablesState"].items()
        return self._defaults | {f"${name}": _saved_value(value) for name, value in saved}

    def _variable(self, name: str) -> Value:
        try:
            value = self._runtime.get_variable(name)
        except TypeError:  # the address of a knot
            return ""
        if isinstance(value, (bool, int, float, str)):
            return value
        return _list_words(item for item, _ in value.items)

    def _record_error(self, message: str, is_error: bool) -> None:
        if is_error and message not in self._errors:
            self._errors.append(message)

    def _runtime_error(self, error: Exception) -> InputError:
        cause = " ".join(str(error).split())
        source = self.ink.story.source
        cure = "correct the story and compile it again"
        return InputError(f"{source}: the Ink runtime cannot play it: {cause}; {cure}")


class EnumerableInkGame(InkGame):
    """A story without chance, which can be compiled."""

    def opening(self) -> Iterator[tuple[float, InkState]]:
        yield 1.0, self._state(self._first_page(0))

    def outcomes(self, state: InkState, index: int) -> Iterator[tuple[float, InkState]]:
        self._runtime.load_state(state.page.saved)
        yield 1.0, self._state(self._next_page(state.page, index))

    def look(self, state: InkState) -> Observation:
        return self._observation(state.page, range(len(state.page.choices)))

    def ending_at(self, state: InkState) -> str:
        return state.page.ending

    def _state(self, page: InkPage) -> InkState:
        """Return the state, identified by its page and, before the end, by the saved state."""
        visible = (page.text, page.choices, page.reward, page.knot if page.choices else page.ending)
        hidden = self._identity(json.loads(page.saved)) if page.choices else ""
        return InkState(repr((*visible, sorted(page.paid), hidden)), page)

    def _identity(self, saved: dict[str, Any]) -> str:
        """Return the saved state without what is never read: seeds, old text, thread numbers."""
        unread = {"storySeed", "previousRandom"}
        if not self.ink.reads_turns:
            unread |= {"turnIdx", "turnIndices"}
        values = {key: value for key, value in saved.items() if key not in unread}
        visits = saved["visitCounts"].items()
        values["visitCounts"] = {k: n for k, n in visits if k not in self.ink.uncounted}
        return json.dumps(_renumbered(values, {}), sort_keys=True)


def _renumbered(node: Any, threads: dict[str, int]) -> Any:
    """Number threads in order of appearance: their own numbers grow with every choice."""
    if isinstance(node, list):
        return [_renumbered(part, threads) for part in node]
    if not isinstance(node, dict):
        return node
    result: dict[str, Any] = {}
    for key, part in node.items():
        if key in ("threadIndex", "originalThreadIndex"):
            result[key] = threads.setdefault(str(part), len(threads))
        elif key == "choiceThreads":
            inner = {threads.setdefault(n, len(threads)): thread for n, thread in part.items()}
            result[key] = {str(n): _renumbered(thread, threads) for n, thread in inner.items()}
        elif key not in ("threadCounter", "outputStream"):
            result[key] = _renumbered(part, threads)
    return result


def _plain(text: str) -> str:
    return tidy(unescape_html(HTML_TAG.sub("", text)))


def _saved_value(saved: Any) -> Value:
    """Convert a saved variable: text starts with ^, a list has its items as keys."""
    if isinstance(saved, str):
        return saved[1:] if saved.startswith("^") else saved
    if isinstance(saved, dict):
        return _list_words(saved.get("list", {}))
    return saved if isinstance(saved, (bool, int, float)) else 0


def _list_words(names: Any) -> str:
    return ", ".join(sorted(str(name).rpartition(".")[2] for name in names))


@contextlib.contextmanager
def _silent_stderr() -> Iterator[None]:
    """Hide what the runtime prints by itself before it reports a panic."""
    stderr = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as null:
            os.dup2(null.fileno(), 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
