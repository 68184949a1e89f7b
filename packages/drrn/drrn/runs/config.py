"""config.json of a run: the game, the settings and the versions.

A run may name Python modules, such as a model of the user's. They are imported only if the user
trusts them, and folders in config.json are used only if the run was started on this machine.
"""

import platform
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from drrn.runs.storage import CONFIG, DAMAGE, HASHES, check_files, read_json
from drrn.settings import Flat, Settings, recipe, settings_for
from textgames import registry
from textgames.errors import InputError
from textgames.game.contract import Game, fingerprint_of, sources_of, title_of, training_of
from textgames.openers import GameSpec, spec_of
from textgames.version import __version__

CODE_SETTINGS = ("model", "interaction", "encoder", "action_encoder", "learner", "sentences")
GAME_SOURCE = "game"  # may be `module:name`, as well
# The paper's games by title: its α; it gives no number of epochs, so these were chosen on seeds
# from 1,000, which no reported run uses.
PAPER_GAMES: dict[str, dict[str, Any]] = {
    "Saving John": {"alpha": 0.2, "epochs": 3},
    "Machine of Death": {"alpha": 1.0, "epochs": 1},
}


def recommended_settings(game: Game) -> dict[str, Any]:
    """The settings recommended for a game, for every model.

    They come from the game itself, or from the paper for its games. The rewards of a game that
    cannot be compiled are not known in advance, so there α is relative to their spread, unless the
    game recommends an α.
    """
    from textgames.compiled.compile import can_be_compiled

    settings = {**PAPER_GAMES.get(title_of(game), {}), **training_of(game)}
    if "alpha" in settings or can_be_compiled(game):
        return settings
    return {"alpha_relative": True, **settings}


def settings_for_game(
    game: Game, given: Flat, *, paper: bool = False, base: Flat | None = None
) -> Settings:
    """The settings of a new run.

    Args:
        game: The game to learn.
        given: Settings that the user gives, by name. One without an effect is refused.
        paper: Whether to start from the paper's settings instead of the strong recipe.
        base: Settings of another run, which count more than the recipe and less than `given`.
    """
    base = base or {}
    registry.trust(*(str(given[name]) for name in CODE_SETTINGS if name in given))
    recommended = recommended_settings(game)
    defaults = recipe(paper=paper, recommended=recommended, given={**base, **given})
    settings = settings_for({**defaults, **base}, given)
    for name in CODE_SETTINGS:
        for code in registry.names_in(settings.flat()[name]):
            registry.check_trust(code, name)
    return replace(settings, given=frozenset({**base, **given}))


def versions() -> dict[str, str]:
    """The versions of the packages that affect results."""
    from importlib import metadata

    packages = {name: metadata.version(name) for name in ("numpy", "torch")}
    return {"drrn": __version__, "python": platform.python_version(), **packages}


def game_entry(game: Game, spec: GameSpec | None) -> dict[str, Any]:
    """The game's entry in config.json. A game that was given as an object has no source."""
    opened_by = spec or spec_of(game)
    missing = {"source": None, "lenient": False, "encoding": None}
    entry = asdict(opened_by) if opened_by else missing
    entry |= {"by_name": spec is not None, "title": title_of(game), "sha256": fingerprint_of(game)}
    return {**entry, **sources_of(game)}


def missing_text(folder: Path) -> str:
    """The error for a folder that is not a run."""
    what = f"not a run, since it has no {CONFIG}" if folder.is_dir() else "no such folder"
    return f"{folder}: {what}; drrn runs lists your runs"


def read_config(folder: Path) -> dict[str, Any]:
    """Read the config.json of a run, and check it against the manifest."""
    path = folder / CONFIG
    config: dict[str, Any] = read_json(path, missing_text(folder))
    check_files(folder, CONFIG)
    try:
        Settings.from_flat(config["settings"])
        _apply_trust(config)
    except (*DAMAGE, InputError) as error:  # of a stranger's run
        raise InputError(f"{path}: not the settings of a run: {error}") from error
    return config


def spec_from(folder: Path, config: Mapping[str, Any]) -> GameSpec:
    """The spec that opens the game of a run again."""
    entry = config["game"]
    if entry["source"] is None:
        cause = f'its game "{entry["title"]}" was given as an object, and no name opens it'
        cure = "resume it in Python with drrn.resume(run, game), or name a --game"
        raise InputError(f"{folder}: {cause}; {cure}")
    return GameSpec(**{f.name: entry[f.name] for f in fields(GameSpec) if f.name in entry})


def check_vectors(folder: Path, config: Mapping[str, Any]) -> None:
    """Check that the word vectors and the sentence model of a run exist and are unchanged."""
    from drrn.sentences import open_sentences
    from drrn.vectors import open_vectors

    openers: dict[str, Any] = {"vectors": open_vectors, "sentences": open_sentences}
    for name, opener in openers.items():
        source = config["settings"].get(name)
        digest = config.get(name, {}).get("sha256")
        if source and name == "vectors" and not Path(source).exists():
            cause = f"missing, and the run {folder} needs it"
            cure = f'restore it, or correct "{name}" in {CONFIG} and delete {HASHES}'
            raise InputError(f"{source}: {cause}; {cure}")
        if source and digest and opener(source).digest != digest:
            cause = f"not the {name} that the run {folder} was started with"
            raise InputError(f"{source}: {cause}; restore them, or start a new run")


# --- modules that a run names


def modules_in(config: Mapping[str, Any]) -> dict[str, str]:
    """What a run names as `module:name`, by setting."""
    names = {**config["settings"], GAME_SOURCE: config["game"]["source"]}
    kinds = (*CODE_SETTINGS, GAME_SOURCE)
    return {kind: str(names[kind]) for kind in kinds if registry.names_in(names.get(kind))}


def record_start(config: Mapping[str, Any]) -> None:
    """Record that the user started this run, so that its own modules can be imported later."""
    if modules_in(config):
        registry.record_run(_origin(config))


def _apply_trust(config: dict[str, Any]) -> None:
    """Trust the modules of a run that was started here.

    Of any other run, the folders that it names are dropped.
    """
    modules = modules_in(config)
    if not modules:
        return
    if registry.is_recorded(_origin(config)):
        registry.trust(*modules.values())
        if config.get("folder"):  # a user's model may be a module in the folder of the command
            registry.add_folder(config["folder"])
    else:
        config["folder"] = None
        config["game"]["folder"] = None


def _origin(config: Mapping[str, Any]) -> list[Any]:
    """What a run would import, and from where."""
    game = config["game"]
    return [modules_in(config), config.get("folder"), game.get("folder"), game["sha256"]]
