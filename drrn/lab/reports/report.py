"""The report: RESULTS.md, report.html and the figures, written from the rows or compared with them.

To add a section, write a function from the rows to blocks, add it to SECTIONS under the name of
its experiment, and add a title to prose.toml.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from drrn.arena.report import report_files
from drrn.document import (
    Block,
    Bullets,
    Cell,
    Code,
    Document,
    Figure,
    Section,
    Table,
    figures,
    markdown_block,
    to_html,
    to_markdown,
)
from drrn.errors import InputError
from drrn.files import write
from drrn.lab.experiments import plan
from drrn.lab.experiments.plan import Variant
from drrn.lab.experiments.results import ARENA, Results
from drrn.lab.reports import beyond, paper
from drrn.lab.reports.beyond import (
    diagnostics_block,
    diagnostics_section,
    parts_block,
    reading_block,
)
from drrn.lab.reports.claims import headline_blocks, with_blocks, with_headline
from drrn.lab.reports.figures import Plot, as_file, draw, fault, from_file, inside_page
from drrn.lab.reports.published import published_section
from drrn.lab.reports.result_set import ResultSet, decimal
from drrn.lab.reports.texts import PROSE, SETTINGS, TITLES
from drrn.pages import rendered, safe_markup
from drrn.settings import Settings


def _each_story(table: Callable[[ResultSet, str], Table]) -> Callable[[ResultSet], list[Block]]:
    return lambda results: [table(results, game) for game in results.stories]


SECTIONS: dict[str, Callable[[ResultSet], list[Block]]] = {
    "statistics": paper.statistics_section,
    "scores": paper.scores_section,
    "curves": partial(paper.curves_section, name="curves"),
    "shared": partial(paper.curves_section, name="shared"),
    "interactions": _each_story(paper.interaction_table),
    "paraphrases": paper.paraphrases_section,
    "examples": paper.examples_section,
    "embeddings": paper.embeddings_section,
    "gaps": _each_story(paper.gap_table),
    "beyond": beyond.beyond_section,
    "encoders": beyond.encoders_section,
    "parser": beyond.parser_section,
    "suites": beyond.suites_section,
    "published": published_section,
    "diagnostics": diagnostics_section,
    "reading": beyond.reading_section,
    "arena": lambda results: [results.arena.table()] if results.arena else [],
}
FAMILIES = "per-action max-action linear table drrn strong parser suite published reading".split()


def document(results: ResultSet) -> Document:
    """Return the whole report."""
    notes = [PROSE["method"]]
    records = [job.record for job in results.jobs.values()]
    if records and all(record["wanted"]["replicas"] == 1 for record in records):
        notes.append(PROSE["one_seed"])
    if absent := [title for game, title in plan.PAPER.items() if game not in results.games]:
        notes.append(PROSE["no_games"].format(titles=" and ".join(absent)))
    for game in results.games:
        if game not in results.known:
            notes.append(PROSE["no_facts"].format(title=results.title(game), game=game))
    blocks = {name: section(results) for name, section in SECTIONS.items()}
    sections = [_section(results, name, parts) for name, parts in blocks.items() if parts]
    figures = [*blocks["curves"], *blocks["beyond"]]
    opening = [*headline_blocks(results, figures), PROSE["introduction"], *notes]
    return Document("Results", opening, [*sections, _time_section(results)])


def _section(results: ResultSet, name: str, blocks: list[Block]) -> Section:
    parts = [Code(f"drrn reproduce --only {name}"), *blocks]
    missing = []
    lines = []
    for game in results.known if name in plan.ADDED else results.stories:
        variants = _needed(results, game, name)
        if len(results.jobs_of(game, variants)) < len(variants):
            missing.append(game)
        if name == "beyond":  # the tables describe what each ablation removes
            variants = [variant for variant in variants if variant not in plan.ABLATIONS]
        if line := settings_line(results, game, variants):
            lines.append(line)
    if missing:
        parts.append(PROSE["missing"].format(name=name, games=" ".join(missing)))
    if lines:
        parts.append(Bullets(lines, "Main settings (`rows/GAME/JOB.json` has all)"))
    return Section(TITLES[name], parts, name)


def _needed(results: ResultSet, game: str, name: str) -> Sequence[Variant]:
    """Return the jobs of a section; those that need word vectors only if they have rows."""
    if name == "paraphrases" and not results.has_paraphrases(game):
        return ()
    if name in ("encoders", "suites") and not results.jobs_of(game, plan.ADDED[name]):
        return ()  # these run on some games only
    variants = plan.variants_of([name], paraphrases=True, game=game)
    present = results.jobs_of(game, variants)
    return [variant for variant in variants if variant in present or not variant.vectors]


# --- Settings of jobs, in a line


def settings_line(results: ResultSet, game: str, variants: Iterable[Variant]) -> str:
    """Describe the main settings of a game's jobs; the record of a job has all."""
    records = {variant: record for variant in variants if (record := results.record(game, variant))}
    if not records:
        return ""
    parts = []
    wanted = {variant: record["wanted"] for variant, record in records.items()}
    by_interactions = any(settings.get("interactions") for settings in wanted.values())
    by_returns = all(settings.get("learner") == "returns" for settings in wanted.values())
    for name, text in SETTINGS.items():
        if name == "epochs" and by_returns:
            continue  # this learner counts updates
        if name == ("episodes_per_round" if by_interactions else "interactions"):
            continue  # it does not limit the training
        values = {v: _listed_value(settings, name) for v, settings in wanted.items()}
        parts.append(f"{text} {_group(values)}")
    seeds = {}
    for variant, settings in wanted.items():
        end = settings["seed"] + settings["replicas"]
        seeds[variant] = plan.seeds_text(range(settings["seed"], end))
    commits = {commit for record in records.values() for commit in record["commit"].split(", ")}
    short = sorted(re.sub(r"^(\w{12})\w*", r"\1", commit) for commit in commits)
    devices = {v: str(record.get("device", "cpu")) for v, record in records.items()}
    device = "" if set(devices.values()) == {"cpu"} else f"; on {_group(devices)}"
    line = f"{', '.join(parts)}; {_group(seeds)}{device}; commit {', '.join(short)}"
    return f"{results.title(game)}: {line}"


