"""A world of rooms and errands, with 222 commands on every page and a light that may go out.

Its rooms and errands are data (`comet-house.toml`); docs/textgames/worlds.md lists the rules.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from textgames.game.contract import Observation, Outcomes
from textgames.worlds.parser_world import ParserWorld, all_commands

ERRAND_PAYS = 0.5
LAST_PAYS = 6.0
IN_VAIN = -0.01
SENSELESS = -0.1
WRONG_PAYS = -0.5  # for the later of two errands first
WIND = 0.25  # probability that a flame goes out in a step outdoors
MAX_STEPS = 100
LIGHT = "LIGHT"  # stands for the lantern, lit or not, in the lists of what the player holds
SEEN = "seen"  # endings
MISSED = "missed"


class ErrandState(NamedTuple):
    """A state of an episode."""

    room: str
    description: int
    errand: str
    lit: bool
    reward: float  # of the last command


class ErrandEnd(NamedTuple):
    """The end of an episode: SEEN or MISSED, and its reward."""

    ending: str
    reward: float


Table = Mapping[str, Any]  # of the TOML file
# "go" to a room, "stay" for a reward, "do" the errand or what is "wrong", or "light" the lantern.
Effect = tuple[str, str | float]


class ErrandWorld(ParserWorld):
    """A house whose Professor asks for one errand after another."""

    max_steps = MAX_STEPS

    def __init__(self, name: str, table: Mapping[str, Any], *, shuffle: bool = True) -> None:
        super().__init__(name, table, shuffle=shuffle)
        self.table = {key: part for key, part in table.items() if key != "training"}
        self.rooms: dict[str, Table] = {room["name"]: room for room in table["room"]}
        self.errands: dict[str, Table] = table["errand"]
        self.commands = all_commands(table["verbs"], table["objects"])
        self._effects = cache(self._effects_in)
        rewards = (ERRAND_PAYS, LAST_PAYS, IN_VAIN, SENSELESS, WRONG_PAYS)
        rules = (self.table, *rewards, WIND, MAX_STEPS)
        self.fingerprint = hashlib.sha256(repr(rules).encode()).hexdigest()

    def opening(self) -> Outcomes:
        rooms = self.table["start"]
        for room in rooms:
            yield from self._descriptions(1 / len(rooms), room, self.table["first"], False, 0.0)

    def effects(self, state: ErrandState) -> list[Effect]:
        return self._effects(state.room, state.errand, state.lit)

    def led_to(self, state: ErrandState, effect: Effect) -> Outcomes:
        room, _, errand, lit, _ = state
        match effect:
            case ("go", str(target)):
                yield from self._descriptions(1.0, target, errand, lit, IN_VAIN)
            case ("stay", float(reward)):
                yield from self._descriptions(1.0, room, errand, lit, reward)
            case ("light", _):
                yield from self._descriptions(1.0, room, errand, True, IN_VAIN)
            case ("wrong", _) if not self.errands[errand].get("next"):
                yield 1.0, ErrandEnd(MISSED, 0.0)
            case ("wrong", _):
                yield from self._descriptions(1.0, room, errand, lit, WRONG_PAYS)
            case _:
                yield from self._attempt(state)

    def look(self, state: ErrandState | ErrandEnd) -> Observation:
        if isinstance(state, ErrandEnd):
            text = self.table["ending"][state.ending]["text"].strip()
            return Observation(text, (), state.reward)
        room = self.rooms[state.room]
        errand = self.errands[state.errand]
        description = self._texts(room, state.lit)[state.description]
        ways = room["barred_ways"] if self._is_barred(room, state.errand) else room["ways"]
        words = f"The Professor says: “{errand['said']}”"
        lantern = self.table["lit"] if state.lit else self.table["blown_out"]
        things = [lantern if thing == LIGHT else thing for thing in errand["holds"]]
        hands = f"You hold {' and '.join(things)}." if things else "Your hands are empty."
        text = "\n\n".join((description, ways, words, hands))
        return Observation(text, self.commands, state.reward)

    def ending_at(self, state: ErrandEnd) -> str:
        return str(self.table["ending"][state.ending]["name"])

    def _effects_in(self, room: str, errand: str, lit: bool) -> list[Effect]:
        here = self.rooms[room]
        task = self.errands[errand]
        effects: dict[str, Effect] = dict.fromkeys(here["harmless"], ("stay", IN_VAIN))
        for direction, target in here["exits"].items():
            is_open = not (self._is_barred(here, errand) and direction == here["barred"]["way"])
            effects[f"go {direction}"] = ("go", target) if is_open else ("stay", IN_VAIN)
        fire = self.table["fire"]
        if room == fire["room"] and LIGHT in task["holds"]:
            effects[fire["command"]] = ("light", 0.0)
        for other in self.errands.values():  # another errand's command makes sense, too
            if other["room"] == room:
                effects.setdefault(other["command"], ("stay", IN_VAIN))
        if task["room"] == room and (lit or not here.get("dark")):
            effects[task["command"]] = ("do", 0.0)
        wrong = task.get("wrong")
        if wrong and wrong["room"] == room:
            effects[wrong["command"]] = ("wrong", 0.0)
        return [effects.get(command, ("stay", SENSELESS)) for command in self.commands]

    def _attempt(self, state: ErrandState) -> Outcomes:
        """Yield the outcomes of doing the errand: failure, the end, or each next errand."""
        room, _, errand, lit, _ = state
        task = self.errands[errand]
        chance = task.get("chance", 1.0)
        successors = task.get("next", ())
        if chance < 1:
            yield from self._descriptions(1 - chance, room, errand, lit, IN_VAIN)
        if not successors:
            yield chance, ErrandEnd(SEEN, LAST_PAYS)
        lit = lit or self.table["fire"] == {key: task[key] for key in ("room", "command")}
        for name in successors:
            share = chance / len(successors)
            yield from self._descriptions(share, room, name, lit, ERRAND_PAYS)

    def _descriptions(
        self, probability: float, room: str, errand: str, lit: bool, reward: float
    ) -> Outcomes:
        """Yield the room with each of its descriptions. Outdoors, a flame may go out."""
        flames = [(1.0, lit)]
        if lit and self.rooms[room].get("outdoor"):
            flames = [(WIND, False), (1 - WIND, True)]
        for share, burns in flames:
            count = len(self._texts(self.rooms[room], burns))
            for description in range(count):
                state = ErrandState(room, description, errand, burns, reward)
                yield probability * share / count, state

    def _texts(self, room: Table, lit: bool) -> list[str]:
        texts: list[str] = room["unlit" if room.get("dark") and not lit else "descriptions"]
        return texts

    def _is_barred(self, room: Table, errand: str) -> bool:
        """Whether an exit is still closed. The errands are listed in order."""
        if "barred" not in room:
            return False
        order = list(self.errands)
        return order.index(errand) <= order.index(room["barred"]["until_after"])
