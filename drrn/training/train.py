"""The training loop: it yields each finished round, and the caller decides what to do with it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.games import Compiled, StoryGame, compile_game
from drrn.learning.exploration import Probabilities, epsilon_greedy
from drrn.learning.optimisers import OPTIMISERS
from drrn.learning.q_learning import LOSSES, Learner
from drrn.learning.replay import TYPES, WIDE, Batches, Places, ReplayBuffer
from drrn.models import Pages, build_model
from drrn.playing.compiled_rollouts import CompiledField, CompiledRollout
from drrn.playing.evaluation import POLICIES, Evaluation, evaluate, policy_of
from drrn.playing.menu_rollouts import MenuField
from drrn.playing.rollouts import Field, Rollout, Trajectory, transitions_of
from drrn.text import Lexicon
from drrn.training.agent import Agent, shape_of
from drrn.training.settings import Settings

log = logging.getLogger("drrn")

PLAY, LEARN = 1, 2  # what a generator is for; each purpose, round and replica has one of its own
PREPARED = 256  # batches taken from the memories at once
MOST_STATES = 50_000  # a story with more is not compiled: its words are met while playing
MOST_ACTIONS = 20  # outputs of the max-action models, where the story's own number is not known


@dataclass(frozen=True)
class Round:
    """A finished round: its number from 1, evaluations, and what it took."""

    number: int
    evaluations: list[Evaluation]
    transitions: int  # learned from, over all replicas
    learning_seconds: float  # of playing and learning, without the evaluation


class Trainer:
    """A model that learns a game. Everything follows from the settings: a round needs nothing of the rounds before it
    but the weights and what the memories and the optimiser keep, so a run can be resumed after any round."""

    def __init__(
        self,
        game: StoryGame,
        settings: Settings,
        device: torch.device,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.game, self.settings, self.device = game, settings, device
        self.round = 0
        self.states = Lexicon(norm=settings.bag_norm)
        self.actions = self.states if settings.shared else Lexicon(norm=settings.bag_norm)
        self.compiled = compiled_or_none(game, settings, progress)
        most = self._load_dictionary()
        self.model = build_model(
            settings.model, shape_of(settings, most), self.states, self.actions, settings.seeds, device
        )
        for replica in range(settings.replicas):
            self.model.meet_states(replica, np.arange(len(self.states)))
            self.model.meet_actions(replica, np.arange(len(self.actions)))
        self.field = Field(game, self.model)
        self.fast_field: CompiledField | None = None
        if self.compiled is not None and not self.grows:
            self.fast_field = (MenuField if self.model.sees_menu else CompiledField)(self.compiled, self.model)
        self.memories = [ReplayBuffer(settings.capacity, prioritised=settings.prioritised) for _ in settings.seeds]
        optimiser = OPTIMISERS[settings.optimiser](self.model, settings.eta, settings.clip)
        loss = LOSSES[settings.loss]
        self.learner = Learner(self.model, optimiser, loss, settings.target_every, settings.double)

    def train(self) -> Iterator[Round]:
        """Play, learn, evaluate; yield; again."""
        while self.round < self.settings.rounds:
            start = time.perf_counter()
            number = self.round + 1
            learned = self._online(number) if self.settings.form == "online" else self._in_rounds(number)
            seconds = time.perf_counter() - start
            evaluations = evaluate(
                self.fast_field or self.field,
                POLICIES,
                self.settings.alpha,
                self.settings.evaluation_episodes,
                self.settings.seeds,
                number,
            )
            self.round = number
            yield Round(number, evaluations, learned, seconds)

    @property
    def agent(self) -> Agent:
        """What has been learned so far, to ask and to evaluate."""
        return Agent(self.model, self.settings)

    # --- the two forms of the paper

    def _in_rounds(self, number: int) -> int:
        """Episodes with the weights as they are, then epochs over their shuffled transitions."""
        settings = self.settings
        players, generators = self._generators(PLAY, number), self._generators(LEARN, number)
        field = self.fast_field or self.field
        rollouts: Sequence[Rollout | CompiledRollout] = field.play(
            settings.episodes_per_round, self._explore, players, learn_words=self.grows
        )
        for memory, rollout in zip(self.memories, rollouts, strict=True):
            if not settings.keep:
                memory.clear()
            memory.add(rollout.transitions(settings.discount, settings.n_steps))
        for _ in range(settings.epochs):
            orders = [self._order(memory, by) for memory, by in zip(self.memories, generators, strict=True)]
            at_once = settings.batch_size * (1 if settings.prioritised else PREPARED)
            for start in range(0, max(map(len, orders)), at_once):
                self._learn([order[start : start + at_once] for order in orders])
        return settings.epochs * sum(map(len, self.memories))

    def _online(self, number: int) -> int:
        """Algorithm 1: after every step of a replica's game, one mini-batch from its memory."""
        settings, learned = self.settings, 0
        players, generators = self._generators(PLAY, number), self._generators(LEARN, number)
        left = [settings.episodes_per_round] * settings.replicas
        games: list[tuple[Trajectory, StoryGame] | None] = [None] * settings.replicas
        while any(left):
            for r, player in enumerate(players):
                while games[r] is None and left[r]:
                    begun = self.field.begin(r, int(player.integers(2**62)), self.grows)
                    games[r] = None if begun[0].ended else begun  # a first page may end the story
                    left[r] -= begun[0].ended
            if not any(games):
                break
            stepped = [game is not None for game in games]
            choices = self.field.choices([[game] if game else [] for game in games], self._explore, players)
            for r, game in enumerate(games):
                if game is not None and self._step_online(r, *game, choices[r][0]):
                    games[r] = None
                    left[r] -= 1
            places = [
                memory.sample(settings.batch_size, by) if len(memory) and on else np.empty(0, np.int64)
                for memory, by, on in zip(self.memories, generators, stepped, strict=True)
            ]
            learned += sum(map(len, places))
            if any(map(len, places)):
                self._learn(places)
        return learned

    def _step_online(self, replica: int, track: Trajectory, game: StoryGame, place: int) -> bool:
        """One step, and what it completes goes to memory; whether the episode is over."""
        self.field.advance(replica, track, game, place, self.grows)
        steps, n = len(track.taken), self.settings.n_steps
        over = track.ended or steps >= self.game.rules.max_steps
        complete = range(max(steps - n, 0), steps if over else max(steps - n + 1, 0))
        if complete:
            moments = [(track, t) for t in complete]
            self.memories[replica].add(transitions_of(moments, self.settings.discount, n))
        return over

    # --- parts

    def _load_dictionary(self) -> int:
        """Read every page beforehand, where the story compiles; the most actions that a page shows."""
        self.grows = self.compiled is None or self.settings.grow
        if self.compiled is None:
            return MOST_ACTIONS
        for text in self.compiled.texts if not self.grows else ():
            self.states.id(text)
        for action in self.compiled.actions if not self.grows else ():
            self.actions.id(action)
        return max(1, int(self.compiled.page_actions.shape[1]))

    def _order(self, memory: ReplayBuffer, generator: np.random.Generator) -> Places:
        """An epoch: each transition once, shuffled; or as many draws by priority."""
        if self.settings.prioritised:
            return memory.sample(len(memory), generator)
        return generator.permutation(len(memory))

    def _learn(self, places: list[Places]) -> None:
        batches = batches_of(self.memories, places, self.settings.batch_size)
        errors = self.learner.learn(batches).swapaxes(0, 1).reshape(len(places), -1)  # [R, K · B]
        for memory, some, error in zip(self.memories, places, errors, strict=True):
            memory.revise(some, error[: len(some)])

    def _explore(self, q: NDArray[np.floating], mask: NDArray[np.bool_]) -> Probabilities:
        if self.settings.exploration == "epsilon":
            return epsilon_greedy(q, mask, self.settings.epsilon)
        return policy_of(self.settings.exploration, self.settings.alpha)(q, mask)

    def _generators(self, purpose: int, number: int) -> list[np.random.Generator]:
        return [np.random.default_rng([seed, purpose, number]) for seed in self.settings.seeds]


