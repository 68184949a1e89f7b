"""All settings of a training run, in four groups, and two complete settings: PAPER and STRONG.

Every setting also has a flat name, unique among all groups. Command-line flags, config.json,
recorded jobs, the `[training]` tables of stories and `drrn.trainer(**settings)` use flat names;
code uses the groups (`settings.model.hidden`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drrn.declaration import Setting, declared, setting
from drrn.errors import InputError, did_you_mean
from drrn.registry import is_object

# Registered names, repeated here because the command line shows them without loading PyTorch.
MODELS = ("drrn", "linear", "max-action", "per-action", "table", "verb-object")
INTERACTIONS = ("inner", "bilinear", "network")
ENCODERS = ("bag", "lstm", "gru", "attention", "vectors", "bag+vectors", "sentence")
LEARNERS = ("q-learning", "returns")
VECTOR_ENCODERS = ("vectors", "bag+vectors")  # these need word vectors
OPTIMISERS = ("sgd", "adam")
POLICIES = ("softmax", "greedy", "best")  # how a trained agent plays
EXPLORATIONS = ("softmax", "optimism")

# Settings that no longer exist, with the only value that results and runs were recorded with.
RETIRED: dict[str, Any] = {"loss": "squared", "clip": None, "epsilon": 0.1}
RETIRED |= {"target_every": None, "double": False, "prioritised": False, "vectors_trained": False}

# Settings that only some models, encoders, learners or explorations have (see `Settings.uses`).
LAYERS = "model=drrn,max-action,per-action,verb-object"
IN_ORDER = "encoder=lstm,gru,attention"
READS_TEXT = "model=drrn,linear,max-action,per-action,verb-object"
WIDE = "model=linear,max-action"  # an output for each action of a page
ESTIMATES = "learner=returns | exploration=optimism"  # of returns
STORED = "keep | form=online | exploration=optimism"
NOISE = "vectors; learner=returns"
drrn_setting = functools.partial(setting, needs="model=drrn")
vector_setting = functools.partial(setting, needs="encoder=vectors,bag+vectors")
returns_setting = functools.partial(setting, needs="learner=returns")
estimate_setting = functools.partial(setting, needs=ESTIMATES)
optimism_setting = functools.partial(setting, needs="exploration=optimism")


class _Group:
    """Checks the values of a group."""

    def __post_init__(self) -> None:
        for each in declared(type(self)):
            each.check(getattr(self, each.field))


@dataclass(frozen=True)
class ModelSettings(_Group):
    """The function approximator and its encoders of texts."""

    name: str = setting("drrn", "the function approximator", MODELS, own=True, name="model")
    hidden: int = setting(100, "units of a hidden layer", least=1, needs=f"{LAYERS} | {IN_ORDER}")
    layers: int = setting(2, "hidden layers (of each tower)", least=1, needs=LAYERS)
    interaction: str = drrn_setting("inner", "how embeddings are joined", INTERACTIONS, own=True)
    action_hidden: int | None = drrn_setting(
        None, "units of the action tower, if not as hidden (not with inner)", least=1
    )
    shared: bool = drrn_setting(False, "one embedding for states and actions")
    most_actions: int | None = setting(
        None, "most actions on a page (none: as compiled, or 20)", least=1, needs=WIDE
    )
    encoder: str = setting("bag", "encoder of texts", ENCODERS, own=True, needs=READS_TEXT)
    action_encoder: str | None = drrn_setting(
        None, "encoder of actions, if not as encoder", ENCODERS, own=True, registered="encoder"
    )
    vectors: str | None = vector_setting(
        None, "file of word vectors; unless an encoder is named, they encode the actions"
    )
    vectors_scale: float = setting(
        1.0, "norm that a text's vector is scaled to", above=0, needs="vectors | sentences"
    )
    sentences: str | None = setting(
        None,
        "source of sentence vectors: module:function, from a list of texts to an array "
        "[texts, numbers], or the folder of a sentence-transformers model",
        needs="encoder=sentence",
    )
    embedding: int | None = setting(
        None, "width of trained word vectors (none: as hidden)", least=1, needs=IN_ORDER
    )
    lstm_gain: float = setting(
        1.0, "factor on the mean of an LSTM's states", above=0, needs="encoder=lstm"
    )
    bag_norm: float | None = setting(
        None, "norm of a bag of words (none: raw counts)", above=0, needs="encoder=bag,bag+vectors"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("hidden", "encoder") if self.shared else ():
            other = getattr(self, f"action_{name}")
            if other not in (None, getattr(self, name)):
                raise InputError(f"shared embeddings have one {name}: leave out action_{name}")
        for name in ("vectors", "sentences"):
            source = getattr(self, name)
            if source is not None and not (name == "sentences" and is_object(source)):
                # Absolute, because a run may be loaded from another folder.
                object.__setattr__(self, name, str(Path(source).expanduser().resolve()))
        for encoder in self.encoders:
            if encoder in VECTOR_ENCODERS and self.vectors is None:
                raise InputError(f'encoder "{encoder}" needs word vectors: give a file by vectors')
            if encoder == "sentence" and self.sentences is None:
                raise InputError('encoder "sentence" needs a source of vectors: give sentences')

    @property
    def encoders(self) -> tuple[str, str]:
        """The encoders of states and of actions.

        If word vectors are given without an encoder, they encode the actions; models that cannot
        have two encoders read both sides by bag+vectors.
        """
        if self.vectors is None or self.encoder != "bag" or self.action_encoder is not None:
            return self.encoder, self.action_encoder or self.encoder
        two_encoders = (self.name == "drrn" or self.name not in MODELS) and not self.shared
        return ("bag", "vectors") if two_encoders else ("bag+vectors", "bag+vectors")

    def has_encoder(self, *names: str) -> bool:
        """Return whether a side has one of these encoders, or a user's own, which may be any."""
        if self.name == "table":
            return False
        return any(name in names or name not in ENCODERS for name in self.encoders)


