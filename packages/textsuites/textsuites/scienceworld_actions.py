"""List ScienceWorld's valid actions by calling its own functions on fewer objects.

ScienceWorld names all objects of all rooms for each list, which takes most of its time, only to add
an action "teleport to" for each room. These actions stay the same, so they are listed once an
episode; for the others, only the objects near the player are named.

Names of objects that ScienceWorld cannot distinguish are drawn at random, by the generator that
also moves its bees. Fewer objects need fewer draws, so the same actions lead to other random events
than with ScienceWorld's own list.
"""

from typing import Any

TELEPORT = "teleport to "  # start of the actions that move the player to any room


class ScienceWorldActions:
    """Lists ScienceWorld's valid actions through its Java process."""

    def __init__(self, gateway: Any, server: Any) -> None:
        self.gateway = gateway
        self.server = server
        self.join = gateway.jvm.java.lang.String.join  # each name in it is a message to Java
        self.usable = False  # whether this version of ScienceWorld has the functions
        self.start()

    def prepare(self) -> None:
        """Find ScienceWorld's functions, and try them in the present episode.

        In a version that lacks one, ScienceWorld's own lists are used: slower, and with other
        random events.
        """
        jvm = self.gateway.jvm
        try:
            thing = jvm.java.lang.Class.forName("scienceworld.struct.EnvObject")
            self.class_tag = _scala_object(jvm, "scala.reflect.ClassTag").apply(thing)
            self.no_objects = jvm.java.lang.reflect.Array.newInstance(thing, 0)
            self.no_names = _scala_object(jvm, "scala.collection.immutable.Map").empty()
            self.array_ops = _scala_object(jvm, "scala.Predef").genericArrayOps
            parser = _scala_object(jvm, "scienceworld.input.InputParser")
            self.collect_objects = parser.collectObjects
            definitions = _scala_object(jvm, "scienceworld.input.ActionDefinitions")
            self.possible_actions = definitions.mkPossibleActions
            self._enter()
            self._near()
        except Exception:
            return
        self.usable = True

    def start(self) -> None:
        """Start an episode."""
        self.parser: Any = None
        self.agent: Any = None
        self.teleports: list[str] | None = None

    def available(self) -> list[str]:
        """Return the valid actions."""
        if not self.usable:
            return self._all()
        if self.parser is None:
            self._enter()
        if self.parser.isInAmbiguousState():  # it waits for the number of one of several objects
            return self._all()
        if self.teleports is None:
            actions = self._all()
            self.teleports = [action for action in actions if action.startswith(TELEPORT)]
            return actions
        return self._near() + self.teleports

    def _all(self) -> list[str]:
        """Return ScienceWorld's own list, as one string instead of one message for each action."""
        text: str = self.join("\n", self.server.getValidActionObjectCombinations())
        return text.split("\n")

    def _enter(self) -> None:
        interface = self.server.agentInterface().get()
        self.parser = interface.inputParser()
        self.agent = interface.agent()

    def _near(self) -> list[str]:
        """Return the actions on objects near the player, computed as ScienceWorld does."""
        container = self.agent.getContainer()
        room = container.get()
        collected = self.collect_objects(room, False)
        objects = collected.toArray(self.class_tag)
        names = self.parser.getAllUniqueReferentsLUTObjList(objects, room, True, True)
        arguments = (self.agent, objects, self.no_objects, names, self.no_names)
        actions = self.possible_actions(*arguments)
        lines = self.array_ops(actions)
        text: str = lines.mkString("\n")
        for temporary in (container, room, collected, objects, names, actions, lines):
            self.gateway.detach(temporary)  # else Java keeps it until Python collects its garbage
        return text.split("\n")


def _scala_object(jvm: Any, name: str) -> Any:
    """Return a singleton object of Scala."""
    return jvm.java.lang.Class.forName(f"{name}$").getField("MODULE$").get(None)
