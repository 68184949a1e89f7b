"""`python -m lab report`: tables and figures from recorded rows."""

import argparse

from textgames.terminal import warn


def run(options: argparse.Namespace) -> int:
    from lab.experiments.results import Results
    from lab.reports.report import differences, write_report

    results = Results(options.out)
    results.refuse_sweep()
    named = (options.readme, options.beyond, options.diagnostics, options.arena)
    pages = [page for page in named if page]
    if not options.check:
        print(write_report(results, pages))
        return 0
    problems = differences(results, pages)
    for problem in problems:
        warn(f"differs from the rows: {problem}")
    if not problems:
        print("tables and figures agree with the rows")
    return 1 if problems else 0
