"""`drrn test STORY`: play-test a story: its problems, endings, coverage and expectations."""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from drrn.cli import terminal
from drrn.cli.retest import Watch
from drrn.document import Document, github_annotations, to_html, to_markdown, to_text
from drrn.errors import InputError, require
from drrn.files import slug, write
from drrn.game.contract import close, title_of
from drrn.processes import cores
from drrn.runs.quick_player import quick_player
from drrn.stories.map.svg import check_map_file, legend_html, story_map_svg
from drrn.stories.playtest.checks import require_playable
from drrn.stories.playtest.clicks import ClickPath, write_path
from drrn.stories.playtest.findings import Findings
from drrn.stories.playtest.playtest import StoryTest
from drrn.stories.playtest.report import MAX_ROWS, headline, report
from drrn.writing import visible

MAX_LISTED = 30  # items of a list in a terminal
MAX_IN_SUMMARY = 50  # items of a list on GitHub
ALL_LISTED = "all of them with --format json"


def run(options: argparse.Namespace) -> int:
    """Run the play-test; return 1 if a problem is an error."""
    if options.watch:
        if options.format != "text" or options.map or options.paths or options.agent:
            raise InputError("--watch prints problems only; leave out the other options")
        return Watch(options).run()
    if options.format in ("html", "markdown", "github"):
        require("jinja2", "cli")  # before the test takes its time
    if options.map:
        check_map_file(options.map)
    folder = options.paths
    if folder and folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(f"{folder}: not an empty folder; name a new one for the paths")
    game = terminal.open_game(options, lenient=True, shuffle=False)
    if not options.lenient:
        require_playable(game)
    status = terminal.status_line("Ctrl-C stops and reports")
    train = quick_player if options.agent else None
    test = StoryTest(game, options.seconds, status, train, options.jobs or cores())
    try:
        findings = test.run()
        terminal.clear_status()
        _print_report(test, findings, options)
        if folder:
            count = _write_paths(findings, folder)
            hint = "replay one with drrn play GAME --path FILE"
            terminal.warn(f"{folder}: {count:,} paths written; {hint}")
        if options.map:  # after the report: a map may be slow, or fail
            write(options.map, story_map_svg(test.story_map(findings)))
            terminal.warn(f"map: {options.map}")
    finally:
        terminal.clear_status()
        close(game)
    return 1 if findings.failed else 0


def _print_report(test: StoryTest, findings: Findings, options: argparse.Namespace) -> None:
    toml = Path(options.game)
    if toml.suffix.lower() != ".toml":
        toml = toml.with_suffix(".toml")
    document = report(findings, options.game, str(toml))
    if options.format == "json":
        terminal.print_json(findings.as_json(), indent=2)
    elif options.format == "html":
        print(_page(document, test, findings, options.game), end="")
    elif options.format == "markdown":
        print(to_markdown(document), end="")
    elif options.format == "github":
        _print_for_github(document, findings)
    else:
        print(to_text(document, width=terminal.terminal_width(), limit=MAX_LISTED, hint=ALL_LISTED))
    sys.stdout.flush()


def _page(document: Document, test: StoryTest, findings: Findings, story: str) -> str:
    """Return the report as a self-contained page with the map."""
    from drrn.pages import rendered, safe_markup

    map_svg = ""
    legend = ""
    try:
        drawing = test.story_map(findings)
        map_svg = story_map_svg(drawing, legend=False)
        legend = legend_html(drawing)
    except InputError as error:  # too many pages to draw
        terminal.warn(f"The page has no map: {error}")
    body = to_html(document, limit=MAX_ROWS, hint=ALL_LISTED)
    parts = {"body": body, "map": map_svg, "legend": legend}
    markup = {name: safe_markup(text) for name, text in parts.items()}
    return rendered("story_page.html", title=title_of(test.game), story=story, **markup)


def _print_for_github(document: Document, findings: Findings) -> None:
    """Write the step summary to the job's file, if it has one, and print the annotations."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    summary = to_markdown(document, level=2, limit=MAX_IN_SUMMARY)
    if file:
        with Path(file).open("a", encoding="utf-8") as out:
            out.write(f"{summary}\n")
        details = "The summary of this job has the details."
        print(visible(f"{findings.title}: {headline(findings)} {details}"))
    else:
        print(summary)
    for line in github_annotations(document):
        print(visible(line))


def _write_paths(findings: Findings, folder: Path) -> int:
    """Write a file for each path; return their number."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [(name, why, path) for name, why, path in _paths(findings) if path is not None]
    for number, (name, why, path) in enumerate(paths, 1):
        write_path(path, folder / f"{number:02}-{slug(name)[:50]}.json", findings.name, why)
    return len(paths)


def _paths(findings: Findings) -> Iterator[tuple[str, str, ClickPath | None]]:
    for problem in findings.problems:
        yield f"{problem.kind} {problem.passage}", problem.text, problem.path
    for ending in findings.endings:
        if not findings.is_dead_end(ending):
            yield f"ending {ending.name}", ending.last_words, ending.path
