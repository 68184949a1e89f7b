"""Syntax trees of the Python files of the repository, and their imports."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Each distribution with the folder of its modules.
PACKAGES = {
    "textgames": ROOT / "packages/textgames/textgames",
    "storytest": ROOT / "packages/storytest/storytest",
    "textsuites": ROOT / "packages/textsuites/textsuites",
    "drrn": ROOT / "packages/drrn/drrn",
    "textgames_arena": ROOT / "packages/arena/textgames_arena",
    "textgames_page": ROOT / "packages/page/textgames_page",
    "lab": ROOT / "lab",
}
NAME = re.compile(rf"({'|'.join(PACKAGES)})(\.[a-z_]\w*)+(:\w+)?")


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax tree of each module, by its dotted name. Tests are left out."""
    trees = {}
    for folder in PACKAGES.values():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            if "tests" not in parts:
                name = ".".join(parts).removesuffix(".__init__")
                trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    return trees


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a file imports; `from a import b` yields a and a.b.

    A text that is the name of a module of ours, or module:attribute, is an import as well.
    """
    documentation = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            documentation.add(node.value)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"line {node.lineno}: imports must be absolute"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Constant)
            and node not in documentation
            and isinstance(node.value, str)
            and NAME.fullmatch(node.value)
        ):
            yield node.value.partition(":")[0]


def imported_at_the_top(tree: ast.Module) -> Iterator[str]:
    """Yield what a module imports when it is imported itself."""
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from imports_of(node)


def is_inside(module: str, package: str) -> bool:
    """Whether a dotted name is a package or a part of it."""
    return module == package or module.startswith(f"{package}.")
