"""The plan of the experiments: which models are trained on which games, and with which settings.

A variant is one row of a table. It is trained once for each game, with all seeds at once: that is a
job. An experiment is a tuple of variants; variants that several experiments share are trained once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from drrn.errors import InputError, did_you_mean
from drrn.game.contract import Game
from drrn.runs.config import recommended_settings
from drrn.settings import PAPER as PAPER_SETTINGS
from drrn.settings import STRONG, Settings, recipe, settings_for
from drrn.stories.twine.rules import DEFAULT_SET

REWORDED = "reworded"  # the set of paraphrases that share no word with the original

# --- Variants


@dataclass(frozen=True)
class Variant:
    """A model of the paper and its size. The models linear and table have no layers."""

    model: str
    layers: int | None = None
    hidden: int | None = None
    interaction: str = "inner"
    action_hidden: int | None = None
    shared: bool = False
    n_steps: int = 1

    # Policies that are recorded after each round, and paraphrases that are played after the last.
    policies: ClassVar[tuple[str, ...]] = ("softmax", "greedy")
    paraphrase_sets: ClassVar[tuple[str, ...]] = (DEFAULT_SET,)

    @property
    def name(self) -> str:
        parts = [self.model]
        if self.layers:
            parts.append(f"{self.layers}x{self.hidden}")
        if self.interaction != "inner":
            parts.append(self.interaction)
        if self.action_hidden:
            parts.append(str(self.action_hidden))
        if self.n_steps > 1:
            parts.append(f"{self.n_steps}-steps")
        return "-".join(parts + ["shared"] * self.shared)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that make the variant, by flat name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def columns(self, settings: Settings) -> dict[str, Any]:
        """Return the cells that describe the model in each row of its results."""
        return asdict(self)


@dataclass(frozen=True)
class Changed(Variant):
    """A variant that is described by settings, not by the paper's seven columns."""

    changes: tuple[tuple[str, Any], ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.changes)

    def columns(self, settings: Settings) -> dict[str, Any]:
        flat = settings.flat()
        return {each.name: flat[each.name] for each in fields(Variant)}


@dataclass(frozen=True)
class Named(Changed):
    """A variant that is not in the paper: it has a name, and is trained on some games only."""

    games: tuple[str, ...] = ()  # patterns of names; empty: all games
    vectors: bool = False  # whether it needs word vectors
    label: str = ""  # its name in a table

    def suits(self, game: str, *, vectors: bool) -> bool:
        """Return whether it is trained on a game, with or without word vectors."""
        matches = not self.games or any(fnmatchcase(game, pattern) for pattern in self.games)
        return matches and (vectors or not self.vectors)


@dataclass(frozen=True)
class Beyond(Named):
    """DRRN with the strong recipe, or with the recipe without one of its parts."""

    part: str = ""  # the end of its name
    rounds: int | None = None  # if it has another number than all jobs

    policies = ("softmax", "best")
    paraphrase_sets = (DEFAULT_SET, REWORDED)

    @property
    def name(self) -> str:
        return f"strong-{self.part}" if self.part else "strong"


@dataclass(frozen=True)
class Added(Named):
    """The paper's recipe with another encoder or model, or on other games.

    The game may recommend a size if the variant leaves it open (None).
    """

    job: str = ""

    @property
    def name(self) -> str:
        return self.job

    @property
    def settings(self) -> dict[str, Any]:
        shape = {"model": self.model, "layers": self.layers, "hidden": self.hidden}
        sizes = {name: value for name, value in shape.items() if value is not None}
        return {**sizes, **dict(self.changes)}


# --- The paper's variants

PAPER = {"saving-john": "Saving John", "machine-of-death": "Machine of Death"}  # names, titles
SIZES = (20, 50, 100)
LAYERED = ("per-action", "max-action", "drrn")


def _drrn(layers: int = 2, hidden: int = 100, **options: Any) -> Variant:
    return Variant("drrn", layers, hidden, **options)


