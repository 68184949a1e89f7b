"""The experiments: rows that survive any kill and are never half-trusted, tables that are what the rows say."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.errors import InputError
from drrn.files import write_atomically
from drrn.lab.experiments.job import Job, hashes_of
from drrn.lab.experiments.measure import plane
from drrn.lab.experiments.plan import (
    BEST,
    BEYOND,
    ENCODERS,
    EXPERIMENTS,
    PARSERS,
    SUITE_JOBS,
    TABLE,
    VARIANTS,
    Scale,
    settings_of,
    variants_of,
)
from drrn.lab.experiments.results import EVALUATIONS, Results, difference
from drrn.lab.experiments.workers import run_all
from drrn.lab.reports import figures
from tests.experiment_jobs import InProcessWorkers

ROOT = Path(drrn.__file__).parent.parent
TINY = {"rounds": 3, "episodes_per_round": 100, "epochs": 1, "evaluation_episodes": 5}
SET = [f"{name}={value}" for name, value in TINY.items()]
COMMAND = ["reproduce", "--quick", "--games", "long-watch", "--jobs", "1", "--set", *SET]

pytestmark = pytest.mark.usefixtures("jobs_in_process")


def job_for(root, variant=BEST, **more):
    game = drrn.make("long-watch")
    settings = settings_of("long-watch", variant, game, Scale(seeds=1, overrides={**TINY, **more}))
    final = {"softmax": 100, "greedy": 50}
    return Job(
        root, "long-watch", "long-watch", variant, settings, final, hashes_of(game), "a commit"
    )


def texts(root, name="drrn-2x100"):
    return {
        path.name: path.read_text()
        for path in sorted((root / "rows/long-watch").glob(f"{name}*.csv"))
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of results, made by the real command."""
    out = tmp_path_factory.mktemp("made") / "results"
    assert main([*COMMAND, "--only", "drrn-2x100", "table", "--out", str(out)]) == 0
    return out


@pytest.fixture
def results(made, tmp_path):
    shutil.copytree(made, tmp_path / "results")
    return tmp_path / "results"


# --- the command


