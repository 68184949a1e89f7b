"""Search for the actions that change the world of a Jericho game, with a memory of answers.

Jericho fills each template of the game with every object and every pair of objects, and plays all
of these commands on a restored machine. Here a command is played only if its effect cannot be
expected. It can if the command was played in the same state of its objects, or if all changes to
them since then never changed the template's answer, or if the parser refused all other objects
that are held (or all that are not) in that template.
"""

import ctypes
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from drrn.suites.cache import Cache

WIDTH = 128  # numbers that describe an effect
COMMON = 20  # templates with the same effect: it is not their own
SHARED = 8  # templates with the same answer: it is the parser's
REFUSALS = 3  # objects that a template refused, before it is expected to refuse others
SCORES = {"NOUN": 1.0, "PROPN": 0.5, "ADJ": 0.0}  # of the names of an object, as in Jericho
ALL = "all"
HELD = "held"
TIMED = ("wait", "z", "sleep")  # templates whose effect depends on the time
MARKS = (b"#1", b"#2")  # of objects in an answer
LIMIT = 30_000  # entries in a cache
FILLINGS = 5_000  # entries in the cache of outcomes, one for each name or pair of names
ANSWERS = 100  # answers stored for a template, a position in it, and held or not held
LISTED = 200  # commands with the same effect
LONGEST = 4096  # bytes of a command
CODEC = "utf-8"  # in which Jericho sends a command to the game
Key = tuple[Any, ...]  # what the effect of a command depends on
Names = tuple[str, ...]  # that fill a template
Command = tuple[str, Names]


class Outcome(NamedTuple):
    """What a command did when it was last played."""

    answer: bytes
    effect: bytes | None
    situation: Key  # what it may depend on


class Thing(NamedTuple):
    """The state of an object of the object tree."""

    number: int
    attributes: bytes
    child: int
    holder: "Thing | tuple[str, ...]"  # what it is in: (HELD,) is the player, () the room


class Reference(NamedTuple):
    """The state of all that a name refers to."""

    name: str
    held: bool
    things: tuple[Thing, ...]
    elsewhere: Key  # if it refers to nothing near in the object tree: its description, and the room


