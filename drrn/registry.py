"""How a name becomes an object: built in, `module:attribute`, or an entry point of an installed package.

Checking a name imports nothing of the user's: only `resolve` does. So which names are valid never depends on what
happens to be loaded.
"""

from __future__ import annotations

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

# What can be registered, and the group of entry points it is registered by in a package's pyproject.toml:
#     [project.entry-points."drrn.models"]
#     additive = "mypackage:Additive"
GROUPS = {
    kind: f"drrn.{kind}s"
    for kind in ("game", "model", "interaction", "encoder", "learner", "sentence")
}

WORD = r"[^\W\d]\w*"
OBJECT = re.compile(rf"(?P<module>{WORD}(?:\.{WORD})*):(?P<attribute>{WORD}(?:\.{WORD})*)")


def is_object(name: str) -> bool:
    """Whether a name has the form `module:attribute`."""
    return OBJECT.fullmatch(name) is not None


def registered(kind: str) -> dict[str, metadata.EntryPoint]:
    """What installed packages register of a kind, by name; the first on the path wins."""
    return _entry_points(GROUPS[kind], tuple(sys.path))


def known(kind: str, built_in: Collection[str]) -> list[str]:
    """The names of a kind that can be given without a module."""
    return list(dict.fromkeys([*built_in, *registered(kind)]))


def check_name(kind: str, name: str, built_in: Collection[str]) -> None:
    """Refuse a name that nothing has; of `module:attribute` the form alone is checked."""
    if name in built_in or is_object(name) or name in registered(kind):
        return
    names = known(kind, built_in)
    raise InputError(
        f'{kind} is "{name}"; choose from {", ".join(names)}, or give your own as module:name.'
        f"{did_you_mean(name, names)}"
    )


def resolve(kind: str, name: str, built_in: Mapping[str, Any], folder: str | None = None) -> Any:
    """The object behind a name; a module that is not installed is looked for in the folder (default: this one)."""
    check_name(kind, name, built_in)
    if name in built_in:
        return built_in[name]
    who = f'{kind} "{name}"'
    point = registered(kind).get(name)
    found = OBJECT.fullmatch(point.value.partition("[")[0].strip() if point else name)
    if found is None:
        raise InputError(
            f"{who}: a package registers it as {point.value if point else name}, not module:name"
        )
    if found["module"].endswith(".py"):
        raise InputError(f"{who}: name the module without .py: {name.replace('.py:', ':')}")
    if point is None:
        add_folder(folder or str(Path.cwd()))
    module = _imported(found["module"], who)
    if point is None:
        _check_place(module, found["module"], Path(folder or "."), who)
    return _attribute(module, found["attribute"], who)


@functools.cache  # looking through the installed packages costs milliseconds
def _entry_points(group: str, path: tuple[str, ...]) -> dict[str, metadata.EntryPoint]:
    return {point.name: point for point in reversed(list(metadata.entry_points(group=group)))}


def add_folder(folder: str) -> None:
    """Let modules of a folder be imported, after those that are installed; for good, since they may import others."""
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()  # a file may be younger than the last look


def _imported(module: str, who: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(
            f"{error.name}."
        ):  # it is there: another one is not
            raise InputError(f"{who}: {_failure(module, error)}") from error
        raise InputError(
            f"{who}: there is no module {error.name}, neither in this folder nor installed: "
            "run the command from the folder it stands in, or install it"
        ) from error
    except (
        Exception
    ) as error:  # whatever it may be, the module is the user's, and so is the mistake
        raise InputError(f"{who}: {_failure(module, error)}") from error


def _check_place(module: Any, name: str, folder: Path, who: str) -> None:
    """Refuse a module that is not the one of the folder, where the folder has one of that name."""
    wanted = folder.resolve().joinpath(*name.split("."))
    file = getattr(module, "__file__", None)
    for here in (wanted.with_suffix(".py"), wanted / "__init__.py"):
        if file and here.is_file() and not here.samefile(file):
            raise InputError(
                f"{who}: {name} was imported from {file}, not from {folder.resolve()}: rename one of them"
            )


def _attribute(module: Any, attribute: str, who: str) -> Any:
    found = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            near = did_you_mean(part, [name for name in dir(found) if not name.startswith("_")])
            raise InputError(
                f"{who}: there is no {part} in {getattr(found, '__name__', module.__name__)}.{near}"
            )
        found = getattr(found, part)
    return found


def _failure(module: str, error: Exception) -> str:
    """Why a module could not be imported, and the line where that came up."""
    if isinstance(error, SyntaxError):
        place = error.filename
        line = error.lineno
        reason = error.msg
    else:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = last.filename
        line = last.lineno
        reason = " ".join(str(error).split())
    return f"{module} cannot be imported: {place}, line {line}: {type(error).__name__}: {reason}"
