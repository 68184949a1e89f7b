"""Search for the actions that change the world of a Jericho game, with a memory of answers.

Jericho fills each template of the game with every object and every pair of objects, and plays all
of these commands on a restored machine. Here a command is played only if its effect cannot be
expected. It can if the command was played in the same state of its objects, or if all changes to
them since then never changed the template's answer, or if the parser refused all other objects
that are held (or all that are not) in that template, or if both objects of a pair had the same
answer with others and the command was played before.
"""

import ctypes
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from textsuites.cache import Cache

SCORES = {"NOUN": 1.0, "PROPN": 0.5, "ADJ": 0.0}  # of the names of an object, as in Jericho
ALL = "all"
HELD = "held"
TIMED = ("wait", "z", "sleep")  # templates whose effect depends on the time
MARKS = (b"#1", b"#2")  # of objects in an answer
CODEC = "utf-8"  # in which Jericho sends a command to the game
Key = tuple[Any, ...]  # what the effect of a command depends on
Names = tuple[str, ...]  # that fill a template
Command = tuple[str, Names]
Effects = dict[bytes, list[Command]]
Kind = tuple[str, bytes]  # a template and its answer
Verdict = tuple[set[Kind], set[Kind]]  # answers that never changed with a change, and others
Result = tuple[str, bytes, bytes | None]  # a template, its answer and its effect


@dataclass(frozen=True)
class Thresholds:
    """When effects and answers are expected to repeat, and how many are remembered."""

    common: int = 20  # templates with one effect, from which on it is not their own
    shared: int = 8  # templates with one answer, from which on it is the parser's
    refusals: int = 3  # objects that a template refused, before it is expected to refuse others
    unfit: float = 0.95  # share of templates that give one answer to a name that fits none
    entries: int = 30_000  # of a cache
    fillings: int = 5_000  # entries in the cache of outcomes, one for each name or pair of names
    answers: int = 100  # stored for a template, a position in it, and held or not held
    listed: int = 200  # commands with the same effect


class Outcome(NamedTuple):
    """What a command did when it was last played."""

    answer: bytes
    effect: bytes | None
    situation: Key  # what it may depend on


