"""Sweeps: settings are selected on some seeds and reported on others, and sweeps are resumed."""

import itertools
import json
import shutil
from pathlib import Path

import pytest

import drrn
from drrn.cli import main
from drrn.errors import InputError
from drrn.lab.experiments.plan import seeds_text
from drrn.lab.experiments.results import Results
from drrn.lab.experiments.sweep import Grid, Sweep, job_name, read_grid

SET = ["--set", "rounds=2", "episodes_per_round=8", "evaluation_episodes=4"]
COMMAND = "sweep long-watch --paper --seeds 2 --report-seeds 1 --jobs 1".split() + SET
VARY = ["--vary", "alpha=0.1,2", "learning_rate=log:1e-4..1e-2:3", "--budget", "2"]
pytestmark = pytest.mark.usefixtures("jobs_in_process")


@pytest.fixture(scope="module")
def finished_sweep(tmp_path_factory):
    """Folder of a sweep that the command wrote."""
    out = tmp_path_factory.mktemp("finished") / "sweep"
    assert main([*COMMAND, *VARY, "--out", str(out)]) == 0
    return out


@pytest.fixture
def sweep_folder(finished_sweep, tmp_path):
    """A copy of the sweep to change."""
    shutil.copytree(finished_sweep, tmp_path / "sweep")
    return tmp_path / "sweep"


def texts(out):
    return {path.name: path.read_text() for path in sorted((out / "rows/long-watch").glob("*.csv"))}