def test_one_command_leaves_a_row_for_each_seed_round_and_policy_and_a_report(made):
    with (made / "rows/long-watch/drrn-2x100.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(EVALUATIONS)
    assert [(row["round"], row["policy"]) for row in rows if row["final"] == "no"] == [
        (str(number), policy) for number in (1, 2, 3) for policy in ("softmax", "greedy")
    ]
    final = [row for row in rows if row["final"] == "yes"]
    assert [(row["policy"], row["episodes"]) for row in final] == [
        ("softmax", "100"),
        ("greedy", "50"),
    ]
    assert all(row["exact"] for row in final) and rows[0]["seed"] == "0"
    record = json.loads((made / "rows/long-watch/drrn-2x100.json").read_text())
    assert record["wanted"]["rounds"] == 3 and record["commit"] and record["seconds"]["whole"] > 0
    page = (made / "report.html").read_text()
    assert "<svg" in page and "http" not in page.replace("http://www.w3.org", "")
    assert "The Long Watch" in (made / "RESULTS.md").read_text()
    assert (made / "figures/curves-long-watch.svg").exists()


def test_what_is_done_is_not_done_again(results, capsys):
    before = texts(results)
    assert main([*COMMAND, "--only", "drrn-2x100", "--out", str(results)]) == 0
    assert "2 of 2 jobs are done" in capsys.readouterr().out
    assert texts(results) == before


def test_rows_of_other_settings_are_never_mixed_in_and_again_puts_them_aside(results, capsys):
    other = ["--only", "table", "--out", str(results), "--first-seed", "7"]
    assert main([*COMMAND, *other]) == 2
    error = capsys.readouterr().err
    assert (
        "table.csv" in error
        and "seed is 0 there, and 7 in the plan" in error
        and "--again" in error
    )
    assert main([*COMMAND, *other, "--again"]) == 0
    assert ",7," in (results / "rows/long-watch/table.csv").read_text()
    aside = results / "work/aside/1/long-watch/table"
    assert {"table.csv", "table.json"} <= {path.name for path in aside.iterdir()}


def test_two_at_once_in_one_folder_are_refused(results, capsys):
    with Results(results).locked():
        assert main([*COMMAND, "--out", str(results)]) == 2
    assert "another `drrn reproduce` is running" in capsys.readouterr().err


def test_an_unknown_experiment_or_setting_is_named(tmp_path, capsys):
    assert (
        main(["reproduce", "--only", "score", "--games", "built-in", "--out", str(tmp_path)]) == 2
    )
    assert 'Did you mean "scores"?' in capsys.readouterr().err
    assert main(["reproduce", "--set", "epochs=many", "--out", str(tmp_path)]) == 2
    assert (
        '--set "epochs=many": epochs is "many"; it must be a whole number'
        in capsys.readouterr().err
    )
    assert main(["reproduce", "--set", "hidden=7", "--out", str(tmp_path)]) == 2
    assert "hidden differs between the jobs" in capsys.readouterr().err


def test_none_turns_off_what_can_be_off_and_nothing_else(tmp_path, capsys):
    command = ["reproduce", "--games", "nowhere.twee", "--out", str(tmp_path), "--set"]
    assert main([*command, "bag_norm=none"]) == 2
    assert "nowhere.twee" in capsys.readouterr().err  # the setting was understood
    assert main([*command, "rounds=none"]) == 2
    assert 'rounds is "none"; it must be a whole number' in capsys.readouterr().err


def test_a_game_asked_for_twice_is_run_once(results, capsys):
    again = ["--games", "long-watch", "--only", "table", "--out", str(results)]
    assert main([*COMMAND, *again]) == 0
    assert "2 of 2 jobs are done" in capsys.readouterr().out


def test_the_price_of_exploring_is_that_of_the_jobs_own_alpha(tmp_path):
    out = ["--only", "statistics", "--out", str(tmp_path)]
    assert main([*COMMAND, "alpha=0.05", *out]) == 0
    assert Results(tmp_path).record("long-watch", "game")["wanted"]["alpha"] == 0.05


def test_a_run_stopped_by_ctrl_c_leaves_no_process_and_goes_on_to_the_same_rows(tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    many = {"rounds": 60, "episodes_per_round": 20}
    list(job_for(whole, TABLE, **many).run())
    values = [f"{name}={value}" for name, value in {**TINY, **many}.items()]
    command = [*COMMAND[: -len(SET)], *values, "--only", "table", "--out", str(cut)]
    started = {"env": {**os.environ, "PYTHONPATH": str(ROOT)}, "start_new_session": True}
    process = subprocess.Popen(
        [sys.executable, "-m", "drrn", *command], stderr=subprocess.PIPE, text=True, **started
    )
    while (
        process.poll() is None
        and not (cut / "work/long-watch/table/checkpoint.safetensors").exists()
    ):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does, to all of them
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
    assert texts(cut, "table") == texts(whole, "table")


# --- one job


def test_a_job_cut_after_any_round_ends_with_the_same_rows(tmp_path):
    list(job_for(tmp_path / "whole").run())
    for _ in range(2):
        next(job_for(tmp_path / "cut").run())
    list(job_for(tmp_path / "cut").run())
    found = texts(tmp_path / "whole")
    assert set(found) == {"drrn-2x100.csv", "drrn-2x100.embeddings.csv", "drrn-2x100.examples.csv"}
    assert texts(tmp_path / "cut") == found


def test_a_job_begun_with_other_settings_is_not_gone_on_with(tmp_path):
    next(job_for(tmp_path).run())
    with pytest.raises(InputError, match="epochs is 1 there, and 2 in the plan"):
        job_for(tmp_path, epochs=2).is_done()


def test_a_broken_checkpoint_is_named_and_again_begins_anew(tmp_path, capsys):
    next(job_for(tmp_path, TABLE).run())
    path = tmp_path / "work/long-watch/table/checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:99])
    command = [*COMMAND, "--only", "table", "--out", str(tmp_path)]
    assert (
        main(command) == 2 and "checkpoint.safetensors: not a complete" in capsys.readouterr().err
    )
    assert main([*command, "--again"]) == 0


def test_a_job_gone_on_with_at_another_commit_names_both(tmp_path):
    next(job_for(tmp_path, TABLE).run())
    list(replace(job_for(tmp_path, TABLE), commit="another").run())
    assert Results(tmp_path).record("long-watch", "table")["commit"] == "a commit, another"


def test_a_disk_that_fills_leaves_the_rows_that_were_there(results, monkeypatch):
    before = texts(results)
    write = write_atomically

    def full(path, parts):
        if path.name == "linear.csv":
            raise InputError(
                f"{path}: cannot be written: No space left on device; what was there before stays"
            )
        write(path, parts)

    monkeypatch.setattr("drrn.lab.experiments.results.write_atomically", full)
    job = job_for(results, VARIANTS["linear"])
    with pytest.raises(InputError, match="No space left"):
        list(job.run())
    assert texts(results) == before and not job.is_done()
    monkeypatch.undo()
    list(job.run())
    assert job.is_done()


def test_a_job_that_fails_does_not_lose_the_others(tmp_path):
    good = job_for(tmp_path, TABLE, rounds=1)
    bad = replace(
        good, variant=VARIANTS["linear"], hashes={**good.hashes, "sha256": "another story"}
    )
    with InProcessWorkers(1) as workers:
        events = list(run_all([bad, good], workers))
    assert [(event.job.name, event.kind) for event in events if event.kind != "round"] == [
        ("linear", "started"), ("linear", "failed"), ("table", "started"), ("table", "done"),
    ]  # fmt: skip
    assert "the game has changed" in events[1].why
    assert good.is_done() and not bad.is_done()


# --- files that were cut or altered


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[: len(text) // 2], "line"),
        (lambda text: text.replace("softmax", "softmax,x", 1), "line 2: not a row of results"),
        (lambda text: "a,b\n" + text, "line 1: the header must be"),
        (lambda text: text.replace(",no,softmax", ",no,greedily", 1), "rows were changed"),
        (lambda text: text.rstrip("\n"), "truncated"),
    ],
)
def test_rows_that_were_cut_or_altered_are_refused_with_the_cure(results, damage, said, capsys):
    path = results / "rows/long-watch/drrn-2x100.csv"
    path.write_text(damage(path.read_text()))
    assert main(["report", "--out", str(results)]) == 2
    error = capsys.readouterr().err
    assert "drrn-2x100.csv" in error and said in error and "--again" in error


def test_altered_rows_are_made_anew_when_asked(results, capsys):
    path = results / "rows/long-watch/table.csv"
    before = path.read_text()
    path.write_text(before.replace("softmax", "greedy", 1))
    command = [*COMMAND, "--only", "table", "--out", str(results)]
    assert main(command) == 2 and "rows were changed" in capsys.readouterr().err
    assert main([*command, "--again"]) == 0
    assert path.read_text() == before
    assert main(["report", "--out", str(results), "--check"]) == 0


def test_a_record_that_is_no_record_is_refused(results, capsys):
    (results / "rows/long-watch/drrn-2x100.json").write_text('{"files": 3}')
    assert main(["report", "--out", str(results)]) == 2
    assert "drrn-2x100.json: not the record of a job" in capsys.readouterr().err


@pytest.mark.parametrize(
    "damage",
    [
        lambda record: record["files"].clear(),
        lambda record: record["wanted"].pop("alpha"),
        lambda record: record["seconds"].clear(),
        lambda record: record.update(game="night-market"),
        lambda record: record.update(job="drrn-2x100-shared"),
    ],
)
def test_a_record_that_lacks_a_part_or_is_another_jobs_is_refused(results, damage, capsys):
    path = results / "rows/long-watch/drrn-2x100.json"
    record = json.loads(path.read_text())
    damage(record)
    path.write_text(json.dumps(record))
    assert main(["report", "--out", str(results)]) == 2
    assert "drrn-2x100.json: not the record of a job" in capsys.readouterr().err
    assert main([*COMMAND, "--only", "drrn-2x100", "--out", str(results)]) == 2


def test_a_file_that_no_job_wrote_is_to_be_removed(results, capsys):
    (results / "rows/long-watch/notes.json").write_text("{}")
    assert main(["report", "--out", str(results)]) == 2
    assert "notes.json: no job has this name" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "text"), [("config.json", "{}"), ("evaluations.csv", "a,b\n")])
