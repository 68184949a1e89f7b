"""`drrn compare RUN…`: learning curves of runs together, and how far their scores differ."""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.show import POLICIES, positive, table
from drrn.errors import InputError
from drrn.writing import visible, visible_json

if TYPE_CHECKING:
    from drrn.runs.comparison import ComparedRun
    from drrn.runs.reference_scores import ReferenceScores

DESCRIPTION = """Draw the learning curves of runs of one game together, with random play and the best possible, and
print their scores: mean and standard deviation over seeds (a run's replicas are its seeds), and how much higher each
is than the first run's, with a 95 % interval by bootstrap over seeds. An interval that leaves out 0 is a clear
difference; with five seeds or fewer take it as a hint, and train more."""


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "compare", help="draw runs together, and test how they differ", description=DESCRIPTION
    )
    command.add_argument(
        "runs",
        type=Path,
        nargs="+",
        metavar="RUN",
        help="folders of runs; the first is compared to",
    )
    command.add_argument(
        "--policy",
        choices=POLICIES,
        default="softmax",
        help="whose scores are compared (default: softmax)",
    )
    command.add_argument(
        "--measure",
        choices=("final_reward", "return"),
        default="final_reward",
        help="(default: final_reward)",
    )
    command.add_argument(
        "--round",
        type=positive,
        metavar="N",
        help="compare after this round (default: the last of each run)",
    )
    command.add_argument(
        "--out", type=Path, metavar="NAME",
        help="draw to NAME.svg and NAME.png (default: compare, or the first of compare-2, compare-3 … that is free)",
    )  # fmt: skip
    command.add_argument("--no-plot", action="store_true", help="draw nothing")
    command.add_argument("--json", action="store_true", help="print the table as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from drrn.runs.comparison import open_runs, references_of

    paths = (
        []
        if options.no_plot
        else _new_files(options.out)
        if options.out
        else _free_files("compare")
    )
    runs = open_runs(options.runs)
    measure = f"{options.policy}_{options.measure}"
    rows = _rows(runs, measure, options.round)
    scores = references_of(options.runs)
    random, best = _references(scores, options.measure)
    if options.json:
        told = {"measure": measure, "random": random, "best": best, "runs": rows}
        print(visible_json(json.dumps(told, ensure_ascii=False)))
    else:
        print(_told(rows, random, best))
    if len({row["episodes_played"] for row in rows}) > 1:
        print(
            "the runs played different numbers of episodes: --round compares them after one round",
            file=sys.stderr,
        )
    if not options.no_plot:
        _draw(runs, measure, (random, best), paths, to=sys.stderr if options.json else sys.stdout)


def _new_files(name: Path) -> list[Path]:
    """The files to draw to, none of which may exist."""
    name = name.with_suffix("") if name.suffix in (".svg", ".png") else name
    paths = _drawings(name)
    for path in paths:
        if path.exists():
            raise InputError(
                f"{path}: it exists and is left as it is: give another name by --out, or --no-plot"
            )
    return paths


def _free_files(name: str) -> list[Path]:
    """The files to draw to where none were named: NAME, or else the first of NAME-2, NAME-3 … that is free."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    drawings = (_drawings(Path(each)) for each in names)
    return next(paths for paths in drawings if not any(path.exists() for path in paths))


def _drawings(name: Path) -> list[Path]:
    return [name.with_name(f"{name.name}.{kind}") for kind in ("svg", "png")]


def _rows(runs: list[ComparedRun], measure: str, number: int | None) -> list[dict[str, Any]]:
    """Each run's scores, and how it differs from the first."""
    from drrn.runs.comparison import difference_of

    rows: list[dict[str, Any]] = []
    first: list[float] = []
    for each in runs:
        at = number or each.rounds
        settings = each.config["settings"]
        if at > each.rounds:
            raise InputError(
                f"{each.run}: it has finished {each.rounds} rounds, so there is no round {at}"
            )
        scores = each.scores(measure, at)
        row = {
            "run": each.run,
            "model": settings["model"],
            "recipe": each.config.get("recipe"),
            "seeds": len(scores),
            "round": at,
            "episodes_played": at * each.episodes_per_round,
            "mean": statistics.fmean(scores),
            "sd": statistics.stdev(scores) if len(scores) > 1 else None,
            "scores": scores,
        }
        if rows:
            found = difference_of(first, scores)
            row |= {
                "difference": found.mean,
                "low": found.low,
                "high": found.high,
                "clear": found.clear,
            }
        else:
            first = scores
        rows.append(row)
    return rows


def _references(scores: ReferenceScores | None, measure: str) -> tuple[float | None, float | None]:
    if scores is None:
        return None, None
    if measure == "return":
        random = scores.random if scores.random_return is None else scores.random_return
        return random, scores.best_return if scores.random_return is not None else scores.best
    return scores.random, scores.best


def _told(rows: list[dict[str, Any]], random: float | None, best: float | None) -> str:
    header = [
        "run",
        "model",
        "seeds",
        "round",
        "mean",
        "sd",
        "difference",
        "95 % interval",
        "clear",
    ]
    cells = [[*(row[name] for name in header[:6]), *_difference(row)] for row in rows]
    for name, value in (("random play", random), ("best possible", best)):
        cells.append([name, None, None, None, value, None, None, None, None])
    return table(cells, header=header)


def _difference(row: dict[str, Any]) -> list[object]:
    if row.get("low") is None:
        why = "one seed" if "difference" in row else None
        return [row.get("difference"), why, None]
    return [
        row["difference"],
        f"{row['low']:.2f} to {row['high']:.2f}",
        "yes" if row["clear"] else "no",
    ]


def _draw(
    runs: list[ComparedRun],
    measure: str,
    known: tuple[float | None, float | None],
    paths: list[Path],
    to: Any,
) -> None:
    from drrn.runs.curve import draw_curves

    try:
        draw_curves([(each.label, each.rows, each.episodes_per_round) for each in runs], measure,
                    runs[0].config["game"]["title"], known, paths)  # fmt: skip
    except InputError as error:
        print(f"no curve was drawn: {visible(str(error))}", file=sys.stderr)
        return
    for path in paths:
        print(path, file=to)
