"""`drrn diagnose`: train agents on the diagnostic games, and compare what they can do."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drrn.cli.jobs import failure_error, read_settings, run_jobs, workers_for
from drrn.cli.terminal import terminal_width, warn
from drrn.document import Document, to_markdown, to_text
from drrn.errors import InputError, did_you_mean
from drrn.files import write
from drrn.lab.experiments import diagnose
from drrn.lab.experiments.diagnose import RANDOM
from drrn.lab.experiments.plan import AGENTS, Scale
from drrn.lab.experiments.results import Results, Row
from drrn.lab.experiments.sweep import changes_text
from drrn.lab.reports.beyond import blocks_of
from drrn.lab.reports.figures import as_file, draw
from drrn.lab.reports.report import results_page
from drrn.runs.agent import torch_device
from drrn.settings import all_settings


def run(options: argparse.Namespace) -> None:
    """Run the trials that have no rows yet; print the table, and write the files."""
    torch_device(options.device)
    results = Results(options.out)
    results.refuse_sweep()
    given = {name: value for name, value in vars(options).items() if name in all_settings()}
    texts = [*options.agent, *([changes_text(tuple(sorted(given.items())), ",")] if given else [])]
    agents = {text: changes_of(text) for text in texts or ["default"]}
    sources = diagnose.sources_of(options.games, options.level or (1 if options.quick else 2))
    seeds = options.seeds or (1 if options.quick else 3)
    overrides = read_settings(options.set)
    scale = Scale(seeds, options.first_seed, quick=options.quick, overrides=overrides)
    with results.locked("diagnose"):
        how = (scale, options.device, options.episodes)
        trials = diagnose.trials(results.root, sources, agents, *how)
        try:
            with workers_for(options) as workers:
                failed = run_jobs(trials, workers, "trials are done")
        finally:
            rows = diagnose.collect(results.root)
        digests = {trial.digest for trial in trials}
        if rows := [row for row in rows if row["digest"] in digests]:
            _write(results.root, rows)
    if failed:
        raise failure_error(failed, len(trials))


def changes_of(text: str) -> dict[str, Any]:
    """Return the settings of an agent: NAME, or NAME=VALUE,NAME=VALUE, or a name and settings."""
    parts = text.split(",")
    base, *settings = ["default", *parts] if "=" in parts[0] else parts
    if base not in AGENTS or (settings and base == RANDOM):
        near = did_you_mean(base, AGENTS)
        choices = f"Choose from {', '.join(AGENTS)}, or give settings such as encoder=gru,history=4"
        raise InputError(f'--agent "{text}": no such agent.{near} {choices}')
    return {**AGENTS[base], **read_settings(settings, option="--agent")}


def _write(root: Path, rows: Sequence[Row]) -> None:
    """Print the table; write it as Markdown and HTML, with the figure if it can be drawn."""
    text, figure, table = blocks_of(rows)
    print(f"\n{to_text(Document('', [table]), width=terminal_width())}")
    drawings = {}
    try:
        drawings[figure.name] = draw(figure)
        write(root / figure.path, as_file(drawings[figure.name]))
    except InputError as error:
        warn(f"no figure: {error}")
    document = Document("Diagnostics", [text, *([figure] if drawings else []), table])
    write(root / "diagnostics.md", to_markdown(document))
    write(root / "diagnostics.html", results_page(document, drawings))
    print(root / "diagnostics.html")
