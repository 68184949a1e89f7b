"""Experiments: rows survive interruptions, damaged ones are rejected, and reports agree with them."""

import csv
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import drrn
from lab.experiments.job import Job, hashes_of, vary_first_weights
from lab.experiments.kept import KeptMemory
from lab.experiments.measure import plane
from lab.experiments.plan import BEST, TABLE, VARIANTS, Scale, settings_of, variants_of
from lab.experiments.results import EVALUATIONS
from tests import models
from tests.commands import main
from tests.commands import process as process_of
from tests.experiment_jobs import InProcessWorkers
from tests.source_code import ROOT
from textgames.errors import InputError
from textgames.files import write_atomically

TINY = {"rounds": 3, "episodes_per_round": 100, "epochs": 1, "evaluation_episodes": 5}
SET = [f"{name}={value}" for name, value in TINY.items()]
COMMAND = ["reproduce", "--quick", "--games", "long-watch", "--jobs", "1", "--set", *SET]

pytestmark = pytest.mark.usefixtures("jobs_in_process")


def job_for(root, variant=BEST, **overrides):
    game = drrn.make("long-watch")
    scale = Scale(seeds=1, overrides={**TINY, **overrides})
    settings = settings_of("long-watch", variant, game, scale)
    final = {"softmax": 100, "greedy": 50}
    return Job(
        root, "long-watch", "long-watch", variant, settings, final, hashes_of(game), "a commit"
    )


def texts(root, name="drrn-2x100"):
    paths = sorted((root / "rows/long-watch").glob(f"{name}*.csv"))
    return {path.name: path.read_text() for path in paths if ".progress" not in path.name}


@pytest.fixture(scope="module")
def finished_results(tmp_path_factory):
    """Folder of results that the command wrote."""
    out = tmp_path_factory.mktemp("finished") / "results"
    assert main([*COMMAND, "--only", "drrn-2x100", "table", "--out", str(out)]) == 0
    return out


@pytest.fixture
def results(finished_results, tmp_path):
    """A copy of the results to change."""
    shutil.copytree(finished_results, tmp_path / "results")
    return tmp_path / "results"


# The command


