"""`drrn games`: what can be played by name; `drrn games add`: other people's games, from their repository."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from drrn.cli.terminal import table
from drrn.compiled.compile import MOST_STATES, compile_game
from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.make import BUILT_IN, WORLDS, make
from drrn.game.optional import title_of
from drrn.lab.authors import sources, text_world
from drrn.registry import GROUPS, registered
from drrn.stories import added as place
from drrn.stories.playtest.coverage import Source
from drrn.stories.playtest.survey import compiled_statistics
from drrn.suites import SUITES, has_java, suites_cure


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "games",
        help="list the games that can be opened by name, or add the paper's",
        description="List the games that can be played by name: title, kind, transitions, pages, endings. Any story "
        "file can be played by its path as well, and a game made by Python code as module:factory.",
    )
    command.add_argument(
        "--suites",
        action="store_true",
        help="list the suites of other people's games instead, whether they are installed, and how to install them",
    )
    command.set_defaults(run=run)
    actions = command.add_subparsers(title="commands", metavar="[add]", dest="action")
    add = actions.add_parser(
        "add",
        help="install other people's games from a clone of their authors' repository",
        description="Install Saving John and Machine of Death, with their paraphrases and vocabularies, from a clone "
        f"of {sources.REPOSITORY}: {sources.HOW}. Or Home World in its authors' words, from a clone of "
        f"{text_world.WORLD_REPOSITORY}: {text_world.WORLD_HOW}. Their files are read, never run.",
    )
    add.add_argument("path", type=Path, metavar="PATH", help="the clone's folder")
    add.add_argument(
        "--as-published",
        action="store_true",
        help="rewards as the published code pays them: 0 for the ending worth +10 that it never recognises, and no "
        "step reward in Saving John",
    )
    add.add_argument(
        "--altered", action="store_true", help="accept files that differ from those published"
    )
    add.set_defaults(run=run_add)


def run(options: argparse.Namespace) -> None:
    if options.suites:
        print(told_suites())
        return
    added = place.origin()
    original = text_world.added_home_world()
    rows = []
    notes = []
    names = [
        *BUILT_IN,
        *WORLDS,
        *([text_world.ORIGINAL] if original else []),
        *(place.NAMES if added else []),
    ]
    for name in names:
        rows.append([name, *_told(make(name))])
    for name in sorted(set(registered("game")) - {*names, text_world.ORIGINAL, *place.NAMES}):
        try:
            rows.append([name, *_told(make(name))])
        except InputError as error:
            notes.append(str(error))
    print(table(rows, header=["name", "title", "kind", "transitions", "pages", "endings"]))
    papers = " and ".join(place.NAMES)
    print(
        f"\n{papers}: {f'from {sources.REPOSITORY}, {added}' if added else f'not yet here: {sources.HOW}'}"
    )
    where = (
        f"from {text_world.WORLD_REPOSITORY}, {_told_file(original)}"
        if original
        else "not yet here: "
    )
    print(f"{text_world.ORIGINAL}: {where}{'' if original else text_world.WORLD_HOW}")
    for note in notes:
        print(f"registered as {GROUPS['game']}, but cannot be opened: {note}")


def _told(game: Game) -> list[object]:
    """Title, kind, transitions, pages and endings; a game that cannot be compiled has a title alone."""
    try:
        compiled = compile_game(game, limit=MOST_STATES)
    except InputError:
        return [title_of(game), None, None, None, None]
    statistics = compiled_statistics(game, compiled)
    source = Source(game)
    rewards = [source.reward(place) for place in compiled.endings]
    span = f"{len(rewards)} from {min(rewards):g} to {max(rewards):g}"
    return [title_of(game), statistics.kind, statistics.transitions, statistics.pages, span]


def _told_file(added: dict[str, Any]) -> str:
    return f"file {added['sha256'][:12]}{', altered' if added['altered'] else ''}"


def told_suites() -> str:
    """Each suite with its version, a game's name, and how its episodes repeat; then the command for what is missing."""
    suites = SUITES.values()
    rows = [
        [suite.title, suite.version or "not installed", f"{suite.name}:{suite.example}"]
        for suite in suites
    ]
    lines = [table(rows, header=["suite", "installed", "a game's name"])]
    lines += ["", *(f"{suite.title}: {suite.repeats}." for suite in suites), ""]
    lines.append(f"Java: {'installed' if has_java() else 'not installed'}, needed by "
                 f"{' and '.join(suite.title for suite in suites if suite.java)}.")  # fmt: skip
    cure = suites_cure()
    lines.append(f"To install the rest: {cure}" if cure else "All are installed.")
    return "\n".join(
        [*lines, "Options of their games, and what is measured of each: docs/suites.md"]
    )


def run_add(options: argparse.Namespace) -> None:
    from drrn.lab.authors.install import add_games

    if text_world.is_text_world(options.path):
        if options.as_published:
            raise InputError("--as-published is for the paper's games: leave it out")
        sha256, written = text_world.add_home_world(options.path, altered=options.altered)
        print(
            f"{text_world.ORIGINAL}: {'installed' if written else 'already installed'}: file {sha256[:12]}"
        )
        return
    before = place.origin_if_sound()
    made, written = add_games(
        options.path, as_published=options.as_published, altered=options.altered
    )
    what = (
        "already installed"
        if not written
        else "installed again"
        if before is not None
        else "installed"
    )
    print(f"{' and '.join(place.NAMES)}: {what}: {made}")
    if before is not None and before != made:
        print(f"before: {before}")
