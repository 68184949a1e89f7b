"""The list of ScienceWorld's valid actions, by its own functions but with fewer names.

ScienceWorld names all objects of all rooms for each list, which takes most of its time, only to add
an action "teleport to" for each room. These actions stay the same, so that they are listed once an
episode; for the others, only the objects near the player are named.
"""

from contextlib import suppress
from typing import Any

TELEPORT = "teleport to "  # start of the actions that move the player to any room


class ScienceWorldActions:
    """Lists the valid actions of a Java machine that runs ScienceWorld."""

    def __init__(self, jvm: Any, server: Any) -> None:
        self.server = server
        self.join = jvm.java.lang.String.join
        self.teleports: list[str] | None = None
        self.fast = False
        with suppress(Exception):  # another version of ScienceWorld: only slower
            thing = jvm.java.lang.Class.forName("scienceworld.struct.EnvObject")
            self.tag = scala_object(jvm, "scala.reflect.ClassTag").apply(thing)
            self.nothing = jvm.java.lang.reflect.Array.newInstance(thing, 0)
            self.nameless = scala_object(jvm, "scala.collection.immutable.Map").empty()
            self.collect = scala_object(jvm, "scienceworld.input.InputParser").collectObjects
            definitions = scala_object(jvm, "scienceworld.input.ActionDefinitions")
            self.combine = definitions.mkPossibleActions
            self.sequence = scala_object(jvm, "scala.Predef").genericArrayOps
            self.fast = True

    def start(self) -> None:
        """Start an episode."""
        self.teleports = None

    def available(self) -> list[str]:
        """Return the valid actions."""
        near: list[str] = []
        if self.fast and self.teleports is not None:
            try:
                near = self._near()
            except Exception:  # another version of ScienceWorld: only slower
                self.fast = False
        if near:
            return near + (self.teleports or [])
        actions = self._all()
        if self.teleports is None:
            self.teleports = [action for action in actions if action.startswith(TELEPORT)]
        return actions

    def _all(self) -> list[str]:
        text: str = self.join("\n", self.server.getValidActionObjectCombinations())
        return text.split("\n")

    def _near(self) -> list[str]:
        """Return the actions with objects near the player; none if ScienceWorld asks which one."""
        interface = self.server.agentInterface().get()
        parser = interface.inputParser()
        if parser.isInAmbiguousState():
            return []
        agent = interface.agent()
        room = agent.getContainer().get()
        objects = self.collect(room, False).toArray(self.tag)
        names = parser.getAllUniqueReferentsLUTObjList(objects, room, True, True)
        actions = self.combine(agent, objects, self.nothing, names, self.nameless)
        text: str = self.sequence(actions).mkString("\n")
        return text.split("\n")


def scala_object(jvm: Any, name: str) -> Any:
    """Return a singleton object of Scala."""
    return jvm.java.lang.Class.forName(f"{name}$").getField("MODULE$").get(None)
