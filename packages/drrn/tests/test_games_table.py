"""The table of `drrn games` agrees with the games."""

from pathlib import Path

import pytest

import drrn.cli
from drrn.cli.games import facts_of
from textgames.diagnostics import DIAGNOSTICS
from textgames.files import read_toml
from textgames.openers import BUILT_IN, WORLDS

GAMES = read_toml(Path(drrn.cli.__file__).with_name("games.toml"))


@pytest.mark.parametrize("name", [*BUILT_IN, *WORLDS])
def test_the_facts_of_named_games_are_those_of_the_games(name, shared_compile_cache):
    assert GAMES["games"][name]["facts"] == facts_of(name)


def test_the_listed_diagnostics_are_all_of_them():
    assert GAMES["diagnostics"] == list(DIAGNOSTICS)
