"""Sweeps: settings are selected on some seeds and reported on others, and sweeps are resumed."""

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna")

import drrn
from drrn.experiments.agents import seeds_text
from drrn.experiments.results import locked_folder
from drrn.experiments.space import grid, read_space
from drrn.experiments.sweep import Sweep, job_name
from tests.commands import main
from tests.experiment_jobs import InProcessWorkers
from textgames.errors import InputError

SET = ["--set", "rounds=2", "episodes_per_round=8", "evaluation_episodes=4"]
COMMAND = "sweep long-watch --paper --seeds 2 --report-seeds 1 --jobs 1".split() + SET
VARY = ["--vary", "alpha=0.1,2", "learning_rate=log:1e-4..1e-2:3", "--budget", "2"]
# The strong recipe has a survey, after which config.json differs from what was asked for.
STRONG = "sweep long-watch --seeds 1 --report-seeds 1 --jobs 1 --vary alpha=0.5,1 --set".split()
SHORT = "rounds=2 episodes_per_round=8 evaluation_episodes=4 updates=1 hidden=4".split()
RESULTS = ("sweep.csv", "best.json")


@pytest.fixture(scope="module")
def finished_sweep(tmp_path_factory, jobs_in_process):
    """Folder of a sweep that the command wrote."""
    out = tmp_path_factory.mktemp("finished") / "sweep"
    assert main([*COMMAND, *VARY, "--out", str(out)]) == 0
    return out


@pytest.fixture
def sweep_folder(finished_sweep, tmp_path):
    """A copy of the sweep to change."""
    shutil.copytree(finished_sweep, tmp_path / "sweep")
    return tmp_path / "sweep"


def results_of(out):
    runs = {path: path.read_text() for path in sorted(out.glob("runs/*/evaluations.csv"))}
    texts = {path.relative_to(out): text for path, text in runs.items()}
    return texts | {name: (out / name).read_text() for name in RESULTS}


def sweep_of(
    root=Path("out"), vary=("alpha=1",), tuning=range(1000, 1002), report=range(1), **more
):
    game = drrn.make("long-watch")
    space = read_space(vary)
    return Sweep(root, "long-watch", game, space, {}, True, tuning, report, "a commit", **more)


# Values of settings


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("alpha=0.1,0.5,1", (0.1, 0.5, 1.0)),
        ("hidden=50..190:50", (50, 100, 150)),
        ("layers=1..3", (1, 2, 3)),
        ("alpha=0.1..0.5:0.1", (0.1, 0.2, 0.3, 0.4, 0.5)),
        ("learning_rate=none,log:1e-3..1e-1:2", (None, 0.001, 0.1)),
        ("hidden=log:10..1000:3", (10, 100, 1000)),
        ("hidden=20,10..30:10", (20, 10, 30)),
        ("shared=yes,no", (True, False)),
        ("encoder=bag,lstm", ("bag", "lstm")),
        ("alpha=1..1:5", (1.0,)),
    ],
)
def test_values_are_written_as_lists_and_ranges(text, values):
    (distribution,) = read_space([text]).values()
    assert distribution.choices == values


@pytest.mark.parametrize(
    ("text", "low", "is_log"), [("alpha=0.1..2", 0.1, False), ("hidden=log:10..99", 10, True)]
)
def test_a_range_without_a_step_stands_for_all_its_numbers(text, low, is_log):
    (distribution,) = read_space([text]).values()
    assert (distribution.low, distribution.log) == (low, is_log)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("alhpa=1", '"alpha"'),
        ("alpha", "a number"),
        ("alpha=1,,2", "a number"),
        ("alpha=-1", "-1.0"),
        ("hidden=200..50:50", "200"),
        ("hidden=50..200:0", "0 values"),
        ("hidden=50..200:x", '"x"'),
        ("alpha=0..inf:1", "inf"),
        ("alpha=0..1:1e-9", "10,000"),
        ("learning_rate=log:0..1:4", "LOW"),
        ("learning_rate=log:0.1..1:1", "1 values"),
        ("hidden=1.5..3", '"1.5"'),
        ("seed=1,2", "--first-seed"),
        ("workers=1,2", "workers"),
        ("model=drrm", '"drrn"'),
        ("alpha=1 alpha=2", "twice"),
    ],
)
def test_a_wrong_value_is_an_error_that_quotes_it(text, fact):
    with pytest.raises(InputError) as error:
        read_space(text.split())
    assert f'--vary "{text.split()[-1]}"' in str(error.value) and fact in str(error.value)


def test_every_combination_of_a_grid_occurs_once():
    changes = list(grid(read_space(["alpha=1,2", "hidden=10..30:10"])))
    assert changes[:2] == [{"alpha": 1.0, "hidden": 10}, {"alpha": 1.0, "hidden": 20}]
    assert len({str(each) for each in changes}) == 6


