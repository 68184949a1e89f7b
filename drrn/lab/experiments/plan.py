"""What the experiments run: models and sizes as data, and which experiment needs which of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from drrn.errors import InputError, did_you_mean
from drrn.game.contract import Game
from drrn.lab.experiments.added import ADDED, ENCODERS, PARSED, SUITE_JOBS, SUITE_SEEDS, added_cost
from drrn.lab.experiments.beyond import BEYOND, SEEDS, beyond_cost
from drrn.lab.experiments.tuned import tuned
from drrn.lab.experiments.variants import Added, Beyond, Named, Swept, Variant, drrn
from drrn.runs.config import recommended_settings
from drrn.settings import PAPER as PAPER_SETTINGS
from drrn.settings import STRONG, Settings, recipe, settings_for

PAPER = {
    "saving-john": "Saving John",
    "machine-of-death": "Machine of Death",
}  # the paper's games: name and title
SIZES = (20, 50, 100)
LAYERED = ("per-action", "max-action", "drrn")


LINEAR = Variant("linear")
TABLE = Variant("table")
BEST = drrn()  # the paper's largest
SHARED = drrn(shared=True)
NETWORK = drrn(interaction="network")
FOUR_STEPS = drrn(n_steps=4)  # beyond the paper
BILINEAR = tuple(drrn(interaction="bilinear", action_hidden=size) for size in SIZES)
GRID = (
    LINEAR,
    *(Variant(model, layers, hidden) for model in LAYERED for layers in (1, 2) for hidden in SIZES),
)
CURVES = (BEST, drrn(1), Variant("max-action", 2, 100), Variant("per-action", 2, 100), LINEAR)
INTERACTIONS = (BEST, *BILINEAR, NETWORK)
PARAPHRASED = (*(Variant(model, 2, hidden) for model in LAYERED for hidden in SIZES), TABLE)
PAIRED = (
    BEST,
    NETWORK,
    Variant("max-action", 2, 100),
    Variant("per-action", 2, 100),
    TABLE,
)  # Q before and after
LARGEST = (
    LINEAR,
    *(Variant(model, layers, 100) for model in LAYERED for layers in (1, 2)),
    TABLE,
    FOUR_STEPS,
)

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
ON_REQUEST = (
    "encoders",
    *ADDED,
)  # experiments that must be asked for: they take long, or need what few have
VARIANTS = {variant.name: variant for variants in EXPERIMENTS.values() for variant in variants}

# How long a job takes beside DRRN 1 × 100 of The Long Watch, about, as the records of the published rows have it: it
# orders the jobs, and tells the time left until enough was measured anew.
COST = {"drrn": 1.0, "per-action": 1.7, "max-action": 4.0, "linear": 4.0, "table": 0.6}
GAME_COST = {"saving-john": 0.8, "machine-of-death": 9.0, "long-watch": 1.0, "night-market": 2.0}
INTERACTION_COST = {"bilinear": 1.4, "network": 2.2}
SHARED_COST = 1.7
USUAL_SEEDS: dict[type[Variant], int] = {
    Beyond: SEEDS
}  # that it was measured with, where they are not the defaults'

SUITE_FINAL = 4  # evaluations of a round in the last one, of a suite's game


@dataclass(frozen=True)
class Scale:
    """How much is run: all of it, or a taste."""

    seeds: int = 5
    first_seed: int = 0
    final_softmax: int = 1000  # episodes of each seed after the last round, for the tables
    final_greedy: int = 200
    beyond_seeds: int = SEEDS
    final_best: int = 1000  # of the jobs beyond the paper
    suite_seeds: int = SUITE_SEEDS
    vectors: str | None = None  # the file of word vectors, where there is one
    quick: bool = False
    given: dict[str, Any] = field(default_factory=dict)  # settings over all others

    def asked(self, variant: Variant) -> dict[str, Any]:
        """Settings that a job has whatever its own are."""
        few = QUICK_SUITE if variant in SUITE_JOBS else QUICK
        return {**(few if self.quick else {}), **self.given}

    def final(self, variant: Variant, settings: Settings | None = None) -> dict[str, int]:
        """Episodes after the last round, by policy; a suite's game has few, as its settings say."""
        if settings is not None and variant in SUITE_JOBS:
            return dict.fromkeys(
                ("softmax", "greedy", "best"), SUITE_FINAL * settings.run.evaluation_episodes
            )
        asked = {"softmax": self.final_softmax, "greedy": self.final_greedy}
        return {**asked, "best": self.final_best} if isinstance(variant, Beyond) else asked


