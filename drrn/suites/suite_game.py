"""A suite's game behind the contract: sorted actions, rewards as differences of the score, endings told from stops.

What goes wrong in an environment costs its episode and nothing else: the episode is stopped where it stood (truncated,
not ended), the log says why, and the next one begins in another environment.
"""

from __future__ import annotations

import logging
import random
from typing import Any

from drrn.errors import InputError
from drrn.game.contract import Observation
from drrn.suites.environment import SuitePage
from drrn.suites.naming import SuiteChoice, hashes
from drrn.suites.pool import MOST_FAILURES, EnvironmentPool, Lease
from drrn.suites.process import EnvironmentFailedError

log = logging.getLogger("drrn")


class SuiteGame:
    """A game of a suite. Copies share one pool of environments; each leases one from its first reset on."""

    def __init__(self, choice: SuiteChoice, pool: EnvironmentPool | None = None) -> None:
        self.choice = choice
        self._owns_pool = pool is None
        self._pool = pool or EnvironmentPool(choice)
        self.name = choice.short_name
        said = ", ".join(f"{key} {value}" for key, value in sorted(choice.given.items()))
        self.title = (
            choice.title
            or f"{choice.suite.title}: {self.name.partition('-')[2]}{f' ({said})' if said else ''}"
        )
        self.max_steps = int(choice.options["max_steps"])
        self.most_copies = self._pool.most
        self.training = choice.training
        self.note = choice.suite.repeats
        self.stopped = False
        self.ending = ""
        self._generator = random.Random()
        self._lease: Lease | None = None
        self._shown = Observation("")
        self._score = 0.0

    @property
    def fingerprint(self) -> str:
        return self.choice.fingerprint

    @property
    def sources(self) -> dict[str, Any]:
        """The suite with its version, and hashes of the game's files."""
        found: dict[str, Any] = {"suite": f"{self.choice.suite.title} {self.choice.suite.version}"}
        return found | ({"files": hashes(self.choice.game)} if self.choice.suite.of_file else {})

    def another(self) -> SuiteGame:
        """A copy with an episode and a generator of its own, from the same pool."""
        return SuiteGame(self.choice, self._pool)

    def close(self) -> None:
        """Give the environment back; the game that was opened by its name ends the whole pool."""
        self._let_go()
        if self._owns_pool:
            self._pool.close()

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            self._generator = random.Random(seed)
        self._let_go()
        self.stopped = False
        self.ending = ""
        self._lease, page = self._pool.begin(self, self._generator.getrandbits(31))
        self._score = page.score
        return self._see(page)

    def step(self, index: int) -> Observation:
        if self.stopped or not self._shown.actions:
            raise RuntimeError(
                f"the episode {'was stopped' if self.stopped else 'has ended, or not begun'}: reset it"
            )
        if not 0 <= index < len(self._shown.actions):
            raise IndexError(f"action {index} of {len(self._shown.actions)}")
        if self._lease is None or self._lease.environment is None:
            raise InputError(
                f"{self.choice.name}: more than {self._pool.most} episodes go on at once, so this one's environment "
                f"went to another: say copies={2 * self._pool.most} in the name, or play fewer at once"
            )
        try:
            page = self._lease.environment.step(self._shown.actions[index])
        except EnvironmentFailedError as error:
            return self._cut_short(error)
        self._pool.failures = 0
        return self._see(page)

    def _see(self, page: SuitePage) -> Observation:
        """The page, with the reward for having come there: by how much the score rose."""
        reward = page.score - self._score
        self._score = page.score
        self.ending = page.ending or ""
        self.stopped = page.stopped and page.ending is None
        actions = page.actions if page.ending is None else ()
        if page.ending is None and not actions:
            actions = tuple(sorted(self.choice.suite.fallback))
            log.warning('%s: the suite lists no action at "%s": %s can be said', self.choice.name,
                        " ".join(page.text.split())[:60], ", ".join(actions))  # fmt: skip
        self._shown = Observation(page.text, actions, reward)
        if not actions:
            self._let_go()
        return self._shown

    def _cut_short(self, error: EnvironmentFailedError) -> Observation:
        """The page once more, as the last of a stopped episode; again and again is no accident, and refused."""
        self._let_go()
        self._pool.failures += 1
        if self._pool.failures >= MOST_FAILURES:
            raise InputError(
                f"{self.choice.name}: {MOST_FAILURES} times in a row: {error}"
            ) from error
        log.warning("%s: %s; the episode is stopped there, and the next one goes on in a new environment",
                    self.choice.name, error)  # fmt: skip
        self.stopped = True
        return Observation(self._shown.text, self._shown.actions, 0.0)

    def _let_go(self) -> None:
        lease = self._lease
        self._lease = None
        if lease is not None:
            self._pool.release(lease)