class Scene(NamedTuple):
    """The objects of the object tree that the player may refer to."""

    room: int
    special: Key  # bytes of the memory that Jericho names as part of the world
    names: Sequence[str]  # of the objects
    things: Mapping[str, tuple[Thing, ...]]  # by their names and the words in these
    total: int  # hash of the states of all objects


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
        self.active: set[str] = set()  # templates that had a distinct effect in some state
        self.memory: Cache[Key, dict[str, bytes]] = Cache(LIMIT)  # effects of templates
        self.outcomes: Cache[Names, dict[str, Outcome]] = Cache(FILLINGS)  # of templates
        self.matters: Cache[Key, dict[Key, bool]] = Cache(LIMIT)  # changes, by template and answer
        self.refusals: dict[Key, dict[bytes, set[str]]] = {}  # objects, by template and answer
        self.givers: Cache[bytes, set[str]] = Cache(LIMIT)  # templates of an answer
        self.effective: set[Command] = set()  # that had a distinct effect in some state
        self.tags: Cache[str, set[tuple[str, str]]] = Cache(LIMIT)  # nouns and adjectives of a text
        self.replies: Cache[Key, str] = Cache(LIMIT)  # to "examine"
        self.shared: Cache[bytes, bytes] = Cache(LIMIT)  # one copy of equal answers and effects
        self.valid = ctypes.create_string_buffer(LONGEST)
        self.row = np.zeros(WIDTH, np.uint16)
        self.pointer = np.ctypeslib.as_ctypes(self.row)

    def actions(self, look: str, inventory: str) -> list[str]:
        """Return an action for each effect: the one whose verb is used most."""
        effects = self.effects(look, inventory)
        return [max(sorted(group), key=self.util.verb_usage_count) for group in effects.values()]

    def effects(self, look: str, inventory: str) -> dict[bytes, list[str]]:
        """Return the actions of each effect."""
        before = self.env.get_state()
        scene = self._scene()
        objects = self._objects(look, inventory, scene, before)
        turn = _Turn(self, before)
        self._add_commands(turn, scene, objects)
        turn.confirm()
        own = turn.own_commands()
        self.active |= {template for template, _ in own}
        self.effective.update(own)
        with_all: dict[Key, Names] = {}
        for template, names in own:
            for i in range(len(names)):
                filled = (*names[:i], ALL, *names[i + 1 :])
                states = tuple(objects.get(name, scene.total) for name in filled)
                with_all[(template, scene.room, scene.special, states)] = filled
        for key, names in with_all.items():
            turn.add(key, [key[0]], names)
        turn.confirm()
        self.env.set_state(before)
        groups = turn.effects.items()
        return {effect: [_fill(*one) for one in group[:LISTED]] for effect, group in groups}

    def _add_commands(self, turn: "_Turn", scene: Scene, objects: Mapping[str, Reference]) -> None:
        """Add the commands without objects, with each object, and with each pair of objects.

        A template that ever had a distinct effect is tried without objects in every state, and
        with an object when anything near has changed.
        """
        here = (scene.room, scene.special)
        without, single, double = self.templates
        always = self.active.union(TIMED)
        turn.add((), [one for one in without if one in always])
        turn.add((*here, scene.total), [one for one in without if one not in always])
        quiet = [template for template in single if template not in self.active]
        active = [template for template in single if template in self.active]
        for name, reference in objects.items():
            turn.add((*here, reference), quiet, (name,), (*here, 0, reference))
            situation = (*here, scene.total, reference)
            turn.add((*situation, len(active)), active, (name,), situation)
        holders = {name: _holders(one.things) for name, one in objects.items()}
        numbers = {name: {thing.number for thing in one.things} for name, one in objects.items()}
        for (first, one), (second, other) in itertools.permutations(objects.items(), 2):
            key = (scene.special, one, other)
            outer = numbers[second].isdisjoint(holders[first])
            inner = numbers[first].isdisjoint(holders[second])
            turn.add(key, double, (first, second), (outer, inner, *key))

    def play(self, command: Command, before: Any) -> tuple[bytes | None, bytes]:
        """Play a command in the state `before`; return its effect, if any, and the answer.

        Marks replace the objects in the first line of the answer, so that it is the same for
        other objects. A command that halts the interpreter has no effect.
        """
        library = self.env.frotz_lib
        text = _fill(*command).replace(";", " ").encode(CODEC, errors="replace")
        count = library.filter_candidate_actions(text, self.valid, self.pointer)
        if library.halted():
            self.env.reset()
            self.env.set_state(before)
            return None, b""
        answer = library.get_narrative_text().strip().partition(b"\n")[0]
        for mark, name in zip(MARKS, command[1], strict=False):
            answer = answer.replace(name.encode(CODEC, errors="replace"), mark)
        answer = self.shared.setdefault(answer, answer)
        if not count:
            return None, answer
        effect = self.row.tobytes()
        self.row[:] = 0
        return self.shared.setdefault(effect, effect), answer

    def learn(
        self,
        command: Command,
        outcomes: dict[str, Outcome],
        outcome: Outcome,
        changes: Sequence[Key],
    ) -> None:
        """Remember an outcome, and whether changes since the last one changed the answer.

        `outcomes` has the last outcomes of all templates with the same names.
        """
        template, names = command
        answer = outcome.answer
        last = outcomes[template].answer if template in outcomes else answer
        matters = self.matters.setdefault((template, last), {})
        if answer == last:
            matters.update({change: False for change in changes if change not in matters})
        elif not any(matters.get(change) for change in changes):
            suspects = [change for change in changes if change not in matters] or changes
            matters.update(dict.fromkeys(suspects, True))
        outcomes[template] = outcome
        self.givers.setdefault(answer, set()).add(template)
        for i, reference in enumerate(outcome.situation[-len(names) :]):
            answers = self.refusals.setdefault((template, i, reference.held), {})
            if answer in answers or len(answers) < ANSWERS:
                answers.setdefault(answer, set()).add(reference.name)

    def refuses(self, template: str, i: int, held: bool) -> bool:
        """Return whether the parser refuses all objects in position i that are held, or not held.

        False after ANSWERS different answers.
        """
        answers = self.refusals.get((template, i, held), {})
        if len(answers) >= ANSWERS:
            return False
        refusals = 0
        for answer, names in answers.items():
            first = MARKS[0] in answer
            if len(self.givers.get(answer, ())) < SHARED or first == (MARKS[1] in answer):
                return False
            refusals += len(names) if first == (i == 0) else 0
        return refusals >= REFUSALS

    def _scene(self) -> Scene:
        world = self.env.get_world_objects()
        player = self.env.player_obj_num
        room = world[player].parent if 0 < player < len(world) else 0
        near: dict[int, Key] = {}
        names = []
        things: dict[str, list[Thing]] = {}
        waiting: list[tuple[int, Key]] = [(world[room].child, ())] if 0 < room < len(world) else []
        while waiting:
            number, holder = waiting.pop()
            if not 0 < number < len(world) or number in near:
                continue
            entry = world[number]
            waiting.append((entry.sibling, holder))
            if number == player:
                near[number] = ()
                waiting.append((entry.child, (HELD,)))
                continue
            thing = Thing(number, bytes(entry._attr), entry.child, holder)
            near[number] = thing
            waiting.append((thing.child, thing))
            names.append(entry.name)
            for word in {entry.name, *entry.name.split()}:
                things.setdefault(word[: self.word_length], []).append(thing)
        ordered = {word: tuple(sorted(group, key=repr)) for word, group in things.items()}
        special = tuple(self.env._get_special_ram().tolist())
        return Scene(room, special, names, ordered, hash(tuple(sorted(near.items()))))

    def _objects(
        self, look: str, inventory: str, scene: Scene, before: Any
    ) -> dict[str, Reference]:
        """Return references to the objects in the texts and the tree, by the best names.

        As in Jericho, words with the same answer to "examine" are names of the same object.
        """
        best: dict[str, tuple[float, str]] = {}  # score and name, by description
        for word, score in self._words(look, inventory, scene.names).items():
            key = (word, look, scene.things.get(word[: self.word_length]))
            if key not in self.replies:
                self.env.set_state(before)
                reply = self.util.clean(self.env.step(f"examine {word}")[0])
                self.replies[key] = reply if self.util.recognized(reply) else ""
            description = self.replies[key]
            if description:
                best[description] = max(best.get(description, (-10.0, "")), (score, word))
        self.env.set_state(before)
        objects: dict[str, Reference] = {}
        for description, (_, word) in best.items():
            things = scene.things.get(word[: self.word_length], ())
            elsewhere = () if things else (description, scene.room)
            objects[word] = Reference(word, HELD in _holders(things), things, elsewhere)
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