LINEAR = Variant("linear")
TABLE = Variant("table")
BEST = _drrn()  # the paper's largest
SHARED = _drrn(shared=True)
NETWORK = _drrn(interaction="network")
FOUR_STEPS = _drrn(n_steps=4)  # not in the paper
BILINEAR = tuple(_drrn(interaction="bilinear", action_hidden=size) for size in SIZES)
LARGE = (Variant("max-action", 2, 100), Variant("per-action", 2, 100))
LAYERED_GRID = tuple(
    Variant(model, layers, hidden) for model in LAYERED for layers in (1, 2) for hidden in SIZES
)
GRID = (LINEAR, *LAYERED_GRID)
CURVES = (BEST, _drrn(1), *LARGE, LINEAR)
INTERACTIONS = (BEST, *BILINEAR, NETWORK)
PARAPHRASED = (*(each for each in LAYERED_GRID if each.layers == 2), TABLE)
PAIRED = (BEST, NETWORK, *LARGE, TABLE)  # Q-values are recorded before and after paraphrasing
LARGEST = (LINEAR, *(each for each in LAYERED_GRID if each.hidden == 100), TABLE, FOUR_STEPS)

# --- Beyond the paper: the strong recipe on every game, and without each of its parts

SEEDS = 10  # reported: 0 to 9; settings were tuned on seeds from 1,000
ABLATED = ("machine-of-death",)  # the game of the ablation table
EXPLORED = (*ABLATED, "night-market")  # the games of the ablations of exploration
ALONE = 1e6  # pseudo-count that makes the network's Q outweigh a pair's own returns


def _without(part: str, label: str, games: tuple[str, ...] = ABLATED, **changes: Any) -> Beyond:
    return Beyond("drrn", part=part, changes=tuple(changes.items()), games=games, label=label)


STRONG_JOB = Beyond("drrn", label="all of it")
# More episodes make Q-values more reliable, hence the larger α: chosen on seeds from 1,000.
LONG = Beyond(
    "drrn",
    part="20000",
    games=("night-market",),
    rounds=100,
    changes=(("alpha", 2.0),),
    label="20,000 episodes, α = 2",
)
VECTORS = Beyond("drrn", part="vectors", vectors=True, label="with word vectors")
NO_NOISE: dict[str, Any] = {"state_dropout": 0.0, "action_dropout": 0.0, "action_noise": 0.0}
# Optimism uses the same pseudo-count: with ALONE it would explore at random.
NO_MEANS = {"pseudo_count": ALONE, "exploration": "softmax"}
ABLATIONS = (
    _without("monte-carlo", "Monte Carlo returns, not Retrace's", returns="monte-carlo"),
    _without("lambda", "λ = 0.9", trace=0.9),
    _without("gamma", "γ = 0.9, the paper's", discount=PAPER_SETTINGS.learner.discount),
    _without("alpha", "α constant", alpha_start=None),
    _without("rate", "η constant", rate_end=None),
    _without("average", "no average of the weights", average=None),
    _without("noise", "no noise in texts", **NO_NOISE),
    _without("put-in", "words are left out, none put in", action_noise=0.0),
    _without("optimism", "no optimism: softmax explores", EXPLORED, exploration="softmax"),
    _without("keep", "no earlier round is kept", keep=False),
    _without("sweeps", "returns computed once a round", sweeps=1),
    _without("means", "no optimism, and no means of the pairs' own", EXPLORED, **NO_MEANS),
    _without("counts", "fits drawn in proportion to N, not √N", count_power=1.0),
)
BEYOND = (STRONG_JOB, LONG, VECTORS, *ABLATIONS)

# --- Encoders: the paper's DRRN that reads texts in another way

ENCODED = ("machine-of-death", "saving-john")  # the games, unless others are named


def _encoder(name: str, label: str, *, vectors: bool = False) -> Added:
    job = f"drrn-2x100-{name.replace('+', '-')}"
    changes = (("encoder", name),)
    return Added("drrn", 2, 100, job=job, changes=changes, vectors=vectors, label=label)


