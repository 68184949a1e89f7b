"""`make`: from a name, a path or `module:factory` to a game; a `GameSpec` opens it again."""

import contextlib
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import FrameType
from typing import Any

from textgames import registry
from textgames.errors import InputError, did_you_mean
from textgames.files import home
from textgames.game.contract import Game, looks_like_a_game
from textgames.game.gymnasium_game import checked_game, game_of, is_environment

ENGINES = ("native", "hosted")  # what plays a Twine story
STORY_FILES = (".twee", ".tw", ".twee2", ".txt", ".html", ".htm", ".json", ".ink", ".js", ".toml")
SPEC = "_drrn_spec"  # the attribute that `make` sets on a game
OURS = frozenset("textgames storytest textsuites drrn textgames_arena textgames_page lab".split())
ANY_PATH = "*"  # the entry point that opens files and folders

BUILT_IN = ("long-watch", "night-market")  # stories; the first is the default
PAPER = ("saving-john", "machine-of-death")  # once `python -m lab games` installed them
WORLDS = ("home-world", "comet-house")
# Actions that a game does not shuffle are in their own order anyway.
COMMON_OPTIONS = frozenset({"source", "shuffle", "folder", "history", "lenient", "outside"})


@dataclass(frozen=True)
class Opener:
    """Opens the games of a package.

    An entry point of the group `textgames.openers` names one. The name of the entry point is what
    it opens: a game (`long-watch`), a scheme (`twx:`), or files and folders (`*`).

    Args:
        open: Returns the game of a spec.
        kind: What these games are, for errors.
        options: The options of `make` that these games have; any other raises an error.
        absolute_name: Returns a name that opens the same game from every folder.
        training: Returns the settings that a name stands for, besides the game's own.
        with_options: Returns the name of a game with other values of the options in it.
    """

    open: "Callable[[GameSpec], Game]"
    kind: str
    options: frozenset[str] = frozenset()
    absolute_name: Callable[[str], str] = str
    training: Callable[[str], Mapping[str, Any]] = lambda name: {}
    with_options: Callable[..., str] | None = None


def opener_for(name: str) -> Opener:
    """The opener of a name or a path.

    Raises:
        InputError: Nothing installed opens it.
    """
    opener = _registered_opener(name)
    if opener is not None:
        return opener
    if registry.is_object(name) or name in registry.registered("game"):
        return FACTORY
    check_path(name)
    raise InputError(f"{name}: the package storytest, which opens stories, is not installed")


def _registered_opener(name: str) -> Opener | None:
    """The opener of a game that a package registers; None if there is none."""
    points = registry.registered("opener")
    key = name
    if name not in points:
        is_path = _exists(name) or name in installed_games()
        key = ANY_PATH if is_path else "".join(name.partition(":")[:2])
    point = points.get(key)
    return registry.load(point) if point else None


def installed_games() -> dict[str, Path]:
    """The stories that have a name: NAME.toml in the folder `games` of the home folder."""
    return {path.stem: path for path in sorted((home() / "games").glob("*.toml"))}


def absolute_name(name: str) -> str:
    """Return a name that opens the same game from every folder; paths become absolute."""
    opener = _registered_opener(name)
    return opener.absolute_name(name) if opener else name


def training_named(name: str) -> Mapping[str, Any]:
    """The settings that a name stands for, such as that of a paper's protocol."""
    opener = _registered_opener(name)
    return opener.training(name) if opener else {}


def with_options(name: str, **changes: Any) -> str:
    """The name of a game with other values of some options. An empty value restores a default.

    Raises:
        InputError: Names of such games have no options.
    """
    opener = _registered_opener(name)
    if opener is None or opener.with_options is None:
        raise InputError(f"{name}: not a game of a suite, so it has no option {', '.join(changes)}")
    return opener.with_options(name, **changes)


@dataclass(frozen=True)
class GameSpec:
    """The arguments of `make`, valid in every folder and process."""

    source: str
    shuffle: bool = True
    paraphrased: bool | str = False  # or the name of a set of paraphrases
    lenient: bool = False
    encoding: str | None = None
    engine: str | None = None  # of a Twine story: native or hosted
    folder: str | None = None  # where to look for the module of a `module:factory`
    history: int = 0  # earlier pages that are part of a page's text
    outside: bool = False  # whether a TOML may name files outside its folder

    def open(self) -> Game:
        """Return a new instance of the game."""
        opener = opener_for(self.source)
        for option in fields(self):
            allowed = option.name in opener.options | COMMON_OPTIONS
            if not allowed and getattr(self, option.name) != option.default:
                cause = f"the option {option.name} is for stories, but this is {opener.kind}"
                raise InputError(f"{self.source}: {cause}; leave it out")
        game = opener.open(self)
        with contextlib.suppress(AttributeError):  # a class with slots
            setattr(game, SPEC, self)
        if self.history:
            from textgames.compiled.history import with_history  # loads NumPy

            game = with_history(game, self.history)
        return game


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
    """Open a game.

    Args:
        name_or_path: A name (built in, added, or registered by a package), the path of a story (a
            Twee file or folder, a published Twine page, compiled Ink, a TOML), `suite:game`, or
            `module:factory`, a class or function that returns a game.
        shuffle: Show the actions of a story or parser game in a new random order each time.
        paraphrased: Show actions, or pages too, in other words; a name selects one of the sets.
        lenient: Skip unsupported code instead of raising an error.
        encoding: Encoding of the story file, if it is not UTF-8.
        engine: "native" (our interpreter) or "hosted" (the engine in the story's file).
        folder: Where to look for a module that is not installed (default: the current folder).
        outside: Allow a TOML to name a story and paraphrases outside its own folder.

    Raises:
        InputError: There is no such game, or it cannot be opened.

    Example:
        >>> game = textgames.make("long-watch")
        >>> page = game.reset(seed=1)
        >>> page = game.step(0)
    """
    options: dict[str, Any] = {"shuffle": shuffle, "paraphrased": paraphrased, "lenient": lenient}
    options |= {"encoding": encoding, "engine": engine, "outside": outside}
    return spec_for(name_or_path, folder=folder, **options).open()