@dataclass(frozen=True)
class LearnerSettings(_Group):
    """The learning algorithm."""

    name: str = setting("q-learning", "the learning algorithm", LEARNERS, own=True, name="learner")
    discount: float = setting(0.9, "discount factor γ", least=0, most=1)
    optimiser: str = setting("sgd", "the optimiser", OPTIMISERS)
    learning_rate: float | None = setting(
        None, "learning rate η (none: 0.001; for a table 0.2)", above=0
    )
    rate_end: float | None = returns_setting(
        None, "the learning rate falls to this in the last three tenths of the rounds", above=0
    )
    batch_size: int = setting(
        32, "transitions in an update; gradients are summed, so 1 is the paper's", least=1
    )
    keep: bool = setting(False, "learn from earlier rounds as well", needs="form=rounds")
    capacity: int = setting(1_000_000, "most transitions that are stored", least=1, needs=STORED)
    epochs: int = setting(
        2, "passes over a round's transitions", least=1, needs="learner=q-learning; form=rounds"
    )
    n_steps: int = setting(1, "rewards in an n-step target", least=1, needs="learner=q-learning")
    updates: int = returns_setting(100, "updates in a round", least=1)
    returns: str = estimate_setting(
        "retrace", "how returns are computed", ("retrace", "monte-carlo")
    )
    trace: float = setting(
        1.0, "λ of Retrace", least=0, most=1, needs=f"{ESTIMATES}; returns=retrace"
    )
    sweeps: int = estimate_setting(
        3, "how often a round recomputes returns, each time from the last estimates", least=1
    )
    pseudo_count: float = estimate_setting(
        0.3, "weight of the network's Q, or of optimism, in returns", above=0, most=1e12
    )
    count_power: float = returns_setting(
        0.5, "pairs are drawn in proportion to this power of their count", least=0, most=10
    )
    average: float | None = returns_setting(
        None, "decay of the moving average of the weights, which acts", above=0, most=0.99999
    )
    state_dropout: float = returns_setting(
        0.0, "share of a state's words dropped while learning", least=0, most=0.95
    )
    action_dropout: float = returns_setting(
        0.0, "share of an action's words dropped while learning", least=0, most=0.95
    )
    action_noise: float = returns_setting(
        0.0, "words of other actions added while learning, as a share", least=0, most=1
    )
    vectors_noise: float = setting(
        0.0,
        "noise of an action's vector while learning, as a share",
        least=0,
        most=1e6,
        needs=NOISE,
    )


@dataclass(frozen=True)
class ExplorationSettings(_Group):
    """The policy that plays while learning."""

    name: str = setting("softmax", "policy while learning", EXPLORATIONS, name="exploration")
    alpha: float = setting(1.0, "α of the softmax policy: π ∝ exp(α Q)", least=0)
    alpha_relative: bool = setting(
        False, "α relative to the spread of the returns so far: π ∝ exp(40 α Q / spread)"
    )
    alpha_start: float | None = setting(
        None, "α starts here and grows by a factor, for three quarters of the rounds", above=0
    )
    optimism: float = optimism_setting(
        2.0, "value of an untried action, in best returns (at least 1)", above=0, most=1e6
    )
    optimism_share: float = optimism_setting(
        0.7, "share of the rounds with optimism; the rest use softmax", least=0, most=1
    )
    replan: int = optimism_setting(50, "episodes until optimism recomputes its estimates", least=1)