LSTM = _encoder("lstm", "LSTM")
GRU = _encoder("gru", "GRU")
ATTENTION = _encoder("attention", "attention")
BAG_VECTORS = _encoder("bag+vectors", "bag and word vectors, added", vectors=True)
ENCODERS = (LSTM, GRU, ATTENTION, BAG_VECTORS)

# --- Parser games: the agents of Narasimhan et al. (2015) and DRRN, with each world's settings

PARSED = ("home-world", "comet-house")
PARSER_GAMES = (*PARSED, "home-world-original")  # the last only if it is installed and named


def _parser(name: str, model: str, label: str, **changes: str) -> Added:
    changed = tuple(changes.items())
    return Added(model, job=f"parser-{name}", changes=changed, games=PARSER_GAMES, label=label)


BOW_DQN = _parser("bow-dqn", "verb-object", "BOW-DQN")
LSTM_DQN = _parser("lstm-dqn", "verb-object", "LSTM-DQN", encoder="lstm")
DRRN_BAG = _parser("drrn-bag", "drrn", "DRRN, bag of words")
DRRN_LSTM = _parser("drrn-lstm", "drrn", "DRRN, LSTM", encoder="lstm", action_encoder="bag")
PARSERS = (BOW_DQN, LSTM_DQN, DRRN_BAG, DRRN_LSTM)

# --- Suites: DRRN with a bag of words and with a GRU, on other people's games

SUITE_GAMES = ("twx-*", "textworld-*", "jericho-*", "scienceworld-*")
SUITE_SEEDS = 3
SUITE_FINAL = 4  # evaluation after the last round, relative to that of a round
BY_GRU = (("encoder", "gru"),)
SUITE_BAG = Added("drrn", job="suite-bag", games=SUITE_GAMES, label="DRRN, bag of words")
SUITE_GRU = Added("drrn", job="suite-gru", changes=BY_GRU, games=SUITE_GAMES, label="DRRN, GRU")
SUITE_JOBS = (SUITE_BAG, SUITE_GRU)

# --- Experiments

ADDED = {"parser": PARSERS, "suites": SUITE_JOBS}
EXPERIMENTS: dict[str, tuple[Variant, ...]] = {
    "statistics": (),
    "scores": GRID,
    "curves": CURVES,
    "shared": (BEST, SHARED),
    "interactions": INTERACTIONS,
    "paraphrases": (*PARAPHRASED, NETWORK),
    "examples": (BEST,),
    "embeddings": (BEST,),
    "gaps": LARGEST,
    "beyond": BEYOND,
    "encoders": (BEST, *ENCODERS),
    **ADDED,
}
ON_REQUEST = ("encoders", *ADDED)  # run only if named: they take long, or need other packages
VARIANTS = {variant.name: variant for variants in EXPERIMENTS.values() for variant in variants}


def variants_of(
    only: Collection[str], *, paraphrases: bool, game: str | None = None, vectors: bool = True
) -> list[Variant]:
    """Return the variants that experiments need, each once.

    Args:
        only: Names of experiments or of variants; empty: all experiments but those on request.
        paraphrases: Whether the game has paraphrases.
        game: Leaves out variants that are not trained on this game.
        vectors: Whether there are word vectors; otherwise variants that need them are left out.

    Raises:
        InputError: A name is unknown.
    """
    choices = ", ".join(EXPERIMENTS)
    for name in only:
        if name not in EXPERIMENTS and name not in VARIANTS:
            near = did_you_mean(name, [*EXPERIMENTS, *VARIANTS])
            raise InputError(
                f'no experiment is named "{name}".{near} Choose from {choices}; or name a job'
            )
    names = only or [name for name in EXPERIMENTS if name not in ON_REQUEST]
    variants: list[Variant] = [VARIANTS[name] for name in names if name in VARIANTS]
    for name in names:
        if name in EXPERIMENTS and (paraphrases or name != "paraphrases"):
            variants += EXPERIMENTS[name]
    return [each for each in dict.fromkeys(variants) if _suits(each, game, vectors)]


def _suits(variant: Variant, game: str | None, vectors: bool) -> bool:
    return not isinstance(variant, Named) or game is None or variant.suits(game, vectors=vectors)


