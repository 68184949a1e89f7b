"""Parser games: quests done and returns of each agent, beside what was published, and whether "on par" holds."""

from __future__ import annotations

from collections.abc import Sequence

from drrn.document import MISSING, Block, Cell, Table
from drrn.lab.experiments.plan import BOW_DQN, DRRN_BAG, DRRN_LSTM, LSTM_DQN, PARSERS, Added
from drrn.lab.experiments.results import Row
from drrn.lab.reports.encoders import curve_line, minutes_of
from drrn.lab.reports.figures import Plot, plot
from drrn.lab.reports.result_set import Measured, ResultSet, decimal, measured, spread

REMARK = (
    "The paper, of preliminary experiments with the parser game of Narasimhan et al. (2015): “the DRRN using a "
    "bag-of-words (BOW) input achieves results on par with their BOW DQN.”"
)
PUBLISHED = {
    "home-world": {LSTM_DQN.name: "100 %", BOW_DQN.name: "about 46 %, inferred"}
}  # share of quests done
# The best that a reader of bags can do by one command for each page, exactly (docs/worlds.md): share of quests, return.
BAG_REACHES = {"home-world": (0.979, 0.935), "comet-house": (0.49, 5.95)}
NEARLY_ALL = 0.99


def parser_blocks(results: ResultSet, games: Sequence[str]) -> list[Block]:
    """The tables and the figure; none where there are no rows yet."""
    played = [game for game in games if _jobs(results, game)]
    if not played:
        return []
    said = [
        sentence
        for game in played
        for sentence in (*on_par(results, game), *nearly_all(results, game))
    ]
    return [
        REMARK,
        *said,
        *(parser_table(results, game) for game in played),
        *_figure(results, played),
    ]


def parser_table(results: ResultSet, game: str) -> Table:
    """Random play, each agent, what bags can reach, the best: quests done and return, by softmax and by greedy play."""
    theirs = PUBLISHED.get(game, {})
    header = [
        "",
        "quests done",
        *["published"] * bool(theirs),
        "return",
        "greedy, quests done",
        "greedy, return",
    ]
    lines = [
        (job.label, theirs.get(job.name, ""), _agent(results, game, job))
        for job in _jobs(results, game)
    ]
    lines.insert(0, ("random play", "", _exact(results, game, "random")))
    if game in BAG_REACHES:
        reach = BAG_REACHES[game]
        lines.append(
            ("most that a bag of words can reach", "", [_share(reach[0]), decimal(reach[1], 2)])
        )
    lines.append(("best possible", "", _exact(results, game, "best")))
    rows = []
    for name, published, (done, *rest) in lines:
        cells: list[Cell | str] = [name, done, *[published] * bool(theirs), *rest]
        rows.append(cells + [""] * (len(header) + 2 - len(cells)))
    notes = [
        "Exact expectations, from the weights. Steps are those that a seed played to learn; mean over seeds."
    ]
    if theirs:
        notes.append(
            "Published: by play with ε = 0.05. That of the bag is inferred from an abstract that has LSTM-DQN ahead by "
            "54 %; the authors' own words differ from ours, rules and numbers do not."
        )
    return Table(
        f"Agents in {results.title(game)}", [*header, "steps played", "minutes"], rows, notes
    )


def quest_scores(
    results: ResultSet, game: str, job: Added, column: str, policy: str = "softmax"
) -> list[float]:
    """A column of each seed after the last round, exact where it was computed: done, or return."""
    final = [
        row
        for row in results.rows(game, job, ".quests")
        if row["final"] and row["policy"] == policy
    ]
    exact = [row[f"exact_{column}"] for row in final if row[f"exact_{column}"] is not None]
    if exact:
        return exact
    return (
        [row["done"] for row in final]
        if column == "done"
        else results.scores(game, job, "return", policy=policy)
    )


def on_par(results: ResultSet, game: str) -> list[str]:
    """Whether DRRN with bags and BOW-DQN lie within each other's deviation, by softmax and by greedy play."""
    told = []
    for policy in ("softmax", "greedy"):
        ours, theirs = (
            measured(quest_scores(results, game, job, "return", policy))
            for job in (DRRN_BAG, BOW_DQN)
        )
        told += [
            f"{results.title(game)}, return by {policy} play: {said}"
            for said in _apart(ours, theirs)
        ]
    return told


