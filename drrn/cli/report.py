"""`drrn report`: tables and figures from the rows alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "report",
        help="make the experiments' tables and figures from their rows, or check them against the rows",
        description="Write RESULTS.md, figures and one self-contained report.html from the rows of `drrn reproduce`. "
        "Nothing is trained and no game is needed. With --check nothing is written: exit code 1 says that the files "
        "are not what the rows say.",
    )
    command.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        default=Path("results"),
        help="the folder of results (default: results)",
    )
    command.add_argument(
        "--check", action="store_true", help="compare the files that are there with the rows"
    )
    command.add_argument(
        "--readme",
        type=Path,
        metavar="FILE",
        help="also write, or check, the headline between its two markers",
    )
    command.add_argument(
        "--beyond", type=Path, metavar="FILE",
        help="also write, or check, the tables of what each part gives between their two markers (docs/beyond.md)",
    )  # fmt: skip
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from drrn.lab.experiments.folder import Results
    from drrn.lab.reports.report import differences, write_report

    results = Results(options.out)
    results.refuse_sweep()
    if not options.check:
        for path in write_report(results, options.readme, options.beyond):
            print(path)
        return 0
    found = differences(results, options.readme, options.beyond)
    for difference in found:
        print(f"differs from the rows: {difference}", file=sys.stderr)
    if not found:
        print("tables and figures are what the rows say")
    return 1 if found else 0
