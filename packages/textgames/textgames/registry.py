"""From a name to an object: built in, `module:attribute`, or an entry point of a package.

Checking a name imports nothing of the user's; only `resolve` does. So the valid names do not depend
on what happens to be loaded.

`resolve` imports `module:attribute` only if the user named it: as the value of an option that takes
code, in a Python call, with --trust (in Python: `textgames.trust`), or by starting the run that
names it on this machine. What only a file names (config.json, a story's TOML, --config, a request
of the page) is refused.
"""

import functools
import hashlib
import importlib
import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgames.errors import InputError, did_you_mean
from textgames.files import home

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Kinds of objects, and their groups of entry points. In a package's pyproject.toml:
#     [project.entry-points."drrn.models"]
#     additive = "mypackage:Additive"
KINDS = ("model", "interaction", "encoder", "learner", "sentence")
GROUPS = {kind: f"drrn.{kind}s" for kind in KINDS}
GROUPS |= {kind: f"textgames.{kind}s" for kind in ("command", "game", "opener", "player")}

WORD = r"[^\W\d]\w*"
OBJECT = re.compile(rf"(?P<module>{WORD}(?:\.{WORD})*):(?P<attribute>{WORD}(?:\.{WORD})*)")

TRUSTED = "TEXTGAMES_TRUST"  # environment variable: trusted names, which processes inherit
RECORD = "trusted-runs"  # file in the home folder: hashes of runs that were started here

log = logging.getLogger("textgames")


def is_object(name: str) -> bool:
    """Whether a name has the form `module:attribute`, and not that of our games and players."""
    return OBJECT.fullmatch(name) is not None and name.partition(":")[0] not in schemes()


def schemes() -> set[str]:
    """What precedes the colon in names of games and players, so no user's module."""
    games = {name[:-1] for name in registered("opener") if name.endswith(":")}
    return games | registered("player").keys() | {"llm"}


def registered(kind: str) -> dict[str, "EntryPoint"]:
    """The entry points of a kind, by name. The first on the path wins."""
    return _entry_points(GROUPS[kind], tuple(sys.path))


@functools.cache  # searching the installed packages takes milliseconds
def _entry_points(group: str, path: tuple[str, ...]) -> dict[str, "EntryPoint"]:
    from importlib import metadata  # slow to import

    return {point.name: point for point in reversed(list(metadata.entry_points(group=group)))}


def load(point: "EntryPoint") -> Any:
    """Load what an installed package registers."""
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise InputError(f"{point.group} {point.name}: {point.value}: {error}") from error


def check_name(kind: str, name: str, built_in: Collection[str]) -> None:
    """Refuse an unknown name. Of `module:attribute`, only the form is checked."""
    if name in built_in:  # before the search of installed packages
        return
    names = list(dict.fromkeys([*built_in, *registered(kind)]))
    scheme = name.partition(":")[0]
    if OBJECT.fullmatch(name) and scheme in schemes():
        cause = f"{scheme}: starts the name of a game or a player"
        raise InputError(f'{kind} is "{name}": {cause}; give your module another name')
    if name not in names and not is_object(name):
        cure = f"choose from {', '.join(names)}, or give your own as module:name"
        raise InputError(f'{kind} is "{name}"; {cure}.{did_you_mean(name, names)}')


def resolve(kind: str, name: str, built_in: Mapping[str, Any], folder: str | None = None) -> Any:
    """The object of a name.

    A module that is not installed is imported from the folder (default: the current one).
    """
    check_name(kind, name, built_in)
    if name in built_in:
        return built_in[name]
    source = f'{kind} "{name}"'
    point = registered(kind).get(name)
    target = point.value.partition("[")[0].strip() if point else name
    match = OBJECT.fullmatch(target)
    if match is None:
        raise InputError(f"{source}: a package registers it as {target}, not as module:name")
    _check_library(match["module"], source)
    if point is None:
        check_trust(name, source)
        add_folder(folder or str(Path.cwd()))
    module = _import(match["module"], source)
    if point is None:
        _check_origin(module, match["module"], Path(folder or "."), source)
    value = _attribute(module, match["attribute"], source)
    if hasattr(value, "__qualname__"):  # a class or a function
        _check_library(str(value.__module__), source)
    return value


