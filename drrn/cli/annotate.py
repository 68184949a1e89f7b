"""`drrn annotate STORY`: a TOML to start from, with every ending listed."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from drrn.cli.terminal import add_game_options, add_limit, counted, counter, one_line, open_game
from drrn.errors import InputError
from drrn.game.optional import title_of
from drrn.stories.authored import Explorable, explorable
from drrn.stories.playtest.sampled_games import GAMES, sampled_play
from drrn.stories.playtest.survey import Ending, Survey, endings_played, survey
from drrn.stories.twine.layout import RestartLinks
from drrn.stories.twine.script import DEFAULT_ANSWER
from drrn.writing import visible_json

RANDOM_SECONDS = 10  # of random games, where not every state was visited


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "annotate",
        help="write a .toml that lists the endings of a story, for you to fill in their rewards",
        description="Explore a whole story and write a .toml beside it that lists every ending with its passage "
        "and last sentence. Fill in the rewards; an existing file is never overwritten.",
    )
    add_game_options(command)
    command.add_argument(
        "--out", type=Path, metavar="FILE", help="where to write (default: beside the story)"
    )
    add_limit(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    game = explorable(open_game(options), "drrn annotate")
    story = Path(game.story.source)
    path = options.out or story.with_suffix(".toml")
    if path.exists():
        raise InputError(f"{path}: it exists and is left as it is: give another name with --out")
    found, played = _searched(game, options)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(annotation(game, found, _relative(story, path)))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    beside = path.resolve().parent in story.resolve().parents
    then = f"drrn play {path}{'' if beside else ' --outside'}"  # a TOML whose story lies elsewhere is opened when asked
    print(
        f"{path}: {counted(len(found.endings), 'ending')}; fill in what each is worth, then: {then}"
    )
    if not found.complete:
        by = f" ({played:,} of these by {RANDOM_SECONDS} seconds of random games)" if played else ""
        print(
            f"Not every page was seen{by}: drrn test {path} looks for endings that are not listed"
        )


def _searched(game: Explorable, options: argparse.Namespace) -> tuple[Survey, int]:
    """What was found, and how many endings of it by random games alone, which are played where not all was explored."""
    found = survey(game, options.limit, counter("states", options.limit))
    progress = counter("games", GAMES)
    play = None if found.complete else sampled_play(game, seconds=RANDOM_SECONDS, progress=progress)
    known = {(ending.passage, ending.rule) for ending in found.endings}
    more = (
        [e for e in endings_played(game, play) if (e.passage, e.rule) not in known] if play else []
    )
    return replace(found, endings=[*found.endings, *more]), len(more)


def annotation(game: Explorable, found: Survey, story: str) -> str:
    """The TOML's text: rules that the story has already, and a rule to fill in for each ending without one."""
    lines = [
        "# Rewards of the endings: fill in a number for each, say from -20 (worst) to 20 (best).",
        f"title = {_quoted(title_of(game))}",
        f"story = {_quoted(story)}",
        "step_reward = -0.1  # for each step that does not end the story",
        "max_steps = 500",
    ]
    if game.rules.ends or not any(ending.passage != game.story.start for ending in found.endings):
        lines.append(
            '# ends = { contains = "THE END" }  # if pages that end the story still offer links, say how they look'
        )
    if game.rules.restart is None and (taken := _begin_again(game, found)):
        lines.append(
            f"# restart = []  # if these are choices, not links that begin the story again: {taken}"
        )
    if not found.complete:
        lines.append(
            f"# Only {found.states:,} states were visited: drrn test looks for more endings than these."
        )
    names = sorted(game.asked)
    if names:
        answers = [f"{_quoted(name)} = {_quoted(DEFAULT_ANSWER)}" for name in names]
        lines += ["", "[inputs]  # what to answer where the story asks", *answers]
    for ending in sorted(found.endings, key=lambda ending: (ending.rule or 10**9, ending.passage)):
        lines += [
            "",
            "[[ending]]",
            f"# … {_printable(one_line(ending.last_words))}",
            *_conditions(game, found, ending),
        ]
        lines.append(f"reward = {ending.reward:g}")
    return "\n".join(lines) + "\n"


def _begin_again(game: Explorable, found: Survey) -> str:
    """The links on endings that are no actions, since they were taken for those that begin the story again."""
    beginnings = RestartLinks(game.story)
    words = {words for ending in found.endings for words in beginnings.links_in(ending.passage)}
    return ", ".join(_quoted(one_line(_printable(label))) for label in sorted(words))


def _conditions(game: Explorable, found: Survey, ending: Ending) -> list[str]:
    """How the ending is known: as its rule says, else by its passage, and by its last words where those tell more."""
    if ending.rule is not None:
        parts = game.rules.endings[ending.rule - 1].condition.parts
        return [f"{key} = {_quoted(value)}" for key, value in parts.items()]
    conditions = [f"passage = {_quoted(ending.passage)}"]
    if sum(other.passage == ending.passage for other in found.endings) > 1:
        conditions.append(f"contains = {_quoted(ending.last_words)}")
    return conditions


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


def _relative(story: Path, toml: Path) -> str:
    same = story.resolve().parent == toml.resolve().parent
    return story.name if same else story.resolve().as_posix()


def _quoted(text: str) -> str:
    return visible_json(json.dumps(text, ensure_ascii=False))  # a JSON string is a TOML string
