"""`drrn test STORY --watch`: tests a story again whenever one of its files is saved."""

import argparse
import re
import time
from pathlib import Path

from drrn.cli import terminal
from drrn.errors import InputError
from drrn.game.contract import Game, close
from drrn.stories.authored import AuthoredGame
from drrn.stories.playtest.checks import require_playable
from drrn.stories.playtest.findings import Findings
from drrn.stories.playtest.playtest import StoryTest
from drrn.stories.playtest.problems import Problem
from drrn.stories.playtest.report import headline
from drrn.writing import visible

FIRST_SECONDS = 1.5  # of the first, short test of a saved story
POLL_SECONDS = 0.3
NUMBER = re.compile(r"\d+")  # a count in a problem's text varies from test to test

Stamps = dict[Path, tuple[int, int]]  # time and size of each file
Problems = dict[tuple[str, str, str], Problem]  # by what identifies them in another test


class SavedError(Exception):
    """A file of the story was saved during a test."""


class Watch:
    """Tests a story, shortly and then for longer, until one of its files is saved."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.path = Path(options.game)
        self.files = {self.path, self.path.with_suffix(".toml")}
        self.stamps: Stamps = {}
        self.quick: Problems | None = None  # of the last short test; None before the first
        self.known: Problems = {}  # of the last test
        self.headline = ""  # the last one that was printed
        self.failed = False

    def run(self) -> int:
        """Test until Ctrl-C; return 1 if the last report has an error."""
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
                    time.sleep(POLL_SECONDS)
        except KeyboardInterrupt:
            terminal.clear_status()
            return 1 if self.failed else 0

    def _test(self) -> None:
        game = terminal.open_game(self.options, lenient=True, shuffle=False)
        try:
            self._add_files(game)
            self.stamps = {**self._current_stamps(), **self.stamps}
            if not self.options.lenient:
                require_playable(game)
            findings = self._findings(game, FIRST_SECONDS)
            quick = _problems_of(findings)
            before = self.known if findings.exact or self.quick is None else self.quick
            self._print(findings, before, quick)
            self.known = quick if findings.exact else {**self.known, **quick}
            self.quick = quick
            if not findings.exact and self.options.seconds > FIRST_SECONDS:
                findings = self._findings(game, self.options.seconds)
                self._print(findings, self.known, _problems_of(findings))
                self.known = _problems_of(findings)
        finally:
            terminal.clear_status()
            close(game)

    def _findings(self, game: Game, seconds: float) -> Findings:
        """Test the story; raise SavedError if one of its files is saved meanwhile."""
        show = terminal.status_line("Ctrl-C ends")

        def check(status: str) -> None:
            if self.stamps != self._current_stamps():
                raise SavedError
            if show:
                show(status)

        test = StoryTest(game, seconds, check)
        findings = test.run()
        if test.interrupted:
            raise KeyboardInterrupt
        terminal.clear_status()
        self.failed = findings.failed
        return findings

    def _print(self, findings: Findings, before: Problems, now: Problems) -> None:
        """Print the headline, and the problems that the last test did or did not have."""
        if headline(findings) != self.headline or before.keys() != now.keys():
            self.headline = headline(findings)
            print(visible(f"{time.strftime('%H:%M:%S')}  {self.headline}"), flush=True)
        for label, some, others in (("fixed", before, now), ("new", now, before)):
            for key in [key for key in some if key not in others]:
                print(visible(f"  {label}: {_line(some[key])}"), flush=True)

    def _add_files(self, game: Game) -> None:
        """Watch the story that a TOML names, and the files of a folder or of Ink source."""
        if not isinstance(game, AuthoredGame):
            return
        source = Path(game.story.source)
        folder = source if source.is_dir() else source.parent
        self.files.add(source)
        if source.is_dir() or source.suffix.lower() == ".ink":
            self.files.update(folder.rglob("*" if source.is_dir() else "*.ink"))

    def _current_stamps(self) -> Stamps:
        states = {file: file.stat() for file in self.files if file.is_file()}
        return {file: (state.st_mtime_ns, state.st_size) for file, state in states.items()}


def _problems_of(findings: Findings) -> Problems:
    problems: Problems = {}
    for problem in findings.problems:
        problems[problem.kind, problem.passage, NUMBER.sub("", problem.text)] = problem
    return problems


def _line(problem: Problem) -> str:
    line = f" (line {problem.line})" if problem.line else ""
    place = f"{problem.passage}{line}: " if problem.passage else ""
    return f"{place}{problem.text}"
