"""The training loop: `Trainer.train` yields each finished round."""

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from drrn.learning.experience import RewardScale, Steps
from drrn.learning.exploration import Optimism
from drrn.learning.learner import Generators
from drrn.learning.learners import build_learner
from drrn.learning.memory import drop_unused_texts
from drrn.models import build_model
from drrn.playing.compiled_rollouts import compiled_rollouts
from drrn.playing.evaluation import Evaluation, choose_policy, evaluate
from drrn.playing.lanes import lanes_of
from drrn.playing.policies import Policy, Rollouts, softmax_policy
from drrn.playing.recall import Recall, pages_of_game, remember
from drrn.playing.stepped_rollouts import SteppedRollouts
from drrn.playing.survey import choose
from drrn.runs.agent import Agent, shape_of, torch_device
from drrn.runs.config import check_vectors, game_entry, spec_from, versions
from drrn.runs.limits import check_memory, check_weights, check_words
from drrn.runs.run import Run
from drrn.runs.scores import Progress, Round, Row, compiled_or_none, evaluation_rows, rounds_of
from drrn.settings import POLICIES, Settings
from drrn.text import State, Store
from textgames.compiled.history import with_history
from textgames.errors import InputError
from textgames.game.contract import Game, evaluation_game_of, fingerprint_of, step_limit_of
from textgames.openers import GameSpec, spec_of
from textgames.wording import counted

log = logging.getLogger("textgames")

SCHEDULES = ("alpha_start", "rate_end", "optimism_share")  # they depend on the number of rounds
RESCHEDULED = "%s: results will differ from those of a run that is started with %d rounds (%s)"
Parts = Iterator[list[Steps]]  # some episodes of a round, by replica


