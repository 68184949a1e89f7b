"""A stand-in for TextWorld: its interface, and two rooms with an apple to eat."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

STATUS = "\n\n>                         -= Room =-{score}/{moves}"
OBJECTS = 64  # the address of the machine's object table
PROPERTIES = OBJECTS + 140  # of the first object's properties, behind all objects
START: dict[str, Any] = {"room": "attic", "apple": False, "score": 0, "moves": 0}
START |= {"won": False, "lost": False}


class EnvInfos:
    """Parts of the state that are requested."""

    def __init__(self, **parts):
        allowed = {
            "description",
            "inventory",
            "feedback",
            "objective",
            "admissible_commands",
            "score",
            "won",
            "lost",
        }
        assert set(parts) <= allowed
        self.parts = set(parts)


def start(path, request_infos):
    if not Path(path).read_bytes().startswith(b"\x08"):
        raise ValueError(f"Unsupported game format: {path}")
    return Environment(request_infos.parts)


class Machine:
    """The Z-machine; looking changes a bit of its objects."""

    def __init__(self):
        self.world = dict(START)
        self.tracks = False
        self.looks = 0

    def get_state(self):
        memory = np.zeros(256, np.uint8)
        memory[0x0B] = OBJECTS
        memory[OBJECTS + 139] = PROPERTIES
        memory[OBJECTS] = ["attic", "cellar"].index(self.world["room"])
        memory[OBJECTS + 1] = self.looks % 2
        return memory, dict(self.world), self.tracks

    def set_state(self, state):
        _, world, self.tracks = state
        self.world = dict(world)

    def step(self, command):
        world = self.world
        assert not world["won"] and not world["lost"], "no command can be played at the end"
        if command.startswith("tw-extra-infos"):
            self.tracks = True
        else:
            world["moves"] += 1
            self._play(command)
        text = f"You {command}."
        if command in ("look", "go up", "go down") or (self.tracks and not world["lost"]):
            text += f"[looking]\n{description(world)}[looking - succeeded]\n"
            self.looks += 1
        return text + STATUS.format(**world), 0, False, {}

    def _play(self, command):
        world = self.world
        if command in ("go down", "go up"):
            world["room"] = "cellar" if command == "go down" else "attic"
        if command == "take apple":
            world["apple"] = True
            world["score"] += 1
        if command == "eat apple":
            world["won"] = True
            world["score"] += 2
        world["lost"] = command == "drop apple"


def description(world):
    apple = " An apple lies here." if world["room"] == "cellar" and not world["apple"] else ""
    return f"-= {world['room'].title()} =-\nYou are in the {world['room']}.{apple}"


class World:
    """The facts, from which TextWorld derives the actions."""

    variables = ("apple", "attic", "cellar")

    def __init__(self, machine):
        self.machine = machine
        self.derived = 0  # rules that were tried

    @property
    def facts(self):
        world = self.machine.world
        return [Fact("at", world["room"]), Fact("has", str(world["apple"]))]

    def all_applicable_actions(self, rules, mapping):
        return [action for rule in rules for action in self.all_instantiations(rule, mapping)]

    def all_instantiations(self, rule, mapping):
        self.derived += 1
        return rule.actions(self.machine.world)


class Fact(tuple):
    """A fact: its name and its argument."""

    def __new__(cls, name, argument):
        return super().__new__(cls, (name, argument))

    @property
    def name(self):
        return self[0]


def _moves(world):
    return ["look", "go down" if world["room"] == "attic" else "go up"]


def _apples(world):
    if world["apple"]:
        return ["eat apple", "drop apple"]
    return ["take apple"] if world["room"] == "cellar" else []


AT = SimpleNamespace(name="at")
HAS = SimpleNamespace(name="has")
RULES = [
    SimpleNamespace(name="go", preconditions=[AT], actions=_moves),
    SimpleNamespace(name="apple", preconditions=[AT, HAS], actions=_apples),
]


class Environment:
    """A running game."""

    def __init__(self, parts):
        self.parts = parts
        self.unwrapped = self
        self._jericho = Machine()

    def reset(self):
        self._jericho.set_state((None, START, False))
        self.world = World(self._jericho)
        return self._state("Welcome." + STATUS.format(**START))

    def step(self, command):
        raw = self._jericho.step(command)[0]
        world = self._jericho.world
        return self._state(raw), world["score"], world["won"] or world["lost"]

    def close(self):
        pass

    def _state(self, raw):
        world = self._jericho.world
        looked, _, status = raw.partition("[looking]")[2].partition("[looking - succeeded]\n")
        state = {
            "feedback": raw.partition("[looking]")[0] + (status if looked else ""),
            "inventory": f"You are carrying {'an apple' if world['apple'] else 'nothing'}.",
            "objective": "Eat the apple.",
            "admissible_commands": self.world.all_applicable_actions(RULES, {}),
            "score": world["score"],
            "won": world["won"],
            "lost": world["lost"],
        }
        requested = {key: value for key, value in state.items() if key in self.parts}
        return requested | {"raw": raw, "_game_progression": SimpleNamespace(state=self.world)}