QUICK = {"rounds": 3, "episodes_per_round": 100, "evaluation_episodes": 50}
QUICK_SUITE = {"rounds": 2, "episodes_per_round": 4, "evaluation_episodes": 2}


def variants_of(
    only: Collection[str], *, paraphrases: bool, game: str | None = None, vectors: bool = True
) -> list[Variant]:
    """What the named experiments or jobs need of a game, each once; nothing named is all that need not be asked for.
    What is none of the paper's is run on some games only, and some of it with word vectors only; no game named is any
    game."""
    for name in only:
        if name not in EXPERIMENTS and name not in VARIANTS:
            near = did_you_mean(name, [*EXPERIMENTS, *VARIANTS])
            raise InputError(
                f'no experiment is named "{name}".{near} Known: {", ".join(EXPERIMENTS)}; or a job\'s name'
            )
    asked = only or [name for name in EXPERIMENTS if name not in ON_REQUEST]
    found: list[Variant] = [VARIANTS[name] for name in asked if name in VARIANTS]
    for name in asked:
        if name in EXPERIMENTS and (paraphrases or name != "paraphrases"):
            found += EXPERIMENTS[name]
    return [variant for variant in dict.fromkeys(found) if _is_run(variant, game, vectors)]


def _is_run(variant: Variant, game: str | None, vectors: bool) -> bool:
    return not isinstance(variant, Named) or game is None or variant.suits(game, vectors=vectors)


def settings_of(game: str, variant: Variant, opened: Game, scale: Scale) -> Settings:
    """A job's settings, by precedence: those given by --set, the variant's, those tuned, those that the game
    recommends, the defaults.

    Settings given by --set are for all jobs: a model that does not use one is not refused.
    """
    if isinstance(variant, Beyond):
        return _settings_beyond(variant, opened, scale)
    asked = scale.asked(variant)
    planned = {
        **recommended_settings(opened),
        **tuned(game, variant.name),
        **variant.settings,
        **({"vectors": scale.vectors} if isinstance(variant, Added) and variant.vectors else {}),
        "replicas": scale.suite_seeds if variant in SUITE_JOBS else scale.seeds,
        "seed": scale.first_seed,
        **asked,
    }
    # A setting for all jobs is refused only if neither recipe nor this job can use it.
    unusual = {
        name: value
        for name, value in asked.items()
        if not any(each.uses(name) for each in (PAPER_SETTINGS, STRONG))
    }
    return settings_for(planned, {} if isinstance(variant, Added) else unusual)


def _settings_beyond(variant: Beyond, opened: Game, scale: Scale) -> Settings:
    """The strong recipe, under what was asked for of all jobs, under what this one takes out."""
    planned = {
        **recipe(paper=False, recommended=recommended_settings(opened)),
        **({"rounds": variant.rounds} if variant.rounds else {}),
        **({"vectors": scale.vectors} if variant.vectors else {}),
        **scale.asked(variant),
        **variant.settings,
        "replicas": scale.beyond_seeds,
        "seed": scale.first_seed,
    }
    return settings_for(planned, {})


def cost(game: str, variant: Variant) -> float:
    """How long a job with the usual rounds and seeds takes, in no unit but comparable."""
    if isinstance(variant, Beyond):
        return beyond_cost(game)
    if isinstance(variant, Added):
        return added_cost(variant) * GAME_COST.get(game, 3.0)
    size = (0.7 + 0.003 * (variant.hidden or 100)) * (1.25 if variant.layers == 2 else 1.0)
    joined = INTERACTION_COST.get(variant.interaction, 1.0) * (
        SHARED_COST if variant.shared else 1.0
    )
    if isinstance(variant, Swept) and variant.strong:
        return beyond_cost(game) / 2 * size * joined
    return COST.get(variant.model, 2.0) * size * joined * GAME_COST.get(game, 3.0)


def game_order(games: Iterable[str]) -> list[str]:
    """The paper's games first, then our own, then the parser games, then others by name."""
    known = [*PAPER, "long-watch", "night-market", *PARSED]
    return sorted(
        set(games), key=lambda game: (known.index(game) if game in known else len(known), game)
    )
