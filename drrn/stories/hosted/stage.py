"""The stage: plays a hosted story by its engine, and remembers every moment, so that the engine is asked once.

A step that was taken before, from an equal state with equal lots, is a look-up. For any other, an engine is brought to
the state: one that stands there already, else by restoring the engine's own state, else by playing the way again.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Hashable, Iterator

from drrn.errors import InputError
from drrn.stories.hosted.keyed_lots import lots_of
from drrn.stories.hosted.matters import Matters
from drrn.stories.hosted.moments import Click, Moment, Way, grown, walk
from drrn.stories.hosted.session import Session
from drrn.stories.hosted.shown import Shown
from drrn.stories.twine.page import EveryDraw

MOST_SESSIONS = 5  # engines at once, one more than games that play; each takes about 30 MB
MOST_WAYS = 2_000  # in which chance may make one step come out, to be listed
MOST_LOTS_BEFORE = (
    8  # that a link may draw before its passage is entered; a page of noise draws thousands
)
MOST_REMEMBERED = (
    256 * 2**20
)  # characters of saved states; past that, steps are played anew each time


class UnlistedError(Exception):
    """Why the outcomes of a step cannot be listed."""


class OutOfTimeError(Exception):
    """The time for a search is over."""


class LostError(Exception):
    """An engine could not be brought back to a page: the same clicks show another one the second time."""


class Stage:
    """One story: its engines, and the moments met so far."""

    def __init__(self, open_session: Callable[[], Session], matters: Matters, source: str) -> None:
        self.open_session = open_session
        self.matters = matters
        self.source = source
        self.moments: dict[Hashable, Moment] = {}
        self.errors: dict[
            str, None
        ] = {}  # what the story's scripts threw, "passage: message", each once
        self.users = 0  # games that play here
        self.remembers = True  # whether a step that was taken before is looked up
        self.until: float | None = None  # when a search must be over, by the monotonic clock
        self._before = Moment(
            Shown("", (), {})
        )  # what comes before the opening, which is its link 0
        self._sessions: list[
            tuple[Session, Moment]
        ] = []  # engines, and where each stands; the last used one last
        self._kept = 0  # characters of saved states

    def opening(self, key: int) -> Moment:
        """The first page, by the lots of a key."""
        return self.follow(self._before, 0, key)

    def openings(self) -> Iterator[tuple[float, Moment]]:
        """Every first page that chance can make, with its probability."""
        return self.outcomes(self._before, 0)

    def follow(self, moment: Moment, link: int, key: int) -> Moment:
        """The moment after a link, by the lots of a key."""
        found, drawn = walk(moment.onward.get(link) if self.remembers else None, lots_of(key))
        return found or self._play(moment, link, key, drawn)[0]

    def outcomes(self, moment: Moment, link: int) -> Iterator[tuple[float, Moment]]:
        """Every moment that chance can make of a link, with its probability."""
        lots = EveryDraw()
        ways = 0
        while lots.advance():
            ways += 1
            if ways > MOST_WAYS:
                raise UnlistedError(
                    f'a step from passage "{moment.shown.passage}" comes out in over {MOST_WAYS:,} ways'
                )
            found, drawn = walk(moment.onward.get(link), lots.draw)
            if found is None:
                if self.until is not None and time.monotonic() > self.until:
                    raise OutOfTimeError
                found, shown = self._play(moment, link, None, drawn)
                if shown.draws:
                    raise UnlistedError(
                        f'passage "{shown.passage}" draws a number by Math.random(), which has no list of outcomes'
                    )
                for outcomes, _ in shown.lots[len(drawn) :]:
                    lots.draw(outcomes)
            yield lots.probability, found

    def close(self) -> None:
        """Let go of the engines; what was met is kept."""
        while self._sessions:
            self._sessions.pop()[0].close()

    def _play(
        self, moment: Moment, link: int, key: int | None, drawn: list[int]
    ) -> tuple[Moment, Shown]:
        """Have an engine take the step, and remember what came of it."""
        session = self._session_at(moment)
        with self._named(session):
            shown = self._taken(session, Way(moment, link, key, tuple(drawn)))
            if moment is self._before:
                _check_opening(shown, session.missing)
        self.errors.update(dict.fromkeys(shown.errors))
        lots = tuple(outcome for _, outcome in shown.lots)
        clicks = (
            (Click(-1, "", lots),)
            if shown.entered
            else (*moment.clicks, Click(link, _label(moment, link), lots))
        )
        identity = self.matters.identity(shown, clicks)
        after = self.moments.get(identity)
        if after is None:
            after = Moment(shown, session.save(), Way(moment, link, key, lots), clicks)
            self._kept += len(after.saved or "") + 1000
            if self._kept < MOST_REMEMBERED:
                self.moments[identity] = after
        if not shown.draws and self._kept < MOST_REMEMBERED:
            moment.onward[link] = grown(moment.onward.get(link), shown.lots, after)
        self._sessions.append((session, after))
        return after, shown

    @contextlib.contextmanager
    def _named(self, session: Session) -> Iterator[None]:
        """Refusals name the file; an engine that was stopped in the middle is let go."""
        try:
            yield
        except InputError as error:
            session.close()
            raise InputError(f"{self.source}, {error}") from error
        except BaseException:
            session.close()
            raise

    def _taken(self, session: Session, way: Way) -> Shown:
        """The page that an engine shows after a step; without a key, lots that are not given are listed."""
        key = way.key or 0
        listing = way.key is None
        if way.before is not self._before:
            shown = session.press(way.link, key, way.lots, listing=listing)
            if not shown.restarted:
                return shown
        return session.open(
            key, way.lots, listing=listing
        )  # also where the page asks to be loaded anew

    def _session_at(self, moment: Moment) -> Session:
        """An engine that stands at a moment; it is the caller's until it is put back."""
        for number, (_, place) in enumerate(self._sessions):
            if place is moment:
                return self._sessions.pop(number)[0]
        session = (
            self.open_session() if len(self._sessions) < MOST_SESSIONS else self._sessions.pop(0)[0]
        )
        with self._named(session):
            if moment is self._before or self._restored(session, moment):
                return session
        session.close()
        said = f'passage "{moment.shown.passage}" cannot be come back to: the same clicks show another page'
        if self.until is not None:
            raise UnlistedError(said)
        self.remembers = False  # each game then keeps to an engine of its own, which never has to be brought back
        raise LostError(said)

    def _restored(self, session: Session, moment: Moment) -> bool:
        """Bring an engine to a moment: by its own saved state, else from the last moment before that has one."""
        again: list[
            Moment
        ] = []  # to be gone through once more, the last one first; a way may be as long as a game
        while not self._restored_by_its_state(session, moment):
            if moment.way is None:
                return False
            again.append(moment)
            moment = moment.way.before
            if moment is self._before:
                break
        return all(self._replayed(session, moment) for moment in reversed(again))

    def _restored_by_its_state(self, session: Session, moment: Moment) -> bool:
        for saved in _ways_to_restore(moment.saved):
            with contextlib.suppress(InputError):
                if _alike(session.restore(saved), moment.shown):
                    moment.saved = saved
                    return True
        moment.saved = None  # it holds less than matters
        return False

    def _replayed(self, session: Session, moment: Moment) -> bool:
        """Take the step that led to a moment again, from the one before it."""
        assert moment.way is not None
        shown = self._taken(session, moment.way)
        # Whoever only plays may go on where the page is the same; odds are exact only where all that is behind it is.
        return _alike(shown, moment.shown) or (
            self.until is None and shown.seen == moment.shown.seen
        )