def test_the_command_writes_a_row_per_seed_round_and_policy_and_a_report(finished_results):
    with (finished_results / "rows/long-watch/drrn-2x100.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(EVALUATIONS)
    rounds = [(row["round"], row["policy"]) for row in rows if row["final"] == "no"]
    assert rounds == list(itertools.product("123", ("softmax", "greedy")))
    final = [row for row in rows if row["final"] == "yes"]
    policies = [(row["policy"], row["episodes"]) for row in final]
    assert policies == [("softmax", "100"), ("greedy", "50")]
    assert all(row["exact"] for row in final) and rows[0]["seed"] == "0"
    record = json.loads((finished_results / "rows/long-watch/drrn-2x100.json").read_text())
    assert record["wanted"]["rounds"] == 3 and record["commit"] and record["seconds"]["whole"] > 0
    assert "The Long Watch" in (finished_results / "STORIES.md").read_text()
    assert (finished_results / "figures/curves-long-watch.svg").exists()


def test_finished_jobs_are_not_repeated_and_a_game_named_twice_counts_once(results, capsys):
    before = texts(results)
    command = [*COMMAND, "--games", "long-watch", "--only", "drrn-2x100", "table"]
    assert main([*command, "--out", str(results)]) == 0
    assert "3 of 3 jobs are done" in capsys.readouterr().out
    assert texts(results) == before


def test_rows_of_other_settings_are_rejected_and_again_replaces_them(results, capsys):
    options = ["--only", "table", "--out", str(results), "--first-seed", "7"]
    assert main([*COMMAND, *options]) == 2
    error = capsys.readouterr().err
    assert "table.csv" in error and "--again" in error
    assert main([*COMMAND, *options, "--again"]) == 0
    assert ",7," in (results / "rows/long-watch/table.csv").read_text()


def test_the_error_names_an_unknown_experiment_or_setting(tmp_path, capsys):
    command = ["reproduce", "--out", str(tmp_path)]
    assert main([*command, "--only", "score", "--games", "built-in"]) == 2
    assert 'Did you mean "scores"?' in capsys.readouterr().err
    assert main([*command, "--set", "epochs=many"]) == 2
    error = capsys.readouterr().err
    assert '--set "epochs=many"' in error and "whole number" in error
    assert main([*command, "--set", "hidden=7"]) == 2
    assert "hidden cannot be set" in capsys.readouterr().err


@pytest.mark.full
def test_ctrl_c_leaves_no_process_and_the_command_resumes_to_the_same_rows(tmp_path):
    whole = tmp_path / "whole"
    interrupted = tmp_path / "interrupted"
    long_run = {"rounds": 60, "episodes_per_round": 20}
    list(job_for(whole, TABLE, **long_run).run())
    values = [f"{name}={value}" for name, value in {**TINY, **long_run}.items()]
    command = [*COMMAND[: -len(SET)], *values, "--only", "table", "--out", str(interrupted)]
    process = subprocess.Popen(
        process_of(command), stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    )
    checkpoint = interrupted / "work/long-watch/table/checkpoint.safetensors"
    while process.poll() is None and not checkpoint.exists():
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # to all processes, as the terminal does
    error = process.communicate()[1]
    assert "Traceback" not in error, error
    assert process.returncode in (130, 0)
    while True:  # the workers die with their parent
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    assert main(command) == 0
    assert texts(interrupted, "table") == texts(whole, "table")


# One job


def test_a_job_interrupted_after_each_round_ends_with_the_same_rows(tmp_path):
    list(job_for(tmp_path / "whole").run())
    for _ in range(2):
        next(job_for(tmp_path / "interrupted").run())
    list(job_for(tmp_path / "interrupted").run())
    expected = texts(tmp_path / "whole")
    names = {"drrn-2x100.csv", "drrn-2x100.embeddings.csv", "drrn-2x100.examples.csv"}
    assert set(expected) == names
    assert texts(tmp_path / "interrupted") == expected


def test_a_job_with_other_settings_is_not_resumed(tmp_path):
    next(job_for(tmp_path).run())
    with pytest.raises(InputError, match="epochs is 1"):
        job_for(tmp_path, epochs=2).is_done()


def test_an_unfinished_run_without_its_plan_is_refused(tmp_path):
    job = job_for(tmp_path, TABLE)
    next(job.run())
    (job.folder / "job.json").write_text("[1]")
    with pytest.raises(InputError, match="--again"):
        job.is_done()


def test_a_full_disk_leaves_the_old_rows(results, monkeypatch):
    before = texts(results)
    write = write_atomically

    def write_unless_full(path, parts):
        if path.name == "linear.csv":
            raise InputError(f"{path}: No space left on device")
        write(path, parts)

    monkeypatch.setattr("textgames.files.write_atomically", write_unless_full)
    job = job_for(results, VARIANTS["linear"])
    with pytest.raises(InputError, match="No space left"):
        list(job.run())
    assert texts(results) == before and not job.is_done()
    monkeypatch.undo()
    list(job.run())
    assert job.is_done()


def test_the_other_jobs_run_after_one_fails(tmp_path):
    good = job_for(tmp_path, TABLE, rounds=1)
    hashes = {**good.hashes, "sha256": "another story"}
    bad = replace(good, variant=VARIANTS["linear"], hashes=hashes)
    with InProcessWorkers(1) as workers:
        events = list(workers.run([bad, good]))
    kinds = [(event.job.name, event.kind) for event in events if event.kind != "round"]
    assert kinds[:2] == [("linear", "started"), ("linear", "failed")]
    assert kinds[2:] == [("table", "started"), ("table", "done")]
    assert "the game has changed" in events[1].why
    assert good.is_done() and not bad.is_done()


# Damaged files


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "line"),
        (lambda text: text.replace("softmax", "softmax,x", 1), "line 2: not a row"),
        (lambda text: "a,b\n" + text, "line 1: the header must be"),
        (lambda text: text.replace(",no,softmax", ",no,greedily", 1), "rows were changed"),
        (lambda text: text.rstrip("\n"), "rows were changed"),
    ],
)
def test_the_error_for_damaged_rows_names_the_file_and_the_option(results, damage, message, capsys):
    path = results / "rows/long-watch/drrn-2x100.csv"
    path.write_text(damage(path.read_text()))
    assert main(["report", "--out", str(results)]) == 2
    error = capsys.readouterr().err
    assert "drrn-2x100.csv" in error and message in error and "--again" in error


