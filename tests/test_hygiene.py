"""Rules for the tests: helpers are in modules of helpers, and no test reads the clock."""

import ast
import re
from pathlib import Path

import pytest

from tests.source_code import imports_of, trees

TESTS = Path(__file__).parent
CLOCK = re.compile(
    "(monotonic|perf_counter|process_time|thread_time|time)_ns|"
    "monotonic|perf_counter|process_time|timeit"
)


@pytest.fixture(params=trees(TESTS), ids=lambda entry: entry[0].stem)
def tree(request):
    """Syntax tree of a test file."""
    return request.param[1]


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
