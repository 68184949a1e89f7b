"""`make`: from a name, a path or `module:factory` to a game, with a `Recipe` by which it can be made again."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from drrn import registry
from drrn.errors import InputError, did_you_mean
from drrn.games.authors import place
from drrn.games.authors.text_world import ORIGINAL, open_original
from drrn.games.contract import Game, looks_like_a_game
from drrn.games.gymnasium_game import GymnasiumGame, is_environment
from drrn.games.history import with_history
from drrn.games.open_story import ENGINES, INK, StoryOptions, open_story
from drrn.games.stories.reading import HTML, TWEE
from drrn.games.suites import is_suite_toml, lasting_suite_name, names_a_suite, open_suite
from drrn.games.worlds.names import WORLDS, open_world

BUILT_IN = ("long-watch", "night-market")  # stories; the first is the default
RECIPE = "_drrn_recipe"  # the attribute that `make` leaves on a game


@dataclass(frozen=True)
class Recipe:
    """What `make` was asked for, in names that hold in every folder and process."""

    source: str
    shuffle: bool = True
    paraphrased: bool | str = False  # or the name of a set of paraphrases
    lenient: bool = False
    encoding: str | None = None
    engine: str | None = None  # of a Twine story: native or hosted
    folder: str | None = None  # where to look for the module of a `module:factory` that is not installed
    history: int = 0  # pages before that a page's text tells, too
    outside: bool = False  # whether a TOML may name files outside its folder

    def open(self) -> Game:
        """The game, made anew."""
        game = _opened(self)
        with contextlib.suppress(AttributeError):  # a class with slots: whoever opened it has the recipe
            setattr(game, RECIPE, self)
        return with_history(game, self.history)


def make(
    name_or_path: str | Path,
    *,
    shuffle: bool = True,
    paraphrased: bool | str = False,
    lenient: bool = False,
    encoding: str | None = None,
    engine: str | None = None,
    folder: str | Path | None = None,
    outside: bool = False,
) -> Game:
    """Open a game by its name, the path of a story, or `module:factory`.

    A name is that of a built-in game, of one that was added, or of one that an installed package registers. A path is
    that of a Twee file or a folder of them, a published Twine page, compiled Ink, or the TOML beside a story. A game of
    a suite is `twx:coin`, `jericho:PATH` and so on, or a TOML that names one. A factory is a class or function that
    returns a game when called without arguments.

    - `shuffle`: show the actions in a new random order each time.
    - `paraphrased`: show the actions in other words; a name chooses among the game's sets of paraphrases.
    - `lenient`: skip what is not supported instead of refusing the story.
    - `encoding`: of the story file, if it is not UTF-8.
    - `engine`: play a Twine story by our own interpreter ("native") or by the engine in its file ("hosted").
    - `folder`: where to look for a module that is not installed (default: the current folder).
    - `outside`: allow a TOML to name a story and paraphrases outside its own folder.
    """
    options = {"shuffle": shuffle, "paraphrased": paraphrased, "lenient": lenient, "encoding": encoding}
    options |= {"engine": engine, "outside": outside}
    return recipe_for(name_or_path, folder=folder, **options).open()


def recipe_for(name_or_path: str | Path, *, folder: str | Path | None = None, **options: Any) -> Recipe:
    """What `make` is asked for, in names that hold in every folder; the options are those of `make`."""
    name = str(name_or_path)
    if options.get("engine") not in (None, *ENGINES):
        raise InputError(f"engine {options['engine']!r}: name one of {', '.join(ENGINES)}")
    where = str(Path(folder or ".").resolve()) if _is_module(name) else None
    source = lasting_name(name) if _is_there(name) or _is_name(name) else name  # what is neither is refused
    return Recipe(source, folder=where, **options)


def recipe_of(game: Game) -> Recipe | None:
    """What the game was made by; None where it was not made by `make`."""
    found = getattr(game, RECIPE, None)
    return found if isinstance(found, Recipe) else None


def as_game(thing: Any) -> Game:
    """A game from a name or path, from a Gymnasium environment of texts, or from what is a game already."""
    if isinstance(thing, (str, Path)):
        return make(thing)
    if is_environment(thing):
        return GymnasiumGame(thing)
    if looks_like_a_game(thing):
        return _named(thing, type(thing).__name__)
    if isinstance(thing, type):
        raise InputError(f"{thing.__name__} is a class: give an object of it, {thing.__name__}()")
    raise InputError(
        f"a {type(thing).__name__} is no game: give a name, a path, a Gymnasium environment, or an object with {OWED}"
    )


def opened_game(thing: Any) -> tuple[Game, Recipe | None]:
    """A game, and how it was opened if a name was given: an object that was given may not be what its name opens."""
    if not isinstance(thing, (str, Path)):
        return as_game(thing), None
    recipe = recipe_for(thing)
    return recipe.open(), recipe


def lasting_name(name: str) -> str:
    """What `make` opens by this name, from whatever folder: a path is kept whole."""
    if _is_suite(name):
        return lasting_suite_name(name)
    return name if _is_name(name) else str(Path(name).resolve())


OWED = "a name, reset(seed) and step(index)"


def _opened(recipe: Recipe) -> Game:
    name = recipe.source
    if name in (*WORLDS, ORIGINAL):
        return _world(recipe)
    if _is_suite(name) or is_suite_toml(name):
        _refuse_options_of_stories(recipe)
        return open_suite(name)
    if _is_module(name) or (name not in (*BUILT_IN, *place.NAMES) and _is_name(name)):
        return _made(recipe)
    return _story(recipe)


def _world(recipe: Recipe) -> Game:
    refused = {"paraphrased": recipe.paraphrased, "encoding": recipe.encoding, "engine": recipe.engine}
    for option, given in refused.items():
        if given:
            raise InputError(f"{recipe.source}: {option} is for stories, and this is a world of commands: leave it out")
    if recipe.source == ORIGINAL:
        return open_original(shuffle=recipe.shuffle)
    return open_world(recipe.source, shuffle=recipe.shuffle)


def _made(recipe: Recipe) -> Game:
    """The game that a factory of the user's returns; what goes wrong in it is told in a sentence."""
    name = recipe.source
    _refuse_options_of_stories(recipe)
    factory = registry.resolve("game", name, {}, recipe.folder)
    if not callable(factory):
        raise InputError(f"{name}: it is a {type(factory).__name__}: name a class or a function that returns a game")
    try:
        thing = factory()
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        what = f"called without arguments, it raised {type(error).__name__}: {error}"
        raise InputError(f"{name}: {what}: name a factory that needs none, or mend its code") from error
    if is_environment(thing):
        return GymnasiumGame(thing)
    if not looks_like_a_game(thing):
        raise InputError(f"{name}: it returned a {type(thing).__name__}, which is no game: a game has {OWED}")
    return _named(thing, name)


