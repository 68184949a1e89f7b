"""The way of the data: a file imports only from its own room or from rooms before it; what we export exists."""

import ast
import inspect
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import drrn
from tests.source_code import imported, trees, within

ROOT = Path(drrn.__file__).parent
# From first to last; a room may import what stands at its own place or before it.
ROOMS = (
    "version errors home registry declaration settings recipes processes writing pages text vectors games exact models "
    "learning playing training authoring gym experiments reports serve cli __main__"
).split()
# Inside rooms: what must do without what. The plain learner is to be read without the fast one.
APART = [
    ("models", "learning.fast"),
    ("learning/exploration.py", "learning.fast"),
    ("learning/optimisers.py", "learning.fast"),
    ("learning/q_learning.py", "learning.fast"),
    ("learning/reference.py", "learning.fast"),
    ("learning/reference.py", "learning.q_learning"),
    ("learning/reference.py", "models"),
    ("learning/replay.py", "learning.fast"),
    ("games/contract.py", "games.authors"),
    ("games/contract.py", "games.compiled"),
    ("games/contract.py", "games.make"),
    ("games/contract.py", "games.stories"),
    ("games/compiled", "games.authors"),
    ("games/compiled", "games.make"),
    ("games/compiled", "games.stories"),
    ("games/stories", "games.authors"),
    ("games/stories", "games.make"),
]
# Every command of the command line has the first two; the others are said with their module before them.
ONE_NAME = {"add_command", "run", "load", "save"}
PLAIN_TWIN = ROOT / "learning" / "reference.py"  # the whole algorithm once more, so it has its names once more
MOST_LINES = 350


def room(module):
    name = module.removeprefix("drrn").lstrip(".").split(".")[0]
    return ROOMS.index(name) if name in ROOMS else None


def place(path):
    """The room of a file of the package."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_no_room_imports_from_a_later_one():
    for path, tree in trees(ROOT):
        if place(path) == "__init__":
            continue
        for module in (m for m in imported(tree) if m.startswith("drrn.") and room(m) is not None):
            assert room(module) <= ROOMS.index(place(path)), f"{path.relative_to(ROOT)} imports {module}"


def test_every_room_has_its_place_in_the_line():
    names = {place(path) for path in ROOT.rglob("*.py")}
    assert names - {"__init__"} == set(ROOMS)


@pytest.mark.parametrize(
    ("part", "other"),
    APART,
)
def test_a_part_of_a_room_does_without_what_comes_after_it(part, other):
    for path, tree in trees(ROOT):
        if path == ROOT / part or ROOT / part in path.parents:
            found = [module for module in imported(tree) if within(module, f"drrn.{other}")]
            assert not found, f"{path.relative_to(ROOT)} imports {found[0]}"


def test_no_two_public_classes_or_functions_have_one_name():
    places = defaultdict(list)
    for path, tree in trees(ROOT):
        for node in tree.body if path != PLAIN_TWIN else ():
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1 and name not in ONE_NAME} == {}


def test_every_module_and_every_public_class_says_what_it_is():
    for path, tree in trees(ROOT):
        assert ast.get_docstring(tree), f"{path.relative_to(ROOT)} has no docstring"
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path.relative_to(ROOT)}: {node.name} has no docstring"


def test_no_file_is_longer_than_one_reads_at_a_sitting():
    for path in ROOT.rglob("*.py"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= MOST_LINES, f"{path.relative_to(ROOT)} has {lines} lines"


def test_the_names_in_the_settings_are_those_that_the_rooms_hold():
    from drrn import models, settings
    from drrn.learning import equations, learners, optimisers
    from drrn.models import encoders

    rooms = (models.MODELS, models.INTERACTIONS, encoders.ENCODERS)
    rooms += (optimisers.OPTIMISERS, equations.LOSSES, learners.LEARNERS)
    names = (settings.MODELS, settings.INTERACTIONS, settings.ENCODERS)
    names += (settings.OPTIMISERS, settings.LOSSES, settings.LEARNERS)
    assert names == tuple(tuple(room) for room in rooms)
    assert tuple(settings.USES) == settings.MODELS


def test_games_and_help_do_without_pytorch():
    code = "import sys, drrn, drrn.cli; drrn.cli.parser(); drrn.make('long-watch').reset(0); "
    code += "assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_every_exported_name_exists():
    assert all(hasattr(drrn, name) for name in drrn.__all__)


def test_nothing_of_a_story_is_ever_run_as_code():
    asks_git = ROOT / "experiments" / "provenance.py"  # which commit made a result
    asks_dot = ROOT / "authoring" / "map_dot.py"  # in what order boxes of a map stand
    trains = [ROOT / "serve" / name for name in ("detached.py", "run_starting.py")]  # training that outlives a server
    others = (path for path in ROOT.rglob("*.py") if path not in (asks_git, asks_dot, *trains))
    source = "".join(path.read_text(encoding="utf-8") for path in others)
    assert not re.search(r"(?<![\w.`])(?:eval|exec)\(|__import__|import pickle|subprocess", source)


def test_the_file_tree_of_the_architecture_names_the_files_that_are_there():
    page = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = page.split("```text\ndrrn/\n")[1].split("```")[0]
    named = set(re.findall(r"^[ │├└─]*([\w.\-]+(?:/[\w.\-]+)*)/? ", tree, re.M))
    for path in ROOT.rglob("*.py"):
        if path.name not in ("__init__.py", "__main__.py"):
            assert path.name in named, f"the tree of docs/architecture.md lacks {path.name}"
    there = files_and_folders(ROOT.parent)
    for name in named:
        found = any(path.endswith(f"/{name}") for path in there)
        assert found, f"the tree of docs/architecture.md names {name}, which is not there"


def files_and_folders(root):
    """All of them, each as /a/b/c, but none inside hidden folders: the environment has tens of thousands."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [f"/{Path(folder, name).relative_to(root).as_posix()}" for name in (*folders, *files)]
    return found


@pytest.mark.parametrize("learner", ["q-learning", "drrn.learning.q_learning:QLearning"], ids=["fast", "plain"])
def test_from_the_command_to_the_update_a_reader_passes_at_most_790_lines(learner):
    """The command's own functions, and every function outside games/ that runs until weights first move."""
    from drrn.cli import train
    from drrn.training.train import Trainer

    class Moved(Exception):  # noqa: N818
        pass

    begun = (train.run, inspect.unwrap(train.new_run), train.learn_and_keep, Trainer.__init__)
    passed = {function.__code__ for function in begun}

    def note(frame, event, _):
        code, path = frame.f_code, Path(frame.f_code.co_filename)
        if event == "call" and ROOT in path.parents and ROOT / "games" not in path.parents:
            passed.update({code} if not code.co_name.startswith("<") else ())
            if (path.stem, code.co_name) in (("optimisers", "move"), ("by_hand", "backward")):
                raise Moved

    trainer = drrn.trainer("long-watch", paper=True, rounds=1, replicas=1, learner=learner)
    sys.setprofile(note)
    try:
        with pytest.raises(Moved):
            next(trainer.train())
    finally:
        sys.setprofile(None)
    lines = [line for code in passed for line in inspect.getsource(code).splitlines() if line.strip()]
    assert 300 < len(lines) <= 790
