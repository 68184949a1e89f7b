"""The report on the diagnostics: shares of the way from random play to the optimum, by agent."""

from collections.abc import Collection, Sequence
from statistics import fmean

from drrn.diagnostics import DIAGNOSTICS
from drrn.document import MISSING, Block, Cell, Table, literal, markdown_block
from drrn.lab.experiments.plan import AGENTS, LEVEL
from drrn.lab.experiments.results import Row
from drrn.lab.reports.figures import Plot, plot
from drrn.lab.reports.result_set import ResultSet, percent
from drrn.lab.reports.texts import PROSE

SOLVED = 0.95  # of the way

Game = tuple[str, int, str]  # name, level, variant


def blocks_of(rows: Sequence[Row]) -> tuple[str, Plot, Table]:
    """Return a text, the figure and the table of games by agents, with means over seeds."""
    names = list(dict.fromkeys(row["agent"] for row in rows))
    agents = sorted(names, key=[*AGENTS, *names].index)
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
    figure = plot(
        "diagnostics", PROSE["radar"], "radar", {"labels": [*map(label_of, shares)], "lines": lines}
    )
    return PROSE["diagnostics"], figure, share_table(agents, shares)


def share_table(agents: Sequence[str], shares: dict[Game, list[float | None]]) -> Table:
    """Return the table of shares; a dagger marks those below 95 %."""
    rows: list[list[Cell | str]] = []
    for game, values in shares.items():
        cells = [
            MISSING if share is None else Cell(percent(share, 0), mark="†" * (share < SOLVED))
            for share in values
        ]
        rows.append([label_of(game), f"{game[0]}/{game[1]}", *cells])
    counts: list[Cell | str] = []
    for column in zip(*shares.values(), strict=True):
        known = [share for share in column if share is not None]
        counts.append(f"{sum(share >= SOLVED for share in known)} of {len(known)}")
    rows.append([f"at least {percent(SOLVED, 0)}", "", *counts])
    header = ["Capability", "Game", *map(literal, agents)]
    return Table("", header, rows, [PROSE["shares"]], "ll" + "r" * len(agents))


def label_of(game: Game) -> str:
    return DIAGNOSTICS[game[0]].capability + (", held out" if game[2] != "train" else "")


def diagnostics_section(results: ResultSet) -> list[Block]:
    """Return the published figure and table."""
    rows = published_rows(results, AGENTS)
    return list(blocks_of(rows)) if rows else []


def published_rows(results: ResultSet, agents: Collection[str]) -> list[Row]:
    """Return the last row of each game, agent and seed, at the published level."""
    keys = ("game", "variant", "agent", "seed")
    rows = [row for row in results.diagnostics if row["level"] == LEVEL and row["agent"] in agents]
    return list({tuple(row[key] for key in keys): row for row in rows}.values())


def diagnostics_block(results: ResultSet) -> str:
    """Return the published figure and table as Markdown, for docs/diagnostics.md."""
    blocks = diagnostics_section(results) or [PROSE["no_diagnostics"]]
    text = "\n\n".join(map(markdown_block, blocks))
    return text.replace("](figures/", "](../results/figures/")
