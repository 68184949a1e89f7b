"""`storytest annotate STORY`: write a TOML to start from, with every ending listed."""

import argparse
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from storytest.authored import Explorable, explorable
from storytest.playtest.budget import Budget, Meter
from storytest.playtest.evidence import EndingRecord, Evidence
from storytest.playtest.findings import ERROR, Ending, Findings
from storytest.playtest.play import Games
from storytest.playtest.playtest import gather
from storytest.twine.layout import RestartLinks
from storytest.twine.script import DEFAULT_ANSWER
from textgames.errors import InputError
from textgames.game.contract import title_of
from textgames.terminal import clear_status, counter, open_game
from textgames.wording import counted, last_words, one_line, visible_json

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def run(options: argparse.Namespace) -> None:
    """Write the TOML."""
    game = explorable(open_game(options), "storytest annotate")
    story = Path(game.story.source)
    path = options.out or story.with_suffix(".toml")
    if path.exists():
        raise InputError(f"{path}: already exists and is not overwritten; choose another --out")
    if not os.access(path.parent, os.W_OK) or not path.parent.is_dir():
        raise InputError(f"{path}: {path.parent} is not a folder to write to; choose another --out")
    game.search_seconds = options.seconds
    findings = explored(game, options.limit, min(10, options.seconds))
    clear_status()
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(annotation(game, findings, _relative(story, path)))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    # A TOML whose story is in another folder needs --outside.
    is_inside = path.resolve().parent in story.resolve().parents
    command = f"storytest play {path}{'' if is_inside else ' --outside'}"
    count = counted(sum(1 for _ in _endings(findings)), "ending")
    print(f"{path}: {count}; fill in what each is worth (its reward), then run: {command}")
    if not findings.complete:
        missing = "Not every page was visited, so endings may be missing"
        print(f"{missing}; storytest {path} looks for them")


def explored(game: Explorable, limit: int, seconds: float) -> Findings:
    """The findings of an exploration up to a number of states, and of random games."""
    exploration = game.explore(limit, counter("states", limit))
    evidence = Evidence(states=len(exploration.visited), complete=exploration.complete)
    for face in exploration.faces:
        if face.ending is not None:
            record = EndingRecord(None, face.reward, face.text)
            variants = evidence.endings.setdefault(face.ending, record).variants
            if face.ending.rule is None:
                variants.setdefault(last_words(face.text))
    Games(game, evidence, Meter(Budget(seconds))).play_many()
    return gather(game, evidence)


def annotation(game: Explorable, findings: Findings, story: str) -> str:
    """The TOML: the story's rules, and a rule to fill in for each other ending."""
    lines = [
        "# The reward of an ending is what it is worth, for example from -20 (worst) to 20 (best).",
        f"title = {_quoted(title_of(game))}",
        f"story = {_quoted(story)}",
        "step_reward = -0.1  # for each step that does not end the story",
        "max_steps = 500",
    ]
    if game.rules.ends or all(ending.name == game.story.start for ending in findings.endings):
        lines.append('# ends = { contains = "THE END" }  # if the last pages still have links')
    restarts = _restart_links(game, findings)
    if game.rules.restart is None and restarts:
        lines.append(f"# restart = []  # if these links are choices, not restarts: {restarts}")
    if not findings.complete:
        count = counted(findings.states, "state")
        lines.append(f"# Visited only {count}; storytest may find more endings.")
    names = sorted(game.asked)
    if names:
        lines += ["", "[inputs]  # answers to what the story asks"]
        lines += [f"{_quoted(name)} = {_quoted(DEFAULT_ANSWER)}" for name in names]
    for ending, words in _endings(findings):
        lines += ["", "[[ending]]", f"# … {_printable(one_line(words))}"]
        if findings.is_dead_end(ending):
            lines.append(
                "# Does it end here? If not, delete this table; storytest then reports it."
            )
        lines += [*_conditions(game, ending, words), f"reward = {ending.reward:g}"]
    return "\n".join(lines) + "\n"


def _endings(findings: Findings) -> Iterator[tuple[Ending, str]]:
    """Yield the endings, but no error pages, with each of their last words."""
    errors = {issue.passage for issue in findings.dead_ends if issue.kind == ERROR}
    for ending in sorted(findings.endings, key=lambda e: (e.rule or 10**9, e.name)):
        if ending.rule is not None or ending.name not in errors:
            for words in _distinct(ending) or (ending.last_words,):
                yield ending, words


def _distinct(ending: Ending) -> list[str]:
    """The last words of its pages, of which those that differ in numbers alone are one.

    The longest are first: the first rule that matches a page counts, and a text can contain others.
    """
    firsts: dict[str, str] = {}
    for words in ending.variants:
        firsts.setdefault(NUMBER.sub("0", words), words)
    return sorted(firsts.values(), key=len, reverse=True)


def _restart_links(game: Explorable, findings: Findings) -> str:
    """The links on endings that are not actions, because they restart the story."""
    restarts = RestartLinks(game.story)
    labels = {label for ending in findings.endings for label in restarts.links_in(ending.name)}
    return ", ".join(_quoted(one_line(_printable(label))) for label in sorted(labels))


def _conditions(game: Explorable, ending: Ending, words: str) -> list[str]:
    """The conditions of an ending: its rule's, else its passage and, if needed, words."""
    if ending.rule is not None:
        parts = game.rules.endings[ending.rule - 1].condition.parts
        return [f"{key} = {_quoted(value)}" for key, value in parts.items()]
    conditions = [f"passage = {_quoted(ending.name)}"]
    if len(_distinct(ending)) > 1:
        texts = [re.escape(text).replace("\\ ", " ") for text in NUMBER.split(words)]
        has_numbers = len(texts) > 1
        value = NUMBER.pattern.join(texts) if has_numbers else words
        conditions.append(f"{'regex' if has_numbers else 'contains'} = {_quoted(value)}")
    return conditions


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


def _relative(story: Path, toml: Path) -> str:
    is_same = story.resolve().parent == toml.resolve().parent
    return story.name if is_same else story.resolve().as_posix()


def _quoted(text: str) -> str:
    return visible_json(json.dumps(text, ensure_ascii=False))  # a JSON string is a TOML string
