"""`drrn runs` and `compare`: list and compare runs."""

import argparse
import csv
import statistics
import sys
from dataclasses import replace
from typing import Any

from drrn.runs.run import SUMMARY, Run
from drrn.runs.scores import curves_svg
from drrn.settings import POLICIES
from textgames.document import Document, Table, to_latex, to_text
from textgames.errors import InputError
from textgames.game.episodes import mean_and_sd
from textgames.notebook import Picture
from textgames.terminal import grid, print_json, table, warn
from textgames.wording import counted

COMPARED = ["run", "model", "seeds", "round", "mean", "sd"]


def run_list(options: argparse.Namespace) -> None:
    summaries = [run.summary() for run in Run.find(options.folder)]
    if options.json:
        print_json(summaries)
        return
    if options.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        names = [name for name in SUMMARY if name not in ("scores", "fault")]
        writer.writerow([*names, *POLICIES])
        for each in summaries:
            scores = each["scores"] or {}
            values = [each[name] for name in names]
            writer.writerow([*values, *map(scores.get, POLICIES)])
        return
    if not summaries:
        warn(f"{options.folder}: no runs here; start one with drrn train GAME")
        return
    header = ["run", "game", "model", "replicas", "rounds", *POLICIES, "when", "state"]
    print(table([_cells(each) for each in summaries], header=header))
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
        _compare_games(runs, options, column)
        return
    entries = [_entry(run, runs[0], column, options.round) for run in runs]
    reference = next((scores for run in runs if (scores := run.reference())), None)
    random, best = reference.of_measure(options.measure) if reference else (None, None)
    if options.json:
        print_json({"measure": column, "random": random, "best": best, "runs": entries})
    else:
        _print(_comparison(entries, random, best), options)
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


def _print(block: Table, options: argparse.Namespace) -> None:
    titled = replace(block, caption=_measure_text(options).capitalize())
    wide = Document("", [titled])
    text = to_latex(titled) if options.latex else to_text(wide, width=sys.maxsize)
    print(text.rstrip("\n"))


# --- runs of several games


def _compare_games(runs: list[Run], options: argparse.Namespace, column: str) -> None:
    """Print means with 95 % intervals, normalised scores, and the interquartile means of these."""
    from drrn.runs.intervals import interquartile_interval

    if options.out:
        raise InputError("--out plots runs of one game; leave it out, or name runs of one game")
    runs = list({run.folder.resolve(): run for run in runs}.values())
    entries = [_game_entry(run, column, options) for run in runs]
    agents = _pooled_scores(runs, entries)
    means = {agent: interquartile_interval(list(games.values())) for agent, games in agents.items()}
    if options.json:
        summary = {a: {"mean": m, "low": i[0], "high": i[1]} for a, (m, i) in means.items()}
        print_json({"measure": column, "runs": entries, "interquartile_mean": summary})
        return
    rows: list[list[object]] = []
    for entry in entries:
        share = statistics.fmean(entry["normalised"]) if entry["normalised"] else None
        cells = [entry[name] for name in ("run", "game", "agent", "seeds", "mean")]
        rows.append([*cells, _range_text(entry["interval"]), share])
    for agent, (mean, interval) in means.items():
        games = counted(len(agents[agent]), "game")
        rows.append(["interquartile mean", games, agent, None, mean, _range_text(interval), mean])
    header = ["run", "game", "agent", "replicas", "mean", "95 % interval", "normalised"]
    _print(grid(rows, header), options)


def _pooled_scores(
    runs: list[Run], entries: list[dict[str, Any]]
) -> dict[str, dict[str, list[float]]]:
    """The normalised scores of each agent, by game. Runs of one game are pooled."""
    agents: dict[str, dict[str, list[float]]] = {}
    first_runs: dict[tuple[str, str], Run] = {}
    for run, entry in zip(runs, entries, strict=True):
        if not entry["normalised"]:
            continue
        agent, game = entry["agent"], run.config["game"]["sha256"]
        agents.setdefault(agent, {}).setdefault(game, []).extend(entry["normalised"])
        first = first_runs.setdefault((agent, game), run)
        if {**run.config["settings"], "seed": 0} != {**first.config["settings"], "seed": 0}:
            warn(f"{run.folder} and {first.folder} are pooled, but have different settings")
    return agents


def _game_entry(run: Run, column: str, options: argparse.Namespace) -> dict[str, Any]:
    from drrn.runs.intervals import interval_of_mean, normalised

    config = run.config
    values = run.round(options.round).values(column)
    reference = run.reference()
    random, best = reference.of_measure(options.measure) if reference else (None, None)
    scores = None
    if random is not None and best is not None:
        scores = [normalised(value, random, best) for value in values]
    return {
        "run": str(run.folder),
        "game": config["game"]["title"],
        "agent": f"{config['settings']['model']} ({config.get('recipe') or 'own settings'})",
        "seeds": len(values),
        "mean": statistics.fmean(values),
        "interval": interval_of_mean(values),
        "normalised": scores,
    }


def _range_text(interval: tuple[float, float] | None) -> str | None:
    return f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else None
