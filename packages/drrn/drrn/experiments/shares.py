"""The table of `drrn diagnose`: normalised scores of agents by game."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from drrn.experiments.agents import AGENTS
from drrn.experiments.results import Row
from textgames.diagnostics import DIAGNOSTICS
from textgames.document import MISSING, Cell, Table, literal

Game = tuple[str, int, str]  # name, level, variant
Shares = dict[Game, list[float | None]]  # of each agent: 0 is random play, 1 the optimum


def shares_of(rows: Iterable[Row]) -> tuple[list[str], Shares]:
    """The agents, and their mean shares over seeds."""
    values: dict[Game, dict[str, list[float]]] = {}
    names: dict[str, None] = {}
    for row in rows:
        game = (row["game"], row["level"], row["variant"])
        values.setdefault(game, {}).setdefault(row["agent"], []).append(row["share"])
        names[row["agent"]] = None
    agents = sorted(names, key=[*AGENTS, *names].index)
    shares: Shares = {}
    for game in sorted(values, key=lambda g: (g[2] != "train", [*DIAGNOSTICS].index(g[0]), g[1])):
        own = {agent: round(fmean(each), 4) for agent, each in values[game].items()}
        shares[game] = [own.get(agent) for agent in agents]
    return agents, shares


def share_table(agents: Sequence[str], shares: Shares, solved: float = 0.95) -> Table:
    """The table of shares, in which a dagger marks those below `solved`."""
    rows: list[list[Cell | str]] = []
    for game, values in shares.items():
        cells = [
            MISSING if share is None else Cell(_percent(share), mark="†" * (share < solved))
            for share in values
        ]
        rows.append([label_of(game), f"{game[0]}/{game[1]}", *cells])
    counts: list[Cell | str] = []
    for column in zip(*shares.values(), strict=True):
        known = [share for share in column if share is not None]
        counts.append(f"{sum(share >= solved for share in known)} of {len(known)}")
    rows.append([f"at least {_percent(solved)}", "", *counts])
    header = ["Capability", "Game", *map(literal, agents)]
    note = f"† below {_percent(solved)} of the way from random play to the optimum."
    return Table("", header, rows, [note], "ll" + "r" * len(agents))


def label_of(game: Game) -> str:
    return DIAGNOSTICS[game[0]].capability + (", held out" if game[2] != "train" else "")


def _percent(share: float) -> str:
    return f"{round(100 * share) + 0:,} %"
