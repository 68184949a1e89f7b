"""All settings of a training run, in one place: the command line and config.json are made from it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drrn.declaration import Setting, declared, setting
from drrn.errors import InputError, did_you_mean
from drrn.registry import is_object

# Names of what the rooms hold, written here so that the command line need not load PyTorch to show them.
MODELS = ("drrn", "linear", "max-action", "per-action", "table", "verb-object")
INTERACTIONS = ("inner", "bilinear", "network")
ENCODERS = ("bag", "lstm", "gru", "attention", "vectors", "bag+vectors", "sentence")
LEARNERS = ("q-learning", "returns")
VECTOR_ENCODERS = ("vectors", "bag+vectors")  # those that need word vectors
ORDERED_ENCODERS = ("lstm", "gru", "attention")  # those that see where a word stands
OPTIMISERS = ("sgd", "momentum", "adam")
LOSSES = ("squared", "huber")
POLICIES = ("softmax", "greedy", "best")  # how a trained agent plays
EXPLORATIONS = ("softmax", "epsilon", "greedy", "optimism")

# Which settings of a model's shape and reading each built-in model uses; a model of the user's may use them all.
TEXTS = {
    "encoder",
    "bag_norm",
    "vectors",
    "vectors_scale",
    "vectors_trained",
    "sentences",
    "embedding",
    "lstm_gain",
}
LAYERS = {"hidden", "layers"}
USES: dict[str, set[str]] = {
    "drrn": TEXTS | LAYERS | {"interaction", "action_hidden", "shared", "action_encoder"},
    "linear": TEXTS | {"most_actions", "hidden"},
    "max-action": TEXTS | LAYERS | {"most_actions"},
    "per-action": TEXTS | LAYERS,
    "table": set(),
    "verb-object": TEXTS | LAYERS,
}


@dataclass(frozen=True)
class Settings:
    """All settings of a training run; the defaults are the paper's, where it gives them."""

    model: str = setting("drrn", "the function approximator", MODELS, own=True)
    hidden: int = setting(100, "units of a hidden layer", least=1)
    layers: int = setting(2, "hidden layers (of each side)", least=1)
    interaction: str = setting("inner", "how DRRN's two embeddings give Q", INTERACTIONS, own=True)
    action_hidden: int | None = setting(
        None, "units of DRRN's action side, if other than hidden (not with inner)", least=1
    )
    shared: bool = setting(False, "one embedding for states and actions (drrn)")
    most_actions: int | None = setting(
        None,
        "most actions on a page (linear, max-action; default: the compiled game's own number, or 20)",
        least=1,
    )
    encoder: str = setting("bag", "how a text becomes a vector", ENCODERS, own=True)
    action_encoder: str | None = setting(
        None,
        "how an action's text becomes a vector, if other than a state's (drrn)",
        ENCODERS,
        own=True,
        registered="encoder",
    )
    vectors: str | None = setting(
        None, "a file of word vectors; if no encoder is named, actions are read by them"
    )
    vectors_scale: float = setting(
        1.0, "length that a text's vector is scaled to (vectors, sentence)", above=0
    )
    vectors_trained: bool = setting(
        False, "fine-tune the word vectors together with the other weights"
    )
    sentences: str | None = setting(
        None,
        "the source of whole texts' vectors (encoder sentence): module:function, from a list of texts to an array "
        "[texts, numbers], or the folder of a sentence-transformers model",
    )
    embedding: int | None = setting(
        None,
        "width of word vectors in the encoders lstm, gru and attention (none: as the hidden units)",
        least=1,
    )
    lstm_gain: float = setting(
        1.0, "factor on the mean of an LSTM's states (encoder lstm)", above=0
    )
    bag_norm: float | None = setting(
        None, "each text's bag of words is scaled to this length (none: raw counts)", above=0
    )
    history: int = setting(
        0,
        "earlier pages, and the actions taken on them, that are put before a page's text",
        least=0,
    )
    alpha: float = setting(1.0, "α of the softmax policy: π ∝ exp(α Q)", least=0)
    alpha_relative: bool = setting(
        False, "α relative to the spread of the returns seen so far: π ∝ exp(40 α Q / spread)"
    )
    alpha_start: float | None = setting(
        None,
        "α while learning rises from this value, by the same factor each round, over three quarters of the rounds",
        above=0,
    )
    learner: str = setting("q-learning", "the learning algorithm", LEARNERS, own=True)
    learning_rate: float | None = setting(
        None, "learning rate η of each transition (none: 0.001; of a table: 0.2)", above=0
    )
    rate_end: float | None = setting(
        None,
        "the learning rate falls to this over the last three tenths of the rounds (learner returns)",
        above=0,
    )
    discount: float = setting(0.9, "discount factor γ", least=0, most=1)
    returns: str = setting(
        "retrace",
        "how returns are computed: by Retrace(λ), or monte-carlo (learner returns, exploration optimism)",
        ("retrace", "monte-carlo"),
    )
    trace: float = setting(
        1.0, "λ of Retrace: how far a return follows the episode", least=0, most=1
    )
    sweeps: int = setting(
        3,
        "how often a round recomputes returns, each time from the last ones (learner returns, optimism)",
        least=1,
    )
    pseudo_count: float = setting(
        0.3,
        "weight of the network's Q, or of optimism, beside a pair's own returns, as a number of returns",
        above=0,
        most=1e12,
    )
    updates: int = setting(100, "updates in a round (learner returns)", least=1)
    count_power: float = setting(
        0.5,
        "pairs are drawn in proportion to this power of their count (learner returns)",
        least=0,
        most=10,
    )
    average: float | None = setting(
        None,
        "decay of the moving average of the weights, which acts (learner returns)",
        above=0,
        most=0.99999,
    )
    state_dropout: float = setting(
        0.0, "share of a state's words dropped at random while learning", least=0, most=0.95
    )
    action_dropout: float = setting(
        0.0, "share of an action's words dropped at random while learning", least=0, most=0.95
    )
    action_noise: float = setting(
        0.0,
        "words of other actions added at random while learning, as a share of the action's own",
        least=0,
        most=1,
    )
    vectors_noise: float = setting(
        0.0,
        "noise added to an action's vector while learning (vectors), as a share of its length",
        least=0,
        most=1e6,
    )
    rounds: int = setting(20, "rounds of playing, learning and evaluating", least=1)
    episodes_per_round: int = setting(200, "episodes that each replica plays in a round", least=1)
    epochs: int = setting(2, "passes over a round's transitions (form rounds)", least=1)
    batch_size: int = setting(
        32,
        "transitions in an update; their gradients are summed, so 1 is the paper's update",
        least=1,
    )
    replicas: int = setting(
        5, "agents that learn side by side, with the seeds seed, seed + 1, …", least=1
    )
    seed: int = setting(0, "random seed of the first replica", least=0)
    evaluation_episodes: int = setting(
        200, "episodes that each replica plays in an evaluation, by each policy", least=1
    )
    form: str = setting(
        "rounds",
        "rounds, or online: a mini-batch from the replay buffer after every step",
        ("rounds", "online"),
    )
    keep: bool = setting(
        False, "the replay buffer keeps the transitions of earlier rounds (form rounds)"
    )
    capacity: int = setting(
        1_000_000, "size of the replay buffer in transitions (keep, online)", least=1
    )
    exploration: str = setting("softmax", "how actions are chosen while learning", EXPLORATIONS)
    epsilon: float = setting(0.1, "share of random actions (exploration epsilon)", least=0, most=1)
    optimism: float = setting(
        2.0,
        "an action never tried counts as this many times the best return (or 1, if that is more)",
        above=0,
        most=1e6,
    )
    optimism_share: float = setting(
        0.7, "share of the rounds with optimism; in the rest, softmax", least=0, most=1
    )
    replan: int = setting(50, "episodes after which optimism renews its estimates", least=1)
    optimiser: str = setting("sgd", "the optimiser", OPTIMISERS)
    loss: str = setting("squared", "the loss of the error y - Q", LOSSES)
    clip: float | None = setting(
        None, "largest norm of a replica's gradient (off by default)", above=0
    )
    target_every: int | None = setting(
        None, "target network, copied every so many updates (off by default)", least=1
    )
    double: bool = setting(
        False, "double Q-learning: the network chooses an action, the target network values it"
    )
    n_steps: int = setting(1, "n-step targets: rewards summed before bootstrapping", least=1)
    prioritised: bool = setting(
        False, "prioritised replay: draw transitions in proportion to their last error"
    )
    no_compile: bool = setting(False, "step the game itself, even where it could be compiled")
    grow: bool = setting(
        False, "add words as they occur, instead of reading the game's vocabulary beforehand"
    )
    workers: int = setting(
        1,
        "processes that step a game which cannot be compiled; the results are the same",
        least=1,
        same_results=True,
    )

    def __post_init__(self) -> None:
        for name, declaration in all_settings().items():
            declaration.check(getattr(self, name))
        if self.double and self.target_every is None:
            raise InputError(
                "double Q-learning needs a second network: set target_every, say to 100"
            )
        if self.form == "online" and self.exploration == "optimism":
            raise InputError(
                "exploration optimism needs whole episodes, and form online has none: choose another"
            )
        if self.shared and self.action_hidden not in (None, self.hidden):
            raise InputError(
                f"shared embeddings have one size: leave out action_hidden, which is {self.action_hidden}"
            )
        if self.shared and self.action_encoder not in (None, self.encoder):
            raise InputError(
                f"shared embeddings have one encoder: leave out action_encoder, {self.action_encoder}"
            )
        if self.vectors is not None:  # a run may be loaded from another folder
            object.__setattr__(self, "vectors", str(Path(self.vectors).expanduser().resolve()))
        elif wanting := [name for name in self.encoders if name in VECTOR_ENCODERS]:
            raise InputError(
                f'the encoder "{wanting[0]}" needs word vectors: name a file of them by vectors'
            )
        if self.sentences is not None and not is_object(self.sentences):
            object.__setattr__(self, "sentences", str(Path(self.sentences).expanduser().resolve()))
        elif self.sentences is None and "sentence" in self.encoders:
            raise InputError(
                'the encoder "sentence" needs vectors of texts: name what makes them by sentences, as module:function '
                "or as the folder of a sentence-transformers model"
            )

    @property
    def eta(self) -> float:
        """The learning rate; a table's entries stand alone, so they can move further at a step."""
        return self.learning_rate or (0.2 if self.model == "table" else 0.001)

    def alpha_at(self, number: int) -> float:
        """α of a round while learning; rounds count from 1."""
        if self.alpha_start is None or self.alpha == 0:
            return self.alpha
        gone = min(1.0, _share(number, self.rounds) / ALPHA_RISES)
        return float(self.alpha_start * (self.alpha / self.alpha_start) ** gone)

    def rate_at(self, number: int) -> float:
        """η of a round; rounds count from 1."""
        if self.rate_end is None:
            return self.eta
        fallen = max(0.0, _share(number, self.rounds) - RATE_FALLS) / (1 - RATE_FALLS)
        return self.eta + (self.rate_end - self.eta) * fallen

    def explores_at(self, number: int) -> bool:
        """Whether a round is played with optimism."""
        return self.exploration == "optimism" and number <= self.optimism_share * self.rounds + 1e-9

    @property
    def encoders(self) -> tuple[str, str]:
        """How states and actions are read. Where no encoder was named, word vectors read the actions; both sides have
        them, beside their bags, where they cannot differ."""
        if self.vectors is None or self.encoder != "bag" or self.action_encoder is not None:
            return self.encoder, self.action_encoder or self.encoder
        apart = uses(self.model, "action_encoder") and not self.shared
        return ("bag", "vectors") if apart else ("bag+vectors", "bag+vectors")

    @property
    def reads_vectors(self) -> bool:
        """Whether an encoder may make something of word vectors: one of the user's may, too."""
        return self.reads_by(*VECTOR_ENCODERS)

    def reads_by(self, *names: str) -> bool:
        """Whether a side is read by one of these encoders, or by one of the user's, which may be like any of them."""
        return any(name in names or name not in ENCODERS for name in self.encoders)

    @property
    def seeds(self) -> list[int]:
        return [self.seed + replica for replica in range(self.replicas)]