def _group(values: dict[Variant, str]) -> str:
    """Return the value of all jobs; or each value with its jobs, by model if its jobs agree."""
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    of_model: dict[str, set[str]] = {}
    for variant, value in values.items():
        of_model.setdefault(variant.model, set()).add(value)
    names: dict[str, dict[str, None]] = {}
    for variant, value in values.items():
        name = variant.model if len(of_model[variant.model]) == 1 else variant.name
        names.setdefault(value, {})[name] = None
    return ", ".join(f"{value} ({', '.join(group)})" for value, group in names.items())


def _listed_value(wanted: dict[str, Any], name: str) -> str:
    if name != "learning_rate":
        return str(wanted[name])
    return str(Settings.from_flat(model=wanted["model"], learning_rate=wanted[name]).learning_rate)


def _time_section(results: ResultSet) -> Section:
    """Return the table of computing times, by game and model."""
    families: dict[tuple[str, str], list[dict[str, float]]] = {}
    for (game, name), job in results.jobs.items():
        family = next((each for each in FAMILIES if name.startswith(each)), name)
        families.setdefault((game, family), []).append(job.record["seconds"])
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
    note = PROSE["time"].format(minutes=decimal((whole + facts) / 60), facts=decimal(facts, 0))
    table = Table("Computing time in seconds, all seeds", header, rows, [note])
    return Section("Computing time", [table], "time")


# --- Files

MAX_SHOWN = 100  # characters of a line that differs


def write_report(folder: Results, **pages: Path | None) -> list[Path]:
    """Write RESULTS.md, report.html and the figures; return the paths of the two reports.

    `pages` are files with a block of the report between two markers: readme (the headline), beyond
    (tables of the strong agent and of readers), diagnostics, arena.
    """
    results = _result_set(folder)
    whole = document(results)
    drawings = {figure.name: draw(figure) for figure in _plots(whole)}
    for name, svg in drawings.items():
        write(folder.root / "figures" / f"{name}.svg", as_file(svg))
    reports = _reports(folder, whole, drawings)
    for path, text in {**reports, **_other_files(folder, results, pages)}.items():
        write(path, text)
    return list(reports)


