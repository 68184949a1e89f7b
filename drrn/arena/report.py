"""The report of a tournament: scores, regret, mistakes and paraphrases, as a `Document`."""

import csv
import io
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from drrn.arena.measures import Interval, Measures
from drrn.arena.tournament import Rows
from drrn.document import (
    MISSING,
    Block,
    Cell,
    Code,
    Document,
    Figure,
    Section,
    Table,
    figures,
    literal,
    to_html,
    to_markdown,
)
from drrn.files import write
from drrn.pages import rendered, safe_markup
from drrn.writing import one_line, percent

COLOURS = ("#8a8f98", "#4c78a8", "#e07b39", "#54a24b", "#b279a2", "#c7a500", "#d6616b", "#2f9c95")
MAX_MISTAKES = 12
MAX_PAGES = 16
MAX_LINE = 60  # decisions of a regret curve
FIRST = ("random", "best")  # reference players: the first and the last of a table

COLUMNS = "game words player episodes score return steps normalised low high".split()
COLUMNS += "adjusted adjusted_low adjusted_high regret regret_per_decision among_best".split()
COLUMNS += "alpha readable prompt_tokens answer_tokens best random".split()

HEADER = ["player", "matches", "score", "return", "normalised", "without luck", "steps"]
HEADER += ["regret", "per decision", "best chosen", "α", "readable", "tokens"]


def order_of(player: str) -> tuple[int, str]:
    """Sort players: random first, best last, others by name."""
    return {FIRST[0]: -1, FIRST[1]: 1}.get(player, 0), player


