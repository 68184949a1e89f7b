"""Parser games: worlds in which every page offers the same commands, verbs times objects."""

from pathlib import Path

from textgames.files import read_toml
from textgames.openers import GameSpec, Opener
from textgames.worlds.errand_world import ErrandWorld
from textgames.worlds.home_world import HomeWorld
from textgames.worlds.parser_world import ParserWorld


def open_world_of(spec: GameSpec) -> ParserWorld:
    """Open the built-in world that a spec names. Called by `make`."""
    name = spec.source
    table = read_toml(Path(__file__).with_name(f"{name}.toml"))
    world = ErrandWorld if "errand" in table else HomeWorld
    return world(name, table, shuffle=spec.shuffle)


OPENER = Opener(open_world_of, "a parser game")
