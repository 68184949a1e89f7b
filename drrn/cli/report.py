"""`drrn report`: tables and figures from recorded rows."""

import argparse

from drrn.cli.terminal import warn


def run(options: argparse.Namespace) -> int:
    from drrn.lab.experiments.results import Results
    from drrn.lab.reports.report import differences, write_report

    results = Results(options.out)
    results.refuse_sweep()
    pages = {name: getattr(options, name) for name in ("readme", "beyond", "diagnostics", "arena")}
    if not options.check:
        for path in write_report(results, **pages):
            print(path)
        return 0
    problems = differences(results, **pages)
    for problem in problems:
        warn(f"differs from the rows: {problem}")
    if not problems:
        print("tables and figures agree with the rows")
    return 1 if problems else 0
