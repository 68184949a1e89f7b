"""From a story's file to its game: by our reading of Twine 1 where that understands it whole, else by its engine."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from drrn.errors import InputError
from drrn.files import decode, read_bytes
from drrn.game.contract import Game
from drrn.game.make import BUILT_IN, ENGINES, GameSpec, check_path
from drrn.stories import added
from drrn.stories.formats.library import SCRIPT, format_for, publish, with_engine
from drrn.stories.hosted.browser import check_size, without_media
from drrn.stories.hosted.game import HostedGame
from drrn.stories.hosted.identity import Identity
from drrn.stories.hosted.session import Session
from drrn.stories.hosted.stage import Stage
from drrn.stories.ink.game import open_ink
from drrn.stories.twine.dialects import (
    DEFAULT,
    ForeignError,
    complaint,
    engine_difference,
    format_by_macros,
    knows_format,
    read_script,
)
from drrn.stories.twine.reading import HTML, TWINE_2, TWINE_2_END, read_story, read_twine_html
from drrn.stories.twine.rules import (
    Rules,
    check_rules,
    paraphrase_file,
    read_paraphrases,
    read_rules,
)
from drrn.stories.twine.script import Facts, Script
from drrn.stories.twine.story import LONGEST_PASSAGE, Story
from drrn.stories.twine.story_game import StoryGame

NATIVE, HOSTED = ENGINES
INK = (".json", ".ink")
CURE = "pip install 'drrn[twine]'"


@dataclass(frozen=True)
class StoryOptions:
    """How a story is to be opened."""

    shuffle: bool = True
    paraphrased: bool | str = False
    lenient: bool = False
    encoding: str | None = None
    engine: str | None = None  # native or hosted; None: whichever understands the story
    outside: bool = False  # whether a TOML may name files outside its folder


def open_story(path: Path, options: StoryOptions) -> Game:
    """The game of a story file, of the TOML beside one, or of a folder of Twee."""
    toml = path if path.suffix.lower() == ".toml" else _toml_beside(path)
    rules = read_rules(toml) if toml else Rules()
    if toml and not options.outside:
        _check_inside(rules, toml)
    file = rules.story or path
    said_in = paraphrase_file(rules.paraphrases, options.paraphrased, toml or path)
    said = read_paraphrases(said_in) if said_in else None
    if file.suffix.lower() in INK:
        return open_ink(
            file, rules, toml, shuffle=options.shuffle, paraphrases=said, encoding=options.encoding
        )
    return _Opening(path, toml, rules, file, said, options).game()


def open_story_of(spec: GameSpec) -> Game:
    """Open the story that a spec names; called by `make`."""
    options = StoryOptions(
        spec.shuffle, spec.paraphrased, spec.lenient, spec.encoding, spec.engine, spec.outside
    )
    return open_story(_story_path(spec.source), options)


def _story_path(name: str) -> Path:
    if name in BUILT_IN:
        return Path(str(resources.files("drrn.stories.twine") / "built_in" / f"{name}.toml"))
    if name in added.NAMES:
        return added.toml_of(name)
    return check_path(name)


@dataclass
class _Opening:
    """A Twine story about to be opened."""

    path: Path
    toml: Path | None
    rules: Rules
    file: Path
    said: Mapping[str, str] | None
    options: StoryOptions

    def game(self) -> Game:
        story = self._story()
        if self.options.engine == HOSTED:
            return self.hosted(story)
        try:
            script = read_script(
                story, dict(self.rules.inputs), lenient=True, macros=self.rules.macros
            )
        except ForeignError as error:
            return self._foreign(story, error)
        whole = not script.problems and not _has_scripts(story) and self._names_our_kind(story)
        whole = whole and not engine_difference(story, script)
        if self.options.engine != NATIVE and not whole and self._can_be_hosted(story, script):
            return self.hosted(story)
        if script.problems and not self.options.lenient:
            if (
                self.options.engine is None
                and story.format
                and not _is_page(self.file)
                and has_mini_racer()
            ):
                format_for(story)  # the sentence that says which format is missing
            raise InputError(complaint(script) + self._how_to_host(story))
        return self.native(script)

    def _story(self) -> Story:
        """The story as it is told; pictures within its passages are left out where they make one too long."""
        if not _is_page(self.file) or self.options.engine == NATIVE:
            return read_story(self.file, self.options.encoding)
        if (begun := TWINE_2.search(self._text)) and not TWINE_2_END.search(
            self._text, begun.end()
        ):
            raise InputError(
                f"{self.file}: it ends within its story (no </tw-storydata>): fetch the whole file again"
            )
        if len(self._text) <= LONGEST_PASSAGE:
            return read_twine_html(self._text, str(self.file))
        light = without_media(self._text)
        if self._carries_engine:
            check_size(light, str(self.file))
        try:
            return read_twine_html(self._text, str(self.file))
        except InputError:
            return read_twine_html(light, str(self.file))

    def _foreign(self, story: Story, error: ForeignError) -> Game:
        if self.options.engine == NATIVE:
            raise InputError(f"{error}: leave out --engine native") from error
        if not has_mini_racer():
            raise InputError(f"{error}: {CURE}") from error
        return self.hosted(story)

    def _can_be_hosted(self, story: Story, script: Script) -> bool:
        """Whether the story has an engine: a published page carries one; a source must name, or by its macros be in, a
        format that is kept."""
        if not has_mini_racer():
            return False
        if _is_page(self.file) and self._carries_engine:
            return True
        try:
            return bool(story.format or format_by_macros(script)) and format_for(story) is not None
        except InputError:
            return False

    def _names_our_kind(self, story: Story) -> bool:
        """Whether its format is one that we read: a page of Twine 2 that names another, or none, may hold any code."""
        return not _is_page(self.file) or TWINE_2.search(self._text) is None or knows_format(story)

    @cached_property
    def _carries_engine(self) -> bool:
        return SCRIPT.search(self._text) is not None

    @cached_property
    def _text(self) -> str:
        return decode(read_bytes(self.file), str(self.file), self.options.encoding)

    def _how_to_host(self, story: Story) -> str:
        if not has_mini_racer() and (_is_page(self.file) or story.format):
            return f"\n  Its own engine can play it whole: {CURE}"
        return ""

    def native(self, script: Script) -> StoryGame:
        """Told by our own reading of Twine 1."""
        rules = self.rules
        options = self.options
        script.lenient = options.lenient
        if self.toml:
            check_rules(rules, script, self.toml)
        sources = added.story_sources(rules.story) if rules.story else None
        game = StoryGame(
            self.path.stem,
            script,
            rules,
            shuffle=options.shuffle,
            paraphrases=self.said,
            sources=sources,
        )
        if options.lenient:
            game.note_empty_opening()
        return game

    def hosted(self, story: Story) -> HostedGame:
        """Played by the engine that the page carries, or by the kept format that the source names."""
        page = self._page(story)
        identity = Identity(story, twine1=not story.format and "<tw-storydata" not in page)
        script = Script(
            story, DEFAULT, dict(self.rules.inputs), facts=Facts(written=set(identity.variables))
        )
        script.tags.update((name, passage.tags) for name, passage in story.pages.items())
        if self.toml:
            check_rules(self.rules, script, self.toml)
            if script.facts.tracked:
                raise InputError(
                    f"{self.toml}: where may compare the story's variables only, since its own engine plays it: "
                    f"leave out {', '.join(sorted(script.facts.tracked))}"
                )
        identity.keep(script.facts.read)
        source = str(self.file)
        stage = Stage(lambda: Session(page, answers=script.answers), identity, source)
        return HostedGame(
            self.path.stem,
            stage,
            script,
            self.rules,
            page=page,
            shuffle=self.options.shuffle,
            paraphrases=self.said,
        )

    def _page(self, story: Story) -> str:
        if _is_page(self.file):
            return with_engine(self._text, str(self.file))
        return publish(story, format_for(story))


def _is_page(file: Path) -> bool:
    return file.suffix.lower() in HTML


def _has_scripts(story: Story) -> bool:
    """Whether the author wrote JavaScript, which our reading of a story leaves out."""
    return any(
        "script" in passage.tags and passage.text.strip() for passage in story.passages.values()
    )


def has_mini_racer() -> bool:
    return importlib.util.find_spec("py_mini_racer") is not None


def _check_inside(rules: Rules, toml: Path) -> None:
    """Refuse files outside the TOML's folder: whoever wrote it may not be whose files they are."""
    folder = toml.parent.resolve()
    named = {
        "story": rules.story,
        **{f"paraphrases ({name})": file for name, file in rules.paraphrases.items()},
    }
    for key, file in named.items():
        if file and not file.resolve().is_relative_to(folder):
            cure = "put it there, or allow it by --outside (in Python: outside=True)"
            raise InputError(
                f"{toml}: {key} is {file.resolve()}, which is outside the folder of the TOML: {cure}"
            )


def _toml_beside(path: Path) -> Path | None:
    """`story.toml` beside `story.twee`, if it speaks of this story."""
    toml = path.with_suffix(".toml")
    if not toml.is_file():
        return None
    rules = read_rules(toml)
    return toml if rules.story and rules.story.resolve() == path.resolve() else None
