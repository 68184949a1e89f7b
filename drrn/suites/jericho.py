"""Jericho: Z-machine games that people wrote, with the actions that change the world.

Jericho finds those by trying thousands of commands in the game, which takes up to seconds, so a list is kept for each
state of the world. To guess which words are objects, it wants a model of spaCy, which must be downloaded; the game's
own dictionary says which of its words are nouns and adjectives, and serves as well.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drrn.errors import InputError, require
from drrn.suites.catalogue import SUITES
from drrn.suites.environment import LOST, WON, SuitePage, listed_actions, text_of_parts

SUITE = SUITES["jericho"]
WORD = re.compile(r"[a-z0-9'-]+")
HEADER = 64  # bytes of a story file


class JerichoEnvironment:
    """A story file. An episode's seed is the emulator's; it takes 0 for none, so 0 is never given."""

    def __init__(self, game: str, options: Mapping[str, Any]) -> None:
        check_story_file(Path(game))
        jericho = require(SUITE.module, SUITE.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it warns of is refused below
            self.env = jericho.FrotzEnv(game)
        if not self.env.is_fully_supported or not self.env.bindings:
            raise InputError(
                f"{game}: Jericho does not know this game, so it cannot list its actions or tell its score: it knows "
                "some files by their hash only (a file of TextWorld is opened as textworld:PATH)"
            )
        self.wanted = options["text"].split(",")
        self.seed = options["seed"]
        self.by_world = options["menus"] == "world"
        self.menus: dict[str, tuple[str, ...]] = {}
        self.tags = tags_of(self.env.get_dictionary())
        if options["tagger"] == "dictionary":
            jericho.util.extract_objs = self._objects  # this process has one environment

    def reset(self, seed: int) -> SuitePage:
        self.env.seed(self.seed or 1 + seed % (2**31 - 2))
        feedback, shown = self.env.reset()
        return self._page(feedback, shown)

    def step(self, action: str) -> SuitePage:
        feedback, _, _, shown = self.env.step(action)
        return self._page(feedback, shown)

    def close(self) -> None:
        self.env.close()

    def _page(self, feedback: str, shown: Mapping[str, Any]) -> SuitePage:
        score = float(shown["score"])
        if self.env.victory() or self.env.game_over():
            return SuitePage(
                text_of_parts({"feedback": feedback}, ["feedback"]),
                (),
                score,
                WON if self.env.victory() else LOST,
            )
        parts = {
            "feedback": feedback,
            "look": self._said("look"),
            "inventory": self._said("inventory"),
        }
        return SuitePage(text_of_parts(parts, self.wanted), self._menu(parts), score)

    def _said(self, command: str) -> str:
        """What the game answers to a command, which is then undone."""
        state = self.env.get_state()
        answer: str = self.env.step(command)[0]
        self.env.set_state(state)
        return answer

    def _menu(self, parts: Mapping[str, str]) -> tuple[str, ...]:
        """The actions that change the world, as they were first found in this state of it."""
        key = self._world(parts) if self.by_world else self._exact()
        if key not in self.menus:
            state = self.env.get_state()
            self.menus[key] = listed_actions(self.env.get_valid_actions(use_parallel=False))
            self.env.set_state(state)
        return self.menus[key]

    def _world(self, parts: Mapping[str, str]) -> str:
        """Where everything is, and what is told of it: turns and the generator of chance are left out."""
        return f"{self.env.get_world_state_hash()}\0{parts['look']}\0{parts['inventory']}"

    def _exact(self) -> str:
        """The whole state of the machine."""
        memory, stack, *rest = self.env.get_state()
        return hashlib.sha256(bytes(memory) + bytes(stack) + repr(rest[:6]).encode()).hexdigest()

    def _objects(self, text: str) -> set[tuple[str, str]]:
        """Nouns and adjectives of a text, as the game's own dictionary has them; Jericho then tries each of them."""
        found = ((word, self.tags.of(word)) for word in WORD.findall(text.lower()))
        return {(word, tag) for word, tag in found if tag is not None}


class DictionaryTags:
    """Parts of speech by a game's dictionary, which keeps the first letters of each word only."""

    def __init__(self, tags: Mapping[str, str | None], length: int) -> None:
        self.tags = tags
        self.length = length

    def of(self, word: str) -> str | None:
        return self.tags.get(word[: self.length])


def tags_of(dictionary: Any) -> DictionaryTags:
    tags = {
        entry.word: "NOUN" if entry.is_noun else "ADJ" if entry.is_adj else None
        for entry in dictionary
    }
    return DictionaryTags(tags, max(map(len, tags), default=0))


def check_story_file(path: Path) -> None:
    """Refuse a file that cannot be a Z-machine story: the emulator would end its process over it."""
    data = path.read_bytes()
    places = [int.from_bytes(data[at : at + 2], "big") for at in (0x04, 0x08, 0x0A, 0x0C, 0x0E)]
    if (
        len(data) < HEADER
        or not 1 <= data[0] <= 8
        or not all(HEADER <= place <= len(data) for place in places)
    ):
        raise InputError(f"{path}: not a story file of the Z-machine (.z3, .z5, .z8)")
    length = int.from_bytes(data[0x1A:0x1C], "big") * (
        2 if data[0] < 4 else 4 if data[0] < 6 else 8
    )
    if length > len(data):
        raise InputError(
            f"{path}: a story file that was cut short: {len(data):,} of its {length:,} bytes are there"
        )
