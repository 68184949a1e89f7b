"""Environments of the suites: reset by a seed, stepped by words."""

import math
import re
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from textgames.errors import InputError, did_you_mean, require
from textsuites.catalogue import SUITES

NO_LIMIT = {"envStepLimit": 10**9}  # a suite's own limit would look like an ending
BLANK_LINES = re.compile(r"[ \t]*\n\s*\n[ \t]*")
UNITS = re.compile(r"(?<=\d)(?=(?:mm|cm|m|km|mg|g|kg|ml|l)\b)")
WORD = re.compile(r"[a-z0-9'-]+")
FOLDS = ("train", "dev", "test")
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

    def close(self) -> None:
        """Release what the environment holds."""
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
        texts = (BLANK_LINES.sub("\n", str(parts.get(name) or "")).strip() for name in self.parts)
        text = "\n".join(dict.fromkeys(filter(None, texts)))
        ending = "lost" if lost else None
        if won:
            ending = "won"
        stopped = done and ending is None
        words = tuple(sorted({str(action).strip() for action in actions} - {""}))
        return SuitePage(text, words, float(max(score, self.floor)), ending, stopped)


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
        folds = (env.getValidSeedsTrain, env.getValidSeedsDev, env.getValidSeedsTest)
        self.seeds = _Variations(options, "seed", folds)

    def reset(self, seed: int, fold: str | None = None) -> SuitePage:
        variation, fold = self.seeds.select(seed, fold)
        _, info = self.env.reset(seed=variation, gameFold=fold)
        return self._page(info, done=False)

    def step(self, action: str) -> SuitePage:
        _, _, done, info = self.env.step(self.commands.get(action, action))
        return self._page(info, done=bool(done))

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


def _separate_units(text: str) -> str:
    return UNITS.sub(" ", text)


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
        names = {*self.parts, "admissible_commands", "score", "won", "lost"}
        try:
            infos = self.module.EnvInfos(**dict.fromkeys(names, True))
            self.env = self.module.start(game, infos)
        except (ValueError, OSError, KeyError) as error:
            raise InputError(f"{game}: not a game of TextWorld: {error}") from error

    def reset(self, seed: int, fold: str | None = None) -> SuitePage:
        return self._page(self.env.reset(), done=False)

    def step(self, action: str) -> SuitePage:
        state, _, done = self.env.step(action)
        return self._page(state, done=done)

    def _page(self, state: Info, done: bool) -> SuitePage:
        commands = state.get("admissible_commands")
        if commands is None:
            message = "TextWorld lists no commands for it; make it again with tw-make"
            raise InputError(f"{self.game}: {message}")
        feedback = state.get("feedback") or ""
        if "\n>" in feedback:  # a prompt and a status line (room, score, moves) at the end
            feedback = feedback.rpartition("\n>")[0]
        won = bool(state.get("won"))
        lost = bool(state.get("lost"))
        parts = {**state, "feedback": feedback}
        return self.page(parts, commands, state["score"] or 0, won, lost, done)


class ScienceWorldEnvironment(Environment):
    """A task of ScienceWorld. The seed of an episode selects a variation of the fold.

    The score is from 0 to 100, or -100 after focusing on the wrong thing.
    """

    def __init__(self, game: str, options: Info) -> None:
        super().__init__("scienceworld", options)
        env = self.env = self.module.ScienceWorldEnv("", **NO_LIMIT)
        self.simplifications = options["simplifications"]
        self.task = game
        self.check_name("task", game, list(env.get_task_names()))
        self._load(options["variation"] or 0)
        folds = (env.get_variations_train, env.get_variations_dev, env.get_variations_test)
        self.variations = _Variations(options, "variation", folds)

    def reset(self, seed: int, fold: str | None = None) -> SuitePage:
        variation, _ = self.variations.select(seed, fold)
        if variation == self.current:
            observation, info = self.env.reset()
        else:  # a reset would load it again
            self._load(variation)
            observation, _, _, info = self.env.step("look around")
        return self._page(observation, info, done=False)

    def step(self, action: str) -> SuitePage:
        observation, _, done, info = self.env.step(action)
        return self._page(observation, info, done=done)

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


class JerichoEnvironment(Environment):
    """A Z-machine story file, with the actions that change the world.

    Jericho finds these by trying thousands of commands, which takes up to seconds, so a list is
    cached for each state of the world. Jericho guesses with a spaCy model which words are objects;
    here the game's own dictionary marks nouns and adjectives.
    """

    def __init__(self, game: str, options: Info, cached_lists: int = 2**15) -> None:
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
        self.actions = lru_cache(cached_lists)(self._valid_actions)
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
        util.extract_objs = self._objects  # this process has one environment

    def reset(self, seed: int, fold: str | None = None) -> SuitePage:
        self.env.seed(self.seed or 1 + seed % (2**31 - 2))  # 0 would mean no seed
        feedback, info = self.env.reset()
        return self._page(feedback, info["score"])

    def step(self, action: str) -> SuitePage:
        feedback, _, _, info = self.env.step(action)
        return self._page(feedback, info["score"])

    def _page(self, feedback: str, score: float) -> SuitePage:
        won = self.env.victory()
        lost = self.env.game_over()
        if won or lost:
            return self.page({"feedback": feedback}, (), score, won, lost, False)
        look = self._ask("look")
        inventory = self._ask("inventory")
        actions = self.actions(self.env.get_world_state_hash(), look, inventory)
        parts = {"feedback": feedback, "look": look, "inventory": inventory}
        return self.page(parts, actions, score, won, lost, False)

    def _ask(self, command: str) -> str:
        """Return the game's answer to a command, and undo the command."""
        state = self.env.get_state()
        answer: str = self.env.step(command)[0]
        self.env.set_state(state)
        return answer

    def _valid_actions(self, *world: str) -> tuple[str, ...]:
        """The actions that change the world, as first listed in this state of the world."""
        state = self.env.get_state()
        actions = self.env.get_valid_actions(use_parallel=False)
        self.env.set_state(state)
        return tuple(actions)

    def _objects(self, text: str) -> set[tuple[str, str]]:
        """The nouns and adjectives of a text. Jericho tries each of them."""
        words = WORD.findall(text.lower())
        tags = ((word, self.tags.get(word[: self.word_length])) for word in words)
        return {(word, tag) for word, tag in tags if tag is not None}


def check_story_file(path: Path, header: int = 64) -> None:
    """Refuse a file that cannot be a Z-machine story: the emulator would crash on it."""
    data = path.read_bytes()
    if len(data) < header or not 1 <= data[0] <= 8:
        raise InputError(f"{path}: not a story file of the Z-machine (.z3, .z5, .z8)")
    unit = 8
    if data[0] < 6:
        unit = 2 if data[0] < 4 else 4
    length = int.from_bytes(data[0x1A:0x1C], "big") * unit
    if length > len(data):
        sizes = f"{len(data):,} of {length:,} bytes"
        raise InputError(f"{path}: the story file is truncated to {sizes}; copy it again")
