"""Layers of the package: imports run downwards, and heavy packages are imported late."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import drrn
from tests.source_code import imports_of, is_inside, trees

ROOT = Path(drrn.__file__).parent
# A package imports only from its own layer or a lower one.
LAYERS = [
    "version errors registry declaration settings processes progress files writing reading pages notebook",
    "text vectors sentences document",
    "game",
    "compiled",
    "game.make",
    "worlds suites stories diagnostics",
    "models",
    "learning",
    "playing",
    "runs gym arena",
    "experiments",
    "serve",
    "cli lab __main__",
]
# Imports that are forbidden although the layers allow them.
SEPARATE = [
    ("models", "learning.fast"),
    ("learning/reference.py", "models"),
    ("learning/q_learning.py", "learning.fast"),
    ("game/contract.py", "game.make"),
    ("suites", "stories"),
    ("worlds", "stories"),
    ("stories", "suites"),
    ("stories", "worlds"),
    ("models", "stories"),
    ("learning", "stories"),
    ("playing", "stories"),
    ("runs", "stories"),
]
MAX_FUNCTION_LINES = 45
MAX_PATH_LINES = 600  # from the command to the weight update
MAX_PATH_TYPES = 14  # classes that are passed on that path


def layer_of(module):
    parts = module.removeprefix("drrn").lstrip(".").split(".")
    keys = {parts[0], ".".join(parts[:2])}
    layers = [number for number, names in enumerate(LAYERS) if keys & set(names.split())][::-1]
    return layers[0] if layers else None


def module_of(path):
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


def test_no_package_imports_from_a_higher_layer():
    for path, tree in trees(ROOT):
        module = module_of(path)
        if module == "drrn":
            continue
        layer = layer_of(module)
        assert layer is not None, f"{module} has no layer"
        for name in imports_of(tree):
            if name.startswith("drrn.") and layer_of(name) is not None:
                assert layer_of(name) <= layer, f"{module} imports {name}"


@pytest.mark.parametrize(("part", "other"), SEPARATE)
def test_separate_parts_do_not_import_each_other(part, other):
    for path, tree in trees(ROOT):
        if path == ROOT / part or ROOT / part in path.parents:
            names = [module for module in imports_of(tree) if is_inside(module, f"drrn.{other}")]
            assert not names, f"{path.relative_to(ROOT)} imports {names[0]}"


def test_no_import_cycle():
    """Imports inside functions and for type checking count as well."""
    modules = {module_of(path): tree for path, tree in trees(ROOT)}
    edges = {}
    for module, tree in modules.items():
        names = {name for name in imports_of(tree) if name in modules and name != module}
        # `from a import b` yields both a and a.b; if a.b is a module, that is the import
        edges[module] = {
            name for name in names if not any(other.startswith(f"{name}.") for other in names)
        }
    visited = set()

    def visit(module, path):
        assert module not in path, " → ".join([*path[path.index(module) :], module])
        if module in visited:
            return
        for name in sorted(edges[module]):
            visit(name, [*path, module])
        visited.add(module)

    for module in sorted(modules):
        visit(module, [])


def test_no_function_is_longer_than_a_screen():
    for path, tree in trees(ROOT):
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno is not None
                length = node.end_lineno - node.lineno + 1
                assert length <= MAX_FUNCTION_LINES, f"{path.relative_to(ROOT)}: {node.name}"


def test_every_module_and_public_class_has_a_docstring():
    for path, tree in trees(ROOT):
        assert ast.get_docstring(tree), f"{path.relative_to(ROOT)} has no docstring"
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path.relative_to(ROOT)}: {node.name}"


def test_the_choices_of_settings_are_the_registered_names():
    from drrn import models, settings
    from drrn.learning import learners, optimisers
    from drrn.models import drrn

    def choices(name):
        return settings.all_settings()[name].choices

    assert tuple(models.MODELS) == settings.MODELS
    assert tuple(drrn.INTERACTIONS) == choices("interaction")
    assert tuple(models.ENCODERS) == settings.ENCODERS
    assert tuple(optimisers.OPTIMISERS) == choices("optimiser")
    assert tuple(learners.LEARNERS) == settings.LEARNERS


def loaded_modules(code, prefix="drrn"):
    report = f"import sys; print(*[m for m in sys.modules if m.split('.')[0] == {prefix!r}])"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return result.stdout.split("\n")[-2].split()


def test_the_contract_loads_few_modules():
    modules = loaded_modules("import drrn.game.contract, drrn.game.episodes")
    assert len(modules) < 15, modules


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import drrn.cli; drrn.cli.parser()",
        "import drrn; drrn.make('long-watch').reset(0)",
        "import drrn; drrn.make('home-world').reset(0)",
    ],
)
def test_games_and_help_do_not_load_pytorch(code):
    assert loaded_modules(code, "torch") == []


def test_every_exported_name_exists():
    assert all(hasattr(drrn, name) for name in drrn.__all__)


def test_no_text_of_a_story_is_run_as_code():
    allowed = (
        "experiments/results.py",
        "processes.py",
        "serve/runs.py",
        "lab/authors/install.py",
        "suites/java.py",  # only the processes that py4j starts
        "stories/packages.py",  # git and npm, with names of our own list
    )
    others = (path for path in ROOT.rglob("*.py") if path not in {ROOT / name for name in allowed})
    source = "".join(path.read_text(encoding="utf-8") for path in others)
    assert not re.search(r"(?<![\w.`])(?:eval|exec)\(|__import__|import pickle|subprocess", source)


@pytest.mark.parametrize(
    "learner", ["q-learning", "drrn.learning.q_learning:QLearning"], ids=["fast", "plain"]
)
def test_the_path_from_the_command_to_the_update_is_short(learner):
    """Count the functions of the command and of the agent that run before the update."""
    from drrn.cli import train
    from drrn.runs.trainer import Trainer

    class UpdateError(Exception):
        pass

    first = (train.run, inspect.unwrap(train.new_run), train.train, Trainer.__init__)
    functions = {function.__code__ for function in first}
    types: set[type] = set()
    names = "game compiled stories worlds suites diagnostics".split()
    games = [ROOT / name for name in names]

    def record(frame, event, _):
        code = frame.f_code
        path = Path(code.co_filename)
        if (
            event != "call"
            or ROOT not in path.parents
            or any(folder in path.parents for folder in games)
        ):
            return
        if not code.co_name.startswith("<"):
            functions.add(code)
        kinds = {type(value) for value in frame.f_locals.values()}
        types.update(kind for kind in kinds if kind.__module__.startswith("drrn."))
        if (path.stem, code.co_name) in (("optimisers", "move"), ("q_learning", "backward")):
            raise UpdateError

    trainer = drrn.trainer("long-watch", paper=True, rounds=1, replicas=1, learner=learner)
    sys.setprofile(record)
    try:
        with pytest.raises(UpdateError):
            next(trainer.train())
    finally:
        sys.setprofile(None)
    sources = [inspect.getsource(code).splitlines() for code in functions]
    lines = [line for source in sources for line in source if line.strip()]
    assert 300 < len(lines) <= MAX_PATH_LINES
    assert 10 < len(types) <= MAX_PATH_TYPES
