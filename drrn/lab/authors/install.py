"""Installs the paper's two games from a clone of the authors' repository; nothing of it is run."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError
from drrn.game.make import make
from drrn.lab.authors.clone import SIMULATOR, Sources, read_sources
from drrn.lab.authors.pickled import read_pickle
from drrn.lab.authors.python2 import (
    dotted_name,
    form_error,
    member,
    number_literal,
    parse_python2,
    string_literal,
)
from drrn.lab.authors.stories import MachineOfDeath, Story, paraphrases, read_saving_john
from drrn.stories.added import NAMES, Origin, games_folder, origin_if_sound, record_path
from drrn.stories.twine.story import unescape_html

TITLES = ("Saving John", "Machine of Death")
STEP_REWARD = -0.1  # in the paper, in both games


def add_games(clone: Path, *, as_published: bool = False) -> tuple[Origin, bool]:
    """Install both games from a clone.

    Args:
        clone: The folder of the clone.
        as_published: Rewards as in the published code, not as in the paper.

    Returns:
        What the games were converted from, and whether files were written.

    Raises:
        InputError: A file of the clone differs from the published one, or cannot be read.
    """
    sources = read_sources(clone)
    files = converted(sources, as_published=as_published)
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
    folder = f"text-games-{digest[:12]}"
    origin = Origin(folder, sources.sha256, sources.hashes, as_published)
    before = origin_if_sound()
    if before == origin and _has_files(origin.path, files):
        return origin, False
    try:
        _write(files, origin)
    except OSError as error:
        why = f"{error.strerror}; the old games are unchanged"
        raise InputError(f"{games_folder()}: cannot be written: {why}") from error
    if before is not None and before.folder != origin.folder:
        shutil.rmtree(before.path, ignore_errors=True)
    return origin, True


def converted(sources: Sources, *, as_published: bool) -> dict[str, str]:
    """Return the files of both games, by name."""
    tree = parse_python2(sources.files[SIMULATOR])
    john, machine = NAMES
    machine_of_death = MachineOfDeath.read(tree)
    originals = sources.files["simulators/machineofdeath_originalActions.txt"]
    others = sources.files["simulators/machineofdeath_paraphrasedActions.txt"]
    pairs = paraphrases(originals, others, machine_of_death.labels)
    lines = ["original\tparaphrase", *("\t".join(pair) for pair in pairs.items())]
    files = {f"{machine}.paraphrases.tsv": "\n".join(lines) + "\n"}
    pickled = "simulators/savingjohn.pickle"
    saving_john = read_saving_john(sources.files[pickled], tree, pickled)
    stories = {john: saving_john, machine: machine_of_death.story}
    for name, title in zip(NAMES, TITLES, strict=True):
        rewards = Rewards.read(tree, name.replace("-", ""))
        toml = rewards.toml(title, name, stories[name], as_published, name == machine)
        files[f"{name}.twee"] = stories[name].twee
        files[f"{name}.toml"] = toml
        vocabulary = {
            side: _vocabulary(sources, f"simulators/{name.replace('-', '')}_{kind}Id.pickle")
            for side, kind in (("states", "word"), ("actions", "action"))
        }
        files[f"{name}.vocabulary.json"] = json.dumps(vocabulary, ensure_ascii=False)
    return files


def _vocabulary(sources: Sources, source: str) -> dict[str, int]:
    """Return the published indices of words."""
    words: dict[str, int] = read_pickle(sources.files[source], source)
    return dict(sorted(words.items(), key=lambda item: item[1]))


def _write(files: dict[str, str], origin: Origin) -> None:
    """Write to a temporary folder, check that the games open, then move them and the record."""
    games_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=".text-games-", dir=games_folder(), ignore_cleanup_errors=True
    ) as temporary:
        folder = Path(temporary) / "games"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        for name in NAMES:
            make(folder / f"{name}.toml")  # it can be played
        if not _has_files(origin.path, files):  # else killed between the folder and its record
            shutil.rmtree(origin.path, ignore_errors=True)
            folder.rename(origin.path)
        record = Path(temporary) / "record.json"
        record.write_text(origin.to_json(), encoding="utf-8")
        record.replace(record_path())


def _has_files(folder: Path, files: dict[str, str]) -> bool:
    try:
        texts = {name: (folder / name).read_text(encoding="utf-8") for name in files}
        return texts == files
    except (OSError, ValueError):
        return False


# --- Rewards: the simulator's function as rules in TOML


@dataclass(frozen=True, slots=True)
class EndingReward:
    """The reward of an ending, and the words that identify it."""

    how: str  # `contains` or `starts_with`
    words: str  # as in the source
    reward: float

    @property
    def recognised(self) -> bool:
        """Whether the published simulator recognises it: it removes entities from texts first."""
        return not re.search(r"&#?\w+;", self.words)


@dataclass(frozen=True)
class Rewards:
    """The rewards of one story in the simulator."""

    endings: tuple[EndingReward, ...]
    step: float  # of a page that does not end the story
    end_mark: str | None  # what only the pages of endings contain
    otherwise: float

    @classmethod
    def read(cls, tree: ast.Module, story: str) -> Rewards:
        *cases, last = member(tree, "AssignReward").body
        assert isinstance(last, ast.Return) and last.value
        step = 0.0
        mark = None
        endings: list[EndingReward] = []
        for statement in _cases_of(cases, story):
            match statement:
                case ast.If(ast.UnaryOp(ast.Not(), test), [ast.Return(ast.expr() as reward)]):
                    step = number_literal(reward)
                    mark = _words(test)[1]
                case ast.If(test, [ast.Return(ast.expr() as reward)]):
                    endings.append(EndingReward(*_words(test), number_literal(reward)))
                case _:
                    raise form_error(statement)
        return cls(tuple(endings), step, mark, number_literal(last.value))

    def toml(self, title: str, name: str, story: Story, published: bool, paraphrased: bool) -> str:
        """Return the TOML, with rewards as in the published code or as in the paper.

        A rule is written once for each passage that contains its words, so that endings are
        identified by their passages.
        """
        kind = "the published code" if published else "the paper"
        lines = [f"# Written by `drrn games add`; rewards as in {kind}."]
        lines += [f"title = {_quoted(title)}", f'story = "{name}.twee"']
        if paraphrased:
            lines.append(f'paraphrases = "{name}.paraphrases.tsv"')
        lines.append(f"step_reward = {self.step if published else STEP_REWARD}")
        lines += ["max_steps = 500", f"default_reward = {self.otherwise}"]
        if self.end_mark is not None:
            lines.append(f"ends = {{ contains = {_quoted(self.end_mark)} }}")
        for ending in self.endings:
            words = unescape_html(ending.words)
            for passage, text in story.passages_with(words) or [("", words)]:
                recognised = ending.recognised and text == words
                reward = ending.reward if recognised or not published else self.otherwise
                lines += ["", "[[ending]]"] + [f"passage = {_quoted(passage)}"] * bool(passage)
                lines += [f"{ending.how} = {_quoted(text)}", f"reward = {reward}"]
        return "\n".join(lines) + "\n"


def _cases_of(cases: list[ast.stmt], story: str) -> list[ast.stmt]:
    """Return the statements below `if story.lower() == …`."""
    for statement in cases:
        match statement:
            case ast.If(ast.Compare(_, [ast.Eq()], [name]), body):
                if string_literal(name) == story:
                    return body
    raise form_error(cases[0])


def _words(test: ast.expr) -> tuple[str, str]:
    """Return how and what: `ending.startswith("…")`, or `"…" in ending`."""
    match test:
        case ast.Call(method, [words], []) if dotted_name(method) == "ending.startswith":
            return "starts_with", string_literal(words)
        case ast.Compare(words, [ast.In()], [_]):
            return "contains", string_literal(words)
    raise form_error(test)


def _quoted(text: str) -> str:
    """Return a TOML string, which has the form of a JSON string."""
    return json.dumps(text, ensure_ascii=False)
