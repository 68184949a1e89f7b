"""Environments of the suites: reset by a seed, stepped by words, each in a separate process."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from drrn.errors import InputError, did_you_mean, require
from drrn.suites.catalogue import SUITES

NO_LIMIT = 10**9  # steps: a suite's own limit would look like an ending
WON = "won"
LOST = "lost"
BLANK_LINES = re.compile(r"[ \t]*\n\s*\n[ \t]*")
WORD = re.compile(r"[a-z0-9'-]+")
STORY_HEADER = 64  # bytes


@dataclass(frozen=True)
class SuitePage:
    """A page: text, actions and the score so far."""

    text: str
    actions: tuple[str, ...]
    score: float
    ending: str | None = None  # its name if the game is over
    stopped: bool = False  # the suite truncated the episode


class Environment(Protocol):
    """A game of a suite, created from the game's name and the options."""

    def reset(self, seed: int) -> SuitePage:
        """Start an episode and return its first page."""
        ...

    def step(self, action: str) -> SuitePage:
        """Take an action, given in words, and return the next page."""
        ...

    def close(self) -> None:
        """Release what the environment holds."""
        ...


def page_text(parts: Mapping[str, Any], names: Sequence[str]) -> str:
    """Join parts of a page; one that repeats another (a look after a move) is omitted."""
    texts = (BLANK_LINES.sub("\n", str(parts.get(name) or "")).strip() for name in names)
    return "\n".join(dict.fromkeys(text for text in texts if text))


def sorted_actions(actions: Sequence[Any] | None) -> tuple[str, ...]:
    """Return the distinct actions in alphabetical order."""
    return tuple(sorted({str(action).strip() for action in actions or ()} - {""}))


def _unknown(suite: str, kind: str, name: str, names: Sequence[str], near: str) -> InputError:
    return InputError(f'{suite} has no {kind} "{name}".{near} Its {kind}s: {", ".join(names)}')


class TwxEnvironment:
    """A game of TextWorldExpress; the seed of an episode selects a variation of the fold."""

    def __init__(self, game: str, options: Mapping[str, Any]) -> None:
        suite = SUITES["twx"]
        self.env = require(suite.module, suite.name).TextWorldExpressEnv(envStepLimit=NO_LIMIT)
        self.parts = options["text"].split(",")
        self.fold = options["fold"]
        known = suite.all_options
        self._load(game, {key: value for key, value in options.items() if key not in known})
        if options["seed"] is not None:
            self.seeds = [options["seed"]]
        else:
            folds = {"train": self.env.getValidSeedsTrain, "dev": self.env.getValidSeedsDev}
            seeds = folds.get(self.fold, self.env.getValidSeedsTest)()
            self.seeds = list(seeds)[: options["variations"]]

    def reset(self, seed: int) -> SuitePage:
        _, info = self.env.reset(seed=self.seeds[seed % len(self.seeds)], gameFold=self.fold)
        return self._page(info, done=False)

    def step(self, action: str) -> SuitePage:
        _, _, done, info = self.env.step(action)
        return self._page(info, done)

    def close(self) -> None:
        self.env.close()

    def _load(self, game: str, properties: Mapping[str, Any]) -> None:
        suite = SUITES["twx"]
        names = self.env.getGameNames()
        if game not in names:
            near = did_you_mean(game, [*names, *suite.aliases])
            raise _unknown(suite.title, "game", game, names, near)
        try:
            self.env.load(game, ",".join(f"{key}={value}" for key, value in properties.items()))
        except ValueError as error:
            known = str(error).partition("Known properties:")[2].strip(" .").split(", ")
            hints = (did_you_mean(key, known) for key in properties if key not in known)
            near = next(filter(None, hints), "")
            raise InputError(f"{suite.name}:{game}: {str(error).strip()}{near}") from error

    def _page(self, info: Mapping[str, Any], done: bool) -> SuitePage:
        ending = LOST if info["taskfailure"] else None
        if info["tasksuccess"] or info["score"] >= 1:
            ending = WON
        text = page_text({**info, "task": info.get("taskDescription")}, self.parts)
        stopped = bool(done) and ending is None  # the suite's own step limit
        actions = sorted_actions(info["validActions"])
        return SuitePage(text, actions, float(info["score"]), ending, stopped)


