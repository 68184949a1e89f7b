"""The way of the data: a file imports only from its own room or from rooms before it; what we export exists."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import drrn

ROOT = Path(drrn.__file__).parent
# From first to last; a room may import what stands at its own place or before it.
ROOMS = (
    "errors home text games exact models learning playing training authoring gym experiments reports cli __main__"
).split()


def room(module):
    name = module.removeprefix("drrn").lstrip(".").split(".")[0]
    return ROOMS.index(name) if name in ROOMS else None


def test_no_room_imports_from_a_later_one():
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if name == "__init__":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            for module in (m for m in modules if m.startswith("drrn.")):
                if room(module) is not None:
                    assert room(module) <= ROOMS.index(name), f"{path.name} imports {module}"


def test_every_room_has_its_place_in_the_line():
    names = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}
    assert names - {"__init__"} == set(ROOMS)


def test_the_names_in_the_settings_are_those_that_the_rooms_hold():
    from drrn import models
    from drrn.learning import optimisers, q_learning
    from drrn.training import settings

    rooms = (models.MODELS, models.INTERACTIONS, optimisers.OPTIMISERS, q_learning.LOSSES)
    names = (settings.MODELS, settings.INTERACTIONS, settings.OPTIMISERS, settings.LOSSES)
    assert names == tuple(tuple(room) for room in rooms)


def test_games_and_help_do_without_pytorch():
    code = "import sys, drrn, drrn.cli; drrn.cli.parser(); drrn.make('long-watch').reset(0); "
    code += "assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_every_exported_name_exists():
    assert all(hasattr(drrn, name) for name in drrn.__all__)


def test_nothing_of_a_story_is_ever_run_as_code():
    asks_git = ROOT / "experiments" / "provenance.py"  # which commit made a result
    source = "".join(path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py") if path != asks_git)
    assert not re.search(r"(?<![\w.`])(?:eval|exec)\(|__import__|import pickle|subprocess", source)


def test_the_readmes_file_tree_names_the_files_that_are_there():
    readme = (ROOT.parent / "README.md").read_text(encoding="utf-8")
    tree = readme.split("```text\ndrrn/\n")[1].split("```")[0]
    named = set(re.findall(r"^[ │├└─]*([\w.\-]+(?:/[\w.\-]+)*)/? ", tree, re.M))
    for path in ROOT.rglob("*.py"):
        if path.name not in ("__init__.py", "__main__.py"):
            assert path.name in named, f"README's tree lacks {path.name}"
    for name in named:
        assert list(ROOT.parent.rglob(name)), f"README's tree names {name}, which is not there"
