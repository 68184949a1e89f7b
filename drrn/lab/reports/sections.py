"""The report as a whole: one section for each experiment, from the rows alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from drrn.document import Block, Bullets, Cell, Code, Document, Section, Table
from drrn.lab.experiments.examples import examples_of
from drrn.lab.experiments.plan import (
    ABLATIONS,
    ADDED,
    BEST,
    CURVES,
    PAPER,
    SHARED,
    VARIANTS,
    Added,
    Named,
    Variant,
    game_order,
    variants_of,
)
from drrn.lab.reports.beyond import beyond_blocks
from drrn.lab.reports.claims import label
from drrn.lab.reports.encoders import encoder_blocks
from drrn.lab.reports.figures import Plot, plot
from drrn.lab.reports.headline import headline_blocks
from drrn.lab.reports.paraphrase_tables import (
    example_tables,
    paraphrase_facts,
    paraphrase_table,
    prediction_table,
)  # fmt: skip
from drrn.lab.reports.parser import parser_blocks
from drrn.lab.reports.result_set import ResultSet, decimal
from drrn.lab.reports.suites import suite_blocks
from drrn.lab.reports.tables import (
    gap_table,
    interaction_table,
    reference_table,
    score_table,
    statistics_table,
)
from drrn.settings import PAPER as PAPER_SETTINGS
from drrn.settings import Settings

TITLES = {
    "statistics": "The games",
    "scores": "Final rewards",
    "curves": "Learning curves",
    "shared": "Shared against separate embeddings",
    "interactions": "Interaction functions",
    "paraphrases": "Actions in other words",
    "examples": "Q-values of examples",
    "embeddings": "Embeddings as they are learned",
    "gaps": "How far from the best possible",
    "beyond": "Beyond the paper",
    "encoders": "Encoders",
    "parser": "Parser games",
    "suites": "Games of suites",
}
WHAT = (
    "The experiments of “Deep reinforcement learning with a natural language action space” (He et al., ACL 2016), done "
    "again by `drrn reproduce`: an agent learns to play text games from rewards alone."
)
OF_THEIR_OWN = (
    "parser",
    "suite",
)  # kinds of games that the paper's experiments are not run on unless asked for


def document(results: ResultSet) -> Document:
    """The whole report, made from the rows alone."""
    opening = [
        "Every number here is computed from the rows in `rows/` by `drrn report`; `drrn report --check` compares the "
        "two. Numbers are means over seeds, with standard deviations in brackets. The final reward is the reward of an "
        "episode's ending (0 if the step limit stopped it) under the softmax policy with the α of training. It is the "
        "exact expectation, computed from the weights; for Linear and MA DQN, whose choice depends on the order in "
        "which actions are shown, it is the mean over sampled episodes. Bold marks the best model of a column."
    ]
    if results.jobs and all(
        stored.record["wanted"]["replicas"] == 1 for stored in results.jobs.values()
    ):
        opening.append(
            "**Of one seed each**: a taste, with no deviations, and too little to judge by."
        )
    absent = [game for game in PAPER if game not in results.games]
    if absent:
        titles = " and ".join(PAPER[game] for game in absent)
        opening.append(
            f"{titles}: no rows yet. `drrn reproduce --games paper` makes them, once the games are installed."
        )
    for game in results.games:
        if game not in results.facts:
            command = f"drrn reproduce --only statistics --games {game}"
            opening.append(
                f"{results.title(game)}: what the game itself is has no rows, so no table has it: `{command}`."
            )
    sections = [
        _section(results, name, blocks) for name, blocks in _blocks(results).items() if blocks
    ]
    curves = [
        block for section in sections if section.anchor == "curves" for block in section.blocks
    ]
    above = headline_blocks(results, [block for block in curves if isinstance(block, Plot)])
    return Document("Results", [WHAT, *above, *opening], [*sections, _time(results)])


def _blocks(results: ResultSet) -> dict[str, list[Block]]:
    known = [game for game in results.games if game in results.facts]
    games = _stories(results)
    paraphrased = [game for game in games if results.fact(game, "paraphrases") is not None]
    in_words: list[Block] = [paraphrase_facts(results, paraphrased)] if paraphrased else []
    for game in paraphrased:
        in_words += [
            paraphrase_table(results, game),
            prediction_table(results, game),
            *_scatter(results, game),
        ]
    return {
        "statistics": [statistics_table(results, games)] if games else [],
        "scores": [
            table
            for game in games
            for table in (score_table(results, game), reference_table(results, game))
        ],
        "curves": [figure for game in games for figure in _curves(results, game, "curves", CURVES)],
        "shared": [
            figure for game in games for figure in _curves(results, game, "shared", (BEST, SHARED))
        ],
        "interactions": [interaction_table(results, game) for game in games],
        "paraphrases": in_words,
        "examples": [table for game in games for table in example_tables(results, game)],
        "embeddings": [figure for game in games for figure in _plane(results, game)],
        "gaps": [gap_table(results, game) for game in games],
        "beyond": beyond_blocks(results, games),
        "encoders": encoder_blocks(results, games),
        "parser": parser_blocks(results, known),
        "suites": suite_blocks(results, known),
    }


def _stories(results: ResultSet) -> list[str]:
    """The games of the paper's experiments: those whose facts are told, but for games that only an experiment with
    games of its own was run on."""
    run = {game for game, name in results.jobs if not isinstance(VARIANTS[name], Added)}
    return [
        game
        for game in results.games
        if game in results.facts
        and (game in run or results.facts[game].get("kind") not in OF_THEIR_OWN)
    ]


def _section(results: ResultSet, name: str, blocks: list[Block]) -> Section:
    games = (
        [game for game in results.games if game in results.facts]
        if name in ADDED
        else _stories(results)
    )
    missing = [
        game
        for game in games
        if any((game, v.name) not in results.jobs for v in _needed(results, game, name))
    ]
    if missing:
        command = f"drrn reproduce --only {name} --games {' '.join(missing)}"
        blocks = [
            *blocks,
            f"Rows are missing: `{command}` makes them, with the options of the others.",
        ]
    told = _told_of if name == "beyond" else _needed
    lines = [
        line for game in games if (line := settings_line(results, game, told(results, game, name)))
    ]
    parts = [Code(f"drrn reproduce --only {name}"), *blocks]
    if lines:
        parts.append(Bullets(lines, "Settings"))
    return Section(TITLES[name], parts, name)


def _needed(results: ResultSet, game: str, name: str) -> Sequence[Variant]:
    if name == "paraphrases" and results.fact(game, "paraphrases") is None:
        return ()
    needed = variants_of([name], paraphrases=True, game=game)
    if name == "encoders" and not any(
        (game, v.name) in results.jobs for v in needed if isinstance(v, Added)
    ):
        return ()  # it is run on some games only
    return [v for v in needed if not _reads_vectors(v) or (game, v.name) in results.jobs]


def _reads_vectors(variant: Variant) -> bool:
    """Whether its rows need a file of word vectors: such rows are not missed."""
    return isinstance(variant, Named) and variant.vectors


def _told_of(results: ResultSet, game: str, name: str) -> Sequence[Variant]:
    """Of what takes a part out, the table says what; the settings are those of the whole."""
    return [variant for variant in _needed(results, game, name) if variant not in ABLATIONS]


def settings_line(results: ResultSet, game: str, variants: Iterable[Variant]) -> str:
    """The settings of a game's jobs in one line; where they differ, each value with the jobs that have it."""
    records = {v: r for v in variants if (r := results.record(game, v))}
    if not records:
        return ""
    parts = []
    for name, words in SHOWN.items():
        if name == "epochs" and all(
            record["wanted"].get("learner") == "returns" for record in records.values()
        ):
            continue  # updates are counted there, not passes
        parts.append(
            f"{words} {_told({v: _value(record['wanted'], name) for v, record in records.items()})}"
        )
    unshown = UNSHOWN - set(asdict(BEST)) if all(isinstance(v, Named) for v in records) else UNSHOWN
    # In the order of the records, which is that of the published report.
    recorded = max((record["wanted"] for record in records.values()), key=len)
    defaults = PAPER_SETTINGS.flat()
    for name in (
        *(n for n in recorded if n in defaults),
        *(n for n in defaults if n not in recorded),
    ):
        usual = defaults[name]
        told = {v: _given(record, name, usual) for v, record in records.items()}
        if name not in (*SHOWN, *unshown) and set(told.values()) != {
            _given({"wanted": {}}, name, usual)
        }:
            parts.append(f"{name.replace('_', ' ')} {_told(told)}")
    seeds = _told(
        {v: _seeds(r["wanted"]["seed"], r["wanted"]["replicas"]) for v, r in records.items()}
    )
    named = {commit for record in records.values() for commit in record["commit"].split(", ")}
    commits = sorted(re.sub(r"^(\w{12})\w*", r"\1", commit) for commit in named)
    devices = {v: str(record.get("device", "cpu")) for v, record in records.items()}
    on = f"; on {_told(devices)}" * (set(devices.values()) != {"cpu"})
    return f"{results.title(game)}: {', '.join(parts)}; {seeds}{on}; commit {', '.join(commits)}"


