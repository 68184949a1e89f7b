"""Sweeps: settings as people write them, chosen on some seeds and reported on others, in a folder that goes on."""

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
COMMAND = [
    "sweep",
    "long-watch",
    "--paper",
    "--seeds",
    "2",
    "--report-seeds",
    "1",
    "--jobs",
    "1",
    *SET,
]
TWO = ["--vary", "alpha=0.1,2", "learning_rate=log:1e-4..1e-2:3", "--budget", "2"]
pytestmark = pytest.mark.usefixtures("jobs_in_process")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A sweep's folder, made by the real command."""
    out = tmp_path_factory.mktemp("made") / "sweep"
    assert main([*COMMAND, *TWO, "--out", str(out)]) == 0
    return out


@pytest.fixture
def swept(made, tmp_path):
    shutil.copytree(made, tmp_path / "sweep")
    return tmp_path / "sweep"


def texts(out):
    return {path.name: path.read_text() for path in sorted((out / "rows/long-watch").glob("*.csv"))}


# --- settings as people write them


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
def test_values_are_lists_and_ranges(text, values):
    assert list(read_grid([text]).values.values()) == [values]


@pytest.mark.parametrize(
    ("text", "why"),
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
def test_what_cannot_be_varied_is_one_sentence(text, why, capsys, tmp_path):
    assert main(["sweep", "long-watch", "--vary", text, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert f'--vary "{text}"' in error and why in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_every_combination_comes_once_in_either_order():
    grid = read_grid(["alpha=1,2", "hidden=10..30:10"])
    in_order = list(grid.in_order())
    assert (
        in_order[:2] == [(("alpha", 1.0), ("hidden", 10)), (("alpha", 1.0), ("hidden", 20))]
        and len(in_order) == 6
    )
    at_random = list(grid.at_random(1))
    assert at_random != in_order and sorted(at_random) == in_order
    assert list(grid.at_random(1)) == at_random != list(grid.at_random(2))


def test_a_grid_too_large_to_list_is_drawn_from():
    grid = Grid({name: tuple(range(1000)) for name in "abcdefghijkl"})
    first = [next_one for next_one, _ in zip(grid.at_random(0), range(5), strict=False)]
    assert grid.size == 10**36 and len(set(first)) == 5


def test_names_of_jobs_are_names_of_files_and_differ():
    paths = ("a/b.txt", "a_b.txt", "a b.txt")
    alike = [job_name((("vectors", path),), "tuning") for path in paths]
    assert len(set(alike)) == 3 and not any(set(name) & set("/ .") for name in alike)
    name = job_name((("alpha", 0.5), ("keep", True)), "tuning")
    assert name == "tuning-alpha=0_5,keep=yes"
    many = tuple((f"setting{number}", 1 / 7) for number in range(50))
    assert len(job_name(many, "tuning")) < 130


# --- the command


def test_the_best_is_chosen_on_some_seeds_and_reported_on_others(made, capsys):
    assert main([*COMMAND, *TWO, "--out", str(made)]) == 0
    out = capsys.readouterr().out
    assert "2 of 2 jobs to choose by are done (seeds 1000 to 1001)" in out
    assert "2 of 2 jobs to report are done (seed 0)" in out
    header, *lines = (made / "sweep.csv").read_text().splitlines()
    assert header.startswith("alpha,learning_rate,tuning_mean,") and len(lines) == 2
    best, other = (line.split(",") for line in lines)
    assert (
        float(best[2]) >= float(other[2]) and best[4] == "2" and best[7] == "1" and other[7] == ""
    )
    tuning, report = (float(best[place]) for place in (2, 5))
    assert (
        f"used for the choice: {tuning:.2f}" in out
        and f"not used for the choice: {report:.2f}" in out
    )
    assert "the unchanged recipe" in out
    chosen = json.loads((made / "best.json").read_text())
    assert chosen["settings"] == {
        "rounds": 2, "episodes_per_round": 8, "evaluation_episodes": 4,
        "alpha": float(best[0]), "learning_rate": float(best[1]),
    }  # fmt: skip
    seeds = {
        name: {line.split(",")[8] for line in text.splitlines()[1:]}
        for name, text in texts(made).items()
    }
    assert [sorted(seeds[name]) for name in sorted(seeds)] == [["0"]] * 2 + [["1000", "1001"]] * 2


def test_the_settings_of_the_best_are_a_config_to_train_with(made, tmp_path):
    command = [
        "train",
        "long-watch",
        "--config",
        str(made / "best.json"),
        "--out",
        str(tmp_path / "run"),
    ]
    assert main([*command, "--replicas", "1"]) == 0
    chosen, config = (
        json.loads(path.read_text()) for path in (made / "best.json", tmp_path / "run/config.json")
    )
    assert chosen["recipe"] == config["recipe"] == "paper"
    assert chosen["settings"].items() <= config["settings"].items()


def test_a_larger_budget_keeps_what_is_done_and_what_was_cut_ends_with_the_same_rows(swept, capsys):
    before = texts(swept)
    (
        swept / f"rows/long-watch/{Path(max(before)).stem}.json"
    ).unlink()  # as a kill leaves it: rows without a record
    assert main([*COMMAND, *TWO, "--budget", "3", "--out", str(swept)]) == 0
    assert "1 of 3 jobs to choose by are done" in capsys.readouterr().out
    assert before.items() <= texts(swept).items() and len(texts(swept)) > len(before)


def test_other_results_are_never_written_over(swept, tmp_path, capsys):
    before = texts(swept)
    for other in (["--first-seed", "2000"], ["--set", "rounds=1"]):
        assert main([*COMMAND, *TWO, *other, "--out", str(swept)]) == 2
        assert "give another --out" in capsys.readouterr().err
    assert texts(swept) == before
    for command in (["report"], ["reproduce", "--only", "table", "--games", "long-watch"]):
        assert main([*command, "--out", str(swept)]) == 2
        assert "the folder of a sweep" in capsys.readouterr().err
    (swept / "sweep.json").unlink()
    assert main([*COMMAND, *TWO, "--out", str(swept)]) == 2
    assert "it has other results" in capsys.readouterr().err


def test_combinations_that_make_no_sense_are_left_out_with_a_sentence(tmp_path):
    def tried(*vary):
        grid, seeds = read_grid(vary), (range(1000, 1002), range(1))
        sweep = Sweep(
            tmp_path, "long-watch", drrn.make("long-watch"), grid, {}, True, *seeds, "a commit"
        )
        return sweep.jobs(None, seed=0)

    jobs, errors = tried("model=drrn,table", "hidden=6")
    assert [job.name for job in jobs] == ["tuning-model=drrn,hidden=6"]
    assert errors[0].startswith("model=table hidden=6 is left out: hidden is given")
    with pytest.raises(
        InputError, match="n_steps is given, but it has an effect only with learner"
    ):
        tried("learner=returns", "n_steps=2,3")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--first-seed", "0"], "seeds 0 to 1 to choose by and seed 0 to report overlap"),
        (["--set", "alpha=1"], "alpha is in --set and in --vary"),
        (["--set", "replicas=9"], "has its own option"),
        (["--budget", "some"], "must be a whole number"),
        (["--budget", "0"], "must lie between 1"),
        (["--vary", "hidden=1..9999", "layers=1..9999"], "combinations: give a --budget"),
        (["--vary", "hidden=9000000000000"], "hidden 9000000000000: needs about"),
        (
            ["--report-seeds", "100000000", "--first-report-seed", "5000"],
            "replicas 100000000: needs about",
        ),
    ],
)
def test_what_a_sweep_cannot_do_is_one_sentence(more, why, tmp_path, capsys):
    assert main([*COMMAND, "--vary", "alpha=1,2", *more, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert why in error and error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_two_at_once_in_one_folder_are_refused_by_name(swept, capsys):
    with Results(swept).locked("sweep"):
        assert main([*COMMAND, *TWO, "--out", str(swept)]) == 2
    assert "another `drrn sweep` is running" in capsys.readouterr().err


def test_without_a_job_that_came_to_its_end_nothing_is_chosen(tmp_path, import_folder, capsys):
    (tmp_path / "broken.py").write_text(
        "import drrn\n"
        "class Game:\n"
        "    name = 'broken'\n"
        "    def reset(self, seed=None): return drrn.Observation('here', ('on',))\n"
        "    def step(self, index): raise ArithmeticError('the reason')\n"
    )
    assert main(["sweep", "broken:Game", *COMMAND[2:], "--vary", "alpha=1"]) == 2
    captured = capsys.readouterr()
    assert (
        "FAILED: ArithmeticError: the reason" in captured.out
        and "nothing to choose from" in captured.err
    )
    assert Path("sweeps/broken/sweep.json").exists()


def test_what_a_killed_sweep_left_half_written_is_cleared_and_nothing_else(tmp_path):
    kept = [tmp_path / name for name in (".notes.txt", ".gitignore", "sweep.7")]
    left = [
        tmp_path / name
        for name in (".sweep.json.77", ".best.json.4242", "rows/long-watch/.a=0_5.csv.9")
    ]
    for path in (*kept, *left):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    with Results(tmp_path).locked("sweep"):
        assert all(path.exists() for path in kept) and not any(path.exists() for path in left)


def test_any_number_of_seeds_is_compared_at_once():
    many = range(10**12)
    assert seeds_text(many) == "seeds 0 to 999999999999"
    with pytest.raises(InputError, match="overlap"):
        sweep_of(many, range(10**12 - 1, 2 * 10**12))
    assert sweep_of(many, range(10**12, 2 * 10**12)).tuning == many


def sweep_of(tuning, report):
    return Sweep(
        Path("out"), "g", None, read_grid(["alpha=1"]), {}, True, tuning, report, "a commit"
    )


def test_an_unknown_game_is_named(capsys):
    assert main(["sweep", "long-wach", "--vary", "alpha=1"]) == 2
    assert "long-watch" in capsys.readouterr().err


def test_the_settings_of_one_name_are_given_once():
    with pytest.raises(InputError, match="alpha occurs twice"):
        read_grid(["alpha=1", "alpha=2"])
