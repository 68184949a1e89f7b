"""Which passages of a story set and read each variable, as far as its source shows."""

import re
from collections.abc import Collection
from functools import cached_property
from typing import Any

from drrn.stories.authored import INK, NATIVE, AuthoredGame, Explorable
from drrn.stories.hosted import patterns
from drrn.stories.hosted.variables import SHARED_TAGS, has_code, variable_uses
from drrn.stories.playtest.counts import VariableUse
from drrn.stories.playtest.coverage import PREFIXES, Source

ENGINE_TAGS = {"nobr", "bookmark", "noreturn", "nosave"}
# Formats whose variables can be read from the source.
WITH_DOLLARS = ("sugarcube", "harlowe", "sugarcane", "jonah", "responsive", "")
# Chapbook: a line such as "gold (condition): value" above "--", or {… for: 'gold'}.
CHAPBOOK_SET = re.compile(r"(?m)^(?!config\b)([A-Za-z_]\w*)[^\s():]*[ \t]*(\(.*\))?[ \t]*:(.*)$")
CHAPBOOK_BOUND = re.compile(r"\bfor:\s*['\"]([A-Za-z_]\w*)")
SNOWMAN = re.compile(r"(?<![\w'’.])s\.([A-Za-z_]\w*)(?!\w*\()(\s*(?:[-+*/]?=(?!=)|\+\+|--))?")


class VariableUses:
    """The variables of a story, by the name that the author writes, and where they are used."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.story = source.story
        self.by_name: dict[str, VariableUse] = {}
        format_name = source.format_name
        # Variables that each passage displays or copies whatever happens.
        self.displayed: dict[str, set[str]] = {}
        if isinstance(source.game, AuthoredGame) and source.engine == INK:
            for name, (read, settings) in source.game.variable_uses.items():
                self._add(name, read, settings)
        elif source.engine and format_name in WITH_DOLLARS:
            self._read_passages()
        elif source.engine and format_name in PREFIXES:
            for name, passage in self.story.passages.items():
                if not {"stylesheet", "script"} & {*passage.tags}:
                    self._read_code(name, patterns.COMMENT.sub("", passage.text))
            if format_name == "chapbook":  # words that no passage sets are no variables
                self.by_name = {name: use for name, use in self.by_name.items() if use.set_in}

    def is_named_in_code(self, name: str) -> bool:
        """Return whether a script or a rule may set or read a variable."""
        return patterns.WORD.findall(name)[-1] in self._words_in_code

    @cached_property
    def _words_in_code(self) -> Collection[str]:
        passages = self.story.passages.values()
        if any(patterns.COMPUTED_NAME.search(passage.text) for passage in passages):
            return {patterns.WORD.findall(name)[-1] for name in self.by_name}
        texts = [passage.text for passage in passages if has_code(passage)]
        return frozenset(patterns.WORD.findall(" ".join((*texts, repr(self.source.rules)))))

    @property
    def fields(self) -> dict[str, Any]:
        """The variables and tags, by the fields of the findings."""
        return {"uses": dict(sorted(self.by_name.items())), "unused_tags": self._unused_tags()}

    def _unused_tags(self) -> list[str]:
        """List the tags of pages that no style, script, passage or rule names."""
        if self.source.engine == INK:
            return []
        texts = [passage.text for passage in self.story.passages.values()]
        tags = {tag for passage in self.story.pages.values() for tag in passage.tags}
        named = " ".join((*texts, repr(self.source.rules)))
        return sorted(tag for tag in tags - SHARED_TAGS - ENGINE_TAGS if tag not in named)

    def _add(self, passage: str, read: Collection[str], settings: Collection[str]) -> None:
        for name in sorted({*settings, *read}):
            use = self.by_name.setdefault(name, VariableUse())
            use.set_in += [passage] * (name in settings)
            use.read_in += [passage] * (name in read)

    def _read_code(self, passage: str, text: str) -> None:
        """Add the variables of a passage in Snowman; in Chapbook, all words of its code."""
        uses = [(f"s.{name}", is_set) for name, is_set in SNOWMAN.findall(text)]
        read = {name for name, is_set in uses if not is_set}
        settings = {name for name, is_set in uses if is_set}
        if self.source.format_name == "chapbook":
            head, dashes, rest = f"\n{text}".partition("\n--\n")
            lines = CHAPBOOK_SET.findall(head) if dashes else []
            settings = {name for name, *_ in lines}.union(CHAPBOOK_BOUND.findall(text))
            read = set(patterns.WORD.findall(rest or text))
            for name, *code in lines:
                read |= set(patterns.WORD.findall(" ".join(code))) - {name}
        self._add(passage, read, settings)

    def _read_passages(self) -> None:
        game = self.source.game
        facts = None
        if self.source.engine == NATIVE and isinstance(game, Explorable):
            facts = game.script.facts
        for name, passage in self.story.passages.items():
            if "stylesheet" in passage.tags or "script" in passage.tags:
                continue
            text = patterns.COMMENT.sub("", passage.text)
            uses = variable_uses(text)
            read = set(uses.read | uses.stored).union(*(names for _, names in uses.settings))
            settings = {target for target, _ in uses.settings}
            bound = {next(filter(None, names)) for names in patterns.BOUND.findall(text)}
            read -= {"args"}  # of SugarCube's widgets
            if facts is not None:  # text such as $x is no variable there
                read &= facts.read
                bound = bound & facts.written | (read & facts.prompts)
            read &= set(patterns.VARIABLE.findall(patterns.BOUND.sub(" ", text)))
            self._add(name, {f"${v}" for v in read}, {f"${v}" for v in settings | bound})
            block = patterns.BLOCK.search(text)
            before = variable_uses(text[: block.start()] if block else text)
            sources = (names for _, names in before.settings)
            displayed = before.read.union(*sources) & read - bound
            self.displayed[name] = {f"${variable}" for variable in displayed}
