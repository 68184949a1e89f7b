"""The plan of the experiments: which models are trained on which games, and with which settings.

A variant is one row of a table. It is trained once for each game, with all seeds at once: that is a
job. An experiment is a tuple of variants; variants that several experiments share are trained once.
Variants of the paper are listed here, others in plan.toml, and example states in examples.toml.
"""

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from drrn.runs.config import recommended_settings
from drrn.settings import PAPER as PAPER_SETTINGS
from drrn.settings import STRONG, Settings, recipe, settings_for
from storytest.twine.paraphrases import DEFAULT_SET
from textgames.declaration import without_none
from textgames.errors import InputError, did_you_mean
from textgames.files import read_toml
from textgames.game.contract import Game, step_limit_of
from textsuites.protocols import protocols

REWORDED = "reworded"  # the set of paraphrases that share no word with the original
WORDINGS = (DEFAULT_SET, REWORDED, "retold")  # sets of a game in other words
PLAN = read_toml(Path(__file__).with_name("plan.toml"))

# --- Variants

SHAPE = ("model", "layers", "hidden", "interaction", "action_hidden", "shared", "n_steps")


@dataclass(frozen=True)
class Variant:
    """A model of the paper and its size, or an agent that is described by changed settings.

    The models linear and table have no layers. The game may recommend a size that is None.
    """

    model: str = "drrn"
    layers: int | None = None
    hidden: int | None = None
    interaction: str = "inner"
    action_hidden: int | None = None
    shared: bool = False
    n_steps: int = 1
    # Of variants that are not in the paper:
    group: str = "paper"  # or the experiment that it belongs to
    job: str = ""  # its name
    label: str = ""  # its name in a table
    changes: dict[str, Any] = field(default_factory=dict, hash=False)  # settings, by flat name
    games: Sequence[str] = field(default=(), hash=False)  # patterns of names; empty: all games
    vectors: bool = False  # whether it needs word vectors
    strong: bool = False  # whether it has the strong recipe in a parser game, too
    source: str = ""  # the game that is played, if not the one that the results are of
    first_weights: float = 1.0  # factor on the first weights
    biases: float = 0.0  # first biases are random in ± this

    @property
    def name(self) -> str:
        if self.job:
            return self.job
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
        names = SHAPE[:3] if self.job else SHAPE
        shape = {name: getattr(self, name) for name in names}
        sizes = {name: value for name, value in shape.items() if value is not None}
        return {**sizes, **without_none(self.changes)}

    @property
    def policies(self) -> tuple[str, str]:
        """The policies that are recorded after each round."""
        return ("softmax", "best" if self.group in ("beyond", "sweep", "published") else "greedy")

    @property
    def paraphrase_sets(self) -> tuple[str, ...]:
        """The paraphrases that are played after the last round."""
        sets = {"sweep": (), "reading": (), "beyond": (DEFAULT_SET, REWORDED)}
        return sets.get(self.group, (DEFAULT_SET,))

    def columns(self, settings: Settings) -> dict[str, Any]:
        """The cells that describe the model in each row of its results."""
        values = settings.flat() if self.job else vars(self)
        return {name: values[name] for name in SHAPE}

    def suits(self, game: str, *, vectors: bool) -> bool:
        """Whether it is trained on a game, with or without word vectors."""
        matches = not self.games or any(fnmatchcase(game, pattern) for pattern in self.games)
        return matches and (vectors or not self.vectors)


# --- The paper's variants

PAPER = {"saving-john": "Saving John", "machine-of-death": "Machine of Death"}  # names, titles
SIZES = (20, 50, 100)
LAYERED = ("per-action", "max-action", "drrn")

LINEAR = Variant("linear")
TABLE = Variant("table")
BEST = Variant("drrn", 2, 100)  # the paper's largest
SHARED = Variant("drrn", 2, 100, shared=True)
NETWORK = Variant("drrn", 2, 100, "network")
FOUR_STEPS = Variant("drrn", 2, 100, n_steps=4)  # not in the paper
BILINEAR = tuple(Variant("drrn", 2, 100, "bilinear", size) for size in SIZES)
LARGE = (Variant("max-action", 2, 100), Variant("per-action", 2, 100))
LAYERED_GRID = tuple(itertools.starmap(Variant, itertools.product(LAYERED, (1, 2), SIZES)))
GRID = (LINEAR, *LAYERED_GRID)
CURVES = (BEST, Variant("drrn", 1, 100), *LARGE, LINEAR)
INTERACTIONS = (BEST, *BILINEAR, NETWORK)
PARAPHRASED = (*(each for each in LAYERED_GRID if each.layers == 2), TABLE)
PAIRED = (BEST, NETWORK, *LARGE, TABLE)  # Q-values are recorded before and after paraphrasing
COMPARED = (LINEAR, *(each for each in LAYERED_GRID if each.hidden == 100))
LARGEST = (*COMPARED, TABLE, FOUR_STEPS)

# --- Other variants


