"""From a name to an object: built in, `module:attribute`, or an entry point of a package.

Checking a name imports nothing of the user's; only `resolve` does. So the valid names do not depend
on what happens to be loaded.
"""

import functools
import importlib
import re
import sys
import traceback
from collections.abc import Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from drrn.errors import InputError, did_you_mean

# Kinds of objects, and their groups of entry points. In a package's pyproject.toml:
#     [project.entry-points."drrn.models"]
#     additive = "mypackage:Additive"
KINDS = ("game", "model", "interaction", "encoder", "learner", "sentence", "player")
GROUPS = {kind: f"drrn.{kind}s" for kind in KINDS}

WORD = r"[^\W\d]\w*"
OBJECT = re.compile(rf"(?P<module>{WORD}(?:\.{WORD})*):(?P<attribute>{WORD}(?:\.{WORD})*)")


def is_object(name: str) -> bool:
    """Whether a name has the form `module:attribute`."""
    return OBJECT.fullmatch(name) is not None


def registered(kind: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of a kind, by name; the first on the path wins."""
    return _entry_points(GROUPS[kind], tuple(sys.path))


@functools.cache  # searching the installed packages takes milliseconds
def _entry_points(group: str, path: tuple[str, ...]) -> dict[str, metadata.EntryPoint]:
    return {point.name: point for point in reversed(list(metadata.entry_points(group=group)))}


def check_name(kind: str, name: str, built_in: Collection[str]) -> None:
    """Refuse an unknown name; of `module:attribute`, only the form is checked."""
    names = list(dict.fromkeys([*built_in, *registered(kind)]))
    if name not in names and not is_object(name):
        cure = f"choose from {', '.join(names)}, or give your own as module:name"
        raise InputError(f'{kind} is "{name}"; {cure}.{did_you_mean(name, names)}')


def resolve(kind: str, name: str, built_in: Mapping[str, Any], folder: str | None = None) -> Any:
    """Return the object of a name.

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
    if match["module"].endswith(".py"):
        raise InputError(f"{source}: leave out .py, as in {name.replace('.py:', ':')}")
    if point is None:
        add_folder(folder or str(Path.cwd()))
    module = _import(match["module"], source)
    if point is None:
        _check_origin(module, match["module"], Path(folder or "."), source)
    return _attribute(module, match["attribute"], source)


def add_folder(folder: str) -> None:
    """Make the modules of a folder importable, after the installed ones."""
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()  # a file may be newer than the last search


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
            reason = f"{module} cannot be imported: {_failure(error)}"
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
    owner = module.__name__
    for part in attribute.split("."):
        if not hasattr(value, part):
            near = did_you_mean(part, [name for name in dir(value) if not name.startswith("_")])
            raise InputError(f"{source}: {owner} has no {part}.{near}")
        value = getattr(value, part)
        owner = part
    return value


def _failure(error: Exception) -> str:
    """Describe an exception, with the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{last.filename}, line {last.lineno}"
    reason = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        where = f"{error.filename}, line {error.lineno}"
        reason = error.msg
    return f"{where}: {type(error).__name__}: {reason}"