@dataclass
class History:
    """What the commands with the same names did when they were last played."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)  # by template
    kinds: dict[Key, set[Kind]] = field(default_factory=dict)  # by situation

    def add(self, template: str, outcome: Outcome) -> None:
        last = self.outcomes.get(template)
        if last:
            kinds = self.kinds[last.situation]
            kinds.discard((template, last.answer))
            if not kinds:
                del self.kinds[last.situation]
        self.outcomes[template] = outcome
        self.kinds.setdefault(outcome.situation, set()).add((template, outcome.answer))


class Thing(NamedTuple):
    """The state of an object of the object tree."""

    number: int
    attributes: bytes
    contents: tuple[int, ...]  # numbers of the objects directly in it
    holder: "Thing | tuple[str, ...]"  # what it is in: (HELD,) is the player, () the room


class Reference:
    """The state of all that a name refers to. Equal states share one object, for speed."""

    def __init__(self, name: str, held: bool, things: tuple[Thing, ...], elsewhere: Key) -> None:
        self.state = (name, held, things, elsewhere)
        self.name = name
        self.held = held
        self.holders = _holders(things)
        self.numbers = {thing.number for thing in things}
        self.looks = (name, held, tuple((thing.number, thing.attributes) for thing in things))


class Scene(NamedTuple):
    """The objects of the object tree that the player may refer to."""

    room: int
    special: Key  # bytes of the memory that Jericho names as part of the world
    names: Sequence[str]  # of the objects
    things: Mapping[str, tuple[Thing, ...]]  # by their names and the words in these
    total: int  # hash of the states of all objects


class ActionSearch:
    """Finds the actions that have an effect in the present state of a Jericho game."""

    def __init__(self, env: Any, util: Any, thresholds: Thresholds | None = None) -> None:
        self.env = env
        self.thresholds = thresholds or Thresholds()
        limit = self.thresholds.entries
        self.util = util
        self.templates: list[list[str]] = [[], [], []]  # by the number of objects
        for template in dict.fromkeys(env.act_gen.templates):
            self.templates[template.count("OBJ")].append(template)
        self.dictionary = {entry.word for entry in env.get_dictionary()}
        self.word_length = max(map(len, self.dictionary))
        self.active: set[str] = set()  # templates that had a distinct effect in some state
        self.memory: Cache[Key, Effects] = Cache(limit)
        self.histories: Cache[Names, History] = Cache(self.thresholds.fillings)
        self.verdicts: Cache[Key, Verdict] = Cache(limit)  # on changes
        self.refusals: dict[Key, dict[bytes, set[str]]] = {}  # objects, by template and answer
        self.refused: dict[tuple[int, bool], set[str]] = {}  # templates, by position and held
        self.ordinary: Cache[Key, set[Result]] = Cache(limit)  # by position and object
        self.givers: Cache[bytes, set[str]] = Cache(limit)  # templates of an answer
        self.references: Cache[Key, Reference] = Cache(limit)
        self.tags: Cache[str, set[tuple[str, str]]] = Cache(limit)  # nouns and adjectives of a text
        self.replies: Cache[Key, str] = Cache(limit)  # to "examine"
        self.shared: Cache[bytes, bytes] = Cache(limit)  # one copy of equal answers and effects
        self.valid = ctypes.create_string_buffer(4096)  # for a command
        self.row = np.zeros(128, np.uint16)  # for an effect
        self.pointer = np.ctypeslib.as_ctypes(self.row)

    def actions(self, look: str, inventory: str) -> list[str]:
        """An action for each effect: the one whose verb is used most."""
        effects = self.effects(look, inventory)
        return [max(sorted(group), key=self.util.verb_usage_count) for group in effects.values()]

    def effects(self, look: str, inventory: str) -> dict[bytes, list[str]]:
        """The actions of each effect."""
        before = self.env.get_state()
        scene = self._scene()
        objects = self._objects(look, inventory, scene, before)
        turn = Turn(self, before)
        self._add_commands(turn, scene, objects)
        turn.confirm()
        own = turn.own_commands()
        self.active |= {template for template, _ in own}
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
        listed = self.thresholds.listed
        groups = turn.effects.items()
        return {effect: [_fill(*one) for one in group[:listed]] for effect, group in groups}

    def _add_commands(self, turn: "Turn", scene: Scene, objects: Mapping[str, Reference]) -> None:
        """Add the commands without objects, with each object, and with each pair of objects.

        A template that ever had a distinct effect is tried without objects in every state, and
        with an object when anything near has changed, unless it refused all such objects.
        """
        here = (str(scene.room), scene.special)  # a text: each room is a change of its own
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
        fit = [pair for pair in objects.items() if not self._unfit(pair[0])]
        for (first, one), (second, other) in itertools.permutations(fit, 2):
            key = (scene.special, one, other)
            known = self.memory.get(key)
            if known is None or known:
                outer = other.numbers.isdisjoint(one.holders)
                inner = one.numbers.isdisjoint(other.holders)
                turn.add(key, double, (first, second), (outer, inner, *key))

    def play(self, command: Command, before: Any) -> tuple[bytes | None, bytes]:
        """Play a command in the state `before`. Returns its effect, if any, and the answer.

        Marks replace the objects in the first line of the answer, so that it is the same for
        other objects. A command that halts the interpreter has no effect.
        """
        library = self.env.frotz_lib
        template, names = command
        text = _fill(template, names).replace(";", " ").encode(CODEC, "replace")
        count = library.filter_candidate_actions(text, self.valid, self.pointer)
        if library.halted():
            self.env.reset()
            self.env.set_state(before)
            return None, b""
        answer = library.get_narrative_text().strip().partition(b"\n")[0]
        for mark, name in zip(MARKS, names, strict=False):
            answer = answer.replace(name.encode(CODEC, "replace"), mark)
        answer = self.shared.setdefault(answer, answer)
        if not count:
            return None, answer
        effect = self.row.tobytes()
        self.row[:] = 0
        return self.shared.setdefault(effect, effect), answer

    def _unfit(self, name: str) -> bool:
        """Whether nearly all templates with the name alone give one answer, and no effect.

        Then the parser does not understand the name, or asks which object is meant.
        """
        history = self.histories.get((name,))
        outcomes = history.outcomes.values() if history else ()
        answers = Counter(one.answer for one in outcomes if one.effect is None)
        least = max(self.thresholds.shared, self.thresholds.unfit * len(outcomes))
        return max(answers.values(), default=0) >= least

    def learn(self, filling: "Filling", played: Mapping[str, Outcome]) -> None:
        """Remember outcomes, and whether changes since the last ones changed answers."""
        history = filling.history
        steady: dict[Key, set[Kind]] = {}  # by the last situation
        for template, outcome in played.items():
            last = history.outcomes.get(template)
            if last and last.answer == outcome.answer:
                steady.setdefault(last.situation, set()).add((template, last.answer))
            elif last:
                self._blame((template, last.answer), filling.changes(last.situation))
            history.add(template, outcome)
            self._note(template, outcome)
        for situation, kinds in steady.items():
            for change in filling.changes(situation):
                harmless, harmful = self.verdicts.setdefault(change, (set(), set()))
                harmless.update(kinds - harmful)

    def results(self, references: Iterable[Reference]) -> list[set[Result]]:
        """The results of templates with each of two objects and any other object."""
        return [self.ordinary.setdefault((i, one.looks), set()) for i, one in enumerate(references)]

    def _blame(self, kind: Kind, changes: Sequence[Key]) -> None:
        """Find the changes that may have changed an answer, if none is known to have done so."""
        verdicts = [self.verdicts.setdefault(change, (set(), set())) for change in changes]
        if any(kind in harmful for _, harmful in verdicts):
            return
        suspects = [verdict for verdict in verdicts if kind not in verdict[0]]
        for harmless, harmful in suspects or verdicts:
            harmless.discard(kind)
            harmful.add(kind)

    def _note(self, template: str, outcome: Outcome) -> None:
        """Count the objects for which the template gave the answer."""
        answer = outcome.answer
        givers = self.givers.setdefault(answer, set())
        checks: list[tuple[str, int, bool]] = []
        if template not in givers:
            givers.add(template)
            if len(givers) == self.thresholds.shared:
                places = itertools.product(givers, (0, 1), (False, True))
                checks += [place for place in places if place in self.refusals]
        for i, reference in enumerate(outcome.situation[-template.count("OBJ") :]):
            place = (template, i, reference.held)
            answers = self.refusals.setdefault(place, {})
            names = answers.get(answer)
            if names is None and len(answers) < self.thresholds.answers:
                names = answers[answer] = set()
            if names is not None and reference.name not in names:
                names.add(reference.name)
                checks.append(place)
        for place in checks:
            refused = self.refused.setdefault(place[1:], set())
            if self.refuses(*place):
                refused.add(place[0])
            else:
                refused.discard(place[0])

    def refuses(self, template: str, i: int, held: bool) -> bool:
        """Whether the parser refuses all objects in position i that are held, or not held.

        False after too many different answers.
        """
        answers = self.refusals.get((template, i, held), {})
        if len(answers) >= self.thresholds.answers:
            return False
        refusals = 0
        for answer, names in answers.items():
            first = MARKS[0] in answer
            if not self.is_of_parser(answer) or first == (MARKS[1] in answer):
                return False
            refusals += len(names) if first == (i == 0) else 0
        return refusals >= self.thresholds.refusals

    def is_of_parser(self, answer: bytes) -> bool:
        """Whether the answer is the parser's: many templates gave it."""
        return len(self.givers.get(answer, ())) >= self.thresholds.shared

    def is_common(self, group: Sequence[Command]) -> bool:
        """Whether an effect is not that of its commands: many templates have it."""
        least = self.thresholds.common
        return len(group) >= least and len(dict(group)) >= least

    def _scene(self) -> Scene:
        world = self.env.get_world_objects()
        player = self.env.player_obj_num
        room = world[player].parent if 0 < player < len(world) else 0
        near: dict[int, Key] = {}
        names = []
        things: dict[str, list[Thing]] = {}
        waiting: list[tuple[int, Key]] = [(number, ()) for number in _contents(world, room)[::-1]]
        while waiting:
            number, holder = waiting.pop()
            if number in near:
                continue
            contents = _contents(world, number)
            if number == player:
                near[number] = ()
                waiting += [(inner, (HELD,)) for inner in contents[::-1]]
                continue
            entry = world[number]
            thing = Thing(number, bytes(entry._attr), contents, holder)
            near[number] = thing
            waiting += [(inner, thing._replace(contents=())) for inner in contents[::-1]]
            names.append(entry.name)
            for word in {entry.name, *entry.name.split()}:
                things.setdefault(word[: self.word_length], []).append(thing)
        ordered = {word: tuple(sorted(group, key=repr)) for word, group in things.items()}
        special = tuple(self.env._get_special_ram().tolist())
        return Scene(room, special, names, ordered, hash(tuple(sorted(near.items()))))

    def _objects(
        self, look: str, inventory: str, scene: Scene, before: Any
    ) -> dict[str, Reference]:
        """References to the objects in the texts and the tree, by the best names.

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
            if any(part[: self.word_length] not in self.dictionary for part in word.split()):
                continue  # the parser knows no such word
            things = scene.things.get(word[: self.word_length], ())
            elsewhere = () if things else (description, scene.room)
            state = (word, HELD in _holders(things), things, elsewhere)
            reference = self.references.get(state)
            if reference is None:
                reference = self.references[state] = Reference(*state)
            objects[word] = reference
        return objects

    def _words(self, look: str, inventory: str, names: Iterable[str]) -> dict[str, float]:
        """The words that may name objects, with their scores."""
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


@dataclass
class Filling:
    """Names that fill templates, and what is known of these commands."""

    names: Names
    situation: Key  # what an effect may depend on; empty if none is expected
    effects: Effects  # in the present state of the objects
    history: History
    differences: dict[Key, list[Key]] = field(default_factory=dict)  # from other situations

    def changes(self, before: Key) -> Sequence[Key]:
        """The differences from another situation."""
        if before not in self.differences:
            self.differences[before] = list(_differences(before, self.situation))
        return self.differences[before]


class Turn:
    """The commands of one state: those to play, and those whose effect is expected."""

    def __init__(self, search: ActionSearch, before: Any) -> None:
        self.search = search
        self.before = before  # the state of the machine
        self.effects: Effects = {}
        self.expected: dict[bytes, list[tuple[Filling, list[Command]]]] = {}

    def add(
        self, key: Key, templates: Iterable[str], names: Names = (), situation: Key = ()
    ) -> None:
        """Fill templates with names, and play those whose effect is neither known nor expected."""
        known = self.search.memory.get(key)
        if known is not None and not known:  # nothing has an effect
            return
        history = self.search.histories.setdefault(names, History())
        effects: Effects = {} if known is None else known
        filling = Filling(names, situation, effects, history)
        if known is None:
            self._play_new(filling, templates)
            if key:
                self.search.memory[key] = effects
        else:
            for effect, commands in effects.items():
                self.expected.setdefault(effect, []).append((filling, commands))

    def confirm(self) -> None:
        """Play one of the commands that are expected to have the same effect.

        If it does not have it, the others are played. A common effect may be confirmed by any.
        """
        for effect, parts in self.expected.items():
            fillings = [(filling, command) for filling, part in parts for command in part]
            group = [command for _, command in fillings]
            common = self.search.is_common(group)
            confirmed = common and effect in self.effects
            played = 0
            for filling, command in fillings:
                if confirmed:
                    break
                filling.effects[effect].remove(command)
                outcome = self._play(command, filling)
                if filling.situation:
                    self.search.learn(filling, {command[0]: outcome})
                if outcome.effect is None:  # it may come back
                    filling.effects[effect].append(command)
                confirmed = outcome.effect == effect and (common or played == 0)
                played += 1
            if confirmed:
                self.effects[effect] += group[played:]
        self.expected = {}

    def own_commands(self) -> list[Command]:
        """The commands with a distinct effect, unlike the passing of time."""
        groups = self.effects.values()
        return [
            command for group in groups if not self.search.is_common(group) for command in group
        ]

    def _play_new(self, filling: Filling, templates: Iterable[str]) -> None:
        """Play the templates whose last effect or refusal cannot be expected again."""
        names = filling.names
        situation = filling.situation
        skipped = self._expect_effects(filling, templates) if situation else set()
        played: dict[str, Outcome] = {}
        for template in templates:
            if template not in skipped:
                played[template] = self._play((template, names), filling)
        if situation:
            self.search.learn(filling, played)
        if len(names) > 1:
            new = {(template, one.answer, one.effect) for template, one in played.items()}
            for results in self.search.results(situation[-2:]):
                results |= new

    def _expect_effects(self, filling: Filling, templates: Iterable[str]) -> set[str]:
        """Expect effects of templates. Returns the templates that need not be played."""
        expected = self.pair_effects(filling) if len(filling.names) > 1 else {}
        expected |= self.last_effects(filling)
        for template in templates:
            effect = expected.get(template)
            if effect is not None:
                filling.effects.setdefault(effect, []).append((template, filling.names))
        for effect, commands in filling.effects.items():
            self.expected.setdefault(effect, []).append((filling, commands.copy()))
        refused = self.search.refused
        places = [(i, one.held) for i, one in enumerate(filling.situation[-len(filling.names) :])]
        return set(expected).union(*(refused.get(place, ()) for place in places))

    def last_effects(self, filling: Filling) -> dict[str, bytes | None]:
        """The last effects of templates whose answer did not change since.

        Templates that ever had a distinct effect are not among them.
        """
        outcomes = filling.history.outcomes
        templates = set()
        for situation, kinds in filling.history.kinds.items():
            for change in filling.changes(situation):
                kinds = kinds & self.search.verdicts.get(change, (set(), set()))[0]
                if not kinds:
                    break
            templates |= {template for template, _ in kinds}
        return {one: outcomes[one].effect for one in templates - self.search.active}

    def pair_effects(self, filling: Filling) -> dict[str, bytes | None]:
        """The effects that templates had with either object and any other.

        Templates that ever had a distinct effect, templates that were never played with this pair
        and answers of the parser are left out. Of several effects, one is expected, and confirmed.
        """
        if not all(filling.situation[:2]):  # one of the objects is in the other
            return {}
        first, second = self.search.results(filling.situation[-2:])
        effects: dict[str, bytes | None] = {}
        for template, answer, effect in first & second:
            tried = template in filling.history.outcomes
            if (
                tried
                and not self.search.is_of_parser(answer)
                and template not in self.search.active
            ):
                effects[template] = max(effect or b"", effects.get(template) or b"") or None
        return effects

    def _play(self, command: Command, filling: Filling) -> Outcome:
        effect, answer = self.search.play(command, self.before)
        if effect is not None:
            self.effects.setdefault(effect, []).append(command)
            filling.effects.setdefault(effect, []).append(command)
        return Outcome(answer, effect, filling.situation)


def _differences(before: Any, after: Any, path: Key = ()) -> Iterator[Key]:
    """The paths to the parts of two situations that differ: bits, texts, numbers, sizes."""
    if before == after:
        return
    before, after = (getattr(one, "state", one) for one in (before, after))  # of references
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        for i, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, (*path, i))
    elif isinstance(before, bytes):
        bits = int.from_bytes(before, "big") ^ int.from_bytes(after, "big")
        yield from ((*path, bit) for bit in range(bits.bit_length()) if bits >> bit & 1)
    elif isinstance(after, str):
        yield (*path, after)
    else:
        sizes = (len(one) if isinstance(one, tuple) else one != 0 for one in (before, after))
        yield (*path, *sizes)


def _contents(world: Sequence[Any], number: int) -> tuple[int, ...]:
    """The numbers of the objects directly in an object."""
    contents: list[int] = []
    inner = world[number].child if 0 < number < len(world) else 0
    while 0 < inner < len(world) and inner not in contents:
        contents.append(inner)
        inner = world[inner].sibling
    return tuple(contents)


def _holders(things: Iterable[Thing]) -> set[Any]:
    """The numbers of the objects around things, and HELD for the player."""
    holders = set()
    for thing in things:
        holder = thing.holder
        while holder:
            holders.add(holder[0])
            holder = holder.holder if isinstance(holder, Thing) else ()
    return holders


def _fill(template: str, names: Iterable[str]) -> str:
    for name in names:
        template = template.replace("OBJ", name, 1)
    return template
