"""Commands that run many jobs: killed at random moments, they continue to the same results."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.commands import process as process_of

# The strong recipe has a survey, after which a run has other settings than the command.
SET = "--set rounds=5 episodes_per_round=200 evaluation_episodes=20"
GRID = "sweep long-watch --vary alpha=0.5,1 --seeds 1 --report-seeds 1 --jobs 2"
TPE = "sweep long-watch --vary alpha=0.5..2 --search tpe --budget 5 --prune --seeds 1 --jobs 1"
REPRODUCE = "reproduce --quick --games long-watch --jobs 2 --only"
COMMANDS = {
    "grid": f"{GRID} {SET} updates=20",
    "tpe": f"{TPE} {SET} updates=20",
    "diagnose": "diagnose order memory --agent default paper random --level 1 --episodes 1200 "
    "--seeds 1 --jobs 2 --set updates=5",
    "reproduce": f"{REPRODUCE} table strong {SET} updates=20",
    "reproduced arena": f"{REPRODUCE} arena {SET}",
    "arena": "arena long-watch night-market --player random best --episodes 40",
}
RESULTS = ("*.csv", "*.jsonl", "best.json")


def size_of(out):
    """Return the number of bytes of all files that a command has written."""
    size = 0
    for path in out.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            size += path.stat().st_size
    return size


def results_of(out):
    paths = [path for pattern in RESULTS for path in out.rglob(pattern)]
    names = {
        path.relative_to(out).as_posix(): path for path in paths if path.name != "progress.csv"
    }
    return {name: path.read_bytes() for name, path in names.items() if not name.startswith("work")}


@pytest.mark.full
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_continues_to_the_same_results(name, tmp_path):
    pytest.importorskip("optuna")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def start(out):
        command = process_of([*COMMANDS[name].split(), "--out", str(out)])
        return subprocess.Popen(command, env=environment, start_new_session=True)

    assert start(tmp_path / "whole").wait() == 0
    generator = random.Random(name)
    for part in sorted(generator.uniform(0.1, 0.9) for _ in range(4)):
        process = start(tmp_path / "killed")
        while process.poll() is None:
            if size_of(tmp_path / "killed") >= part * size_of(tmp_path / "whole"):
                os.killpg(process.pid, generator.choice([signal.SIGKILL, signal.SIGINT]))
                process.wait()
                time.sleep(1)  # its workers end with it
            time.sleep(0.02)
    assert start(tmp_path / "killed").wait() == 0
    results = results_of(tmp_path / "whole")
    assert results and results_of(tmp_path / "killed") == results