def game_order(games: Iterable[str]) -> list[str]:
    """Sort games: the paper's, the built-in stories, the parser games, then others by name."""
    first = [*PAPER, "long-watch", "night-market", *PARSED]
    rank = {name: index for index, name in enumerate(first)}
    return sorted(set(games), key=lambda game: (rank.get(game, len(first)), game))


# --- Settings

QUICK = {"rounds": 3, "episodes_per_round": 100, "evaluation_episodes": 50}
QUICK_SUITE = {"rounds": 2, "episodes_per_round": 4, "evaluation_episodes": 2}


@dataclass(frozen=True)
class Scale:
    """How much is trained and measured."""

    seeds: int = 5
    first_seed: int = 0
    final_softmax: int = 1000  # episodes of each seed after the last round, for the tables
    final_greedy: int = 200
    beyond_seeds: int = SEEDS
    final_best: int = 1000  # only beyond the paper
    suite_seeds: int = SUITE_SEEDS
    vectors: str | None = None  # path of the word vectors
    quick: bool = False
    overrides: dict[str, Any] = field(default_factory=dict)  # settings of all jobs

    def common(self, variant: Variant) -> dict[str, Any]:
        """Return the settings of all jobs, which do not depend on the variant."""
        few = QUICK_SUITE if variant in SUITE_JOBS else QUICK
        return {**(few if self.quick else {}), **self.overrides}

    def final(self, variant: Variant, settings: Settings | None = None) -> dict[str, int]:
        """Return the number of episodes after the last round, by policy."""
        if settings is not None and variant in SUITE_JOBS:
            episodes = SUITE_FINAL * settings.run.evaluation_episodes
            return dict.fromkeys(("softmax", "greedy", "best"), episodes)
        episodes_of = {"softmax": self.final_softmax, "greedy": self.final_greedy}
        if isinstance(variant, Beyond):
            episodes_of["best"] = self.final_best
        return episodes_of


# Settings that were chosen for games or models: patterns of games and of jobs, and the settings.
# A later line overrides an earlier one. The baselines get the same care as DRRN: a line for one
# model alone needs a reason.
TUNED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    # Per-action DQN improves slowly: on seeds 1000 to 1004 it reaches 8.5 in two epochs. DRRN gains
    # nothing from a second one (9.6 and 9.3, seeds 1000 to 1009).
    ("machine-of-death", "per-action-*", {"epochs": 2}),
    # The matrix between the embeddings is not bounded as tanh is: with η = 0.001 it diverged in two
    # games. At half the rate the one epoch of Machine of Death is too little, so it gets two.
    ("*", "*-bilinear-*", {"learning_rate": 0.0005}),
    ("machine-of-death", "*-bilinear-*", {"epochs": 2}),
    # Games of suites: steps are slow, so there are few episodes, and each round learns from all of
    # them. Rewards are rare, so α starts low. Chosen on seeds from 1,000.
    ("*", "suite-*", {"optimiser": "adam", "learning_rate": 0.002, "batch_size": 256}),
    ("*", "suite-*", {"keep": True, "epochs": 4, "n_steps": 3, "alpha_start": 0.3}),
    ("*", "suite-*", {"rounds": 8, "episodes_per_round": 40, "evaluation_episodes": 5}),
    ("twx-cookingworld", "suite-*", {"rounds": 12}),  # needs four rewards in a row
    ("textworld-*", "suite-*", {"rounds": 4, "episodes_per_round": 15, "evaluation_episodes": 2}),
    ("scienceworld-*", "suite-*", {"rounds": 6, "episodes_per_round": 10}),
    ("scienceworld-*", "suite-*", {"evaluation_episodes": 2}),
    ("jericho-*", "suite-*", {"rounds": 8, "episodes_per_round": 10, "evaluation_episodes": 2}),
    # A GRU needs a hundred times as long for a text as a bag of words.
    ("*", "suite-gru", {"hidden": 64, "epochs": 2}),
)