# Values of settings


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("alpha=0.1,0.5,1", (0.1, 0.5, 1.0)),
        ("hidden=50..200:50", (50, 100, 150, 200)),
        ("hidden=50..190:50", (50, 100, 150)),
        ("layers=1..3", (1, 2, 3)),
        ("alpha=0.1..0.5:0.1", (0.1, 0.2, 0.3, 0.4, 0.5)),
        ("learning_rate=log:1e-4..1e-1:4", (0.0001, 0.001, 0.01, 0.1)),
        ("learning_rate=none,log:1e-3..1e-1:2", (None, 0.001, 0.1)),
        ("hidden=log:10..1000:3", (10, 100, 1000)),
        ("hidden=20,10..30:10", (20, 10, 30)),
        ("shared=yes,no", (True, False)),
        ("encoder=bag,lstm", ("bag", "lstm")),
        ("alpha=1..1:5", (1.0,)),
    ],
)
def test_values_are_written_as_lists_and_ranges(text, values):
    assert list(read_grid([text]).values.values()) == [values]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alhpa=1", 'no setting is named "alhpa". Did you mean "alpha"?'),
        ("alpha", "write NAME=VALUE,VALUE"),
        ("alpha=", 'alpha is ""; it must be a number'),
        ("alpha=1,,2", 'alpha is ""; it must be a number'),
        ("alpha=-1", "alpha is -1.0; it must be at least 0"),
        ("hidden=200..50:50", "from 200 to 50"),
        ("hidden=50..200:0", "the step of a range must be above 0"),
        ("alpha=0..1", "needs a step"),
        ("alpha=0..inf:1", "two numbers"),
        ("alpha=0..1:1e-9", "10,000 values at most"),
        ("learning_rate=log:0..1:4", "a LOW above 0"),
        ("learning_rate=log:0.1..1:1", "a COUNT of at least 2"),
        ("hidden=1.5..3", 'hidden is "1.5"; it must be a whole number'),
        ("seed=1,2", "--first-seed"),
        ("workers=1,2", "do not depend on workers"),
        ("model=drrm", 'Did you mean "drrn"?'),
    ],
)
def test_a_wrong_value_gives_one_sentence(text, message, capsys, tmp_path):
    assert main(["sweep", "long-watch", "--vary", text, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert f'--vary "{text}"' in error and message in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_every_combination_occurs_once_in_either_order():
    grid = read_grid(["alpha=1,2", "hidden=10..30:10"])
    in_order = list(grid.in_order())
    assert in_order[:2] == [(("alpha", 1.0), ("hidden", 10)), (("alpha", 1.0), ("hidden", 20))]
    assert len(in_order) == 6
    at_random = list(grid.at_random(1))
    assert at_random != in_order and sorted(at_random) == in_order
    assert list(grid.at_random(1)) == at_random != list(grid.at_random(2))


def test_a_grid_that_is_too_large_to_list_can_be_sampled():
    grid = Grid({name: tuple(range(1000)) for name in "abcdefghijkl"})
    combinations = list(itertools.islice(grid.at_random(0), 5))
    assert grid.size == 10**36 and len(set(combinations)) == 5


def test_names_of_jobs_are_unique_file_names():
    paths = ("a/b.txt", "a_b.txt", "a b.txt")
    names = [job_name((("vectors", path),), "tuning") for path in paths]
    assert len(set(names)) == 3 and not any(set(name) & set("/ .") for name in names)
    name = job_name((("alpha", 0.5), ("keep", True)), "tuning")
    assert name == "tuning-alpha=0_5,keep=yes"
    many = tuple((f"setting{number}", 1 / 7) for number in range(50))
    assert len(job_name(many, "tuning")) < 130


# The command


@pytest.mark.slow
def test_the_best_settings_are_selected_on_some_seeds_and_reported_on_others(
    finished_sweep, capsys
):
    assert main([*COMMAND, *VARY, "--out", str(finished_sweep)]) == 0
    out = capsys.readouterr().out
    assert "2 of 2 selection jobs are done (seeds 1000 to 1001)" in out
    assert "2 of 2 report jobs are done (seed 0)" in out
    header, *lines = (finished_sweep / "sweep.csv").read_text().splitlines()
    assert header.startswith("alpha,learning_rate,tuning_mean,") and len(lines) == 2
    best, other = (line.split(",") for line in lines)
    assert float(best[2]) >= float(other[2])
    assert best[4] == "2" and best[7] == "1" and other[7] == ""
    assert f"used to choose it: {float(best[2]):.2f}" in out
    assert f"not used to choose it: {float(best[5]):.2f}" in out
    assert "the unchanged recipe" in out
    settings = json.loads((finished_sweep / "best.json").read_text())["settings"]
    fixed = {"rounds": 2, "episodes_per_round": 8, "evaluation_episodes": 4}
    assert settings == {**fixed, "alpha": float(best[0]), "learning_rate": float(best[1])}
    seeds = []
    for _, text in sorted(texts(finished_sweep).items()):
        seeds.append(sorted({line.split(",")[8] for line in text.splitlines()[1:]}))
    assert seeds == [["0"]] * 2 + [["1000", "1001"]] * 2


def test_the_best_settings_are_a_config_for_training(finished_sweep, tmp_path):
    path = finished_sweep / "best.json"
    command = ["train", "long-watch", "--config", str(path), "--out", str(tmp_path / "run")]
    assert main([*command, "--replicas", "1"]) == 0
    best = json.loads(path.read_text())
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert best["recipe"] == config["recipe"] == "paper"
    assert best["settings"].items() <= config["settings"].items()


def test_a_larger_budget_keeps_finished_jobs_and_repeats_interrupted_ones(sweep_folder, capsys):
    before = texts(sweep_folder)
    record = sweep_folder / f"rows/long-watch/{Path(max(before)).stem}.json"
    record.unlink()  # a killed sweep leaves rows without a record
    assert main([*COMMAND, *VARY, "--budget", "3", "--out", str(sweep_folder)]) == 0
    assert "1 of 3 selection jobs are done" in capsys.readouterr().out
    assert before.items() <= texts(sweep_folder).items() and len(texts(sweep_folder)) > len(before)


def test_other_results_are_never_overwritten(sweep_folder, tmp_path, capsys):
    before = texts(sweep_folder)
    for options in (["--first-seed", "2000"], ["--set", "rounds=1"]):
        assert main([*COMMAND, *VARY, *options, "--out", str(sweep_folder)]) == 2
        assert "choose another --out" in capsys.readouterr().err
    assert texts(sweep_folder) == before
    for command in (["report"], ["reproduce", "--only", "table", "--games", "long-watch"]):
        assert main([*command, "--out", str(sweep_folder)]) == 2
        assert "the folder of a `drrn sweep`" in capsys.readouterr().err
    (sweep_folder / "sweep.json").unlink()
    assert main([*COMMAND, *VARY, "--out", str(sweep_folder)]) == 2
    assert "contains other results" in capsys.readouterr().err


def test_contradictory_combinations_are_skipped_with_a_message(tmp_path):
    def jobs_of(*vary):
        game = drrn.make("long-watch")
        seeds = (range(1000, 1002), range(1))
        grid = read_grid(vary)
        sweep = Sweep(tmp_path, "long-watch", game, grid, {}, True, *seeds, "a commit")
        return sweep.jobs(None, seed=0)

    jobs, errors = jobs_of("model=drrn,table", "hidden=6")
    assert [job.name for job in jobs] == ["tuning-model=drrn,hidden=6"]
    assert errors[0].startswith("model=table hidden=6: hidden ")
    with pytest.raises(InputError, match=r"n_steps .* only with learner"):
        jobs_of("learner=returns", "n_steps=2,3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--first-seed", "0"], "seeds 0 to 1 to choose by and seed 0 to report overlap"),
        (["--set", "alpha=1"], "alpha is in both --set and --vary"),
        (["--set", "replicas=9"], "has its own option"),
        (["--budget", "some"], "must be a whole number"),
        (["--budget", "0"], "must lie between 1"),
        (["--vary", "hidden=1..9999", "layers=1..9999"], "combinations are too many"),
        (["--vary", "hidden=9000000000000"], "hidden 9000000000000: needs about"),
        (
            ["--report-seeds", "100000000", "--first-report-seed", "5000"],
            "replicas 100000000: needs about",
        ),
    ],
)
def test_contradictory_options_give_one_sentence(options, message, tmp_path, capsys):
    assert main([*COMMAND, "--vary", "alpha=1,2", *options, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_a_second_sweep_in_one_folder_is_rejected(sweep_folder, capsys):
    with Results(sweep_folder).locked("sweep"):
        assert main([*COMMAND, *VARY, "--out", str(sweep_folder)]) == 2
    assert "another `drrn sweep` is running" in capsys.readouterr().err


def test_a_sweep_fails_if_no_job_succeeds(tmp_path, import_folder, capsys):
    (tmp_path / "broken.py").write_text(
        "import drrn\n"
        "class Game:\n"
        "    name = 'broken'\n"
        "    def reset(self, seed=None): return drrn.Observation('here', ('on',))\n"
        "    def step(self, index): raise ArithmeticError('the reason')\n"
    )
    assert main(["sweep", "broken:Game", *COMMAND[2:], "--vary", "alpha=1"]) == 2
    output = capsys.readouterr()
    assert "FAILED: ArithmeticError: the reason" in output.out
    assert "nothing to choose from" in output.err and output.err.count("\n") == 1
    assert Path("sweeps/broken/sweep.json").exists()


def test_only_half_written_files_of_a_killed_sweep_are_deleted(tmp_path):
    others = [".notes.txt", ".gitignore", "sweep.7"]
    temporary = [".sweep.json.77", ".best.json.4242", "rows/long-watch/.a=0_5.csv.9"]
    for name in (*others, *temporary):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    with Results(tmp_path).locked("sweep"):
        assert all((tmp_path / name).exists() for name in others)
        assert not any((tmp_path / name).exists() for name in temporary)


def test_ranges_of_many_seeds_are_compared_without_listing_them():
    many = range(10**12)
    assert seeds_text(many) == "seeds 0 to 999999999999"
    with pytest.raises(InputError, match="overlap"):
        sweep_of(many, range(10**12 - 1, 2 * 10**12))
    assert sweep_of(many, range(10**12, 2 * 10**12)).tuning == many


def sweep_of(tuning, report):
    game = drrn.make("long-watch")
    grid = read_grid(["alpha=1"])
    return Sweep(Path("out"), "g", game, grid, {}, True, tuning, report, "a commit")


def test_the_error_for_an_unknown_game_suggests_a_name(capsys):
    assert main(["sweep", "long-wach", "--vary", "alpha=1"]) == 2
    assert "long-watch" in capsys.readouterr().err


def test_a_repeated_setting_is_rejected():
    with pytest.raises(InputError, match="alpha occurs twice"):
        read_grid(["alpha=1", "alpha=2"])