def published_job(game: str) -> str:
    """The name of the job of a protocol's game."""
    return f"published-{game}"


PROTOCOLS = {published_job(each.slug): each for each in protocols()}
PUBLISHED = tuple(
    Variant(
        group="published",
        job=job,
        label=each.game,
        changes=each.training,
        games=[each.slug],
        strong=True,
    )
    for job, each in PROTOCOLS.items()
)
READERS = {n: Variant(group="reading", job=f"reading-{n}", **v) for n, v in PLAN["readers"].items()}
# The models of 100 units after different numbers of epochs, and so of updates.
UPDATES = tuple(
    replace(
        variant,
        group="updates",
        job=f"updates-{epochs}-{variant.name}",
        changes={"epochs": epochs},
        games=[game for game, numbers in PLAN["updates"].items() if epochs in numbers],
    )
    for epochs in sorted({*itertools.chain(*PLAN["updates"].values())})
    for variant in COMPARED
)
GROUPS: dict[str, tuple[Variant, ...]] = {
    "beyond": (),
    "choices": (),
    "encoders": (),
    "parser": (),
    "diagnostics": (),
    "arena": (),
    "reading": tuple(READERS.values()),
    "published": PUBLISHED,
    "updates": UPDATES,
}
for _entry in PLAN["job"]:
    if _entry["group"] not in GROUPS:
        names = ", ".join(GROUPS)
        raise InputError(
            f'plan.toml: no experiment is named "{_entry["group"]}"; choose from {names}'
        )
    GROUPS[_entry["group"]] += (Variant(**_entry),)
BEYOND = GROUPS["beyond"]
STRONG_JOB, LONG, VECTORS, *ABLATIONS = BEYOND
CHOICES = GROUPS["choices"]
MEMORY = CHOICES[0]
ENCODERS = GROUPS["encoders"]
ENCODED = ("machine-of-death", "saving-john")  # the games of encoders, unless others are named
PARSERS = GROUPS["parser"]
PARSED = ("home-world", "comet-house")
BAGS = (READERS["bag"], READERS["bag-12000"])  # these recall other words
READ = ("long-watch", "night-market", "home-world")  # their games
RECALLED: list[str] = PLAN["recall"]  # sentence models
LEVEL = 2  # of the published diagnostics; settings are chosen on levels 1 and 3

# --- Experiments

PARTS: dict[str, tuple[Variant, ...]] = {
    "statistics": (),
    "scores": GRID,
    "curves": CURVES,
    "shared": (BEST, SHARED),
    "interactions": INTERACTIONS,
    "paraphrases": (*PARAPHRASED, NETWORK),
    "examples": (BEST,),
    "embeddings": (BEST,),
    "gaps": LARGEST,
}
OF_PAPER = {**PARTS, "choices": CHOICES, "updates": UPDATES}
ADDED = {name: GROUPS[name] for name in GROUPS if name not in ("beyond", "choices", "updates")}
EXPERIMENTS: dict[str, tuple[Variant, ...]] = {
    **PARTS,
    "beyond": BEYOND,
    "choices": CHOICES,
    "updates": UPDATES,
    "paper": tuple(dict.fromkeys(itertools.chain(*OF_PAPER.values()))),
    **ADDED,
    "encoders": (BEST, *ENCODERS),
}
ON_REQUEST = tuple(EXPERIMENTS)[len(PARTS) + 1 :]  # run only if named: they take long
VARIANTS = {variant.name: variant for variants in EXPERIMENTS.values() for variant in variants}


def variants_of(
    only: Collection[str], *, paraphrases: bool, game: str | None = None, vectors: bool = True
) -> list[Variant]:
    """The variants that experiments need, each once.

    Args:
        only: Names of experiments or of variants; empty: all experiments but those on request.
        paraphrases: Whether the game has paraphrases.
        game: Leaves out variants that are not trained on this game.
        vectors: Whether there are word vectors; otherwise variants that need them are left out.

    Raises:
        InputError: A name is unknown.
    """
    for name in only:
        if name not in EXPERIMENTS and name not in VARIANTS:
            near = did_you_mean(name, [*EXPERIMENTS, *VARIANTS])
            choices = f"Choose from {', '.join(EXPERIMENTS)}; or name a job"
            raise InputError(f'no experiment is named "{name}".{near} {choices}')
    names = only or [name for name in EXPERIMENTS if name not in ON_REQUEST]
    variants = [VARIANTS[name] for name in names if name in VARIANTS]
    for name in names:
        if name in EXPERIMENTS and (paraphrases or name != "paraphrases"):
            variants += EXPERIMENTS[name]
    each_once = dict.fromkeys(variants)
    return [each for each in each_once if game is None or each.suits(game, vectors=vectors)]


def game_order(games: Iterable[str]) -> list[str]:
    """Sort games: the paper's, the built-in stories, the parser games, then others by name."""
    first = [*PAPER, "long-watch", "night-market", *PARSED]
    rank = {name: index for index, name in enumerate(first)}
    return sorted(set(games), key=lambda game: (rank.get(game, len(first)), game))


