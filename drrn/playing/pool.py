"""Lanes in other processes, for games that are slow to step: each process makes the game anew by its name."""

from __future__ import annotations

import traceback
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from drrn.errors import InputError
from drrn.games import Game, recipe_of
from drrn.games.make import Recipe
from drrn.playing.lanes import Lanes, LocalLanes, Seen
from drrn.processes import Worker

Question = tuple[str, Sequence[int], Sequence[int]]  # begin or step, lanes, seeds or places


class PooledLanes:
    """Lane i is played by process i modulo their number. What is shown does not depend on how many there are."""

    def __init__(self, recipe: Recipe, workers: int) -> None:
        self.workers = [Worker(_serve, recipe) for _ in range(workers)]
        self.close = weakref.finalize(self, _stop, self.workers)  # ends the processes, at the latest when this is gone
        for worker in self.workers:  # each says how many lanes it can have, once it has made the game
            self.most: int | None = self._answer(worker)

    def begin(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[Seen]:
        return self._asked("begin", lanes, seeds)

    def step(self, lanes: Sequence[int], places: Sequence[int]) -> list[Seen]:
        return self._asked("step", lanes, places)

    def _asked(self, what: str, lanes: Sequence[int], numbers: Sequence[int]) -> list[Seen]:
        """Each process gets its share, all at once; the answers come in the order of the lanes."""
        count = len(self.workers)
        shares = [[at for at, lane in enumerate(lanes) if lane % count == number] for number in range(count)]
        busy = [(worker, share) for worker, share in zip(self.workers, shares, strict=True) if share]
        for worker, share in busy:
            question: Question = (what, [lanes[at] // count for at in share], [numbers[at] for at in share])
            worker.connection.send(question)
        found: dict[int, Seen] = {}
        for worker, share in busy:
            found.update(zip(share, self._answer(worker), strict=True))
        return [found[at] for at in range(len(lanes))]

    def _answer(self, worker: Worker) -> Any:
        try:
            kind, answer = worker.connection.recv()
        except (EOFError, OSError) as error:
            worker.process.join()
            died = f"a process that stepped the game died (exit code {worker.process.exitcode})"
            raise InputError(f"{died}: was there memory enough?") from error
        if kind == "refused":
            raise InputError(answer)
        if kind == "failed":
            raise RuntimeError(f"the game failed in a worker process:\n{answer}")
        return answer


def lanes_of(game: Game, workers: int) -> Lanes:
    """Lanes for a game: in this process, or in so many others, which must be able to make the game by its name."""
    recipe = recipe_of(game)
    if workers == 1:
        return LocalLanes(game)
    if recipe is None:
        raise InputError(f"{game.name}: workers make the game by its name: give it as a name or as module:factory")
    return PooledLanes(recipe, workers)


def _serve(connection: Connection[Any, Any], recipe: Recipe) -> None:
    """Make the game; then answer one question after another."""
    lanes: LocalLanes | None = None
    while True:
        try:
            if lanes is None:
                lanes = LocalLanes(recipe.open())
                answer: Any = lanes.most
            else:
                what, which, numbers = connection.recv()
                answer = lanes.begin(which, numbers) if what == "begin" else lanes.step(which, numbers)
            connection.send(("told", answer))
        except (EOFError, OSError):
            return
        except InputError as error:
            connection.send(("refused", str(error)))
        except Exception:
            connection.send(("failed", traceback.format_exc()))


def _stop(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.stop()