# shares of a run: until when α rises, from when on η falls
ALPHA_RISES = 0.75
RATE_FALLS = 0.7


def _share(number: int, rounds: int) -> float:
    """How much of a run has gone before a round, from 0 for the first to 1 for the last."""
    return (number - 1) / max(1, rounds - 1)


def _returns(settings: Settings) -> bool:
    """Whether returns are computed, and by whom."""
    return (
        settings.learner == "returns"
        or settings.exploration == "optimism"
        or ":" in settings.learner
    )


# Settings that count only beside others: when, and what to say of it.
ONLY: dict[str, tuple[Callable[[Settings], bool], str]] = {
    "epochs": (
        lambda s: s.form == "rounds" and s.learner != "returns",
        "with form rounds and the learner q-learning, as the paper's recipe has them (--paper, in Python paper=True)",
    ),
    "hidden": (
        lambda s: s.model != "linear" or s.reads_by(*ORDERED_ENCODERS),
        "with another model than linear, or with an encoder that reads words in order",
    ),
    "bag_norm": (lambda s: s.reads_by("bag", "bag+vectors"), "with an encoder that makes bags"),
    "embedding": (
        lambda s: s.reads_by(*ORDERED_ENCODERS),
        "with the encoder lstm, gru or attention",
    ),
    "lstm_gain": (lambda s: s.reads_by("lstm"), "with the encoder lstm"),
    "sentences": (lambda s: s.reads_by("sentence"), "with the encoder sentence"),
    "vectors_trained": (lambda s: s.vectors is not None and s.reads_vectors, "with vectors"),
    "vectors": (lambda s: s.reads_vectors, "with the encoder vectors or bag+vectors"),
    "vectors_scale": (
        lambda s: (s.vectors is not None and s.reads_vectors) or s.sentences is not None,
        "with vectors or sentences",
    ),
    "vectors_noise": (
        lambda s: s.vectors is not None and s.learner != "q-learning",
        "with vectors and learner returns",
    ),
    "keep": (lambda s: s.form == "rounds", "with form rounds"),
    "capacity": (
        lambda s: s.keep or s.form == "online" or s.exploration == "optimism",
        "with keep, or with form online, or with exploration optimism",
    ),
    "epsilon": (lambda s: s.exploration == "epsilon", "with exploration epsilon"),
    "returns": (_returns, "with the learner returns, or with exploration optimism"),
    "trace": (
        lambda s: _returns(s) and s.returns == "retrace",
        "with the learner returns, and with returns retrace",
    ),
    "sweeps": (_returns, "with the learner returns, or with exploration optimism"),
    "pseudo_count": (_returns, "with the learner returns, or with exploration optimism"),
    **{
        name: (lambda s: s.learner != "q-learning", "with the learner returns")
        for name in (
            "rate_end",
            "updates",
            "count_power",
            "average",
            "state_dropout",
            "action_dropout",
            "action_noise",
        )
    },
    **{
        name: (
            lambda s: s.learner != "returns",
            "with the learner q-learning, which the paper's recipe has (--paper, in Python paper=True)",
        )
        for name in ("n_steps", "target_every", "double", "prioritised")
    },
    **{
        name: (lambda s: s.exploration == "optimism", "with exploration optimism")
        for name in ("optimism", "optimism_share", "replan")
    },
}