def differences(folder: Results, **pages: Path | None) -> list[str]:
    """Return where the files differ from the rows. Nothing is drawn, so no Matplotlib is needed."""
    results = _result_set(folder)
    whole = document(results)
    messages = []
    drawings = {}
    for figure in _plots(whole):
        path = folder.root / "figures" / f"{figure.name}.svg"
        svg = from_file(_read(path))
        drawings[figure.name] = svg
        if why := fault(svg, figure):
            messages.append(f"{path}: {why}")
    texts = {**_reports(folder, whole, drawings), **_other_files(folder, results, pages)}
    for path, expected in texts.items():
        pairs = itertools.zip_longest(_read(path).splitlines(), expected.splitlines(), fillvalue="")
        for number, (line, other) in enumerate(pairs, 1):
            if line != other:
                difference = f"{line[:MAX_SHOWN]!r}, not {other[:MAX_SHOWN]!r}"
                messages.append(f"{path}, line {number}: {difference}")
                break
    return messages


def _reports(folder: Results, whole: Document, drawings: Mapping[str, str]) -> dict[Path, str]:
    page = results_page(whole, drawings)
    markdown = results_markdown(whole)
    return {folder.root / "RESULTS.md": markdown, folder.root / "report.html": page}


def _other_files(
    folder: Results, results: ResultSet, pages: Mapping[str, Path | None]
) -> dict[Path, str]:
    """Return the arena's files, and the texts of files that have a block of the report."""
    texts = {}
    if results.arena:
        files = report_files(results.arena)
        texts = {folder.root / ARENA / name: text for name, text in files.items()}
    if readme := pages.get("readme"):
        texts[readme] = with_headline(readme, results, folder.root)
    if beyond := pages.get("beyond"):
        tables = {"parts": parts_block(results), "reading": reading_block(results)}
        texts[beyond] = with_blocks(beyond, **tables)
    if diagnostics := pages.get("diagnostics"):
        texts[diagnostics] = with_blocks(diagnostics, diagnostics=diagnostics_block(results))
    if arena := pages.get("arena"):
        texts[arena] = with_blocks(arena, arena=_arena_block(results))
    return texts


def _arena_block(results: ResultSet) -> str:
    if results.arena is None:
        return PROSE["no_arena"]
    figure = f"![Normalised scores with intervals](../results/{ARENA}/scores.svg)"
    return f"{markdown_block(results.arena.table())}\n\n{figure}"


def results_markdown(document: Document) -> str:
    """Return the report as Markdown; figures are shown in their sections only."""
    blocks = [block for block in document.blocks if not isinstance(block, Figure)]
    return to_markdown(replace(document, blocks=blocks), contents=True)


def results_page(document: Document, drawings: Mapping[str, str]) -> str:
    """Return the report as one HTML page with its figures; `drawings` are their SVGs by name."""
    blocks = [_for_page(block, drawings, "above") for block in document.blocks]
    sections = [
        replace(section, blocks=[_for_page(block, drawings, "") for block in section.blocks])
        for section in document.sections
    ]
    whole = replace(document, blocks=blocks, sections=sections)
    body = safe_markup(to_html(whole, contents=True))
    return rendered("report.html", title=document.title, body=body)


def _for_page(block: Block, drawings: Mapping[str, str], prefix: str) -> Block:
    """Put the drawing into a figure; print the paper's columns in grey."""
    if isinstance(block, Table):
        return replace(block, muted=[name for name in block.header if name.endswith("paper")])
    if isinstance(block, Plot):
        return replace(block, svg=inside_page(drawings[block.name], prefix or block.name))
    return block


def _plots(document: Document) -> list[Plot]:
    return [figure for figure in figures(document) if isinstance(figure, Plot)]


def _result_set(folder: Results) -> ResultSet:
    results = ResultSet(folder)
    if not (results.games or results.diagnostics or results.arena):
        command = f"drrn reproduce --out {folder.root}"
        raise InputError(f"{folder.root}: there are no rows here; run {command} first")
    return results


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
