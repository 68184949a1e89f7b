"""Games of paths: where the player is, what it remembers, and what it has to try."""

import random
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product
from typing import ClassVar

from textgames.diagnostics.diagnostic import END, FiniteDiagnostic, Page, Result

PLACES = """bridge gate tower well barn mill chapel ford quarry orchard cairn ferry forge inn
lighthouse dam windmill cottage cave meadow spring pond ruin statue fountain market harbour bakery
library stable vineyard brewery castle abbey tunnel marsh cliff waterfall hedge beacon""".split()
COLOURS = ("red", "green", "blue")
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


def landmark(number: int) -> str:
    """The description of one of 40 places."""
    return f"You stand at the {PLACES[number]}."


class Memory(FiniteDiagnostic):
    """Memory: a colour that an earlier page names opens the door."""

    capability = "memory"
    levels = (1, 3, 5)  # pages from the sign to the door

    def starts(self) -> Iterable[Result]:
        return [(1 / 3, (0, colour), 0.0) for colour in range(3)]

    def results(self, state: tuple[int, int], index: int) -> Iterable[Result]:
        step, colour = state
        if step == self.size:
            yield 1.0, END, float(index == colour)
        else:
            yield 1.0, (step + 1, colour), 0.0

    def page(self, state: tuple[int, int]) -> Page:
        step, colour = state
        walk = ("Walk on.", "Rest, then walk on.")
        if step == 0:
            return f"A sign says: take the {COLOURS[colour]} door.", walk
        if step < self.size:
            return f"{landmark(step)} Nobody is here.", walk
        return "You reach three doors.", [f"Open the {word} door." for word in COLOURS]


class Grid(FiniteDiagnostic):
    """Position: only two words together identify the cell. Moves cost 1 and may slip."""

    capability = "position"
    levels = (3, 5, 7)  # width
    episodes = 10_000
    max_steps = 100
    slip = 0.2  # probability of a random move
    prize = 10.0
    walls = ("brick", "marble", "wooden", "earthen", "granite", "plaster", "iron")
    lamps = ("brass", "paper", "crystal", "clay", "silver", "stone", "tin")

    def starts(self) -> Iterable[Result]:
        return [(1 / len(self._border), cell, 0.0) for cell in self._border]

    def results(self, state: tuple[int, int], index: int) -> Iterable[Result]:
        goal = (self.size // 2, self.size // 2)
        for number, move in enumerate(MOVES):
            probability = self.slip / 4 + (1 - self.slip) * (number == index)
            row, column = (
                min(max(x + d, 0), self.size - 1) for x, d in zip(state, move, strict=True)
            )
            is_goal = (row, column) == goal
            yield probability, END if is_goal else (row, column), self.prize * is_goal - 1

    def page(self, state: tuple[int, int]) -> Page:
        wall, lamp = self._words[state]
        text = f"A room with a {self.walls[wall]} wall and a {self.lamps[lamp]} lamp."
        return text, ("Go north.", "Go south.", "Go west.", "Go east.")

    @cached_property
    def _border(self) -> list[tuple[int, int]]:
        cells = product(range(self.size), repeat=2)
        return [(r, c) for r, c in cells if {r, c} & {0, self.size - 1}]

    @cached_property
    def _words(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """The two words of each cell, in no order, so that neither reveals row or column."""
        cells = list(product(range(self.size), repeat=2))
        return dict(zip(cells, random.Random("cells").sample(cells, len(cells)), strict=True))


class Path(FiniteDiagnostic):
    """Base of games with a right action on each page of a path."""

    actions: ClassVar[Sequence[str]]
    cost: ClassVar[float] = 0.0
    prize: ClassVar[float] = 1.0

    @abstractmethod
    def after_mistake(self, state: int) -> int:
        """The page that follows a wrong action."""

    def results(self, state: int, index: int) -> Iterable[Result]:
        if index != (state * state + state // 3) % len(self.actions):
            yield 1.0, self.after_mistake(state), -self.cost
        elif state + 1 < self.size:
            yield 1.0, state + 1, -self.cost
        else:
            yield 1.0, END, self.prize - self.cost

    def page(self, state: int) -> Page:
        return landmark(state), self.actions


class Costs(Path):
    """Costs: every step costs 1 until the goal is reached."""

    capability = "step costs"
    levels = (10, 20, 40)  # steps
    actions = ("Go left.", "Go right.", "Go straight on.", "Go around.")
    cost = 1.0
    prize = 0.0

    def after_mistake(self, state: int) -> int:
        return state


class Sparse(Path):
    """Sparse reward: only the end of a long path pays. A mistake leads back one page."""

    capability = "sparse reward"
    levels = (10, 20, 30)  # steps
    max_steps = 100
    actions = ("Go left.", "Go right.")

    def after_mistake(self, state: int) -> int:
        return max(state - 1, 0)


class Lock(Path):
    """Exploration depth: a lock whose wheels all spring back after a mistake."""

    capability = "exploration"
    levels = (4, 6, 8)  # wheels
    max_steps = 60
    actions = ("Choose the sun.", "Choose the moon.", "Choose the star.", "Choose the cloud.")

    def after_mistake(self, state: int) -> int:
        return 0

    def page(self, state: int) -> Page:
        return f"A lock with wheels. The wheel with the {PLACES[state]} is next.", self.actions


class Parser(FiniteDiagnostic):
    """Parser commands: a verb and a thing, of which few change anything."""

    capability = "parser commands"
    levels = ((5, 8), (6, 10), (10, 10))  # verbs and things: 40, 60 or 100 commands
    episodes = 10_000
    max_steps = 50
    verbs = "go open take light read push eat wash throw count".split()
    things = "kitchen cellar chest lamp letter gate bread window rope chair".split()
    # The errands in order: the room, the command, and what the page says before it is done.
    errands = (
        ("kitchen", "open chest", "The chest is closed."),
        ("kitchen", "take lamp", "A lamp lies in the open chest."),
        ("cellar", "light lamp", "You hold a lamp that does not burn."),
        ("cellar", "read letter", "The lamp burns; a letter may be legible."),
        ("kitchen", "go gate", "The letter says that the gate of the kitchen is open."),
    )

    def starts(self) -> Iterable[Result]:
        return [(0.5, (room, 0), 0.0) for room in ("kitchen", "cellar")]

    def results(self, state: tuple[str, int], index: int) -> Iterable[Result]:
        room, stage = state
        verb, thing = self._commands[index].split()
        where, command, _ = self.errands[stage]
        if (room, f"{verb} {thing}") == (where, command):
            is_last = stage + 1 == len(self.errands)
            yield 1.0, END if is_last else (room, stage + 1), 1.0
        elif verb == "go" and thing in ("kitchen", "cellar"):
            yield 1.0, (thing, stage), 0.0
        else:
            yield 1.0, state, 0.0

    def page(self, state: tuple[str, int]) -> Page:
        room, stage = state
        return f"You are in the {room}. {self.errands[stage][2]}", self._commands

    @cached_property
    def _commands(self) -> list[str]:
        verbs, things = self.size
        pairs = product(self.verbs[:verbs], self.things[:things])
        return [f"{verb} {thing}" for verb, thing in pairs]


GAMES = (Memory, Grid, Parser, Lock, Sparse, Costs)
