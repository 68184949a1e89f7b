"""Compare the exact odds of hosted stories with random play by their own engines.

    python benchmarks/story_odds.py STORY ... [--games 2000] [--straight 50] [--seed 0]

Each ending's share of the games is compared with its exact probability, in standard errors. Some games are played in one
engine from start to end, without restoring or caching: every page that they show must be one that the compiled game can
show there. Needs storytest.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import drrn
from storytest.hosted.game import HostedGame
from storytest.hosted.session import Session
from storytest.hosted.stage import Arrival, Moment, Stage
from textgames.compiled.compile import compile_game
from textgames.compiled.game import Compiled
from textgames.compiled.search import EndingId
from textgames.compiled.solve import random_play
from textgames.errors import InputError
from textgames.game.contract import Observation


class StraightStage(Stage):
    """A stage that plays each episode in one engine from start to end, without a cache."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.open_session, stage.identity, stage.source)
        self.start = stage.start
        self.session: Session | None = None

    def follow(self, moment: Moment, link: int, key: int) -> Moment:
        if moment is self.start:
            self.close()
            self.session = self.open_session()
        assert self.session is not None
        return Moment(self._take(self.session, Arrival(moment, link, key, ())))

    def close(self) -> None:
        if self.session is not None:
            self.session.close()


class Follower:
    """Follows a game through the compiled game: tracks the states that it may be in."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        opening = slice(0, int(compiled.row_first[1]))
        self.first = {int(state) for state in compiled.successor[opening]}
        self.states: set[int] = set()

    def begin(self, seen: Observation) -> bool:
        self.states = {state for state in self.first if self._shows(state, seen)}
        return bool(self.states)

    def step(self, action: str, seen: Observation) -> bool:
        """Whether the compiled game can show this page after this action."""
        compiled = self.compiled
        reached = set()
        for state in self.states:
            for slot in range(int(compiled.first[state]), int(compiled.first[state + 1])):
                if compiled.actions[compiled.action[slot]] == action:
                    reached |= {int(after) for after in compiled.successor[compiled.outcomes(slot)]}
        self.states = {state for state in reached if self._shows(state, seen)}
        return bool(self.states)

    def _shows(self, state: int, seen: Observation) -> bool:
        compiled = self.compiled
        page = compiled.page[state]
        actions = compiled.page_action[compiled.page_first[page] : compiled.page_first[page + 1]]
        same_text = compiled.texts[compiled.page_text[page]] == seen.text
        return same_text and sorted(compiled.actions[action] for action in actions) == sorted(
            seen.actions
        )


@dataclass(frozen=True)
class Finding:
    """The results of one story."""

    states: int
    seconds: float  # to compile it
    endings: int
    deviation: float  # the largest of any ending's share from its odds, in standard errors
    of: str  # that ending
    strayed: int  # straight games that showed a page the compiled game does not
    first: str  # where the first of them did


def play(
    game: HostedGame, seed: int, watch: Callable[[str | None, Observation], bool]
) -> tuple[EndingId | None, bool]:
    """Play a random game; return its ending (None at the step limit) and whether `watch` accepted every page."""
    choose = random.Random(seed)
    seen = game.reset(seed)
    agreed = watch(None, seen)
    for _ in range(game.max_steps):
        if seen.ended or not agreed:
            break
        index = choose.randrange(len(seen.actions))
        action = seen.actions[index]
        seen = game.step(index)
        agreed = watch(action, seen)
    assert game.state is not None
    return game.face_at(game.state).ending, agreed


def deviation(
    compiled: Compiled, counts: Counter[EndingId | None], games: int
) -> tuple[float, str]:
    """Return the largest deviation of an ending's share from its probability, in standard errors, and the ending."""
    odds = dict(
        zip(compiled.endings, random_play(compiled, compiled.max_steps).endings, strict=True)
    )
    odds |= {ending: 0.0 for ending in counts if ending is not None and ending not in odds}
    worst = (0.0, "")
    for ending, chance in odds.items():
        chance = min(float(chance), 1.0)
        error = math.sqrt(chance * (1 - chance) / games)
        apart = abs(counts[ending] / games - chance)
        label = f"{ending.passage}: {counts[ending]:,} of {games:,}, odds {chance:.4f}"
        errors = apart / error if error > 1e-9 else math.inf
        if error <= 1e-9 and apart < 1e-6:
            errors = 0.0
        worst = max(worst, (errors, label))
    return worst


def examine(path: str, games: int, straight: int, seed: int, seconds: float) -> Finding:
    """Compile a story, and play it."""
    start = time.perf_counter()
    game = _open(path)
    compiled = compile_game(game, cache=False)
    seconds_to_compile = time.perf_counter() - start
    game.close()
    game = _open(path)
    endings: Counter[EndingId | None] = Counter(
        play(game, seed + n, lambda *_: True)[0] for n in range(games)
    )
    game.close()
    strayed, first = _strayed(path, compiled, straight, seed, seconds)
    worst, of = deviation(compiled, endings, games)
    return Finding(
        len(compiled), seconds_to_compile, len(compiled.endings), worst, of, strayed, first
    )


def _strayed(
    path: str, compiled: Compiled, games: int, seed: int, seconds: float
) -> tuple[int, str]:
    """Play games in one engine each; return how many left the compiled game, and where the first did."""
    game = _open(path)
    game.stage = StraightStage(game.stage)
    follower = Follower(compiled)
    places: list[str] = []
    start = time.perf_counter()

    def watch(action: str | None, seen: Observation) -> bool:
        if follower.begin(seen) if action is None else follower.step(action, seen):
            return True
        places.append(f"after {action!r}: {seen.text[:60]!r} {list(seen.actions)}")
        return False

    for number in range(games):
        if time.perf_counter() - start > seconds:
            break
        play(game, seed + number, watch)
    game.close()
    return len(places), places[0] if places else ""


def _open(path: str) -> HostedGame:
    game = drrn.make(path, engine="hosted")
    assert isinstance(game, HostedGame)
    return game


def main() -> None:
    parser = argparse.ArgumentParser(description="Exact odds of hosted stories against play.")
    parser.add_argument("stories", nargs="+", metavar="STORY")
    parser.add_argument(
        "--games",
        type=int,
        default=2000,
        help="played with pages remembered (default: %(default)s)",
    )
    parser.add_argument(
        "--straight", type=int, default=50, help="played straight through (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=60, help="for those, at most (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(
        "| story | states | compiled in s | endings | largest deviation | of | pages that strayed |",
        flush=True,
    )
    print("| --- " * 7 + "|", flush=True)
    for path in options.stories:
        try:
            finding = examine(path, options.games, options.straight, options.seed, options.seconds)
        except InputError as error:
            print(f"| {path} | {' '.join(str(error).split())} |", flush=True)
            continue
        strayed = f"{finding.strayed} {finding.first}".strip()
        cells = [
            path,
            f"{finding.states:,}",
            f"{finding.seconds:.1f}",
            str(finding.endings),
            f"{finding.deviation:.2f}",
        ]
        print("| " + " | ".join([*cells, finding.of, strayed]) + " |", flush=True)


if __name__ == "__main__":
    main()
