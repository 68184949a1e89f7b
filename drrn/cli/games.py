"""`drrn games` and `drrn formats`: list what is installed, and add more."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from drrn.cli.terminal import table
from drrn.compiled.compile import MOST_STATES, compile_game
from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.make import BUILT_IN, WORLDS, make
from drrn.game.optional import title_of
from drrn.registry import GROUPS, registered
from drrn.stories import added
from drrn.stories.formats.library import (
    HOW,
    WHERE,
    LibraryFormat,
    add_formats,
    formats_folder,
    library_formats,
)
from drrn.stories.playtest.coverage import Source
from drrn.stories.playtest.survey import compiled_statistics
from drrn.suites.catalogue import SUITES, has_java, install_command

GAMES = """List the games that have a name: title, kind, transitions, pages, endings. Other
stories are opened by their path, and games in Python as module:factory."""
ADD = f"""Install Saving John and Machine of Death, with their paraphrases and vocabularies, from
a clone of {added.REPOSITORY}: {added.HOW}. The files are read, never executed."""
PUBLISHED = """pay the rewards of the published code: 0 for the ending worth +10 that it never
recognises, and no step reward in Saving John"""
FORMATS = """List the installed story formats: name, version, file. A story format is the engine
that Twine puts into a published page (Harlowe, SugarCube, Chapbook, Snowman). A published .html
contains its own; Twee source is published in memory with the format that its StoryData names: the
same version, or the newest with the same major version."""
ADD_FORMATS = f"""Copy story formats to ~/.drrn/formats (or $DRRN_HOME/formats), several versions
if you like. Give a format.js of Twine, or a folder to search for such files. They are read, never
executed. {WHERE}."""


def add_command(commands: Any) -> None:
    command = commands.add_parser("games", description=GAMES)
    explanation = "list suites of other people's games: versions, and how to install them"
    command.add_argument("--suites", action="store_true", help=explanation)
    command.set_defaults(run=run)
    add = _add_subcommand(command, "install games from a clone of their authors' repository", ADD)
    add.add_argument("path", type=Path, metavar="PATH", help="the folder of the clone")
    add.add_argument("--as-published", action="store_true", help=PUBLISHED)
    changed = "accept files that differ from the published ones"
    add.add_argument("--altered", action="store_true", help=changed)
    add.set_defaults(run=run_add)
    command = commands.add_parser("formats", description=FORMATS)
    command.set_defaults(run=run_formats)
    add = _add_subcommand(command, "add a format.js, or all formats in a folder", ADD_FORMATS)
    where = "a format.js, or a folder that contains some"
    add.add_argument("path", type=Path, metavar="FILE_OR_FOLDER", help=where)
    replace = "replace a different file of the same version"
    add.add_argument("--replace", action="store_true", help=replace)
    add.set_defaults(run=run_add_formats)


def _add_subcommand(command: argparse.ArgumentParser, help_: str, description: str) -> Any:
    actions = command.add_subparsers(title="commands", metavar="[add]", dest="action")
    return actions.add_parser("add", help=help_, description=description)


def run(options: argparse.Namespace) -> None:
    if options.suites:
        print(_suites_text())
        return
    papers = added.origin()
    names = [*BUILT_IN, *WORLDS]
    names += added.NAMES if papers else []
    rows = [[name, *_facts(make(name))] for name in names]
    notes = []
    for name in sorted(set(registered("game")) - {*names, *added.NAMES}):
        try:
            rows.append([name, *_facts(make(name))])
        except InputError as error:
            notes.append(f"registered as {GROUPS['game']}, but cannot be opened: {error}")
    print(table(rows, header=["name", "title", "kind", "transitions", "pages", "endings"]))
    where = f"from {added.REPOSITORY}, {papers}" if papers else f"not installed: {added.HOW}"
    print("\n".join([f"\n{' and '.join(added.NAMES)}: {where}", *notes]))


def _facts(game: Game) -> list[object]:
    """Return title, kind, transitions, pages and endings; the title alone if not compilable."""
    try:
        compiled = compile_game(game, limit=MOST_STATES)
    except InputError:
        return [title_of(game), None, None, None, None]
    table = compiled_statistics(game, compiled)
    source = Source(game)
    rewards = [source.reward(ending) for ending in compiled.endings]
    endings = f"{len(rewards)} from {min(rewards):g} to {max(rewards):g}"
    return [title_of(game), table.kind, table.transitions, table.pages, endings]


def _suites_text() -> str:
    suites = SUITES.values()
    rows = [[s.title, s.version or "not installed", f"{s.name}:{s.example}"] for s in suites]
    users = " and ".join(suite.title for suite in suites if suite.java)
    command = install_command()
    return "\n".join(
        [
            table(rows, header=["suite", "installed", "a game's name"]),
            "",
            *(f"{suite.title}: {suite.repeats}." for suite in suites),
            "",
            f"Java: {'installed' if has_java() else 'not installed'}, needed by {users}.",
            f"To install the rest: {command}" if command else "All are installed.",
            "Options of their games, and measurements of each: docs/suites.md",
        ]
    )


def run_add(options: argparse.Namespace) -> None:
    from drrn.lab.authors.install import add_games

    before = added.origin_if_sound()
    choices = {"as_published": options.as_published, "altered": options.altered}
    origin, is_new = add_games(options.path, **choices)
    what = "installed" if before is None else "installed again"
    if not is_new:
        what = "already installed"
    print(f"{' and '.join(added.NAMES)}: {what}: {origin}")
    if before is not None and before != origin:
        print(f"before: {before}")


def run_formats(options: argparse.Namespace) -> None:
    formats = library_formats()
    if not formats:
        print(f"no story formats in {formats_folder()}; add some with {HOW}")
        return
    rows = [[_format_name(each), each.version, each.path] for each in formats]
    print(table(rows, header=["name", "version", "file"]))


def _format_name(story_format: LibraryFormat) -> str:
    try:
        return story_format.read().name
    except InputError as error:
        print(f"cannot be used: {error}", file=sys.stderr)
        return story_format.key


def run_add_formats(options: argparse.Namespace) -> None:
    additions = add_formats(options.path, replace=options.replace)
    for addition in additions:
        if addition.story_format is None:
            print(f"skipped: {addition.what}", file=sys.stderr)
        else:
            print(f"{addition.story_format}: {addition.what}")
    if not any(addition.story_format for addition in additions):
        raise InputError(f"{options.path}: none of its formats could be added")