class TextWorldEnvironment:
    """A game file of TextWorld, with the commands that it admits at each step."""

    def __init__(self, game: str, options: Mapping[str, Any]) -> None:
        textworld = require("textworld", "textworld")
        self.parts = options["text"].split(",")
        table = Path(game).with_suffix(".json")
        if not table.is_file():
            raise InputError(
                f"{game}: {table.name}, which tw-make writes next to it, is missing, so its "
                "commands are unknown; make the game again with tw-make, or open a game that is "
                f"not TextWorld's as jericho:{game}"
            )
        names = [*self.parts, "admissible_commands", "score", "won", "lost"]
        try:
            self.env = textworld.start(game, textworld.EnvInfos(**dict.fromkeys(names, True)))
        except (ValueError, OSError, KeyError) as error:
            raise InputError(f"{game}: not a game of TextWorld: {error}") from error

    def reset(self, seed: int) -> SuitePage:
        return self._page(self.env.reset(), done=False)

    def step(self, action: str) -> SuitePage:
        state, _, done = self.env.step(action)
        return self._page(state, done)

    def close(self) -> None:
        self.env.close()

    def _page(self, state: Mapping[str, Any], done: bool) -> SuitePage:
        if state.get("admissible_commands") is None:
            raise InputError("TextWorld lists no commands of this game; make it again with tw-make")
        ending = LOST if state.get("lost") else None
        if state.get("won"):
            ending = WON
        feedback = state.get("feedback") or ""
        if "\n>" in feedback:  # a prompt and a status line (room, score, moves) at the end
            feedback = feedback.rpartition("\n>")[0]
        text = page_text({**state, "feedback": feedback}, self.parts)
        actions = sorted_actions(state["admissible_commands"])
        score = float(state["score"] or 0)
        return SuitePage(text, actions, score, ending, done and not ending)


class ScienceWorldEnvironment:
    """A task of ScienceWorld; the seed of an episode selects a variation of the fold.

    The score is from 0 to 100, or -100 after focusing on the wrong thing.
    """

    def __init__(self, game: str, options: Mapping[str, Any]) -> None:
        suite = SUITES["scienceworld"]
        self.env = require(suite.module, suite.name).ScienceWorldEnv("", envStepLimit=NO_LIMIT)
        self.parts = options["text"].split(",")
        self.simplifications = options["simplifications"]
        names = list(self.env.get_task_names())
        if game not in names:
            raise _unknown(suite.title, "task", game, names, did_you_mean(game, names))
        self.task = game
        variation = options["variation"]
        self._load(variation or 0)
        if variation is not None:
            self.variations = [variation]
        else:
            folds = {"train": self.env.get_variations_train, "dev": self.env.get_variations_dev}
            variations = folds.get(options["fold"], self.env.get_variations_test)()
            self.variations = list(variations)[: options["variations"]]

    def reset(self, seed: int) -> SuitePage:
        variation = self.variations[seed % len(self.variations)]
        if variation != self.current:
            self._load(variation)
        observation, info = self.env.reset()
        return self._page(observation, info, done=False)

    def step(self, action: str) -> SuitePage:
        observation, _, done, info = self.env.step(action)
        return self._page(observation, info, done)

    def close(self) -> None:
        self.env.close()

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

    def _page(self, observation: str, info: Mapping[str, Any], done: bool) -> SuitePage:
        parts = {
            "observation": observation,
            "look": info["look"],
            "inventory": info["inv"],
            "task": info["taskDesc"],
        }
        score = float(info["score"])
        ending = None
        if done:
            ending = WON if score >= 100 else LOST
        actions = sorted_actions(info["valid"])
        return SuitePage(page_text(parts, self.parts), actions, score, ending)


