"""`drrn diagnose`: agents on the diagnostic games, compared."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from drrn.cli.jobs import failure_error, run_jobs, workers_for
from drrn.experiments import diagnose
from drrn.experiments.agents import agent_settings, read_settings, settings_text
from drrn.experiments.diagnose import Budget
from drrn.experiments.results import Row, locked_folder, refuse_sweep
from drrn.experiments.shares import share_table, shares_of
from drrn.runs.agent import torch_device
from drrn.settings import all_settings
from textgames.document import Document, to_markdown, to_text
from textgames.files import write
from textgames.terminal import terminal_width


def run(options: argparse.Namespace) -> None:
    """Run the trials that have no rows yet, print the table, and write the files."""
    torch_device(options.device)
    refuse_sweep(options.out)
    given = {name: value for name, value in sorted(vars(options).items()) if name in all_settings()}
    texts = [*options.agent, *([settings_text(given, ",")] if given else [])]
    agents = {text: agent_settings(text) for text in texts or ["default"]}
    sources = diagnose.sources_of(options.games, options.level or (1 if options.quick else 2))
    budget = Budget(
        seeds=dict.fromkeys(agents, options.seeds or (1 if options.quick else 3)),
        first_seed=options.first_seed,
        episodes=options.episodes or (1_200 if options.quick else None),
        overrides=read_settings(options.set),
    )
    with locked_folder(options.out, "diagnose"):
        trials = diagnose.trials(options.out, sources, agents, budget, options.device)
        try:
            with workers_for(options) as workers:
                failed = run_jobs(trials, workers, "trials are done")
        finally:
            rows = diagnose.collect(options.out)
        digests = {trial.digest for trial in trials}
        if rows := [row for row in rows if row["digest"] in digests]:
            _write(options.out, rows)
    if failed:
        raise failure_error(failed, len(trials))


def _write(root: Path, rows: Sequence[Row]) -> None:
    """Print the table, and write it as Markdown."""
    agents, shares = shares_of(rows)
    table = share_table(agents, shares)
    print(f"\n{to_text(Document('', [table]), width=terminal_width())}")
    write(root / "diagnostics.md", to_markdown(Document("Diagnostics", [table])))
    print(root / "diagnostics.md")