def test_a_run_half_way_whose_files_are_foreign_is_named_and_again_begins_anew(
    tmp_path, name, text, capsys
):
    next(job_for(tmp_path, TABLE).run())
    (tmp_path / "work/long-watch/table" / name).write_text(text)
    command = [*COMMAND, "--only", "table", "--out", str(tmp_path)]
    assert main(command) == 2 and name in capsys.readouterr().err
    assert main([*command, "--again"]) == 0


def test_what_a_kill_left_half_written_is_swept_out(results):
    left = [
        results / "rows/long-watch/.table.csv.123",
        results / "work/long-watch/table/.model.safetensors.123",
    ]
    for path in left:
        path.write_text("half")
    with Results(results).locked():
        assert not any(path.exists() for path in left)


def test_a_setting_younger_than_the_rows_had_its_default_then():
    assert difference({"epochs": 2}, {"epochs": 2, "shared": False}) is None
    assert "shared is False" in difference({"epochs": 2}, {"epochs": 2, "shared": True})


def test_rows_count_whatever_number_of_workers_made_them():
    assert difference({"epochs": 2, "workers": 4}, {"epochs": 2, "workers": 1}) is None


# --- the report


def test_check_names_the_line_whose_number_was_altered(results, capsys):
    assert main(["report", "--out", str(results), "--check"]) == 0
    for name in ("RESULTS.md", "report.html"):
        before = (results / name).read_text()
        (results / name).write_text(before.replace("-7.05", "-7.06", 1))
        capsys.readouterr()
        assert main(["report", "--out", str(results), "--check"]) == 1
        line = before[: before.index("-7.05")].count("\n") + 1
        assert f"{name}, line {line}: " in capsys.readouterr().err
        (results / name).write_text(before)


