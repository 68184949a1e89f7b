"""A suite's game: sorted actions, rewards as differences of the score, endings apart from stops.

Environments run in separate processes, which can be killed when a step hangs. A failure costs its
episode only: the episode is truncated, the log has the reason, and the next one starts in another
environment.
"""

import logging
import os
import random
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from textgames.errors import InputError
from textgames.game.contract import Observation, StoryGame, check_index
from textgames.openers import SPEC, GameSpec, Opener
from textgames.processes import Service, ServiceError
from textsuites import environments
from textsuites.catalogue import SuiteChoice, absolute_name, hashes, read_choice, with_options
from textsuites.environments import SuitePage
from textsuites.protocols import read_protocol

log = logging.getLogger("textgames")


def open_suite_of(spec: GameSpec) -> "SuiteGame":
    """Open `suite:game?options`. `make` calls it."""
    choice = read_choice(spec.source)
    choice.suite.check_installed()
    return SuiteGame(choice)


def _nobody() -> None:
    """The player of an environment that is idle."""


class LimitedEnvironment:
    """An environment in a separate process, with time limits.

    The hash seed of the process is fixed: a suite that lists a set always lists it in the same
    order.
    """

    def __init__(self, choice: SuiteChoice, opening: float = 180.0, start: float = 60.0) -> None:
        """Open a game. `opening` and `start` are seconds for it and for the start of an episode."""
        self.player: Callable[[], object] = _nobody  # a weak reference to the game that uses it
        self.seconds = float(choice.options["seconds"])
        self.start = max(self.seconds, start)
        self.has_failed = False
        create = getattr(environments, choice.suite.environment)
        variables = {"PYTHONHASHSEED": "0"}
        if choice.suite.java:
            options = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {choice.suite.java_options}"
            variables["JAVA_TOOL_OPTIONS"] = options.strip()
        arguments = (choice.game, dict(choice.options))
        self.service = Service(create, *arguments, environment=variables, quiet=True)
        self._call("opening", max(self.seconds, opening), self.service.open)

    def reset(self, seed: int, fold: str | None) -> SuitePage:
        return self._ask("the start of an episode", self.start, "reset", seed, fold)

    def step(self, action: str) -> SuitePage:
        return self._ask(f'the step "{action}"', self.seconds, "step", action)

    def _ask(self, name: str, seconds: float, *call: Any) -> SuitePage:
        page: SuitePage = self._call(name, seconds, self.service.ask, *call)
        return page

    def _call(self, name: str, seconds: float, ask: Callable[..., Any], *arguments: Any) -> Any:
        """Call the service. If that fails, the environment is killed."""
        try:
            return ask(*arguments, timeout=seconds)
        except BaseException as error:  # after Ctrl-C, the environment may have taken the step
            self.has_failed = True
            self.service.kill()
            if not isinstance(error, ServiceError):
                raise
            cause = f"{name} failed: {error}"
            if error.reason == "timeout":
                cause += f" (allow more with seconds={2 * seconds:g} in the game's name)"
            raise ServiceError(error.reason, cause) from error


class EnvironmentPool:
    """A limited number of environments, shared by a game and its copies.

    If all are in use, the one whose episode started first is reclaimed: in a loop that truncates
    episodes itself, that game waits for a reset that never came.
    """

    def __init__(self, choice: SuiteChoice, most_failures: int = 3) -> None:
        self.choice = choice
        self.most_failures = most_failures  # in a row, after which the game is rejected
        self.limit = int(choice.options["copies"])
        self.failures = 0  # in a row
        self.environments: list[LimitedEnvironment] = []  # by the start of their last episode
        try:
            self.environments.append(LimitedEnvironment(choice))
        except ServiceError as error:
            raise InputError(f"{choice.name}: {error}") from error

    def start(
        self, player: object, seed: int, fold: str | None
    ) -> tuple[LimitedEnvironment, SuitePage]:
        """Start an episode. An environment that fails is replaced."""
        while True:
            try:
                environment = self._select()
                page = environment.reset(seed, fold)
            except ServiceError as error:
                self.report(error, "the episode starts in a new environment")
            else:
                environment.player = weakref.ref(player)
                return environment, page

    def report(self, error: ServiceError, consequence: str) -> None:
        """Log a failure, or raise InputError if it is one too many in a row."""
        self.failures += 1
        name = self.choice.name
        if self.failures >= self.most_failures:
            message = f"{name}: failed {self.failures} times in a row; the last time: {error}"
            raise InputError(message) from error
        log.warning("%s: %s; %s", name, error, consequence)

    def _select(self) -> LimitedEnvironment:
        """Return an idle environment, a new one, or else the one whose episode started first."""
        alive = [one for one in self.environments if not one.has_failed]
        idle = [one for one in alive if one.player() is None]
        if idle:
            environment = idle[-1]
        elif len(alive) < self.limit:
            environment = LimitedEnvironment(self.choice)
        else:
            environment = alive[0]
        self.environments = [*(one for one in alive if one is not environment), environment]
        environment.player = _nobody
        return environment

    def close(self) -> None:
        """End all environments."""
        for environment in self.environments:
            environment.player = _nobody
            environment.service.hang_up()  # processes start to exit before the first wait
        for environment in self.environments:
            environment.service.close()
        self.environments = []


