"""Ink stories without chance can be compiled: a saved state is loaded again, and each choice leads to one state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from drrn.game.contract import Observation
from drrn.stories.ink.ink_game import InkGame, InkPage
from drrn.stories.twine.page import Position


@dataclass(frozen=True)
class InkState:
    """A state of a story without chance; two are equal where they go on alike."""

    key: str
    page: InkPage = field(compare=False)


class EnumerableInkGame(InkGame):
    """A story that draws no lots, so that it can be compiled."""

    def opening(self) -> Iterator[tuple[float, InkState]]:
        yield 1.0, self._state(self._first(0))

    def outcomes(self, state: InkState, index: int) -> Iterator[tuple[float, InkState]]:
        self._story.load_state(state.page.saved)
        yield 1.0, self._state(self._next(state.page, index))

    def look(self, state: InkState) -> Observation:
        return self._observation(state.page, tuple(range(len(state.page.choices))))

    def ending_at(self, state: InkState) -> str:
        return state.page.ending

    def position_at(self, state: InkState) -> Position:
        return self._position_on(state.page)

    def _state(self, page: InkPage) -> InkState:
        """A state known by what the page shows and, while it goes on, by what the runtime saved."""
        shown = (page.text, page.choices, page.reward, page.knot if page.choices else page.ending)
        behind = self._identity(json.loads(page.saved)) if page.choices else ""
        return InkState(repr((*shown, sorted(page.paid), behind)), page)

    def _identity(self, saved: dict[str, Any]) -> str:
        """The saved state without what nothing reads again: seeds, the last page's text, the numbers of threads."""
        idle = {"storySeed", "previousRandom"} | (
            set() if self.ink.reads_turns else {"turnIdx", "turnIndices"}
        )
        told = {key: value for key, value in saved.items() if key not in idle}
        told["visitCounts"] = {
            k: n for k, n in saved["visitCounts"].items() if k not in self.ink.uncounted
        }
        threads: dict[str, int] = {}
        return json.dumps(_without_numbers(told, threads), sort_keys=True)


def _without_numbers(node: Any, threads: dict[str, int]) -> Any:
    """The same with threads numbered as they come: their own numbers grow with every choice."""
    if isinstance(node, list):
        return [_without_numbers(part, threads) for part in node]
    if not isinstance(node, dict):
        return node
    found: dict[str, Any] = {}
    for key, part in node.items():
        if key in ("threadIndex", "originalThreadIndex"):
            found[key] = threads.setdefault(str(part), len(threads))
        elif key == "choiceThreads":
            renamed = {
                threads.setdefault(number, len(threads)): inside for number, inside in part.items()
            }
            found[key] = {
                str(number): _without_numbers(inside, threads) for number, inside in renamed.items()
            }
        elif key not in ("threadCounter", "outputStream"):
            found[key] = _without_numbers(part, threads)
    return found
