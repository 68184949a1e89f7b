"""Everything a training run can be told, in one place: the command line and config.json are made from it."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from drrn.errors import InputError, did_you_mean

# Names of what the later rooms hold, written here so that the command line need not load PyTorch to show them.
MODELS = ("drrn", "linear", "max-action", "per-action", "table")
INTERACTIONS = ("inner", "bilinear", "network")
OPTIMISERS = ("sgd", "momentum", "adam")
LOSSES = ("squared", "huber")


def _setting(default: Any, explanation: str, choices: Any = None) -> Any:
    return field(default=default, metadata={"help": explanation, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """The defaults are the paper's, where it gives them."""

    model: str = _setting("drrn", "the function approximator", MODELS)
    hidden: int = _setting(100, "units of a hidden layer")
    layers: int = _setting(2, "hidden layers (of each side)")
    interaction: str = _setting("inner", "how DRRN's two embeddings give Q", INTERACTIONS)
    action_hidden: int | None = _setting(None, "units of DRRN's action side, where it differs (not with inner)")
    shared: bool = _setting(False, "one embedding for states and actions")
    bag_norm: float | None = _setting(None, "each text's bag of words is scaled to this length (none: raw counts)")
    alpha: float = _setting(1.0, "softmax: π ∝ exp(α Q)")
    learning_rate: float | None = _setting(None, "η of each transition (default: 0.001; table: 0.2)")
    discount: float = _setting(0.9, "γ")
    rounds: int = _setting(20, "play, learn, evaluate: so many times")
    episodes_per_round: int = _setting(200, "episodes played in a round")
    epochs: int = _setting(2, "passes over a round's transitions")
    batch_size: int = _setting(32, "transitions an update; their gradients are summed, so 1 is the paper's update")
    replicas: int = _setting(5, "runs that learn side by side, with seeds seed, seed + 1, …")
    seed: int = _setting(0, "of the first replica")
    evaluation_episodes: int = _setting(200, "episodes of each evaluation, by softmax and by greedy choice")
    form: str = _setting("rounds", "rounds, or online: a mini-batch from memory after every step", ("rounds", "online"))
    keep: bool = _setting(False, "rounds: learn from the transitions of earlier rounds, too")
    capacity: int = _setting(1_000_000, "transitions the memory holds (keep, online)")
    exploration: str = _setting("softmax", "how actions are chosen while learning", ("softmax", "epsilon", "greedy"))
    epsilon: float = _setting(0.1, "share of random actions (exploration epsilon)")
    optimiser: str = _setting("sgd", "how weights move", OPTIMISERS)
    loss: str = _setting("squared", "of the error y - Q", LOSSES)
    clip: float | None = _setting(None, "largest norm of a replica's gradient (off by default)")
    target_every: int | None = _setting(None, "targets from a copy, renewed every so many updates (off by default)")
    double: bool = _setting(False, "double Q-learning: one network chooses, the copy values")
    n_steps: int = _setting(1, "rewards summed before the next state's value is taken")
    prioritised: bool = _setting(False, "draw transitions in proportion to their last error")
    no_compile: bool = _setting(False, "play the story itself, where it could be compiled")
    grow: bool = _setting(False, "meet words while playing, instead of loading the story's dictionary")

    def __post_init__(self) -> None:
        for f in fields(self):
            choices, value = _choices(f), getattr(self, f.name)
            _check_kind(f, value)
            if choices and value not in choices:
                near = did_you_mean(str(value), choices)
                raise InputError(f'{f.name} is "{value}"; choose from {", ".join(choices)}.{near}')
        for name, low in LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= low:
                raise InputError(f"{name} is {value}; it must be at least {low}")
        for name in ("learning_rate", "clip", "bag_norm"):
            if (value := getattr(self, name)) is not None and not value > 0:
                raise InputError(f"{name} is {value}; it must be above 0")
        for name in ("discount", "epsilon"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must lie between 0 and 1")
        if self.double and self.target_every is None:
            raise InputError("double Q-learning needs a second network: set target_every, say to 100")
        if self.shared and self.action_hidden not in (None, self.hidden):
            raise InputError(f"shared embeddings have one size: leave out action_hidden, which is {self.action_hidden}")

    @property
    def eta(self) -> float:
        """The learning rate; a table's entries stand alone, so they can move further at a step."""
        return self.learning_rate or (0.2 if self.model == "table" else 0.001)

    @property
    def seeds(self) -> list[int]:
        return [self.seed + replica for replica in range(self.replicas)]


KINDS: dict[str, tuple[Any, str]] = {
    "str": (str, "a name"),
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "bool": (bool, "true or false"),
}

# Where the rooms keep what has those names; one that is added there can be chosen from then on.
REGISTERED = {
    "model": ("drrn.models", "MODELS"),
    "interaction": ("drrn.models", "INTERACTIONS"),
    "optimiser": ("drrn.learning.optimisers", "OPTIMISERS"),
    "loss": ("drrn.learning.q_learning", "LOSSES"),
}


def _choices(f: Field[Any]) -> Collection[str] | None:
    """The names that a setting can have: those of its room, if that is loaded."""
    room, names = REGISTERED.get(f.name, ("", ""))
    found: Collection[str] | None = getattr(sys.modules.get(room), names, f.metadata["choices"])
    return found


def _check_kind(f: Field[Any], value: Any) -> None:
    """A value of the kind that the annotation says; to Python true is a number, to us it is not."""
    kind, *none = str(f.type).split(" | ")
    accepted, said = KINDS[kind]
    if (none and value is None) or (isinstance(value, accepted) and isinstance(value, bool) == (kind == "bool")):
        return
    shown = json.dumps(value, ensure_ascii=False, default=repr)
    raise InputError(f"{f.name} is {shown}; it must be {said}{' or none' if none else ''}")


LEAST = {
    "hidden": 1, "layers": 1, "action_hidden": 1, "alpha": 0, "rounds": 1, "episodes_per_round": 1, "epochs": 1,
    "batch_size": 1, "replicas": 1, "seed": 0, "evaluation_episodes": 1, "capacity": 1, "target_every": 1, "n_steps": 1,
}  # fmt: skip

# What suits the paper's two games, by title: α as the paper has it; of epochs it says "multiple", and they were chosen
# on seeds from 1,000 on, which no reported run uses.
PAPER_GAMES: dict[str, dict[str, Any]] = {
    "Saving John": {"alpha": 0.2, "epochs": 3},
    "Machine of Death": {"alpha": 1.0, "epochs": 1},
}


def settings_for(title: str, training: Mapping[str, Any], given: Mapping[str, Any]) -> Settings:
    """The defaults, under what suits the game, under what was asked for."""
    known = {f.name for f in fields(Settings)}
    for name in (*training, *given):
        if name not in known:
            raise InputError(f'no setting is named "{name}".{did_you_mean(name, known)}')
    return replace(Settings(), **{**PAPER_GAMES.get(title, {}), **training, **given})