def test_check_names_a_figure_that_shows_other_rows(results, capsys):
    path = results / "figures/curves-long-watch.svg"
    path.write_text(path.read_text().replace('data-rows="', 'data-rows="0'))
    assert main(["report", "--out", str(results), "--check"]) == 1
    assert "curves-long-watch.svg: it shows other rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    "alter", [lambda text: text.replace("#2166ac", "#000000"), lambda text: text[:400]]
)
def test_check_names_a_drawing_that_was_altered_or_cut(results, alter, capsys):
    path = results / "figures/curves-long-watch.svg"
    path.write_text(alter(path.read_text()))
    assert main(["report", "--out", str(results), "--check"]) == 1
    assert "curves-long-watch.svg: it was edited" in capsys.readouterr().err


def test_check_sees_a_figure_of_the_page_that_is_not_the_one_drawn(results, capsys):
    path = results / "report.html"
    path.write_text(path.read_text().replace("<path", "<g", 1))
    assert main(["report", "--out", str(results), "--check"]) == 1
    assert "report.html, line " in capsys.readouterr().err


def test_the_report_is_the_same_to_the_byte_whenever_it_is_made(results):
    names = [
        "RESULTS.md",
        "report.html",
        "figures/curves-long-watch.svg",
        "figures/embeddings-long-watch.svg",
    ]
    before = {name: (results / name).read_bytes() for name in names}
    assert main(["report", "--out", str(results)]) == 0
    assert {name: (results / name).read_bytes() for name in names} == before


def test_without_matplotlib_one_sentence_says_what_to_install(results, monkeypatch, capsys):
    def absent(module, extra):
        raise InputError(f"{module} is not installed: pip install 'drrn[{extra}]'")

    monkeypatch.setattr(figures, "require", absent)
    assert main(["report", "--out", str(results)]) == 2
    assert "pip install 'drrn[plot]'" in capsys.readouterr().err
    assert main(["report", "--out", str(results), "--check"]) == 0  # comparing draws nothing


def test_rows_without_a_report_are_no_success(results, monkeypatch, capsys):
    def full(path, parts):
        raise InputError(
            f"{path}: cannot be written: No space left on device; what was there before stays"
        )

    monkeypatch.setattr("drrn.lab.reports.report.write", full)
    assert main([*COMMAND, "--only", "table", "--out", str(results)]) == 2
    assert "the report could not be written" in capsys.readouterr().err


def test_a_title_with_dollar_signs_is_no_formula():
    data = {"title": r"Cost $5 \foo and $6", "points": [[0.0, 1.0], [1.0, 2.0]]}
    assert "<svg" in figures.draw(figures.plot("a", "b", "scatter", data))


def test_a_folder_without_rows_says_how_to_make_them(tmp_path, capsys):
    (tmp_path / "rows/long-watch").mkdir(parents=True)
    assert main(["report", "--out", str(tmp_path)]) == 2
    assert "run drrn reproduce" in capsys.readouterr().err


# --- data and arithmetic


def test_every_experiment_has_jobs_and_shared_ones_are_run_once():
    whole = variants_of([], paraphrases=True)
    assert len(whole) == len({variant.name for variant in whole}) == 26 + len(BEYOND)
    assert len(VARIANTS) == len(whole) + len(ENCODERS) + len(PARSERS) + len(SUITE_JOBS)
    assert [v.name for v in variants_of(["interactions"], paraphrases=False)] == [
        "drrn-2x100", "drrn-2x100-bilinear-20", "drrn-2x100-bilinear-50", "drrn-2x100-bilinear-100",
        "drrn-2x100-network",
    ]  # fmt: skip
    assert variants_of(["statistics"], paraphrases=True) == []
    assert len(EXPERIMENTS["scores"]) == 19


def test_on_the_plane_the_origin_and_what_lies_in_it_stay():
    vectors = np.zeros((1, 3, 5))
    vectors[0, 0, 3], vectors[0, 1, 3], vectors[0, 2, 1] = -4.0, -2.0, 1.0
    points = plane(vectors)
    assert points[0, 0] == pytest.approx([4, 0]) and points[0, 1] == pytest.approx([2, 0])
    assert abs(points[0, 2]) == pytest.approx([0, 1])