def tuned_settings(game: str, job: str) -> dict[str, Any]:
    """Return the settings that were chosen for a job of a game."""
    settings: dict[str, Any] = {}
    for games, jobs, changes in TUNED:
        if fnmatchcase(game, games) and fnmatchcase(job, jobs):
            settings |= changes
    return settings


def settings_of(name: str, variant: Variant, game: Game, scale: Scale) -> Settings:
    """Return a job's settings.

    By precedence: settings of all jobs (`--set`), the variant's, tuned ones, those that the game
    recommends, the paper's. A setting of all jobs may have no effect on some of them.
    """
    if isinstance(variant, Beyond):
        return _settings_beyond(variant, game, scale)
    common = scale.common(variant)
    settings = {
        **recommended_settings(game),
        **tuned_settings(name, variant.name),
        **variant.settings,
        **({"vectors": scale.vectors} if isinstance(variant, Added) and variant.vectors else {}),
        "replicas": scale.suite_seeds if variant in SUITE_JOBS else scale.seeds,
        "seed": scale.first_seed,
        **common,
    }
    if isinstance(variant, Added):
        return settings_for(settings, {})
    # A setting of all jobs is refused only if neither recipe nor this job uses it.
    recipes = (PAPER_SETTINGS, STRONG)
    unusual = {n: value for n, value in common.items() if not any(r.uses(n) for r in recipes)}
    return settings_for(settings, unusual)


def _settings_beyond(variant: Beyond, game: Game, scale: Scale) -> Settings:
    """By precedence: the variant's settings, settings of all jobs, the strong recipe."""
    settings = {
        **recipe(paper=False, recommended=recommended_settings(game)),
        **({"rounds": variant.rounds} if variant.rounds else {}),
        **({"vectors": scale.vectors} if variant.vectors else {}),
        **scale.common(variant),
        **variant.settings,
        "replicas": scale.beyond_seeds,
        "seed": scale.first_seed,
    }
    return settings_for(settings, {})


# --- Costs: durations relative to DRRN 1 × 100 on The Long Watch, from the published records. They
# order the jobs, and estimate the remaining time until enough is measured.

COST = {"drrn": 1.0, "per-action": 1.7, "max-action": 4.0, "linear": 4.0, "table": 0.6}
GAME_COST = {"saving-john": 0.8, "machine-of-death": 9.0, "long-watch": 1.0, "night-market": 2.0}
INTERACTION_COST = {"bilinear": 1.4, "network": 2.2}
SHARED_COST = 1.7
STRONG_COST = {
    "saving-john": 8.0,
    "machine-of-death": 16.0,
    "long-watch": 6.0,
    "night-market": 40.0,
}
# By the end of the name of an added job.
ADDED_COST = {"lstm": 12.0, "gru": 12.0, "attention": 8.0, "bag-vectors": 1.5}
ADDED_COST |= {"bow-dqn": 2.0, "lstm-dqn": 6.0, "drrn-bag": 2.0, "drrn-lstm": 6.0, "bag": 10.0}
USUAL_SEEDS: dict[type[Variant], int] = {Beyond: SEEDS}  # if not the default number


def cost(game: str, variant: Variant, *, strong: bool = False) -> float:
    """Return the relative duration of a job with the usual rounds and seeds.

    `strong`: whether a variant of a sweep uses the strong recipe's learner.
    """
    if isinstance(variant, Beyond):
        return STRONG_COST.get(game, 12.0)
    if isinstance(variant, Added):
        costs = (c for end, c in ADDED_COST.items() if variant.name.endswith(f"-{end}"))
        return next(costs, 10.0) * GAME_COST.get(game, 3.0)
    size = (0.7 + 0.003 * (variant.hidden or 100)) * (1.25 if variant.layers == 2 else 1.0)
    shape = INTERACTION_COST.get(variant.interaction, 1.0)
    shape *= SHARED_COST if variant.shared else 1.0
    if strong:
        return STRONG_COST.get(game, 12.0) / 2 * size * shape
    return COST.get(variant.model, 2.0) * size * shape * GAME_COST.get(game, 3.0)