class JerichoEnvironment:
    """A Z-machine story file, with the actions that change the world.

    Jericho finds these by trying thousands of commands, which takes up to seconds, so a menu is
    cached for each state of the world. To guess which words are objects, it wants a spaCy model,
    which must be downloaded; the game's own dictionary marks nouns and adjectives as well.
    """

    def __init__(self, game: str, options: Mapping[str, Any]) -> None:
        check_story_file(Path(game))
        jericho = require("jericho", "jericho")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unsupported games are refused below
            self.env = jericho.FrotzEnv(game)
        if not self.env.is_fully_supported or not self.env.bindings:
            raise InputError(
                f"{game}: Jericho does not know this game, so it cannot list its actions or its "
                "score; it knows some files by their hash only (open a file of TextWorld as "
                "textworld:PATH)"
            )
        self.parts = options["text"].split(",")
        self.seed = options["seed"]
        self.by_world = options["menus"] == "world"
        self.menus: dict[str, tuple[str, ...]] = {}
        self.tags: dict[str, str] = {}  # noun or adjective, by the first letters of a word
        self.word_length = 0  # letters of a word that the dictionary stores
        for entry in self.env.get_dictionary():
            self.word_length = max(self.word_length, len(entry.word))
            if entry.is_noun or entry.is_adj:
                self.tags[entry.word] = "NOUN" if entry.is_noun else "ADJ"
            else:
                self.tags.pop(entry.word, None)
        if options["tagger"] == "dictionary":
            jericho.util.extract_objs = self._objects  # this process has one environment

    def reset(self, seed: int) -> SuitePage:
        self.env.seed(self.seed or 1 + seed % (2**31 - 2))  # 0 would mean no seed
        feedback, info = self.env.reset()
        return self._page(feedback, info)

    def step(self, action: str) -> SuitePage:
        feedback, _, _, info = self.env.step(action)
        return self._page(feedback, info)

    def close(self) -> None:
        self.env.close()

    def _page(self, feedback: str, info: Mapping[str, Any]) -> SuitePage:
        score = float(info["score"])
        if self.env.victory() or self.env.game_over():
            ending = WON if self.env.victory() else LOST
            return SuitePage(page_text({"feedback": feedback}, ["feedback"]), (), score, ending)
        parts = {name: self._answer(name) for name in ("look", "inventory")}
        text = page_text({"feedback": feedback, **parts}, self.parts)
        return SuitePage(text, self._menu(parts), score)

    def _answer(self, command: str) -> str:
        """Return the game's answer to a command, and undo the command."""
        state = self.env.get_state()
        answer: str = self.env.step(command)[0]
        self.env.set_state(state)
        return answer

    def _menu(self, parts: Mapping[str, str]) -> tuple[str, ...]:
        """Return the actions that change the world, as first found in this state."""
        if self.by_world:  # without turns and the random generator
            world = self.env.get_world_state_hash()
            key = f"{world}\0{parts['look']}\0{parts['inventory']}"
        else:
            memory, stack, *rest = self.env.get_state()
            state = bytes(memory) + bytes(stack) + repr(rest[:6]).encode()
            key = hashlib.sha256(state).hexdigest()
        if key not in self.menus:
            before = self.env.get_state()
            self.menus[key] = sorted_actions(self.env.get_valid_actions(use_parallel=False))
            self.env.set_state(before)
        return self.menus[key]

    def _objects(self, text: str) -> set[tuple[str, str]]:
        """Return the nouns and adjectives of a text; Jericho tries each of them."""
        words = WORD.findall(text.lower())
        tags = ((word, self.tags.get(word[: self.word_length])) for word in words)
        return {(word, tag) for word, tag in tags if tag is not None}


def check_story_file(path: Path) -> None:
    """Refuse a file that cannot be a Z-machine story: the emulator would crash on it."""
    data = path.read_bytes()
    addresses = [int.from_bytes(data[at : at + 2], "big") for at in (0x04, 0x08, 0x0A, 0x0C, 0x0E)]
    valid = len(data) >= STORY_HEADER and 1 <= data[0] <= 8
    if not valid or not all(STORY_HEADER <= address <= len(data) for address in addresses):
        raise InputError(f"{path}: not a story file of the Z-machine (.z3, .z5, .z8)")
    unit = 8
    if data[0] < 6:
        unit = 2 if data[0] < 4 else 4
    length = int.from_bytes(data[0x1A:0x1C], "big") * unit
    if length > len(data):
        missing = f"{len(data):,} of its {length:,} bytes exist"
        raise InputError(f"{path}: a truncated story file: {missing}; copy it again")
