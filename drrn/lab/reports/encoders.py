"""Encoders compared on the paper's games: tables, curves, and whether the paper's remark holds."""

from __future__ import annotations

from collections.abc import Sequence

from drrn.document import MISSING, Block, Cell, Table
from drrn.lab.experiments.plan import BAG_VECTORS, BEST, ENCODERS, LSTM, Added, Variant
from drrn.lab.reports.figures import Plot, plot
from drrn.lab.reports.result_set import Measured, ResultSet, decimal, spread

BAG = "bag of words, the paper's"
SAID = "DRRN of two layers of 100 units and the paper's settings; only the encoder differs, on both sides."
REMARK = (
    "The paper, of preliminary experiments with Machine of Death: “we did not find LSTMs to give improved performance, "
    "but we conjecture that they would be useful in larger-scale tasks, or when the word embeddings are initialized by "
    "training on large data sets.”"
)


def encoder_blocks(results: ResultSet, games: Sequence[str]) -> list[Block]:
    """The tables and the figure; none where there are no rows yet."""
    read = [game for game in games if any((game, job.name) in results.jobs for job in ENCODERS)]
    if not read:
        return []
    verdicts = [sentence for game in read for sentence in encoder_verdicts(results, game)]
    return [
        REMARK,
        *verdicts,
        *(encoder_table(results, game) for game in read),
        *_figure(results, read),
    ]


def encoder_table(results: ResultSet, game: str) -> Table:
    """A line for each encoder: final rewards as they are and with paraphrased actions, and the time that it took."""
    paraphrased = results.fact(game, "paraphrases") is not None
    header = [
        "Encoder",
        "final reward",
        "by greedy choice",
        *["paraphrased", "greedy, paraphrased"] * paraphrased,
    ]
    jobs = _jobs(results, game)
    top = max(m.mean for job in jobs if (m := results.final(game, job)))
    rows = []
    for job in jobs:
        ours = results.final(game, job)
        row: list[Cell | str] = [
            _says(job),
            Cell(spread(ours), ours is not None and ours.mean == top),
        ]
        row.append(spread(results.final(game, job, policy="greedy")))
        if paraphrased:
            row += [
                spread(results.final(game, job, policy=policy, paraphrased=True))
                for policy in ("softmax", "greedy")
            ]
        rows.append([*row, minutes_of(results, game, job)])
    return Table(f"Encoders on {results.title(game)}", [*header, "minutes"], rows, [SAID])


def encoder_verdicts(results: ResultSet, game: str) -> list[str]:
    """Whether an LSTM, and word vectors beside the bag, score more than the bag does, in a sentence each."""
    told = []
    for job, remark in ((LSTM, "The remark holds here"), (BAG_VECTORS, "")):
        ours = results.final(game, job)
        bag = results.final(game, BEST)
        if ours is None or bag is None:
            continue
        beside = f"{results.title(game)}: {job.label} {spread(ours)}, {BAG.partition(',')[0]} {spread(bag)}"
        holds = f" {remark}: it does not give more." if remark else ""
        told.append(f"{beside}: {_compared(ours, bag)}.{holds if not _ahead(ours, bag) else ''}")
        if remark and _ahead(ours, bag):
            told[-1] += " The remark does not hold here."
        others = [results.final(game, each, paraphrased=True) for each in (job, BEST)]
        if others[0] and others[1]:
            told[-1] += f" With paraphrased actions {spread(others[0])} and {spread(others[1])}: "
            told[-1] += f"{_compared(others[0], others[1])}."
    return told


def minutes_of(results: ResultSet, game: str, job: Variant) -> str:
    """How long a job took, all seeds together, and where it was computed if not on the CPU."""
    record = results.record(game, job)
    if not record:
        return MISSING
    device = str(record.get("device", "cpu"))
    return decimal(record["seconds"]["whole"] / 60) + f" ({device})" * (device != "cpu")


def _ahead(ours: Measured, other: Measured) -> bool:
    return ours.mean > other.mean and ours.differs(other)


def _compared(ours: Measured, other: Measured) -> str:
    """In words, by the rule of all tables: a difference counts from twice the joint standard deviation on."""
    by = decimal(abs(ours.mean - other.mean))
    if ours.sd is None or other.sd is None:
        return f"{'more' if ours.mean > other.mean else 'less'} by {by}, of one seed"
    if not ours.differs(other):
        return f"apart by {by}, within twice the joint deviation"
    return f"{'more' if ours.mean > other.mean else 'less'} by {by}"


def _jobs(results: ResultSet, game: str) -> list[Variant]:
    return [job for job in (BEST, *ENCODERS) if (game, job.name) in results.jobs]


def _says(job: Variant) -> str:
    return job.label if isinstance(job, Added) else BAG


def _figure(results: ResultSet, games: Sequence[str]) -> list[Plot]:
    """Learning curves of all encoders, a panel for each game."""
    panels = [
        {
            "title": results.title(game),
            "lines": [
                curve_line(_says(job), job.name, results.curve(game, job))
                for job in _jobs(results, game)
                if results.curve(game, job)
            ],
            "random": results.fact(game, "random_final_reward"),
            "best": results.fact(game, "best_final_reward"),
            "rest": None,
        }
        for game in games
    ]
    caption = "Learning curves of DRRN with each encoder, by softmax; bars are standard deviations."
    return [plot("encoders", caption, "panels", {"panels": panels})]


def curve_line(
    label: str, style: str, points: Sequence[tuple[int, float, float]]
) -> dict[str, object]:
    """A line of a figure of learning curves."""
    return {
        "label": label,
        "style": style,
        "points": [[x, round(m, 4), round(s, 4)] for x, m, s in points],
    }
