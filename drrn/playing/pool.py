"""Lanes in other processes, for games that are slow to step: each process opens the game anew by its name."""

from __future__ import annotations

import contextlib
import traceback
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.make import GameSpec
from drrn.game.optional import close
from drrn.playing.lanes import Lanes, LocalLanes, Seen
from drrn.processes import Worker

Question = tuple[
    int, str, Sequence[int], Sequence[int]
]  # its number, begin or step, lanes, seeds or places


class PooledLanes:
    """Lane i is played by process i modulo their number. What is shown does not depend on how many there are."""

    def __init__(self, recipe: GameSpec, workers: int) -> None:
        self.workers = [Worker(_serve, recipe) for _ in range(workers)]
        self.close = weakref.finalize(
            self, _stop, self.workers
        )  # ends the processes, at the latest when this is gone
        self.asked = (
            0  # questions, so that an answer to one that was given up is not taken for another's
        )
        for (
            worker
        ) in self.workers:  # each says how many lanes it can have, once it has opened the game
            self.most: int = self._answer(worker)

    def begin(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[Seen]:
        return self._ask("begin", lanes, seeds)

    def step(self, lanes: Sequence[int], places: Sequence[int]) -> list[Seen]:
        return self._ask("step", lanes, places)

    def _ask(self, what: str, lanes: Sequence[int], numbers: Sequence[int]) -> list[Seen]:
        """Each process gets its share, all at once; the answers come in the order of the lanes."""
        self.asked += 1
        count = len(self.workers)
        shares = [
            [at for at, lane in enumerate(lanes) if lane % count == number]
            for number in range(count)
        ]
        busy = [
            (worker, share) for worker, share in zip(self.workers, shares, strict=True) if share
        ]
        for worker, share in busy:
            question: Question = (
                self.asked, what, [lanes[at] // count for at in share], [numbers[at] for at in share],
            )  # fmt: skip
            with contextlib.suppress(OSError):  # it died: its answer says so
                worker.connection.send(question)
        found: dict[int, Seen] = {}
        for worker, share in busy:
            found.update(zip(share, self._answer(worker), strict=True))
        return [found[at] for at in range(len(lanes))]

    def _answer(self, worker: Worker) -> Any:
        """What a process says to the last question."""
        try:
            number, kind, answer = worker.connection.recv()
            while number != self.asked:
                number, kind, answer = worker.connection.recv()
        except (EOFError, OSError) as error:
            worker.process.join()
            died = f"a process that stepped the game died (exit code {worker.process.exitcode})"
            cure = (
                'a script needs `if __name__ == "__main__":` before what it runs'
                if not self.asked
                else ""
            )
            raise InputError(f"{died}: {cure or 'was there memory enough?'}") from error
        if kind == "refused":
            raise InputError(answer)
        if kind == "failed":
            raise RuntimeError(f"the game failed in a worker process:\n{answer}")
        return answer


def lanes_of(game: Game, recipe: GameSpec | None, workers: int) -> Lanes:
    """Lanes for a game: in this process, or in so many others, which open the game by its name."""
    if workers == 1:
        return LocalLanes(game, recipe)
    if recipe is None:
        raise InputError(
            f"{game.name}: workers open the game by its name: give it as a name or as module:factory"
        )
    if recipe.source.startswith("__main__:"):
        raise InputError(
            f"{recipe.source}: workers cannot import it: put the game into a module of its own"
        )
    return PooledLanes(recipe, workers)


def _serve(connection: Connection[Any, Any], recipe: GameSpec) -> None:
    """Open the game; then answer one question after another, until the other end is closed."""
    number = 0
    what = "open"
    which: list[Any] = []
    numbers: list[Any] = []
    lanes: LocalLanes | None = None
    while True:
        try:
            if lanes is None:
                lanes = LocalLanes(recipe.open(), recipe)
                answer: Any = lanes.most
            else:
                answer = (
                    lanes.begin(which, numbers) if what == "begin" else lanes.step(which, numbers)
                )
            kind = "told"
        except InputError as error:
            kind = "refused"
            answer = str(error)
        except Exception:
            kind = "failed"
            answer = traceback.format_exc()
        try:
            connection.send((number, kind, answer))
            number, what, which, numbers = connection.recv()
        except (EOFError, OSError):
            if lanes is not None:
                lanes.close()
                close(lanes.game)
            return


def _stop(workers: Sequence[Worker]) -> None:
    """Let each process close its games, and end it."""
    for worker in workers:
        worker.connection.close()
    for worker in workers:
        worker.process.join(2)
        worker.stop()
