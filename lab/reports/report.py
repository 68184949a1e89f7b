"""The report: pages of tables and figures, written from rows or checked against them.

The texts of the pages are in `texts/`: results.md is the paper, stories.md our own stories with the
paper's models, agents.md our agents. A line `{{ name }}` there stands for the tables and figures of
BLOCKS. A section whose lines are all without rows is left out. Sentences about the numbers are
written by hand in findings.md of the results folder: each section ends with its paragraphs there.

To add a section, write a function from the rows to blocks, add it to BLOCKS, and add a section to a
page.
"""

import argparse
import itertools
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from drrn.experiments.results import refuse_sweep
from lab.experiments.plan import PAPER, VARIANTS, game_order
from lab.experiments.results import ARENA, Results
from lab.reports import agents, paper
from lab.reports.claims import claims_table
from lab.reports.figures import Plot, as_file, draw, fault, from_file
from lab.reports.result_set import ResultSet, decimal
from textgames.document import Block, Table, markdown_block
from textgames.errors import InputError
from textgames.files import read_text, write
from textgames.terminal import warn
from textgames_arena.report import report_files

ROOT = Path(__file__).parents[2]
# Pages with blocks of the report, of which the folder `results` has the rows.
READERS = ["README.md", "docs/claims.md", "docs/lab/beyond.md", "docs/textgames/diagnostics.md"]
READERS.append("docs/drrn/arena.md")
MODELS = "models of 100 hidden units"
# Of the paper's experiments: blocks of some games.
OF_GAMES: dict[str, Callable[[ResultSet, Sequence[str]], Sequence[Block]]] = {
    "statistics": paper.statistics_table,
    "scores": paper.scores_tables,
    "curves": lambda results, games: paper.curves(results, games, "curves", MODELS),
    "shared": lambda r, games: paper.curves(r, games, "shared", "shared and separate embeddings"),
    "interactions": paper.interaction_tables,
    "paraphrases": paper.paraphrases_blocks,
    "examples": paper.examples_tables,
    "embeddings": paper.embeddings_figures,
    "gaps": paper.gap_tables,
    "updates": paper.updates_blocks,
    "choices": paper.choices_table,
    "jobs": lambda results, games: [jobs_table(results, games)],
}
BLOCKS: dict[str, Callable[[ResultSet], Sequence[Block]]] = {
    "headline": lambda results: [paper.headline_table(results)],
    "claims": lambda results: [claims_table(results)],
    "cells": paper.cells_table,
    "beyond": agents.strong_figure,
    "parts": agents.part_tables,
    "encoders": agents.encoders_blocks,
    "parser": agents.parser_blocks,
    "published": agents.published_blocks,
    "diagnostics": agents.diagnostics_blocks,
    "reading": agents.reading_tables,
    "arena": lambda results: [results.arena.table()] if results.arena else [],
}
TEXTS = Path(__file__).with_name("texts")
PAGES = {"RESULTS.md": "results.md", "STORIES.md": "stories.md", "AGENTS.md": "agents.md"}
PLACE = re.compile(r"^{{ (\w+) }}$", re.M)


def run(options: argparse.Namespace) -> int:
    """`python -m lab report`."""
    is_published = options.out.resolve() == ROOT / "results"
    pages = options.pages or [ROOT / page for page in READERS if is_published]
    refuse_sweep(options.out)
    if not options.check:
        print(write_report(Results(options.out), pages))
        return 0
    problems = differences(Results(options.out), pages)
    for problem in problems:
        warn(f"differs from the rows: {problem}")
    if not problems:
        print("tables and figures agree with the rows")
    return 1 if problems else 0


def jobs_table(results: ResultSet, games: Sequence[str]) -> Table:
    """The jobs of each experiment: their seeds, computing time, device and commits."""
    jobs: dict[tuple[str, ...], list[float]] = {}
    for (game, name), job in results.jobs.items():
        if game in games:
            wanted = job.record["wanted"]
            seeds = f"{wanted['seed']} to {wanted['seed'] + wanted['replicas'] - 1}"
            commits = sorted(commit[:12] for commit in job.record["commit"].split(", "))
            device = str(job.record.get("device", "cpu"))
            key = (game, VARIANTS[name].group, seeds, device, ", ".join(commits))
            jobs.setdefault(key, []).append(job.record["seconds"]["whole"])
    rows = []
    for game in game_order(game for game, *_ in jobs):
        for (own, *rest), seconds in sorted(jobs.items()):
            if own == game:
                minutes = decimal(sum(seconds) / 60)
                rows.append([results.title(game), *rest[:2], str(len(seconds)), minutes, *rest[2:]])
    return Table("", ["Game", "Experiment", "seeds", "jobs", "minutes", "device", "commit"], rows)


# --- Files

Content = Mapping[str, Sequence[Block]]


def write_report(folder: Results, pages: Iterable[Path] = ()) -> Path:
    """Write the pages, the figures, the arena's page and the blocks of other pages.

    Args:
        folder: The results.
        pages: Files with blocks of the report between two markers, `<!-- name -->` and
            `<!-- /name -->`.

    Returns:
        The path of RESULTS.md.
    """
    report = Report(folder)
    for figure in report.plots:
        write(folder.root / figure.path, as_file(draw(figure)))
    for path, text in report.texts(pages).items():
        write(path, text)
    return folder.root / "RESULTS.md"