@dataclass(frozen=True)
class RunSettings(_Group):
    """How much is played, with which seeds, and how the game is stepped."""

    rounds: int = setting(20, "rounds of playing, learning and evaluating", least=1)
    episodes_per_round: int = setting(200, "episodes of each replica in a round", least=1)
    evaluation_episodes: int = setting(200, "episodes of a policy in an evaluation", least=1)
    replicas: int = setting(5, "agents trained at once, with the seeds seed, seed + 1, …", least=1)
    seed: int = setting(0, "random seed of the first replica", least=0)
    form: str = setting(
        "rounds", "rounds, or online: a mini-batch after every step", ("rounds", "online")
    )
    history: int = setting(0, "earlier pages and actions that precede a page's text", least=0)
    no_compile: bool = setting(False, "step the game itself, even if it could be compiled")
    grow: bool = setting(False, "add words as they occur, even if the game could be read first")
    workers: int = setting(
        1, "processes that step a game; results are the same", least=1, same_results=True
    )

    @property
    def seeds(self) -> list[int]:
        return [self.seed + replica for replica in range(self.replicas)]


# Shares of a run: α grows up to the first, η falls from the second.
ALPHA_GROWS = 0.75
RATE_FALLS = 0.7


@dataclass(frozen=True)
class Settings:
    """All settings of a training run; the defaults are the paper's.

    Example:
        >>> settings = Settings.from_flat(hidden=50, learner="returns")
        >>> settings.model.hidden, settings.flat()["learner"]
        (50, 'returns')
    """

    model: ModelSettings = field(default_factory=ModelSettings)
    learner: LearnerSettings = field(default_factory=LearnerSettings)
    exploration: ExplorationSettings = field(default_factory=ExplorationSettings)
    run: RunSettings = field(default_factory=RunSettings)

    def __post_init__(self) -> None:
        if self.run.form == "online" and self.exploration.name == "optimism":
            raise InputError(
                "exploration optimism needs whole episodes, but form online has none: choose "
                "another exploration or form"
            )

    @staticmethod
    def from_flat(settings: Mapping[str, Any] | None = None, /, **more: Any) -> Settings:
        """Return settings by their flat names; the others have the paper's values.

        Raises:
            InputError: A name is unknown, a value is invalid, or a retired setting has another
                value than the recorded one.
        """
        values = {**(settings or {}), **more}
        for name, value in values.items():
            if name in RETIRED and value != RETIRED[name]:
                raise InputError(f"{name} is {value}, but this setting was removed: leave it out")
            if name not in RETIRED and name not in all_settings():
                near = did_you_mean(name, all_settings())
                raise InputError(f'no setting is named "{name}".{near}')
        groups = {}
        for group, kind in GROUPS.items():
            names = {each.name: each.field for each in declared(kind) if each.name in values}
            groups[group] = kind(**{names[name]: values[name] for name in names})
        return Settings(**groups)

    def flat(self) -> dict[str, Any]:
        """Return every setting by its flat name, as config.json has them."""
        return {
            each.name: getattr(getattr(self, group), each.field)
            for group, kind in GROUPS.items()
            for each in declared(kind)
        }

    def replace(self, **changes: Any) -> Settings:
        """Return these settings with other values of some, by flat name."""
        return Settings.from_flat(self.flat(), **changes)

    def uses(self, name: str) -> bool:
        """Return whether a setting has an effect together with the others.

        Its declaration has the condition (`needs`): `;` joins clauses that must all hold, `|`
        alternatives. `learner=returns` holds if that is the learner's name, or if the learner is
        the user's own, which may use any setting; a bare name holds if that setting is on.
        """
        clauses = all_settings()[name].needs.split("; ")
        return all(any(map(self._holds, clause.split(" | "))) for clause in clauses)

    def _holds(self, condition: str) -> bool:
        name, _, names = condition.partition("=")
        if not name:
            return True
        if name == "encoder":
            return self.model.has_encoder(*names.split(","))
        value = self.flat()[name]
        if not names:
            return bool(value)
        each = all_settings()[name]
        return value in names.split(",") or (each.own and value not in each.choices)

    @property
    def learning_rate(self) -> float:
        """The learning rate η; a table's entries are independent, so they take larger steps."""
        default = 0.2 if self.model.name == "table" else 0.001
        return self.learner.learning_rate or default

    def alpha_at(self, number: int) -> float:
        """Return α while learning in a round; rounds count from 1."""
        alpha = self.exploration.alpha
        start = self.exploration.alpha_start
        if start is None or alpha == 0:
            return alpha
        share = min(1.0, self._share_before(number) / ALPHA_GROWS)
        return float(start * (alpha / start) ** share)

    def learning_rate_at(self, number: int) -> float:
        """Return η in a round; rounds count from 1."""
        end = self.learner.rate_end
        rate = self.learning_rate
        if end is None:
            return rate
        share = max(0.0, self._share_before(number) - RATE_FALLS) / (1 - RATE_FALLS)
        return rate + (end - rate) * share

    def explores_at(self, number: int) -> bool:
        """Return whether a round is played with optimism."""
        last = self.exploration.optimism_share * self.run.rounds + 1e-9
        return self.exploration.name == "optimism" and number <= last

    def _share_before(self, number: int) -> float:
        """Return the share of the run before a round, from 0 for the first to 1 for the last."""
        return (number - 1) / max(1, self.run.rounds - 1)


