"""Sweeps: settings are selected on some seeds and reported on others, and sweeps are resumed."""

import json
from pathlib import Path

import pytest

pytest.importorskip("optuna")

from drrn.experiments.results import locked_folder
from drrn.experiments.sweep import Sweep, grid, read_space
from tests.commands import main
from textgames.errors import InputError

SET = ["--set", "rounds=1", "episodes_per_round=8", "evaluation_episodes=4"]
COMMAND = "sweep long-watch --paper --seeds 2 --report-seeds 1 --jobs 1".split() + SET
VARY = ["--vary", "alpha=0.1,2", "learning_rate=1e-4,1e-3,1e-2", "--budget", "2"]
RESULTS = ("sweep.csv", "best.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder of a sweep that the command wrote."""
    out = tmp_path_factory.mktemp("finished") / "sweep"
    assert main([*COMMAND, *VARY, "--out", str(out)]) == 0
    return out


def results_of(out):
    return {name: (out / name).read_text() for name in RESULTS}


def sweep_of(root=Path("out"), vary=("alpha=1",), **more):
    seeds = {"tuning": range(1000, 1002), "report": range(1)}
    return Sweep(root, "long-watch", read_space(vary), {}, True, **{**seeds, **more})


# Values of settings


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("alpha=0.1,0.5,1", [0.1, 0.5, 1.0]),
        ("hidden=50..200:50", [50, 100, 150, 200]),
        ("layers=1..3", [1, 2, 3]),
        ("alpha=0.1..0.5:0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("learning_rate=none,0.1", [None, 0.1]),
        ("shared=yes,no", [True, False]),
    ],
)
def test_values_are_written_as_lists_and_ranges(text, values):
    assert [value for each in grid(read_space([text])) for value in each.values()] == values


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
        ("alpha=-1", "-1.0"),
        ("hidden=200..50:50", "200"),
        ("hidden=50..200:x", '"x"'),
        ("learning_rate=log:0..1", "above 0"),
        ("seed=1,2", "own option"),
        ("model=drrm", '"drrn"'),
        ("alpha=1 alpha=2", "twice"),
    ],
)
def test_a_wrong_value_is_an_error_that_quotes_it(text, fact):
    with pytest.raises(InputError) as error:
        read_space(text.split())
    assert f'--vary "{text.split()[-1]}"' in str(error.value) and fact in str(error.value)


@pytest.mark.parametrize("search", ["grid", "random"])
def test_a_larger_budget_proposes_the_same_combinations_and_more(search):
    def proposals(budget, choice=0):
        vary = ["alpha=1,2,3", "hidden=10..30:10"]
        return sweep_of(vary=vary, search=search, budget=budget, choice=choice).proposals()

    first = proposals(4)
    assert len(first) == 4 and proposals(6)[:4] == first and proposals(4, choice=1) != first
    every = {str(each) for each in proposals(9)}
    assert len(every) == 9 or search == "random"


def test_optuna_proposes_the_values_of_a_trial_when_it_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(Sweep, "scores", lambda sweep, settings: [settings.exploration.alpha])
    sweep = sweep_of(tmp_path, ["alpha=0.5..3"], search="tpe", budget=25)
    study = sweep.start()
    sweep.run(study, 1, lambda study, trial: None)
    assert len(study.trials) == 25 and sweep.scored(study)[0].mean > 2.5


# The command


