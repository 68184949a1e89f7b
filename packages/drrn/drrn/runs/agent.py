"""An agent: a trained model that can be asked for Q-values, evaluated, saved, and played with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from drrn.learning.equations import Probabilities, draw_actions
from drrn.models import Model, Pages, SentenceTexts, Shape, TextVectors, build_model, encoder_of
from drrn.playing.compiled_rollouts import CompiledRollouts, compiled_rollouts
from drrn.playing.evaluation import Evaluation, evaluate
from drrn.playing.lanes import lanes_of
from drrn.playing.policies import Rollouts, policy_of, probabilities_of
from drrn.playing.recall import Recall, pages_of_game, remember
from drrn.playing.stepped_rollouts import SteppedRollouts, pages_of
from drrn.runs import storage, tensors
from drrn.runs.config import check_vectors, read_config, spec_from
from drrn.runs.limits import check_memory
from drrn.runs.run import Run
from drrn.runs.scores import compiled_or_none
from drrn.runs.storage import MEMORY, WEIGHTS, WORDS
from drrn.sentences import open_sentences
from drrn.settings import DEPLOYED, POLICIES, Settings
from drrn.text import Store
from drrn.vectors import open_vectors
from textgames import registry
from textgames.compiled.compile import compile_game
from textgames.compiled.game import Compiled
from textgames.compiled.history import History, with_history
from textgames.compiled.solve import Score, policy_score
from textgames.errors import InputError
from textgames.files import json_bytes
from textgames.game.contract import Observation, step_limit_of
from textgames.game.episodes import Visits
from textgames.notebook import html
from textgames.openers import GameSpec, as_game, open_game
from textgames.wording import counted

Q = NDArray[np.float32]


class QValues(np.ndarray[Any, np.dtype[np.float32]]):
    """Q-values [replicas, actions]. A notebook displays a bar for each action."""

    actions: tuple[str, ...] = ()

    def _repr_html_(self) -> str | None:
        if self.ndim != 2 or self.shape[1] != len(self.actions):
            return None
        means = self.mean(axis=0).tolist()
        low = min(0.0, *means)
        span = max(0.0, *means) - low or 1.0
        rows = zip(self.actions, means, self.std(axis=0).tolist(), strict=True)
        bars = [
            {"action": action, "mean": m, "sd": sd, "width": 100 * (m - low) / span}
            | {"best": m == max(means)}
            for action, m, sd in rows
        ]
        return html("q_values.html", bars=bars, replicas=len(self))


class Agent:
    """The trained replicas of one model. Its Q-values have the shape [replicas, actions].

    Example:
        >>> agent = drrn.load("runs/demo")
        >>> agent.ask("The sea is grey.", ["Go out.", "Stay in."])
        >>> agent.act("The sea is grey.", ["Go out.", "Stay in."])
    """

    def __init__(
        self,
        model: Model,
        settings: Settings,
        scales: Sequence[float] | None = None,
        config: Callable[[], Mapping[str, Any]] | None = None,
        recall: Recall | None = None,
        alpha_factor: Sequence[float] | NDArray[np.float64] = (1.0,),
    ) -> None:
        """Make an agent from a model.

        Args:
            model: The model.
            settings: The settings it was trained with.
            scales: The factor on each replica's rewards during learning, if they were scaled.
            config: Returns the contents of the run's config.json.
            recall: Reads pages in other words as pages of the training.
            alpha_factor: The factor on α of all replicas, or of each.
        """
        self.model = model
        self.settings = settings
        self.config = config
        self.recall = recall
        self.scales = np.array(scales or [1.0] * len(model.seeds), np.float32)[:, None]  # [R, 1]
        self.alpha_factor = np.array(alpha_factor, np.float32)
        self._players: dict[str, Player] = {}  # of `act`, by policy

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu", sentences: str | None = None) -> Agent:
        """Load the agent from the folder of a run.

        With `sentences`, it recalls pages by these sentence vectors.

        Raises:
            InputError: The folder is not a run, or a file is damaged.
        """
        folder = Path(folder)
        registry.trust(sentences or "")
        config = read_config(folder)
        settings = Settings.from_flat(config["settings"])
        Run(folder).check(WORDS, WEIGHTS, MEMORY)
        check_vectors(folder, config)
        new = f"{folder}: the run has not finished a round yet"
        words = storage.read_json(folder / WORDS, new)
        store = Store.of_words(words["states"], words["actions"], **settings.model.reading)
        for side, keys in words.get("text_keys", {}).items():  # of a model with weights for texts
            store.sides[side].restore_keys(keys)
        check_memory(settings, store)
        shape = shape_of(settings, config["most_actions"])
        seeds = settings.run.seeds
        model = build_model(settings.model.name, shape, store, seeds, torch_device(device))
        path = folder / WEIGHTS
        arrays, metadata = tensors.load_tensors(path)
        if metadata.get("game") != config["game"]["sha256"]:
            raise InputError(f"{path}: these are the weights of another game")
        model.restore(arrays, str(path))
        recall = load_recall(folder, config, sentences)
        scales = words.get("reward_scales")
        alpha_factor = words.get("alpha_factors", [1.0])
        return cls(model, settings, scales, lambda: config, recall, alpha_factor)

    @property
    def alpha(self) -> NDArray[np.float64]:
        """α of all replicas, or of each, in the units of learning."""
        return self.settings.exploration.alpha * self.alpha_factor.astype(np.float64)

    def __repr__(self) -> str:
        model = self.settings.model
        replicas = counted(len(self.model.seeds), "replica")
        return f"<Agent: {replicas} of {model.name}, encoder {model.encoder}>"

    def ask(self, state: str, actions: Sequence[str]) -> QValues:
        """The Q-values of actions in a state, [replicas, actions].

        State and actions can be any texts. Unknown words are ignored, except by encoders that use
        given vectors, and by an agent that recalls. Asking does not change the agent.
        """
        page = _page(state, actions)
        values = self.q([page])[:, 0].view(QValues)
        values.actions = page.actions
        return values

    def q(self, pages: Sequence[Observation], batch: int = 64) -> Q:
        """Q of all replicas, [R, pages, A], for variants of one page, some pages at once."""
        if self.recall and self.recall.page(pages[0]) is not pages[0]:  # in other words
            pages = [self.recall.page(page) for page in pages]
        batches = []
        for first in range(0, len(pages), batch):
            store = self.model.store.scratch()
            rows = [store.page(page.text, page.actions) for page in pages[first : first + batch]]
            q = self.model.q(pages_of([rows] * len(self.model.seeds), store))
            batches.append(q[:, :, : len(pages[0].actions)].cpu().numpy())
        values: NDArray[Any] = np.concatenate(batches, axis=1) / self.scales[:, :, None]
        return values

    def policy_name(self, name: str, otherwise: str = "best") -> str:
        """The name of a policy, or of the one chosen after training, if it is "deployed".

        `otherwise` is the policy of runs that chose none.
        """
        if name != DEPLOYED:
            return name
        entry = (self.config() if self.config else {}).get("deployment") or {}
        return str(entry.get("policy", otherwise))

    def act(self, text: str, actions: Sequence[str], *, policy: str = DEPLOYED) -> str:
        """Return the action that the agent chooses, by default with the deployed policy.

        Each call is independent. `policy` returns an agent that remembers the episode.
        """
        if policy not in self._players:
            self._players[policy] = self.policy(self.policy_name(policy, "greedy"))
        player = self._players[policy]
        player.begin()
        return player.act(text, actions)

    def files(self) -> dict[str, bytes]:
        """The contents of vocabulary.json, model.safetensors and, if any, memory.json."""
        assert self.config is not None
        store = self.model.store
        vocabulary: dict[str, Any] = {
            "states": store.states.vocabulary.spelled,
            "actions": store.actions.vocabulary.spelled,
        }
        if self.model.indexes_texts:
            vocabulary["text_keys"] = {"states": store.states.keys, "actions": store.actions.keys}
        if self.settings.exploration.alpha_relative:
            vocabulary["reward_scales"] = self.scales[:, 0].tolist()
        if self.settings.exploration.alpha_spread:
            vocabulary["alpha_factors"] = self.alpha_factor.tolist()
        game = {"game": self.config()["game"]["sha256"]}
        pages = {}
        if self.recall:
            pages = {MEMORY: json_bytes(self.recall.pages, ensure_ascii=True)}
        words = json_bytes(vocabulary)
        return {**pages, WORDS: words, WEIGHTS: tensors.tensor_bytes(self.model.state(), game)}

    def policy(self, name: str = DEPLOYED, *, seed: int = 0, replica: int | None = None) -> Player:
        """Return a policy for `drrn.play_episodes`.

        Args:
            name: "best", "softmax", "greedy", "softmax:4" with 4 times α, or "deployed": the
                one chosen after training, or else "best".
            seed: Of the agent's random draws.
            replica: The replica that plays. By default, it plays by the mean Q-values of all.
        """
        return Player(self, self.policy_name(name), seed, replica)

    def evaluate(
        self,
        game: Any,
        *,
        policies: Sequence[str] = POLICIES,
        episodes: int = 1000,
        workers: int = 1,
        spec: GameSpec | None = None,
        in_order: bool = False,
    ) -> list[Evaluation]:
        """Evaluate each replica on a game, by each policy.

        Args:
            game: A name, a path or an object, as for `drrn.trainer`.
            policies: Any of `settings.CANDIDATES`.
            episodes: Episodes of each replica, by each policy.
            workers: Processes that step a game which cannot be compiled.
            spec: Opens the game in other processes, if `game` is an object.
            in_order: Give episodes the seeds 0, 1, 2 …, so that `draw=in-order` in the name of a
                suite's game plays each of its variations.
        """
        opened, own_spec = open_game(game)
        spec = spec or own_spec
        run = self.settings.run
        opened = with_history(opened, run.history)
        rollouts: Rollouts
        if compiled := compiled_or_none(opened, self.settings):
            compiled = self.recall.game(compiled) if self.recall else compiled
            rollouts = compiled_rollouts(compiled, self.model, self.model.store.scratch())
        else:
            lanes = lanes_of(opened, spec, workers, run.history)
            rollouts = SteppedRollouts(opened, self.model, lanes)
            rollouts.recall = self.recall
            rollouts.in_order = in_order
        return evaluate(rollouts, policies, self.alpha, episodes, run.seeds)

    def exact(self, game: Any, policy: str = "softmax") -> tuple[Compiled, list[Score]]:
        """The compiled game and the exact expected score of each replica.

        Raises:
            InputError: The game cannot be compiled, or the model depends on the actions' order, or
                reads them with their page.
        """
        game = with_history(as_game(game), self.settings.run.history)
        if self.model.sees_menu or self.settings.model.rereads:
            cause = "this model depends on the order of the actions"
            if self.settings.model.rereads:
                cause = "the agent reads actions with their page (matches, select_words)"
            raise InputError(f"{cause}, so its score can only be sampled")
        compiled = compile_game(game)
        compiled = self.recall.game(compiled) if self.recall else compiled
        rollouts = CompiledRollouts(compiled, self.model, self.model.store.scratch())
        probabilities = rollouts.probabilities(policy_of(policy, self.alpha))
        limit = step_limit_of(game)
        return rollouts.game, [policy_score(rollouts.game, each, limit) for each in probabilities]


class Player:
    """An agent as a policy that remembers the pages of the current episode."""

    def __init__(
        self, agent: Agent, policy: str, seed: int = 0, replica: int | None = None
    ) -> None:
        self.agent = agent
        self.replica = replica
        self.policy = policy_of(policy, agent.settings.exploration.alpha)
        self.generator = np.random.default_rng(seed)
        self.begin()

    def __repr__(self) -> str:
        return f"<Player of {self.agent!r}>"

    def begin(self) -> None:
        """Start a new episode: forget the pages of the last one."""
        self.visits = Visits()
        self.history = History(self.agent.settings.run.history)

    def __call__(self, observation: Observation) -> int:
        """Choose an action, and return its index."""
        _, probabilities = self.thinks(observation)
        index = int(draw_actions(probabilities[None], self.generator.random(1))[0])
        self.take(observation, index)
        return index

    def take(self, observation: Observation, index: int) -> None:
        """Remember a page and the action taken on it."""
        self.visits.add(self._with_history(observation))
        self.history = self.history.add(observation.text, observation.actions[index])

    def is_circle(self, observation: Observation) -> bool:
        """Whether the policy plays differently on this page, since the episode is in a circle."""
        has_exit = self.policy[1] is not None
        return has_exit and self.visits.is_circle(self._with_history(observation))

    def act(self, text: str, actions: Sequence[str], reward: float = 0.0) -> str:
        """Return the action that it chooses. Call `begin` before each episode.

        Args:
            text: The page.
            actions: The actions on it.
            reward: Of the last action. After a positive one, a page that recurs is no circle.
        """
        if not isinstance(reward, Real):
            raise InputError(f"reward: {reward!r} is not a number")
        page = replace(_page(text, actions), reward=float(reward))
        return page.actions[self(page)]

    def thinks(self, observation: Observation) -> tuple[Q, Probabilities]:
        """Q and the probability of each action."""
        q = self.agent.ask(self.history.prepend_to(observation.text), observation.actions)
        return self._of_replicas(q), self.probabilities(q, self.is_circle(observation))

    def probabilities(self, q: Q, is_circle: bool) -> Probabilities:
        """The probability of each action, from Q of all replicas, [R, A]."""
        units = self.agent.scales * self.agent.alpha_factor[:, None]  # those of the settings' α
        scaled = self._of_replicas(q * units)
        page = Pages(np.zeros(1, np.int64), np.arange(len(scaled))[None])
        circle = np.array([is_circle])
        rows = probabilities_of(self.policy, self.replica or 0, scaled[None], page, circle)
        row: Probabilities = rows[0]
        return row

    def _with_history(self, observation: Observation) -> Observation:
        return replace(observation, text=self.history.prepend_to(observation.text))

    def _of_replicas(self, q: Q) -> Q:
        values: Q = q.mean(axis=0) if self.replica is None else q[self.replica]
        return values


def _page(text: str, actions: Sequence[str]) -> Observation:
    """Return a page that an agent is asked about, or raise an `InputError`."""
    menu = tuple(actions) if isinstance(actions, Iterable) and not isinstance(actions, str) else ()
    if not menu or not all(isinstance(each, str) for each in (text, *menu)):
        given = f"{text!r:.40} and {actions!r:.60}"
        raise InputError(f"expected a text and a list of one or more actions, not {given}")
    return Observation(text, menu)


def shape_of(settings: Settings, most_actions: int) -> Shape:
    """The sizes and encoders of the model."""
    s = settings.model
    vectors = None
    sentences = None
    states, actions = (encoder_of(name) for name in s.encoders)
    if s.vectors is not None and settings.uses("vectors"):
        vectors = TextVectors(open_vectors(s.vectors), s.vectors_scale)
    if s.sentences is not None and s.name != "table":
        sentences = SentenceTexts(open_sentences(s.sentences), s.vectors_scale)
    return Shape(
        *(s.hidden, s.layers, s.interaction, s.action_hidden, s.shared, most_actions),
        states,
        None if actions is states else actions,
        embedding=s.embedding,
        lstm_gain=s.lstm_gain,
        vectors=vectors,
        sentences=sentences,
    )


def load_recall(folder: Path, config: Mapping[str, Any], name: str | None) -> Recall | None:
    """The recall of a run, by the sentence vectors of that name or by its own, if any."""
    settings = Settings.from_flat(config["settings"])
    name = name or (settings.model.sentences if settings.model.recall else None)
    if name is None:
        return None
    if (folder / MEMORY).exists():
        return Recall(storage.read_json(folder / MEMORY), open_sentences(name))
    game = with_history(spec_from(folder, config).open(), settings.run.history)
    if compiled := compiled_or_none(game, settings):
        return Recall(remember({}, pages_of_game(compiled)), open_sentences(name))
    cause = f"it has no {MEMORY}, and its game cannot be compiled"
    raise InputError(f"{folder}: {cause}, so it has no pages to recall; train with --sentences")


def torch_device(name: str | torch.device) -> torch.device:
    """The PyTorch device of this name. One that is not available is refused."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()  # the device "meta" fails only here
    except (RuntimeError, AssertionError, ImportError) as error:
        raise InputError(f'device "{name}" is not available; use cpu') from error
    return device
