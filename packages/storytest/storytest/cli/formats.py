"""`storytest formats`: list the story formats for Twee and Ink source, and add some."""

import argparse
from pathlib import Path

from storytest import formats, packages
from textgames.errors import InputError
from textgames.files import write
from textgames.terminal import table, warn


def run(options: argparse.Namespace) -> None:
    rows = [[each.name, each.version, each.path] for each in formats.library_formats()]
    if rows:
        print(table(rows, header=["name", "version", "file"]))
    else:
        folder = formats.formats_folder()
        print(f"no story formats in {folder}; add one by name: storytest formats add sugarcube")


def run_add(options: argparse.Namespace) -> None:
    errors = []
    for name in options.names:
        path = Path(name)
        try:
            if path.exists() or path.suffix == ".js" or len(path.parts) > 1:
                for story_format in formats.add_formats(path):
                    print(f"{story_format}: added")
            else:
                print(f"{_fetch(packages.downloads_of(name))}: added")
        except InputError as error:  # the others are added nevertheless
            errors.append(str(error))
    if errors:
        raise InputError("; ".join(errors))


def _fetch(downloads: list[packages.Download]) -> str:
    """Add the first file that can be fetched, the newest, and return its name."""
    *newer, last = downloads
    for download in newer:
        try:
            return _add(download)
        except InputError as error:
            warn(f"{error}; another source or an older version is tried")
    return _add(last)


def _add(download: packages.Download) -> str:
    data = download.fetch()
    if download.name == packages.INK:
        write(download.compiler, data)
        return f"Ink compiler (inkjs {download.version})"
    return str(formats.add_format(data, str(download)))
