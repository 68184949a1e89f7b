"""Only one process at a time writes to the folder of a run."""

import pytest

import drrn
from drrn.runs.run import Run
from tests.commands import main
from tests.runs import results_of, resume_command, same_results, train
from textgames.errors import InputError
from textgames.processes import is_locked, lock_file


def test_a_locked_run_is_not_changed(tale, tmp_path, capsys):
    train(tale, tmp_path / "run", "--rounds", "1")
    before = results_of(tmp_path / "run")
    with Run(tmp_path / "run").locked():
        restart = ["train", str(tale), "--out", str(tmp_path / "run")]
        for command in (resume_command(tmp_path / "run"), restart):
            capsys.readouterr()
            assert main(command) == 2
            error = capsys.readouterr().err
            assert "another process is using this run" in error and error.count("\n") == 1
        with pytest.raises(InputError, match="another process is using"):
            drrn.resume(tmp_path / "run").save(tmp_path / "run")
    assert same_results(results_of(tmp_path / "run"), before)
    assert main(resume_command(tmp_path / "run")) == 0


def test_a_process_that_waits_for_a_lock_does_not_clear_the_file(tmp_path):
    path = tmp_path / "alive"
    with lock_file(path, "busy") as held:
        held.write("12345")
        held.flush()
        with pytest.raises(InputError, match="busy"):
            lock_file(path, "busy")
        assert path.read_text() == "12345" and is_locked(path)
