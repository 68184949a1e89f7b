"""`storytest formats`: list the story formats for Twee and Ink source, and add some."""

import argparse
import sys
from pathlib import Path
from typing import Any

from storytest import formats, packages
from textgames.errors import InputError
from textgames.terminal import table, warn


def run(options: argparse.Namespace) -> None:
    rows = []
    for each in formats.library_formats():
        name = each.key
        try:
            name = each.read().name
        except InputError as error:
            warn(f"this story format cannot be used: {error}")
        rows.append([name, each.version, each.path])
    if rows:
        print(table(rows, header=["name", "version", "file"]))
    else:
        folder = formats.formats_folder()
        print(f"no story formats in {folder}; add one by name: storytest formats add sugarcube")


def run_add(options: argparse.Namespace) -> None:
    errors = []
    for name in options.names:
        try:
            _add_format(name, options.replace)
        except InputError as error:  # the others are added nevertheless
            errors.append(str(error))
    if errors:
        raise InputError("; ".join(errors))


def _add_format(name: str, replace: bool) -> None:
    path = Path(name)
    if path.exists() or path.suffix == ".js" or len(path.parts) > 1:
        _add_files(path, replace)
        return
    *newer, last = packages.downloads_of(name)
    for download in newer:
        try:
            print(_fetch(download, replace))
            return
        except InputError as error:
            warn(f"{error}; another source or an older version is tried")
    print(_fetch(last, replace))


def _fetch(download: Any, replace: bool) -> str:
    if sys.stderr.isatty():
        warn(f"fetching {download} …")
    if download.name == packages.INK:
        return packages.add_ink(download)
    return ": ".join(map(str, formats.fetch_format(download, replace=replace)))


def _add_files(path: Path, replace: bool) -> None:
    additions = formats.add_formats(path, replace=replace)
    for story_format, what in additions:
        if story_format is None:
            warn(f"skipped: {what}")
        else:
            print(f"{story_format}: {what}")
    if not any(story_format for story_format, _ in additions):
        raise InputError(f"{path}: none of its formats could be added")
