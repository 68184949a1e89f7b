"""Syntax trees of Python files, and their imports."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def trees(folder: Path) -> list[tuple[Path, ast.Module]]:
    """Return every Python file of a folder with its syntax tree."""
    return [
        (path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(folder.rglob("*.py"))
    ]


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names that a file imports; `from a import b` yields a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"line {node.lineno}: imports must be absolute"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_inside(module: str, package: str) -> bool:
    """Whether a dotted name is a package or a part of it."""
    return module == package or module.startswith(f"{package}.")
