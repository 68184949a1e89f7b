"""Games that people finished on the page (drrn serve).

The page appends a line to games.jsonl in DRRN_HOME (or ~/.drrn) for each finished game, unless the
agent helped or steps were taken back. The arena plays it again, and follows it in the compiled
game, where Q* is known.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from drrn.compiled.oracle import CLOSE, SolvedCompiled
from drrn.errors import InputError
from drrn.files import home, make_folder, read_text
from drrn.game.contract import Game, Observation

ANOTHER_VERSION = "a person played another version of this game; remove it from games.jsonl"


@dataclass(frozen=True)
class PersonGame:
    """A finished game of a person."""

    player: str
    game: str
    source: str
    seed: int
    choices: list[int]  # indices of actions in the author's order


def games_file() -> Path:
    """Return the path of games.jsonl."""
    return home() / "games.jsonl"


def save_game(game: PersonGame) -> None:
    """Append a finished game."""
    make_folder(home())
    with games_file().open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(game)) + "\n")


def read_games() -> list[PersonGame]:
    """Return all games that people finished, the oldest first."""
    path = games_file()
    lines = read_text(path).splitlines() if path.exists() else []
    try:
        return [PersonGame(**json.loads(line)) for line in lines]
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: damaged: {error}; delete the line, or the file") from error


class FollowedGame(SolvedCompiled):
    """A solved game in the states of the original, which is played at the same time."""

    def __init__(self, game: SolvedCompiled, original: Game) -> None:
        self.__dict__.update(game.another().__dict__)
        self.original = original

    def reset(self, seed: int | None = None) -> Observation:
        self.steps = 0
        return self._arrive(self.original.reset(seed), 0)

    def step(self, index: int) -> Observation:
        self.steps += 1
        return self._arrive(self.original.step(index), int(self.game.row[self.game.slots[index]]))

    def _arrive(self, page: Observation, row: int) -> Observation:
        """Go to the outcome of a row that shows a page."""
        graph = self.game
        for state in graph.successor[graph.row_outcomes(row)].tolist():
            shown = graph.go_to(state)
            same = (shown.text, tuple(shown.actions)) == (page.text, tuple(page.actions))
            if same and abs(shown.reward - page.reward) < CLOSE:
                return self._show(shown)
        raise InputError(f"{self.name}: {ANOTHER_VERSION}")
