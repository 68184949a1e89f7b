"""The experiment `beyond`: jobs of the strong recipe, their rows and their report."""

import csv
import itertools
import json
import shutil

import pytest

import drrn
from drrn.settings import STRONG_CHANGES
from drrn.vectors import open_vectors
from lab.experiments.plan import (
    ABLATIONS,
    BEST,
    BEYOND,
    LONG,
    STRONG_JOB,
    VECTORS,
    Scale,
    settings_of,
    variants_of,
)
from lab.experiments.results import EVALUATIONS, Results
from lab.reports.agents import strong_table
from lab.reports.paper import headline_table
from lab.reports.result_set import ResultSet
from tests.commands import main
from textgames.document import Cell

TINY = {"rounds": 2, "episodes_per_round": 20, "evaluation_episodes": 5, "updates": 3, "hidden": 8}
SET = [f"{name}={value}" for name, value in TINY.items() if name != "hidden"]
COMMAND = ["reproduce", "--quick", "--jobs", "1", "--set", *SET, "--games", "long-watch"]
pytestmark = pytest.mark.usefixtures("jobs_in_process")


def settings(variant, game="night-market", **options):
    return settings_of(game, variant, drrn.make(game), Scale(**options))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "small.txt"
    words = ("the", "a", "to", "of", "her", "wait", "ask", "tell", "go", "light")
    lines = [f"{word} {number}.5 {10 - number} 1\n" for number, word in enumerate(words)]
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def finished_results(tmp_path_factory, vectors):
    """Folder of results that the command wrote."""
    out = tmp_path_factory.mktemp("finished") / "results"
    command = [*COMMAND, "--only", "beyond", "drrn-2x100", "--seeds", "2"]
    assert main([*command, "--vectors", str(vectors), "--out", str(out)]) == 0
    return out


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


# The plan


def test_a_strong_job_has_the_strong_recipe_and_ten_seeds():
    strong = settings(STRONG_JOB)
    without_survey = {name: v for name, v in STRONG_CHANGES.items() if name != "survey"}
    assert without_survey.items() <= strong.flat().items()
    assert strong.run.seeds == list(range(10))
    assert strong.run.rounds * strong.run.episodes_per_round == 4_000
    assert settings(LONG).run.rounds * settings(LONG).run.episodes_per_round == 20_000


def test_each_ablation_changes_only_the_settings_that_it_names():
    strong = settings(STRONG_JOB).flat()
    for variant in ABLATIONS:
        flat = settings(variant).flat()
        changes = {name: value for name, value in flat.items() if value != strong[name]}
        expected = {name: variant.settings[name] for name in variant.changes}
        assert changes, variant.name
        assert changes.items() <= expected.items(), variant.name
        for name in expected.keys() - changes.keys():
            assert expected[name] == strong[name], variant.name
    labels = {variant.name for variant in BEYOND} | {variant.label for variant in BEYOND}
    assert len(labels) == 2 * len(BEYOND)


def test_ablations_run_on_some_games_and_word_vectors_need_a_file():
    def names(game, vectors):
        variants = variants_of(["beyond"], paraphrases=True, game=game, vectors=vectors)
        return {variant.name for variant in variants}

    assert names("long-watch", False) == {"strong"}
    assert names("tale", True) == {"strong", "strong-vectors"}
    assert len(names("machine-of-death", False)) == 1 + len(ABLATIONS)
    ablations = {"strong-optimism", "strong-means"}
    assert names("night-market", True) == {"strong", "strong-20000", "strong-vectors", *ablations}


def test_the_settings_of_a_job_take_precedence_over_those_of_the_command():
    gamma = next(variant for variant in ABLATIONS if variant.name == "strong-gamma")
    overrides = {"discount": 0.5, "rounds": 3, "epochs": 1}
    assert settings(gamma, overrides=overrides).learner.discount == 0.9
    assert settings(STRONG_JOB, overrides=overrides).learner.discount == 0.5
    assert settings(LONG, overrides=overrides).run.rounds == 3
    # This setting has no effect on the job, but is accepted.
    assert settings(BEST, overrides={"updates": 3}).learner.updates == 3


# The command


def test_a_strong_job_writes_rows_of_the_best_policy_and_of_reworded_games(finished_results):
    rows = rows_of(finished_results / "rows/long-watch/strong.csv")
    assert list(rows[0]) == list(EVALUATIONS)
    assert rows[0]["hidden"] == str(settings(STRONG_JOB).model.hidden)
    rounds = [(row["seed"], row["round"], row["policy"]) for row in rows if row["final"] == "no"]
    assert sorted(rounds) == list(itertools.product("01", "12", ("best", "softmax")))
    final = [row for row in rows if row["final"] == "yes"]
    policies = {(row["policy"], row["episodes"], bool(row["exact"])) for row in final}
    assert policies == {("softmax", "100", True), ("greedy", "50", True), ("best", "50", False)}
    reworded = rows_of(finished_results / "rows/long-watch/strong.reworded.csv")
    assert len(reworded) == 6 and all(row["paraphrased"] == "yes" for row in reworded)
    assert [row["exact"] for row in reworded] != [row["exact"] for row in final]


def test_word_vectors_are_recorded_by_name_and_digest_without_a_folder(finished_results, vectors):
    record = json.loads((finished_results / "rows/long-watch/strong-vectors.json").read_text())
    digest = open_vectors(vectors).digest
    assert (record["vectors"], record["wanted"]["vectors"]) == ("small.txt", digest)
    assert str(vectors.parent) not in json.dumps(record)


def test_word_vectors_may_be_moved_but_not_changed(finished_results, vectors, tmp_path, capsys):
    command = [*COMMAND, "--only", VECTORS.name, "--seeds", "2"]
    command += ["--out", str(finished_results), "--vectors"]
    copy = tmp_path / "copy.txt"
    shutil.copy(vectors, copy)
    assert main([*command, str(copy)]) == 0
    assert "2 of 2 jobs are done" in capsys.readouterr().out
    copy.write_text(vectors.read_text() + "oar 1 2 3\n")
    assert main([*command, str(copy)]) == 2
    assert "strong-vectors.csv: " in capsys.readouterr().err


# The report


def test_the_report_has_the_scores_and_the_curves_of_the_strong_agent(finished_results):
    results = ResultSet(Results(finished_results))
    scores = results.scores("long-watch", STRONG_JOB, policy="best")
    first, worded, vectors, _ = strong_table(results).rows
    assert first[0] == "The Long Watch" and first[-1] == "20.00"
    assert isinstance(first[6], Cell) and first[6].text.startswith(f"{sum(scores) / 2:.2f} (")
    assert first[7] == f"{min(scores):.2f}"
    assert (worded[0], vectors[0]) == ("… reworded entirely", "… with word vectors")
    headline = {row[0]: row for row in headline_table(results).rows}
    assert headline["The Long Watch"][4] == results.text("long-watch", STRONG_JOB)
    assert headline["Saving John"][1:] == ["—", "18.7 (0.4)", "—", "—", "—"]
    assert "](figures/beyond.svg)" in (finished_results / "AGENTS.md").read_text()
    assert main(["report", "--out", str(finished_results), "--check"]) == 0
