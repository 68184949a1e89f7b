"""From a run's folder back to an agent, to its game, and to a trainer that goes on."""

from __future__ import annotations

import importlib.machinery
import logging
import math
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from drrn import registry
from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.make import GameSpec
from drrn.game.optional import another, fingerprint_of
from drrn.models import build_model
from drrn.settings import Settings
from drrn.text import Store
from drrn.runs import hashes, tensor_file
from drrn.runs.agent import Agent, shape_of, torch_device
from drrn.runs.limits import check_memory
from drrn.runs.record import WEIGHTS, WORDS, Run, read_json
from drrn.runs.train import Trainer
from drrn.vectors import open_vectors

log = logging.getLogger("drrn")

NAMED = (*registry.GROUPS, "action_encoder", "sentences")  # settings that may name a module
GAME_SOURCE = "game"  # so may the game
# The types of what config.json says.
WORD = (str,)
NAME = (str, type(None))
OF_RUN = {"folder": NAME, "recipe": NAME, "most_actions": (int,), "vectors": (dict, type(None)), "versions": (dict,)}
OF_GAME = {
    "source": NAME, "title": WORD, "sha256": WORD, "encoding": NAME, "engine": NAME, "folder": NAME,
    "paraphrased": (bool, str), "history": (int,), "lenient": (bool,), "shuffle": (bool,), "outside": (bool,),
    "by_name": (bool,),
}  # fmt: skip


def load_agent(folder: Path, device: str = "cpu") -> Agent:
    """The agent that a run's folder holds."""
    config = read_config(folder)
    settings = Settings.from_flat(config["settings"])
    _check_vectors(folder, config)
    store = _store(folder, settings)
    Run(folder).check("config.json", WORDS, WEIGHTS)
    check_memory(settings, store)
    shape = shape_of(settings, config["most_actions"])
    model = build_model(settings.model.name, shape, store, settings.run.seeds, torch_device(device))
    path = folder / WEIGHTS
    arrays, metadata = tensor_file.load(path)
    tensor_file.check_finite(path, arrays, hashes.cure(folder, WEIGHTS))
    if metadata.get("game", config["game"]["sha256"]) != config["game"]["sha256"]:
        raise InputError(f"{path}: it holds the weights of another game")
    model.restore(arrays, str(path))
    return Agent(model, settings, _scales(folder, settings), lambda: config)


def resumed(
    folder: Path,
    game: Game | None = None,
    recipe: GameSpec | None = None,
    *,
    device: str = "cpu",
    changes: Mapping[str, Any] | None = None,
    **options: Any,
) -> Trainer:
    """A trainer that stands where the run's last finished round left it; `options` are those of `Trainer`.

    The game is opened as it was then; one that is given is used instead, with its recipe if a name opened it.
    `changes` are settings that may be others than they were, such as the number of rounds.
    """
    config = read_config(folder)
    run = Run(folder)
    if not (folder / "evaluations.csv").exists() and (folder / WORDS).exists():
        raise InputError(f"{folder}: an agent is kept here without the run that it came of: it can play, not go on")
    run.check_whole()
    by_name = config["game"].get("by_name", True)
    if game is None:
        recipe = recipe_of_run(folder, config)
        game = recipe.open()
    elif by_name and recipe is None and another(game) is None:
        raise InputError(f"{folder}: the run opened its game by its name, in many copies: leave the game out")
    if config["game"]["sha256"] != fingerprint_of(game):
        raise InputError(f"{folder}: the game has changed since this run began: begin a new run")
    _check_vectors(folder, config)
    before = Settings.from_flat(config["settings"])
    settings = before.replace(**(changes or {}))
    trainer = Trainer(game, settings, torch_device(device), recipe=recipe if by_name else None, **options)
    run.resume(trainer)
    _check_rounds_to_come(folder, before, trainer)
    trainer.folder = folder.resolve()
    trainer.home = config.get("folder") or trainer.home
    trainer.settings_from = config.get("recipe")
    return trainer


def _check_rounds_to_come(folder: Path, before: Settings, trainer: Trainer) -> None:
    """Refuse fewer rounds than are done; say where the rounds that are done had other schedules than the new number of
    rounds gives them, since then a run of so many from its beginning has other numbers."""
    rounds = trainer.settings.run.rounds
    done = trainer.round
    if rounds < done:
        raise InputError(f"{folder}: the run has finished {done} rounds: go on with more than that, not with {rounds}")
    if moved := rescheduled(before, trainer.settings, done):
        log.warning(
            "%s: %s %s on the number of rounds, which was %d until now: the results will differ from those of a run "
            "that has %d rounds from its beginning",
            folder, ", ".join(moved), "depends" if len(moved) == 1 else "depend", before.run.rounds, rounds,
        )  # fmt: skip


def rescheduled(before: Settings, after: Settings, done: int) -> list[str]:
    """The settings whose schedule was another one, in a round that is done, than it is now."""
    schedules = {"alpha_start": "alpha_at", "rate_end": "learning_rate_at", "optimism_share": "explores_at"}
    rounds = range(1, done + 1)
    return [
        name
        for name, at in schedules.items()
        if any(getattr(before, at)(number) != getattr(after, at)(number) for number in rounds)
    ]


def game_of(folder: Path, **choices: Any) -> Game:
    """The game that a run learned, opened as it was then; `choices` are of `make`."""
    return replace(recipe_of_run(folder, read_config(folder)), **choices).open()


