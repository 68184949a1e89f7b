"""`python -m lab report`: tables and figures from recorded rows."""

import argparse
from pathlib import Path

from textgames.terminal import warn

# Pages with blocks of the report, of which `results` has the rows.
PAGES = ("README.md", "docs/claims.md", "docs/lab/beyond.md", "docs/textgames/diagnostics.md")
PAGES += ("docs/drrn/arena.md",)


def run(options: argparse.Namespace) -> int:
    from drrn.experiments.results import refuse_sweep
    from lab.experiments.results import Results
    from lab.reports.report import differences, write_report

    root = Path(__file__).parents[1]
    is_published = options.out.resolve() == root / "results"
    pages = options.pages or [root / page for page in PAGES if is_published]
    refuse_sweep(options.out)
    results = Results(options.out)
    if not options.check:
        print(write_report(results, pages))
        return 0
    problems = differences(results, pages)
    for problem in problems:
        warn(f"differs from the rows: {problem}")
    if not problems:
        print("tables and figures agree with the rows")
    return 1 if problems else 0
