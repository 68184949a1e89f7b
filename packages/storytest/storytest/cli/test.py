"""`storytest STORY`: play-test a story: its problems, endings, coverage and expectations."""

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path

from storytest.authored import AuthoredGame
from storytest.map.svg import check_map_file, legend_html, story_map_svg
from storytest.playtest.checks import require_playable
from storytest.playtest.clicks import write_path
from storytest.playtest.findings import Findings, Problem
from storytest.playtest.playtest import StoryTest
from storytest.playtest.report import headline, report
from textgames import terminal
from textgames.document import Document, github_annotations, to_html, to_markdown, to_text
from textgames.errors import InputError, require
from textgames.files import slug, write
from textgames.game.contract import Game, close, title_of
from textgames.processes import cores
from textgames.wording import visible, visible_json

ALL_LISTED = "all of them with --format json"
REPORTS = {".html": "html", ".md": "markdown", ".json": "json", ".txt": "text"}  # by suffix


def run(options: argparse.Namespace) -> int:
    """Run the play-test. Returns 1 if a problem is an error."""
    if options.watch:
        others = (options.map, options.out, options.paths)
        if options.format != "text" or any(others):
            raise InputError("--watch prints problems only; leave out the other options")
        return Watch(options).run()
    _check_out(options)
    if options.map:
        check_map_file(options.map)
    folder = options.paths
    if folder and folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(f"{folder}: not an empty folder; name a new one for the paths")
    game = terminal.open_game(options, lenient=True, shuffle=False)
    if not options.lenient:
        require_playable(game)
    status = terminal.status_line("Ctrl-C stops and reports")
    test = StoryTest(game, options.seconds, status, jobs=options.jobs or cores())
    try:
        findings = test.run()
        terminal.clear_status()
        _print_report(test, findings, options)
        if folder:
            count = _write_paths(findings, folder)
            hint = "replay one with storytest play GAME --path FILE"
            terminal.warn(f"{folder}: {count:,} paths written; {hint}")
        if options.map:  # after the report: a map may be slow, or fail
            write(options.map, story_map_svg(test.story_map(findings)))
            terminal.warn(f"map: {options.map}")
    finally:
        terminal.clear_status()
        close(game)
    return 1 if findings.failed else 0


def _check_out(options: argparse.Namespace) -> None:
    """Refuse a file that cannot be written, before the test takes its time."""
    out: Path | None = options.out
    if options.format in ("html", "markdown", "github") or out:
        require("jinja2")
    if out is None:
        return
    if out.suffix.lower() not in REPORTS:
        raise InputError(f"{out}: a report ends in {', '.join(REPORTS)}")
    if out.resolve() in (Path(options.game).resolve(), _toml_of(options.game).resolve()):
        raise InputError(f"{out}: this is the story; choose another name for the report")


def _print_report(test: StoryTest, findings: Findings, options: argparse.Namespace) -> None:
    document = report(findings, options.game, str(_toml_of(options.game)))
    if options.format == "github":
        _print_for_github(document, findings)
    else:
        print(_format_report(options.format, document, test, findings, options.game), end="")
    sys.stdout.flush()
    if options.out:
        name = REPORTS[options.out.suffix.lower()]
        write(options.out, _format_report(name, document, test, findings, options.game))
        terminal.warn(f"report: {options.out}")


def _format_report(
    name: str, document: Document, test: StoryTest, findings: Findings, story: str
) -> str:
    if name == "json":
        text = json.dumps(findings.as_json(), indent=2, ensure_ascii=False)
        return f"{visible_json(text)}\n"
    if name == "html":
        return _page(document, test, findings, story)
    if name == "markdown":
        return to_markdown(document)
    width = terminal.terminal_width()
    return to_text(document, width=width, limit=30, hint=ALL_LISTED) + "\n"


def _toml_of(story: str) -> Path:
    path = Path(story)
    if path.name in ("", ".."):  # this folder, or the one above
        path = path.resolve()
    return path if path.suffix.lower() == ".toml" else path.with_suffix(".toml")


def _page(document: Document, test: StoryTest, findings: Findings, story: str) -> str:
    """The report as a self-contained page with the map."""
    from textgames.pages import rendered, safe_markup

    map_svg = ""
    legend = ""
    try:
        drawing = test.story_map(findings)
        map_svg = story_map_svg(drawing, legend=False)
        legend = legend_html(drawing)
    except InputError as error:  # too many pages to draw
        terminal.warn(f"The page has no map: {error}")
    body = to_html(document, limit=300, hint=ALL_LISTED)
    parts = {"body": body, "map": map_svg, "legend": legend}
    markup = {name: safe_markup(text) for name, text in parts.items()}
    return rendered("storytest/story_page.html", title=title_of(test.game), story=story, **markup)