def _refuse_options_of_stories(recipe: Recipe) -> None:
    refused = {"paraphrased": recipe.paraphrased, "encoding": recipe.encoding, "no shuffling": not recipe.shuffle}
    refused["engine"] = recipe.engine
    for option, given in refused.items():
        if given:
            what = "is of a suite" if _is_suite(recipe.source) else "is made by Python code"
            raise InputError(f"{recipe.source}: {option} is for stories, and this game {what}: leave it out")


def _named(game: Game, source: str) -> Game:
    if not isinstance(game.name, str) or not game.name:
        raise InputError(f"{source}: the name of the game is {game.name!r}: it must be a str that is not empty")
    return game


def _story(recipe: Recipe) -> Game:
    chosen = (recipe.shuffle, recipe.paraphrased, recipe.lenient, recipe.encoding, recipe.engine, recipe.outside)
    return open_story(_path(recipe.source), StoryOptions(*chosen))


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def _is_there(name: str) -> bool:
    """Whether it is a file, or a folder, which holds a story in several files."""
    try:
        return bool(name) and Path(name).exists()
    except (OSError, ValueError):
        return False


def _is_name(name: str) -> bool:
    """Whether it opens from every folder alike."""
    if name in (*BUILT_IN, *WORLDS, ORIGINAL, *place.NAMES) or _is_suite(name) or _is_module(name):
        return True
    return not _is_file(name) and name in registry.registered("game")


def _is_suite(name: str) -> bool:
    return names_a_suite(name) and not _is_file(name)


def _is_module(name: str) -> bool:
    return registry.is_object(name) and not _is_suite(name) and not _is_file(name)


def _path(name: str) -> Path:
    """The file behind a name or path, or a sentence that says what would have been one."""
    if name in BUILT_IN:
        return Path(str(resources.files("drrn.games.stories") / "built_in" / f"{name}.toml"))
    if name in place.NAMES:
        return place.toml_of(name)
    path = Path(name)
    try:
        if path.is_file() or (name and path.is_dir()):
            return path
    except (OSError, ValueError) as error:
        raise InputError(f"{name[:60]}: no such file or game") from error
    if path.suffix.lower() in (*TWEE, *HTML, *INK, ".toml") or "/" in name:
        beside = [str(other) for other in path.parent.glob("*") if other.is_file()] if path.parent.is_dir() else []
        raise InputError(f"{name}: no such file.{did_you_mean(name, beside)}")
    others = tuple(registry.registered("game"))
    near = did_you_mean(name, (*BUILT_IN, *WORLDS, ORIGINAL, *place.NAMES, *others))
    installed = f"; of other packages: {', '.join(others)}" if others else ""
    raise InputError(
        f'no game is named "{name}".{near} Built in: {", ".join((*BUILT_IN, *WORLDS))}; '
        f"of the paper: {', '.join(place.NAMES)}{installed}; "
        "or give the path of a story, or a game of your own as module:factory"
    )
