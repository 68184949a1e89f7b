"""`drrn report`: tables and figures from recorded rows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

DESCRIPTION = """Write RESULTS.md, figures and a self-contained report.html from the rows of `drrn
reproduce`. Nothing is trained and no game is needed. --check writes nothing; its exit code is 1 if
the files differ from the rows."""


def add_command(commands: Any) -> None:
    help_text = "write or check the experiments' tables and figures"
    command = commands.add_parser("report", help=help_text, description=DESCRIPTION)
    command.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        default=Path("results"),
        help="the folder of results (default: results)",
    )
    command.add_argument(
        "--check", action="store_true", help="compare the existing files with the rows"
    )
    command.add_argument(
        "--readme",
        type=Path,
        metavar="FILE",
        help="also write, or check, the summary between the two markers of this file",
    )
    command.add_argument(
        "--beyond",
        type=Path,
        metavar="FILE",
        help="also write, or check, the ablation tables between the markers of docs/beyond.md",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from drrn.lab.experiments.results import Results
    from drrn.lab.reports.report import differences, write_report

    results = Results(options.out)
    results.refuse_sweep()
    if not options.check:
        for path in write_report(results, options.readme, options.beyond):
            print(path)
        return 0
    problems = differences(results, options.readme, options.beyond)
    for problem in problems:
        print(f"differs from the rows: {problem}", file=sys.stderr)
    if not problems:
        print("tables and figures agree with the rows")
    return 1 if problems else 0
