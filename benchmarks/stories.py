"""Hosted stories against Chromium: the same clicks in both, every page compared; a table in Markdown.

    python benchmarks/stories.py FOLDER LIST.tsv [--episodes 2] [--clicks 40] [--states] [--only NAME ...]

FOLDER holds one folder for each story of the list, by its name, with the published HTML file in it. Needs
`pip install 'drrn[stories-benchmark]'` and a Chromium of the system (--chromium PATH).
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
from drrn.errors import InputError
from drrn.stories.hosted.session import HostedPage, Session

WARMING, MEASURED = 150, 150  # clicks
PLAYED = (
    "harlowe",
    "sugarcube",
    "chapbook",
    "snowman",
    "twine1",
)  # formats of the list that are in HTML

HEADER = (
    "story", "format", "version", "episodes equal", "pages equal", "clicks/s", "Chromium's", "states", "differed first"
)  # fmt: skip
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
    """One episode in both: how many pages agreed, and what differed first."""

    pages: int
    agreed: int
    difference: str = ""
    seconds: float = 0.0  # that Chromium took for the clicks

    @property
    def clicks(self) -> int:
        return max(self.pages - 1, 0)


@dataclass
class Row:
    """What the episodes of one story come to."""

    story: str
    about: tuple[str, str] = ("", "")
    episodes: list[Episode] = field(default_factory=list)
    refusal: str = ""
    rate: float = 0.0  # clicks a second of ours, once warm
    states: str = ""  # how many the story has where it compiles; else why it does not

    @property
    def chromiums_rate(self) -> float:
        seconds = sum(episode.seconds for episode in self.episodes)
        return sum(episode.clicks for episode in self.episodes) / seconds if seconds else 0.0

    @property
    def cells(self) -> list[str]:
        equal = sum(not episode.difference for episode in self.episodes)
        agreed, pages = sum(e.agreed for e in self.episodes), sum(e.pages for e in self.episodes)
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
    """The names and files of the list's stories that are published in HTML."""
    with table.open(encoding="utf-8") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            path = folder / line["name"] / Path(line["path"]).name
            if line["format"] in PLAYED and (not only or line["name"] in only) and path.exists():
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
    """How many states the story has once it is compiled, or in a few words why it cannot be."""
    game = drrn.make(path, engine="hosted")
    try:
        return str(len(drrn.compile_game(game, cache=False).page))
    except InputError as error:
        return next((words for sign, words in REASONS.items() if sign in str(error)), "–")
    finally:
        game.close()


def episode(ours: Session, chromium: Chromium, html: str, seed: int, clicks: int) -> Episode:
    """The same clicks in both, until they differ, the story ends, or so many clicks are done."""
    chance = random.Random(seed)
    seconds = 0.0
    shown, theirs = ours.open(seed), chromium.open(html, seed)
    for click in range(clicks + 1):
        if wrong := difference(shown, theirs):
            return Episode(
                click + 1, click, f"page {click + 1} ({theirs.passage or '?'}): {wrong}", seconds
            )
        if click == clicks or not shown.links or shown.restarted:
            break
        index = chance.randrange(len(shown.links))
        shown = ours.press(index)
        begun = time.perf_counter()
        theirs = chromium.press(index)
        seconds += time.perf_counter() - begun
    return Episode(click + 1, click + 1, "", seconds)


def warm_rate(session: Session) -> float:
    """Clicks a second after some to get warm; a story that ends goes on from its opening."""
    chance = random.Random(0)
    shown = session.open(0)
    opening, times = session.save(), []
    for click in range(WARMING + MEASURED):
        if not shown.links or shown.restarted:
            shown = (
                session.open(click)
                if opening is None or shown.restarted
                else session.restore(opening)
            )
            if not shown.links:
                break
        begun = time.perf_counter()
        shown = session.press(chance.randrange(len(shown.links)))
        times.append(time.perf_counter() - begun)
    measured = times[WARMING:]
    return len(measured) / sum(measured) if measured else 0.0


def difference(ours: HostedPage, theirs: HostedPage) -> str:
    """What differs first between two pages, in a few words; nothing where they are equal."""
    if ours.restarted or theirs.restarted:
        return "" if ours.restarted == theirs.restarted else "only one begins again"
    (text, actions), (wanted_text, wanted_actions) = ours.content, theirs.content
    if text != wanted_text:
        return f"text {_around(text, wanted_text)}"
    if actions != wanted_actions:
        return f"actions {_plain(str(actions))} for {_plain(str(wanted_actions))}"
    return ""


def _around(text: str, wanted: str) -> str:
    pairs = enumerate(zip(text, wanted, strict=False))
    place = next((i for i, (a, b) in pairs if a != b), min(len(text), len(wanted)))
    start = max(0, place - 10)
    return f"`{_plain(text[start : place + 30])}` for `{_plain(wanted[start : place + 30])}`"


def _plain(text: str) -> str:
    return text.replace("\n", "⏎").replace("|", "¦").replace("`", "'")[:120]


def summary(rows: list[Row]) -> None:
    """Agreement over all stories that start in Chromium, and the median speed of each format."""
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
    """A line for each format and its major version: stories, agreement, compiled ones, median speeds."""
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
