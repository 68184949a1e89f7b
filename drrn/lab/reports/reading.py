"""The report on reading: one agent with several readers, in a game's own and in other words."""

from collections.abc import Iterator

from drrn.document import Block, Cell, Table, literal, markdown_block
from drrn.lab.experiments import plan
from drrn.lab.experiments.plan import BAGS, PARSED, RECALLED, WORDINGS, Variant
from drrn.lab.reports.beyond import BAG_REACHES
from drrn.lab.reports.diagnostics import label_of, published_rows
from drrn.lab.reports.result_set import ResultSet, decimal, spread, summary
from drrn.lab.reports.texts import PROSE

Cells = list[Cell | str]

READERS = {name: job for name, job in plan.READERS.items() if job != BAGS[1]}


def reading_section(results: ResultSet) -> list[Block]:
    """Return the tables of readers and of recall; nothing without rows."""
    if not any(plan.VARIANTS[name].group == "reading" for _, name in results.jobs):
        return []
    header = ["", "random play", *READERS, "bag, recall", "best possible"]
    rows = [*_story_rows(results), *_diagnostic_rows(results)]
    note = PROSE["readers"].format(bag=decimal(BAG_REACHES["home-world"][1], 2))
    readers = Table("Readers", header, rows, [note], "l" + "r" * (len(header) - 1))
    header = ["", "own words", "without recall", *map(literal, RECALLED)]
    recall = Table("Recall", header, list(_recall_rows(results)), [PROSE["recall"]])
    return [PROSE["reading"], readers, *([recall] if recall.rows else [])]


def reading_block(results: ResultSet) -> str:
    """Return the tables as Markdown, for docs/beyond.md."""
    return "\n\n".join(map(markdown_block, reading_section(results) or [PROSE["no_reading"]]))


def _score(results: ResultSet, game: str, job: Variant, wording: str = "", recall: str = "") -> str:
    rows = results.rows(game, job, ".wordings")
    column = "return" if game in PARSED else "final_reward"
    if game in PARSED and job in BAGS and not recall:  # a job of the experiment parser
        rows = results.final_rows(game, plan.DRRN_BAG, "softmax", ".quests")
        rows = [{"wording": None, "recall": None, column: row["exact_return"]} for row in rows]
    key = (wording or None, recall or None)
    scores = [row[column] for row in rows if (row["wording"], row["recall"]) == key]
    return spread(summary(scores), 2) if scores else ""


def _story_rows(results: ResultSet) -> Iterator[Cells]:
    for game in plan.READ:
        column = "return" if game in PARSED else "final_reward"
        low, best = (results.fact_text(game, f"{name}_{column}", 2) for name in ("random", "best"))
        for wording in ("", *WORDINGS):
            scores = [_score(results, game, job, wording) for job in READERS.values()]
            if any(scores):
                name = f"… {wording}" if wording else results.title(game)
                recall = _score(results, game, BAGS[0], wording, RECALLED[-1])
                yield [name, low, *_marked(f"{game} {wording}", scores), recall, best]


def _diagnostic_rows(results: ResultSet) -> Iterator[Cells]:
    """Yield the rows of diagnostics, in the order of the plan."""
    scores: dict[tuple[str, int, str], dict[str, list[float]]] = {}
    ends = {}
    for row in published_rows(results, READERS):
        game = (row["game"], row["level"], row["variant"])
        ends[game] = [decimal(row[name], 2) for name in ("random_score", "optimum")]
        scores.setdefault(game, {}).setdefault(row["agent"], []).append(row["score"])
    order = plan.PLAN["read_diagnostics"]
    for game in sorted(scores, key=lambda game: (order.index(game[0]), game[2] != "train")):
        own = [scores[game].get(name) for name in READERS]
        cells = _marked(f"{game[0]} {game[2]}", [spread(summary(x), 2) if x else "" for x in own])
        yield [label_of(game).capitalize(), ends[game][0], *cells, "", ends[game][1]]


def _marked(name: str, scores: list[str]) -> Cells:
    """Return a cell for each reader; a mark says that random play is the most it can reach."""
    limited = plan.PLAN["at_most_random"]
    pairs = zip(READERS, scores, strict=True)
    return [Cell(text, mark="‡" * (f"{reader} {name}" in limited)) for reader, text in pairs]


def _recall_rows(results: ResultSet) -> Iterator[Cells]:
    for game in results.stories:
        for job, extra in zip(BAGS, ("", ", 12,000 episodes"), strict=True):
            for wording in WORDINGS:
                cells = [_score(results, game, job, wording, model) for model in ("", *RECALLED)]
                if any(cells):
                    name = f"{results.title(game)}, {wording}{extra}"
                    yield [name, _score(results, game, job), *cells]
