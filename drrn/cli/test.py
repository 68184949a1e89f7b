"""`drrn test STORY`: a play-test for authors: coverage, endings and their odds, dead ends, errors, expectations."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from drrn.cli.github_summary import annotated_lines, step_summary
from drrn.cli.terminal import add_game_options, open_game
from drrn.cli.told_report import told_report
from drrn.errors import InputError, require
from drrn.game.optional import close
from drrn.stories.map.story_map import free_map_file, write_map
from drrn.stories.map.svg import story_map_svg
from drrn.stories.playtest.clicks import ClickPath, write_path
from drrn.stories.playtest.report_page import headline_of_test, report_page
from drrn.stories.playtest.story_report import StoryReport
from drrn.stories.playtest.testing import StoryTest
from drrn.writing import visible, visible_json

SECONDS = 30
SHOWN_AFTER = 1.0  # seconds before a progress line appears
FORMATS = ("text", "json", "github", "html")


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "test",
        help="play-test a story: coverage, odds of its endings, dead ends, errors, and what its TOML expects",
        description="Play a story through and report which passages and links were covered and why others were not, "
        "every ending with its odds and the shortest way to it, dead ends, the values that variables take, broken "
        "links and errors with the clicks that lead there, and whether the [[expect]] tables of its TOML hold. Exact "
        "where the story can be compiled; else estimated from as many games as --seconds allows. Exit code 0: all "
        "expectations hold; 1: one fails; 2: the story cannot be opened. Ctrl-C prints what was found so far.",
    )
    add_game_options(command)
    command.add_argument(
        "--seconds",
        type=_seconds,
        default=SECONDS,
        help="how long to play and search at most (default: %(default)s)",
    )
    command.add_argument(
        "--format", choices=FORMATS, default="text",
        help="html: one page that needs nothing else, with the map; github: a step summary in Markdown (to "
        "$GITHUB_STEP_SUMMARY where that is set) and annotations",
    )  # fmt: skip
    command.add_argument(
        "--paths", type=Path, metavar="FOLDER",
        help="write the clicks to each failure, error, dead end and ending there, for drrn play STORY --path FILE",
    )  # fmt: skip
    command.add_argument(
        "--map", type=Path, metavar="FILE",
        help="draw the story's map: .svg (zoom, links, tooltips) or .png (for print; needs Matplotlib)",
    )  # fmt: skip
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.format == "html":
        require("jinja2", "cli")  # before it takes its time
    drawing = free_map_file(options.map) if options.map else None
    if options.paths:
        _check_free(options.paths)
    game = open_game(options, lenient=True, shuffle=False)
    test = StoryTest(game, options.seconds, _progress())
    try:
        report = test.run()
        _clear()
        _tell(test, report, options)
        if drawing:  # after the report: a map may take its time, or fail
            write_map(test.story_map(), drawing)
            print(f"{drawing}: the map", file=sys.stderr)
    finally:
        _clear()
        close(game)
    return 1 if report.failed else 0


def _tell(test: StoryTest, report: StoryReport, options: argparse.Namespace) -> None:
    """The report, and the paths of its findings."""
    if options.format == "html":
        print(report_page(report, options.game, _map(test)), end="")
    else:
        _print(report, options)
    sys.stdout.flush()
    if options.paths:
        written = _write_paths(report, options.paths)
        print(
            f"{options.paths}: {written:,} paths written; play one: drrn play … --path FILE",
            file=sys.stderr,
        )


def _map(test: StoryTest) -> str:
    """The map as SVG; a story of too many pages to draw has none."""
    try:
        return story_map_svg(test.story_map())
    except InputError as error:
        print(f"The page has no map: {error}", file=sys.stderr)
        return ""


def _print(report: StoryReport, options: argparse.Namespace) -> None:
    if options.format == "json":
        print(visible_json(json.dumps(dataclasses.asdict(report), indent=2, ensure_ascii=False)))
    elif options.format == "github":
        _print_for_github(report, _toml_of(Path(options.game)))
    else:
        print(visible(told_report(report, options.game)))


def _print_for_github(report: StoryReport, toml: str) -> None:
    """The step summary goes to the file that a job names; annotations are read from what it prints."""
    summary = step_summary(report)
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if file:
        with Path(file).open("a", encoding="utf-8") as out:
            out.write(summary + "\n")
        print(
            visible(
                f"{report.title}: {' '.join(headline_of_test(report))} All of it: the summary of this job."
            )
        )
    else:
        print(visible(summary))
    for line in annotated_lines(report, toml):
        print(visible(line))


def _toml_of(path: Path) -> str:
    """The TOML whose expectations were checked, for annotations."""
    toml = path if path.suffix.lower() == ".toml" else path.with_suffix(".toml")
    return str(toml)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(
            f"{text[:20]} is not a number of seconds above 0, at most a day"
        )
    return seconds


def _progress() -> Callable[[str], None] | None:
    """A line that tells what is being done, where a person looks on."""
    if not sys.stderr.isatty():
        return None
    begun = shown = time.monotonic()

    def show(what: str) -> None:
        nonlocal shown
        now = time.monotonic()
        if now > begun + SHOWN_AFTER and now > shown + 0.3:
            shown = now
            print(
                f"\r{now - begun:.0f} s: {what} (Ctrl-C: report now)\x1b[K",
                end="",
                file=sys.stderr,
                flush=True,
            )

    return show


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _check_free(folder: Path) -> None:
    """Refuse a folder that holds something already, before the test takes its time."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: it is there and not empty: name a new folder for the paths")


def _write_paths(report: StoryReport, folder: Path) -> int:
    """A file for each path."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, why, path in _paths(report):
        count += 1
        slug = re.sub(r"[^-A-Za-z0-9]+", "-", name)[:50].strip("-")
        write_path(path, folder / f"{count:02}-{slug}.json", report.name, why)
    return count


def _paths(report: StoryReport) -> Iterator[tuple[str, str, ClickPath]]:
    for checked in report.expectations:
        if checked.path is not None:
            yield (
                f"{checked.status} {checked.said}",
                f"{checked.said}: {checked.found}",
                checked.path,
            )
    for error in report.errors:
        yield f"error {error.passage}", f"{error.passage}: {error.what}", error.path
    for dead in report.dead_ends:
        yield f"{dead.kind} {dead.passage}", dead.what, dead.path
    for ending in report.endings:
        yield f"ending {ending.name}", ending.last_words, ending.path
