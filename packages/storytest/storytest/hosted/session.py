"""One hosted story being played in an isolate, page by page."""

import contextlib
import json
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storytest.hosted import browser
from storytest.hosted.engine import (
    MEGABYTES,
    Isolate,
    IsolateError,
    OutOfMemoryError,
    TimedOutError,
)
from storytest.twine.layout import lay_out
from storytest.twine.script import Link
from textgames.errors import InputError

MAX_ANSWER = 2**24  # characters of a page or of a saved state
# Half of a character, left by scripts that cut texts; no file can store it.
SURROGATE = re.compile("[\ud800-\udfff]")


class UnreadableError(IsolateError):
    """The page cannot be read, for the reason in the message."""


@dataclass(frozen=True)
class HostedPage:
    """A page of a hosted story. `press(i)` takes link i."""

    passage: str
    pieces: tuple[str | Link, ...]
    variables: Mapping[str, Any]
    errors: tuple[str, ...] = ()  # "passage: message" of script errors since the last page
    faults: tuple[tuple[str, str], ...] = ()  # kind and text: errors and broken links it displays
    beyond: str = ""  # state outside the variables: globals of scripts, settings
    history: tuple[str, ...] = ()  # passages entered so far, this one last
    entered: bool = True  # False: the last click stayed within the passage
    unlisted_draws: int = 0  # random numbers since the last page that have no list of outcomes
    draws: tuple[tuple[int, int], ...] = ()  # (outcomes, outcome) of the draws that have one
    restarted: bool = False  # whether the story asked to be restarted
    asks: bool = False  # whether it has text boxes
    words: str = ""  # words that a curious player typed since the last click

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Link))

    @property
    def parts(self) -> tuple[str | tuple[str, str], ...]:
        """The pieces as values that can be compared and hashed."""
        return tuple(
            piece if isinstance(piece, str) else (piece.label, piece.target)
            for piece in self.pieces
        )

    @property
    def content(self) -> tuple[str, tuple[str, ...]]:
        """The text and the labels of the links, as a player reads them."""
        text, links, _ = lay_out(self.pieces)
        return text, tuple(label for label, _ in links)


