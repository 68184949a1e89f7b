"""All settings of a training run, in four groups, and two complete settings: PAPER and STRONG.

Every setting also has a flat name, unique among all groups. Command-line flags, config.json,
recorded jobs, the `[training]` tables of stories and `drrn.trainer(**settings)` use flat names.
Code uses the groups (`settings.model.hidden`). settings.toml has help texts, bounds
and what a setting needs.
"""

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from textgames.declaration import Setting, declare
from textgames.errors import InputError, did_you_mean
from textgames.files import read_toml

TABLE = read_toml(Path(__file__).with_suffix(".toml"))
MODELS = tuple(TABLE["model"]["name"]["choices"])
ENCODERS = tuple(TABLE["model"]["encoder"]["choices"])
LEARNERS = tuple(TABLE["learner"]["name"]["choices"])
VECTOR_ENCODERS = ("vectors", "bag+vectors")  # these need word vectors
POLICIES = ("softmax", "greedy", "best")  # how a trained agent plays
# A run chooses its deployed policy among these, the simplest first. softmax:4 has 4 times the α.
CANDIDATES = ("greedy", "best", "softmax:16", "softmax:4", "softmax")
DEPLOYED = "deployed"  # the one that the run chose
AGENT_POLICIES = (DEPLOYED, *CANDIDATES)  # of `drrn evaluate` and `drrn watch`
PLAYERS = ("random", *AGENT_POLICIES)  # of `drrn play`

Flat = Mapping[str, Any]  # settings by flat name

# Settings that no longer exist, with the only value that results and runs were recorded with.
RETIRED: dict[str, Any] = {"loss": "squared", "clip": None, "epsilon": 0.1}
RETIRED |= {"target_every": None, "double": False, "prioritised": False, "vectors_trained": False}
RETIRED |= {"most_actions": None, "bag_norm": None, "form": "rounds", "no_compile": False}
RETIRED |= {"grow": False}


class _Group:
    """Checks the values of a group."""

    def __post_init__(self) -> None:
        for each in all_settings().values():
            if isinstance(self, GROUPS[each.group]):
                each.check(getattr(self, each.field))


@dataclass(frozen=True)
class ModelSettings(_Group):
    """The function approximator and its encoders of texts."""

    name: str = "drrn"
    hidden: int = 100
    layers: int = 2
    interaction: str = "inner"
    action_hidden: int | None = None
    shared: bool = False
    encoder: str = "bag"
    action_encoder: str | None = None
    vectors: str | None = None
    vectors_scale: float = 1.0
    sentences: str | None = None
    recall: bool = True
    embedding: int | None = None
    lstm_gain: float = 1.0
    phrases: bool = False
    pairs_only: bool = False
    matches: bool = False
    select_words: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("hidden", "encoder") if self.shared else ():
            other = getattr(self, f"action_{name}")
            if other not in (None, getattr(self, name)):
                message = f"with shared, both sides have the same {name}; leave out action_{name}"
                raise InputError(message)
        for name in ("vectors", "sentences"):
            source = getattr(self, name)
            # Absolute, because a run may be loaded from another folder.
            if source is not None and (name == "vectors" or Path(source).expanduser().exists()):
                object.__setattr__(self, name, str(Path(source).expanduser().resolve()))
        for encoder in self.encoders:
            if encoder in VECTOR_ENCODERS and self.vectors is None:
                cure = "set vectors to a file of them (--vectors FILE)"
                raise InputError(f'encoder "{encoder}" needs word vectors; {cure}')
            if encoder == "sentence" and self.sentences is None:
                cure = "set sentences to a source of them (--sentences)"
                raise InputError(f'encoder "sentence" needs sentence vectors; {cure}')

    @property
    def encoders(self) -> tuple[str, str]:
        """The encoders of states and of actions.

        Word vectors without an encoder encode the actions. A model that cannot have two encoders
        reads both sides by bag+vectors.
        """
        if self.vectors is None or self.encoder != "bag" or self.action_encoder is not None:
            return self.encoder, self.action_encoder or self.encoder
        two_encoders = (self.name == "drrn" or self.name not in MODELS) and not self.shared
        return ("bag", "vectors") if two_encoders else ("bag+vectors", "bag+vectors")

    @property
    def reading(self) -> dict[str, Any]:
        """How texts are read: the arguments of `text.Store.of_words`."""
        names = ("shared", "phrases", "pairs_only", "matches", "select_words")
        hashed = tuple(encoder == "hash" for encoder in self.encoders)
        by_encoder = {"keep_texts": "sentence" in self.encoders, "hashed": hashed}
        return by_encoder | {name: getattr(self, name) for name in names}

    @property
    def rereads(self) -> bool:
        """Whether texts are read differently from page to page, so that ids are not the game's."""
        return self.matches or self.select_words

    def has_encoder(self, *names: str, side: str = "") -> bool:
        """Whether a side has one of these encoders, or one of the user's own."""
        if self.name == "table":
            return False
        states, actions = self.encoders
        encoders = {"state": [states], "action": [actions]}.get(side, [states, actions])
        return any(name in names or name not in ENCODERS for name in encoders)


