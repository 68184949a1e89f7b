"""Compare hosted stories with Chromium, page by page for the same clicks; print a table in Markdown.

    python benchmarks/stories.py FOLDER LIST.tsv [--episodes 2] [--clicks 40] [--states] [--only NAME ...]

FOLDER has a folder for each story of the list, with the published HTML file. Needs
`pip install playwright` and a Chromium of the system (--chromium PATH).
"""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from chromium import Chromium

import drrn
from storytest.hosted.session import HostedPage, Session
from textgames.errors import InputError
from textgames.processes import work

WARM_UP = 150  # clicks
TIMED = 150  # clicks
HTML_FORMATS = ("harlowe", "sugarcube", "chapbook", "snowman", "twine1")

HEADER = (
    "story",
    "format",
    "version",
    "episodes equal",
    "pages equal",
    "clicks/s",
    "Chromium's",
    "states",
    "differed first",
)
REASONS = {
    "more lay ahead": "too many for 60 s",
    "Math.random()": "draws without odds",
    "ways": "too many outcomes",
    "undo": "undo",
    "no ending": "no ending",
    "no links": "no links",
}


@dataclass(frozen=True)
class Episode:
    """One episode in both: the number of equal pages, and the first difference."""

    pages: int
    agreed: int
    difference: str = ""
    seconds: float = 0.0  # that Chromium took for the clicks

    @property
    def clicks(self) -> int:
        return max(self.pages - 1, 0)


@dataclass
class Row:
    """The episodes of one story."""

    story: str
    about: tuple[str, str] = ("", "")
    episodes: list[Episode] = field(default_factory=list)
    refusal: str = ""
    rate: float = 0.0  # our clicks a second, after a warm-up
    states: str = ""  # number of states, or why the story cannot be compiled

    @property
    def chromiums_rate(self) -> float:
        seconds = sum(episode.seconds for episode in self.episodes)
        return sum(episode.clicks for episode in self.episodes) / seconds if seconds else 0.0

    @property
    def cells(self) -> list[str]:
        equal = sum(not episode.difference for episode in self.episodes)
        agreed = sum(e.agreed for e in self.episodes)
        pages = sum(e.pages for e in self.episodes)
        first = next((e.difference for e in self.episodes if e.difference), self.refusal)
        share = f"{equal} of {len(self.episodes)}"
        return [
            self.story,
            *self.about,
            share,
            f"{agreed} of {pages}",
            f"{self.rate:.0f}",
            f"{self.chromiums_rate:.0f}",
            self.states,
            first,
        ]


def main() -> None:
    arguments = _parser().parse_args()
    rows = []
    with Chromium(arguments.chromium) as chromium:
        print(f"| {' | '.join(HEADER)} |")
        print("| --- " * len(HEADER) + "|")
        for name, path in stories(arguments.folder, arguments.list, arguments.only):
            row = compare(name, path, chromium, arguments)
            rows.append(row)
            print(f"| {' | '.join(row.cells)} |", flush=True)
    summary(rows)


