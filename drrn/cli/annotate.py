"""`drrn annotate STORY`: a TOML to start from, with every ending listed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from drrn.cli.show import add_game_options, open_game
from drrn.errors import InputError
from drrn.games import StoryGame
from drrn.games.explore import LIMIT
from drrn.survey import Survey, survey


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "annotate",
        help="write a .toml for a story, listing its endings for you to value",
        description="Go everywhere in a story and write a .toml beside it that lists every ending with its passage "
        "and last sentence. Fill in the rewards; an existing file is never overwritten.",
    )
    add_game_options(command)
    command.add_argument("--out", type=Path, metavar="FILE", help="where to write (default: beside the story)")
    command.add_argument("--limit", type=int, default=LIMIT, help="how many states to visit (default: %(default)s)")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    game = open_game(options)
    story = Path(game.script.story.source)
    path = options.out or story.with_suffix(".toml")
    if path.exists():
        raise InputError(f"{path}: it exists and is left as it is: give another name with --out")
    found = survey(game, options.limit)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(annotation(game, found, _relative(story, path)))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    print(f"{path}: {len(found.endings)} endings; fill in their rewards, then: drrn play {path}")


def annotation(game: StoryGame, found: Survey, story: str) -> str:
    """The TOML's text."""
    lines = [
        "# Rewards of the endings: fill in a number for each, say from -20 (worst) to 20 (best).",
        f"title = {_quoted(game.title)}",
        f"story = {_quoted(story)}",
        "step_reward = -0.1  # for each step that does not end the story",
        "max_steps = 500",
    ]
    if not found.complete:
        lines.append(f"# Only {found.states:,} states were visited: there may be more endings than these.")
    names = sorted(game.script.facts.asked)
    if names:
        lines += ["", "[inputs]  # what to answer where the story asks", *(f'{name} = "Alex"' for name in names)]
    for ending in sorted(found.endings, key=lambda ending: ending.passage):
        lines += ["", "[[ending]]", f"# … {ending.last_words}"]
        lines += [f"passage = {_quoted(ending.passage)}", f"reward = {ending.reward:g}"]
    return "\n".join(lines) + "\n"


def _relative(story: Path, toml: Path) -> str:
    same = story.resolve().parent == toml.resolve().parent
    return story.name if same else story.resolve().as_posix()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a JSON string is a TOML string
