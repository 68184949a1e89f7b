"""Python files as trees to look at, and what they import."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def trees(folder: Path) -> list[tuple[Path, ast.Module]]:
    """Every Python file under a folder, and its tree."""
    return [
        (path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(folder.rglob("*.py"))
    ]


def imports_of(tree: ast.Module) -> Iterator[str]:
    """The dotted names that a file imports, inside functions too; of `from a import b` both `a` and `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"line {node.lineno}: imports are absolute here"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_inside(module: str, room: str) -> bool:
    """Whether a dotted name is a room or something in it."""
    return module == room or module.startswith(f"{room}.")
