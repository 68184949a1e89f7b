"""Beyond the paper: the strong agent beside the paper's, what each of its parts gives, and how it learns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from drrn.document import MISSING, Block, Cell, Table, markdown_block
from drrn.lab.experiments.plan import (
    ABLATIONS,
    BEST,
    BEYOND,
    EXPLORED,
    LONG,
    REWORDED,
    STRONG_JOB,
    VECTORS,
    Beyond,
    Variant,
)
from drrn.lab.reports import paper
from drrn.lab.reports.figures import Plot, plot
from drrn.lab.reports.result_set import Measured, ResultSet, decimal, measured, spread

SEEDS_SAID = (
    "Reported are the seeds that the settings below name. The recipe was tuned on other seeds, from 1,000 on, on The "
    "Night Market and Machine of Death. Of actions in other words, choices were made by The Night Market's; none was "
    "made by the rewording of The Long Watch, nearly none by the paraphrases of Machine of Death: docs/beyond.md."
)
HOW = (
    "Softmax is the exact expectation. `best`, which takes the best action on a page that is new in the game and plays "
    "by softmax on one that was shown before, remembers pages, so it is the mean of {games} games a seed. "
    "The lowest is the lowest seed. The paper's recipe is DRRN of two layers of 100 units above."
)
MOST_POINTS = 20  # of a learning curve, about
WORDS = {
    "": "",
    "paraphrased": "paraphrased",
    REWORDED: "in other words altogether",
}  # how actions are said


def beyond_blocks(results: ResultSet, games: Sequence[str]) -> list[Block]:
    """The tables and the figure; none where there are no rows yet."""
    if not any((game, variant.name) in results.jobs for game in games for variant in BEYOND):
        return []
    ablated = [game for game in games if has_ablations(results, game)]
    tables = [ablation_table(results, game) for game in ablated]
    return [SEEDS_SAID, beyond_table(results, games), *learning_figure(results, games), *tables]


def beyond_table(results: ResultSet, games: Sequence[str]) -> Table:
    """Each game, and its actions in other words: random play, the paper, its recipe, the strong agent, the best."""
    rows = [row for game in games for row in _rows(results, game)]
    header = [
        "",
        "random play",
        "the paper",
        "paper's recipe, ours",
        "softmax",
        "… lowest",
        "`best`",
        "… lowest",
    ]
    played = {
        row["episodes"]
        for job in results.jobs.values()
        for row in job.rows[""]
        if row["final"] and row["policy"] == "best"
    }
    how = HOW.format(games=" or ".join(f"{games:,}" for games in sorted(played)))
    return Table(
        "The strong agent: final reward", [*header, "greedy", "best possible"], rows, [how]
    )


def _rows(results: ResultSet, game: str) -> Iterator[list[Cell | str]]:
    for variant in (STRONG_JOB, LONG, VECTORS):
        for words in WORDS:
            if not strong_scores(results, game, variant, words=words):
                continue
            named = [WORDS[words]] * bool(words) + [_named(results, game, variant)] * (
                variant != STRONG_JOB
            )
            first = variant == STRONG_JOB and not words
            row: list[Cell | str] = [results.title(game) if first else f"… {', '.join(named)}"]
            row.append(decimal(results.fact(game, "random_final_reward")))
            row += _papers(results, game, words) if variant == STRONG_JOB else ["", ""]
            for policy in ("softmax", "best"):
                scores = strong_scores(results, game, variant, policy, words)
                row += [
                    Cell(spread(measured(scores), 2), policy == "softmax"),
                    decimal(min(scores), 2),
                ]
            row.append(spread(measured(strong_scores(results, game, variant, "greedy", words)), 2))
            yield [*row, decimal(results.fact(game, "best_final_reward"), 2)]


def _named(results: ResultSet, game: str, variant: Beyond) -> str:
    """A job in words; the longer one by the episodes that it was given."""
    record = results.record(game, variant)
    if variant != LONG or record is None:
        return variant.label
    return f"{record['wanted']['rounds'] * record['wanted']['episodes_per_round']:,} episodes"


def _papers(results: ResultSet, game: str, words: str) -> list[Cell | str]:
    """What the paper's DRRN scores, by the paper and by our rows."""
    if words == REWORDED:  # neither has it
        return ["", ""]
    reported = (paper.PARAPHRASED if words else paper.SCORES).get(game, {}).get(BEST.name)
    ours = results.final(game, BEST, paraphrased=bool(words))
    return [spread(Measured(*reported)) if reported else "", spread(ours)]


