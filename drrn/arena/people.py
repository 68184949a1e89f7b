"""People as players: `person:NAME` has the games that a person finished on the page.

The page appends a line to games.jsonl in DRRN_HOME (or ~/.drrn) for each finished game: who played,
which game, the seed and the choices. Games with help, or with steps taken back, are not saved. The
arena plays them again and follows them in the compiled game, where Q* is known.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from drrn.arena.match import Match, Result
from drrn.arena.players import Player
from drrn.arena.tournament import Contest
from drrn.compiled.game import Compiled
from drrn.compiled.oracle import CLOSE, SolvedCompiled, SolvedGame
from drrn.errors import InputError
from drrn.files import home, make_folder, read_text
from drrn.game.contract import Observation


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


class PersonPlayer(Player):
    """The games of a person, in the order in which they were played."""

    def __init__(self, name: str, person: str) -> None:
        games = read_games()
        self.games = [game for game in games if game.player == person]
        if not self.games:
            known = ", ".join(sorted({game.player for game in games})) or "nobody"
            cure = "finish a game on the page (drrn serve) under this name"
            raise InputError(f'person "{person}": no finished games, only of {known}; {cure}')
        super().__init__(name)

    def prepare(self, contest: Contest, seeds: Sequence[int]) -> Sequence[int]:
        """Return the numbers of the person's games; their seeds are those of the page."""
        self.spec = replace(contest.spec, shuffle=False)
        names = (contest.name, self.spec.source)
        self.played = [each for each in self.games if each.game in names or each.source in names]
        return range(0 if contest.words else len(self.played))

    def play(self, game: SolvedGame, seed: int) -> Result:
        played = self.played[seed]
        if not isinstance(game, SolvedCompiled):
            raise InputError(f"{game.name}: games of people can be followed in compiled games only")
        states = _follow(game.game, self._pages(played), played.choices)
        if not states:
            cause = f"the game of {played.player} with seed {played.seed}"
            raise InputError(f"{game.name}: {cause} was played in another version of the story")
        match = Match(Replay(game, states))
        match.start(seed)
        for index in played.choices:
            match.decide(index)
        return match.result()

    def _pages(self, played: PersonGame) -> list[Observation]:
        original = self.spec.open()
        pages = [original.reset(played.seed)]
        for index in played.choices:
            if index < len(pages[-1].actions):
                pages.append(original.step(index))
        return pages


class Replay(SolvedCompiled):
    """A solved game that shows the states of an episode that was played."""

    def __init__(self, game: SolvedCompiled, states: Sequence[int]) -> None:
        self.__dict__.update(game.another().__dict__)
        self.states = states

    def reset(self, seed: int | None = None) -> Observation:
        self.steps = 0
        return self._show(self.game.go_to(self.states[0]))

    def step(self, index: int) -> Observation:
        self.steps += 1
        return self._show(self.game.go_to(self.states[self.steps]))


def _follow(graph: Compiled, pages: Sequence[Observation], choices: Sequence[int]) -> list[int]:
    """Return states that show these pages, one after the other; nothing if there are none."""
    if len(pages) != len(choices) + 1 or not pages[-1].ended:
        return []
    graph = graph.another()
    paths: list[list[int]] = [[]]
    for page, index in zip(pages, (0, *choices), strict=True):
        longer: dict[int, list[int]] = {}
        for path in paths:
            row = int(graph.row[graph.first[path[-1]] + index]) if path else 0
            for state in graph.successor[graph.row_outcomes(row)].tolist():
                if _is_same(graph.go_to(state), page):
                    longer.setdefault(state, [*path, state])
        paths = list(longer.values())
    return paths[0] if paths else []


def _is_same(page: Observation, other: Observation) -> bool:
    same = (page.text, tuple(page.actions)) == (other.text, tuple(other.actions))
    return same and abs(page.reward - other.reward) < CLOSE
