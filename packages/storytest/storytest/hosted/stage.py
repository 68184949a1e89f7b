"""Plays a hosted story by its engine and caches every step.

A step that was taken before, from an equal state with equal random draws, is a look-up. For any
other step, an engine is brought to the state: one that is already there, or by restoring the
engine's saved state, or by replaying the path from the last state that can be restored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storytest.hosted.identity import Click, Identity
from storytest.hosted.session import HostedPage, Session
from storytest.limits import LIMITS, Limits
from storytest.search import LostError, UnlistedError, clock
from storytest.twine.script import EveryDraw
from textgames.errors import InputError


class OutOfTimeError(Exception):
    """The time for a search is over."""


@dataclass(eq=False, slots=True)
class Arrival:
    """How a moment was first reached: from which moment, by which link and which chance."""

    before: Moment
    link: int
    key: int | None  # None: the draws alone
    draws: tuple[int, ...]
    values: Mapping[str, Any] | None = None  # that variables were given instead of a click


@dataclass(eq=False, slots=True)
class Moment:
    """A state of the story: its page, and how to return to it."""

    page: HostedPage
    saved: str | None = None  # the engine's saved state; None if it cannot save
    arrival: Arrival | None = None  # None before the opening
    clicks: tuple[Click, ...] = ()  # the click that entered the passage, and those made in it
    next: dict[int, Branch] = field(default_factory=dict)  # link → the moments after it
    scenes: dict[Hashable, Any] = field(default_factory=dict)  # a cache of the game


@dataclass(eq=False, slots=True)
class Fork:
    """A random draw of a step, with the branch of each outcome."""

    outcomes: int
    branches: dict[int, Branch] = field(default_factory=dict)


Branch = Moment | Fork


def _walk(branch: Branch | None, draw: Callable[[int], int]) -> tuple[Moment | None, list[int]]:
    """The moment that draws lead to, None if no game went there, and the draws."""
    draws: list[int] = []
    while isinstance(branch, Fork):
        draws.append(draw(branch.outcomes))
        branch = branch.branches.get(draws[-1])
    return branch, draws


def _grown(branch: Branch | None, draws: Sequence[tuple[int, int]], moment: Moment) -> Branch:
    if not draws:
        return moment
    (outcomes, outcome), *rest = draws
    fork = branch if isinstance(branch, Fork) else Fork(outcomes)
    fork.branches[outcome] = _grown(fork.branches.get(outcome), rest, moment)
    return fork


def draws_of(key: int) -> Callable[[int], int]:
    """The draws of a step with this key. chance.js computes the same numbers."""
    golden = 0x9E3779B9  # 2³² divided by the golden ratio: its multiples are evenly spread
    count = 0

    def draw(outcomes: int) -> int:
        nonlocal count
        count += 1
        mixed = (key + count * golden) % 2**32
        mixed = (mixed ^ (mixed >> 16)) * 0x21F0AAAD % 2**32
        mixed = (mixed ^ (mixed >> 15)) * 0x735A2D97 % 2**32
        return (mixed ^ (mixed >> 15)) * outcomes >> 32

    return draw


class Stage:
    """The engines of one story, and the moments reached so far."""

    def __init__(
        self,
        open_session: Callable[[], Session],
        identity: Identity,
        source: str,
        limits: Limits = LIMITS,
    ) -> None:
        self.limits = limits
        self.open_session = open_session
        self.identity = identity
        self.source = source
        self.moments: dict[Hashable, Moment] = {}
        self.errors: dict[str, None] = {}  # "passage: message" of script errors, each once
        self.users = 0  # games that play here
        self.caches_steps = True
        self.until: float | None = None  # time, by `clock`, at which a search must end
        self.start = Moment(HostedPage("", (), {}))  # its link 0 leads to the first page
        self._rewinds = True  # whether games by `walk` may rewind such an engine
        self._checks = 0  # rewound games that were compared so far
        self.words: tuple[str, ...] = ()  # that a curious player types in
        self.asks = False  # whether a page had text boxes, or code asks questions
        self._walker: Session | None = None  # the engine of the last walk
        # Engines with their moments, least recently used first.
        self._sessions: list[tuple[Session, Moment]] = []
        self._saved_characters = 0

    def follow(self, moment: Moment, link: int, key: int) -> Moment:
        branch = moment.next.get(link) if self.caches_steps else None
        after, draws = _walk(branch, draws_of(key))
        return after or self._play(moment, link, key, draws)[0]

    def walk(self, moment: Moment, link: int, key: int, *, curious: int = 0) -> Moment:
        """The moment after a link in an engine that stays with the game.

        Nothing is cached or saved, so a step costs no more than the click. A curious player types
        words that the story compares with, and, if it is 2, does not always wait for timers.
        """
        session = self._walker_at_start() if moment is self.start else self._session_at(moment)
        session.words = self.words if curious else None
        session.is_hasty = curious > 1
        page = self._step(session, Arrival(moment, link, key, ()), walks=True)
        draws = tuple(outcome for _, outcome in page.draws)
        after = Moment(page, None, Arrival(moment, link, key, draws))
        self._sessions.append((session, after))
        self._walker = session
        return after

    def change(self, moment: Moment, values: Mapping[str, Any], key: int) -> Moment:
        """The moment in which the passage is entered again with other values."""
        session = self._session_at(moment)
        arrival = Arrival(moment, 0, key, (), values)
        with self._closed_on_error(session):
            after = Moment(self._take(session, arrival), session.save(), arrival)
        self._sessions.append((session, after))
        return after

    def _walker_at_start(self) -> Session:
        """Take the engine of the last walk out of the list, and check it if it was rewound."""
        for index, (session, moment) in enumerate(self._sessions):
            if session is self._walker:
                self._sessions.pop(index)
                is_due = session.words is None and self._checks < self.limits.checked_rewinds
                if session.rewinds and self._rewinds and is_due:
                    self._checks += 1
                    self._rewinds = self._is_repeated(moment)
                return session
        return self._session_at(self.start)

    def _is_repeated(self, moment: Moment) -> bool:
        """Whether a new engine shows the same pages for the clicks that led to a moment."""
        moments: list[Moment] = []
        while moment is not self.start and moment.arrival is not None:
            moments.append(moment)
            moment = moment.arrival.before
        session = self.open_session()
        first = moments[::-1][: self.limits.checked_clicks]
        try:
            return all(self._replay(session, one) for one in first)
        except InputError:
            return False
        finally:
            session.close()

    def outcomes(self, moment: Moment, link: int) -> Iterator[tuple[float, Moment]]:
        """Yield every possible moment after a link with its probability.

        Raises:
            UnlistedError: There are too many, or a draw has no list of outcomes.
            OutOfTimeError: The time for a search is over.
        """
        every_draw = EveryDraw()
        count = 0
        while every_draw.advance():
            count += 1
            if count > self.limits.outcomes:
                step = f'a step from passage "{moment.page.passage}"'
                raise UnlistedError(f"{step} has more than {self.limits.outcomes:,} outcomes")
            after, draws = _walk(moment.next.get(link), every_draw.draw)
            if after is None:
                if self.until is not None and clock() > self.until:
                    raise OutOfTimeError
                after, page = self._play(moment, link, None, draws)
                if page.unlisted_draws:
                    cause = "uses Math.random() in a way whose outcomes cannot be listed"
                    raise UnlistedError(f'passage "{page.passage}" {cause}')
                for outcomes, _ in page.draws[len(draws) :]:
                    every_draw.draw(outcomes)
            yield every_draw.probability, after

    def close(self) -> None:
        """Close the engines, but keep the moments."""
        while self._sessions:
            self._sessions.pop()[0].close()

    def _play(
        self, moment: Moment, link: int, key: int | None, draws: list[int]
    ) -> tuple[Moment, HostedPage]:
        session = self._session_at(moment)
        page = self._step(session, Arrival(moment, link, key, tuple(draws)))
        outcomes = tuple(outcome for _, outcome in page.draws)
        if page.entered:
            clicks: tuple[Click, ...] = (Click(-1, "", outcomes),)
        else:
            links = moment.page.links
            label = links[link].label if link < len(links) else ""
            clicks = (*moment.clicks, Click(link, label, outcomes))
        # An error may leave the page as it was; the clicks that lead to it are to be reported.
        identity = (self.identity.of(page, clicks), page.errors)
        after = self.moments.get(identity)
        if after is None:
            after = Moment(page, session.save(), Arrival(moment, link, key, outcomes), clicks)
            self._saved_characters += len(after.saved or "") + 1000
            if self._saved_characters < self.limits.saved_characters:
                self.moments[identity] = after
        if not page.unlisted_draws and self._saved_characters < self.limits.saved_characters:
            moment.next[link] = _grown(moment.next.get(link), page.draws, after)
        self._sessions.append((session, after))
        return after, page

    def _step(self, session: Session, arrival: Arrival, *, walks: bool = False) -> HostedPage:
        """Take a step, check the first page, and note errors and text boxes."""
        with self._closed_on_error(session):
            page = self._take(session, arrival, walks=walks)
            if arrival.before is self.start:
                _check_opening(page, session.missing)
        self.errors.update(dict.fromkeys(page.errors))
        self.asks = self.asks or page.asks
        return page

    @contextlib.contextmanager
    def _closed_on_error(self, session: Session) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            session.close()
            raise InputError(f"{self.source}, {error}") from error
        except BaseException:
            session.close()
            raise

    def _take(self, session: Session, arrival: Arrival, *, walks: bool = False) -> HostedPage:
        """Take a step and return its page. Without a key, draws that are not given are listed."""
        key = arrival.key or 0
        listing = arrival.key is None
        if arrival.values is not None:
            return session.change(arrival.values, key)
        if arrival.before is not self.start:
            page = session.press(arrival.link, key, arrival.draws, listing=listing)
            if not page.restarted:
                return page
        rewind = walks and self._rewinds and session.rewinds < self.limits.rewinds
        return session.open(key, arrival.draws, listing=listing, rewind=rewind)

    def _session_at(self, moment: Moment) -> Session:
        for index, (_, current) in enumerate(self._sessions):
            if current is moment:
                return self._sessions.pop(index)[0]
        most = min(self.limits.sessions, self.users + 1)
        is_new = len(self._sessions) < most  # to open one takes long
        session = self.open_session() if is_new else self._sessions.pop(0)[0]
        with self._closed_on_error(session):
            if moment is self.start or self._restore(session, moment):
                return session
        session.close()
        cause = "the same clicks now show a different page"
        message = f'cannot return to passage "{moment.page.passage}": {cause}'
        if self.until is not None:
            raise UnlistedError(message)
        self.caches_steps = False  # each game then stays with one engine, which never goes back
        raise LostError(message)

    def _restore(self, session: Session, moment: Moment) -> bool:
        replay: list[Moment] = []  # last one first
        while not self._restore_saved(session, moment):
            if moment.arrival is None:
                return False
            replay.append(moment)
            moment = moment.arrival.before
            if moment is self.start:
                break
        return all(self._replay(session, moment) for moment in reversed(replay))

    def _restore_saved(self, session: Session, moment: Moment) -> bool:
        if moment.saved is None:
            return False
        with contextlib.suppress(InputError):
            if _is_equal(session.restore(moment.saved), moment.page):
                return True
        moment.saved = None  # it is incomplete
        return False

    def _replay(self, session: Session, moment: Moment) -> bool:
        assert moment.arrival is not None
        page = self._take(session, moment.arrival)
        if _is_equal(page, moment.page):
            return True
        # A game may continue from a page that looks the same; exact odds need an equal state.
        return self.until is None and page.parts == moment.page.parts


def _check_opening(page: HostedPage, missing: list[str]) -> None:
    if page.links or any(str(piece).strip() for piece in page.pieces):
        return
    error = f" (its script threw: {page.errors[0].partition(': ')[2]})" if page.errors else ""
    empty = f"at its start: the page shows no text and no links{error}"
    if missing:
        needs = f"it needs {', '.join(missing[:3])}, but other files are not read"
        raise InputError(f"{empty}: {needs}; publish it as one file")
    raise InputError(f"{empty}; open the file in a browser to check that it is complete")


def _is_equal(one: HostedPage, other: HostedPage) -> bool:
    states = [(page.passage, page.parts, page.variables, page.beyond) for page in (one, other)]
    return states[0] == states[1]
