"""The figure and the table of diagnostics: shares of the way from random play to the optimum."""

from collections.abc import Collection, Iterable, Sequence
from statistics import fmean

from lab.experiments import plan
from lab.experiments.results import Row
from lab.reports.figures import Plot, plot
from lab.reports.result_set import percent
from textgames.diagnostics import DIAGNOSTICS
from textgames.document import MISSING, Block, Cell, Table, literal

Game = tuple[str, int, str]  # name, level, variant


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
    names = list(dict.fromkeys(row["agent"] for row in rows))
    agents = sorted(names, key=[*plan.AGENTS, *names].index)
    values: dict[Game, dict[str, list[float]]] = {}
    for row in rows:
        game = (row["game"], row["level"], row["variant"])
        values.setdefault(game, {}).setdefault(row["agent"], []).append(row["share"])
    shares: dict[Game, list[float | None]] = {}
    for game in sorted(values, key=lambda g: (g[2] != "train", [*DIAGNOSTICS].index(g[0]), g[1])):
        own = {agent: round(fmean(each), 4) for agent, each in values[game].items()}
        shares[game] = [own.get(agent) for agent in agents]
    columns = zip(*shares.values(), strict=True)
    lines = [{"label": agent, "points": next(columns)} for agent in agents]
    caption = (
        "Diagnostics: normalised score of each agent, from random play (inner circle) to the "
        "optimum (outer circle)."
    )
    data = {"labels": [*map(label_of, shares)], "lines": lines}
    return plot("diagnostics", caption, "radar", data), share_table(agents, shares)


def share_table(
    agents: Sequence[str], shares: dict[Game, list[float | None]], solved: float = 0.95
) -> Table:
    """The table of shares, in which a dagger marks those below `solved`."""
    rows: list[list[Cell | str]] = []
    for game, values in shares.items():
        cells = [
            MISSING if share is None else Cell(percent(share, 0), mark="†" * (share < solved))
            for share in values
        ]
        rows.append([label_of(game), f"{game[0]}/{game[1]}", *cells])
    counts: list[Cell | str] = []
    for column in zip(*shares.values(), strict=True):
        known = [share for share in column if share is not None]
        counts.append(f"{sum(share >= solved for share in known)} of {len(known)}")
    rows.append([f"at least {percent(solved, 0)}", "", *counts])
    header = ["Capability", "Game", *map(literal, agents)]
    note = f"† below {percent(solved, 0)} of the way from random play to the optimum."
    return Table("", header, rows, [note], "ll" + "r" * len(agents))


def label_of(game: Game) -> str:
    return DIAGNOSTICS[game[0]].capability + (", held out" if game[2] != "train" else "")
