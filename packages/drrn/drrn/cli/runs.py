"""`drrn runs` and `compare`: list and compare runs."""

import argparse
import sys
from dataclasses import replace
from typing import Any

from drrn.runs.run import Run
from drrn.runs.scores import curves_svg
from drrn.settings import POLICIES
from textgames import terminal
from textgames.document import Document, Table, to_latex, to_text
from textgames.errors import InputError
from textgames.game.episodes import mean_and_sd
from textgames.notebook import Picture
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
    path = options.out.with_suffix(".svg") if options.out else None
    if path and path.exists():
        raise InputError(f"{path}: already exists; choose another --out")
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
    if path:
        title = f"{runs[0].config['game']['title']}: {_measure_text(options)}"
        curves = [(_label(run), run.rounds(), column) for run in runs]
        svg = curves_svg(title, curves, reference, options.measure)
        Picture(svg or "", title).save(path)
        print(path, file=sys.stderr if options.json else sys.stdout)


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
