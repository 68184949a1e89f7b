"""Only one process at a time writes to the folder of a run."""

import pytest

import drrn
from drrn.cli import main
from drrn.errors import InputError
from drrn.runs.run import Run
from tests.runs import results_of, resume_command, same_results, train


def test_a_run_that_another_process_is_at_work_on_is_left_alone(tale, tmp_path, capsys):
    train(tale, tmp_path / "run", "--rounds", "1")
    before = results_of(tmp_path / "run")
    with Run(tmp_path / "run").locked():
        for second in (
            resume_command(tmp_path / "run"),
            ["train", str(tale), "--out", str(tmp_path / "run")],
        ):
            capsys.readouterr()
            assert main(second) == 2
            error = capsys.readouterr().err
            assert "another process is using this run" in error and error.count("\n") == 1
        with pytest.raises(InputError, match="another process is using"):
            drrn.resume(tmp_path / "run").save(tmp_path / "run")
    assert (
        same_results(results_of(tmp_path / "run"), before)
        and main(resume_command(tmp_path / "run")) == 0
    )


def test_two_that_begin_one_folder_are_one_run_and_one_refusal(tale, tmp_path, monkeypatch, capsys):
    begin, second = Run.create, []

    def begin_twice(folder, trainer):
        monkeypatch.setattr(Run, "create", begin)
        begun = begin(folder, trainer)
        second.append(train(tale, folder))  # the other comes just after
        return begun

    monkeypatch.setattr(Run, "create", begin_twice)
    assert train(tale, tmp_path / "run") == 0 and second == [2]
    assert "already exists" in capsys.readouterr().err
    train(tale, tmp_path / "alone")
    assert same_results(results_of(tmp_path / "run"), results_of(tmp_path / "alone"))