def _seeds(seed: int, replicas: int) -> str:
    return f"seeds {seed} to {seed + replicas - 1}" if replicas > 1 else f"seed {seed}"


def _told(values: dict[Variant, str]) -> str:
    """One value for all; or each with those that have it, by model where its jobs agree."""
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    agreed = {v.model: {values[w] for w in values if w.model == v.model} for v in values}
    having: dict[str, dict[str, None]] = {}
    for variant, value in values.items():
        having.setdefault(value, {})[
            variant.model if len(agreed[variant.model]) == 1 else variant.name
        ] = None
    return ", ".join(f"{value} ({', '.join(names)})" for value, names in having.items())


SHOWN = {
    "alpha": "α", "discount": "γ", "learning_rate": "η", "rounds": "rounds", "episodes_per_round": "episodes a round",
    "epochs": "epochs", "batch_size": "batches of", "final_softmax": "final episodes",
}  # fmt: skip

UNSHOWN = {
    *asdict(BEST),
    "seed",
    "replicas",
    "evaluation_episodes",
}  # what a table's own rows say, or other words


def _value(wanted: dict[str, Any], name: str) -> str:
    if name == "learning_rate":
        return str(
            Settings.from_flat(model=wanted["model"], learning_rate=wanted[name]).learning_rate
        )
    return str(wanted[name])