@functools.cache
def all_settings() -> dict[str, Setting]:
    """Every setting by name, as `Settings` declares it."""
    return declared(Settings)


def uses(model: str, name: str) -> bool:
    """Whether a model uses a setting; settings that are not about models, such as rounds, count as used by all."""
    known = set().union(*USES.values())
    return name in USES.get(model, known) or name not in known


def settings_for(suiting: Mapping[str, Any], given: Mapping[str, Any]) -> Settings:
    """Settings by precedence: those given, then those recommended or taken over (`suiting`), then the defaults. A given
    setting that would have no effect is refused."""
    known = all_settings()
    for name in (*suiting, *given):
        if name not in known:
            raise InputError(f'no setting is named "{name}".{did_you_mean(name, known)}')
    if given.get("vectors") and given.get("encoder") == "bag" and "action_encoder" not in given:
        raise InputError(
            "the encoder bag makes nothing of vectors: leave one of them out, or name an action_encoder"
        )
    settings = replace(Settings(), **{**suiting, **given})
    for name, value in given.items():
        if value:  # what is turned off (none, no, 0) asks for nothing
            _refuse_unused(settings, name)
    return settings


def _refuse_unused(settings: Settings, name: str) -> None:
    if not uses(settings.model, name):
        models = ", ".join(model for model in MODELS if uses(model, name))
        raise InputError(
            f'{name} is given, but the model "{settings.model}" does not use it: leave it out, or choose from {models}'
        )
    counts, when = ONLY.get(name, (lambda s: True, ""))
    if not counts(settings):
        raise InputError(
            f"{name} is given, but it counts only {when}: leave it out, or set that, too"
        )
