"""The packages depend on each other in one direction; layers within a package do, too."""

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import drrn
import textgames
from tests.source_code import PACKAGES, ROOT, imported_at_the_top, imports_of, is_inside, modules
from textgames.files import read_toml

# What each package may import besides itself.
USES = {
    "textgames": (),
    "storytest": ("textgames",),
    "textsuites": ("textgames",),
    "drrn": ("textgames",),
    "textgames_arena": ("textgames",),
    "textgames_page": ("textgames",),
    "lab": ("textgames", "storytest", "textsuites", "drrn", "textgames_arena"),
}
# What the page opens if it is installed: imported inside functions, or by modules that are.
OPENED = {"textgames_page": ("storytest", "drrn")}
# In each package, a part imports only from its own layer or from a lower one.
LAYERS = {
    "textgames": [
        "version errors registry declaration processes progress files wording pages notebook arrays",
        "document estimate intervals scores",
        "game",
        "compiled",
        "openers watchdog",
        "worlds diagnostics",
        "terminal play command_line completion",
    ],
    "drrn": [
        "settings vectors sentences reading text",
        "models",
        "learning",
        "playing",
        "runs gym player",
        "experiments",
        "cli",
    ],
}
# Imports that are forbidden although the layers allow them.
SEPARATE = [
    ("drrn.models", "drrn.learning.fast"),
    ("drrn.learning.reference", "drrn.models"),
    ("drrn.learning.q_learning", "drrn.learning.fast"),
    ("storytest.playtest", "storytest.cli"),
]
MAX_FUNCTION_LINES = 45
MAX_PATH_LINES = 600  # from the command to the weight update, the core's included
MAX_PATH_TYPES = 16  # classes that are passed on that path


def package_of(module):
    return module.partition(".")[0]


def layer_of(module):
    package, _, rest = module.partition(".")
    for number, names in enumerate(LAYERS[package]):
        if rest.split(".")[0] in names.split():
            return number
    return None


def test_packages_import_only_what_they_depend_on():
    for module, tree in modules().items():
        package = package_of(module)
        for name in imports_of(tree):
            other = package_of(name)
            if other in PACKAGES and other != package:
                assert other in (*USES[package], *OPENED.get(package, ())), f"{module}: {name}"


def test_declared_dependencies_are_those_of_the_imports():
    for folder in (ROOT / "packages").iterdir():
        project = read_toml(folder / "pyproject.toml")["project"]
        package = project["name"].replace("-", "_")
        declared = {re.split(r"[\[<>=; ]", each)[0] for each in project["dependencies"]}
        assert declared & set(USES) == set(USES[package]), package
        assert project["version"] == textgames.__version__


