"""What the rows say of the paper's findings, in sentences."""

from __future__ import annotations

from drrn.lab.experiments.plan import GRID, LAYERED, LINEAR, SIZES, TABLE, Variant
from drrn.lab.reports import paper
from drrn.lab.reports.result_set import Measured, ResultSet, comma_list, decimal

LABELS = {
    "linear": "Linear",
    "per-action": "PA DQN",
    "max-action": "MA DQN",
    "drrn": "DRRN",
    "table": "Look-up table",
}

FIXED_POINT = (
    "Fixed point of Q-learning: the softmax score if each pair of text and action has a Q of its own, and each Q is "
    "the mean of its targets. A learner need not reach it: docs/training.md."
)


def label(variant: Variant) -> str:
    """A model's name as the paper writes it: DRRN (L = 2)."""
    options = [f"L = {variant.layers}"] if variant.layers else []
    options += [variant.interaction] * (variant.interaction != "inner")
    options += ["shared embeddings"] * variant.shared
    options += [f"{variant.n_steps}-step targets"] * (variant.n_steps > 1)
    return LABELS[variant.model] + (f" ({', '.join(options)})" if options else "")


def off(ours: Measured | None, theirs: paper.Reported | None) -> bool:
    """Whether ours differs from the paper's by more than twice the joint standard deviation."""
    return ours is not None and theirs is not None and ours.differs(Measured(*theirs))


def ahead(results: ResultSet, game: str, *, paraphrased: bool = False) -> list[str]:
    """Whether DRRN is ahead of all baselines in each column."""
    layers = (2,) if paraphrased else (1, 2)
    won = []
    lost = []
    for size in SIZES:
        scored = {}
        for variant in [LINEAR] * (not paraphrased) + [
            Variant(m, n, size) for m in LAYERED for n in layers
        ]:
            found = results.final(game, variant, paraphrased=paraphrased)
            if found is None:
                break
            scored[variant] = found.mean
        else:
            mine = max((v for v in scored if v.model == "drrn"), key=scored.__getitem__)
            other = max((v for v in scored if v.model != "drrn"), key=scored.__getitem__)
            if scored[mine] > scored[other]:
                won.append(f"{size} units (by {decimal(scored[mine] - scored[other])})")
            else:
                lost.append(
                    f"{size} units ({label(other)} is, by {decimal(scored[other] - scored[mine])})"
                )
    if not won and not lost:
        return []
    said = (
        f"DRRN is ahead of every baseline with {comma_list(won)}"
        if won
        else "DRRN is ahead nowhere"
    )
    return [f"{said}; not with {comma_list(lost)}." if lost else f"{said}."]


def deeper(results: ResultSet, game: str) -> list[str]:
    """Whether two layers beat one, for each model and size; and in the paper's own table."""
    ours = {
        v.name: m.mean for model in LAYERED for v in _both(model) if (m := results.final(game, v))
    }
    compared, not_so = _compared(ours)
    if not compared:
        return []
    said = f"Two layers beat one in {compared - len(not_so)} of {compared} comparisons"
    if not_so:
        said += f"; not for {comma_list(not_so)}"
    reported = {name: mean for name, (mean, _) in paper.SCORES.get(game, {}).items()}
    theirs, theirs_not = _compared(reported)
    return [
        said
        + (f" (in the paper's table: {theirs - len(theirs_not)} of {theirs})." if theirs else ".")
    ]


def control(results: ResultSet, game: str) -> list[str]:
    """Whether the look-up table, which understands nothing, beats every model."""
    table = results.final(game, TABLE)
    scored = {v: m.mean for v in GRID if (m := results.final(game, v))}
    if table is None or not scored or table.mean <= max(scored.values()):
        return []
    best = max(scored, key=scored.__getitem__)
    named = label(best) + (f" at {best.hidden}" if best.hidden else "")
    by = decimal(table.mean - scored[best])
    return [
        f"The control, a look-up table, is ahead of every model (of {named} by {by}): "
        "where all texts are known beforehand, nothing need be understood."
    ]


def _both(model: str) -> list[Variant]:
    return [Variant(model, layers, size) for layers in (1, 2) for size in SIZES]


def _compared(means: dict[str, float]) -> tuple[int, list[str]]:
    """How many pairs there are, and those where the deeper one is not ahead."""
    compared = 0
    not_so = []
    for model in LAYERED:
        for size in SIZES:
            one, two = (means.get(Variant(model, layers, size).name) for layers in (1, 2))
            if one is not None and two is not None:
                compared += 1
                if two <= one:
                    not_so.append(f"{LABELS[model]} at {size}")
    return compared, not_so
