"""`drrn formats`: the story formats of Twine that are kept; `drrn formats add`: keep more."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from drrn.cli.terminal import table
from drrn.errors import InputError
from drrn.stories.formats.library import (
    HOW,
    WHERE,
    LibraryFormat,
    add_formats,
    formats_folder,
    library_formats,
)


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "formats",
        help="list the story formats of Twine that were added, or add some",
        description="List the story formats that are kept: name, version, file. A story format is the engine that "
        "Twine puts into a page when it publishes a story (Harlowe, SugarCube, Chapbook, Snowman). A published .html "
        "has its own and needs none of these; Twee source is published in memory with the format that its StoryData "
        "names: the same version, else the newest with the same major version.",
    )
    command.set_defaults(run=run)
    actions = command.add_subparsers(title="commands", metavar="[add]", dest="action")
    add = actions.add_parser(
        "add",
        help="add the format in a format.js, or all formats below a folder",
        description="Keep story formats in DRRN's home folder (~/.drrn/formats, or $DRRN_HOME/formats), versions side "
        "by side. Give a file format.js as Twine has it, or a folder to be searched for such files. The files are "
        f"copied and read, never run. {WHERE}.",
    )
    add.add_argument(
        "path", type=Path, metavar="FILE_OR_FOLDER", help="a format.js, or a folder that holds some"
    )
    add.add_argument(
        "--replace", action="store_true", help="take a file in place of another of the same version"
    )
    add.set_defaults(run=run_add_formats)


def run(options: argparse.Namespace) -> None:
    kept = library_formats()
    if not kept:
        print(f"no story formats in {formats_folder()} yet: add some by {HOW}")
        return
    print(
        table(
            [[_name(one), one.version, one.path] for one in kept],
            header=["name", "version", "file"],
        )
    )


def _name(kept: LibraryFormat) -> str:
    try:
        return kept.read().name
    except InputError as error:
        print(f"cannot be used: {error}", file=sys.stderr)
        return kept.key


def run_add_formats(options: argparse.Namespace) -> None:
    additions = add_formats(options.path, replace=options.replace)
    for addition in additions:
        if addition.story_format is None:
            print(f"left out: {addition.what}", file=sys.stderr)
        else:
            print(f"{addition.story_format}: {addition.what}")
    if not any(addition.story_format for addition in additions):
        raise InputError(f"{options.path}: none of its formats could be added")