class Trainer:
    """Trains a model on a game, round by round.

    The game and the settings determine the result. A round needs only the weights and the
    learner's state after the previous round, so a run can be resumed after any round.

    Args:
        game: The game to learn.
        settings: All settings of the run.
        device: The PyTorch device.
        spec: Opens the game again, in other processes and in resumed runs. None for a game that
            was given as an object.
        recipe: Where the default settings come from ("strong" or "paper"), for config.json.
        progress: Called with the number of states found while the game is compiled.
        words: The words of pages to read, if they were selected before (`select_words`).

    Example:
        >>> trainer = Trainer(drrn.make("long-watch"), Settings.from_flat(rounds=2))
        >>> for finished in trainer.train():
        ...     print(finished.number)
        >>> trainer.save("runs/demo")
    """

    round = 0  # the last finished one
    phase = ""  # "play" or "learn", during a round and if it was interrupted
    few_texts = 4096  # number of texts up to which none is dropped
    folder: Path | None = None  # where the run is saved
    played_steps: list[list[Steps]]  # of the last round, by part and replica
    deployment: dict[str, Any] | None = None  # the policy chosen after the last round
    # called with a phase ("play", "learn", "evaluate"), its episodes, and how many have ended
    watch: Callable[..., None] = staticmethod(lambda phase, total=0, done=0: None)

    def __init__(
        self,
        game: Game,
        settings: Settings,
        device: str | torch.device = "cpu",
        *,
        spec: GameSpec | None = None,
        recipe: str | None = None,
        progress: Callable[[int], None] | None = None,
        words: Sequence[str] | None = None,
    ) -> None:
        check_memory(settings)
        self.game = game
        self.settings, self.words = choose(settings, game, words)
        self.spec = spec
        self.recipe = recipe
        self.rows: list[Row] = []  # of evaluations.csv
        self.home = str(Path.cwd())  # where modules named by the settings are looked for
        self._build(torch_device(device), progress)

    def _build(self, device: torch.device, progress: Callable[[int], None] | None) -> None:
        """Build the model, the learner, the explorer and the rollouts."""
        settings = self.settings
        run = settings.run
        self.played = with_history(self.game, run.history)  # what the model sees
        self.compiled = compiled_or_none(self.played, settings, progress)
        self.store = Store.of_words(self.words, (), **settings.model.reading)
        if self.compiled is not None:
            self.store.read(self.compiled.texts, self.compiled.actions)
        shape = shape_of(settings, self._most_actions())
        check_memory(settings, self.store)
        self.model = build_model(settings.model.name, shape, self.store, run.seeds, device)
        states = np.arange(len(self.store.states))
        actions = np.arange(len(self.store.actions))
        for replica in range(run.replicas):
            self.model.meet(replica, states, actions)
        self.learner = build_learner(self.model, settings)
        optimistic = settings.exploration.name == "optimism"
        factor = self.learner.alpha_factor
        self.explorer = Optimism(settings, self.store, factor) if optimistic else None
        self.scale = RewardScale(run.replicas) if settings.exploration.alpha_relative else None
        compiled = self.compiled
        self.rollouts: Rollouts = (
            compiled_rollouts(compiled, self.model) if compiled is not None else self.stepped
        )
        self.progress = Progress(settings, step_limit_of(self.played))

    def _most_actions(self) -> int:
        """How many actions a model with a fixed number of outputs can score."""
        if self.compiled is not None:
            return max(1, int(np.diff(self.compiled.page_first).max()))
        if self.settings.model.name in ("linear", "max-action"):
            return max(20, len(self.played.reset(0).actions))
        return 20

    @cached_property
    def stepped(self) -> SteppedRollouts:
        """Rollouts that step the game."""
        rollouts = self._stepped_rollouts(self.played, self.spec)
        rollouts.pages = {} if self.settings.uses("recall") else None
        rollouts.progress = self._report
        return rollouts

    def close(self) -> None:
        """Close the copies of the game."""
        if "stepped" in vars(self):
            self.stepped.lanes.close()

    def _report(self, done: int, total: int) -> None:
        self.watch("play" if self.phase == "play" else "evaluate", total, done)

    @cached_property
    def evaluated(self) -> Rollouts:
        """Rollouts that evaluate: of the game, or of the fold that it names for this."""
        game = evaluation_game_of(self.game)
        if game is None:
            return self.rollouts
        played = with_history(game, self.settings.run.history)
        return self._stepped_rollouts(played, spec_of(game) if self.spec else None)

    def _stepped_rollouts(self, played: Game, spec: GameSpec | None) -> SteppedRollouts:
        run = self.settings.run
        lanes = lanes_of(played, spec, run.workers, run.history)
        return SteppedRollouts(played, self.model, lanes)

    @property
    def agent(self) -> Agent:
        """The agent as trained so far."""
        scales = self.scale.factors if self.scale else None
        factor = self.learner.alpha_factor
        recall = None
        if (sentences := self.model.shape.sentences) and self.settings.uses("recall"):
            pages = remember({}, pages_of_game(self.compiled)) if self.compiled else None
            recall = Recall(pages or self.stepped.pages or {}, sentences.function)
        return Agent(self.model, self.settings, scales, self.config, recall, factor)

    # --- rounds

    def train(self) -> Iterator[Round]:
        """Play, learn and evaluate. Yields each finished round."""
        while self.round < self.settings.run.rounds:
            threads = torch.get_num_threads()
            torch.set_num_threads(1)  # matrices are small
            try:
                finished = self._train_round(self.round + 1)
            finally:
                torch.set_num_threads(threads)
            yield finished

    def fit(self) -> Round:
        """Train to the last round, and return that round.

        A terminal has a progress bar meanwhile, a notebook a curve that grows.
        """
        from textgames.notebook import live_display
        from textgames.progress import tracked

        show = live_display()
        rounds = self.settings.run.rounds
        last = None
        for last in tracked(self.train(), rounds, "training", self.round):
            if show:
                show(last)
        if last is None:
            raise InputError(f"all {rounds} rounds are trained; to add some: drrn.resume")
        return last

    def __repr__(self) -> str:
        run = self.settings.run
        of = f"round {self.round} of {run.rounds}, {counted(run.replicas, 'replica')}"
        return f"<Trainer of {self.game.name!r}: {of}>"

    def _train_round(self, number: int) -> Round:
        start = time.perf_counter()
        # Each purpose, round and replica has a separate random generator.
        play = [np.random.default_rng([seed, 1, number]) for seed in self.model.seeds]
        learn = [np.random.default_rng([seed, 2, number]) for seed in self.model.seeds]
        if self.phase:  # drop what the interrupted round left
            self.learner.forget()
        self.phase = "play"
        self.played_steps = []
        self._play(number, play)
        self.phase = "learn"
        self.watch("learn")
        transitions = self.learner.learn(learn)
        return self._finish(number, transitions, start)

    def _play(self, number: int, generators: Generators) -> None:
        """Play the episodes of a round. An explorer plans again every `replan` episodes."""
        explorer = self.explorer if self.explorer and self.explorer.start(number) else None
        at_once = self.settings.exploration.replan if explorer else sys.maxsize
        alpha = self.settings.alpha_at(number) * self.learner.alpha_factor
        policy = (explorer.probabilities, None) if explorer else softmax_policy(alpha)
        parts = self._parts_within_budget if self.settings.run.interactions else self._parts
        for part in parts(at_once, policy, generators):
            self.played_steps.append(part)
            for replica, steps in enumerate(part):
                if self.scale and len(steps):
                    steps = steps.scaled(self._factor(self.scale, replica, steps.returns))
                self.learner.observe(replica, steps)
                if explorer:
                    explorer.observe(replica, steps)

    def _parts(self, at_once: int, policy: Policy, generators: Generators) -> Parts:
        """Play a round, some episodes at a time, and yield the steps of each replica."""
        episodes = self.settings.run.episodes_per_round
        for start in range(0, episodes, at_once):
            self.watch("play", episodes, start)
            yield self.rollouts.record(min(at_once, episodes - start), policy, generators)

    def _parts_within_budget(self, at_once: int, policy: Policy, generators: Generators) -> Parts:
        """Play a round until its interactions are spent, and yield the steps of each replica."""
        while True:
            budgets = self.progress.budgets(self.round + 1, self.played_steps)
            part = self.stepped.record(min(at_once, max(budgets)), policy, generators, budgets)
            if not any(map(len, part)):
                return
            yield part

    def _factor(self, scale: RewardScale, replica: int, returns: list[float]) -> float:
        """The factor on a replica's rewards. If it changes, stored rewards are rescaled."""
        change = scale.update(replica, returns)
        if change != 1:
            self.learner.rescale(replica, change)
            if self.explorer:
                self.explorer.rescale(replica, change)
        return scale.factor(replica)

    def _evaluate(self, number: int) -> list[Evaluation]:
        """Evaluate the replicas by each policy. After the last round, choose the one to deploy."""
        settings = self.settings
        check_weights(self.model.state(), number, settings.learning_rate)
        check_words(self.game.name, self.store, settings, number)
        alpha = settings.exploration.alpha * self.learner.alpha_factor
        episodes = settings.run.evaluation_episodes
        how = (alpha, episodes, settings.run.seeds, number)
        self.watch("evaluate", episodes)
        evaluations = evaluate(self.evaluated, POLICIES, *how)
        if self.recipe == "strong" and number == settings.run.rounds:
            self.deployment = choose_policy(self.evaluated, *how)
        return evaluations

    def _finish(self, number: int, transitions: int, start: float) -> Round:
        """Evaluate the replicas, and drop what the next round does not need."""
        settings = self.settings
        seconds = time.perf_counter() - start
        if not isinstance(transitions, (int, np.integer)):  # a user's learner returns nothing
            cause = f"learner {settings.learner.name}: learn returned {transitions!r}"
            raise InputError(f"{cause}; it must return the number of transitions learned from")
        evaluations = self._evaluate(number)
        self.progress.add(number, self.played_steps, time.perf_counter() - start)
        self.learner.forget()
        self._drop_texts()
        self.round = number
        self.phase = ""
        rows = evaluation_rows(evaluations, settings)
        self.rows += rows
        so_far = rounds_of(self.rows, settings, self.progress.rows)
        played = so_far[-1].episodes_played
        return Round(number, played, rows, evaluations, transitions, seconds, so_far)

    def _drop_texts(self) -> None:
        """Drop texts that are no longer needed. A compiled game has few texts, which all stay."""
        count = max(len(self.store.states), len(self.store.actions))
        if self.compiled is None and not self.model.indexes_texts and count > self.few_texts:
            explored = self.explorer.memories if self.explorer else ()
            drop_unused_texts(self.store, [*self.learner.memories, *explored])

    # --- saving and resuming

    @classmethod
    def resume(
        cls,
        folder: str | Path,
        game: Game | None = None,
        *,
        spec: GameSpec | None = None,
        changes: dict[str, Any] | None = None,
        **options: Any,
    ) -> "Trainer":
        """A trainer that continues the run in a folder after its last finished round.

        Args:
            folder: The folder of the run.
            game: The game, if it cannot be opened by its name.
            spec: The spec of `game`, if it was opened by name.
            changes: Settings to change, such as the number of rounds.
            **options: `device` and `progress` of `Trainer`.

        Raises:
            InputError: There is no such run, a file is damaged, or the game has changed.
        """
        run = Run(folder)
        config = run.config
        by_name = config["game"]["by_name"]
        if game is None:
            spec = spec_from(run.folder, config)
            game = spec.open()
        if config["game"]["sha256"] != fingerprint_of(game):
            raise InputError(f"{folder}: the game has changed since the run began; start a new run")
        check_vectors(run.folder, config)
        before = Settings.from_flat(config["settings"])
        settings = before.replace(**(changes or {}))
        options |= {"recipe": config.get("recipe"), "words": config.get("selected_words")}
        trainer = cls(game, settings, spec=spec if by_name else None, **options)
        run.restore(trainer)
        _check_rounds(run.folder, before, trainer)
        trainer.folder = run.folder.resolve()
        trainer.home = config.get("folder") or trainer.home
        if trainer.round == settings.run.rounds:
            trainer.deployment = config.get("deployment")
        return trainer

    def save(self, folder: str | Path) -> None:
        """Save the run: `drrn.load` loads its agent, `drrn.resume` continues the training.

        Raises:
            InputError: The folder contains another run.
        """
        folder = Path(folder).resolve()
        if self.folder != folder:
            Run.create(folder, self)
            self.folder = folder
        run = Run(folder)
        with run.locked():
            run.save(self)
            run.ensure_reference(self)

    def config(self) -> dict[str, Any]:
        """The contents of config.json."""
        shape = self.model.shape
        digest = shape.sentences.function.digest if shape.sentences else None
        return {
            "game": game_entry(self.game, self.spec),
            **({"recipe": self.recipe} if self.recipe else {}),
            "settings": self.settings.flat(),
            "folder": self.home,
            "most_actions": shape.most_actions,
            **({"deployment": self.deployment} if self.deployment else {}),
            **({"vectors": {"sha256": shape.vectors.words.digest}} if shape.vectors else {}),
            **({"sentences": {"sha256": digest}} if digest else {}),
            **({"selected_words": self.words} if self.settings.model.select_words else {}),
            "versions": versions(),
        }

    def agent_files(self) -> dict[str, bytes]:
        """The files that the agent is loaded from."""
        return self.agent.files()

    def state(self) -> State:
        """Return everything that a resumed run needs."""
        return {
            "game": fingerprint_of(self.game),
            "round": self.round,
            "store": self.store.state(texts=self.compiled is None),
            "model": self.model.state(),
            "learner": self.learner.state(),
            "explorer": self.explorer.state() if self.explorer else None,
            "scale": self.scale.state() if self.scale else None,
            "progress": self.progress.state(),
            "pages": list((self.stepped.pages or {}).items()) if self.compiled is None else None,
        }

    def restore(self, state: State, source: str) -> None:
        """Continue from the state of a trainer with the same game and settings.

        `source` is named in error messages.
        """
        if state["game"] != fingerprint_of(self.game):
            raise InputError(f"{source}: these are the weights of another game")
        self.store.restore(state["store"], texts=self.compiled is None)
        self.model.check_fits(state["model"], source)
        self.learner.restore(state["learner"])  # before the model, which may grow
        self.model.restore(state["model"], source)
        if self.explorer:
            self.explorer.restore(state["explorer"])
        if self.scale:
            self.scale.restore(state["scale"])
        if state.get("pages"):
            self.stepped.pages = dict(state["pages"])
        self.progress.restore(state["progress"])
        self.round = state["round"]


def _check_rounds(folder: Path, before: Settings, trainer: Trainer) -> None:
    """Refuse fewer rounds than are done, and warn if schedules depend on the new number."""
    settings = trainer.settings
    done = trainer.round
    rounds = settings.run.rounds
    if rounds < done:
        raise InputError(f"{folder}: the run has {done} rounds; resume it with more, not {rounds}")
    schedules = [name for name in SCHEDULES if settings.uses(name) and settings.flat()[name]]
    if done and before.run.rounds != rounds and schedules:
        log.warning(RESCHEDULED, folder, rounds, ", ".join(schedules))
