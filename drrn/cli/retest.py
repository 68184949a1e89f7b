"""`drrn test STORY --watch`: tests a story again whenever one of its files is saved."""

import argparse
import re
import sys
import time
from pathlib import Path

from drrn.cli import terminal
from drrn.errors import InputError
from drrn.game.contract import Game, close
from drrn.processes import cores
from drrn.stories.authored import AuthoredGame
from drrn.stories.playtest.checks import require_playable
from drrn.stories.playtest.findings import Problem
from drrn.stories.playtest.playtest import StoryTest
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
        self.files = {Path(options.game), Path(options.game).with_suffix(".toml")}
        self.stamps: Stamps = {}
        self.quick: Problems = {}  # of the last short test
        self.problems: Problems = {}  # of all tests, and not fixed
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
            return 1 if self.failed else 0

    def _test(self) -> None:
        game = terminal.open_game(self.options, lenient=True, shuffle=False)
        try:
            self._add_files(game)
            if not self.options.lenient:
                require_playable(game)
            exact, self.quick = self._report(game, FIRST_SECONDS, self.quick)
            if not exact and self.options.seconds > FIRST_SECONDS:
                self._report(game, self.options.seconds, self.problems)
        finally:
            terminal.clear_status()
            close(game)

    def _report(self, game: Game, seconds: float, before: Problems) -> tuple[bool, Problems]:
        """Test the story, and print which problems are new, and which of those before are fixed.

        Return whether the test is exact, and its problems. A save of a file is a SavedError.
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
        before = self.problems if findings.exact else before
        former = [key for key in before if key in self.problems and key not in now]
        latest = [key for key in now if key not in self.problems]
        self.problems = {**self.problems, **now}
        if headline(findings) != self.headline or former or latest:
            self.headline = headline(findings)
            print(visible(f"{time.strftime('%H:%M:%S')}  {self.headline}"))
        for key in former:
            print(visible(f"  fixed: {self.problems.pop(key)}"))
        for key in latest:
            print(visible(f"  new: {now[key]}"))
        sys.stdout.flush()
        return findings.exact, now

    def _add_files(self, game: Game) -> None:
        """Watch the story that a TOML names, and the files of a folder or of Ink source."""
        if isinstance(game, AuthoredGame):
            source = Path(game.story.source)
            self.files.add(source)
            if source.is_dir() or source.suffix.lower() == ".ink":
                folder = source if source.is_dir() else source.parent
                self.files.update(folder.rglob("*" if source.is_dir() else "*.ink"))
        self.stamps = {**self._current_stamps(), **self.stamps}

    def _current_stamps(self) -> Stamps:
        states = {file: file.stat() for file in self.files if file.is_file()}
        return {file: (state.st_mtime_ns, state.st_size) for file, state in states.items()}
