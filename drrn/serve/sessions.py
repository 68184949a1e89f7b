"""Sessions: who plays what, where each stands, and how many there may be."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from drrn.serve.answers import Refusal
from drrn.serve.library import GameEntry

MOST_SESSIONS = 400
IDLE = 3600  # seconds after which a session is over
GIVES_WAY = 300  # seconds after which it is, where there are too many
MOST_STEPS = 2_000
MOST_KEPT = 200_000  # characters of the pages before, in one session; the oldest go


@dataclass(frozen=True)
class PastPage:
    """A page that was left, and how."""

    text: str
    actions: tuple[str, ...]
    chosen: int
    reward: float
    by: str  # person or agent

    @property
    def length(self) -> int:
        return len(self.text) + sum(map(len, self.actions))


@dataclass
class PlaySession:
    """A game that somebody plays."""

    id: str
    entry: GameEntry
    seed: int
    player: str | None = None
    taken: list[int] = field(default_factory=list)
    by: list[str] = field(default_factory=list)  # who took each step: person or agent
    past: list[PastPage] = field(default_factory=list)  # of the last steps, as many as are kept
    page: dict[str, Any] = field(default_factory=dict)
    undone: int = 0
    recorded: bool = False
    used: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def leave(self, chosen: int, by: str) -> None:
        """The page is left by an action."""
        page = self.page
        self.past.append(PastPage(page["text"], tuple(page["actions"]), chosen, page["reward"], by))
        while sum(page.length for page in self.past) > MOST_KEPT:
            self.past.pop(0)

    def begin(self, seed: int) -> None:
        """A new game."""
        self.seed = seed
        self.taken = []
        self.by = []
        self.past = []
        self.undone = 0
        self.recorded = False

    def seen(self, history: int) -> bool:
        """Whether this game has shown the page before, to a player who is told so many pages of history."""
        texts = [*(page.text for page in self.past), self.page["text"]]
        moves = [page.actions[page.chosen] for page in self.past]

        def told(at: int) -> tuple[list[str], list[str]]:
            first = max(0, at - history)
            return texts[first : at + 1], moves[first:at]

        now = told(len(texts) - 1)
        return any(told(at) == now for at in range(len(texts) - 1))

    def told(self, *, history: bool) -> dict[str, Any]:
        """As the page gets it."""
        shown = {
            name: self.page[name]
            for name in ("text", "actions", "reward", "total", "ended", "ending", "title")
        }
        shown["stopped"] = not self.page["ended"] and (
            self.page["stopped"] or len(self.taken) >= MOST_STEPS
        )
        found = {
            "session": self.id, "game": self.entry.id, "seed": self.seed, "player": self.player,
            "steps": len(self.taken), "undone": self.undone, "recorded": self.recorded, **shown,
        }  # fmt: skip
        return {**found, "history": self.past} if history else found


class SessionTable:
    """All sessions, by id. There are never more than so many: what is idle gives way."""

    def __init__(self) -> None:
        self.sessions: dict[str, PlaySession] = {}

    def __getitem__(self, id: str) -> PlaySession:  # noqa: A002
        found = self.sessions.get(id)
        if found is None:
            raise Refusal(
                404, "This game is over: it was idle for too long, or the server was started again."
            )
        found.used = time.monotonic()
        return found

    def new(self, entry: GameEntry, seed: int, player: str | None) -> PlaySession:
        """A session; refused where there are too many and none is idle."""
        self._drop_idle(IDLE if len(self.sessions) < MOST_SESSIONS else GIVES_WAY)
        if len(self.sessions) >= MOST_SESSIONS:
            raise Refusal(429, "Too many play at once: try again in some minutes.")
        session = PlaySession(secrets.token_urlsafe(12), entry, seed, player)
        self.sessions[session.id] = session
        return session

    def drop(self, session: PlaySession) -> None:
        self.sessions.pop(session.id, None)

    def _drop_idle(self, seconds: float) -> None:
        last = time.monotonic() - seconds
        for session in [session for session in self.sessions.values() if session.used < last]:
            self.drop(session)