def _given(record: dict[str, Any], name: str, usual: Any) -> str:
    value = record["wanted"].get(name, usual)
    if name == "vectors":
        return f"{record.get('vectors', 'a file')} with sha256 {value[:12]}" if value else "none"
    return str(value)


def _curves(results: ResultSet, game: str, name: str, variants: Sequence[Variant]) -> list[Plot]:
    lines = [
        {
            "label": label(v),
            "style": v.name,
            "points": [[x, round(m, 4), round(s, 4)] for x, m, s in results.curve(game, v)],
        }
        for v in variants
        if results.curve(game, v)
    ]
    if not lines:
        return []
    data = {
        "title": results.title(game), "lines": lines,
        "random": results.fact(game, "random_final_reward"), "best": results.fact(game, "best_final_reward"),
        "rest": results.fact(game, "one_step_at_rest"),
    }  # fmt: skip
    what = "shared and separate embeddings" if name == "shared" else "models of 100 hidden units"
    return [
        plot(
            f"{name}-{game}",
            f"{results.title(game)}: {what}; bars are standard deviations.",
            "curves",
            data,
        )
    ]


def _scatter(results: ResultSet, game: str) -> list[Plot]:
    """The scatter plot of Q-values of original and paraphrased actions: of one seed, as the paper's."""
    seeds = results.pairs(game, BEST)
    record = results.record(game, BEST)
    found = results.predictive_r2(game, BEST)
    if not (seeds and record and found):
        return []
    seed = record["wanted"]["seed"]
    points = [list(pair) for pair in seeds[0]]
    data = {"title": results.title(game), "points": points}
    caption = (
        f"{results.title(game)}: Q of original and of paraphrased actions, DRRN (L = 2) of 100 units, seed {seed}, "
        f"{len(points):,} pairs; predictive R² over all seeds {decimal(found[0].mean, 2)}."
    )
    return [plot(f"paraphrases-{game}", caption, "scatter", data)]


def _plane(results: ResultSet, game: str) -> list[Plot]:
    rows = results.rows(game, BEST, ".embeddings")
    examples = [example for example in examples_of(game) if example.embedding]
    if not rows or not examples or rows[0]["state"] != examples[0].state.mark:
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
    said = examples[0]
    caption = (
        f"{results.title(game)}, DRRN (L = 2) of 100 units, seed {seed}, on the two principal axes (the origin stays). "
        f"The state: {said.state.gloss} The good action: {said.good.gloss}. The poor one: {said.poor.gloss}."
    )
    return [plot(f"embeddings-{game}", caption.replace("..", "."), "plane", data)]


def _time(results: ResultSet) -> Section:
    """The table of computing times, by game and model."""
    rows: list[list[Cell | str]] = []
    whole = 0.0
    for game in game_order({game for game, _ in results.jobs}):
        models: dict[str, list[tuple[float, float]]] = {}
        for (of, name), stored in results.jobs.items():
            if of == game:
                seconds = stored.record["seconds"]
                models.setdefault(_family(name), []).append((seconds["whole"], seconds["learning"]))
        for model, times in sorted(models.items()):
            total = sum(t for t, _ in times)
            whole += total
            share = sum(learning for _, learning in times) / total if total else 0.0
            cells = [
                decimal(total, 0),
                decimal(total / len(times), 0),
                f"{decimal(100 * share, 0)} %",
            ]
            rows.append([results.title(game), model, str(len(times)), *cells])
    header = ["Game", "Model", "Jobs", "Seconds", "… a job", "of it playing and learning"]
    facts = sum(record["seconds"]["whole"] for record in results.told.values())
    minutes = decimal((whole + facts) / 60)
    seconds = decimal(facts, 0)
    note = (
        f"Together {minutes} minutes of one core, {seconds} seconds of them for what the games themselves are; "
        "jobs run side by side."
    )
    table = Table("Seconds of computing, all seeds", header, rows, [note])
    return Section("Where the time goes", [table], "time")


FAMILIES = ("per-action", "max-action", "linear", "table", "drrn", "strong", "parser", "suite")


def _family(name: str) -> str:
    return next(model for model in FAMILIES if name.startswith(model))
