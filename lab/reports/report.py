"""The report: RESULTS.md, the figures and tables in other pages, written from rows or checked.

report.md has the text. A line `{{ name }}` in it stands for the tables and figures of BLOCKS. A
section whose lines are all without rows is left out. Sentences about the numbers are written by
hand in findings.md of the results folder: each section ends with its paragraphs there.

To add a section, write a function from the rows to blocks, add it to BLOCKS, and add a section to
report.md.
"""

import itertools
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from drrn.settings import Settings
from lab.experiments import plan
from lab.experiments.results import ARENA, Results
from lab.reports import beyond, paper
from lab.reports.diagnostics import diagnostics_blocks
from lab.reports.figures import Plot, as_file, draw, fault, from_file
from lab.reports.published import published_blocks
from lab.reports.result_set import ResultSet, decimal
from textgames.document import MISSING, Block, Cell, Table, markdown_block
from textgames.errors import InputError
from textgames.files import read_text, write
from textgames_arena.report import report_files

BLOCKS: dict[str, Callable[[ResultSet], Sequence[Block]]] = {
    "headline": lambda results: [paper.headline_table(results)],
    "statistics": paper.statistics_table,
    "scores": paper.scores_tables,
    "curves": lambda results: paper.curves(results, "curves", "models of 100 hidden units"),
    "shared": lambda results: paper.curves(results, "shared", "shared and separate embeddings"),
    "interactions": paper.interaction_tables,
    "paraphrases": paper.paraphrases_blocks,
    "examples": paper.examples_tables,
    "embeddings": paper.embeddings_figures,
    "gaps": paper.gap_tables,
    "beyond": beyond.strong_blocks,
    "parts": beyond.part_tables,
    "encoders": beyond.encoders_blocks,
    "parser": beyond.parser_blocks,
    "suites": beyond.suites_table,
    "published": published_blocks,
    "diagnostics": lambda results: diagnostics_blocks(results.diagnostics),
    "reading": beyond.reading_tables,
    "arena": lambda results: [results.arena.table()] if results.arena else [],
    "time": lambda results: [time_table(results)],
    "settings": lambda results: [settings_table(results)],
}
TEMPLATE = Path(__file__).with_name("report.md")
PLACE = re.compile(r"^{{ (\w+) }}$", re.M)
FAMILIES = "per-action max-action linear table drrn strong parser suite published reading".split()
SETTINGS = {
    "alpha": "α",
    "discount": "γ",
    "learning_rate": "η",
    "rounds": "rounds",
    "episodes_per_round": "episodes per round",
    "interactions": "interactions",
    "epochs": "epochs",
    "batch_size": "batches of",
    "final_softmax": "final episodes",
}


def _family(job: str) -> str:
    return next((each for each in FAMILIES if job.startswith(each)), job)


def time_table(results: ResultSet) -> Table:
    """The computing times, by game and family of jobs."""
    families: dict[tuple[str, str], list[dict[str, float]]] = {}
    for (game, name), job in results.jobs.items():
        families.setdefault((game, _family(name)), []).append(job.record["seconds"])
    rows: list[list[Cell | str]] = []
    whole = 0.0
    order = plan.game_order(game for game, _ in families)
    for game, family in sorted(families, key=lambda key: (order.index(key[0]), key[1])):
        times = families[game, family]
        total = sum(seconds["whole"] for seconds in times)
        whole += total
        share = sum(seconds["learning"] for seconds in times) / total if total else 0.0
        row = [results.title(game), family, str(len(times)), decimal(total, 0)]
        rows.append([*row, decimal(total / len(times), 0), f"{decimal(100 * share, 0)} %"])
    header = ["Game", "Model", "Jobs", "Seconds", "… per job", "of it playing and learning"]
    facts = sum(record["seconds"]["whole"] for record in results.fact_records.values())
    total_minutes = decimal((whole + facts) / 60)
    note = f"All jobs: {total_minutes} minutes, with {decimal(facts, 0)} seconds for statistics."
    return Table("Computing time in seconds, all seeds", header, rows, [note])


def settings_table(results: ResultSet) -> Table:
    """The main settings, seeds, device and commits of all jobs, by game."""
    jobs: dict[tuple[str, ...], list[str]] = {}
    for (game, name), job in results.jobs.items():
        jobs.setdefault((game, *_settings_cells(job.record)), []).append(name)
    order = plan.game_order(game for game, *_ in jobs)
    rows = []
    for key in sorted(jobs, key=lambda key: order.index(key[0])):
        rows.append([results.title(key[0]), _names(jobs[key]), *key[1:]])
    header = ["Game", "Jobs", *SETTINGS.values(), "seeds", "device", "commit"]
    return Table("", header, rows, align="ll" + "r" * (len(header) - 2))


