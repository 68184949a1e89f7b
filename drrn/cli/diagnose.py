"""`drrn diagnose`: train agents on the diagnostic games, and compare what they can do."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drrn.cli.jobs import failure_error, read_settings, run_jobs, workers_for
from drrn.cli.terminal import terminal_width, warn
from drrn.document import Document, Table, to_markdown, to_text
from drrn.errors import InputError, did_you_mean
from drrn.files import write
from drrn.lab.experiments import diagnose
from drrn.lab.experiments.diagnose import AGENTS, RANDOM
from drrn.lab.experiments.plan import Scale
from drrn.lab.experiments.results import Results, Row
from drrn.lab.experiments.sweep import changes_text
from drrn.lab.reports.diagnostics import blocks_of
from drrn.lab.reports.figures import Plot, as_file, draw
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
    scale = Scale(
        seeds=options.seeds or (1 if options.quick else 3),
        first_seed=options.first_seed,
        quick=options.quick,
        overrides=read_settings(options.set),
    )
    if options.episodes:
        scale.overrides.update(diagnose.sizes(options.episodes))
    with results.locked("diagnose"):
        trials = diagnose.trials(results.root, sources, agents, scale, options.device)
        try:
            with workers_for(options) as workers:
                failed = run_jobs(trials, workers, "trials are done")
        finally:
            rows = diagnose.collect(results.root)
        digests = {trial.digest for trial in trials}
        _write(results.root, [row for row in rows if row["digest"] in digests])
    if failed:
        raise failure_error(failed, len(trials))


def changes_of(text: str) -> Mapping[str, Any]:
    """Return the settings of an agent: NAME, or NAME=VALUE,NAME=VALUE, or a name and settings."""
    base, *settings = text.split(",")
    if "=" in base:
        base = "default"
        settings = text.split(",")
    if base not in AGENTS or (settings and base == RANDOM):
        near = did_you_mean(base, AGENTS)
        choices = f"Choose from {', '.join(AGENTS)}, or give settings such as encoder=gru,history=4"
        raise InputError(f'--agent "{text}": no such agent.{near} {choices}')
    return {**AGENTS[base], **read_settings(settings, option="--agent")}


def _write(root: Path, rows: Sequence[Row]) -> None:
    """Print the table; write it as Markdown and HTML, with the figure if it can be drawn."""
    drawings = {}
    blocks = blocks_of(rows)
    for block in list(blocks):
        if isinstance(block, Table):
            print(f"\n{to_text(Document('', [block]), width=terminal_width())}")
        if isinstance(block, Plot):
            try:
                drawings[block.name] = draw(block)
                write(root / block.path, as_file(drawings[block.name]))
            except InputError as error:
                warn(f"no figure: {error}")
                blocks.remove(block)
    document = Document("Diagnostics", blocks)
    files = {"md": to_markdown(document), "html": results_page(document, drawings)}
    for suffix, text in files.items():
        write(root / f"diagnostics.{suffix}", text)
        print(root / f"diagnostics.{suffix}")
