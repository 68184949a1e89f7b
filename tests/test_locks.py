"""One process at a time writes to a run's folder, and a lock does not outlive the process that held it."""

import os
import subprocess
import sys

import pytest

import drrn
from drrn.cli import main
from drrn.errors import InputError
from drrn.processes import locked, temporary_folder
from drrn.runs.run import Run
from tests.runs import numbers, resuming, same, train

HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(99)
"""


def test_a_run_that_another_process_is_at_work_on_is_left_alone(tale, tmp_path, capsys):
    train(tale, tmp_path / "run", "--rounds", "1")
    before = numbers(tmp_path / "run")
    with Run(tmp_path / "run").locked():
        for second in (
            resuming(tmp_path / "run"),
            ["train", str(tale), "--out", str(tmp_path / "run")],
        ):
            capsys.readouterr()
            assert main(second) == 2
            error = capsys.readouterr().err
            assert "another process is using this run" in error and error.count("\n") == 1
        with pytest.raises(InputError, match="another process is using"):
            drrn.resume(tmp_path / "run").save(tmp_path / "run")
    assert same(numbers(tmp_path / "run"), before) and main(resuming(tmp_path / "run")) == 0


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
    assert same(numbers(tmp_path / "run"), numbers(tmp_path / "alone"))


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path):
    path = tmp_path / ".lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    holder.stdout.readline()
    with pytest.raises(InputError, match="busy"), locked(path, "busy"):
        pass
    holder.kill()
    holder.communicate()
    assert path.exists()
    with locked(path, "busy"):
        pass
    assert not path.exists()  # nothing stays


def test_a_lock_whose_file_was_removed_by_its_last_holder_still_keeps_others_out(tmp_path):
    path = tmp_path / ".lock"
    with locked(path, "busy"):
        path.unlink()
        with locked(path, "busy"), pytest.raises(InputError, match="busy"), locked(path, "busy"):
            pass


def test_a_temporary_folder_outlives_a_kill_until_the_next_one_is_made():
    with temporary_folder("test") as alive:
        os.utime(alive, (0, 0))
        with temporary_folder("test") as second:
            assert alive.exists() and second != alive  # old as it is, its process lives
        killed = second
        killed.mkdir()
        (killed / "file").touch()
        with temporary_folder("test"):
            assert killed.exists()  # so young that its process may be about to lock it
        os.utime(killed, (0, 0))
        with temporary_folder("test"):
            assert not killed.exists()
    assert not alive.exists()
