"""The report of a tournament: scores, regret, mistakes and paraphrases, as a `Document`."""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import astuple
from itertools import zip_longest
from statistics import fmean
from typing import Any

from textgames.document import (
    MISSING,
    Cell,
    Code,
    Document,
    Figure,
    Section,
    Table,
    literal,
    to_html,
)
from textgames.pages import rendered, safe_markup
from textgames.wording import one_line, percent
from textgames_arena.match import Decision
from textgames_arena.measures import Interval, Measures, measures
from textgames_arena.tournament import Rows

COLOURS = ("#8a8f98", "#4c78a8", "#e07b39", "#54a24b", "#b279a2", "#c7a500", "#d6616b", "#2f9c95")
RANDOM = "random"  # the first player of a table
BEST = "best"  # the last
ABOUT = """The regret of a decision is max Q* - Q* of the choice, computed exactly from the solved \
game. Normalised: 100 × (return - random play) / (best play - random play), with a 95 % bootstrap \
interval over matches; without luck: the same with best play minus the regrets in place of the \
return. α: the softmax over Q* that would choose like the player. An answer that names no action \
is replaced by a random action."""

COLUMNS = "game words player episodes score return steps normalised low high".split()
COLUMNS += "adjusted adjusted_low adjusted_high regret regret_per_decision among_best".split()
COLUMNS += "alpha readable prompt_tokens answer_tokens best random".split()

# Columns of the table of a game
CELLS: dict[str, Callable[[Measures], str]] = {
    "matches": lambda m: str(m.episodes),
    "score": lambda m: str(m.score),
    "return": lambda m: str(m.returns),
    "normalised": lambda m: _interval(m.normalised),
    "without luck": lambda m: _interval(m.adjusted),
    "steps": lambda m: f"{m.steps.mean:.1f}",
    "regret": lambda m: str(m.regret),
    "per decision": lambda m: f"{m.mean_regret:.3f}",
    "best chosen": lambda m: percent(m.among_best),
    "α": lambda m: "∞" if math.isinf(m.alpha) else f"{m.alpha:.3g}",
    "readable": lambda m: percent(m.readable),
    "tokens": lambda m: f"{sum(m.tokens):,}" if sum(m.tokens) else MISSING,
}

Row = list[Cell | str]