def recipe_of_run(folder: Path, config: Mapping[str, Any]) -> GameSpec:
    """How a run's game is opened again."""
    kept = config["game"]
    if kept["source"] is None:
        raise InputError(
            f'{folder}: its game, "{kept["title"]}", was given as an object, and no name opens it: in Python, '
            "drrn.resume(run, game) goes on with it; drrn evaluate takes another by --game"
        )
    known = {f.name: kept[f.name] for f in fields(GameSpec) if f.name in kept}
    return GameSpec(**{"outside": True, **known})  # a run that says nothing of it is older than the question


def read_config(folder: Path) -> dict[str, Any]:
    """What a run's folder says of itself."""
    path = folder / "config.json"
    found: dict[str, Any] = read_json(path, f"{folder}: no run is here: there is no config.json")
    try:
        Settings.from_flat(found["settings"])
        for name in ("source", "lenient", "encoding", "sha256", "title"):
            found["game"][name]
        found["most_actions"]
        _check_kinds(found, OF_RUN)
        _check_kinds(found["game"], OF_GAME)
    except (KeyError, TypeError, InputError) as error:
        raise InputError(f"{path}: not the settings of a run: {error}") from error
    named = modules_named(found)
    _refuse_modules_inside(folder, named, found.get("folder"))
    begun_in = found.get("folder")
    if begun_in and set(named) - {GAME_SOURCE} and not _is_inside(Path(begun_in), folder):
        registry.add_folder(begun_in)  # a model of one's own may be a module of the folder that it was begun in
    return found


def _check_kinds(entry: Mapping[str, Any], kinds: Mapping[str, tuple[type, ...]]) -> None:
    """Refuse a value of another type than a run writes."""
    for name, value in entry.items():
        if name in kinds and type(value) not in kinds[name]:
            raise TypeError(f'"{name}" is {value!r:.40}')
    if isinstance(count := entry.get("most_actions"), int) and not 1 <= count < 2**31:
        raise TypeError(f'"most_actions" is {count}')


def modules_named(config: Mapping[str, Any]) -> dict[str, str]:
    """What a run names as module:name, by the setting; it is imported from where the user keeps it."""
    names = {**config["settings"], GAME_SOURCE: config["game"]["source"]}
    return {kind: str(names[kind]) for kind in (*NAMED, GAME_SOURCE) if registry.is_object(str(names.get(kind)))}


def _refuse_modules_inside(folder: Path, named: Mapping[str, str], begun_in: str | None) -> None:
    """Loading a run never runs code that came with it: a module that stands in the run's own folder is refused."""
    path = [*sys.path, str(Path.cwd()), *([begun_in] if isinstance(begun_in, str) else [])]
    for kind, name in named.items():
        if any(_is_inside(Path(place), folder) for place in _places(name.partition(":")[0], path)):
            raise InputError(
                f"{folder}: its {kind}, {name}, is a module in the run's own folder, and nothing there is ever run: "
                "if you trust it, put it into a folder of its own and give that in PYTHONPATH"
            )


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _places(module: str, path: list[str]) -> Iterator[str]:
    """The files and folders that a module, and each package that it is part of, would be imported from."""
    importlib.invalidate_caches()  # a file may be younger than the last look
    parts = module.split(".")
    within = path
    for count in range(1, len(parts) + 1):
        found = list(_specs(".".join(parts[:count]), within))
        within = [place for spec in found for place in spec.submodule_search_locations or ()]
        yield from (spec.origin for spec in found if spec.origin)
        yield from within


def _specs(name: str, path: list[str]) -> Iterator[importlib.machinery.ModuleSpec]:
    """What of the path an import of this name would look at: a module ends the search, parts of a package without
    `__init__.py` do not. Python's own `find_spec` would import the packages above it."""
    for entry in path:
        finder: Any = pkgutil.get_importer(entry or ".")
        spec = finder.find_spec(name) if finder else None
        if spec is not None:
            yield spec
            if spec.loader is not None:
                return


def _check_vectors(folder: Path, config: Mapping[str, Any]) -> None:
    """Refuse word vectors that are gone, or not those of the run."""
    kept = config.get("vectors")
    path = config["settings"].get("vectors")
    if not kept or not path:
        return
    if not Path(path).exists():
        cure = f'put it back, or write where it is now into "vectors" of {folder / "config.json"}'
        raise InputError(f"{path}: the run {folder} reads word vectors from this file, and it is not there: {cure}")
    if open_vectors(path).digest != kept.get("sha256"):
        cure = "put back the file of that time, or begin a new run"
        raise InputError(f"{path}: the run {folder} was begun with other word vectors than are in it now: {cure}")


def _scales(folder: Path, settings: Settings) -> list[float] | None:
    """What rewards were multiplied by, where α is relative to their spread."""
    if not settings.exploration.alpha_relative:
        return None
    path = folder / "vocabulary.json"
    try:
        scales = [float(scale) for scale in read_json(path, "")["reward_scales"]]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: it lacks the reward_scales of the run: {error}") from error
    if len(scales) != settings.run.replicas or not all(0 < scale < math.inf for scale in scales):
        raise InputError(f"{path}: reward_scales must be {settings.run.replicas} numbers above 0")
    return scales


def _store(folder: Path, settings: Settings) -> Store:
    """The words that the agent knows; and the texts, where its weights belong to texts."""
    path = folder / "vocabulary.json"
    vocabulary = read_json(path, f"{folder}: the run has not finished a round yet")
    try:
        store = Store.of_words(vocabulary["states"], vocabulary["actions"], shared=settings.model.shared)
        for side, texts in store.sides.items():
            if "text_keys" in vocabulary:
                texts.restore_keys(vocabulary["text_keys"][side])
            elif settings.model.name == "table":  # of a run before texts had keys
                for text in vocabulary["texts"][side]:
                    texts.id(text)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path}: not the words of a run: {error}") from error
    return store