def test_again_computes_altered_rows(results, capsys):
    path = results / "rows/long-watch/table.csv"
    before = path.read_text()
    path.write_text(before.replace("softmax", "greedy", 1))
    command = [*COMMAND, "--only", "table", "--out", str(results)]
    assert main(command) == 2 and "rows were changed" in capsys.readouterr().err
    assert main([*command, "--again"]) == 0
    assert path.read_text() == before
    assert main(["report", "--out", str(results), "--check"]) == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda record: record["files"].clear(),
        lambda record: record.pop("wanted"),
        lambda record: record.update(files=3),
        lambda record: record.update(game="night-market"),
        lambda record: record.update(job="drrn-2x100-shared"),
    ],
)
def test_a_record_without_a_part_or_of_another_job_is_rejected(results, damage, capsys):
    path = results / "rows/long-watch/drrn-2x100.json"
    record = json.loads(path.read_text())
    damage(record)
    path.write_text(json.dumps(record))
    assert main(["report", "--out", str(results)]) == 2
    assert "drrn-2x100.json: not the record of a job" in capsys.readouterr().err
    assert main([*COMMAND, "--only", "drrn-2x100", "--out", str(results)]) == 2


# The report


def test_check_names_the_line_with_an_altered_number(results, capsys):
    assert main(["report", "--out", str(results), "--check"]) == 0
    before = (results / "STORIES.md").read_text()
    (results / "STORIES.md").write_text(before.replace("-7.05", "-7.06", 1))
    assert main(["report", "--out", str(results), "--check"]) == 1
    line = before[: before.index("-7.05")].count("\n") + 1
    assert f"STORIES.md, line {line}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "alter", [lambda text: text.replace("#2166ac", "#000000"), lambda text: text[:400]]
)
def test_check_names_an_altered_or_truncated_figure(results, alter, capsys):
    path = results / "figures/curves-long-watch.svg"
    path.write_text(alter(path.read_text()))
    assert main(["report", "--out", str(results), "--check"]) == 1
    assert "curves-long-watch.svg: it was edited" in capsys.readouterr().err


def test_without_matplotlib_the_error_names_the_installation(results, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert main(["report", "--out", str(results)]) == 2
    assert "pip install matplotlib" in capsys.readouterr().err
    assert main(["report", "--out", str(results), "--check"]) == 0  # a comparison draws nothing


# Plan and measures


def test_every_experiment_has_jobs_and_shared_ones_are_listed_once():
    variants = variants_of([], paraphrases=True)
    assert len(variants) == len({variant.name for variant in variants})
    names = [variant.name for variant in variants_of(["interactions"], paraphrases=False)]
    assert "drrn-2x100" in names and "drrn-2x100-network" in names
    assert variants_of(["statistics"], paraphrases=True) == []


def test_the_projection_to_the_plane_keeps_the_origin_and_points_of_the_plane():
    vectors = np.zeros((1, 3, 5))
    vectors[0, 0, 3] = -4.0
    vectors[0, 1, 3] = -2.0
    vectors[0, 2, 1] = 1.0
    points = plane(vectors)
    assert points[0, 0] == pytest.approx([4, 0]) and points[0, 1] == pytest.approx([2, 0])
    assert abs(points[0, 2]) == pytest.approx([0, 1])


def test_first_weights_are_scaled_also_of_words_that_are_met_later():
    usual, wide = models.model(), models.model()
    vary_first_weights(wide, replace(BEST, first_weights=2.0, biases=0.1))
    for model in (usual, wide):
        model.meet(0, np.array([model.store.states.id("a new word")]), np.array([0]))
    for name, table in usual.tables.items():
        assert np.allclose(2 * table.weight, wide.tables[name].weight)
    for name, weight in usual.weights.items():
        if weight.any():
            assert np.allclose(2 * weight, wide.weights[name])
        else:  # a bias
            assert 0 < abs(wide.weights[name]).max() <= 0.1


@pytest.mark.parametrize("resumed", [False, True])
def test_the_kept_memory_draws_as_many_transitions_as_a_round_added_from_all_rounds(resumed):
    usual = models.learner(models.model(), keep=True, epochs=2)
    learner: Any = KeptMemory(usual.model, usual.settings)
    drawn: list[int] = []
    learner._learn_from = lambda indices: drawn.extend(indices[0])
    for count in (3, 5):
        learner.memories[0].added += count
        assert learner.learn([np.random.default_rng(0)]) == 2 * count
        learner.forget()
        if resumed:
            other: Any = KeptMemory(usual.model, usual.settings)
            other.restore(learner.state())
            other._learn_from = learner._learn_from
            learner = other
    assert len(drawn) == 2 * 8 and set(drawn[6:]) > {0, 1} and max(drawn) < 8
