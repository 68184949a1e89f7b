"""A story as a game: it keeps the state, shuffles the actions, and steps."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Mapping

from drrn.games.contract import Observation
from drrn.games.page import Link
from drrn.games.rules import Rules
from drrn.games.script import Script
from drrn.games.teller import Move, Scene, Teller
from drrn.games.values import Value

# All orders of up to 5 actions, so that a shuffle is one draw; longer lists are shuffled by hand.
ORDERS = [list(itertools.permutations(range(n))) for n in range(6)]

View = tuple[Observation, tuple[Move, ...]]


class StoryGame:
    """Plays a script under its rules. `name` and the observations are all that an agent may see."""

    def __init__(
        self,
        name: str,
        script: Script,
        rules: Rules,
        *,
        shuffle: bool = True,
        paraphrases: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.script, self.rules = script, rules
        self.teller = Teller(script, rules)
        self.shuffle = shuffle
        self._paraphrases = paraphrases or {}
        self._tracked = frozenset(script.facts.tracked)
        self._random = random.Random(0)
        self._moves: tuple[Move, ...] = ()
        self._cells: dict[str, Value] = {}
        self._history: list[tuple[str, dict[str, Value]]] = []
        self.scene: Scene | None = None  # for tools and people, not for agents

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            self._random = random.Random(operator.index(seed))
        self._cells = {}
        self._history = []
        return self._arrive(self.teller.opening)

    def step(self, index: int) -> Observation:
        moves = self._moves
        if not moves:
            raise RuntimeError("the story has ended, or has not begun: call reset()")
        if not 0 <= index < len(moves):
            raise IndexError(f"action {index} of {len(moves)}: choose one from 0 to {len(moves) - 1}")
        return self._arrive(moves[index])

    def _arrive(self, move: Move) -> Observation:
        if self._tracked or move.mark:
            move = track(move, self._cells, self._history, self._tracked, self.teller)
        cells, draw = self._cells, self._random.random
        self.scene = scene = self.teller.tell(move, cells, lambda outcomes: int(draw() * outcomes))
        if scene.writes:
            cells.update(scene.writes)
        count = len(scene.moves)
        if not self.shuffle or count < 2:
            order = 0
        elif count < 6:
            order = int(draw() * len(ORDERS[count]))
        else:
            return self._show(self._view(scene, self._random.sample(range(count), count)))
        view = scene.views.get(order)
        if view is None:
            view = scene.views[order] = self._view(scene, ORDERS[count][order] if count < 6 else range(count))
        return self._show(view)  # type: ignore[arg-type]

    def _show(self, view: View) -> Observation:
        observation, self._moves = view
        return observation

    def _view(self, scene: Scene, order: object) -> View:
        places: list[int] = list(order)  # type: ignore[call-overload]
        words = [self._paraphrases.get(action, action) for action in scene.actions]
        observation = Observation(scene.text, tuple(words[i] for i in places), scene.reward)
        return observation, tuple(scene.moves[i] for i in places)


def track(
    move: Move,
    cells: dict[str, Value],
    history: list[tuple[str, dict[str, Value]]],
    tracked: frozenset[str],
    teller: Teller,
) -> Move:
    """Before a page is told: keep what its functions may ask for. A move back restores, and is a move to that page."""
    if move.back is not None:
        move = _go_back(move, cells, history, teller)
    elif "history" in tracked:
        if history:
            cells["moved"] = True
        history.append((move.target, dict(cells)))
    here = cells.get("here")
    if move.mark:
        cells[move.mark] = True
    if "turns" in tracked:
        cells["turns"] = _count(cells, "turns") + 1
    if "visited" in tracked:
        cells[f"visited {move.target}"] = _count(cells, f"visited {move.target}") + 1
    if "last" in tracked and isinstance(here, str):
        cells["last"] = here
    if "previous" in tracked and here != move.target and isinstance(here, str):
        cells["previous"] = here
    if tracked & {"last", "previous"}:
        cells["here"] = move.target
    return move


def _go_back(move: Move, cells: dict[str, Value], history: list[tuple[str, dict[str, Value]]], teller: Teller) -> Move:
    steps = move.back or 1
    if move.target:
        places = [i for i, (name, _) in enumerate(history[:-1]) if name == move.target]
        steps = len(history) - 1 - places[-1] if places else 1
    steps = min(steps, len(history) - 1)
    del history[len(history) - steps :]
    target, before = history[-1]
    cells.clear()
    cells.update(before)
    return teller.move(Link("", target))


def _count(cells: dict[str, Value], cell: str) -> int:
    value = cells.get(cell, 0)
    return value if isinstance(value, int) else 0