def _settings_cells(record: dict[str, Any]) -> list[str]:
    wanted = record["wanted"]
    unused = {"episodes_per_round" if wanted.get("interactions") else "interactions"}
    if wanted.get("learner") == "returns":
        unused.add("epochs")  # it counts updates
    rate = {"model": wanted["model"], "learning_rate": wanted["learning_rate"]}
    values = {**wanted, "learning_rate": Settings.from_flat(**rate).learning_rate}
    cells = [MISSING if name in unused else str(values[name]) for name in SETTINGS]
    seeds = range(wanted["seed"], wanted["seed"] + wanted["replicas"])
    commits = sorted(commit[:12] for commit in record["commit"].split(", "))
    cells.append(plan.seeds_text(seeds).removeprefix("seeds ").removeprefix("seed "))
    return [*cells, str(record.get("device", "cpu")), ", ".join(commits)]


def _names(jobs: Iterable[str]) -> str:
    """The families of jobs with the rest of their names: drrn (1x20, 2x20)."""
    families: dict[str, list[str]] = {}
    for job in sorted(jobs):
        family = _family(job)
        families.setdefault(family, []).append(job.removeprefix(family).strip("-"))
    names = []
    for family, kinds in families.items():
        rest = ", ".join(filter(None, kinds))
        names.append(f"{family} ({rest})" if rest else family)
    return ", ".join(names)


# --- Files

Content = Mapping[str, Sequence[Block]]


def write_report(folder: Results, pages: Iterable[Path] = ()) -> Path:
    """Write RESULTS.md, the figures, the arena's page and the blocks of other pages.

    Args:
        folder: The results.
        pages: Files with blocks of the report between two markers, `<!-- name -->` and
            `<!-- /name -->`.

    Returns:
        The path of RESULTS.md.
    """
    results, content = read_rows(folder)
    for figure in _plots(content):
        write(folder.root / figure.path, as_file(draw(figure)))
    for path, text in _texts(folder, results, content, pages).items():
        write(path, text)
    return folder.root / "RESULTS.md"


def differences(folder: Results, pages: Iterable[Path] = (), at_most: int = 100) -> list[str]:
    """Where the files differ from the rows.

    Args:
        folder: The results.
        pages: As of `write_report`.
        at_most: How many characters of a line that differs are quoted.
    """
    results, content = read_rows(folder)
    messages = []
    for figure in _plots(content):
        path = folder.root / figure.path
        if why := fault(from_file(_existing(path)), figure):
            messages.append(f"{path}: {why}")
    for path, expected in _texts(folder, results, content, pages).items():
        lines = itertools.zip_longest(
            _existing(path).splitlines(), expected.splitlines(), fillvalue=""
        )
        for number, (line, other) in enumerate(lines, 1):
            if line != other:
                difference = f"{line[:at_most]!r}, not {other[:at_most]!r}"
                messages.append(f"{path}, line {number}: {difference}")
                break
    return messages


def read_rows(folder: Results) -> tuple[ResultSet, Content]:
    """The rows of a folder, and the blocks of the report that they give.

    Raises:
        InputError: There are no rows.
    """
    results = ResultSet(folder)
    if not (results.games or results.diagnostics or results.arena):
        command = f"python -m lab reproduce --out {folder.root}"
        raise InputError(f"{folder.root}: there are no rows here; run {command} first")
    return results, {name: blocks(results) for name, blocks in BLOCKS.items()}


def _plots(content: Content) -> Iterable[Plot]:
    blocks = itertools.chain.from_iterable(content.values())
    return [block for block in blocks if isinstance(block, Plot)]


def _texts(
    folder: Results, results: ResultSet, content: Content, pages: Iterable[Path]
) -> dict[Path, str]:
    texts = {folder.root / "RESULTS.md": results_text(content, folder.root / "findings.md")}
    if results.arena:
        for name, text in report_files(results.arena).items():
            texts[folder.root / ARENA / name] = text
    for page in pages:
        texts[page] = page_text(page, content, folder.root)
    return texts


def results_text(content: Content, findings: Path) -> str:
    """The text of RESULTS.md: the template with its blocks, and the findings of each section."""
    remarks = {**_sections(_existing(findings)), "": ""}  # its own first lines are left out
    parts = []
    for title, body in _sections(TEMPLATE.read_text(encoding="utf-8")).items():
        if any(_has_rows(content[name]) for name in PLACE.findall(body)):
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


def page_text(path: Path, content: Content, root: Path) -> str:
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