def _apart(ours: Measured | None, theirs: Measured | None) -> list[str]:
    """How far apart the two are, in a sentence; none where one of them has no rows."""
    if ours is None or theirs is None:
        return []
    beside = f"{DRRN_BAG.label} {spread(ours, 2)}, BOW-DQN {spread(theirs, 2)}"
    if ours.sd is None or theirs.sd is None:
        return [f"{beside}: of one seed, too little to say whether they are on par."]
    apart = abs(ours.mean - theirs.mean)
    if apart <= min(ours.sd, theirs.sd):
        return [f"{beside}: each within the other's standard deviation, so “on par” holds."]
    if not ours.differs(theirs):
        return [
            f"{beside}: apart by more than one of the deviations, but not by twice the joint one: nearly on par."
        ]
    ahead = DRRN_BAG.label if ours.mean > theirs.mean else BOW_DQN.label
    return [f"{beside}: apart by {decimal(apart, 2)}, so “on par” does not hold: {ahead} is ahead."]


def nearly_all(results: ResultSet, game: str) -> list[str]:
    """After how many steps of play the agents that read words in order do nearly all quests, in a sentence each."""
    told = []
    for job in (DRRN_LSTM, LSTM_DQN):
        done = measured(quest_scores(results, game, job, "done"))
        if done is None:
            continue
        steps = _steps_until(results.rows(game, job, ".quests"))
        reached = f"99 % of them, as a mean over seeds, after {steps:,} steps a seed" if steps else (
            "99 % of them in no round"
        )  # fmt: skip
        told.append(
            f"{results.title(game)}: {job.label} does {_spread_share(done)} of its quests at the end; {reached}."
        )
    return told


def _steps_until(rows: list[Row]) -> int | None:
    """Steps that a seed has played, on average, when the mean over seeds first reaches nearly all quests."""
    rounds: dict[int, list[Row]] = {}
    for row in rows:
        if not row["final"]:
            rounds.setdefault(row["round"], []).append(row)
    for _, each in sorted(rounds.items()):
        played: list[int] = [row["played"] for row in each if row["played"] is not None]
        if played and sum(row["done"] for row in each) / len(each) >= NEARLY_ALL:
            return round(sum(played) / len(played))
    return None


def _agent(results: ResultSet, game: str, job: Added) -> list[str]:
    cells = []
    for policy in ("softmax", "greedy"):
        cells.append(_spread_share(measured(quest_scores(results, game, job, "done", policy))))
        cells.append(spread(measured(quest_scores(results, game, job, "return", policy)), 2))
    final = [
        row["played"]
        for row in results.rows(game, job, ".quests")
        if row["final"] and row["played"] is not None
    ]
    return [
        *cells,
        f"{round(sum(final) / len(final)):,}" if final else MISSING,
        minutes_of(results, game, job),
    ]


def _exact(results: ResultSet, game: str, player: str) -> list[str]:
    done = results.fact(game, f"{player}_done")
    total = results.fact(game, f"{player}_return")
    return [_share(done), decimal(total, 2)]


def _jobs(results: ResultSet, game: str) -> list[Added]:
    return [job for job in PARSERS if (game, job.name) in results.jobs]


def _share(value: float | None) -> str:
    return MISSING if value is None else f"{decimal(100 * value)} %"


def _spread_share(value: Measured | None) -> str:
    """A share in per cent with its deviation."""
    if value is None:
        return MISSING
    return _share(value.mean) + ("" if value.sd is None else f" ({decimal(100 * value.sd)})")


def _figure(results: ResultSet, games: Sequence[str]) -> list[Plot]:
    """Returns as they are learned, a panel for each world."""
    panels = [
        {
            "title": results.title(game),
            "lines": [
                curve_line(job.label, job.name, results.curve(game, job, column="return"))
                for job in _jobs(results, game)
                if results.curve(game, job)
            ],
            "random": results.fact(game, "random_return"),
            "best": results.fact(game, "best_return"),
            "rest": None,
            "measure": "mean return",
        }
        for game in games
    ]
    caption = "Learning curves of the agents in each world: the return by softmax; bars are standard deviations."
    return [plot("parser", caption, "panels", {"panels": panels})]
