"""`drrn runs`, `compare`, `push` and `pull`: list, compare and share runs."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import re
import sys
from pathlib import Path
from typing import Any

from drrn.cli.terminal import POLICIES, positive, print_json, table
from drrn.errors import InputError
from drrn.game.episodes import mean_and_sd
from drrn.runs.run import Run, RunSummary, check_same_game
from drrn.writing import visible

RUNS = """List the runs in a folder and its subfolders, the last written first: game, model,
rounds, mean final reward after the last round by each policy, and state. running: a process is
training it; finished: all rounds are done; interrupted: drrn train --resume continues it; agent:
an agent without its run; damaged: a file cannot be read."""
COMPARE = """Plot the learning curves of runs of one game, with random play and the best possible
score, and print their scores: mean and standard deviation over seeds (the replicas of a run), and
how much higher each is than the first run's, with a 95 % bootstrap interval over seeds. If the
interval excludes 0, the difference is clear; with five seeds or fewer, treat it as a hint and
train more."""
PUSH = """Upload a run to the Hugging Face Hub as a model repository: weights, words, settings,
scores, and a model card (README.md; your own is uploaded unchanged). Paths of your machine are
removed. Log in first (hf auth login), or set HF_TOKEN."""
PULL = """Download a run that drrn push uploaded to a new folder, for drrn.load, watch, evaluate,
ask and play --agent. Only the files of a run are downloaded, their hashes are checked, and none
of them is executed. The game is not included: it is opened by its name, or given with --game."""
COMPARE_HEADER = ["run", "model", "seeds", "round", "mean", "sd"]


def add_command(commands: Any) -> None:
    command = commands.add_parser("runs", description=RUNS)
    flag = command.add_argument
    flag(
        "folder", type=Path, nargs="?", default=Path("runs"), metavar="FOLDER", help="default: runs"
    )
    flag("--json", action="store_true", help="print the list as JSON")
    command.set_defaults(run=run_list)
    command = commands.add_parser("compare", description=COMPARE)
    flag = command.add_argument
    flag("runs", type=Path, nargs="+", metavar="RUN", help="the first is what others compare with")
    flag("--policy", choices=POLICIES, default="softmax", help="default: softmax")
    measures = ("final_reward", "return")
    flag("--measure", choices=measures, default="final_reward", help="default: final_reward")
    flag("--round", type=positive, metavar="N", help="round to compare (default: each run's last)")
    names = "compare, or the first free of compare-2, compare-3 …"
    flag(
        "--out", type=Path, metavar="NAME", help=f"plot to NAME.svg and NAME.png (default: {names})"
    )
    flag("--no-plot", action="store_true", help="print the table only")
    flag("--json", action="store_true", help="print the table as JSON")
    command.set_defaults(run=run_compare)
    command = commands.add_parser("push", description=PUSH)
    flag = command.add_argument
    flag("folder", type=Path, metavar="RUN", help="the folder of a run")
    flag("repository", metavar="REPO", help="such as yourname/long-watch")
    flag("--private", action="store_true", help="make a new repository private")
    flag("--checkpoint", action="store_true", help="include the checkpoint, for others to resume")
    command.set_defaults(run=run_push)
    command = commands.add_parser("pull", description=PULL)
    flag = command.add_argument
    flag("repository", metavar="REPO", help="such as yourname/long-watch")
    flag("--out", type=Path, metavar="RUN", help="the new folder (default: runs/NAME)")
    flag("--revision", help="a commit, branch or tag (default: the newest)")
    trust = "accept a run that names Python modules, which loading it imports; trust them first"
    flag("--modules", action="store_true", help=trust)
    command.set_defaults(run=run_pull)


def run_list(options: argparse.Namespace) -> None:
    summaries = [run.summary() for run in Run.find(options.folder)]
    if options.json:
        print_json([dataclasses.asdict(each) for each in summaries])
        return
    if not summaries:
        print(f"{options.folder}: no runs; drrn train makes one", file=sys.stderr)
        return
    header = ["run", "game", "model", "seeds", "rounds", *POLICIES, "when", "state"]
    print(table([_cells(each) for each in summaries], header=header))
    for each in summaries:
        if each.fault:
            print(visible(each.fault), file=sys.stderr)


def _cells(run: RunSummary) -> list[object]:
    scores = run.scores or {}
    rounds = None if run.rounds is None else f"{run.rounds_done}/{run.rounds}"
    means = [scores.get(policy) for policy in POLICIES]
    return [run.run, run.game, run.model, run.replicas, rounds, *means, run.when, run.state]


def run_compare(options: argparse.Namespace) -> None:
    paths = [] if options.no_plot else _plot_files(options.out)
    runs = [Run(folder) for folder in options.runs]
    check_same_game(runs)
    column = f"{options.policy}_{options.measure}"
    entries = [_entry(run, runs[0], column, options.round) for run in runs]
    reference = next((scores for run in runs if (scores := run.reference())), None)
    reference = reference or runs[0].computed_reference()
    random, best = reference.of_measure(options.measure) if reference else (None, None)
    if options.json:
        print_json({"measure": column, "random": random, "best": best, "runs": entries})
    else:
        print(_comparison(entries, random, best))
    if len({entry["episodes_played"] for entry in entries}) > 1:
        note = "the runs played different numbers of episodes; compare one round with --round"
        print(note, file=sys.stderr)
    if options.no_plot:
        return
    from drrn.runs.curve import draw_curves

    title = runs[0].config["game"]["title"]
    curves = [(_label(run), run.rounds()) for run in runs]
    try:
        draw_curves(curves, column, title, (random, best), paths)
    except InputError as error:
        print(f"no plot: {visible(str(error))}", file=sys.stderr)
        return
    for path in paths:
        print(path, file=sys.stderr if options.json else sys.stdout)


def _plot_files(name: Path | None) -> list[Path]:
    """Return the files to write, which must not exist."""
    if name is None:
        names = itertools.chain(["compare"], (f"compare-{n}" for n in itertools.count(2)))
        plots = ([Path(f"{each}.{kind}") for kind in ("svg", "png")] for each in names)
        return next(paths for paths in plots if not any(path.exists() for path in paths))
    stem = name.stem if name.suffix in (".svg", ".png") else name.name
    paths = [name.with_name(f"{stem}.{kind}") for kind in ("svg", "png")]
    for path in paths:
        if path.exists():
            raise InputError(f"{path}: already exists; choose another --out, or --no-plot")
    return paths


def _label(run: Run) -> str:
    settings = run.config["settings"]
    return f"{run.folder.name} ({settings['model']}, {settings['replicas']} seeds)"


def _entry(run: Run, first: Run, column: str, number: int | None) -> dict[str, Any]:
    """Return a run's scores, and how it differs from the first run."""
    config = run.config
    scores = run.round(number)
    values = scores.values(column)
    mean, sd = mean_and_sd(values)
    entry = {
        "run": str(run.folder),
        "model": config["settings"]["model"],
        "recipe": config.get("recipe"),
        "seeds": len(values),
        "round": scores.number,
        "episodes_played": scores.episodes_played,
        "mean": mean,
        "sd": sd if len(values) > 1 else None,
        "scores": values,
    }
    if run is not first:
        difference = run.compare(first, column, number)
        entry |= {
            "difference": difference.mean,
            "low": difference.low,
            "high": difference.high,
            "clear": difference.clear,
        }
    return entry


