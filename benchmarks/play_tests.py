"""Run `storytest` on every story of a list, and print a table in Markdown.

    python benchmarks/play_tests.py FOLDER LIST.tsv [--seconds 30] [--only NAME ...] [--keep FOLDER]

FOLDER has a folder for each story of the list, with the published file or the Twee files. Each report is made by a
separate process; --keep saves the reports as JSON; with --resume, reports that it has saved are read.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADER = (
    "story",
    "format",
    "how",
    "seconds",
    "endings",
    "random games",
    "passages",
    "links",
    "dead ends",
    "errors",
)
REASONS = {
    "no passage named": "its files have no start",
    "shows no text": "shows nothing",
    "Ink source": "Ink source, not compiled",
    "no Twine story": "no Twine story",
}
TIMEOUT = 4  # times --seconds, after which a report is given up


@dataclass(frozen=True)
class Row:
    """One story's report, or why there is none."""

    story: str
    format: str
    seconds: float
    report: dict[str, Any]
    refusal: str = ""

    @property
    def coverage(self) -> float:
        """The share of the passages that can be reached; for a sampled story a lower bound."""
        passages = self.report["passages"]
        return 1.0 if self.report["exact"] else passages["count"] / max(1, passages["total"])

    @property
    def cells(self) -> list[str]:
        if self.refusal:
            return [
                self.story,
                self.format,
                self.refusal,
                f"{self.seconds:.0f}",
                *[""] * (len(HEADER) - 4),
            ]
        report = self.report
        kinds = [problem["kind"] for problem in report["problems"]]
        return [
            self.story,
            self.format,
            "exact" if report["exact"] else "sampled",
            f"{self.seconds:.0f}",
            str(len(report["endings"])),
            "" if report["exact"] else f"{report['games']:,}",
            _coverage(report["passages"]),
            _coverage(report["links"]),
            str(sum(kind in ("trap", "loop", "empty passage") for kind in kinds)),
            str(sum(kind in ("thrown error", "error page") for kind in kinds)),
        ]


def main() -> None:
    arguments = _parser().parse_args()
    rows = []
    print(f"| {' | '.join(HEADER)} |")
    print("| --- " * len(HEADER) + "|")
    for name, format_name, path in stories(arguments.folder, arguments.list, arguments.only):
        row = test_story(name, format_name, path, arguments)
        rows.append(row)
        print(f"| {' | '.join(row.cells)} |", flush=True)
    summary(rows, arguments.seconds)


def stories(folder: Path, table: Path, only: list[str]) -> Iterator[tuple[str, str, Path]]:
    """Yield name, format and file (or folder of Twee files) of each story of the list that exists."""
    with table.open(encoding="utf-8") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            home = folder / line["name"]
            if (only and line["name"] not in only) or not home.is_dir():
                continue
            files = [part for part in sorted(home.iterdir()) if part.is_file()]
            pages = [
                part for part in files if part.suffix.lower() in (".html", ".htm", ".json", ".ink")
            ]
            one = pages or (files if len(files) == 1 else [])
            yield line["name"], line["format"], one[0] if one else home


def test_story(name: str, format_name: str, path: Path, arguments: argparse.Namespace) -> Row:
    """Run `storytest` on one story, or read its report."""
    saved_report = arguments.keep / f"{name}.json" if arguments.keep else None
    if arguments.resume and saved_report and saved_report.exists():
        report = json.loads(saved_report.read_text(encoding="utf-8"))
        if report["time_limit"] == arguments.seconds:
            return Row(name, format_name, report["seconds"], report)
    command = [
        sys.executable,
        "-m",
        "storytest",
        "test",
        str(path),
        "--format",
        "json",
        "--seconds",
        str(arguments.seconds),
    ]
    start = time.monotonic()
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT * arguments.seconds + 30
        )
    except subprocess.TimeoutExpired:
        return Row(name, format_name, time.monotonic() - start, {}, "took too long")
    seconds = time.monotonic() - start
    try:
        report = json.loads(process.stdout)
    except ValueError:
        message = (process.stderr.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        why = next((words for sign, words in REASONS.items() if sign in message), message[:80])
        return Row(name, format_name, seconds, {}, f"no report: {why}")
    if saved_report:
        saved_report.parent.mkdir(parents=True, exist_ok=True)
        saved_report.write_text(process.stdout, encoding="utf-8")
    return Row(name, format_name, report["seconds"], report)


def _coverage(coverage: dict[str, int]) -> str:
    return f"{coverage['count']} of {coverage['total']}" if coverage["total"] else "–"


def summary(rows: list[Row], seconds: float) -> None:
    """Print totals over all stories."""
    reports = [row for row in rows if not row.refusal]
    exact = sum(bool(row.report["exact"]) for row in reports)
    ended = sum(bool(row.report["endings"]) for row in reports)
    within = sum(row.seconds <= 2 * seconds for row in rows)
    shares = [row.coverage for row in reports] or [0.0]
    print(
        f"\n{len(reports)} of {len(rows)} stories have a report, {exact} exact, {len(reports) - exact} sampled; {ended} have "
        f"endings; {within} took at most {2 * seconds:g} seconds; on average {statistics.fmean(shares):.1%} of the passages "
        "that can be reached were reached (exact: all; sampled: of all passages)"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("list", type=Path)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--resume", action="store_true", help="read the reports that --keep saved")
    return parser


if __name__ == "__main__":
    main()
