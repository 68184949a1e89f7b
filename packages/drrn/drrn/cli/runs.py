"""`drrn runs`, `compare`, `push` and `pull`: list, compare and share runs."""

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from drrn.runs.config import modules_in
from drrn.runs.curve import draw_curves
from drrn.runs.run import Run
from drrn.settings import POLICIES
from textgames import terminal
from textgames.document import Document, Table, to_latex, to_text
from textgames.errors import InputError
from textgames.game.episodes import mean_and_sd
from textgames.terminal import grid, print_json, warn
from textgames.wording import counted

COMPARED = ["run", "model", "seeds", "round", "mean", "sd"]


def run_list(options: argparse.Namespace) -> None:
    summaries = [run.summary() for run in Run.find(options.folder)]
    if options.json:
        print_json(summaries)
        return
    if not summaries:
        warn(f"{options.folder}: no runs here; start one with drrn train GAME")
        return
    header = ["run", "game", "model", "replicas", "rounds", *POLICIES, "when", "state"]
    print(terminal.table([_cells(each) for each in summaries], header=header))
    for each in summaries:
        if each["fault"]:
            warn(each["fault"])


def _cells(run: dict[str, Any]) -> list[object]:
    scores = run["scores"] or {}
    rounds = None if run["rounds"] is None else f"{run['rounds_done']}/{run['rounds']}"
    facts = [run[name] for name in ("run", "game", "model", "replicas")]
    return [*facts, rounds, *map(scores.get, POLICIES), run["when"], run["state"]]


def run_compare(options: argparse.Namespace) -> None:
    paths = _plot_files(options.out) if options.out else []
    runs = [Run(folder) for folder in options.runs]
    if options.measure is None:
        pays = any(run.measure == "return" for run in runs)
        options.measure = "return" if pays else "final_reward"
    column = f"{options.policy}_{options.measure}"
    if len({run.config["game"]["sha256"] for run in runs}) > 1:
        raise InputError("these are runs of several games; name runs of one game")
    entries = [_entry(run, runs[0], column, options.round) for run in runs]
    reference = next((scores for run in runs if (scores := run.reference())), None)
    random, best = reference.of_measure(options.measure) if reference else (None, None)
    if options.json:
        print_json({"measure": column, "random": random, "best": best, "runs": entries})
    else:
        caption = _measure_text(options).capitalize()
        table = replace(_comparison(entries, random, best), caption=caption)
        wide = to_text(Document("", [table]), width=sys.maxsize)
        print((to_latex(table) if options.latex else wide).rstrip("\n"))
    if len({entry["episodes_played"] for entry in entries}) > 1:
        warn("the runs played different numbers of episodes; compare one round with --round")
    if paths:
        title = runs[0].config["game"]["title"]
        curves = [(_label(run), run.rounds(), column) for run in runs]
        references = {"random play": random, "best possible": best}
        draw_curves(curves, references, _measure_text(options), title, paths)
    for path in paths:
        print(path, file=sys.stderr if options.json else sys.stdout)


def _plot_files(name: Path) -> list[Path]:
    """The files to write, which must not exist."""
    stem = name.stem if name.suffix in (".svg", ".png") else name.name
    paths = [name.with_name(f"{stem}.{kind}") for kind in ("svg", "png")]
    for path in paths:
        if path.exists():
            raise InputError(f"{path}: already exists; choose another --out")
    return paths


def _label(run: Run) -> str:
    settings = run.config["settings"]
    replicas = counted(settings["replicas"], "replica")
    return f"{run.folder.name} ({settings['model']}, {replicas})"


def _entry(run: Run, first: Run, column: str, number: int | None) -> dict[str, Any]:
    """A run's scores, and how it differs from the first run."""
    difference = run.compare(first, column, number)
    config = run.config
    scores = run.round(number)
    values = scores.values(column)
    mean, sd = mean_and_sd(values)
    return {
        "run": str(run.folder),
        "model": config["settings"]["model"],
        "recipe": config.get("recipe"),
        "seeds": len(values),
        "round": scores.number,
        "episodes_played": scores.episodes_played,
        "mean": mean,
        "sd": sd if len(values) > 1 else None,
        "scores": values,
        **(difference if run is not first else {}),
    }


def _comparison(entries: list[dict[str, Any]], random: float | None, best: float | None) -> Table:
    rows: list[list[object]] = []
    for entry in entries:
        interval = "one replica" if "difference" in entry else None
        clear = None
        if entry.get("low") is not None:
            interval = f"{entry['low']:.2f} to {entry['high']:.2f}"
            clear = "yes" if entry["clear"] else "no"
        cells = [entry[name] for name in COMPARED]
        rows.append([*cells, entry.get("difference"), interval, clear])
    for name, value in (("random play", random), ("best possible", best)):
        rows.append([name, None, None, None, value, None, None, None, None])
    header = [name.replace("seeds", "replicas") for name in COMPARED]
    return grid(rows, [*header, "difference", "95 % interval", "clear"])


def _measure_text(options: argparse.Namespace) -> str:
    return f"mean {options.measure.replace('_', ' ')}, policy {options.policy}"


def run_push(options: argparse.Namespace) -> None:
    from drrn.runs.hub import push_run

    _check_name(options.repository)
    choices = {"private": options.private, "checkpoint": options.checkpoint}
    print(push_run(options.folder, options.repository, **choices))


def run_pull(options: argparse.Namespace) -> None:
    from drrn.runs.hub import pull_run

    _check_name(options.repository)
    out = options.out or Path("runs") / options.repository.rpartition("/")[2]
    pull_run(options.repository, out, revision=options.revision)
    print(f"run: {out}")
    if names := modules_in(Run(out).config).values():
        warn(
            f"{out}: it names Python code ({', '.join(names)}), which needs --trust to be imported"
        )


def _check_name(repository: str) -> None:
    if not re.fullmatch(r"(?:[\w.-]+/)?[\w.-]+", repository) or ".." in repository:
        raise InputError(f'"{repository[:60]}" is not a repository name like yourname/long-watch')