def test_the_best_settings_are_selected_on_some_seeds_and_reported_on_others(folder, capsys):
    before = results_of(folder)
    assert main([*COMMAND, *VARY, "--out", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "2 of 2 trials" in out and results_of(folder) == before
    header, *lines = (folder / "sweep.csv").read_text().splitlines()
    assert header == "alpha,learning_rate,mean,deviation" and len(lines) == 2
    best, other = (line.split(",") for line in lines)
    assert float(best[2]) >= float(other[2])
    assert f"seeds 1000 to 1001, used to choose it: {float(best[2]):.2f}" in out
    assert "seed 0, not used to choose it: " in out and "seed 0, the unchanged recipe: " in out
    record = json.loads((folder / "best.json").read_text())
    fixed = {"rounds": 1, "episodes_per_round": 8, "evaluation_episodes": 4}
    varied = {"alpha": float(best[0]), "learning_rate": float(best[1])}
    assert record == {"recipe": "paper", "settings": fixed | varied}


def test_the_best_settings_are_a_config_for_training(folder, tmp_path):
    path = folder / "best.json"
    command = ["train", "long-watch", "--config", str(path), "--out", str(tmp_path / "run")]
    assert main([*command, "--replicas", "1"]) == 0
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert config["recipe"] == "paper"
    assert json.loads(path.read_text())["settings"].items() <= config["settings"].items()


def test_other_results_are_never_overwritten(folder, capsys):
    before = results_of(folder)
    for options in (["--first-seed", "2000"], ["--set", "rounds=2"], ["--vary", "hidden=2"]):
        assert main([*COMMAND, *VARY, *options, "--out", str(folder)]) == 2
        assert "choose another --out" in capsys.readouterr().err
    assert main(["diagnose", "memory", "--out", str(folder)]) == 2
    assert "drrn sweep" in capsys.readouterr().err
    with locked_folder(folder, "sweep"):
        assert main([*COMMAND, *VARY, "--out", str(folder)]) == 2
    assert results_of(folder) == before


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ("--first-seed 0", "overlap"),
        ("--set alpha=1", "--vary"),
        ("--set replicas=9", "replicas"),
        ("--vary hidden=1..9999 layers=1..9999", "--search"),
        ("--vary trace=0..1 --budget 4", "--search"),
        ("--search tpe", "--budget"),
    ],
)
def test_contradictory_options_are_refused(options, fact, tmp_path, capsys):
    command = [*COMMAND, "--vary", "alpha=1,2", *options.split(), "--out", str(tmp_path / "out")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert fact in error and error.count("\n") == 1


def test_impossible_and_failed_trials_leave_the_others(tmp_path, import_folder, capsys):
    (tmp_path / "broken.py").write_text(
        "import drrn\n"
        "class Game:\n"
        "    name = 'broken'\n"
        "    def reset(self, seed=None): return drrn.Observation('here', ('on',))\n"
        "    def step(self, index): raise ArithmeticError('the reason')\n"
    )
    vary = ["--vary", "model=drrn,table", "hidden=6"]
    assert main(["sweep", "broken:Game", *COMMAND[2:], *vary]) == 2
    output = capsys.readouterr()
    assert "model=drrn hidden=6" in output.out and "FAILED" in output.out
    assert "model=table hidden=6" in output.out and "skipped: hidden" in output.out
    assert "the reason" in output.err and "nothing to choose from" in output.err


def test_an_interrupted_sweep_continues_to_the_same_results(folder, tmp_path, monkeypatch):
    command = [*COMMAND, *VARY, "--out", str(tmp_path / "sweep")]
    original = Sweep.scores
    calls = []

    def interrupted(sweep, settings):
        calls.append(settings)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(sweep, settings)

    monkeypatch.setattr(Sweep, "scores", interrupted)
    assert main(command) == 130
    with (tmp_path / "sweep/study.log").open("a") as file:
        file.write('{"op_code": 4')  # a line that was cut short
    assert main(command) == 0
    assert results_of(tmp_path / "sweep") == results_of(folder)
    assert calls.count(calls[0]) == 1


@pytest.mark.full
def test_trials_in_several_processes_have_the_results_of_one(folder, tmp_path):
    command = [*COMMAND, *VARY, "--out", str(tmp_path / "sweep"), "--jobs", "2"]
    assert main(command) == 0
    assert results_of(tmp_path / "sweep") == results_of(folder)
