"""The worlds that can be opened by name; their sentences are data beside the code."""

from __future__ import annotations

import sys
from importlib import resources
from typing import Any

from drrn.game.make import GameSpec
from drrn.worlds.errand_world import ErrandWorld
from drrn.worlds.home_world import Home, HomeWorld
from drrn.worlds.parser_world import ParserWorld

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def open_world_of(spec: GameSpec) -> ParserWorld[Any]:
    """Open the world that a spec names; called by `make`."""
    return open_world(spec.source, shuffle=spec.shuffle)


def open_world(name: str, *, shuffle: bool = True) -> ParserWorld[Any]:
    """A built-in world by its name."""
    table = tomllib.loads(
        (resources.files("drrn.worlds") / f"{name}.toml").read_text(encoding="utf-8")
    )
    if "errand" in table:
        return ErrandWorld(name, table, shuffle=shuffle)
    return HomeWorld(name, Home.read(table), shuffle=shuffle)
