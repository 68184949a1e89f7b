"""A session: one hosted story being played in an isolate of its own, page by page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from drrn.errors import InputError
from drrn.stories.hosted.isolate import (
    MEGABYTES,
    Isolate,
    IsolateError,
    OutOfMemoryError,
    TimedOutError,
)
from drrn.stories.hosted.shown import Shown, UnreadableError, read_shown
from drrn.stories.hosted.source import add_browser, load, prepared, scripts_elsewhere

FAILED = '{"failed":'  # how the driver's answer begins where it could not read a page
SECONDS = 10.0  # for one page to be made, before a story is said to run without end


class Session:
    """A hosted story: `open` begins an episode, `press` takes a link of the page shown last.

    A page is a function of the links pressed and of each step's chance: a key, from which all that is drawn follows,
    and the outcomes of its first lots, if they are given; the others fall on their first outcome while `listing`.
    Without a key, that of the step before leads to the next.
    """

    def __init__(self, html: str, *, answers: Mapping[str, str], seconds: float = SECONDS) -> None:
        self.html = prepared(html)
        self.answers = dict(answers)
        self.seconds = seconds
        self.missing = scripts_elsewhere(html)  # which are not run
        self.about = ("", "")  # the story format's name and version, once opened
        self.isolate: Isolate | None = None
        self._shown: Shown | None = None

    def open(self, key: int, lots: Sequence[int] = (), *, listing: bool = False) -> Shown:
        """Begin an episode, and read its first page."""
        if self.isolate is not None and (shown := self._again(_arguments(key, lots, listing))):
            return shown
        self.close()
        self.isolate = Isolate()
        try:
            add_browser(self.isolate)
            self.isolate.evaluate(
                f"__drrn.begin({json.dumps(self.answers)}, {_arguments(key, lots, listing)})"
            )
            load(self.isolate, self.html, seconds=self.seconds)
            shown = self._settled(f"__drrn.opened({_arguments(key, lots, listing)})")
            self.about = self._about()
        except IsolateError as error:
            raise self._refused(self._why(error)) from error
        if shown.restarted:
            self._shown = None
            raise self._refused(
                "the page asks to be loaded anew as soon as it is there, so it never begins"
            )
        return shown

    def _about(self) -> tuple[str, str]:
        about = json.loads(str(self._evaluate("JSON.stringify(__drrn.format.about())")))
        return str(about["name"]), str(about["version"])

    def _again(self, chance: str) -> Shown | None:
        """Begin an episode in the page that is there, which is warm; None where only a new one will do."""
        try:
            self._evaluate(f"void __drrn.again({chance})")
            page = self._evaluate("__drrn.result")
            self._shown = (
                read_shown(page) if isinstance(page, str) and not page.startswith(FAILED) else None
            )
        except (IsolateError, UnreadableError):
            return None
        return self._shown

    def press(
        self, index: int, key: int | None = None, lots: Sequence[int] = (), *, listing: bool = False
    ) -> Shown:
        """Press link `index` of the page, and read the page that follows."""
        if self._shown is None or not 0 <= index < len(self._shown.links):
            raise IndexError(
                f"action {index}: the page has {len(self._shown.links) if self._shown else 0} actions"
            )
        return self._guarded(f"__drrn.step({index}, {_arguments(key, lots, listing)})")

    def save(self) -> str | None:
        """The state, as text, by the engine's own means; None where it has none."""
        saved = self._evaluate("__drrn.save()")
        return saved if isinstance(saved, str) else None

    def restore(self, saved: str) -> Shown:
        """Go back to a saved state of this story, and read its page."""
        if self.isolate is None:
            self.open(0)
        return self._guarded(f"__drrn.restore({json.dumps(saved)})")

    def close(self) -> None:
        if self.isolate is not None:
            self.isolate.close()
        self.isolate = None
        self._shown = None

    def _evaluate(self, script: str) -> Any:
        if self.isolate is None:
            raise RuntimeError("the session is not open: call open first")
        return self.isolate.evaluate(script, seconds=self.seconds)

    def _guarded(self, call: str) -> Shown:
        try:
            return self._settled(call)
        except IsolateError as error:
            raise self._refused(self._why(error)) from error

    def _settled(self, call: str) -> Shown:
        """Start an action and take its page: timers and promises all run before the second call."""
        self._evaluate(f"void {call}")
        page = self._evaluate("__drrn.result")
        if not isinstance(page, str):
            raise self._refused("the page never settled, so it cannot be played")
        try:
            if page.startswith(FAILED):
                raise self._refused(
                    f"{str(json.loads(page)['failed'])[:300]}: the page cannot be read"
                )
            self._shown = read_shown(page)
        except (UnreadableError, ValueError, RecursionError) as error:
            raise self._refused(
                "the story's scripts have changed what its page is read by, so it cannot be played"
            ) from error
        return self._shown

    def _why(self, error: IsolateError) -> str:
        """What stopped a story, for its reader."""
        if isinstance(error, TimedOutError):
            ran = f"the story ran for more than {self.seconds:g} seconds without showing a page"
            return f"{ran}: it loops, so it cannot be played"
        if isinstance(error, OutOfMemoryError):
            return f"the story asked for more than {MEGABYTES} MB of memory, so it cannot be played"
        return f"the page cannot be played: {str(error)[:300]}"

    def _refused(self, why: str) -> InputError:
        """What stopped the story, in one sentence; its isolate is of no more use."""
        where = self._where()
        self.close()
        return InputError(f"{where}: {why}")

    def _where(self) -> str:
        return f'after passage "{self._shown.passage}"' if self._shown else "at its start"


def _arguments(key: int | None, lots: Sequence[int], listing: bool) -> str:
    """The chance of a step, as the driver takes it."""
    return f"{'undefined' if key is None else key}, {json.dumps(list(lots))}, {json.dumps(listing)}"