class SuiteGame(StoryGame):
    """A game of a suite. Each copy takes an environment from the pool when it is reset."""

    def __init__(self, choice: SuiteChoice, pool: EnvironmentPool | None = None) -> None:
        self.choice = choice
        self._owns_pool = pool is None
        self._pool = pool or EnvironmentPool(choice)
        self.name = choice.short_name
        self.max_steps = choice.max_steps
        self.most_copies = self._pool.limit
        self.fingerprint = choice.fingerprint
        self.note = choice.suite.repeats
        self.highest_return = choice.highest_return
        self.stopped = False
        self.ending = ""
        self._random = random.Random()
        self._environment: LimitedEnvironment | None = None
        self._page = Observation("")
        self._score = 0.0

    def __repr__(self) -> str:
        return f"<SuiteGame {self.name!r}>"

    @property
    def title(self) -> str:
        options = ", ".join(f"{key} {value}" for key, value in sorted(self.choice.values.items()))
        title = f"{self.choice.suite.title}: {self.name.partition('-')[2]}"
        return f"{title} ({options})" if options else title

    @property
    def sources(self) -> dict[str, Any]:
        """The suite with its version, and hashes of the game's files."""
        suite = self.choice.suite
        sources: dict[str, Any] = {"suite": f"{suite.title} {suite.version}"}
        return sources | ({"files": hashes(self.choice.game)} if suite.of_file else {})

    def another(self) -> "SuiteGame":
        """Return a copy with its own episode and random generator, from the same pool."""
        return SuiteGame(self.choice, self._pool)

    def evaluation(self) -> "SuiteGame | None":
        """The game on the fold that evaluations play, with the same environments."""
        options = self.choice.options
        fold = options.get("evaluation")
        if options.get("fold") != "train" or fold == "train" or self.choice.is_fixed:
            return None
        choice = replace(self.choice, values={**self.choice.values, "fold": fold})
        game = SuiteGame(choice, self._pool)
        setattr(game, SPEC, GameSpec(choice.name))
        return game

    def close(self) -> None:
        """Release the environment. The original game also ends the pool."""
        self._release()
        if self._owns_pool:
            self._pool.close()

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            self._random = random.Random(seed)
        self._release()
        number = self._random.getrandbits(31)
        if seed is not None and self.choice.options.get("draw") == "in-order":
            number = seed
        fold = self.choice.options.get("fold")
        self._environment, page = self._pool.start(self, number, fold)
        self._score = page.score
        self._unpaid = 0.0
        observation = self._observe(page)
        if self.choice.options["initial_score"] == "yes":
            self._unpaid = page.score  # to the first action
        return observation

    def step(self, index: int) -> Observation:
        actions = self._page.actions
        check_index(index, len(actions), stopped=self.stopped)
        if self._environment is None or self._environment.player() is not self:
            limit = self._pool.limit
            raise InputError(
                f"{self.choice.name}: more than {limit} episodes are played at once, so another "
                f"one took this environment; write copies={2 * limit} in the name, or play fewer"
            )
        try:
            page = self._environment.step(actions[index])
        except ServiceError as error:
            return self._truncate(error)
        self._pool.failures = 0
        return self._observe(page)

    def _observe(self, page: SuitePage) -> Observation:
        """Return the page, with the increase of the score as its reward."""
        reward = page.score - self._score
        if reward < 0:
            reward *= self.choice.loss_share
        reward += self._unpaid
        self._unpaid = 0.0
        self._score = page.score
        self.ending = page.ending or ""
        self.stopped = page.stopped
        actions = page.actions if page.ending is None else ()
        if page.ending is None and not actions:
            actions = tuple(sorted(self.choice.suite.fallback))
            text = " ".join(page.text.split())[:60]
            message = '%s: the suite lists no action at "%s"; using %s'
            log.warning(message, self.choice.name, text, ", ".join(actions))
        self._page = Observation(page.text, actions, reward)
        if not actions:
            self._release()
        return self._page

    def _truncate(self, error: ServiceError) -> Observation:
        """Return the page again, as the last of a truncated episode."""
        self._release()
        self._pool.report(error, "the episode is truncated; the next one gets a new environment")
        self.stopped = True
        return Observation(self._page.text, self._page.actions, 0.0)

    def _release(self) -> None:
        if self._environment is not None and self._environment.player() is self:
            self._environment.player = _nobody
        self._environment = None


def _game_of_protocol(name: str) -> str:
    return absolute_name(read_protocol(name)[1])


def _protocol_settings(name: str) -> dict[str, Any]:
    return read_protocol(name)[0].training


OPENER = Opener(
    open_suite_of, "a game of a suite", absolute_name=absolute_name, with_options=with_options
)
PROTOCOL = Opener(
    open_suite_of, "a game of a suite", absolute_name=_game_of_protocol, training=_protocol_settings
)
