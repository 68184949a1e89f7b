"""TextWorld: a game file that it made, with the commands that it admits at each step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drrn.errors import InputError, require
from drrn.suites.catalogue import SUITES
from drrn.suites.environment import LOST, WON, SuitePage, listed_actions, text_of_parts

SUITE = SUITES["textworld"]


class TextWorldEnvironment:
    """A file of TextWorld. Its step tells the score so far, and its feedback ends in a status line: the text is the
    room's description and the inventory, unless the feedback is asked for."""

    def __init__(self, game: str, options: Mapping[str, Any]) -> None:
        textworld = require(SUITE.module, SUITE.name)
        self.wanted = options["text"].split(",")
        if not Path(game).with_suffix(".json").is_file():
            raise InputError(
                f"{game}: there is no {Path(game).stem}.json beside it, which tw-make writes, so its commands are not "
                f"known: make the game again by tw-make, or open one that is not TextWorld's as jericho:{game}"
            )
        asked = dict.fromkeys([*self.wanted, "admissible_commands", "score", "won", "lost"], True)
        try:
            self.env = textworld.start(game, textworld.EnvInfos(**asked))
        except (ValueError, OSError, KeyError) as error:
            raise InputError(f"{game}: not a game of TextWorld: {error}") from error

    def reset(self, seed: int) -> SuitePage:
        return self._page(self.env.reset(), done=False)

    def step(self, action: str) -> SuitePage:
        shown, _, done = self.env.step(action)
        return self._page(shown, done)

    def close(self) -> None:
        self.env.close()

    def _page(self, shown: Mapping[str, Any], done: bool) -> SuitePage:
        if shown.get("admissible_commands") is None:
            raise InputError("TextWorld lists no commands of this game: make it again by tw-make")
        ending = WON if shown.get("won") else LOST if shown.get("lost") else None
        parts = {**shown, "feedback": without_status(shown.get("feedback") or "")}
        actions = listed_actions(shown["admissible_commands"])
        return SuitePage(
            text_of_parts(parts, self.wanted),
            actions,
            float(shown["score"] or 0),
            ending,
            done and not ending,
        )


def without_status(feedback: str) -> str:
    """The feedback without the prompt and the status line (room, score, moves) that end it."""
    return feedback.rpartition("\n>")[0] if "\n>" in feedback else feedback