def _comparison(entries: list[dict[str, Any]], random: float | None, best: float | None) -> str:
    rows: list[list[object]] = []
    for entry in entries:
        interval = "one seed" if "difference" in entry else None
        clear = None
        if entry.get("low") is not None:
            interval = f"{entry['low']:.2f} to {entry['high']:.2f}"
            clear = "yes" if entry["clear"] else "no"
        cells = [entry[name] for name in COMPARE_HEADER]
        rows.append([*cells, entry.get("difference"), interval, clear])
    for name, value in (("random play", random), ("best possible", best)):
        rows.append([name, None, None, None, value, None, None, None, None])
    return table(rows, header=[*COMPARE_HEADER, "difference", "95 % interval", "clear"])


def run_push(options: argparse.Namespace) -> None:
    from drrn.runs.hub import push_run

    _check_name(options.repository)
    choices = {"private": options.private, "checkpoint": options.checkpoint}
    print(push_run(options.folder, options.repository, **choices))


def run_pull(options: argparse.Namespace) -> None:
    from drrn.runs.hub import pull_run

    _check_name(options.repository)
    out = options.out or Path("runs") / options.repository.rpartition("/")[2]
    pull_run(options.repository, out, revision=options.revision, modules=options.modules)
    print(f"run: {out}")


def _check_name(repository: str) -> None:
    if not re.fullmatch(r"(?:[\w.-]+/)?[\w.-]+", repository) or ".." in repository:
        raise InputError(f'"{repository[:60]}" is not a repository name like yourname/long-watch')
