"""The figure and the table of diagnostics: shares of the way from random play to the optimum."""

from collections.abc import Collection, Iterable, Sequence

from drrn.experiments.shares import label_of, share_table, shares_of
from lab.experiments import plan
from lab.experiments.results import Row
from lab.reports.figures import Plot, plot
from textgames.document import Block, Table


def published_rows(rows: Iterable[Row], agents: Collection[str]) -> list[Row]:
    """The last row of each game, agent and seed, at the published level."""
    keys = ("game", "variant", "agent", "seed")
    rows = [row for row in rows if row["level"] == plan.LEVEL and row["agent"] in agents]
    return list({tuple(row[key] for key in keys): row for row in rows}.values())


def diagnostics_blocks(rows: Iterable[Row]) -> list[Block]:
    """The published figure and table."""
    published = published_rows(rows, plan.AGENTS)
    return list(blocks_of(published)) if published else []


def blocks_of(rows: Sequence[Row]) -> tuple[Plot, Table]:
    """The figure and the table of games by agents, with means over seeds."""
    agents, shares = shares_of(rows)
    columns = zip(*shares.values(), strict=True)
    lines = [{"label": agent, "points": next(columns)} for agent in agents]
    caption = (
        "Diagnostics: normalised score of each agent, from random play (inner circle) to the "
        "optimum (outer circle)."
    )
    data = {"labels": [*map(label_of, shares)], "lines": lines}
    return plot("diagnostics", caption, "radar", data), share_table(agents, shares)