@dataclass(frozen=True)
class LearnerSettings(_Group):
    """The learning algorithm."""

    name: str = "q-learning"
    discount: float = 0.9
    optimiser: str = "sgd"
    learning_rate: float | None = None
    rate_end: float | None = None
    batch_size: int = 32
    keep: bool = False
    capacity: int = 1_000_000
    epochs: int = 2
    n_steps: int = 1
    updates: int = 100
    returns: str = "retrace"
    trace: float = 1.0
    sweeps: int = 3
    pseudo_count: float = 0.3
    count_power: float = 0.5
    average: float | None = None
    advantages: bool = False
    listwise: bool = False
    state_dropout: float = 0.0
    action_dropout: float = 0.0
    action_noise: float = 0.0
    vectors_noise: float = 0.0


@dataclass(frozen=True)
class ExplorationSettings(_Group):
    """The policy that plays while learning."""

    name: str = "softmax"
    alpha: float = 1.0
    alpha_relative: bool = False
    alpha_spread: bool = False
    alpha_start: float | None = None
    optimism: float = 2.0
    optimism_share: float = 0.7
    after_optimism: str = "softmax"
    optimism_count: float = 0.3
    replan: int = 50


@dataclass(frozen=True)
class RunSettings(_Group):
    """How much is played, with which seeds, and how the game is stepped."""

    rounds: int = 20
    episodes_per_round: int = 200
    interactions: int | None = None
    evaluation_episodes: int = 200
    replicas: int = 5
    seed: int = 0
    history: int = 0
    survey: bool = False
    workers: int = 1

    @property
    def seeds(self) -> list[int]:
        return [self.seed + replica for replica in range(self.replicas)]