def add_folder(folder: str) -> None:
    """Make the modules of a folder importable, after the installed ones."""
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()  # a file may be newer than the last search


# --- trust


def names_in(text: object) -> list[str]:
    """The names `module:attribute` in a setting: its value, or the parts of `one+other`."""
    return [part for part in str(text).split("+") if is_object(part)]


def trust(*names: str) -> None:
    """Allow `module:attribute` to be imported, by this process and by those that it starts.

    Other names, such as those of built-in models, have no effect.

    Example:
        >>> textgames.trust("mymodels:Additive")
    """
    objects = [each for name in names for each in names_in(name)]
    os.environ[TRUSTED] = " ".join(sorted({*trusted(), *objects}))


def trusted() -> list[str]:
    """The names that may be imported."""
    return os.environ.get(TRUSTED, "").split()


def record_run(facts: Any) -> None:
    """Record that the user started a run, outside of its folder.

    `facts` are its names and folders.
    """
    try:
        home().mkdir(parents=True, exist_ok=True)
        with (home() / RECORD).open("a", encoding="ascii") as file:
            file.write(f"{_hash_of(facts)}\n")
    except OSError as error:
        log.warning("%s: cannot be written (%s); later, give --trust", home() / RECORD, error)


def is_recorded(facts: Any) -> bool:
    """Whether a run with these names and folders was started by this user."""
    try:
        return _hash_of(facts) in (home() / RECORD).read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return False


def _hash_of(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def check_trust(name: str, source: str) -> None:
    """Refuse a name `module:attribute` that the user did not allow, or of the standard library."""
    _check_library(name.partition(":")[0], source)
    if name not in trusted():
        cause = f"it would run Python code, {name}, which a file names and you did not"
        cure = f'if you trust it, add --trust {name} (in Python: textgames.trust("{name}"))'
        raise InputError(f"{source}: {cause}; {cure}")


def _check_library(module: str, source: str) -> None:
    if module.partition(".")[0] in sys.stdlib_module_names:
        cause = f"{module} is in Python's standard library, which has no such thing"
        raise InputError(f"{source}: {cause}; name your own module")


# --- importing


def _import(module: str, source: str) -> Any:
    try:
        return importlib.import_module(module)
    except Exception as error:  # the module is the user's, so any error is theirs to fix
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        # a module that exists may import one that does not
        if missing and f"{module}.".startswith(f"{missing}."):
            reason = f"there is no module {missing}, neither in this folder nor installed; "
            reason += "run the command from its folder, or install it"
        else:
            reason = f"{module} cannot be imported: {failure_in(error)}"
        raise InputError(f"{source}: {reason}") from error


def _check_origin(module: Any, name: str, folder: Path, source: str) -> None:
    """Refuse a module from elsewhere if the folder has one of that name."""
    expected = folder.resolve().joinpath(*name.split("."))
    file = getattr(module, "__file__", None)
    for path in (expected.with_suffix(".py"), expected / "__init__.py"):
        if file and path.is_file() and not path.samefile(file):
            cause = f"{name} was imported from {file}, not from {folder.resolve()}"
            raise InputError(f"{source}: {cause}; rename one of them")


def _attribute(module: Any, attribute: str, source: str) -> Any:
    value = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            owner = getattr(value, "__name__", type(value).__name__)
            near = did_you_mean(part, [name for name in dir(value) if not name.startswith("_")])
            raise InputError(f"{source}: {owner} has no {part}.{near}")
        value = getattr(value, part)
    return value


def failure_in(error: Exception) -> str:
    """Describe an exception, with the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{last.filename}, line {last.lineno}"
    reason = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        where = f"{error.filename}, line {error.lineno}"
        reason = error.msg
    return f"{where}: {type(error).__name__}: {reason}"
