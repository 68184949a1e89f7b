"""Opens a story file: by our interpreter if that understands all of it, otherwise by its engine."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from storytest.authored import HOSTED, NATIVE
from storytest.formats import SCRIPT, format_for, publish, with_engine
from storytest.hosted.browser import check_size, outside_scripts, without_media
from storytest.hosted.game import HostedGame
from storytest.hosted.identity import Identity
from storytest.hosted.session import Session
from storytest.hosted.stage import Stage
from storytest.ink import export_of_inky, open_ink
from storytest.limits import LIMITS
from storytest.twine import native
from storytest.twine.paraphrases import choose_paraphrases, retell
from storytest.twine.reading import HTML, TWINE_2, TWINE_2_END, read_story, read_twine_html
from storytest.twine.rules import Rules, check_rules, read_rules
from storytest.twine.script import Facts, Script
from storytest.twine.story import Story
from storytest.twine.story_game import TwineGame
from textgames.errors import InputError
from textgames.files import decode, read_bytes
from textgames.game.contract import Game
from textgames.openers import BUILT_IN, GameSpec, Opener, check_path, installed_games

INK = (".json", ".ink")


def open_story_of(spec: GameSpec) -> Game:
    """Open a story file, the TOML of one, or a folder of Twee, for `make`."""
    path = _story_path(spec.source)
    toml, rules = _rules_of(path)
    if toml and not spec.outside:
        _check_inside(rules, toml)
    file = rules.story or path
    words = choose_paraphrases(rules.paraphrases, spec.paraphrased, toml or path)
    retelling = words if isinstance(words, Path) else None
    if retelling and file.suffix.lower() in (*INK, *HTML):
        raise InputError(f"{retelling}: {file.name} is not Twee; paraphrase its actions in a TSV")
    options = {"shuffle": spec.shuffle, "paraphrases": None if retelling else words}
    ink = file if file.suffix.lower() in INK else export_of_inky(file)
    if ink:
        return open_ink(ink, rules, toml, spec.encoding, **options)
    return _Opening(path, toml, rules, file, options, spec, retelling).game()


def _story_path(name: str) -> Path:
    if name in BUILT_IN:
        return Path(__file__).parent / "twine" / "built_in" / f"{name}.toml"
    return installed_games().get(name) or check_path(name)


def _rules_of(path: Path) -> tuple[Path | None, Rules]:
    if path.suffix.lower() == ".toml":
        return path, read_rules(path)
    toml = path.with_suffix(".toml")
    if toml.is_file():
        rules = read_rules(toml)
        if rules.story and rules.story.resolve() == path.resolve():
            return toml, rules
    return None, Rules()


def _check_inside(rules: Rules, toml: Path) -> None:
    """Refuse files outside the TOML's folder: its author may be a stranger."""
    folder = toml.parent.resolve()
    sets = {f"paraphrases ({name})": file for name, file in rules.paraphrases.items()}
    for key, file in {"story": rules.story, **sets}.items():
        if file and not file.resolve().is_relative_to(folder):
            cause = f"{key} is {file.resolve()}, which is outside the folder of the TOML"
            cure = "move it there, or allow it with --outside (in Python: outside=True)"
            raise InputError(f"{toml}: {cause}; {cure}")


@dataclass
class _Opening:
    path: Path
    toml: Path | None
    rules: Rules
    file: Path
    options: dict[str, Any]  # of the game
    spec: GameSpec
    retelling: Path | None

    def game(self) -> Game:
        story = retell(self._story(), self.retelling) if self.retelling else self._story()
        engine = self.spec.engine
        if engine == HOSTED:
            return self._hosted(story)
        if reason := native.foreign(story):
            if engine is None:
                return self._hosted(story)
            cure = "leave out --engine native"
            raise InputError(f"{self.file}: {reason}, which needs its own engine; {cure}")
        script = native.read_script(story, dict(self.rules.inputs))
        if engine is None and not self._is_ours(script) and self._has_engine(script):
            return self._hosted(story)
        if script.problems and not self.spec.lenient:
            raise InputError(native.complaint(script))
        return self._native(script)

    @property
    def _is_page(self) -> bool:
        return self.file.suffix.lower() in HTML

    @cached_property
    def _text(self) -> str:
        return decode(read_bytes(self.file), str(self.file), self.spec.encoding)

    def _story(self) -> Story:
        """Read the story, without the pictures inside its passages if they are too long."""
        if not self._is_page or self.spec.engine == NATIVE:
            return read_story(self.file, self.spec.encoding)
        text = self._text
        source = str(self.file)
        data = TWINE_2.search(text)
        if data and not TWINE_2_END.search(text, data.end()):
            cause = "the file is truncated (no </tw-storydata>)"
            raise InputError(f"{source}: {cause}; download it again")
        if len(text) > LIMITS.passage_characters:
            text = without_media(text)
            check_size(text, source)
        return read_twine_html(text, source)

    def _is_ours(self, script: Script) -> bool:
        """Whether our interpreter displays all pages like the engines of Twine 1."""
        passages = script.story.passages.values()
        if script.problems or any(map(native.engines_differ, passages)):
            return False
        if self._is_page and TWINE_2.search(self._text):
            return False
        return not any("script" in passage.tags and passage.text.strip() for passage in passages)

    def _has_engine(self, script: Script) -> bool:
        if self._is_page and SCRIPT.search(self._text):
            return True
        if not script.story.format and not native.is_sugarcube(script):
            return False
        try:
            format_for(script.story)
        except InputError:
            return False
        return True

    def _native(self, script: Script) -> TwineGame:
        script.lenient = self.spec.lenient
        if self.toml:
            check_rules(self.rules, script, self.toml)
        return TwineGame(self.path.stem, script, self.rules, **self.options)

    def _hosted(self, story: Story) -> HostedGame:
        source = str(self.file)
        skipped = []
        if self._is_page:
            page = with_engine(self._text, source)
            skipped = [f"the script {name} is not loaded" for name in outside_scripts(page)]
        else:
            story_format = format_for(story)
            page = publish(story, story_format)
            if story.format_version not in ("", story_format.version):
                skipped = [f"{story_format} plays it, not {story.format_version}"]
        identity = Identity(story, twine1=not story.format and "<tw-storydata" not in page)
        facts = Facts(written=set(identity.variables))
        script = Script(story, dict(self.rules.inputs), facts=facts)
        script.tags.update((name, passage.tags) for name, passage in story.pages.items())
        if self.toml:
            check_rules(self.rules, script, self.toml)
            if facts.tracked:
                names = ", ".join(sorted(facts.tracked))
                cause = "the engine of this story reports only its variables"
                raise InputError(f"{self.toml}: {cause}; leave out {names} in where")
        identity.keep(facts.read)
        stage = Stage(lambda: Session(page, answers=script.answers), identity, source)
        name = self.path.stem
        game = HostedGame(name, stage, script, self.rules, page=page, **self.options)
        game.skipped = skipped
        return game


def _absolute_path(name: str) -> str:
    is_name = name in BUILT_IN or name in installed_games() or not Path(name).exists()
    return name if is_name else str(Path(name).resolve())


STORY_OPTIONS = frozenset({"paraphrased", "encoding", "engine"})
OPENER = Opener(open_story_of, "a story", STORY_OPTIONS, _absolute_path)
