"""The process of a play-test: it tests a story, tells how far it is, and then answers questions about its map."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from drrn.compiled.compile import MOST_STATES, compile_game
from drrn.compiled.game import Compiled
from drrn.errors import InputError
from drrn.game.episodes import random_policy
from drrn.game.make import GameSpec
from drrn.runs.quick_player import quick_player
from drrn.serve.answers import sendable
from drrn.serve.asking import answer_questions
from drrn.serve.places import CompiledPlaces, seen_places, told_map
from drrn.serve.sampled_odds import sampled_odds
from drrn.stories.map.svg import story_map_svg
from drrn.stories.playtest.playtest import StoryTest
from drrn.stories.playtest.report import report_fragment

TOLD_EVERY = 0.2  # seconds
STOP = signal.SIGUSR1  # what the server sends to have the report of what was found


class TestedStory:
    """A story that is tested here, or was tested before."""

    __test__ = False  # what pytest would otherwise take for a test

    def __init__(self, connection: Connection[Any, Any], recipe: GameSpec) -> None:
        self.connection = connection
        self.recipe = recipe
        self.compiled: Compiled | None = None
        self.told_at = 0.0
        signal.signal(STOP, self._stop)
        self.stopped = False

    def test(self, seconds: float) -> dict[str, Any]:
        """Test the story: its report and its map, each as data and as shown; its places, where it was only seen."""
        test = StoryTest(self.game, seconds, self._progress, quick_player)
        report = test.run()
        self.stopped = True  # from now on there is nothing to stop
        self.compiled = test.compiled
        drawn = test.story_map()
        told = sendable(report)
        told["source"] = Path(told["source"]).name  # where it lies is nobody's business
        seen = seen_places(drawn, test.evidence) if self.compiled is None else None
        return {
            "report": told, "page": report_fragment(report), "map": told_map(drawn), "seen": sendable(seen),
            "svg": story_map_svg(drawn, with_style=False),
        }  # fmt: skip

    def _progress(self, what: str) -> None:
        now = time.monotonic()
        if now < self.told_at + TOLD_EVERY:
            return
        self.told_at = now
        self.connection.send(("progress", what))

    def _stop(self, *_: Any) -> None:
        """As Ctrl-C would: what was found is told."""
        if not self.stopped:
            self.stopped = True
            raise KeyboardInterrupt

    @cached_property
    def game(self) -> Any:
        """The story with its actions in their own order, and without what is not supported, as `drrn test` has it."""
        try:
            return replace(self.recipe, shuffle=False, lenient=True).open()
        except InputError:  # a game that knows no such options
            return self.recipe.open()

    @cached_property
    def places(self) -> CompiledPlaces:
        """Its places; of a story that was tested before, once it is compiled again."""
        if self.compiled is None:
            self.compiled = compile_game(self.game, limit=MOST_STATES)
        return CompiledPlaces(self.game, self.compiled)

    def respond(self, what: str, *arguments: Any) -> Any:
        """Answer a question that comes after the test."""
        if what == "facts":
            return self._facts()
        if what == "sampled":
            return self._sampled(*arguments)
        number, run = arguments
        return self.places.told_place(number, run)

    def _sampled(self, way: Sequence[str], run: str | None) -> dict[str, Any]:
        """What play from where a way leads comes to, by games: random ones, and those of a run's agent."""
        found: dict[str, Any] = {
            "random": sampled_odds(self.game, way, random_policy(0)),
            "best": None,
            "agent": None,
        }
        if run is not None:
            from drrn.runs.agent import Agent

            player = Agent.load(Path(run)).policy("softmax")
            found["agent"] = sampled_odds(self.game, way, player)
        return found

    def _facts(self) -> dict[str, Any]:
        """What a compiled story is, in a few numbers."""
        from drrn.compiled.solve import best, random_play

        c = self.places.compiled
        chance = random_play(c)
        endings = [
            {
                "name": ending.passage,
                "reward": float(c.reward[c.ending_at == number][0]),
                "odds": float(odds),
            }
            for number, (ending, odds) in enumerate(zip(c.endings, chance.endings, strict=True))
        ]
        return {
            "pages": len(c.texts),
            "states": len(c),
            "endings": sorted(endings, key=lambda ending: -ending["odds"]),
            "random": chance.final_reward,
            "best": best(c).score,
        }


def serve_playtest(
    connection: Connection[Any, Any], recipe: GameSpec, seconds: float | None
) -> None:
    """Test the story for so many seconds, unless None; then answer questions."""
    story = TestedStory(connection, recipe)
    if seconds is not None:
        try:
            connection.send(("ready", None))
            done: tuple[str, Any] = ("done", story.test(seconds))
        except InputError as error:
            done = ("failed", str(error))
        except KeyboardInterrupt:  # stopped before there was anything to tell
            done = ("failed", "The play-test was stopped before it had found anything.")
        connection.send(done)
    answer_questions(connection, story.respond)