# --- Settings

# Numbers of seeds, if not the paper's 5. Settings were chosen on seeds from 1,000.
SEEDS = {"beyond": 10, "choices": 10}
PAPER_SEEDS = {"saving-john": 10, "machine-of-death": 20}
CHOOSING = 1_000  # the first seed of "updates", by which the number of epochs is chosen
FINAL = {"softmax": 1000, "greedy": 200, "best": 1000}  # episodes of a seed after the last round
QUICK = {"rounds": 3, "episodes_per_round": 100, "evaluation_episodes": 50}
QUICK_FINAL = {"softmax": 100, "greedy": 50, "best": 50}


@dataclass(frozen=True)
class Scale:
    """How much is trained and measured."""

    seeds: int | None = None  # None: as planned
    first_seed: int = 0
    vectors: str | None = None  # path of the word vectors
    quick: bool = False
    overrides: dict[str, Any] = field(default_factory=dict)  # settings of all jobs

    def final(self, variant: Variant) -> dict[str, int]:
        """The number of episodes after the last round, by policy."""
        if variant.group == "published":
            episodes = 2 if self.quick else PROTOCOLS[variant.job].episodes
            return dict.fromkeys(FINAL, episodes)
        final = dict(QUICK_FINAL if self.quick else FINAL)
        if variant.group != "beyond":
            del final["best"]
        return final


def settings_of(name: str, variant: Variant, game: Game, scale: Scale) -> Settings:
    """A job's settings.

    By precedence: the variant's settings, settings of all jobs (`--set`), tuned ones, those of the
    recipe and of the game. A setting of all jobs may have no effect on some of them.
    """
    common = {**(QUICK if scale.quick else {}), **scale.overrides}
    paper = not variant.strong and (variant.group not in ("beyond", "reading") or name in PARSED)
    settings = recipe(paper=paper, recommended=recommended_settings(game))
    for entry in PLAN["tuned"]:
        is_named = fnmatchcase(variant.name, entry.get("jobs", "*"))
        is_named &= variant.group in entry.get("groups", [variant.group])
        if is_named and fnmatchcase(name, entry["games"]):
            settings |= entry["settings"]
    settings |= {"vectors": scale.vectors} if variant.vectors else {}
    settings.pop("survey", None)  # the published jobs name all their settings
    settings |= {**common, **variant.settings, "seed": scale.first_seed}
    if scale.quick and variant.group == "published":
        settings |= {"rounds": 2, "interactions": 4 * step_limit_of(game), "evaluation_episodes": 2}
    protocol = PROTOCOLS.get(variant.job)
    seeds = protocol.seeds if protocol else SEEDS.get(variant.group, PAPER_SETTINGS.run.replicas)
    if variant.group == "paper":
        seeds = PAPER_SEEDS.get(name, seeds)
    settings["replicas"] = scale.seeds or seeds
    settings["seed"] += CHOOSING * (variant.group == "updates")
    if variant.job:
        return settings_for(settings, {})
    # A setting of all jobs is refused only if neither recipe nor this job uses it.
    recipes = (PAPER_SETTINGS, STRONG)
    unusual = {n: value for n, value in common.items() if not any(r.uses(n) for r in recipes)}
    return settings_for(settings, unusual)


def cost(game: str, variant: Variant, settings: Settings) -> float:
    """The approximate duration of a job, in seconds of one core."""
    costs = PLAN["cost"]
    matches = (n for pattern, n in costs["jobs"].items() if fnmatchcase(variant.name, pattern))
    factor: float = costs["games"].get(game, 3.0) * next(matches, 1.0)
    size = (2 + settings.model.layers) * (200 + settings.model.hidden)
    passes = (1 + settings.learner.epochs) / 2 * settings.run.replicas
    episodes = settings.run.rounds * settings.run.episodes_per_round
    seconds: float = costs["second"] * factor * size * episodes * passes
    return seconds


# --- The states whose Q-values are reported

Text = dict[str, Any]  # a text of a game: its "mark", and its "gloss": its meaning in our own words


@dataclass(frozen=True)
class Example:
    """A state with actions of the game, and made-up ones by kind."""

    game: str
    state: Text
    actions: list[Text]  # with the "role" good, poor or other, and with Q in the "paper"
    made_up: dict[str, list[str]] = field(default_factory=dict)  # by us, for our stories
    printed: dict[str, float] = field(default_factory=dict)  # Q in the paper, by kind
    embedding: bool = False  # whether its embeddings are recorded during training

    def role(self, role: str) -> Text:
        return next(action for action in self.actions if action["role"] == role)


_EXAMPLES = read_toml(Path(__file__).with_name("examples.toml"))["example"]
EXAMPLES = [Example(**entry) for entry in _EXAMPLES]


def examples_of(game: str) -> list[Example]:
    return [example for example in EXAMPLES if example.game == game]
