"""The report: one section per experiment, computed from the rows alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from drrn.document import Block, Bullets, Cell, Code, Document, Section, Table
from drrn.lab.experiments.plan import (
    ABLATIONS,
    ADDED,
    BEST,
    CURVES,
    PAPER,
    SHAPE,
    SHARED,
    VARIANTS,
    Variant,
    examples_of,
    game_order,
    variants_of,
)
from drrn.lab.reports import tables
from drrn.lab.reports.beyond import beyond_blocks, encoder_blocks, parser_blocks, suite_blocks
from drrn.lab.reports.claims import headline_blocks, label
from drrn.lab.reports.figures import Plot, curve_line, plot
from drrn.lab.reports.result_set import ResultSet, decimal
from drrn.settings import PAPER as PAPER_SETTINGS
from drrn.settings import Settings

TITLES = {
    "statistics": "The games",
    "scores": "Final rewards",
    "curves": "Learning curves",
    "shared": "Shared and separate embeddings",
    "interactions": "Interaction functions",
    "paraphrases": "Paraphrased actions",
    "examples": "Q-values of examples",
    "embeddings": "Embeddings during training",
    "gaps": "Distance from the best possible score",
    "beyond": "Beyond the paper",
    "encoders": "Encoders",
    "parser": "Parser games",
    "suites": "Games of suites",
}
INTRODUCTION = (
    "The experiments of “Deep reinforcement learning with a natural language action space” (He et "
    "al., ACL 2016), reproduced by `drrn reproduce`: an agent learns to play text games from "
    "rewards alone."
)
METHOD = (
    "Every number is computed from the rows in `rows/` by `drrn report`; `drrn report --check` "
    "compares the two. Numbers are means over seeds, with standard deviations in brackets. The "
    "final reward is the reward of an episode's ending (0 if the step limit stopped it) under the "
    "softmax policy with the α of training. It is the exact expectation, computed from the "
    "weights; for Linear and MA DQN, whose choice depends on the order of the actions on a page, "
    "it is the mean over sampled episodes. Bold marks the best model of a column."
)
SEPARATE_KINDS = ("parser", "suite")  # games that the paper's experiments run on only on request
FAMILIES = ("per-action", "max-action", "linear", "table", "drrn", "strong", "parser", "suite")
SETTINGS = {  # settings that are listed for every section
    "alpha": "α",
    "discount": "γ",
    "learning_rate": "η",
    "rounds": "rounds",
    "episodes_per_round": "episodes per round",
    "epochs": "epochs",
    "batch_size": "batches of",
    "final_softmax": "final episodes",
}
# Settings that are not listed: the tables show them, or other words do.
HIDDEN_SETTINGS = {*SHAPE, "seed", "replicas", "evaluation_episodes"}


def document(results: ResultSet) -> Document:
    """Return the whole report."""
    notes = [METHOD]
    records = [job.record for job in results.jobs.values()]
    if records and all(record["wanted"]["replicas"] == 1 for record in records):
        notes.append("**One seed each**: a preview without deviations, too little to judge by.")
    if absent := [title for game, title in PAPER.items() if game not in results.games]:
        notes.append(
            f"{' and '.join(absent)}: no rows yet. Install the games, then run "
            "`drrn reproduce --games paper`."
        )
    for game in results.games:
        if game not in results.facts:
            command = f"drrn reproduce --only statistics --games {game}"
            notes.append(
                f"{results.title(game)} is in no table, because its statistics have no rows: "
                f"`{command}`."
            )
    blocks = _blocks(results)
    sections = [_section(results, name, parts) for name, parts in blocks.items() if parts]
    curves = [block for block in blocks["curves"] if isinstance(block, Plot)]
    opening = [INTRODUCTION, *headline_blocks(results, curves), *notes]
    return Document("Results", opening, [*sections, _time_section(results)])


def _blocks(results: ResultSet) -> dict[str, list[Block]]:
    """Return the tables and figures of each section."""
    blocks: dict[str, list[Block]] = {name: [] for name in TITLES}
    games = _paper_experiment_games(results)
    paraphrased = [game for game in games if results.fact(game, "paraphrases") is not None]
    if games:
        blocks["statistics"].append(tables.statistics_table(results, games))
    if paraphrased:
        blocks["paraphrases"].append(tables.paraphrase_facts(results, paraphrased))
    for game in games:
        blocks["scores"].append(tables.score_table(results, game))
        blocks["scores"].append(tables.reference_table(results, game))
        blocks["curves"] += _curves(results, game, "curves", CURVES)
        blocks["shared"] += _curves(results, game, "shared", (BEST, SHARED))
        blocks["interactions"].append(tables.interaction_table(results, game))
        if game in paraphrased:
            blocks["paraphrases"].append(tables.paraphrase_table(results, game))
            blocks["paraphrases"].append(tables.prediction_table(results, game))
            blocks["paraphrases"] += _scatter(results, game)
        for example in examples_of(game):
            blocks["examples"].append(tables.example_table(results, example))
        blocks["embeddings"] += _plane(results, game)
        blocks["gaps"].append(tables.gap_table(results, game))
    all_games = [game for game in results.games if game in results.facts]
    blocks["beyond"] += beyond_blocks(results, games)
    blocks["encoders"] += encoder_blocks(results, games)
    blocks["parser"] += parser_blocks(results, all_games)
    blocks["suites"] += suite_blocks(results, all_games)
    return blocks


def _paper_experiment_games(results: ResultSet) -> list[str]:
    """Return the games of the paper's experiments; parser games and suites only if run."""
    run = {game for game, name in results.jobs if VARIANTS[name].group not in ADDED}
    games = []
    for game in results.games:
        is_story = results.facts.get(game, {}).get("kind") not in SEPARATE_KINDS
        if game in results.facts and (game in run or is_story):
            games.append(game)
    return games