class Report:
    """A tournament's rows by game and player, and documents about them."""

    def __init__(self, rows: Iterable[Rows]) -> None:
        self.rows: dict[str, dict[str, Rows]] = defaultdict(dict)  # by label of the game, player
        self.measures: dict[tuple[str, str], Measures] = {}
        for each in sorted(rows, key=lambda each: _order(each.player)):
            self.rows[each.label][each.player] = each
            exact = (each.header["best"], each.header["random"])
            self.measures[each.label, each.player] = measures(each.results, *exact)
        self.players = sorted({player for _, player in self.measures}, key=_order)
        self.games = sorted(self.rows)
        self.originals = [label for label in self.games if not self._header(label)["words"]]

    def document(self) -> Document:
        """The whole report."""
        sections = [Section("Scores", [self.table(), self.scores_figure()])]
        other_words = self._other_words()
        if other_words.rows:
            sections.append(Section("In other words", [other_words]))
        sections += [Section(label, self._game(label)) for label in self.games]
        every = (rows for players in self.rows.values() for rows in players.values())
        prompts = {rows.header["settings"].get("prompt", "") for rows in every} - {""}
        if prompts:
            sections.append(Section("Prompt", [Code(text) for text in sorted(prompts)]))
        return Document("Arena", [ABOUT], sections)

    def table(self) -> Table:
        """Normalised scores, games by players, with the means over games."""
        scores = {label: self._scores(label) for label in self.originals}
        rows: list[Row] = [[literal(label), *map(_interval, scores[label])] for label in scores]
        means: Row = []
        for column in zip(*scores.values(), strict=True):
            numbers = [score.mean for score in column if score]
            mean = str(round(fmean(numbers))) if len(numbers) == len(column) else MISSING
            means.append(Cell(mean, bold=True))
        rows.append([Cell("mean", bold=True), *means])
        caption = "Normalised scores without luck: 0 is random play, 100 is best play."
        header = ["game", *map(literal, self.players)]
        return Table(caption, header, rows, [self._counts()], "l" + "r" * len(self.players))

    def csv(self) -> str:
        """One row for each game and player."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for (label, player), m in sorted(self.measures.items()):
            header = self.rows[label][player].header
            numbers = [m.score.mean, m.returns.mean, m.steps.mean]
            numbers += [*astuple(m.normalised), *astuple(m.adjusted), m.regret.mean, m.mean_regret]
            numbers += [m.among_best, m.alpha, m.readable]
            values = [f"{number:.6g}" for number in numbers]
            values += [*map(str, m.tokens), header["best"], header["random"]]
            writer.writerow([header["game"], header["words"], player, m.episodes, *values])
        return text.getvalue()

    def scores_figure(self) -> Figure:
        """The scores of all players in all games, with intervals."""
        games = [{"name": label, "scores": self._scores(label)} for label in self.originals]
        ends = [end for m in self.measures.values() for end in (m.adjusted.low, m.adjusted.high)]
        low = max(-100, 50 * math.floor(min(0, *ends) / 50))
        high = min(200, 50 * math.ceil(max(100, *ends) / 50))
        svg = self._draw("scores", games=games, ticks=list(range(low, high + 1, 50)))
        return Figure("Normalised scores without luck, with 95 % intervals.", "scores.svg", svg)

    # --- sections

    def _game(self, label: str) -> list[Table | Figure]:
        players = self.rows[label]
        header = self._header(label)
        caption = (
            f"{label}: expected return of best play {header['best']:.2f}, of random play "
            f"{header['random']:.2f}. Score is the reward of the ending."
        )
        results = [self.measures[label, player] for player in players]
        columns = {name: [cell(each) for each in results] for name, cell in CELLS.items()}
        if columns["without luck"] == columns["normalised"]:
            del columns["without luck"]
        if set(columns["tokens"]) == {MISSING}:
            del columns["tokens"]
        rows = list(zip(map(literal, players), *columns.values(), strict=True))
        table = Table(caption, ["player", *columns], rows, align="l" + "r" * len(columns))
        mistakes = self._mistakes(label)
        if not mistakes.rows:
            return [table]
        return [table, mistakes, self._regret_curve(label)]

    def _mistakes(self, label: str, at_most: int = 12) -> Table:
        """The choices that cost a player most, of all players but random."""
        costs: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for player, rows in self.rows[label].items():
            for each in _decisions(rows):
                if each.regret and player != RANDOM:
                    costs[player, each.page, each.choice, each.best].append(each.regret)
        table: list[Row] = []
        for key in sorted(costs, key=lambda key: -sum(costs[key]))[:at_most]:
            texts = [literal(one_line(text)[:90]) for text in key]
            cost = costs[key]
            table.append([*texts, f"{fmean(cost):.2f}", str(len(cost)), f"{sum(cost):.1f}"])
        names = ["player", "page", "choice", "a best choice", "cost", "times", "in all"]
        return Table(f"{label}: the costliest mistakes.", names, table, align="llllrrr")

    def _regret_curve(self, label: str, decisions: int = 60) -> Figure:
        """The mean of the regret so far, by the number of decisions."""
        lines = []
        for rows in self.rows[label].values():
            line = [0.0]
            for column in zip_longest(*([d.regret for d in r.decisions] for r in rows.results)):
                line.append(line[-1] + sum(filter(None, column)) / len(rows.results))
            lines.append(line)
        longest = min(max(map(len, lines)) - 1, decisions)
        lines = [line[: longest + 1] for line in lines]
        svg = self._draw("regret", self.rows[label], lines=lines, longest=longest, ticks=_ticks)
        return Figure(f"{label}: mean regret so far, along the game.", svg=svg)

    def _other_words(self) -> Table:
        """The scores in other words next to those of the original."""
        table: list[Row] = []
        for (label, player), paraphrase in self.measures.items():
            names = (self._header(label)["game"], self._header(label)["words"], player)
            original = self.measures.get((names[0], player))
            if names[1] and original and player not in (RANDOM, BEST):
                scores = (original.adjusted, paraphrase.adjusted)
                change = f"{scores[1].mean - scores[0].mean:+.0f}"
                table.append([*map(literal, names), *map(_interval, scores), change])
        caption = (
            "Normalised scores without luck, in the original and in other words. The rules are the "
            "same, so the difference is what was memorised or depends on single words."
        )
        header = ["game", "words", "player", "original", "in other words", "difference"]
        return Table(caption, header, table, align="lllrrr")

    # --- helpers

    def _scores(self, label: str) -> list[Interval | None]:
        results = [self.measures.get((label, player)) for player in self.players]
        return [each.adjusted if each else None for each in results]

    def _header(self, label: str) -> dict[str, Any]:
        return next(iter(self.rows[label].values())).header

    def _counts(self) -> str:
        """State the number of matches of each player."""
        players: dict[str, list[str]] = defaultdict(list)
        for player in self.players:
            numbers = {m.episodes for (_, name), m in self.measures.items() if name == player}
            players[" to ".join(map(str, sorted({min(numbers), max(numbers)})))].append(player)
        parts = [f"{text} ({', '.join(names)})" for text, names in players.items()]
        return f"Matches of each player in each game: {'; '.join(parts)}."

    def _draw(self, name: str, players: Iterable[str] | None = None, **values: Any) -> str:
        names = list(players or self.players)
        colours = [COLOURS[self.players.index(each) % len(COLOURS)] for each in names]
        svg = rendered(f"textgames_arena/{name}.svg", players=names, colours=colours, **values)
        return "\n".join(line for line in svg.splitlines() if line.strip())


def _order(player: str) -> tuple[int, str]:
    """Sort players: random first, best last, others by name."""
    return {RANDOM: -1, BEST: 1}.get(player, 0), player


def _decisions(rows: Rows) -> Iterable[Decision]:
    return (decision for result in rows.results for decision in result.decisions)


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return MISSING
    mean, low, high = map(round, astuple(interval))
    return f"{mean}" if interval.high - interval.low < 0.5 else f"{mean} ({low} to {high})"


def _ticks(highest: float) -> list[float]:
    """Round numbers from 0 to at most `highest`."""
    step = 10 ** math.floor(math.log10(highest))
    finer = next((finer for finer in (1, 2, 5) if highest / step * finer >= 4), 1)
    return [round(step / finer * i, 6) for i in range(int(highest / step * finer) + 1)]


def report_files(report: Report) -> dict[str, str]:
    """The page, the figure and the table of a report, by the name of their file."""
    document = report.document()
    body = safe_markup(to_html(document, contents=True))
    head, _, rest = report.scores_figure().svg.partition(">")
    white = '<rect width="100%" height="100%" fill="white"/>'
    return {
        "summary.csv": report.csv(),
        "scores.svg": f"{head}>{white}{rest}\n",
        "arena.html": rendered("report.html", title=document.title, body=body),
    }
