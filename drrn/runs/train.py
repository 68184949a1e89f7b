"""The training loop: it yields each finished round, and the caller decides what to do with it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.make import GameSpec
from drrn.compiled.history import with_history
from drrn.game.optional import fingerprint_of
from drrn.learning.learner import Experience, Learner
from drrn.learning.learners import build_learner
from drrn.learning.optimism import Optimism
from drrn.learning.reward_scale import RewardScale, in_units
from drrn.models import build_model
from drrn.playing.evaluation import Evaluation, evaluate
from drrn.playing.menu_rollouts import compiled_rollouts
from drrn.playing.policies import POLICIES, QPolicy, Softmax
from drrn.playing.pool import lanes_of
from drrn.playing.rollouts import Rollout, Rollouts
from drrn.playing.stepped_rollouts import SteppedRollouts
from drrn.settings import Settings
from drrn.text import State, Store, texts_of_all
from drrn.runs import online, record
from drrn.runs.agent import Agent, compiled_or_none, shape_of
from drrn.runs.limits import Divergence, check_memory, note_a_game_without_words
from drrn.runs.row_file import evaluation_rows

log = logging.getLogger("drrn")

# what a generator is for; each purpose, round and replica has one of its own
PLAY = 1
LEARN = 2
FEW_TEXTS = 4096  # of a game whose words are met while playing: so many are kept, needed or not
MOST_THREADS = 1024  # OpenMP crashes with very many
MOST_ACTIONS = 20  # outputs of the max-action models, where the game's own number is not known


@dataclass(frozen=True)
class Round:
    """A finished round: its number (from 1), the evaluation of each replica by each policy, and what it took."""

    number: int
    evaluations: list[Evaluation]
    transitions: int  # learned from, over all replicas
    learning_seconds: float  # of playing and learning, without the evaluation


class Trainer:
    """Trains a model on a game, round by round. Everything is determined by the settings, and a round needs only the
    weights and what the learner keeps from the rounds before, so a run can be resumed after any round."""

    def __init__(
        self,
        game: Game,
        settings: Settings,
        device: torch.device,
        *,
        recipe: GameSpec | None = None,
        threads: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """`recipe` is how the game was opened, if it was opened by its name, so that it can be opened again, here or in
        other processes; a game given as an object is used as it is. `threads` is how many threads PyTorch uses while
        training (more rarely help, since the matrices are small). `progress` is called with the number of states that
        compiling the game has found so far.
        """
        if not 1 <= threads <= MOST_THREADS:
            raise InputError(f"threads is {threads}; it must be from 1 to {MOST_THREADS}")
        check_memory(settings)
        self.game = game
        self.recipe = recipe
        self.settings = settings
        self.device = device
        self.threads = threads
        # finished; whether the next one was interrupted while it learned
        self.round = 0
        self.torn = False
        self.rows: list[dict[str, str]] = []  # of evaluations.csv, round by round
        self.folder: Path | None = None  # that it was saved in, or resumed from
        self.home = str(Path.cwd())  # where modules that the settings name were looked for
        self.settings_from: str | None = None  # the recipe that the settings were made by, where that is known
        self.played = with_history(game, settings.run.history)  # what the model plays
        self.compiled = compiled_or_none(self.played, settings, progress)
        self.grows = self.compiled is None or settings.run.grow  # whether words are met while playing
        self.store = Store.of_words(shared=settings.model.shared, keep_texts="sentence" in settings.model.encoders)
        shape = shape_of(settings, self._load_dictionary())
        check_memory(settings, self.store)
        self.model = build_model(settings.model.name, shape, self.store, settings.run.seeds, device)
        for replica in range(settings.run.replicas):
            self.model.meet(replica, np.arange(len(self.store.states)), np.arange(len(self.store.actions)))
        self.learner = build_learner(self.model, settings)
        self.divergence = Divergence(settings)
        self.explorer = Optimism(settings, self.store) if settings.exploration.name == "optimism" else None
        self.scale = RewardScale(settings.run.replicas) if settings.exploration.alpha_relative else None
        self.rollouts = self._rollouts()

    def train(self) -> Iterator[Round]:
        """Play, learn and evaluate, round by round; yield each finished `Round`."""
        if self.torn:
            log.warning("a round was interrupted while it learned, and a part of it is learned twice: for the numbers "
                        "of a run that was not, go on from the last saved round by drrn.resume")  # fmt: skip
        while self.round < self.settings.run.rounds:
            with threads_of_torch(self.threads):
                finished = self._play_a_round(self.round + 1)
            yield finished

    @property
    def agent(self) -> Agent:
        """What has been learned so far, to ask and to evaluate."""
        scales = self.scale.factors if self.scale else None
        return Agent(self.model, self.settings, scales, lambda: record.config_of(self))

    def save(self, folder: str | Path) -> None:
        """Save the run to a folder: `drrn.load` loads the agent from it, `drrn.resume` continues the training.

        A folder that holds another run is refused; the run's own folder is updated.
        """
        record.save(Path(folder), self)

    def state(self) -> State:
        """Everything that a resumed run needs."""
        return {
            "game": fingerprint_of(self.game),
            "round": self.round,
            "store": self.store.state(texts=self.grows),
            "model": self.model.state(),
            "learner": self.learner.state(),
            "explorer": self.explorer.state() if self.explorer else None,
            "scale": self.scale.state() if self.scale else None,
        }

    def restore(self, state: State, source: str) -> None:
        """Continue from the state of a trainer of the same game and settings; `source` is named in error messages."""
        if state["game"] != fingerprint_of(self.game):
            raise InputError(f"{source}: it holds the weights of another game")
        self.store.restore(state["store"], texts=self.grows)
        self.model.check_fits(state["model"], source)
        self.learner.restore(state["learner"])  # before the model: what grows has not grown yet
        self.model.restore(state["model"], source)
        if self.explorer:
            self.explorer.restore(state["explorer"])
        if self.scale:
            self.scale.restore(state["scale"])
        self.round = state["round"]

    # --- a round

    def _play_a_round(self, number: int) -> Round:
        start = time.perf_counter()
        settings = self.settings
        play = self._generators(PLAY, number)
        learn = self._generators(LEARN, number)
        self.learner.forget()  # what a round that was interrupted has left
        if self.explorer:
            self.explorer.begin(number)
        self.torn = settings.run.form == "online"
        if settings.run.form == "online":
            learned = self._play_online(number, play, learn)
        else:
            self._play_to_learn(number, play)
            self.torn = True
            learned = self.learner.learn(learn)
        return self._finish(number, learned, time.perf_counter() - start)

    def _finish(self, number: int, learned: int, seconds: float) -> Round:
        """Evaluate a round, and let go of what the next one does not need."""
        settings = self.settings
        self.divergence.check(self.model.state(), number)
        if number == 1:
            note_a_game_without_words(self.game.name, self.store, settings)
        episodes = settings.run.evaluation_episodes
        evaluations = evaluate(self.rollouts, POLICIES, settings.exploration.alpha, episodes, settings.run.seeds, number)
        self.learner.forget()
        self._forget_texts()
        self.round = number
        self.torn = False
        self.rows += evaluation_rows(evaluations, settings)
        return Round(number, evaluations, learned, seconds)

    def _play_online(self, number: int, play: list[np.random.Generator], learn: list[np.random.Generator]) -> int:
        by = (play, learn)
        parts = (self.stepped, self.learner, self.settings)
        return online.play_and_learn(*parts, self._policy(number), *by, self.scale)

    def _play_to_learn(self, number: int, generators: list[np.random.Generator]) -> None:
        """A round's episodes; an explorer takes in what it met every so many of them."""
        left = self.settings.run.episodes_per_round
        policy = self._policy(number)
        explorer = self.explorer if policy is self.explorer else None
        while left:
            some = min(left, self.settings.exploration.replan) if explorer else left
            for replica, rollout in enumerate(self.rollouts.play(some, policy, generators, learn=True)):
                played = rollout if self.scale is None else self._in_units(self.scale, replica, rollout)
                self.learner.tell(replica, played)
                if explorer:
                    explorer.tell(replica, played)
            left -= some

    def _in_units(self, scale: RewardScale, replica: int, rollout: Rollout) -> Experience:
        returns = [episode.total for episode in rollout.episodes]
        return in_units(scale, replica, rollout, returns, [self.learner, self.explorer])

    def _policy(self, number: int) -> QPolicy:
        """How actions are chosen while learning, in a round."""
        if self.explorer and self.settings.explores_at(number):
            return self.explorer
        return Softmax(self.settings.alpha_at(number))

    def _generators(self, purpose: int, number: int) -> list[np.random.Generator]:
        return [np.random.default_rng([seed, purpose, number]) for seed in self.settings.run.seeds]

    # --- parts

    def _load_dictionary(self) -> int:
        """Read every page beforehand, where the game compiles; the most actions that a page shows."""
        if self.compiled is None:
            return self.settings.model.most_actions or MOST_ACTIONS
        for text in self.compiled.texts if not self.grows else ():
            self.store.states.id(text)
        for action in self.compiled.actions if not self.grows else ():
            self.store.actions.id(action)
        return max(1, int(np.diff(self.compiled.page_first).max()))

    def _rollouts(self) -> Rollouts:
        """How the game is played: looked up, where it was compiled and its words are known; else stepped."""
        if self.compiled is None or self.grows:
            return self.stepped
        workers = self.settings.run.workers
        if workers > 1 and self.settings.run.form != "online":
            log.warning("%s was compiled, so nothing is left for %d workers to step", self.game.name, workers)
        return compiled_rollouts(self.compiled, self.model)

    @cached_property
    def stepped(self) -> SteppedRollouts:
        """The game itself, stepped: the online form does so with a compiled one, too."""
        recipe = replace(self.recipe, history=self.settings.run.history) if self.recipe else None
        return SteppedRollouts(self.played, self.model, lanes_of(self.played, recipe, self.settings.run.workers))

    def _forget_texts(self) -> None:
        """Let go of texts that nothing will be learned from, so that a game whose pages never repeat takes no more and
        more room. Of a game that was read through beforehand all are kept."""
        most = max(len(self.store.states), len(self.store.actions))
        if not self.grows or self.model.indexes_texts or most <= FEW_TEXTS:
            return
        users: list[Learner | Optimism] = [self.learner, self.explorer] if self.explorer else [self.learner]
        states, actions = texts_of_all(users)
        if self.store.shared:
            states = actions = np.union1d(states, actions)
        renumbered = self.store.states.keep(states)
        others = renumbered if self.store.shared else self.store.actions.keep(actions)
        for user in users:
            user.renumber(renumbered, others)


@contextmanager
def threads_of_torch(count: int) -> Iterator[None]:
    """PyTorch uses so many threads for as long as the block lasts; the host's own number is left as it was."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