def _section(results: ResultSet, name: str, blocks: list[Block]) -> Section:
    games = _paper_experiment_games(results)
    if name in ("parser", "suites"):
        games = [game for game in results.games if game in results.facts]
    parts = [Code(f"drrn reproduce --only {name}"), *blocks]
    missing = []
    lines = []
    for game in games:
        variants = _needed(results, game, name)
        if len(results.jobs_of(game, variants)) < len(variants):
            missing.append(game)
        if name == "beyond":  # the tables describe what each ablation removes
            variants = [variant for variant in variants if variant not in ABLATIONS]
        if line := settings_line(results, game, variants):
            lines.append(line)
    if missing:
        command = f"drrn reproduce --only {name} --games {' '.join(missing)}"
        parts.append(f"Rows are missing: run `{command}` with the options of the other rows.")
    if lines:
        parts.append(Bullets(lines, "Settings"))
    return Section(TITLES[name], parts, name)


def _needed(results: ResultSet, game: str, name: str) -> Sequence[Variant]:
    """Return the jobs of a section; those that need word vectors only if they have rows."""
    if name == "paraphrases" and results.fact(game, "paraphrases") is None:
        return ()
    variants = variants_of([name], paraphrases=True, game=game)
    added = [variant for variant in variants if variant.group in ADDED]
    if name == "encoders" and not results.jobs_of(game, added):
        return ()  # encoders are compared on some games only
    optional = {variant for variant in variants if variant.vectors}
    optional -= set(results.jobs_of(game, variants))
    return [variant for variant in variants if variant not in optional]


def settings_line(results: ResultSet, game: str, variants: Iterable[Variant]) -> str:
    """Describe the settings of a game's jobs; values that differ are followed by their jobs."""
    records = {variant: record for variant in variants if (record := results.record(game, variant))}
    if not records:
        return ""
    parts = []
    by_returns = all(r["wanted"].get("learner") == "returns" for r in records.values())
    for name, text in SETTINGS.items():
        if name == "epochs" and by_returns:
            continue  # this learner counts updates
        values = {v: _listed_value(record["wanted"], name) for v, record in records.items()}
        parts.append(f"{text} {_group(values)}")
    parts += _other_settings(records)
    seeds = {v: _seeds(r["wanted"]["seed"], r["wanted"]["replicas"]) for v, r in records.items()}
    commits = {commit for record in records.values() for commit in record["commit"].split(", ")}
    short = sorted(re.sub(r"^(\w{12})\w*", r"\1", commit) for commit in commits)
    devices = {v: str(record.get("device", "cpu")) for v, record in records.items()}
    device = "" if set(devices.values()) == {"cpu"} else f"; on {_group(devices)}"
    line = f"{', '.join(parts)}; {_group(seeds)}{device}; commit {', '.join(short)}"
    return f"{results.title(game)}: {line}"


def _other_settings(records: dict[Variant, dict[str, Any]]) -> list[str]:
    """Describe the settings that differ from the paper's, in the order of the records."""
    hidden = {*SETTINGS, *HIDDEN_SETTINGS}
    if all(variant.job for variant in records):
        hidden -= set(SHAPE) - set(SETTINGS)
    defaults = PAPER_SETTINGS.flat()
    longest = max((record["wanted"] for record in records.values()), key=len)
    names = [name for name in longest if name in defaults]
    names += [name for name in defaults if name not in longest]
    parts = []
    for name in names:
        values = {v: _value(record, name, defaults[name]) for v, record in records.items()}
        default = _value({"wanted": {}}, name, defaults[name])
        if name not in hidden and set(values.values()) != {default}:
            parts.append(f"{name.replace('_', ' ')} {_group(values)}")
    return parts


