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
from dataclasses import dataclass, replace
from typing import Any

from textgames.errors import InputError
from textgames.game.contract import Observation, StoryGame, check_index
from textgames.openers import SPEC, GameSpec, Opener
from textgames.processes import Service, ServiceError
from textsuites import environments
from textsuites.catalogue import SuiteChoice, absolute_name, hashes, read_choice, with_options
from textsuites.environments import SuitePage
from textsuites.protocols import read_protocol

ANSWERS = {"observation", "feedback"}  # parts of a page that are no part of a state
State = tuple[str, float]  # of an enumerated game: its name, and the reward for arriving
log = logging.getLogger("textgames")


def open_suite_of(spec: GameSpec) -> "SuiteGame":
    """Open `suite:game?options`. `make` calls it."""
    choice = read_choice(spec.source)
    choice.suite.check_installed()
    return EnumeratedGame(choice) if choice.options.get("enumerate") == "yes" else SuiteGame(choice)


def _nobody() -> None:
    """The player of an environment that is idle."""


@dataclass(frozen=True)
class Limits:
    """What the environments of a game may take, beyond the option `seconds` of a step."""

    opening: float = 180.0  # seconds to start a process and Java, and to load a game
    reset: float = 60.0  # seconds to start an episode
    failures: int = 3  # in a row, after which the game is rejected


class LimitedEnvironment:
    """An environment in a separate process, with time limits.

    The hash seed of the process is fixed: a suite that lists a set always lists it in the same
    order.
    """

    def __init__(self, choice: SuiteChoice, limits: Limits) -> None:
        self.player: Callable[[], object] = _nobody  # a weak reference to the game that uses it
        self.seconds = float(choice.options["seconds"])
        self.limits = limits
        self.has_failed = False
        create = getattr(environments, choice.suite.environment)
        variables = {"PYTHONHASHSEED": "0"}
        if choice.suite.java:
            options = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {choice.suite.java_options}"
            variables["JAVA_TOOL_OPTIONS"] = options.strip()
        arguments = (choice.game, dict(choice.options))
        self.service = Service(create, *arguments, environment=variables, quiet=True)
        self._call("opening", max(self.seconds, limits.opening), self.service.open)

    def reset(self, seed: int, fold: str | None) -> SuitePage:
        seconds = max(self.seconds, self.limits.reset)
        ask = self.service.ask
        page: SuitePage = self._call("the start of an episode", seconds, ask, "reset", seed, fold)
        return page

    def step(self, action: str) -> SuitePage:
        name = f'the step "{action}"'
        page: SuitePage = self._call(name, self.seconds, self.service.ask, "step", action)
        return page

    def walk(self, path: tuple[str, ...]) -> tuple[SuitePage, str]:
        """Play a path from the start of an episode. See `Environment.walk`."""
        name = f"a walk of {len(path)} steps"
        last: tuple[SuitePage, str]
        last = self._call(name, self.seconds, self.service.ask, "walk", path)
        return last

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

    def __init__(self, choice: SuiteChoice, limits: Limits | None = None) -> None:
        self.choice = choice
        self.limits = limits or Limits()
        self.limit = int(choice.options["copies"])
        self.failures = 0  # in a row
        self.environments: list[LimitedEnvironment] = []  # by the start of their last episode
        try:
            self.environments.append(LimitedEnvironment(choice, self.limits))
        except ServiceError as error:
            raise InputError(f"{choice.name}: {error}") from error

    def start(
        self, player: object, seed: int, fold: str | None
    ) -> tuple[LimitedEnvironment, SuitePage]:
        """Start an episode. An environment that fails is replaced."""
        while True:
            try:
                return self._start(player, seed, fold)
            except ServiceError as error:
                self.report(error, "the episode starts in a new environment")

    def walk(self, path: tuple[str, ...]) -> tuple[SuitePage, str]:
        """Play a path from the start of an episode. An environment that fails is replaced."""
        while True:
            try:
                last = self._select().walk(path)
            except ServiceError as error:
                self.report(error, "the actions are played again in a new environment")
            else:
                self.failures = 0
                return last

    def report(self, error: ServiceError, consequence: str) -> None:
        """Log a failure, or raise InputError if it is one too many in a row."""
        self.failures += 1
        name = self.choice.name
        if self.failures >= self.limits.failures:
            message = f"{name}: failed {self.failures} times in a row; the last time: {error}"
            raise InputError(message) from error
        log.warning("%s: %s; %s", name, error, consequence)

    def _start(
        self, player: object, seed: int, fold: str | None
    ) -> tuple[LimitedEnvironment, SuitePage]:
        environment = self._select()
        page = environment.reset(seed, fold)
        environment.player = weakref.ref(player)
        return environment, page

    def _select(self) -> LimitedEnvironment:
        """Return an idle environment, a new one, or else the one whose episode started first."""
        alive = [one for one in self.environments if not one.has_failed]
        idle = [one for one in alive if one.player() is None]
        if idle:
            environment = idle[-1]
        elif len(alive) < self.limit:
            environment = LimitedEnvironment(self.choice, self.limits)
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


class EnumeratedGame(SuiteGame):
    """A game of a suite that lists its states, so that it is compiled and solved.

    Only Jericho restores a saved state; in other suites, each is reached again by its actions.
    """

    def __init__(self, choice: SuiteChoice, pool: EnvironmentPool | None = None) -> None:
        options = choice.options
        parts = options["text"].split(",")
        needs = []
        if options.get("seed", 0) is None:
            needs.append("one variation: add seed=N")
        if ANSWERS.intersection(parts):
            others = [
                p for p in choice.suite.options["text"].default.split(",") if p not in ANSWERS
            ]
            cause = "pages without the answer to the last action"
            needs.append(f"{cause}: add text={','.join(others)}")
        if options["initial_score"] == "yes":
            needs.append("rewards that depend on the page: remove initial_score=yes")
        if needs:
            raise InputError(f"{choice.name}: enumerate needs {'; and '.join(needs)}")
        super().__init__(choice, pool)
        self._paths: dict[str, tuple[str, ...]] = {}  # actions to each state
        self._pages: dict[str, SuitePage] = {}

    def another(self) -> "EnumeratedGame":
        return EnumeratedGame(self.choice, self._pool)

    def opening(self) -> list[tuple[float, State]]:
        """Return the one state in which an episode starts."""
        return [(1.0, (self._walk(()), 0.0))]

    def outcomes(self, state: State, index: int) -> list[tuple[float, State]]:
        """Return the one state that an action leads to, and what it pays."""
        before = self._pages[state[0]]
        after = self._walk((*self._paths[state[0]], before.actions[index]))
        return [(1.0, (after, round(self._pages[after].score - before.score, 9)))]

    def look(self, state: State) -> Observation:
        """Return the page of a state."""
        page = self._pages[state[0]]
        return Observation(page.text, page.actions if page.ending is None else (), state[1])

    def ending_at(self, state: State) -> str:
        """Return the name of the ending at a state."""
        return self._pages[state[0]].ending or ""

    def _walk(self, path: tuple[str, ...]) -> str:
        """Play a path and return the name of the state that it leads to."""
        page, state = self._pool.walk(path)
        if state not in self._paths:
            self._paths[state] = path
            self._pages[state] = page
        return state


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