@pytest.mark.parametrize("search", ["grid", "random", "tpe"])
def test_a_search_proposes_each_combination_once_up_to_its_budget(tmp_path, search):
    def tried(name, budget=4, choice=0):
        vary = ["alpha=1,2,3", "hidden=10..30:10"]
        how = {"search": search, "budget": budget, "choice": choice}
        sweep = sweep_of(tmp_path / name, vary, **how)
        study = sweep.start()
        for number, (trial, _) in enumerate(sweep._trials(study, pytest.fail)):
            study.tell(trial, number)
        return [str(trial.params) for trial in study.trials]

    first = tried("a")
    assert len(set(first)) == 4
    assert tried("b") == first
    assert tried("c", choice=1) != first
    assert tried("a", budget=6)[:4] == first
    assert len(tried("d", budget=99)) == 9 or search == "tpe"


def test_names_of_jobs_are_unique_file_names():
    paths = ("a/b.txt", "a_b.txt", "a b.txt")
    names = [job_name({"vectors": path}, "tuning") for path in paths]
    assert len(set(names)) == 3 and not any(set(name) & set("/ .") for name in names)
    assert job_name({"alpha": 0.5, "keep": True}, "tuning") == "tuning-alpha=0_5,keep=yes"
    many = {f"setting{number}": 1 / 7 for number in range(50)}
    assert len(job_name(many, "tuning")) < 130


# The command


def test_the_best_settings_are_selected_on_some_seeds_and_reported_on_others(
    finished_sweep, jobs_in_process, capsys
):
    assert main([*COMMAND, *VARY, "--out", str(finished_sweep)]) == 0
    out = capsys.readouterr().out
    assert "2 of at most 2 trials" in out and "2 of 2 report jobs" in out
    header, *lines = (finished_sweep / "sweep.csv").read_text().splitlines()
    assert header.startswith("alpha,learning_rate,tuning_mean,") and len(lines) == 2
    best, other = (line.split(",") for line in lines)
    assert float(best[2]) >= float(other[2])
    assert best[4] == "2" and best[7] == "1" and other[7] == ""
    assert f"used to choose it: {float(best[2]):.2f}" in out
    assert f"not used to choose it: {float(best[5]):.2f}" in out
    record = json.loads((finished_sweep / "best.json").read_text())
    fixed = {"rounds": 2, "episodes_per_round": 8, "evaluation_episodes": 4}
    varied = {"alpha": float(best[0]), "learning_rate": float(best[1])}
    assert record == {"recipe": "paper", "settings": fixed | varied}
    for path in finished_sweep.glob("runs/*/config.json"):
        settings = json.loads(path.read_text())["settings"]
        seeds = (settings["seed"], settings["replicas"])
        assert seeds == ((1000, 2) if path.parent.name.startswith("tuning") else (0, 1))


def test_the_best_settings_are_a_config_for_training(finished_sweep, tmp_path):
    path = finished_sweep / "best.json"
    command = ["train", "long-watch", "--config", str(path), "--out", str(tmp_path / "run")]
    assert main([*command, "--replicas", "1"]) == 0
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert config["recipe"] == "paper"
    assert json.loads(path.read_text())["settings"].items() <= config["settings"].items()


def test_a_larger_budget_keeps_finished_trials(sweep_folder, jobs_in_process, capsys):
    before = {path.name for path in sweep_folder.glob("runs/*")}
    assert main([*COMMAND, *VARY, "--budget", "3", "--out", str(sweep_folder)]) == 0
    assert "2 of at most 3 trials" in capsys.readouterr().out
    assert before < {path.name for path in sweep_folder.glob("runs/*")}


def test_other_results_are_never_overwritten(sweep_folder, capsys):
    before = results_of(sweep_folder)
    for options in (["--first-seed", "2000"], ["--set", "rounds=1"], ["--vary", "hidden=2"]):
        assert main([*COMMAND, *VARY, *options, "--out", str(sweep_folder)]) == 2
        assert "choose another --out" in capsys.readouterr().err
    for command in (["report"], ["reproduce", "--only", "table", "--games", "long-watch"]):
        assert main([*command, "--out", str(sweep_folder)]) == 2
        assert "drrn sweep" in capsys.readouterr().err
    assert results_of(sweep_folder) == before