def _seeds(seed: int, replicas: int) -> str:
    return f"seeds {seed} to {seed + replicas - 1}" if replicas > 1 else f"seed {seed}"


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


def _value(record: dict[str, Any], name: str, default: Any) -> str:
    value = record["wanted"].get(name, default)
    if name == "vectors":
        return f"{record.get('vectors', 'a file')} with sha256 {value[:12]}" if value else "none"
    return str(value)


def _curves(results: ResultSet, game: str, name: str, variants: Sequence[Variant]) -> list[Plot]:
    curves = {variant: results.curve(game, variant) for variant in variants}
    lines = [curve_line(label(v), v.name, points) for v, points in curves.items() if points]
    if not lines:
        return []
    data = {
        "title": results.title(game),
        "lines": lines,
        "random": results.fact(game, "random_final_reward"),
        "best": results.fact(game, "best_final_reward"),
        "rest": results.fact(game, "one_step_at_rest"),
    }
    models = "shared and separate embeddings" if name == "shared" else "models of 100 hidden units"
    caption = f"{results.title(game)}: {models}; bars are standard deviations."
    return [plot(f"{name}-{game}", caption, "curves", data)]


def _scatter(results: ResultSet, game: str) -> list[Plot]:
    """Plot Q-values of original and paraphrased actions, of one seed as in the paper."""
    seeds = results.pairs(game, BEST)
    record = results.record(game, BEST)
    r2 = results.predictive_r2(game, BEST)
    if not (seeds and record and r2):
        return []
    points = [list(pair) for pair in seeds[0]]
    caption = (
        f"{results.title(game)}: Q of original and of paraphrased actions, DRRN (L = 2) of 100 "
        f"units, seed {record['wanted']['seed']}, {len(points):,} pairs; predictive R² over all "
        f"seeds {decimal(r2[0].mean, 2)}."
    )
    data = {"title": results.title(game), "points": points}
    return [plot(f"paraphrases-{game}", caption, "scatter", data)]


def _plane(results: ResultSet, game: str) -> list[Plot]:
    """Plot the embeddings of an example on their two principal axes, during training."""
    rows = results.rows(game, BEST, ".embeddings")
    example = next((example for example in examples_of(game) if example.embedding), None)
    if not rows or example is None or rows[0]["state"] != example.state.mark:
        return []
    seed = rows[0]["seed"]
    looks: dict[int, dict[str, list[float | None]]] = {}
    for row in rows:
        if row["seed"] == seed:
            looks.setdefault(row["episodes"], {})[row["role"]] = [row["x"], row["y"], row["q"]]
    data = {
        "title": results.title(game),
        "looks": [{"episodes": episodes, **points} for episodes, points in sorted(looks.items())],
    }
    caption = (
        f"{results.title(game)}, DRRN (L = 2) of 100 units, seed {seed}, on the two principal axes "
        f"(the origin is fixed). The state: {example.state.gloss} The good action: "
        f"{example.good.gloss}. The poor one: {example.poor.gloss}."
    )
    return [plot(f"embeddings-{game}", caption.replace("..", "."), "plane", data)]


def _time_section(results: ResultSet) -> Section:
    """Return the table of computing times, by game and model."""
    rows: list[list[Cell | str]] = []
    whole = 0.0
    for game in game_order({game for game, _ in results.jobs}):
        families: dict[str, list[dict[str, float]]] = {}
        for (other, name), job in results.jobs.items():
            if other == game:
                family = next(family for family in FAMILIES if name.startswith(family))
                families.setdefault(family, []).append(job.record["seconds"])
        for family, times in sorted(families.items()):
            total = sum(seconds["whole"] for seconds in times)
            whole += total
            share = sum(seconds["learning"] for seconds in times) / total if total else 0.0
            row = [results.title(game), family, str(len(times)), decimal(total, 0)]
            rows.append([*row, decimal(total / len(times), 0), f"{decimal(100 * share, 0)} %"])
    header = ["Game", "Model", "Jobs", "Seconds", "… per job", "of it playing and learning"]
    facts = sum(record["seconds"]["whole"] for record in results.fact_records.values())
    note = (
        f"In all {decimal((whole + facts) / 60)} minutes of one core, {decimal(facts, 0)} seconds "
        "of them for the statistics of the games; jobs run in parallel."
    )
    table = Table("Computing time in seconds, all seeds", header, rows, [note])
    return Section("Computing time", [table], "time")