def read_page(answer: Any, most_pieces: int = 20_000) -> HostedPage:
    """Read a page from the driver's JSON.

    Pieces are links and the texts between them.

    Raises:
        UnreadableError: The JSON is not a page.
    """
    if not isinstance(answer, str):
        raise UnreadableError("the page never settles, so it cannot be played")
    if len(answer) > MAX_ANSWER:
        cause = f"the page has {len(answer):,} characters; the limit is {MAX_ANSWER:,}"
        raise UnreadableError(cause)
    try:
        table = json.loads(answer)
        if (count := len(table.get("pieces", ()))) > most_pieces:
            cause = f"the page has {count:,} links and texts; the limit is {most_pieces:,}"
            raise UnreadableError(cause)
        if "failed" in table:
            message = str(table["failed"])[:300]
            raise UnreadableError(f"{message}: the page cannot be read")
        return HostedPage(
            passage=_text(table["passage"]),
            pieces=tuple(map(_piece, table["pieces"])),
            variables=dict(table["variables"].items()),
            errors=tuple(map(_text, table["errors"])),
            faults=tuple((_text(kind), _text(what)) for kind, what in table["faults"]),
            beyond=_text(table["beyond"]),
            history=tuple(map(_text, table["history"])),
            entered=bool(table["entered"]),
            unlisted_draws=operator.index(table["draws"]),
            draws=tuple((operator.index(n), operator.index(draw)) for n, draw in table["lots"]),
            restarted=bool(table["restarted"]),
            asks=bool(table["asks"]),
            words=_text(table["words"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        cause = "the story's scripts replace functions that are needed to read its page"
        raise UnreadableError(f"{cause}, so it cannot be played") from error


def _is_state(saved: Any) -> bool:
    """Whether a value is a saved state as the driver writes it, not one of the story's."""
    try:
        return len(saved) <= MAX_ANSWER and isinstance(json.loads(saved)["chance"]["lots"], list)
    except (ValueError, LookupError, TypeError, RecursionError):
        return False


def _about(answer: Any) -> tuple[str, str]:
    with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
        about = json.loads(answer)
        return _text(about["name"])[:100], _text(about["version"])[:100]
    return "", ""


def _piece(piece: Any) -> str | Link:
    if isinstance(piece, str):
        return _text(piece)
    return Link(_text(piece["label"]), _text(piece["target"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} instead of a text")
    return SURROGATE.sub("\ufffd", value)


class Session:
    """A hosted story: `open` starts an episode, `press` takes a link of the current page.

    A page depends on the links pressed and on the chance of each step: a key that determines all
    random numbers, and the outcomes of the first listed draws, if they are given. While `listing`,
    later draws have their first outcome. Without a key, the previous step determines the next one.
    """

    def __init__(self, html: str, *, answers: Mapping[str, str], seconds: float = 10.0) -> None:
        self.html = browser.prepare(html)
        self.answers = dict(answers)
        self.seconds = seconds
        self.missing = browser.outside_scripts(html)  # scripts that are not run
        self.about = ("", "")  # name and version of the story format, once opened
        self.isolate: Isolate | None = None
        self.rewinds = 0  # since the page was loaded
        # Words that a curious player types in; None: the answers, once all timers have run.
        self.words: Sequence[str] | None = None
        self.is_hasty = True  # whether this player looks at pages before their timers
        self._page: HostedPage | None = None

    def open(
        self, key: int, draws: Sequence[int] = (), *, listing: bool = False, rewind: bool = False
    ) -> HostedPage:
        """Start an episode and return its first page.

        With `rewind`, an engine whose scripts may store more than its state is rewound, too, if
        that shows the same first page.
        """
        chance = _arguments(key, draws, listing)
        curious = f"__drrn.setCuriosity({json.dumps(self.is_hasty)}, {json.dumps(self.words)})"
        if self.isolate is not None:  # without loading the page again, if the engine allows it
            with contextlib.suppress(IsolateError):
                self._evaluate("__drrn.curious = null")
                self._page_after(f"__drrn.again({json.dumps(rewind)}, {chance})")
                page = self._page_after(curious)
                self.rewinds += 1
                return page
        self.rewinds = 0
        self.close()
        self.isolate = Isolate()
        with self._refused_on_error():
            browser.add_browser(self.isolate)
            self.isolate.evaluate(f"__drrn.begin({json.dumps(self.answers)}, {chance})")
            browser.load(self.isolate, self.html, seconds=self.seconds)
            page = self._page_after(f"__drrn.openStory({chance})")
            self.about = _about(self._evaluate("JSON.stringify(__drrn.format.about())"))
            if page.restarted:
                self._page = None
                cause = "the page reloads itself at once, so the story never starts"
                raise UnreadableError(cause)
            return self._page_after(curious)

    def press(
        self,
        index: int,
        key: int | None = None,
        draws: Sequence[int] = (),
        *,
        listing: bool = False,
    ) -> HostedPage:
        """Press link `index` of the page and return the next page."""
        count = len(self._page.links) if self._page else 0
        if not 0 <= index < count:
            raise IndexError(f"action {index}: the page has {count} actions")
        with self._refused_on_error():
            return self._page_after(f"__drrn.step({index}, {_arguments(key, draws, listing)})")

    def save(self) -> str | None:
        """The engine's saved state, or None if it cannot save."""
        with self._refused_on_error():
            try:
                saved = self._evaluate("__drrn.save()")
            except (TimedOutError, OutOfMemoryError):
                raise
            except IsolateError:  # the story has replaced what saves it
                return None
        return saved if _is_state(saved) else None

    def restore(self, saved: str) -> HostedPage:
        """Return to a saved state of this story and read its page."""
        if self.isolate is None:
            self.open(0)
        with self._refused_on_error():
            self._evaluate("__drrn.curious = null")
            return self._page_after(f"__drrn.restore({json.dumps(saved)})")

    def change(self, values: Mapping[str, Any], key: int) -> HostedPage:
        """Enter the passage again with other values of variables."""
        with self._refused_on_error():
            return self._page_after(f"__drrn.change({json.dumps(dict(values))}, {key})")

    def close(self) -> None:
        if self.isolate is not None:
            self.isolate.close()
        self.isolate = None
        self._page = None

    def _evaluate(self, *scripts: str) -> Any:
        if self.isolate is None:
            raise RuntimeError("the session is not open; call open first")
        return self.isolate.evaluate(*scripts, seconds=self.seconds)

    def _page_after(self, call: str) -> HostedPage:
        """Start an action and read its page. Timers and promises run before the second call."""
        self._page = read_page(self._evaluate(f"void {call}", "__drrn.result"))
        return self._page

    @contextlib.contextmanager
    def _refused_on_error(self) -> Iterator[None]:
        try:
            yield
        except IsolateError as error:
            reason = str(error)
            if isinstance(error, TimedOutError):
                cause = f"it loops (no page after {self.seconds:g} seconds)"
                reason = f"the story cannot be played: {cause}"
            elif isinstance(error, OutOfMemoryError):
                cause = f"it needs more than {MEGABYTES} MB of memory"
                reason = f"the story cannot be played: {cause}"
            elif not isinstance(error, UnreadableError):
                reason = f"the page cannot be played: {reason[:300]}"
            where = f'after passage "{self._page.passage}"' if self._page else "at its start"
            self.close()
            raise InputError(f"{where}: {reason}") from error


def _arguments(key: int | None, draws: Sequence[int], listing: bool) -> str:
    first = "undefined" if key is None else key
    return f"{first}, {json.dumps(list(draws))}, {json.dumps(listing)}"
