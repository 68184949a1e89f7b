"""Small Twee stories, and typed openers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import textgames

if TYPE_CHECKING:
    from storytest.hosted.game import HostedGame
    from storytest.twine.story_game import TwineGame

# Four pages: going out to sea pays, staying at home does not.
FORK = """\
:: Start
The sea is grey and the wind is north.

[[Go out.|Grey]]
[[Stay in.|Home]]

:: Grey
You are out on the water.

[[Row on.|Island]]
[[Turn back.|Start]]

:: Island
An island, with figs.

:: Home
You stay, and wonder.
"""
REWARDS = "step_reward = -0.1\nmax_steps = 12\n[[ending]]\npassage = 'Island'\nreward = 10\n"
REWARDS += "[[ending]]\npassage = 'Home'\nreward = -10\n"
UP_AND_DOWN = """\
:: Start
<<set $n = prompt("Name?")>>Well, <<$n>>?

[[Up.|Up]]
[[Down.|Down]]

:: Up
The sky is yours now.

:: Down
It is dark. You stay there for good.

:: Attic
Nobody comes here.
"""
SMALL_REWARDS = REWARDS.replace("10", "1").replace("0.1", "0.01")


def open_story(source: str | Path, **options: Any) -> TwineGame:
    """Open a story of the native interpreter."""
    from storytest.twine.story_game import TwineGame

    game = textgames.make(source, **options)
    assert isinstance(game, TwineGame)
    return game


def open_hosted(source: str | Path, **options: Any) -> HostedGame:
    """Open a story that is played by its own engine."""
    from storytest.hosted.game import HostedGame

    game = textgames.make(source, **options)
    assert isinstance(game, HostedGame)
    return game