def _check_opening(shown: Shown, missing: list[str]) -> None:
    """A story whose first page has neither a word nor a link did not begin."""
    if shown.links or any(str(piece).strip() for piece in shown.pieces):
        return
    thrown = f" (its script threw: {shown.errors[0].partition(': ')[2]})" if shown.errors else ""
    nothing = f"at its start: the page shows nothing to read or to press{thrown}"
    if missing:
        raise InputError(
            f"{nothing}: it needs {', '.join(missing[:3])}, and other files are not read: publish it whole"
        )
    raise InputError(f"{nothing}: open the file in a browser to see whether it is whole")


def _label(moment: Moment, link: int) -> str:
    links = moment.shown.links
    return links[link].label if link < len(links) else ""


def _ways_to_restore(saved: str | None) -> Iterator[str]:
    """A saved state, and as it would be if the first few of its lots were drawn before the passage was entered."""
    if saved is None:
        return
    yield saved
    state = json.loads(saved)
    for _ in range(min(MOST_LOTS_BEFORE, len(state["chance"]["lots"]))):
        state["chance"]["lots"].pop(0)
        yield json.dumps(state)


def _alike(one: Shown, other: Shown) -> bool:
    """Whether two pages look the same, come from the same passage, and have the same state behind them."""
    return all(
        getattr(one, part) == getattr(other, part)
        for part in ("passage", "seen", "variables", "beyond")
    )