@dataclass(frozen=True)
class Settings:
    """All settings of a training run. The defaults are the paper's.

    Example:
        >>> settings = Settings.from_flat(hidden=50, learner="returns")
        >>> settings.model.hidden, settings.flat()["learner"]
        (50, 'returns')
    """

    model: ModelSettings = field(default_factory=ModelSettings)
    learner: LearnerSettings = field(default_factory=LearnerSettings)
    exploration: ExplorationSettings = field(default_factory=ExplorationSettings)
    run: RunSettings = field(default_factory=RunSettings)
    given: frozenset[str] = field(default=frozenset(), compare=False)  # names given by the user

    def __repr__(self) -> str:
        paper = PAPER.flat()
        changes = {name: value for name, value in self.flat().items() if value != paper[name]}
        return f"Settings.from_flat({changes})"

    def __post_init__(self) -> None:
        plans = self.exploration.after_optimism == "plan"
        if plans and self.explores_at(self.run.rounds):
            cause = "after_optimism plan needs rounds after the optimistic ones"
            raise InputError(f"{cause}; choose a smaller optimism_share")

    @staticmethod
    def from_flat(settings: Flat | None = None, /, **more: Any) -> "Settings":
        """Settings by their flat names. The others have the paper's values.

        Raises:
            InputError: A name is unknown, a value is invalid, or a retired setting has another
                value than the recorded one.
        """
        values = {**(settings or {}), **more}
        for name, value in values.items():
            if name in RETIRED and value != RETIRED[name]:
                raise InputError(f"{name} is {value}, but this setting was removed; leave it out")
            if name not in RETIRED and name not in all_settings():
                near = did_you_mean(name, all_settings())
                raise InputError(f'no setting is named "{name}".{near}')
        groups: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
        for each in all_settings().values():
            if each.name in values:
                groups[each.group][each.field] = values[each.name]
        return Settings(**{group: kind(**groups[group]) for group, kind in GROUPS.items()})

    def flat(self) -> dict[str, Any]:
        """Every setting by its flat name, as config.json has them."""
        every = all_settings().values()
        return {each.name: getattr(getattr(self, each.group), each.field) for each in every}

    def replace(self, **changes: Any) -> "Settings":
        """A copy with other values of some settings, by flat name."""
        return replace(Settings.from_flat(self.flat(), **changes), given=self.given)

    def uses(self, name: str) -> bool:
        """Whether a setting has an effect together with the others."""
        needs = all_settings()[name].needs
        return not needs or any(all(map(self._has, each.items())) for each in needs)

    def _has(self, needed: tuple[str, Any]) -> bool:
        """Whether a setting has one of the values that another one needs."""
        name, values = needed
        if name.endswith("encoder"):
            side = name.removesuffix("encoder").strip()
            return self.model.has_encoder(*values, side=side)
        value = self.flat()[name]
        if isinstance(values, bool):
            return bool(value) == values
        setting = all_settings()[name]
        return value in values or (setting.own and value not in setting.choices)

    @property
    def learning_rate(self) -> float:
        """The learning rate η. A table takes larger steps: its entries are independent."""
        default = 0.2 if self.model.name == "table" else 0.001
        return self.learner.learning_rate or default

    def alpha_at(self, number: int) -> float:
        """α while learning in a round, counted from 1."""
        alpha = self.exploration.alpha
        start = self.exploration.alpha_start
        if start is None or alpha == 0:
            return alpha
        share = min(1.0, self._share_before(number) / 0.75)  # of the run
        return float(start * (alpha / start) ** share)

    def learning_rate_at(self, number: int) -> float:
        """η in a round, counted from 1."""
        end = self.learner.rate_end
        rate = self.learning_rate
        if end is None:
            return rate
        share = max(0.0, self._share_before(number) - 0.7) / (1 - 0.7)  # of the rest of the run
        return rate + (end - rate) * share

    def explores_at(self, number: int) -> bool:
        """Whether a round is played with optimism."""
        last = self.exploration.optimism_share * self.run.rounds + 1e-9
        return self.exploration.name == "optimism" and number <= last

    def plans_at(self, number: int) -> bool:
        """Whether a round follows the plan."""
        plans = (self.exploration.name, self.exploration.after_optimism) == ("optimism", "plan")
        return plans and not self.explores_at(number)

    def _share_before(self, number: int) -> float:
        """The share of the run before a round, from 0 for the first to 1 for the last."""
        return (number - 1) / max(1, self.run.rounds - 1)


GROUPS: dict[str, Any] = {
    "model": ModelSettings,
    "learner": LearnerSettings,
    "exploration": ExplorationSettings,
    "run": RunSettings,
}


@functools.cache
def all_settings() -> dict[str, Setting]:
    """The declaration of every setting, by its flat name."""
    groups = GROUPS.items()
    every = itertools.chain.from_iterable(declare(g, kind, TABLE[g]) for g, kind in groups)
    return {each.name: each for each in every}


def needs_text(name: str) -> str:
    """What a setting needs to have an effect, in words."""
    alternatives = []
    for each in all_settings()[name].needs:
        words = (f"{n} {', '.join(v) if isinstance(v, list) else v}" for n, v in each.items())
        alternatives.append(" and ".join(words).lower().replace(" true", ""))
    return ", or ".join(alternatives)


# --- The two recipes

