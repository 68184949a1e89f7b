"""Sweeps: settings are selected on some seeds and reported on others, and sweeps are resumed."""

import importlib
import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna")

import drrn
from drrn.experiments.results import locked_folder
from drrn.experiments.sweep import Sweep, read_space
from tests.commands import main
from tests.experiment_jobs import InProcessWorkers
from textgames.errors import InputError

SET = ["--set", "rounds=2", "episodes_per_round=8", "evaluation_episodes=4"]
COMMAND = "sweep long-watch --paper --seeds 2 --report-seeds 1 --jobs 1".split() + SET
VARY = ["--vary", "alpha=0.1,2", "learning_rate=1e-4,1e-3,1e-2", "--budget", "2"]
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
    return Sweep(root, "long-watch", game, space, {}, True, tuning, report, **more)


# Values of settings


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("alpha=0.1,0.5,1", (0.1, 0.5, 1.0)),
        ("hidden=50..190:50", (50, 100, 150)),
        ("layers=1..3", (1, 2, 3)),
        ("alpha=0.1..0.5:0.1", (0.1, 0.2, 0.3, 0.4, 0.5)),
        ("learning_rate=none,0.1,0.1", (None, 0.1)),
        ("shared=yes,no", (True, False)),
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
        ("alpha=1,,2", "a number"),
        ("alpha=-1", "-1.0"),
        ("hidden=200..50:50", "range"),
        ("hidden=50..200:0", "step"),
        ("alpha=0..inf:1", "inf"),
        ("alpha=0..1:1e-9", "too many"),
        ("learning_rate=log:0..1", "learning_rate"),
        ("seed=1,2", "own option"),
        ("model=drrm", '"drrn"'),
        ("alpha=1 alpha=2", "twice"),
    ],
)
def test_a_wrong_value_is_an_error_that_quotes_it(text, fact):
    with pytest.raises(InputError) as error:
        read_space(text.split())
    assert f'--vary "{text.split()[-1]}"' in str(error.value) and fact in str(error.value)


@pytest.mark.parametrize("search", ["grid", "random", "tpe"])
def test_a_search_proposes_up_to_its_budget_and_a_larger_one_keeps_the_first(tmp_path, search):
    def tried(name, budget=4, choice=0):
        vary = ["alpha=1,2,3", "hidden=10..30:10" if search == "grid" else "hidden=1..1000"]
        how = {"search": search, "budget": budget, "choice": choice}
        sweep = sweep_of(tmp_path / name, vary, **how)
        study = sweep.start()
        for number, trial in enumerate(sweep._trials(study)):
            study.tell(trial, number)
        return [str(trial.params) for trial in study.trials]

    first = tried("a")
    assert len(set(first)) == 4
    assert tried("b") == first
    assert tried("c", choice=1) != first
    assert tried("a", budget=6)[:4] == first
    assert len(tried("d", budget=12)) == (9 if search == "grid" else 12)


def test_a_repeated_proposal_is_not_trained_again(tmp_path, jobs_in_process, capsys):
    few = ["rounds=1", "episodes_per_round=2", "evaluation_episodes=1", "hidden=2"]
    vary = ["--vary", "alpha=1,2", "--search", "random", "--budget", "5", "--out", str(tmp_path)]
    assert main([*COMMAND[:-3], *few, *vary]) == 0
    assert len(list(tmp_path.glob("runs/tuning-*"))) == 2


# The command


def test_the_best_settings_are_selected_on_some_seeds_and_reported_on_others(
    finished_sweep, jobs_in_process, capsys
):
    assert main([*COMMAND, *VARY, "--out", str(finished_sweep)]) == 0
    out = capsys.readouterr().out
    assert "2 of at most 2 trials" in out and "2 of 2 report jobs" in out
    header, *lines = (finished_sweep / "sweep.csv").read_text().splitlines()
    assert header == "alpha,learning_rate,part,seeds,mean,deviation"
    best, other, reported, recipe = (line.split(",") for line in lines)
    assert float(best[4]) >= float(other[4])
    assert best[2:4] == other[2:4] == ["tuning", "seeds 1000 to 1001"]
    assert reported[:4] == [*best[:2], "report", "seed 0"]
    assert recipe[:4] == ["", "", "report", "seed 0"]
    assert f" used to choose it: {float(best[4]):.2f}" in out
    assert f"not used to choose it: {float(reported[4]):.2f}" in out
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


def test_other_results_are_never_overwritten(sweep_folder, capsys):
    before = results_of(sweep_folder)
    with locked_folder(sweep_folder, "sweep"):
        assert main([*COMMAND, *VARY, "--out", str(sweep_folder)]) == 2
    assert str(sweep_folder) in capsys.readouterr().err
    for options in (["--first-seed", "2000"], ["--set", "rounds=1"], ["--vary", "hidden=2"]):
        assert main([*COMMAND, *VARY, *options, "--out", str(sweep_folder)]) == 2
        assert "choose another --out" in capsys.readouterr().err
    for command in (["report"], ["reproduce", "--only", "table", "--games", "long-watch"]):
        assert main([*command, "--out", str(sweep_folder)]) == 2
        assert "drrn sweep" in capsys.readouterr().err
    assert results_of(sweep_folder) == before


def test_impossible_combinations_are_skipped_with_a_message(tmp_path, jobs_in_process, caplog):
    sweep = sweep_of(tmp_path / "a", ["model=drrn,table", "hidden=6"])
    jobs = list(sweep._jobs(sweep.start(), {}))
    assert [job.changes["model"] for job in jobs] == ["drrn"]
    assert "model=table hidden=6" in caplog.text


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ("--first-seed 0", "overlap"),
        ("--vary hidden=1..9999 layers=1..99", "too many"),
        ("--vary trace=0..1 --budget 4", "--search random"),
        ("--search tpe", "--budget"),
        ("--ray nonsense", "HOST:PORT"),
    ],
)
def test_contradictory_options_are_refused(options, fact, tmp_path, capsys):
    command = [*COMMAND, "--vary", "alpha=1,2", *options.split(), "--out", str(tmp_path / "out")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert fact in error and error.count("\n") == 1


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
    names = [".notes.txt", "sweep.7", ".sweep.json.77", "rows/long-watch/.a=0_5.csv.9"]
    for path in (tmp_path / name for name in names):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    with locked_folder(tmp_path, "sweep"):
        assert [(tmp_path / name).exists() for name in names] == [True, True, False, False]


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
        kinds = [event.kind for event in sweep.run(study, workers)]
    assert kinds.count("done") == 3 and kinds.count("pruned") == 2
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 3 + ["PRUNED"] * 2
    assert len(sweep.finished(study)) == 3


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
        ("drrn.runs.run:Run", "save", 4, True),
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
            signal.raise_signal(signal.SIGINT)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(target, name, interrupting)
        assert main(command) == 130
    with (tmp_path / "sweep/study.log").open("a") as file:
        file.write('{"op_code": 4')  # a line that was cut short
    assert main(command) == 0
    assert results_of(tmp_path / "sweep") == strong