class Report:
    """A tournament's rows by game and player, and documents about them."""

    def __init__(self, rows: Iterable[Rows]) -> None:
        self.rows: dict[str, dict[str, Rows]] = defaultdict(dict)  # by label of the game
        self.measures: dict[tuple[str, str], Measures] = {}
        for each in rows:
            words = each.header["words"]
            label = f"{each.game} ({words})" if words else each.game
            self.rows[label][each.player] = each
            self.measures[label, each.player] = each.measures()
        names = {player for by_player in self.rows.values() for player in by_player}
        self.players = sorted(names, key=order_of)
        self.originals = [label for label in self.rows if not self._words(label)]

    def document(self) -> Document:
        """Return the whole report."""
        sections = [Section("Scores", self._scores())]
        words = self._other_words()
        if words:
            sections.append(Section("In other words", words))
        sections += [Section(label, self._game(label)) for label in self.rows]
        prompts = {rows.header["settings"].get("prompt", "") for rows in self._all()} - {""}
        if prompts:
            sections.append(Section("Prompt", [Code(text) for text in sorted(prompts)]))
        about = (
            "The regret of a decision is max Q* - Q* of the choice, computed exactly from the "
            "solved game. Normalised: 100 × (return - random play) / (best play - random play), "
            "with a 95 % bootstrap interval over matches; without luck: the same with best play "
            "minus the regrets in place of the return. α: the softmax over Q* that would choose "
            "like the player. An answer that names no action is replaced by a random action."
        )
        return Document("Arena", [about], sections)

    def table(self) -> Table:
        """Return normalised scores, games by players, with the means over games."""
        rows: list[list[Cell | str]] = []
        for label in self.originals:
            rows.append([literal(label), *map(_interval, self._normalised(label))])
        means: list[Cell | str] = []
        for player in self.players:
            scores = [
                self.measures[label, player].normalised.mean
                for label in self.originals
                if (label, player) in self.measures
            ]
            whole = len(scores) == len(self.originals)
            means.append(Cell(f"{sum(scores) / len(scores):.0f}" if whole else MISSING, bold=True))
        rows.append([Cell("mean", bold=True), *means])
        caption = "Normalised scores: 0 is random play, 100 is best play."
        align = "l" + "r" * len(self.players)
        return Table(caption, ["game", *map(literal, self.players)], rows, align=align)

    def csv(self) -> str:
        """Return one row for each game and player."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for (label, player), m in self.measures.items():
            header = self.rows[label][player].header
            numbers = [m.score.mean, m.returns.mean, m.steps.mean]
            numbers += [getattr(m.normalised, name) for name in ("mean", "low", "high")]
            numbers += [getattr(m.adjusted, name) for name in ("mean", "low", "high")]
            numbers += [m.regret.mean, m.mean_regret, m.among_best, m.alpha, m.readable]
            counts = [*m.tokens, header["best"], header["random"]]
            values = [f"{number:.6g}" for number in numbers]
            writer.writerow([header["game"], header["words"], player, m.episodes, *values, *counts])
        return text.getvalue()

    def scores_figure(self) -> Figure:
        """Return the scores of all players in all games, with intervals."""
        games = []
        for label in self.originals:
            games.append({"name": label, "scores": self._normalised(label)})
        lows = [m.normalised.low for m in self.measures.values()]
        highs = [m.normalised.high for m in self.measures.values()]
        low = max(-100, 50 * math.floor(min(0, *lows) / 50))
        high = min(200, 50 * math.ceil(max(100, *highs) / 50))

        def x(score: float) -> float:
            return round(550 * (min(max(score, low), high) - low) / (high - low), 1)

        values = {"games": games, "ticks": list(range(low, high + 1, 50)), "x": x}
        svg = self._draw("scores", **values)
        return Figure("Normalised scores with 95 % intervals.", "scores.svg", svg, wide=True)

    # --- sections

    def _scores(self) -> list[Block]:
        return [self.table(), self.scores_figure()]

    def _game(self, label: str) -> list[Block]:
        by_player = self._players_of(label)
        header = next(iter(by_player.values())).header
        caption = (
            f"Expected return of best play {header['best']:.2f}, of random play "
            f"{header['random']:.2f}. Score is the reward of the ending."
        )
        rows = [self._row(label, player) for player in by_player]
        blocks: list[Block] = [Table(caption, HEADER, rows, align="l" + "r" * (len(HEADER) - 1))]
        mistakes = self._mistakes(by_player)
        if mistakes:
            blocks.append(mistakes)
            blocks += [self._regret_curve(label, by_player), self._heat_map(label, by_player)]
        return blocks

    def _row(self, label: str, player: str) -> list[Cell | str]:
        m = self.measures[label, player]
        tokens = f"{sum(m.tokens):,}" if sum(m.tokens) else MISSING
        alpha = "∞" if math.isinf(m.alpha) else f"{m.alpha:.3g}"
        numbers = [str(m.score), str(m.returns), _interval(m.normalised), _interval(m.adjusted)]
        numbers += [f"{m.steps.mean:.1f}", str(m.regret), f"{m.mean_regret:.3f}"]
        return [
            literal(player),
            str(m.episodes),
            *numbers,
            percent(m.among_best),
            alpha,
            percent(m.readable),
            tokens,
        ]

    def _mistakes(self, by_player: dict[str, Rows]) -> Table | None:
        """Return the choices that cost a player most, of all players but random."""
        cost: Counter[tuple[str, str, str, str]] = Counter()
        times: Counter[tuple[str, str, str, str]] = Counter()
        for player, rows in by_player.items():
            for decision in _decisions(rows) if player != FIRST[0] else ():
                if decision.regret:
                    key = (player, decision.page, decision.choice, decision.best)
                    cost[key] += decision.regret
                    times[key] += 1
        if not cost:
            return None
        rows_: list[list[Cell | str]] = []
        for key, total in cost.most_common(MAX_MISTAKES):
            texts = [literal(one_line(text)[:90]) for text in key]
            count = times[key]
            rows_.append([*texts, f"{total / count:.2f}", str(count), f"{total:.1f}"])
        names = ["player", "page", "choice", "a best choice", "cost", "times", "in all"]
        return Table("The costliest mistakes.", names, rows_, align="llllrrr")

    def _regret_curve(self, label: str, by_player: dict[str, Rows]) -> Figure:
        """Return the mean of the regret so far, by the number of decisions."""
        lines = []
        for rows in by_player.values():
            columns = zip_longest(*([d.regret for d in r.decisions] for r in rows.results))
            line = [0.0]
            for column in columns:
                regret = sum(value for value in column if value) / len(rows.results)
                line.append(line[-1] + regret)
            lines.append(line)
        longest = min(max(map(len, lines)) - 1, MAX_LINE) or 1
        lines = [line[: longest + 1] for line in lines]
        highest = max(line[-1] for line in lines) or 1.0
        y_ticks = _ticks(highest)
        x_ticks = [round(tick) for tick in _ticks(longest) if tick == round(tick)]
        scale = {
            "x": lambda step: round(60 + 486 * step / longest, 1),
            "y": lambda value: round(220 - 205 * value / highest, 1),
        }
        svg = self._draw(
            "regret",
            lines=lines,
            x_ticks=x_ticks,
            y_ticks=y_ticks,
            players=list(by_player),
            **scale,
        )
        return Figure(f"{label}: mean regret so far, along the game.", svg=svg)

    def _heat_map(self, label: str, by_player: dict[str, Rows]) -> Figure:
        """Return the regret per match of each player on the pages that cost most."""
        cost: dict[str, Counter[str]] = defaultdict(Counter)
        for player, rows in by_player.items():
            for decision in _decisions(rows):
                cost[decision.page][player] += decision.regret / len(rows.results)
        others = [player for player in by_player if player != FIRST[0]] or list(by_player)
        total = {page: sum(of[player] for player in others) for page, of in cost.items()}
        worst = sorted(total, key=lambda page: -total[page])[:MAX_PAGES]
        pages = []
        largest = 0.0
        for page in worst:
            regrets = [cost[page][player] for player in by_player]
            largest = max(largest, *regrets)
            pages.append({"name": page[:44], "regrets": regrets})
        svg = self._draw("pages", pages=pages, largest=largest or 1.0, players=list(by_player))
        return Figure(f"{label}: regret per match, by page.", svg=svg)

    def _other_words(self) -> list[Block]:
        """Return the scores in other words next to those of the original."""
        rows: list[list[Cell | str]] = []
        for label, by_player in self.rows.items():
            original = next(iter(by_player.values())).header["game"]
            for player in sorted(by_player, key=order_of) if self._words(label) else ():
                if player in FIRST or (original, player) not in self.measures:
                    continue
                before = self.measures[original, player].adjusted
                after = self.measures[label, player].adjusted
                change = f"{after.mean - before.mean:+.0f}"
                names = (original, self._words(label), player)
                rows.append([*map(literal, names), _interval(before), _interval(after), change])
        if not rows:
            return []
        caption = (
            "Normalised scores without luck, in the original and in other words. The rules are the "
            "same, so the difference is what was memorised or depends on single words."
        )
        names_ = ["game", "words", "player", "original", "in other words", "difference"]
        return [Table(caption, names_, rows, align="lllrrr")]

    # --- helpers

    def _normalised(self, label: str) -> list[Interval | None]:
        measures = [self.measures.get((label, player)) for player in self.players]
        return [None if each is None else each.normalised for each in measures]

    def _words(self, label: str) -> str:
        return str(next(iter(self.rows[label].values())).header["words"])

    def _players_of(self, label: str) -> dict[str, Rows]:
        by_player = self.rows[label]
        return {player: by_player[player] for player in sorted(by_player, key=order_of)}

    def _all(self) -> Iterable[Rows]:
        return (rows for by_player in self.rows.values() for rows in by_player.values())

    def _draw(self, name: str, **values: Any) -> str:
        players: Sequence[str] = values.pop("players", self.players)
        colours = [COLOURS[self.players.index(p) % len(COLOURS)] for p in players]
        svg = rendered(f"arena_{name}.svg", players=players, colours=colours, **values)
        return "\n".join(line for line in svg.splitlines() if line.strip())


def _decisions(rows: Rows) -> Iterable[Any]:
    return (decision for result in rows.results for decision in result.decisions)


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return MISSING
    if interval.high - interval.low < 0.5:
        return f"{interval.mean:.0f}"
    return f"{interval.mean:.0f} ({interval.low:.0f} to {interval.high:.0f})"


def _ticks(highest: float) -> list[float]:
    """Return round numbers from 0 to at most `highest`."""
    step = 10 ** math.floor(math.log10(highest))
    for finer in (1, 2, 5):
        if highest / (step / finer) >= 4:
            step /= finer
            break
    return [round(step * i, 6) for i in range(int(highest / step) + 1)]


def write_report(report: Report, folder: Path) -> Path:
    """Write summary.csv, arena.md, arena.html and the figures; return the path of the page."""
    document = report.document()
    body = safe_markup(to_html(document, contents=True))
    page = rendered("report.html", title=document.title, body=body)
    files: dict[str, Callable[[], str]] = {
        "summary.csv": report.csv,
        "arena.md": lambda: to_markdown(Document("Arena", document.blocks, document.sections[:2])),
        "arena.html": lambda: page,
    }
    for name, content in files.items():
        write(folder / name, content())
    for figure in figures(document):
        if figure.path:
            white = '<rect width="100%" height="100%" fill="white"/>'
            head, _, rest = figure.svg.partition(">")
            write(folder / figure.path, f"{head}>{white}{rest}\n")
    return folder / "arena.html"