PAPER = Settings()

# What the strong recipe (docs/lab/beyond.md) changes; `drrn train` uses it unless --paper is given.
STRONG_CHANGES: dict[str, Any] = TABLE["strong"]
STRONG = PAPER.replace(**STRONG_CHANGES)


def recipe(
    *, paper: bool, recommended: Flat | None = None, given: Flat | None = None
) -> dict[str, Any]:
    """The settings of a recipe that differ from the paper's, by flat name.

    Args:
        paper: Whether it is the paper's recipe, which takes all recommended settings. The strong
            one takes only those that it does not set itself.
        recommended: Settings that the game recommends.
        given: Settings that the user gives. They are not part of the result, but the strong
            recipe drops what does not suit them.

    Raises:
        InputError: The strong recipe cannot be combined with the given settings.
    """
    given = given or {}
    base = dict(recommended or {})
    if "alpha" in given and "alpha_relative" not in given:  # the given α is absolute
        base.pop("alpha_relative", None)
    if paper:
        return base
    chosen = {**PAPER.flat(), **base, **STRONG_CHANGES, **given}
    unsuitable = _unsuitable(chosen)
    base |= {name: value for name, value in STRONG_CHANGES.items() if name not in unsuitable}
    by_sgd = chosen["learner"] == "returns" and chosen["optimiser"] == "sgd"
    if by_sgd and chosen["model"] != "table":
        base["learning_rate"] = 0.0003  # returns are large targets
    alpha = given.get("alpha")
    if isinstance(alpha, (int, float)):  # α starts at the same share of another α
        share = STRONG_CHANGES["alpha_start"] / STRONG_CHANGES["alpha"]
        base["alpha_start"] = alpha * share if alpha > 0 else None
    return base


def _unsuitable(chosen: Flat) -> set[str]:
    """The strong recipe's settings that do not suit a run's model or learner."""
    names = set[str]()
    if chosen["model"] == "table":
        names.add("learning_rate")
    if chosen["model"] == "linear":  # cannot fit both what is good and what was only tried
        names.add("exploration")
    if chosen["optimiser"] != "adam":  # would diverge, since gradients are summed
        names |= {"learning_rate", "batch_size"}
    if chosen["learner"] in LEARNERS and chosen["learner"] != STRONG_CHANGES["learner"]:
        names |= {"optimiser", "learning_rate", "batch_size"}
        suitable = {name: value for name, value in chosen.items() if name not in names}
        settings = Settings.from_flat(suitable)
        names |= {name for name in STRONG_CHANGES if not settings.uses(name)}
    return names


def settings_for(base: Flat, given: Flat) -> Settings:
    """The paper's settings, changed by the base and then by the given ones, all by flat name.

    Raises:
        InputError: A setting is invalid, or a given one would have no effect.
    """
    if given.get("vectors") and given.get("encoder") == "bag" and "action_encoder" not in given:
        cure = "leave out one of them, or give an action_encoder"
        raise InputError(f"encoder bag does not use vectors; {cure}")
    settings = Settings.from_flat({**base, **given})
    for name, value in given.items():
        # A setting that is turned off (none, false, 0) needs nothing.
        if value and name not in RETIRED and not settings.uses(name):
            cure = "leave it out, or set that as well"
            if {"learner": ["q-learning"]} in all_settings()[name].needs:
                cure += " (--paper does, in Python paper=True)"
            raise InputError(f"{name} has an effect only with {needs_text(name)}; {cure}")
    return settings


def recipe_name(*, paper: bool) -> str:
    """The recipe's name in config.json."""
    return "paper" if paper else "strong"


def default_text(each: Setting) -> str:
    """A setting's default for the help text: of both recipes, if they differ."""
    strong = STRONG_CHANGES.get(each.name, each.default)
    if strong != each.default:
        return f" (strong: {_value_text(strong)}; paper: {_value_text(each.default)})"
    if each.default is None or each.kind is bool:
        return ""
    return f" (default: {each.default})"


def _value_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return {None: "none", True: "on", False: "off"}.get(value, str(value))