def test_impossible_combinations_are_skipped_with_a_message(tmp_path, jobs_in_process, capsys):
    skipped: list[str] = []
    sweep = sweep_of(tmp_path / "a", ["model=drrn,table", "hidden=6"])
    trials = sweep._trials(sweep.start(), skipped.append)
    assert [changes["model"] for _, changes in trials] == ["drrn"]
    assert [text.split(":")[0] for text in skipped] == ["model=table hidden=6"]
    out = ["--out", str(tmp_path / "b")]
    assert main([*COMMAND, "--vary", "hidden=9000000000000", *out]) == 2
    assert "9000000000000" in capsys.readouterr().err
    # Nothing was tried, so the folder can be used for another sweep.
    assert main([*COMMAND, "--vary", "hidden=2", *out]) == 0


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ("--first-seed 0", "overlap"),
        ("--set alpha=1", "--vary"),
        ("--set replicas=9", "replicas"),
        ("--budget some", "whole number"),
        ("--budget 0", "1"),
        ("--vary hidden=1..9999 layers=1..9999", "--budget"),
        ("--vary trace=0..1 --budget 4", "--search"),
        ("--search tpe", "--budget"),
        ("--ray nonsense", "HOST:PORT"),
    ],
)
def test_contradictory_options_are_refused(options, fact, tmp_path, capsys):
    command = [*COMMAND, "--vary", "alpha=1,2", *options.split(), "--out", str(tmp_path / "out")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert fact in error and error.count("\n") == 1


def test_a_second_sweep_in_one_folder_is_rejected(sweep_folder, capsys):
    with locked_folder(sweep_folder, "sweep"):
        assert main([*COMMAND, *VARY, "--out", str(sweep_folder)]) == 2
    assert str(sweep_folder) in capsys.readouterr().err


def test_a_sweep_fails_if_no_job_succeeds(tmp_path, import_folder, jobs_in_process, capsys):
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
    assert "nothing to choose from" in output.err
    assert Path("sweeps/broken/sweep.json").exists()


def test_only_half_written_files_of_a_killed_sweep_are_deleted(tmp_path):
    others = [".notes.txt", ".gitignore", "sweep.7"]
    temporary = [".sweep.json.77", ".best.json.4242", "rows/long-watch/.a=0_5.csv.9"]
    for name in (*others, *temporary):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    with locked_folder(tmp_path, "sweep"):
        assert all((tmp_path / name).exists() for name in others)
        assert not any((tmp_path / name).exists() for name in temporary)


def test_ranges_of_many_seeds_are_compared_without_listing_them():
    many = range(10**12)
    assert seeds_text(many) == "seeds 0 to 999999999999"
    with pytest.raises(InputError):
        sweep_of(tuning=many, report=range(10**12 - 1, 2 * 10**12))
    assert sweep_of(tuning=many, report=range(10**12, 2 * 10**12)).tuning == many


def test_poor_trials_are_ended_early(tmp_path, jobs_in_process):
    """Five trials with made-up scores: the last is worse than the others after its second round."""

    class Scripted(InProcessWorkers):
        def wait(self):
            for stream, event in super().wait():
                job = event.job
                score = -job.settings.exploration.alpha
                yield stream, type(event)(job, event.kind, event.rounds, score)

    few = {"rounds": 3, "episodes_per_round": 2, "evaluation_episodes": 1}
    sweep = sweep_of(tmp_path, ["alpha=1,2,3,4,5"], prune=True)
    sweep.overrides.update(few)
    study = sweep.start()
    with Scripted() as workers:
        kinds = [event.kind for event in sweep.run(study, workers, pytest.fail)]
    assert kinds.count("done") == 3 and kinds.count("pruned") == 2
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 3 + ["PRUNED"] * 2
    assert len(sweep.scored(study)) == 3


# Interruptions


@pytest.fixture(scope="module")
def strong(tmp_path_factory, jobs_in_process):
    """Results of a sweep that was not interrupted."""
    out = tmp_path_factory.mktemp("strong") / "sweep"
    assert main([*STRONG, *SHORT, "--out", str(out)]) == 0
    return results_of(out)


@pytest.mark.parametrize(
    ("owner", "name", "call", "after"),
    [
        ("drrn.runs.run:Run", "create", 1, True),
        ("drrn.experiments.job:", "write_json", 2, True),
        ("drrn.runs.run:Run", "save", 1, True),
        ("drrn.runs.run:Run", "save", 4, True),
        ("drrn.experiments.sweep:", "write_json", 3, True),
        ("optuna.study:Study", "enqueue_trial", 2, True),
        ("optuna.study:Study", "ask", 2, True),
        ("optuna.study:Study", "tell", 1, False),
    ],
)
def test_an_interrupted_sweep_continues_to_the_same_results(
    owner, name, call, after, strong, jobs_in_process, tmp_path, monkeypatch
):
    """The sweep is interrupted before or after a call of a function."""
    command = [*STRONG, *SHORT, "--out", str(tmp_path / "sweep")]
    module, _, kind = owner.partition(":")
    target: Any = importlib.import_module(module)
    target = getattr(target, kind) if kind else target
    original = getattr(target, name)
    calls = 0

    def interrupting(*arguments, **options):
        nonlocal calls
        calls += 1
        result = original(*arguments, **options) if after or calls != call else None
        if calls == call:
            raise KeyboardInterrupt
        return result

    with monkeypatch.context() as patch:
        patch.setattr(target, name, interrupting)
        assert main(command) == 130
    with (tmp_path / "sweep/study.log").open("a") as file:
        file.write('{"op_code": 4')  # a line that was cut short
    assert main(command) == 0
    assert results_of(tmp_path / "sweep") == strong