def _print_for_github(document: Document, findings: Findings) -> None:
    """Write the step summary to the job's file, if it has one, and print the annotations."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    summary = to_markdown(document, level=2, limit=50)
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
    """Save the clicks to each problem and ending. Returns the number of files."""
    endings = [ending for ending in findings.endings if not findings.is_dead_end(ending)]
    found = [(f"{one.kind} {one.passage}", one.text, one.path) for one in findings.problems]
    found += [(f"ending {one.name}", one.last_words, one.path) for one in endings]
    paths = [(name, why, path) for name, why, path in found if path is not None]
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, why, path) in enumerate(paths, 1):
        write_path(path, folder / f"{number:02}-{slug(name)[:50]}.json", findings.name, why)
    return len(paths)


# --- storytest --watch: tests a story again whenever one of its files is saved

NUMBER = re.compile(r"\d+")  # a count in a problem's text varies from test to test

Stamps = dict[Path, tuple[int, int]]  # time and size of each file


class SavedError(Exception):
    """A file of the story was saved during a test."""


class Watch:
    """Tests a story, shortly and then for longer, whenever one of its files is saved.

    Args:
        options: The options of the command.
        first: CPU seconds of the short test.
        interval: Seconds between two looks at the files.
    """

    def __init__(
        self, options: argparse.Namespace, first: float = 1.2, interval: float = 0.3
    ) -> None:
        self.options = options
        self.first = first
        self.interval = interval
        self.files = {Path(options.game), _toml_of(options.game)}
        self.stamps: Stamps = {}
        self.problems: dict[tuple[str, str, str], Problem] = {}  # that are not fixed
        self.headline = ""  # the last one that was printed
        self.failed = False

    def run(self) -> int:
        """Test until Ctrl-C. Returns 1 if the last report has an error."""
        try:
            while True:
                self.stamps = self._current_stamps()
                self.headline = ""
                try:
                    self._test()
                except SavedError:
                    continue
                except InputError as error:
                    self.failed = True
                    terminal.warn(f"{time.strftime('%H:%M:%S')}  {error}")
                while self.stamps == self._current_stamps():
                    time.sleep(self.interval)
        except KeyboardInterrupt:
            return 1 if self.failed else 0

    def _test(self) -> None:
        game = terminal.open_game(self.options, lenient=True, shuffle=False)
        try:
            self._add_files(game)
            if not self.options.lenient:
                require_playable(game)
            for seconds in (self.first, self.options.seconds):
                if self._report(game, min(seconds, self.options.seconds)):
                    break
        finally:
            terminal.clear_status()
            close(game)

    def _report(self, game: Game, seconds: float) -> bool:
        """Test the story, and print which problems are new or fixed.

        A short test may miss problems, so only a long or an exact one shows what is fixed.

        Returns:
            Whether a longer test would find nothing else.

        Raises:
            SavedError: A file was saved.
        """
        show = terminal.status_line("Ctrl-C ends")

        def check(status: str) -> None:
            if self.stamps != self._current_stamps():
                raise SavedError
            if show:
                show(status)

        test = StoryTest(game, seconds, check, jobs=self.options.jobs or cores())
        findings = test.run()
        terminal.clear_status()
        if test.interrupted:
            raise KeyboardInterrupt
        self.failed = findings.failed
        now = {(p.kind, p.passage, NUMBER.sub("", p.text)): p for p in findings.problems}
        is_last = findings.exact or seconds == self.options.seconds
        fixed = [key for key in self.problems if key not in now] if is_last else []
        new = [key for key in now if key not in self.problems]
        self.problems = {**self.problems, **now}
        if headline(findings) != self.headline or fixed or new:
            self.headline = headline(findings)
            print(visible(f"{time.strftime('%H:%M:%S')}  {self.headline}"))
        for key in fixed:
            print(visible(f"  fixed: {self.problems.pop(key)}"))
        for key in new:
            print(visible(f"  new: {now[key]}"))
        sys.stdout.flush()
        return is_last

    def _add_files(self, game: Game) -> None:
        """Watch the story that a TOML names, and the files of a folder or of Ink source."""
        if isinstance(game, AuthoredGame):
            source = Path(game.story.source)
            self.files.add(source)
            if source.is_dir():
                self.files.update(source.rglob("*"))
            elif source.suffix.lower() == ".ink":
                self.files.update(source.parent.rglob("*.ink"))
        self.stamps = {**self._current_stamps(), **self.stamps}

    def _current_stamps(self) -> Stamps:
        states = {file: file.stat() for file in self.files if file.is_file()}
        return {file: (state.st_mtime_ns, state.st_size) for file, state in states.items()}
