"""A bounded pool of environments, shared by a game and its copies: a thousand Java machines are not an option."""

from __future__ import annotations

import contextlib
import logging
import weakref

from drrn.errors import InputError
from drrn.suites.environment import SuitePage
from drrn.suites.naming import SuiteChoice
from drrn.suites.process import EnvironmentFailedError, EnvironmentProcess

log = logging.getLogger("drrn")

MOST_FAILURES = 3  # in a row: then it is no accident


class Lease:
    """An environment that a game plays in, until it gives it back or the pool takes it for another."""

    def __init__(self, environment: EnvironmentProcess, holder: object) -> None:
        self.environment: EnvironmentProcess | None = environment
        self.holder = weakref.ref(holder)  # a game that is gone needs none

    @property
    def held(self) -> bool:
        return self.environment is not None and self.holder() is not None


class EnvironmentPool:
    """At most so many environments at once. Where all are in use, the one that was leased first is taken: in a loop
    that stops episodes by itself, that game waits for a reset which never came."""

    def __init__(self, choice: SuiteChoice) -> None:
        self.choice = choice
        self.most = int(choice.options["copies"])
        self.failures = 0  # since a step went well
        self._idle: list[EnvironmentProcess] = []
        self._leases: list[Lease] = []
        self.open_one()

    def open_one(self) -> None:
        """Have an environment ready; what is wrong with the game or its options is told here."""
        try:
            self._idle.append(EnvironmentProcess(self.choice))
        except EnvironmentFailedError as error:
            raise InputError(f"{self.choice.name}: {error}") from error

    def lease(self, holder: object) -> Lease:
        """An environment for a game: an idle one, else a new one, else that of the longest lease."""
        self._return_those_left()
        if not self._idle and len(self._leases) >= self.most:
            self.release(self._leases[0])
        if not self._idle:
            self.open_one()
        lease = Lease(self._idle.pop(), holder)
        self._leases.append(lease)
        return lease

    def release(self, lease: Lease) -> None:
        """Take an environment back; a second time does nothing."""
        environment = lease.environment
        lease.environment = None
        self._leases = [other for other in self._leases if other is not lease]
        if environment is not None and environment.end.alive:
            self._idle.append(environment)

    def begin(self, holder: object, seed: int) -> tuple[Lease, SuitePage]:
        """A new episode; an environment that fails is replaced once."""
        for last in (False, True):
            lease = self.lease(holder)
            assert lease.environment is not None
            try:
                return lease, lease.environment.reset(seed)
            except EnvironmentFailedError as error:
                self.release(lease)
                if last:
                    raise InputError(f"{self.choice.name}: {error}") from error
                log.warning(
                    "%s: %s; the episode begins in a new environment", self.choice.name, error
                )
            except BaseException:  # a refusal, or Ctrl-C
                self.release(lease)
                raise
        raise AssertionError("unreachable")

    def close(self) -> None:
        """End all environments."""
        for lease in self._leases:
            if lease.environment is not None:
                self._idle.append(lease.environment)
                lease.environment = None
        for environment in self._idle:
            with contextlib.suppress(OSError):
                environment.connection.close()  # all begin to end, then each is waited for
        for environment in self._idle:
            environment.end()
        self._idle = []
        self._leases = []

    def _return_those_left(self) -> None:
        for lease in self._leases:
            if not lease.held:
                self.release(lease)
