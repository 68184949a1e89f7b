"""`drrn test STORY`: play-test a story: coverage, endings, dead ends, errors, expectations."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from drrn.cli.terminal import add_game_options, open_game
from drrn.document import Document, github_annotations, to_github, to_html, to_markdown, to_text
from drrn.errors import InputError, require
from drrn.files import slug
from drrn.game.optional import close
from drrn.stories.map.svg import check_map_file, story_map_svg, write_map
from drrn.stories.playtest.clicks import ClickPath, write_path
from drrn.stories.playtest.findings import Findings
from drrn.stories.playtest.playtest import StoryTest
from drrn.stories.playtest.report import MAX_ROWS, headline, report
from drrn.writing import visible, visible_json

SECONDS = 30
FORMATS = ("text", "markdown", "html", "json", "github")
MAX_LISTED = 30  # items of a list in a terminal
ALL_LISTED = "all of them: --format json"
MAX_WIDTH = 120
PROGRESS_AFTER = 1.0  # seconds


def add_command(commands: Any) -> None:
    """Add `drrn test`."""
    command = commands.add_parser(
        "test",
        help="play-test a story: coverage, endings, dead ends, errors, expectations",
        description="Play a story through. Report which passages and links were covered and why "
        "others were not; every ending with its probability and the shortest path to it; dead "
        "ends; the values of variables; broken links and errors, with the clicks that lead there; "
        "and whether the [[expect]] tables of its TOML hold. The report is exact if the story can "
        "be compiled; otherwise it is estimated from as many games as --seconds allows. Exit code "
        "0: all expectations hold; 1: one fails; 2: the story cannot be opened. Ctrl-C stops early "
        "and prints the report.",
    )
    add_game_options(command)
    command.add_argument(
        "--seconds",
        type=_seconds,
        default=SECONDS,
        help="time limit of playing and searching (default: %(default)s)",
    )
    command.add_argument(
        "--format",
        choices=FORMATS,
        default="text",
        help="html: a self-contained page with the map; github: annotations, and a step summary "
        "for $GITHUB_STEP_SUMMARY if that is set",
    )
    command.add_argument(
        "--paths",
        type=Path,
        metavar="FOLDER",
        help="save the clicks to each failure, error, dead end and ending, for drrn play --path",
    )
    command.add_argument(
        "--map",
        type=Path,
        metavar="FILE",
        help="draw the story's map as .svg, with tooltips and links",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the play-test; return 1 if an expectation fails."""
    if options.format == "html":
        require("jinja2", "cli")  # before the test takes its time
    if options.map:
        check_map_file(options.map)
    if options.paths and options.paths.exists() and _is_in_use(options.paths):
        raise InputError(f"{options.paths}: not an empty folder: name a new folder for the paths")
    game = open_game(options, lenient=True, shuffle=False)
    test = StoryTest(game, options.seconds, status_line("Ctrl-C: report now"), _train_player)
    try:
        findings = test.run()
        clear_status()
        _print_report(test, findings, options)
        if options.paths:
            count = _write_paths(findings, options.paths)
            hint = "replay one with drrn play … --path FILE"
            print(f"{options.paths}: {count:,} paths written; {hint}", file=sys.stderr)
        if options.map:  # after the report: a map may be slow, or fail
            write_map(test.story_map(), options.map)
            print(f"{options.map}: the map", file=sys.stderr)
    finally:
        clear_status()
        close(game)
    return 1 if findings.failed else 0


def _train_player(game: Any) -> Any:
    from drrn.runs.quick_player import quick_player

    return quick_player(game)


def _is_in_use(folder: Path) -> bool:
    return not folder.is_dir() or any(folder.iterdir())


def _print_report(test: StoryTest, findings: Findings, options: argparse.Namespace) -> None:
    toml = Path(options.game)
    if toml.suffix.lower() != ".toml":
        toml = toml.with_suffix(".toml")
    document = report(findings, options.game, str(toml))
    if options.format == "json":
        text = json.dumps(findings.as_json(), indent=2, ensure_ascii=False)
        print(visible_json(text))
    elif options.format == "html":
        print(_page(document, test), end="")
    elif options.format == "markdown":
        print(to_markdown(document), end="")
    elif options.format == "github":
        _print_for_github(document, findings)
    else:
        print(to_text(document, width=terminal_width(), limit=MAX_LISTED, hint=ALL_LISTED))
    sys.stdout.flush()


def _page(document: Document, test: StoryTest) -> str:
    """Return the report as a self-contained page with the map."""
    from drrn.pages import rendered, safe_markup

    map_svg = ""
    try:
        map_svg = story_map_svg(test.story_map())
    except InputError as error:  # too many pages to draw
        print(f"The page has no map: {error}", file=sys.stderr)
    body = to_html(document, limit=MAX_ROWS, hint=ALL_LISTED)
    title = test.game.name
    return rendered(
        "story_page.html", title=title, body=safe_markup(body), map=safe_markup(map_svg)
    )


def _print_for_github(document: Document, findings: Findings) -> None:
    """Write the step summary to the job's file, if it has one, and print the annotations."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if file:
        with Path(file).open("a", encoding="utf-8") as out:
            out.write(to_github(document) + "\n")
        print(visible(f"{findings.title}: {headline(findings)} Details: summary of this job."))
    else:
        print(to_github(document))
    for line in github_annotations(document):
        print(visible(line))


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


def _write_paths(findings: Findings, folder: Path) -> int:
    """Write a file for each path; return their number."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, why, path in _paths(findings):
        if path is not None:
            count += 1
            write_path(path, folder / f"{count:02}-{slug(name)[:50]}.json", findings.name, why)
    return count


def _paths(findings: Findings) -> Iterator[tuple[str, str, ClickPath | None]]:
    for check in findings.expectations:
        why = f"{check.expectation}: {check.result}"
        yield f"{check.status} {check.expectation}", why, check.path
    for error in findings.errors:
        yield f"error {error.passage}", f"{error.passage}: {error.what}", error.path
    for dead in findings.dead_ends:
        yield f"{dead.kind} {dead.passage}", dead.what, dead.path
    for ending in findings.endings:
        yield f"ending {ending.name}", ending.last_words, ending.path


def terminal_width() -> int:
    """Return the width of the terminal, at most MAX_WIDTH."""
    return max(40, min(shutil.get_terminal_size((100, 24)).columns, MAX_WIDTH))


def status_line(hint: str = "") -> Callable[[str], None] | None:
    """Return a function that displays a status on one line; None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()
    last = start
    suffix = f" ({hint})" if hint else ""

    def show(status: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now > start + PROGRESS_AFTER and now > last + 0.3:
            last = now
            text = f"\r{now - start:.0f} s: {status}{suffix}\x1b[K"
            print(text, end="", file=sys.stderr, flush=True)

    return show


def clear_status() -> None:
    """Erase the status line."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