def spec_for(
    name_or_path: str | Path, *, folder: str | Path | None = None, **options: Any
) -> GameSpec:
    """Return the spec that opens a game from every folder; the options are those of `make`."""
    name = str(name_or_path)
    if options.get("engine") not in (None, *ENGINES):
        raise InputError(f"engine {options['engine']!r}: choose one of {', '.join(ENGINES)}")
    is_module = registry.is_object(name) and _registered_opener(name) is None
    if is_module:
        registry.trust(name)
    module_folder = str(Path(folder or ".").resolve()) if is_module else None
    return GameSpec(absolute_name(name), folder=module_folder, **options)


def spec_of(game: Game) -> GameSpec | None:
    """Return the spec that `make` opened the game by; None if it was made otherwise."""
    spec = getattr(game, SPEC, None)
    return spec if isinstance(spec, GameSpec) else None


def as_game(thing: Any) -> Game:
    """Return a game from a name, a path, a Gymnasium environment of texts, or a game itself."""
    return make(thing) if isinstance(thing, (str, Path)) else game_of(thing)


def open_game(thing: Any) -> tuple[Game, GameSpec | None]:
    """Return a game, and its spec if it was given by name or path."""
    if not isinstance(thing, (str, Path)):
        return game_of(thing), None
    spec = spec_for(thing)
    return spec.open(), spec


def open_factory(spec: GameSpec) -> Game:
    """Return the game that a user's factory makes; its exceptions become an `InputError`."""
    name = spec.source
    factory = registry.resolve("game", name, {}, spec.folder)
    if not callable(factory):
        cure = "name a class or a function that returns a game"
        raise InputError(f"{name} has the type {type(factory).__name__}; {cure}")
    try:
        thing = factory()
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        cause = f"called without arguments, it raised {type(error).__name__}: {error}"
        cure = "name a factory that needs no arguments, or fix its code"
        raise InputError(f"{name}: {cause}; {cure}") from error
    return checked_game(thing, name)


def failure_of_user(error: BaseException) -> str:
    """Describe an exception in the code of a user's game, learner or encoder; "" for other code."""
    if isinstance(error.__cause__, StopIteration):  # which ended a generator of ours
        error = error.__cause__
    frames = list(traceback.walk_tb(error.__traceback__))
    call, where = users_call(frames, _is_part)
    last = frames[-1][0].f_globals.get("__name__", "") if frames else ""
    is_ctrl_c = isinstance(error, KeyboardInterrupt) and is_ours(last)  # see `command_line.main`
    if call is None or is_ctrl_c or isinstance(error, InputError):
        return ""
    return f"{where} raised {type(error).__name__}: {' '.join(str(error).split())[:300]}"


def users_call(
    frames: Iterable[tuple[FrameType, int]], is_part: Callable[[object], bool]
) -> tuple[FrameType | None, str]:
    """The first call of a user's code, as "file, line 3: Game.step" with the line reached by now.

    Args:
        frames: Frames and their lines, the outermost first.
        is_part: Whether a method of this object is meant.
    """
    call = None
    method = ""
    at = 0
    for frame, line in frames:
        if call is None and not is_ours(frame.f_globals.get("__name__", "")):
            owner = frame.f_locals.get("self")
            if is_part(owner):
                call = frame
                method = f"{type(owner).__name__}.{frame.f_code.co_name}"
        if call is not None and frame.f_code.co_filename == call.f_code.co_filename:
            at = line
    return call, f"{call.f_code.co_filename}, line {at}: {method}" if call else ""


def _is_part(owner: object) -> bool:
    extends = any(is_ours(base.__module__) for base in type(owner).__mro__)
    return extends or looks_like_a_game(owner) or is_environment(owner)


def is_ours(module: str) -> bool:
    """Whether a module belongs to one of the packages of this repository."""
    return module.partition(".")[0] in OURS


def check_path(name: str) -> Path:
    """Return the path of a story, or raise an `InputError` that lists what `make` opens."""
    path = Path(name)
    if _exists(name) and (path.is_file() or path.is_dir()):
        return path
    if path.suffix.lower() in STORY_FILES or "/" in name:
        raise missing_file(path)
    registered = tuple(registry.registered("game"))
    others = (*installed_games(), *registered)
    names = (*BUILT_IN, *PAPER, *WORLDS, *others)
    installed = f"; installed: {', '.join(others)}" if others else ""
    raise InputError(
        f'no game is named "{name}".{did_you_mean(name, names)} '
        f"Built in: {', '.join((*BUILT_IN, *WORLDS))}{installed}; {' and '.join(PAPER)} are "
        "installed with python -m lab games; or give the path of a story, or your own game as "
        "module:factory"
    )


def missing_file(path: Path) -> InputError:
    """Return the error for a file that does not exist, with the nearest name in its folder."""
    others = path.parent.glob("*") if _exists(str(path.parent)) else ()
    near = did_you_mean(str(path), [str(other) for other in others if other.is_file()])
    return InputError(f"{path}: no such file.{near}")


FACTORY = Opener(open_factory, "made by Python code")


def _exists(name: str) -> bool:
    try:
        return bool(name) and Path(name).exists()
    except (OSError, ValueError):  # such as a name that is too long
        return False
