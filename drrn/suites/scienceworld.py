"""ScienceWorld: thirty tasks of elementary science, by its own simulator in Java."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drrn.errors import InputError, did_you_mean, require
from drrn.suites.catalogue import SUITES
from drrn.suites.environment import LOST, NO_LIMIT, WON, SuitePage, listed_actions, text_of_parts

SUITE = SUITES["scienceworld"]


class ScienceWorldEnvironment:
    """A task of ScienceWorld. An episode's seed chooses a variation of the fold; the score goes from 0 to 100, and to
    -100 where the wrong thing was focused on."""

    def __init__(self, game: str, options: Mapping[str, Any]) -> None:
        self.env = require(SUITE.module, SUITE.name).ScienceWorldEnv("", envStepLimit=NO_LIMIT)
        self.wanted = options["text"].split(",")
        self.simplifications = options["simplifications"]
        names = list(self.env.get_task_names())
        if game not in names:
            near = did_you_mean(game, names)
            raise InputError(
                f'{SUITE.title} has no task "{game}".{near} Its tasks: {", ".join(names)}'
            )
        self.task = game
        self._load(options["variation"] or 0)
        self.variations = self._of_fold(options)

    def reset(self, seed: int) -> SuitePage:
        variation = self.variations[seed % len(self.variations)]
        if variation != self.loaded:
            self._load(variation)
        observation, shown = self.env.reset()
        return self._page(observation, shown, done=False)

    def step(self, action: str) -> SuitePage:
        observation, _, done, shown = self.env.step(action)
        return self._page(observation, shown, done)

    def close(self) -> None:
        self.env.close()

    def _load(self, variation: int) -> None:
        most = self.env.get_max_variations(self.task)
        if not 0 <= variation < most:
            raise InputError(
                f"scienceworld:{self.task}: variation is {variation}; it has those from 0 to {most - 1}"
            )
        try:
            self.env.load(self.task, variation, self.simplifications)
        except ValueError as error:
            raise InputError(f"scienceworld:{self.task}: {error}") from error
        self.loaded = variation

    def _of_fold(self, options: Mapping[str, Any]) -> list[int]:
        if options["variation"] is not None:
            return [options["variation"]]
        lists = {"train": self.env.get_variations_train, "dev": self.env.get_variations_dev}
        return list(lists.get(options["fold"], self.env.get_variations_test)())[
            : options["variations"]
        ]

    def _page(self, observation: str, shown: Mapping[str, Any], done: bool) -> SuitePage:
        parts = {
            "observation": observation,
            "look": shown["look"],
            "inventory": shown["inv"],
            "task": shown["taskDesc"],
        }
        score = float(shown["score"])
        ending = None if not done else WON if score >= 100 else LOST
        return SuitePage(
            text_of_parts(parts, self.wanted), listed_actions(shown["valid"]), score, ending
        )
