"""Search for the actions that change the world of a Jericho game, with a memory of refusals.

Jericho fills each template of the game with every object and every pair of objects, and plays all
of these commands on a restored machine. Here a command that had no effect is not played again
while its objects are in the same state (place, attributes, contents), and, with one object, in the
same room; and `all` is tried only in templates that have an effect with one object.
"""

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

WIDTH = 128  # numbers that describe an effect
COMMON = 20  # templates with the same effect: it is not their own
SCORES = {"NOUN": 1.0, "PROPN": 0.5, "ADJ": 0.0}  # of the names of an object, as in Jericho
ALL = "all"
HELD = "held"
LIMIT = 100_000  # keys in memory, of 500 to 1,100 bytes each
CODEC = "utf-8"  # in which Jericho sends a command to the game
Key = tuple[Any, ...]  # what the effect of a command depends on
Command = tuple[Key | None, str, tuple[str, ...]]  # the template, and the names that fill it


class Scene(NamedTuple):
    """The objects of the object tree that the player may refer to."""

    room: int
    special: bytes  # bytes of the memory that Jericho names as part of the world
    names: Sequence[str]  # of the objects
    states: Mapping[str, tuple[Key, ...]]  # of objects, by their names and the words in these
    total: Key  # the states of all objects


class ActionSearch:
    """Finds the actions that have an effect in the present state of a Jericho game."""

    def __init__(self, env: Any, util: Any) -> None:
        self.env = env
        self.util = util
        self.templates: list[list[str]] = [[], [], []]  # by the number of objects
        for template in dict.fromkeys(env.act_gen.templates):
            self.templates[template.count("OBJ")].append(template)
        self.dictionary = {entry.word for entry in env.get_dictionary()}
        self.word_length = max(map(len, self.dictionary))
        self.memory: dict[Key | None, dict[str, bytes]] = {}  # templates that had an effect
        self.active: set[str] = set()  # templates that had a distinct effect in some state
        self.tags: dict[str, set[tuple[str, str]]] = {}  # nouns and adjectives of a text
        self.replies: dict[Key, str] = {}  # to "examine"

    def actions(self, look: str, inventory: str) -> list[str]:
        """Return an action for each effect: the one whose verb is used most."""
        effects = self.effects(look, inventory)
        return [max(sorted(group), key=self.util.verb_usage_count) for group in effects.values()]

    def effects(self, look: str, inventory: str) -> dict[bytes, list[str]]:
        """Return the actions of each effect."""
        if len(self.memory) + len(self.replies) > LIMIT:
            self.memory.clear()
            self.replies.clear()
            self.tags.clear()
        before = self.env.get_state()
        scene = self._scene()
        objects = self._objects(look, inventory, scene, before)
        turn = _Turn(self, before)
        self._add_commands(turn, scene, objects)
        turn.play()
        own = turn.own_commands()
        self.active |= {template for _, template, _ in own}
        with_all: dict[Key, tuple[str, ...]] = {}
        for _, template, names in own:
            for i in range(len(names)):
                filled = (*names[:i], ALL, *names[i + 1 :])
                states = tuple(objects.get(name, scene.total) for name in filled)
                with_all[(template, scene.room, scene.special, states)] = filled
        for key, names in with_all.items():
            turn.add(key, [key[0]], *names)
        turn.play()
        self.env.set_state(before)
        groups = turn.effects.items()
        return {effect: [_fill(one[1], one[2]) for one in group] for effect, group in groups}

    def _add_commands(self, turn: "_Turn", scene: Scene, objects: Mapping[str, Key]) -> None:
        """Add the commands without objects, with each object, and with each pair of objects.

        A template that ever had a distinct effect is tried without objects in every state, and
        with an object when anything near has changed.
        """
        surroundings = (scene.room, scene.special)
        none, one, two = self.templates
        turn.add(None, [template for template in none if template in self.active])
        turn.add((*surroundings, scene.total), [name for name in none if name not in self.active])
        quiet = [template for template in one if template not in self.active]
        active = [template for template in one if template in self.active]
        for first, state in objects.items():
            turn.add((*surroundings, state), quiet, first)
            turn.add((*surroundings, state, scene.total, len(active)), active, first)
            for second, other in objects.items():
                if first != second:
                    turn.add((scene.special, state, other), two, first, second)

    def play(self, commands: Sequence[str], before: Any) -> Mapping[str, bytes]:
        """Play each command in the state `before`, and return the effects.

        A command that halts the interpreter has none. The library stops at it, so the commands are
        played again in halves.
        """
        if not commands:
            return {}
        library = self.env.frotz_lib
        text = ";".join(commands).encode(CODEC, errors="replace")
        valid = ctypes.create_string_buffer(len(text) + 2)
        rows = np.zeros((len(commands), WIDTH), np.uint16)
        pointer = np.ctypeslib.as_ctypes(rows.reshape(-1))
        count = library.filter_candidate_actions(ctypes.create_string_buffer(text), valid, pointer)
        if library.halted():
            self.env.reset()
            self.env.set_state(before)
            middle = len(commands) // 2
            if middle == 0:
                return {}
            return {**self.play(commands[:middle], before), **self.play(commands[middle:], before)}
        actions = valid.value.decode(CODEC, errors="replace").split(";")[:count]
        effects = [row.tobytes() for row in rows[: len(actions)]]
        shared = {effect: effect for effect in effects}  # one object for equal effects
        return {action: shared[effect] for action, effect in zip(actions, effects, strict=True)}

    def _scene(self) -> Scene:
        world = self.env.get_world_objects()
        player = self.env.player_obj_num
        room = world[player].parent if 0 < player < len(world) else 0
        near: dict[int, Key] = {}
        names = []
        states: dict[str, list[Key]] = {}
        waiting: list[tuple[int, Key]] = [(world[room].child, ())] if 0 < room < len(world) else []
        while waiting:
            number, outer = waiting.pop()
            if not 0 < number < len(world) or number in near:
                continue
            thing = world[number]
            inside = number == player
            state = () if inside else ((number, bytes(thing._attr), thing.child), *outer)
            near[number] = state
            waiting += [(thing.sibling, outer), (thing.child, (HELD,) if inside else state)]
            if inside:
                continue
            name = thing.name
            names.append(name)
            for word in {name, *name.split()}:
                states.setdefault(word[: self.word_length], []).append(state)
        ordered = {word: tuple(sorted(group, key=repr)) for word, group in states.items()}
        special = self.env._get_special_ram().tobytes()
        return Scene(room, special, names, ordered, tuple(sorted(near.items())))

    def _objects(self, look: str, inventory: str, scene: Scene, before: Any) -> dict[str, Key]:
        """Return the states of the objects in the texts and the tree, by the best names.

        As in Jericho, words with the same answer to "examine" are names of the same object.
        """
        best: dict[str, tuple[float, str]] = {}  # score and name, by description
        for word, score in self._words(look, inventory, scene.names).items():
            key = (word, look, scene.states.get(word[: self.word_length]))
            if key not in self.replies:
                self.env.set_state(before)
                reply = self.util.clean(self.env.step(f"examine {word}")[0])
                self.replies[key] = reply if self.util.recognized(reply) else ""
            description = self.replies[key]
            if description:
                best[description] = max(best.get(description, (-10.0, "")), (score, word))
        self.env.set_state(before)
        objects: dict[str, Key] = {}
        for description, (_, word) in best.items():
            state = scene.states.get(word[: self.word_length])
            objects[word] = (word, *(state or (description, scene.room)))
        return objects

    def _words(self, look: str, inventory: str, names: Iterable[str]) -> dict[str, float]:
        """Return the words that may name objects, with their scores."""
        entries = []
        for text in (look, inventory):
            if text not in self.tags:
                self.tags[text] = self.util.extract_objs(self.util.clean(text))
            entries += [(word, SCORES[tag]) for word, tag in self.tags[text]]
        for name in names:
            *adjectives, noun = name.split() or [name]
            entries.append((name, SCORES["PROPN"] + 0.1))
            if adjectives:
                entries += [(word, SCORES["ADJ"] + 0.1) for word in adjectives]
                entries.append((noun, SCORES["NOUN"] + 0.1))
        scores: dict[str, float] = {}
        for word, score in entries:
            if len(word.split()) > 1 or word[: self.word_length] in self.dictionary:
                scores[word] = max(scores.get(word, -10.0), score - 0.01 * len(word))
        return scores


