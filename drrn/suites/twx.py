"""TextWorldExpress: coin collector, cooking, common sense and others, by its own simulator in Java."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drrn.errors import InputError, did_you_mean, require
from drrn.suites.catalogue import SUITES
from drrn.suites.environment import LOST, NO_LIMIT, WON, SuitePage, listed_actions, text_of_parts

SUITE = SUITES["twx"]


class TwxEnvironment:
    """A game of TextWorldExpress. Its variations are its seeds: an episode's seed chooses among those of a fold."""

    def __init__(self, game: str, options: Mapping[str, Any]) -> None:
        self.env = require(SUITE.module, SUITE.name).TextWorldExpressEnv(envStepLimit=NO_LIMIT)
        self.wanted = options["text"].split(",")
        self.fold = options["fold"]
        self._load(
            game, {key: value for key, value in options.items() if key not in SUITE.all_options}
        )
        self.seeds = (
            [options["seed"]]
            if options["seed"] is not None
            else self._of_fold(options["variations"])
        )

    def reset(self, seed: int) -> SuitePage:
        _, shown = self.env.reset(seed=self.seeds[seed % len(self.seeds)], gameFold=self.fold)
        return self._page(shown, done=False)

    def step(self, action: str) -> SuitePage:
        _, _, done, shown = self.env.step(action)
        return self._page(shown, done)

    def close(self) -> None:
        self.env.close()

    def _load(self, game: str, properties: Mapping[str, Any]) -> None:
        names = self.env.getGameNames()
        if game not in names:
            near = did_you_mean(game, [*names, *SUITE.aliases])
            raise InputError(
                f'{SUITE.title} has no game "{game}".{near} Its games: {", ".join(names)}'
            )
        try:
            self.env.load(game, ",".join(f"{key}={value}" for key, value in properties.items()))
        except ValueError as error:
            known = str(error).partition("Known properties:")[2].strip(" .").split(", ")
            near = next(
                (
                    found
                    for key in properties
                    if key not in known and (found := did_you_mean(key, known))
                ),
                "",
            )
            raise InputError(f"{SUITE.name}:{game}: {str(error).strip()}{near}") from error

    def _of_fold(self, variations: int | None) -> list[int]:
        seeds = {"train": self.env.getValidSeedsTrain, "dev": self.env.getValidSeedsDev}
        return list(seeds.get(self.fold, self.env.getValidSeedsTest)())[:variations]

    def _page(self, shown: Mapping[str, Any], done: bool) -> SuitePage:
        won = shown["tasksuccess"] or shown["score"] >= 1
        lost = shown["taskfailure"]
        text = text_of_parts({**shown, "task": shown.get("taskDescription")}, self.wanted)
        ending = WON if won else LOST if lost else None
        stopped = bool(done) and ending is None  # its own limit of steps, which is no ending
        return SuitePage(
            text, listed_actions(shown["validActions"]), float(shown["score"]), ending, stopped
        )