def compiled_or_none(
    game: StoryGame, settings: Settings, progress: Callable[[int], None] | None = None
) -> Compiled | None:
    """The compiled game; None where it is too large, or was not wanted. `progress` is told the states searched."""
    if settings.no_compile:
        return None
    try:
        return compile_game(game, limit=MOST_STATES, progress=progress)
    except InputError as error:
        log.warning("%s; it is played as it stands, and its words are met on the way", error)
        return None


def batches_of(memories: list[ReplayBuffer], places: list[Places], size: int) -> Batches:
    """The transitions at some places of each memory, cut into batches; shorter rows are padded with weights of 0."""
    longest = max(map(len, places))
    size = min(size, longest)
    count = -(-longest // size)
    replicas, most = len(memories), max(memory.arrays["actions"].shape[1] for memory in memories)
    whole: dict[str, NDArray[Any]] = {"weights": np.zeros((replicas, count * size), np.float32)}
    for name, kind in TYPES.items():
        shape, empty = ((replicas, count * size, most), -1) if name in WIDE else ((replicas, count * size), 0)
        whole[name] = np.full(shape, empty, np.float32 if kind is np.float32 else np.int64)
    for r, (memory, some) in enumerate(zip(memories, places, strict=True)):
        if not len(memory):
            continue
        at = np.zeros(count * size, np.int64)
        at[: len(some)] = some
        whole["weights"][r, : len(some)] = memory.weights(some)
        for name, values in vars(memory.at(at)).items():
            whole[name][r][tuple(map(slice, values.shape))] = values
    cut = {  # [R, K · B, …] to [K, R, B, …]
        name: array.reshape(replicas, count, size, *array.shape[2:]).swapaxes(0, 1) for name, array in whole.items()
    }
    pages = Pages(cut.pop("states"), cut.pop("actions"))
    next_pages = Pages(cut.pop("next_states"), cut.pop("next_actions"))
    return Batches(pages=pages, next_pages=next_pages, **cut)