class _Turn:
    """The commands of one state: those to play, and those that had an effect before."""

    def __init__(self, search: ActionSearch, before: Any) -> None:
        self.search = search
        self.before = before  # the state of the machine
        self.unknown: list[Command] = []
        self.known: dict[bytes, list[Command]] = {}  # by the effect that they had
        self.effects: dict[bytes, list[Command]] = {}

    def add(self, key: Key | None, templates: Iterable[str], *names: str) -> None:
        """Fill templates with names; those that are known to have no effect are left out."""
        effects = self.search.memory.get(key)
        if effects is None:
            self.unknown += [(key, template, names) for template in templates]
        else:
            for template, effect in effects.items():
                self.known.setdefault(effect, []).append((key, template, names))

    def play(self) -> None:
        """Play all commands that may have an effect.

        Of those that had the same common effect, the first is played for all, if it still has it.
        """
        common = {effect: group for effect, group in self.known.items() if _is_common(group)}
        for effect, group in self.known.items():
            self.unknown += group[:1] if effect in common else group
        self._play(self.unknown)
        for effect, (first, *others) in common.items():
            if first in self.effects.get(effect, ()):
                self.effects[effect] += others
            else:
                self._play(others)
        self.unknown = []
        self.known = {}

    def _play(self, commands: Sequence[Command]) -> None:
        texts = [_fill(template, names) for _, template, names in commands]
        effects = self.search.play(list(dict.fromkeys(texts)), self.before)
        memory = self.search.memory
        for command, text in zip(commands, texts, strict=True):
            key, template, _ = command
            past = memory.setdefault(key, {}) if key else {}
            effect = effects.get(text)
            if effect is not None:  # otherwise an effect that it had may come back
                past[template] = effect
                self.effects.setdefault(effect, []).append(command)

    def own_commands(self) -> list[Command]:
        """Return the commands with a distinct effect, unlike the passing of time."""
        groups = self.effects.values()
        return [command for group in groups if not _is_common(group) for command in group]


def _is_common(group: Sequence[Command]) -> bool:
    return len(group) >= COMMON and len({template for _, template, _ in group}) >= COMMON


def _fill(template: str, names: Iterable[str]) -> str:
    for name in names:
        template = template.replace("OBJ", name, 1)
    return template