class _Filling(NamedTuple):
    """Names that fill templates, and what is known of these commands."""

    names: Names
    situation: Key  # what an effect may depend on; empty if none is expected
    effects: dict[str, bytes]  # of templates, in the present state of the objects
    outcomes: dict[str, Outcome]  # of templates, when they were last played


class _Turn:
    """The commands of one state: those to play, and those whose effect is expected."""

    def __init__(self, search: ActionSearch, before: Any) -> None:
        self.search = search
        self.before = before  # the state of the machine
        self.effects: dict[bytes, list[Command]] = {}
        self.expected: dict[bytes, list[tuple[str, _Filling]]] = {}
        self.changes: dict[tuple[int, int], tuple[Key, Key, list[Key]]] = {}

    def add(
        self, key: Key, templates: Iterable[str], names: Names = (), situation: Key = ()
    ) -> None:
        """Fill templates with names; play those whose effect is neither known nor expected."""
        known = self.search.memory.get(key)
        effects: dict[str, bytes] = {} if known is None else known
        outcomes = self.search.outcomes.setdefault(names, {})
        filling = _Filling(names, situation, effects, outcomes)
        for template, effect in effects.items():
            self.expected.setdefault(effect, []).append((template, filling))
        for template in templates if known is None else ():
            self._consider(template, filling)
        if key and known is None:
            self.search.memory[key] = effects

    def confirm(self) -> None:
        """Play one of the commands that are expected to have the same effect.

        If it does not have it, the others are played; a common effect may be confirmed by any.
        """
        for effect, group in self.expected.items():
            commands = [(template, filling.names) for template, filling in group]
            common = _is_common(commands)
            confirmed = common and effect in self.effects
            for i, (template, filling) in enumerate(group):
                if confirmed:
                    self.effects[effect] += commands[i:]
                    break
                confirmed = self._play_and_learn(template, filling) == effect and (common or i == 0)
        self.expected = {}

    def own_commands(self) -> list[Command]:
        """Return the commands with a distinct effect, unlike the passing of time."""
        groups = self.effects.values()
        return [command for group in groups if not _is_common(group) for command in group]

    def _consider(self, template: str, filling: _Filling) -> None:
        """Expect the last effect of a command, or a refusal, or play it."""
        search = self.search
        last = filling.outcomes.get(template)
        if last and (template, filling.names) not in search.effective:
            matters = search.matters.get((template, last.answer), {})
            if all(matters.get(one) is False for one in self._changes(last.situation, filling)):
                if last.effect is not None:
                    filling.effects[template] = last.effect
                    self.expected.setdefault(last.effect, []).append((template, filling))
                return
        objects = filling.situation[-len(filling.names) :]
        if not any(search.refuses(template, i, one.held) for i, one in enumerate(objects)):
            self._play_and_learn(template, filling)

    def _play_and_learn(self, template: str, filling: _Filling) -> bytes | None:
        names, situation, effects, outcomes = filling
        effect, answer = self.search.play((template, names), self.before)
        if situation:
            last = outcomes.get(template)
            changes = self._changes(last.situation, filling) if last else ()
            outcome = Outcome(answer, effect, situation)
            self.search.learn((template, names), outcomes, outcome, changes)
        if effect is not None:  # otherwise an effect that it had may come back
            effects[template] = effect
            self.effects.setdefault(effect, []).append((template, names))
        return effect

    def _changes(self, before: Key, filling: _Filling) -> Sequence[Key]:
        after = filling.situation
        key = (id(before), id(after))
        if key not in self.changes:  # with both situations: their ids are not used again
            self.changes[key] = (before, after, list(_differences(before, after)))
        return self.changes[key][2]


def _differences(before: Any, after: Any, path: Key = ()) -> Iterator[Key]:
    """Return the paths to the parts of two situations that differ: bits, numbers, lengths."""
    if before == after:
        return
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        for i, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, (*path, i))
    elif isinstance(before, bytes):
        bits = int.from_bytes(before, "big") ^ int.from_bytes(after, "big")
        yield from ((*path, bit) for bit in range(bits.bit_length()) if bits >> bit & 1)
    else:
        sizes = (len(one) if isinstance(one, tuple) else one != 0 for one in (before, after))
        yield (*path, *sizes)


def _holders(things: Iterable[Thing]) -> set[Any]:
    """Return the numbers of the objects around things, and HELD for the player."""
    holders = set()
    for thing in things:
        holder = thing.holder
        while holder:
            holders.add(holder[0])
            holder = holder.holder if isinstance(holder, Thing) else ()
    return holders


def _is_common(group: Sequence[Command]) -> bool:
    return len(group) >= COMMON and len({template for template, _ in group}) >= COMMON


def _fill(template: str, names: Iterable[str]) -> str:
    for name in names:
        template = template.replace("OBJ", name, 1)
    return template
