"""The clicks of a game, kept so that it can be played again: in a report, in a file, by `drrn play --path FILE`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import read_text
from drrn.game.contract import Game, Observation
from drrn.game.enumerable import Enumerable
from drrn.stories.hosted.stage import LostError, UnlistedError

MOST_SEEDS = 300  # that are tried where a path needs luck and names no seed
MOST_OUTCOMES = 50_000  # of actions, that are looked at where a path needs luck

Taken = tuple[
    Observation, "int | None"
]  # a page, and the number of the action taken there; None: none


@dataclass(frozen=True)
class ClickPath:
    """The actions of a game from its start, by their words and by their numbers in the story's own order."""

    actions: tuple[str, ...] = ()
    choices: tuple[int, ...] = ()  # from 0; () where only the words are known
    seed: int | None = None  # of the game's chance; None: any by which the actions can be taken
    chances: tuple[
        float, ...
    ] = ()  # how likely each step led onward as it did; () where that is not known
    comes_to: str = ""  # the text of the last page

    def __len__(self) -> int:
        return len(self.actions)


def write_path(path: ClickPath, file: Path, story: str, why: str) -> None:
    """Keep a path in a JSON file."""
    table = {"story": story, "why": why, **asdict(path)}
    file.write_text(json.dumps(table, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_path(file: Path) -> ClickPath:
    """The path in a JSON file, or in a text file with one action on each line."""
    text = read_text(file)
    if not text.lstrip().startswith("{"):
        return ClickPath(tuple(line.strip() for line in text.splitlines() if line.strip()))
    try:
        return _path_of(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"{file}: no path that drrn test wrote: write one action on each line instead"
        ) from error


def _path_of(table: dict[str, Any]) -> ClickPath:
    actions = tuple(map(str, table["actions"]))
    choices = tuple(map(int, table.get("choices", ())))
    if choices and len(choices) != len(actions):
        raise ValueError("each action has a number, or none has")
    seed = None if table.get("seed") is None else int(table["seed"])
    return ClickPath(
        actions, choices, seed, tuple(map(float, table.get("chances", ()))), str(table["comes_to"])
    )


def replayed(game: Game, path: ClickPath) -> list[Taken]:
    """The pages of the path with the action taken on each; the game must show its actions in the story's own order."""
    if path.seed is None and isinstance(game, Enumerable) and (found := _by_outcomes(game, path)):
        return found
    best: list[Taken] = []
    for seed in _seeds(path):
        pages = list(_played(game, path, seed))
        whole = len(pages) == len(path) + 1
        if whole and (not path.comes_to or pages[-1][0].text == path.comes_to):
            return pages
        best = max(best, pages, key=len)
    shown = best[-1][0]
    number = len(best)
    if len(best) <= len(path):
        offered = (
            ", ".join(f'"{action}"' for action in shown.actions) or "none: the story has ended"
        )
        raise InputError(
            f'{game.name}: action {number} of the path, "{path.actions[number - 1]}", is not offered there '
            f"(offered: {offered}): the story has changed since, or chance falls otherwise"
        )
    return best


def _by_outcomes(game: Enumerable, path: ClickPath) -> list[Taken] | None:
    """The path by whatever luck it needs, from what the game lists; None where that does not lead to its end."""
    try:
        return next(_onward(game, path, 0, game.opening(), [MOST_OUTCOMES]), None)
    except (InputError, LostError, UnlistedError):
        return None


def _onward(
    game: Enumerable, path: ClickPath, number: int, outcomes: Any, left: list[int]
) -> Iterator[list[Taken]]:
    """The ways to take the actions from a number on, depth first."""
    for _, state in outcomes:
        left[0] -= 1
        if left[0] < 0:
            return
        shown = game.look(state)
        if number == len(path):
            if not path.comes_to or shown.text == path.comes_to:
                yield [(shown, None)]
            continue
        index = _index(shown, path.actions[number], path.choices[number] if path.choices else None)
        if index is not None:
            for rest in _onward(game, path, number + 1, game.outcomes(state, index), left):
                yield [(shown, index), *rest]


def _seeds(path: ClickPath) -> Iterator[int]:
    yield from range(MOST_SEEDS) if path.seed is None else (path.seed,)


def _played(game: Game, path: ClickPath, seed: int) -> Iterator[Taken]:
    """Play as far as the actions are offered."""
    shown = game.reset(seed)
    for number, words in enumerate(path.actions):
        index = _index(shown, words, path.choices[number] if path.choices else None)
        yield shown, index
        if index is None:
            return
        shown = game.step(index)
    yield shown, None


def _index(shown: Observation, words: str, choice: int | None) -> int | None:
    """The number of an action by its words; several may have the same."""
    if choice is not None and choice < len(shown.actions) and shown.actions[choice] == words:
        return choice
    return shown.actions.index(words) if words in shown.actions else None
