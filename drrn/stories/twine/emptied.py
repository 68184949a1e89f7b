"""Lenient play that leaves nothing to play: said in a sentence, so that an empty game never passes for a whole one."""

from __future__ import annotations

from itertools import islice

from drrn.errors import InputError
from drrn.stories.twine.script import Problem
from drrn.stories.twine.story_game import StoryGame

MOST_OPENINGS = 100  # by lot; more are not looked through


def note_an_empty_opening(game: StoryGame) -> None:
    """Add to the problems that the opening page has no text or no actions, where something was left out."""
    if not game.problems or len(game.story.pages) < 2:
        return
    try:
        openings = [state.scene for _, state in islice(game.opening(), MOST_OPENINGS)]
    except InputError:  # said when it is played
        return
    has = {
        "text": any(scene.text for scene in openings),
        "any action": any(scene.moves for scene in openings),
    }
    if lacks := [what for what, found in has.items() if not found]:
        start = game.story.passages[game.story.start]
        what = f"what was left out leaves the opening page without {' and without '.join(lacks)}"
        lost = ", so that no other passage can be reached" if "any action" in lacks else ""
        game.script.problems.append(Problem(start.line, start.name, what + lost))
