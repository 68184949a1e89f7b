"""An agent: a trained model that can be asked for Q-values, evaluated, and played with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.compiled.solve import Score, policy_score
from drrn.compiled.game import Compiled
from drrn.game.contract import Game, Observation
from drrn.game.make import GameSpec, as_game, open_game
from drrn.compiled.compile import can_be_compiled, compile_game
from drrn.compiled.compile import MOST_STATES
from drrn.compiled.history import PageHistory, with_history
from drrn.game.optional import step_limit_of
from drrn.learning.exploration import Probabilities, draw_actions
from drrn.models import Model, Pages, SentenceTexts, Shape, TextVectors, encoder_of
from drrn.models.pairs import attention_of
from drrn.playing.compiled_rollouts import CompiledRollouts
from drrn.playing.evaluation import Evaluation, evaluate
from drrn.playing.menu_rollouts import compiled_rollouts
from drrn.playing.policies import POLICIES, chances, policy_of
from drrn.playing.pool import lanes_of
from drrn.playing.rollouts import Rollouts
from drrn.playing.stepped_rollouts import SteppedRollouts
from drrn.playing.trajectory import pages_of
from drrn.settings import Settings
from drrn.text import Lexicon, Store, words
from drrn.runs import record
from drrn.vectors import open_vectors
from drrn.vectors import open_sentences

log = logging.getLogger("drrn")

Q = NDArray[np.float32]


@dataclass(frozen=True)
class Attention:
    """Attention weights of the words of a state and of an action, which sum to 1; means over replicas. A side whose
    encoder is not attention has none. Words that the agent never met are left out."""

    state: list[tuple[str, float]]
    action: list[tuple[str, float]]


class Agent:
    """The trained replicas of one model. Its Q-values have the shape [replicas, actions]."""

    def __init__(
        self,
        model: Model,
        settings: Settings,
        scales: Sequence[float] | None = None,
        config: Callable[[], Mapping[str, Any]] | None = None,
    ) -> None:
        """`scales` are what each replica's rewards were multiplied by while it learned, if they were; `config` gives
        what config.json says of the run that made it, which `save` needs."""
        self.model = model
        self.settings = settings
        self.config = config
        self.scales = np.array(scales or [1.0] * len(model.seeds), np.float32)[:, None]  # [R, 1]
        self._players: dict[str, Player] = {}  # of `act`, by policy

    def ask(self, state: str, actions: Sequence[str]) -> Q:
        """Q-values of actions in a state, [replicas, actions].

        The texts may be anything; unknown words count for nothing, except to an encoder that reads word vectors. Asking
        does not change the agent.
        """
        page, store = self._read(state, actions)
        found: Q = self.model.q(page, store)[:, 0, : len(actions)].cpu().numpy()
        return found / self.scales

    def _read(self, state: str, actions: Sequence[str]) -> tuple[Pages, Store]:
        """A page of each replica, and the texts that it is made of."""
        if isinstance(actions, str):
            raise InputError(f'the actions must be a list of texts, not the one text "{actions[:60]}"')
        store = self.model.store.scratch()
        return pages_of([[store.page(state, actions)]] * len(self.model.seeds)), store

    def act(self, text: str, actions: Sequence[str], *, policy: str = "greedy") -> str:
        """The action that the agent takes, in words: for a loop of your own. It remembers nothing of the episode; the
        player that `policy` returns does."""
        if policy not in self._players:
            self._players[policy] = self.policy(policy)
        self._players[policy].begin()
        return self._players[policy].act(text, actions)

    def save(self, folder: str | Path) -> None:
        """Keep the agent alone in a new folder: `drrn.load` makes it again. `trainer.save` keeps the whole run."""
        if self.config is None:
            raise InputError("the agent was made by hand, of no run: trainer.save(folder) keeps what a trainer has")
        factors = self.scales[:, 0].tolist() if self.settings.exploration.alpha_relative else None
        record.save_agent(Path(folder), self.config(), self.model, factors)

    def attention(self, state: str, actions: Sequence[str]) -> list[Attention]:
        """Attention weights for each action; the agent must have been trained with the encoder attention."""
        page, store = self._read(state, actions)
        of_states, of_actions = (
            None if w is None else w[:, 0].cpu().numpy() for w in attention_of(self.model, page, store)
        )
        return [
            Attention(
                [] if of_states is None else self._shares(store.states, state, of_states[:, place]),
                [] if of_actions is None else self._shares(store.actions, action, of_actions[:, place]),
            )
            for place, action in enumerate(actions)
        ]

    def _shares(self, texts: Lexicon, text: str, weights: Q) -> list[tuple[str, float]]:
        """Each word of a text with its weight, the mean over replicas [R, L]; to one that never met it, it has none."""
        known = [word for word in words(text) if word in texts.vocabulary.numbers]
        table = next(table for table in self.model.tables.values() if table.vocabulary is texts.vocabulary)
        met = table.known[:, texts.vocabulary.read(known, grow=False)]  # [R, words]
        found = np.zeros(met.shape)
        found[met] = weights[np.arange(weights.shape[1]) < met.sum(axis=1, keepdims=True)]
        readers = max(1, int(met.any(axis=1).sum()))  # a replica that met none of the words gives none a weight
        return list(zip(known, (found.sum(axis=0) / readers).tolist(), strict=True))

    def policy(self, name: str = "best", *, seed: int = 0, replica: int | None = None) -> Player:
        """A policy for `drrn.play_episodes`: best, softmax or greedy, by one replica or by the mean of their Q."""
        return Player(self, name, seed, replica)

    def evaluate(
        self,
        game: Any,
        *,
        policies: Sequence[str] = POLICIES,
        episodes: int = 1000,
        number: int = 0,
        workers: int = 1,
        recipe: GameSpec | None = None,
    ) -> list[Evaluation]:
        """Evaluate each replica on a game, by each policy; the game is a name, a path or an object, as for
        `drrn.trainer`. `recipe` is how the game was opened, where other processes must open it again."""
        (opened, named), history = open_game(game), self.settings.run.history
        opened = with_history(opened, history)
        recipe = recipe or named
        rollouts: Rollouts
        if compiled := compiled_or_none(opened, self.settings):
            rollouts = compiled_rollouts(compiled, self.model, self.model.store.scratch())
        else:
            lanes = lanes_of(opened, replace(recipe, history=history) if recipe else None, workers)
            rollouts = SteppedRollouts(opened, self.model, lanes)
        return evaluate(rollouts, policies, self.settings.exploration.alpha, episodes, self.settings.run.seeds, number)

    def exact(self, game: Any, policy: str = "softmax") -> tuple[Compiled, list[Score]]:
        """The compiled game, and the exact expected score of each replica; the game must be able to be compiled."""
        game = with_history(as_game(game), self.settings.run.history)
        if self.model.sees_menu:
            raise InputError("this model's choice depends on the order of the actions: its score can only be sampled")
        rollouts = CompiledRollouts(compile_game(game), self.model, self.model.store.scratch())
        shares = rollouts.probabilities(policy_of(policy, self.settings.exploration.alpha))
        return rollouts.game, [policy_score(rollouts.game, one, step_limit_of(game)) for one in shares]


class Player:
    """An agent that plays: a policy that remembers the pages of the current episode."""

    def __init__(self, agent: Agent, policy: str, seed: int = 0, replica: int | None = None) -> None:
        self.agent = agent
        self.replica = replica
        self.policy = policy_of(policy, agent.settings.exploration.alpha)
        self.generator = np.random.default_rng(seed)
        self.history = PageHistory(agent.settings.run.history)
        self.begin()

    def begin(self) -> None:
        """Begin a new episode: forget the pages of the last one."""
        self.shown: set[str] = set()
        self.history.begin()

    def __call__(self, observation: Observation) -> int:
        """The index of the action that it takes."""
        text = self.history.told(observation.text)
        _, shares = self.thinks(observation, seen=text in self.shown)
        self.shown.add(text)
        chosen = int(draw_actions(shares[None], self.generator.random(1))[0])
        self.history.took(observation.text, observation.actions[chosen])
        return chosen

    def act(self, text: str, actions: Sequence[str]) -> str:
        """The action that it takes, in words; call `begin` before each episode."""
        shown = () if isinstance(actions, str) else tuple(actions)
        if not shown or not all(isinstance(each, str) for each in (text, *shown)):
            raise InputError(
                f"act takes a text and a list of actions, at least one, not {text!r:.40} and {actions!r:.60}"
            )
        return str(shown[self(Observation(text, shown))])

    def thinks(self, observation: Observation, *, seen: bool) -> tuple[Q, Probabilities]:
        """Q and probability of each action; `seen` says whether this episode has shown the page before."""
        asked = self.agent.ask(self.history.told(observation.text), observation.actions)
        scaled = asked * self.agent.scales  # α was chosen for the units that were learned in
        q, by = (each.mean(axis=0) if self.replica is None else each[self.replica] for each in (asked, scaled))
        page = Pages(np.zeros(1, np.int64), np.arange(len(q))[None])
        return q, chances(self.policy, self.replica or 0, by[None], page, np.array([seen]))[0]


def compiled_or_none(game: Game, settings: Settings, progress: Callable[[int], None] | None = None) -> Compiled | None:
    """The compiled game; None where it cannot be, or was not wanted. `progress` is told the states searched."""
    if settings.run.no_compile or not can_be_compiled(game):
        return None
    try:
        return compile_game(game, limit=MOST_STATES, progress=progress)
    except InputError as error:
        log.warning("%s; it is played as it stands, and its words are met on the way", error)
        return None


def shape_of(settings: Settings, most_actions: int) -> Shape:
    """The sizes and encoders of the model that the settings describe."""
    s = settings.model
    vectors = None
    sentences = None
    states, actions = (encoder_of(name, trained=s.vectors_trained) for name in s.encoders)
    if s.vectors is not None and settings.uses("vectors"):
        vectors = TextVectors(open_vectors(s.vectors), s.vectors_scale)
    if s.sentences is not None and s.name != "table":
        sentences = SentenceTexts(open_sentences(s.sentences), s.vectors_scale)
    of_actions = None if actions is states else actions
    sizes = (s.hidden, s.layers, s.interaction, s.action_hidden, s.shared, most_actions)
    return Shape(
        *sizes,
        states,
        of_actions,
        bag_norm=s.bag_norm,
        embedding=s.embedding,
        lstm_gain=s.lstm_gain,
        vectors=vectors,
        sentences=sentences,
    )


def torch_device(name: str) -> torch.device:
    """The PyTorch device of this name; `InputError` if it is not available."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()  # one that only pretends gives nothing back
    except (RuntimeError, AssertionError, ImportError) as error:
        raise InputError(f'the device "{name}" is not there: use cpu') from error
    return device
