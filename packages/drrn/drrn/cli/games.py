"""`drrn games` and `drrn formats`: list what is installed, and add more."""

import argparse
import sys
from pathlib import Path
from typing import Any

from textgames.errors import InputError
from textgames.files import read_toml
from textgames.openers import BUILT_IN, PAPER, WORLDS, installed_games, make
from textgames.registry import registered
from textgames.terminal import table, warn


def run(options: argparse.Namespace) -> None:
    if options.suites:
        _print_suites()
        return
    known = read_toml(Path(__file__).with_name("games.toml"))
    rows = [[name, *known["games"][name]["facts"]] for name in (*BUILT_IN, *WORLDS)]
    notes = []
    if missing := [name for name in PAPER if name not in installed_games()]:
        notes.append(f"{' and '.join(missing)}: not installed; see: python -m lab games --help")
    for name in dict.fromkeys((*installed_games(), *sorted(registered("game")))):
        try:
            rows.append([name, *facts_of(name)])
        except InputError as error:
            notes.append(f"installed, but cannot be opened: {error}")
    print(table(rows, header=["name", "title", "kind", "transitions", "pages", "endings"]))
    print("\n".join(["", *notes]))
    diagnostics = ", ".join(known["diagnostics"])
    print(f"diagnostic:NAME/LEVEL (1 to 3; see docs/textgames/diagnostics.md): {diagnostics}")


def facts_of(name: str) -> list[object]:
    """Return title, kind, transitions, pages and endings. The title alone if not compilable."""
    from storytest.playtest.coverage import Source
    from storytest.playtest.solve import statistics_of
    from textgames.compiled.compile import MOST_STATES, compile_game
    from textgames.game.contract import title_of

    game = make(name)
    try:
        compiled = compile_game(game, limit=MOST_STATES)
    except InputError:
        return [title_of(game), None, None, None, None]
    statistics = statistics_of(game, compiled)
    source = Source(game)
    rewards = [source.reward(ending) for ending in compiled.endings]
    endings = f"{len(rewards)} from {min(rewards):g} to {max(rewards):g}"
    return [title_of(game), statistics.kind, statistics.transitions, statistics.pages, endings]


def _print_suites() -> None:
    from textsuites.catalogue import SUITES, has_java, install_command

    suites = SUITES.values()
    rows = [[s.title, s.version or "not installed", f"{s.name}:{s.example}"] for s in suites]
    print(table(rows, header=["suite", "installed", "example"]) + "\n")
    for suite in suites:
        print(f"{suite.title}: {suite.repeats}.")
    users = " and ".join(suite.title for suite in suites if suite.java)
    print(f"\nJava: {'installed' if has_java() else 'not installed'}, needed by {users}.")
    command = install_command()
    print(f"To install the rest: {command}" if command else "All are installed.")
    print("Their options, and measurements of each: docs/textgames/suites.md")


def run_formats(options: argparse.Namespace) -> None:
    from storytest import formats

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
        print(f"no story formats in {folder}; add one by name: drrn formats add sugarcube")


def run_add_formats(options: argparse.Namespace) -> None:
    errors = []
    for name in options.names:
        try:
            _add_format(name, options.replace)
        except InputError as error:  # the others are added nevertheless
            errors.append(str(error))
    if errors:
        raise InputError("; ".join(errors))


def _add_format(name: str, replace: bool) -> None:
    from storytest import packages

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
    from storytest import formats, packages

    if sys.stderr.isatty():
        warn(f"fetching {download} …")
    if download.name == packages.INK:
        return packages.add_ink(download)
    return ": ".join(map(str, formats.fetch_format(download, replace=replace)))


def _add_files(path: Path, replace: bool) -> None:
    from storytest import formats

    additions = formats.add_formats(path, replace=replace)
    for story_format, what in additions:
        if story_format is None:
            warn(f"skipped: {what}")
        else:
            print(f"{story_format}: {what}")
    if not any(story_format for story_format, _ in additions):
        raise InputError(f"{path}: none of its formats could be added")
