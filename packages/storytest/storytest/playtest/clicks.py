"""Paths through a game: the actions of an episode, to be reported, saved and replayed."""

import itertools
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from storytest.hosted.game import HostedGame
from textgames.errors import InputError
from textgames.files import read_text
from textgames.game.contract import Game, Observation, is_stopped

NUMBERS = re.compile(r"(\d+(?:,\d+)*)(?:@(\d+)([ct]?))?")  # a path as `ClickPath.numbers` writes it

HOW = ("", "t", "c")  # at its end, for each kind of player: see `ClickPath.curious`

# A page and the index of the action taken there; None on the last page.
Click = tuple[Observation, int | None]


@dataclass(frozen=True)
class ClickPath:
    """The actions of an episode from its start."""

    actions: tuple[str, ...] = ()
    choices: tuple[int, ...] = ()  # their indices in the story's order; () if unknown
    seed: int | None = None  # of the episode; None: any seed that allows the actions
    chances: tuple[float, ...] = ()  # probability that each step led onward; () if unknown
    comes_to: str = ""  # text of the last page
    # By a player who types likely words (1), and does not always wait for timers (2).
    curious: int = 0
    typed: tuple[str, ...] = ()  # words that this player typed on each page; () if none

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def numbers(self) -> str:
        """Numbers of choices from 1, and the seed, for `--path`.

        There are none ("") if they would leave draws open.
        """
        by_chance = self.seed is None and any(chance < 1 for chance in self.chances)
        if by_chance or len(self.choices) != len(self.actions):
            return ""
        seed = f"@{self.seed}" if self.seed is not None and self.choices else ""
        how = HOW[self.curious] if seed else ""
        return ",".join(str(choice + 1) for choice in self.choices) + seed + how


def write_path(path: ClickPath, file: Path, story: str, why: str) -> None:
    """Save a path as JSON, with the story's name and the reason why it is of interest."""
    table = {"story": story, "why": why, **asdict(path)}
    file.write_text(json.dumps(table, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_path(file: Path) -> ClickPath:
    """Read a path from numbers, from JSON, or from a text file with one action per line."""
    if not file.exists() and (match := NUMBERS.fullmatch(str(file))):
        choices = tuple(int(number) - 1 for number in match[1].split(","))
        seed = int(match[2]) if match[2] else None
        return ClickPath(("",) * len(choices), choices, seed, curious=HOW.index(match[3] or ""))
    text = read_text(file)
    if not text.lstrip().startswith("{"):
        return ClickPath(tuple(line.strip() for line in text.splitlines() if line.strip()))
    try:
        return path_of(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"{file}: not a path written by storytest; use a text file with one action per line"
        ) from error


def path_of(table: Mapping[str, Any]) -> ClickPath:
    """The path of its JSON.

    Raises:
        ValueError, TypeError, KeyError: It is not the JSON of a path.
    """
    actions = tuple(map(str, table["actions"]))
    choices = tuple(map(int, table.get("choices", ())))
    chances = tuple(map(float, table.get("chances", ())))
    seed = None if table.get("seed") is None else int(table["seed"])
    words = table.get("typed", [])
    if not isinstance(words, list) or not all(isinstance(one, str | None) for one in words):
        raise ValueError("typed words must be a list of texts")
    count = len(actions)
    # A path that ends in an error has no last page, and so no words there.
    sizes = len(choices) in (0, count), len(chances) in (0, count)
    if not all(sizes) or len(words) not in (0, count, count + 1):
        raise ValueError("a list must have an entry for every action, or none")
    curious = min(2, max(0, int(table.get("curious", 0))))
    typed = tuple(one or "" for one in words)
    return ClickPath(actions, choices, seed, chances, str(table["comes_to"]), curious, typed)


def replay_episode(
    game: Game, path: ClickPath, seconds: float = 10.0, seeds: int = 300
) -> tuple[int, list[Click]]:
    """Play a path as an episode.

    The game must have its actions in the story's own order (`shuffle=False`). Without a seed, one
    is searched for that many seconds. At most `seeds` are tried for a path that may be impossible.

    Returns:
        The seed, and the pages, each with the index of the action taken there.

    Raises:
        InputError: An action is not offered.
    """
    until = time.monotonic() + seconds
    longest: list[Click] = []
    number = 0
    for seed in itertools.count() if path.seed is None else (path.seed,):
        clicks = list(follow(game, path, seed))
        is_whole = len(clicks) == len(path) + 1
        if is_whole and (not path.comes_to or clicks[-1][0].text == path.comes_to):
            return seed, clicks
        if len(clicks) > len(longest):
            longest = clicks
            number = seed
        if time.monotonic() > until or (seed >= seeds and not path.chances):
            break
    if len(longest) > len(path):
        return number, longest
    number = len(longest)
    page = longest[-1][0]
    offers = ", ".join(f'"{action}"' for action in page.actions) or "none: the story has ended"
    action = path.actions[number - 1] or f"choice {path.choices[number - 1] + 1}"
    raise InputError(
        f'{game.name}: action {number} of the path, "{action}", is not offered '
        f"there (offered: {offers}); the story has changed, or a random draw differs"
    )


def follow(game: Game, path: ClickPath, seed: int) -> Iterator[Click]:
    """Play a path as far as its actions are offered. Yields its pages, with words typed there."""
    if isinstance(game, HostedGame):
        game.walks = path.curious > 0
        game.curious = path.curious
    page = game.reset(seed)
    for number in range(len(path)):
        index = _index(page, path, number)
        words = game.state.moment.page.words if isinstance(game, HostedGame) else ""
        note = f"\n\n(You type “{words}”.)" if words else ""
        yield replace(page, text=page.text + note), index
        if index is None or is_stopped(game):
            return
        page = game.step(index)
    yield page, None


def _index(page: Observation, path: ClickPath, number: int) -> int | None:
    """The index of an action of the path on a page, where several may have the same words."""
    words = path.actions[number]
    if path.choices:
        choice = path.choices[number]
        if 0 <= choice < len(page.actions) and words in ("", page.actions[choice]):
            return choice
    return page.actions.index(words) if words in page.actions else None