@pytest.mark.parametrize("package", OPENED)
def test_the_page_starts_without_the_products_that_it_opens(package):
    blocked = ", ".join(f"{name!r}" for name in OPENED[package])
    code = f"""
import sys
for name in ({blocked}):
    sys.modules[name] = None
import {package}.command, {package}.app
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("package", LAYERS)
def test_no_part_imports_from_a_higher_layer(package):
    for module, tree in modules().items():
        if package_of(module) != package or module in (package, f"{package}.__main__"):
            continue
        layer = layer_of(module)
        assert layer is not None, f"{module} has no layer"
        for name in imports_of(tree):
            if is_inside(name, package) and layer_of(name) is not None:
                assert layer_of(name) <= layer, f"{module} imports {name}"


@pytest.mark.parametrize(("part", "other"), SEPARATE)
def test_separate_parts_do_not_import_each_other(part, other):
    for module, tree in modules().items():
        if is_inside(module, part):
            names = [name for name in imports_of(tree) if is_inside(name, other)]
            assert not names, f"{module} imports {names[0]}"


def test_no_import_cycle():
    """Imports inside functions, for type checking and by strings count as well."""
    edges = {}
    for module, tree in modules().items():
        names = {name for name in imports_of(tree) if name in modules() and name != module}
        # `from a import b` yields both a and a.b; if a.b is a module, that is the import
        edges[module] = {
            name for name in names if not any(other.startswith(f"{name}.") for other in names)
        }
    for package in ("textgames", "drrn", "storytest"):
        edges[package] = set()  # they name what they export, and import it on first use
    visited = set()

    def visit(module, path):
        assert module not in path, " → ".join([*path[path.index(module) :], module])
        if module in visited:
            return
        for name in sorted(edges[module]):
            visit(name, [*path, module])
        visited.add(module)

    for module in sorted(edges):
        visit(module, [])


def test_no_function_is_longer_than_a_screen():
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno is not None
                length = node.end_lineno - node.lineno + 1
                assert length <= MAX_FUNCTION_LINES, f"{module}: {node.name}"


def test_every_module_and_public_class_has_a_docstring():
    for module, tree in modules().items():
        assert ast.get_docstring(tree), f"{module} has no docstring"
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{module}: {node.name}"


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


def loaded_modules(code, prefix):
    report = f"import sys; print(*[m for m in sys.modules if m.split('.')[0] == {prefix!r}])"
    command = [sys.executable, "-c", f"{code}\n{report}"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return result.stdout.split("\n")[-2].split()


def test_the_contract_loads_few_modules():
    modules = loaded_modules("import textgames.game.contract, textgames.game.episodes", "textgames")
    assert len(modules) < 15, modules


@pytest.mark.parametrize(
    "code",
    [
        "import drrn.cli; from textgames.command_line import parser; parser(drrn.cli.PROGRAM)",
        "import textgames; textgames.make('long-watch').reset(0)",
        "import textgames; textgames.make('home-world').reset(0)",
    ],
)
def test_games_and_help_do_not_load_pytorch(code):
    assert loaded_modules(code, "torch") == []


def test_authors_load_nothing_of_the_agent():
    code = "import storytest; storytest.test('long-watch', seconds=1)"
    assert loaded_modules(code, "drrn") == []


@pytest.mark.parametrize("package", [textgames, drrn])
def test_every_exported_name_exists(package):
    assert all(hasattr(package, name) for name in package.__all__)
    assert dir(package) == sorted(package.__all__)


def test_no_text_of_a_story_is_run_as_code():
    """Only these modules start processes, each with a fixed command."""
    allowed = (
        "drrn.experiments.results",  # the commit of the code, by git
        "lab.authors",
        "storytest.packages",  # git and npm, with names of our own list
        "textgames.processes",
        "textgames_page.runs",
        "textsuites.java",  # only the processes that py4j starts
    )
    for module in modules():
        path = PACKAGES[package_of(module)].parent.joinpath(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        source = path.read_text(encoding="utf-8")
        found = re.search(r"(?<![\w.`])(?:eval|exec)\(|__import__|import pickle|subprocess", source)
        assert module in allowed or not found, f"{module}: {found}"


@pytest.mark.parametrize(
    "learner", ["q-learning", "drrn.learning.q_learning:QLearning"], ids=["fast", "plain"]
)
def test_the_path_from_the_command_to_the_update_is_short(learner):
    """Count the functions that run before the update; compiling the game is not part of it."""
    from drrn.cli import train
    from drrn.runs.trainer import Trainer

    class UpdateError(Exception):
        pass

    first = (train.run, inspect.unwrap(train.new_run), train.train, Trainer.__init__)
    functions = {function.__code__ for function in first}
    types: set[type] = set()
    roots = [PACKAGES["textgames"], PACKAGES["drrn"]]
    compiler = PACKAGES["textgames"] / "compiled"

    def record(frame, event, _):
        code = frame.f_code
        path = Path(code.co_filename)
        is_ours = any(root in path.parents for root in roots) and compiler not in path.parents
        if event != "call" or not is_ours:
            return
        if not code.co_name.startswith("<"):
            functions.add(code)
        kinds = {type(value) for value in frame.f_locals.values()}
        types.update(kind for kind in kinds if package_of(kind.__module__) in PACKAGES)
        if (path.stem, code.co_name) in (("optimisers", "move"), ("q_learning", "backward")):
            raise UpdateError

    options = {"paper": True, "rounds": 1, "replicas": 1, "learner": learner}
    trainer = drrn.trainer("home-world", **options)
    sys.setprofile(record)
    try:
        with pytest.raises(UpdateError):
            next(trainer.train())
    finally:
        sys.setprofile(None)
    lines = [line for code in functions for line in lines_of(inspect.getsource(code))]
    assert 300 < len(lines) <= MAX_PATH_LINES
    assert 10 < len(types) <= MAX_PATH_TYPES


def lines_of(source):
    """The lines of a function without its docstring and blank lines."""
    lines = textwrap.dedent(source).splitlines()
    function = ast.parse("\n".join(lines)).body[0]
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    first = function.body[0]
    if ast.get_docstring(function):
        del lines[first.lineno - 1 : first.end_lineno]
    return [line for line in lines if line.strip()]


def test_modules_import_at_the_top_only_what_is_below():
    """The page imports the products that it opens only where they are needed."""
    optional = OPENED["textgames_page"]
    starts = {"textgames_page.command", "textgames_page.app"}
    reached = set(starts)
    waiting = list(starts)
    while waiting:
        for name in imported_at_the_top(modules()[waiting.pop()]):
            assert package_of(name) not in optional, name
            if name in modules() and is_inside(name, "textgames_page") and name not in reached:
                reached.add(name)
                waiting.append(name)