GROUPS: dict[str, Any] = {
    "model": ModelSettings,
    "learner": LearnerSettings,
    "exploration": ExplorationSettings,
    "run": RunSettings,
}


@functools.cache
def all_settings() -> dict[str, Setting]:
    """Return the declaration of every setting by its flat name."""
    return {each.name: each for group in GROUPS.values() for each in declared(group)}


# --- The two recipes

PAPER = Settings()

# What the strong recipe (docs/beyond.md) changes; `drrn train` uses it unless --paper is given.
STRONG_CHANGES: dict[str, Any] = {
    **{"learner": "returns", "discount": 0.98, "updates": 100, "average": 0.99, "keep": True},
    **{"optimiser": "adam", "learning_rate": 0.002, "rate_end": 0.0001, "batch_size": 512},
    **{"state_dropout": 0.1, "action_dropout": 0.3, "action_noise": 0.3},
    **{"vectors_noise": 1.5, "vectors_scale": 5.0},
    **{"exploration": "optimism", "alpha": 1.5, "alpha_start": 0.5},
}
STRONG = PAPER.replace(**STRONG_CHANGES)
SGD_RATE = 0.0003  # for the learner returns without Adam: returns are large targets


def recipe(
    *,
    paper: bool,
    recommended: Mapping[str, Any] | None = None,
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings of a recipe that differ from the paper's, by flat name.

    Args:
        paper: The paper's recipe takes all recommended settings; the strong one (False) only
            those that it does not set itself.
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
    if chosen["form"] == "online" and chosen["learner"] == "returns" and "learner" not in given:
        raise InputError(
            "the strong recipe learns from whole episodes, but form online has none: add --paper "
            "(in Python: paper=True), or choose the learner q-learning"
        )
    unsuitable = _unsuitable(chosen)
    base |= {name: value for name, value in STRONG_CHANGES.items() if name not in unsuitable}
    by_sgd = chosen["learner"] == "returns" and chosen["optimiser"] == "sgd"
    if by_sgd and chosen["model"] != "table":
        base["learning_rate"] = SGD_RATE
    alpha = given.get("alpha")
    if isinstance(alpha, (int, float)):  # α starts at the same share of another α
        share = STRONG_CHANGES["alpha_start"] / STRONG_CHANGES["alpha"]
        base["alpha_start"] = alpha * share if alpha > 0 else None
    return base


def _unsuitable(chosen: Mapping[str, Any]) -> set[str]:
    """Return the strong recipe's settings that do not suit a run's model, learner or form."""
    names = set[str]()
    if chosen["learner"] == "q-learning":
        names |= {"optimiser", "learning_rate", "batch_size"}
        names |= {n for n in STRONG_CHANGES if "learner=returns" in all_settings()[n].needs}
    if chosen["form"] == "online":
        names |= {"exploration", "keep", "batch_size"}
    if chosen["model"] == "table":
        names.add("learning_rate")
    if chosen["model"] == "linear":  # cannot fit both what is good and what was only tried
        names.add("exploration")
    if chosen["optimiser"] != "adam":  # would diverge, since gradients are summed
        names |= {"learning_rate", "batch_size"}
    return names


def settings_for(base: Mapping[str, Any], given: Mapping[str, Any]) -> Settings:
    """Return the given settings on top of the base, on top of the paper's; all by flat name.

    Raises:
        InputError: A setting is invalid, or a given setting would have no effect.
    """
    if given.get("vectors") and given.get("encoder") == "bag" and "action_encoder" not in given:
        raise InputError(
            "encoder bag does not use vectors: leave out one of them, or give an action_encoder"
        )
    settings = Settings.from_flat({**base, **given})
    for name, value in given.items():
        # A setting that is turned off (none, false, 0) needs nothing.
        if value and name not in RETIRED and not settings.uses(name):
            needs = _needs_text(all_settings()[name].needs)
            raise InputError(
                f"{name} is given, but it has an effect only with {needs}: leave it out, or set "
                "that as well"
            )
    return settings


def _needs_text(needs: str) -> str:
    text = needs.replace("=", " ").replace(",", ", ").replace(" | ", " or ").replace("; ", " and ")
    paper = "learner q-learning (as with --paper, in Python paper=True)"
    return text.replace("learner q-learning", paper)


def recipe_name(*, paper: bool) -> str:
    """Return the recipe's name in config.json."""
    return "paper" if paper else "strong"


def default_text(each: Setting) -> str:
    """Return a setting's default for the help text: of both recipes, if they differ."""
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
