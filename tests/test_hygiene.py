"""Rules for the tests: helpers are in modules of helpers, and no test reads the clock."""

import ast
import re
import subprocess

import pytest

from tests.source_code import ROOT, imports_of

CLOCK = re.compile(
    "(monotonic|perf_counter|process_time|thread_time|time)_ns|"
    "monotonic|perf_counter|process_time|timeit"
)
FILES = [
    *ROOT.glob("tests/*.py"),
    *ROOT.glob("lab/tests/*.py"),
    *ROOT.glob("packages/*/tests/*.py"),
]


@pytest.fixture(params=sorted(FILES), ids=lambda path: path.stem)
def tree(request):
    """Syntax tree of a test file."""
    return ast.parse(request.param.read_text(encoding="utf-8"))


def test_no_test_file_imports_another(tree):
    modules = [module.removeprefix("tests.") for module in imports_of(tree)]
    assert [module for module in modules if module.startswith(("test_", "conftest"))] == []


def test_no_test_reads_the_clock(tree):
    """Tests count operations instead of seconds, so that they pass on a busy machine."""
    names = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    names += [part for module in imports_of(tree) for part in module.split(".")]
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert [name for name in names if CLOCK.fullmatch(name)] == []
    pattern = r"time\.time|(datetime\.)?datetime\.now"
    assert [name for name in calls if re.fullmatch(pattern, name)] == []


def test_names_of_test_files_are_unique():
    """A checker of types reads all folders of tests as one."""
    names = [path.name for path in FILES if path.name.startswith("test_")]
    assert len(names) == len(set(names))


def test_scripts_are_executable():
    listed = ["git", "ls-files", "--stage", "scripts", ".ci"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    for line in files.stdout.splitlines():
        mode, _, _, name = line.split(maxsplit=3)
        with (ROOT / name).open("rb") as file:
            assert file.read(2) != b"#!" or mode == "100755", name