def differences(folder: Results, pages: Iterable[Path] = (), at_most: int = 100) -> list[str]:
    """Where the files differ from the rows.

    Args:
        folder: The results.
        pages: As of `write_report`.
        at_most: How many characters of a line that differs are quoted.
    """
    report = Report(folder)
    messages = []
    for figure in report.plots:
        path = folder.root / figure.path
        if why := fault(from_file(_existing(path)), figure):
            messages.append(f"{path}: {why}")
    for path, expected in report.texts(pages).items():
        lines = itertools.zip_longest(
            _existing(path).splitlines(), expected.splitlines(), fillvalue=""
        )
        for number, (line, other) in enumerate(lines, 1):
            if line != other:
                difference = f"{line[:at_most]!r}, not {other[:at_most]!r}"
                messages.append(f"{path}, line {number}: {difference}")
                break
    return messages


class Report:
    """The rows of a folder, and the blocks of the report that they give.

    Raises:
        InputError: There are no rows.
    """

    def __init__(self, folder: Results) -> None:
        self.root = folder.root
        self.results = results = ResultSet(folder)
        if not (results.games or results.diagnostics or results.arena):
            command = f"python -m lab reproduce --out {folder.root}"
            raise InputError(f"{folder.root}: there are no rows here; run {command} first")
        self.blocks: Content = {name: blocks(results) for name, blocks in BLOCKS.items()}
        stories = results.stories
        games = {
            "RESULTS.md": [game for game in stories if game in PAPER],
            "STORIES.md": [game for game in stories if game not in PAPER],
            "AGENTS.md": [game for game in results.games if game not in stories],
        }
        self.pages: dict[str, Content] = {
            page: {**self.blocks, **{name: block(results, own) for name, block in OF_GAMES.items()}}
            for page, own in games.items()
        }

    @property
    def plots(self) -> list[Plot]:
        """The figures of all pages."""
        contents = (content.values() for content in self.pages.values())
        blocks = itertools.chain.from_iterable(itertools.chain.from_iterable(contents))
        return list({block.path: block for block in blocks if isinstance(block, Plot)}.values())

    def texts(self, pages: Iterable[Path] = ()) -> dict[Path, str]:
        """The texts of all files."""
        texts = {}
        for name, content in self.pages.items():
            text = page_of(content, TEXTS / PAGES[name], self.root / "findings.md")
            if text.count("\n## ") or name == "RESULTS.md":
                texts[self.root / name] = text
        if self.results.arena:
            for name, text in report_files(self.results.arena).items():
                texts[self.root / ARENA / name] = text
        return texts | {page: block_text(page, self.blocks, self.root) for page in pages}


def page_of(content: Content, template: Path, findings: Path) -> str:
    """The text of a page: the template with its blocks, and the findings of each section."""
    remarks = {**_sections(_existing(findings)), "": ""}  # its own first lines are left out
    parts = []
    for title, body in _sections(read_text(template)).items():
        if not title or any(_has_rows(content[name]) for name in PLACE.findall(body)):
            text = PLACE.sub(lambda match: _markdown(content[match[1]]), body)
            parts += [f"## {title}\n\n{text}" if title else text]
            if remark := remarks.get(title):
                parts.append(remark)
    return "\n\n".join(parts) + "\n"


def _has_rows(blocks: Iterable[Block]) -> bool:
    return any(not isinstance(block, Table) or block.rows for block in blocks)


def _sections(text: str) -> dict[str, str]:
    """The text of each section by its title, which is empty for the lines before the first."""
    first, *others = re.split(r"^## ", text, flags=re.M)
    pairs = (section.split("\n", 1) for section in others)
    return {"": first.strip(), **{title: body.strip() for title, body in pairs}}


def block_text(path: Path, content: Content, root: Path) -> str:
    """The text of a page with its blocks of the report."""
    figures = Path(os.path.relpath(root / "figures", path.parent)).as_posix()
    blocks = {name: _markdown(parts) for name, parts in content.items()}
    moved = {name: text.replace("](figures/", f"]({figures}/") for name, text in blocks.items()}
    return with_blocks(path, moved)


def with_blocks(path: Path, blocks: Mapping[str, str]) -> str:
    """The text of a file with blocks between their markers, <!-- name --> and <!-- /name -->.

    Raises:
        InputError: The file has no marker, or one without its end.
    """
    names = "|".join(blocks)
    old = read_text(path)
    text, count = re.subn(
        rf"<!-- ({names}) -->.*?<!-- /\1 -->",
        lambda match: f"<!-- {match[1]} -->\n\n{blocks[match[1]]}\n\n<!-- /{match[1]} -->",
        old,
        flags=re.S,
    )
    if not count or 2 * count != len(re.findall(rf"<!-- /?(?:{names}) -->", old)):
        example = next(iter(blocks))
        raise InputError(f"{path}: needs markers: <!-- {example} -->, then <!-- /{example} -->")
    return text


def _markdown(blocks: Iterable[Block]) -> str:
    return "\n\n".join(map(markdown_block, blocks))


def _existing(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
