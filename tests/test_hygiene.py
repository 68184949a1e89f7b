"""The tests themselves: what they share lies in modules of its own, they use public doors, and no clock decides."""

import ast
import re
from pathlib import Path

import pytest

from tests.source_code import imports_of, trees

TESTS = Path(__file__).parent
CLOCK = re.compile(
    "(monotonic|perf_counter|process_time|thread_time|time)_ns|monotonic|perf_counter|process_time|timeit"
)


@pytest.fixture(params=trees(TESTS), ids=lambda found: found[0].stem)
def tree(request):
    return request.param[1]


def test_no_test_file_is_imported(tree):
    modules = [module.removeprefix("tests.") for module in imports_of(tree)]
    assert [module for module in modules if module.startswith(("test_", "conftest"))] == []


def test_no_clock_is_read(tree):
    """A busy machine is no fault of the code; what must not take long is counted instead."""
    names = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    names += [part for module in imports_of(tree) for part in module.split(".")]
    called = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert [name for name in names if CLOCK.fullmatch(name)] == []
    assert [
        name for name in called if re.fullmatch(r"time\.time|(datetime\.)?datetime\.now", name)
    ] == []