def strong_scores(
    results: ResultSet,
    game: str,
    variant: Variant = STRONG_JOB,
    policy: str = "softmax",
    words: str = "",
) -> list[float]:
    """The final reward of each seed; `words` is how the actions were said."""
    kind = f".{REWORDED}" if words == REWORDED else ""
    return results.scores(game, variant, policy=policy, paraphrased=bool(words), kind=kind)


def has_ablations(results: ResultSet, game: str) -> bool:
    """Whether there are rows of a part taken out."""
    return any((game, variant.name) in results.jobs for variant in ABLATIONS)


def ablation_table(results: ResultSet, game: str) -> Table:
    """The strong agent with each part taken out alone; the paper's recipe as the last line."""
    sets = [words for words in WORDS if strong_scores(results, game, words=words)] or [""]
    header = [
        "",
        "softmax",
        "… lowest",
        "`best`",
        "… lowest",
        *(f"softmax, {WORDS[words]}" for words in sets[1:]),
    ]
    run = [variant for variant in (STRONG_JOB, *ABLATIONS) if variant.suits(game, vectors=True)]
    rows = [_ablated(results, game, variant, sets) for variant in run]
    theirs: list[Cell | str] = ["the paper's recipe", *_scored(results.scores(game, BEST)), "", ""]
    theirs += [
        "" if words == REWORDED else spread(results.final(game, BEST, paraphrased=True), 2)
        for words in sets[1:]
    ]
    note = "Each line takes out one part and leaves the others; mean (sd) over seeds, and the lowest seed."
    return Table(f"What each part gives, {results.title(game)}", header, [*rows, theirs], [note])


def _ablated(
    results: ResultSet, game: str, variant: Beyond, sets: Sequence[str]
) -> list[Cell | str]:
    row: list[Cell | str] = [variant.label]
    for policy in ("softmax", "best"):
        row += _scored(strong_scores(results, game, variant, policy))
    return row + [
        spread(measured(strong_scores(results, game, variant, words=words)), 2)
        for words in sets[1:]
    ]


def _scored(scores: list[float]) -> list[Cell | str]:
    return [spread(measured(scores), 2), decimal(min(scores), 2) if scores else MISSING]


def learning_figure(results: ResultSet, games: Sequence[str]) -> list[Plot]:
    """Learning curves of the strong agent and of the paper's recipe, a panel for each game."""
    panels = [
        panel
        for game in games
        for job in (STRONG_JOB, LONG)
        if (panel := _panel(results, game, job))
    ]
    if not panels:
        return []
    caption = (
        "Learning curves of the strong agent, by softmax and by `best`, and of the paper's recipe, by softmax; "
        "bars are standard deviations."
    )
    return [plot("beyond", caption, "panels", {"panels": panels})]


def _panel(results: ResultSet, game: str, job: Beyond) -> dict[str, object] | None:
    lines = [
        {
            "label": label,
            "style": style,
            "points": [
                [x, round(m, 4), round(s, 4)]
                for x, m, s in _thinned(results.curve(game, variant, policy))
            ],
        }
        for label, style, variant, policy in (
            ("strong agent, softmax", "strong, softmax", job, "softmax"),
            ("strong agent, best", "strong, best", job, "best"),
            ("the paper's recipe, softmax", BEST.name, BEST, "softmax"),
        )
        if results.curve(game, variant, policy)
    ]
    if not results.curve(game, job):
        return None
    title = results.title(game) + (f", {_named(results, game, job)}" if job == LONG else "")
    random = results.fact(game, "random_final_reward")
    best = results.fact(game, "best_final_reward")
    return {"title": title, "lines": lines, "random": random, "best": best, "rest": None}


def _thinned(points: list[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    """Every so many rounds up to the last, so that a long run has no more bars than one can tell apart."""
    return points[::-1][:: max(1, len(points) // MOST_POINTS)][::-1]


def parts_block(results: ResultSet) -> str:
    """What the agent scores and what its parts give as Markdown, for a page about them; a sentence where there are no
    rows."""
    tables = [ablation_table(results, game) for game in EXPLORED if has_ablations(results, game)]
    if not tables:
        return "No rows yet: `drrn reproduce --only beyond` makes them, and `drrn report --beyond FILE` this table."
    whole = replace(
        beyond_table(results, results.games), notes=()
    )  # the page says in its own words how it is measured
    return "\n\n".join(markdown_block(table) for table in (whole, *tables))