def stories(folder: Path, table: Path, only: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield name and file of each story of the list that is published in HTML."""
    with table.open(encoding="utf-8") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            path = folder / line["name"] / Path(line["path"]).name
            if (
                line["format"] in HTML_FORMATS
                and (not only or line["name"] in only)
                and path.exists()
            ):
                yield line["name"], path


def compare(name: str, path: Path, chromium: Chromium, arguments: argparse.Namespace) -> Row:
    """Play a story's episodes in both."""
    row = Row(name)
    html = path.read_text(encoding="utf-8", errors="replace")
    try:
        ours = Session(html, answers={})
        for seed in range(1, arguments.episodes + 1):
            row.episodes.append(episode(ours, chromium, html, seed, arguments.clicks))
            row.about = ours.about
        row.rate = warm_rate(ours)
        ours.close()
        if arguments.states:
            row.states = states_of(path)
    except InputError as error:
        row.refusal = f"does not start: {error}"
    return row


def states_of(path: Path) -> str:
    """Return the number of states of a story, or a few words on why it cannot be compiled."""
    game = drrn.make(path, engine="hosted")
    try:
        return str(len(drrn.compile_game(game, cache=False).page))
    except InputError as error:
        return next((words for sign, words in REASONS.items() if sign in str(error)), "–")
    finally:
        game.close()


def episode(ours: Session, chromium: Chromium, html: str, seed: int, clicks: int) -> Episode:
    """Make the same clicks in both, until they differ, the story ends, or the limit of clicks."""
    chance = random.Random(seed)
    seconds = 0.0
    page = ours.open(seed)
    theirs = chromium.open(html, seed)
    for click in range(clicks + 1):
        if wrong := difference(page, theirs):
            return Episode(
                click + 1, click, f"page {click + 1} ({theirs.passage or '?'}): {wrong}", seconds
            )
        if click == clicks or not page.links or page.restarted:
            break
        index = chance.randrange(len(page.links))
        page = ours.press(index)
        start = time.perf_counter()
        theirs = chromium.press(index)
        seconds += time.perf_counter() - start
    return Episode(click + 1, click + 1, "", seconds)


def warm_rate(session: Session) -> float:
    """Return clicks per CPU second after a warm-up; a story that ends is restored to its opening."""
    chance = random.Random(0)
    page = session.open(0)
    opening = session.save()
    times = []
    for click in range(WARM_UP + TIMED):
        if page.restarted or (not page.links and opening is None):
            page = session.open(click)
        elif not page.links:
            page = session.restore(opening)
        if not page.links:
            break
        start = work()  # of this process and of the engine's
        page = session.press(chance.randrange(len(page.links)))
        times.append(work() - start)
    measured = times[WARM_UP:]
    return len(measured) / sum(measured) if measured else 0.0


def difference(ours: HostedPage, theirs: HostedPage) -> str:
    """Describe the first difference between two pages; "" if they are equal."""
    if ours.restarted or theirs.restarted:
        return "" if ours.restarted == theirs.restarted else "only one restarts"
    text, actions = ours.content
    their_text, their_actions = theirs.content
    if text != their_text:
        return f"text {_around(text, their_text)}"
    if actions != their_actions:
        return f"actions {_plain(str(actions))} for {_plain(str(their_actions))}"
    return ""


def _around(text: str, theirs: str) -> str:
    pairs = enumerate(zip(text, theirs, strict=False))
    index = next((i for i, (a, b) in pairs if a != b), min(len(text), len(theirs)))
    part = slice(max(0, index - 10), index + 30)
    return f"`{_plain(text[part])}` for `{_plain(theirs[part])}`"


def _plain(text: str) -> str:
    return text.replace("\n", "⏎").replace("|", "¦").replace("`", "'")[:120]


def summary(rows: list[Row]) -> None:
    """Print the agreement over all stories, and the median speed of each format."""
    episodes = [episode for row in rows for episode in row.episodes]
    equal = sum(not episode.difference for episode in episodes)
    print(
        f"\n{equal} of {len(episodes)} episodes equal ({100 * equal / max(len(episodes), 1):.1f} %), ",
        end="",
    )
    print(f"{sum(e.agreed for e in episodes)} of {sum(e.pages for e in episodes)} pages.")
    compiled = sum(row.states.isdecimal() for row in rows)
    if compiled:
        print(f"{compiled} of {len(rows)} compiled within 60 seconds.")
    for prefix in ("Harlowe 3", "SugarCube 2"):
        rates = [row.rate for row in rows if " ".join(row.about).startswith(prefix) and row.rate]
        if rates:
            print(
                f"{prefix}: median {statistics.median(rates):.0f} clicks/s over {len(rates)} stories."
            )
    print_formats(rows)


def print_formats(rows: list[Row]) -> None:
    """Print a line for each format and major version: stories, agreement, compiled stories, speeds."""
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        name, version = row.about
        kinds.setdefault(f"{name} {version.partition('.')[0]}".strip(), []).append(row)
    print(
        "\n| format | stories | episodes equal | compiled in 60 s | clicks/s, median | Chromium's |"
    )
    print("| --- " * 6 + "|")
    for kind, some in sorted(kinds.items()):
        episodes = [episode for row in some for episode in row.episodes]
        equal = f"{sum(not episode.difference for episode in episodes)} of {len(episodes)}"
        speeds = [
            [rate for rate in rates if rate] or [0.0]
            for rates in zip(*((r.rate, r.chromiums_rate) for r in some), strict=True)
        ]
        ours, theirs = (f"{statistics.median(rates):.0f}" for rates in speeds)
        compiled = f"{sum(row.states.isdecimal() for row in some)}"
        print(f"| {kind} | {len(some)} | {equal} | {compiled} | {ours} | {theirs} |")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("list", type=Path)
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--clicks", type=int, default=40)
    parser.add_argument(
        "--states", action="store_true", help="compile each story too, within a minute"
    )
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    return parser


if __name__ == "__main__":
    main()
