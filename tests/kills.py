"""Kill tests: a command killed at random and restarted writes the files of an uninterrupted one.

python -m tests.kills [KILLS [SEED]]     as scripts/kill-test calls it
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from drrn.runs import storage
from tests.commands import main
from tests.commands import process as process_of
from tests.runs import SMALL
from tests.stories import FORK, REWARDS

DESCRIPTION = """Kill train, resume, reproduce, sweep, diagnose, arena and evaluate at random moments
and restart them until they end; every byte of the final files and of what evaluate prints must
equal those of an uninterrupted run."""
ROUNDS = 15
MAX_STARTS = 60  # of one command; after that it makes no progress
STEPPED = ("--matches", "--optimiser", "adam", "--episodes-per-round", "3")
WORKERS = ("--workers", "2")
ORPHAN_ERRORS = {"EOFError", "BrokenPipeError", "ConnectionResetError"}  # the parent was killed
VOLATILE_FIELDS = {"seconds", "commit"}  # of a record

Files = dict[str, bytes]


@dataclass(frozen=True)
class Target:
    """A command to kill, and the files to compare in the end."""

    name: str
    command: Callable[[Path, Path], list[str]]  # takes the story and the folder
    files: Callable[[Path], Files]
    prepare: Callable[[Path, Path], list[str]] | None = None  # runs first, without kills
    prints: bool = False  # whether its output is compared, too


def train_command(tale: Path, out: Path, rounds: int = ROUNDS) -> list[str]:
    return ["train", str(tale), "--out", str(out), *SMALL, "--rounds", str(rounds), "--seed", "3"]


def train_or_resume(*more: str) -> Callable[[Path, Path], list[str]]:
    """Return the command that starts a run with these options, or resumes it."""

    def command(tale: Path, out: Path) -> list[str]:
        if (out / "config.json").exists():
            return ["train", "--resume", str(out)]
        return [*train_command(tale, out), *more]

    return command


def extend_command(tale: Path, out: Path) -> list[str]:
    return ["train", "--resume", str(out), "--rounds", str(ROUNDS)]


def reproduce_command(tale: Path, out: Path) -> list[str]:
    jobs = ["--only", "table", "drrn-1x20", "linear", "--jobs", "2"]
    settings = ["rounds=6", "episodes_per_round=6", "evaluation_episodes=4"]
    options = ["--quick", "--games", str(tale), *jobs, "--out", str(out), "--set", *settings]
    return ["reproduce", *options]


def sweep_command(tale: Path, out: Path) -> list[str]:
    settings = ["rounds=6", "episodes_per_round=6", "evaluation_episodes=4", "epochs=2", "hidden=6"]
    seeds = ["--seeds", "2", "--report-seeds", "1", "--jobs", "1"]
    vary = ["--paper", "--vary", "alpha=0.5,1,2"]
    return ["sweep", str(tale), *vary, *seeds, "--out", str(out), "--set", *settings]


def diagnose_command(tale: Path, out: Path) -> list[str]:
    settings = ["--set", "evaluation_episodes=4", "hidden=6"]
    few = ["--level", "1", "--seeds", "3", "--episodes", "40", "--jobs", "1"]
    return ["diagnose", "memory", *few, *settings, "--out", str(out)]


def arena_command(tale: Path, out: Path) -> list[str]:
    few = ["--player", "random", "best", "--episodes", "4000"]
    return ["arena", str(tale), *few, "--out", str(out)]


def evaluate_command(tale: Path, out: Path) -> list[str]:
    return ["evaluate", str(out), "--episodes", "2000", "--json"]


def files_of_run(folder: Path) -> Files:
    """Return every file, including hidden ones: no half-written file may remain."""
    return {path.name: _stable_bytes(path) for path in sorted(folder.iterdir())}


def _stable_bytes(path: Path) -> bytes:
    """Return the contents of a file, without the seconds of progress.csv."""
    data = path.read_bytes()
    return storage.without_seconds(data) if path.name == storage.PROGRESS else data


def files_of_results(folder: Path) -> Files:
    """Return rows and figures, and records without volatile fields."""
    paths = sorted((folder / "rows").rglob("*")) + sorted((folder / "figures").rglob("*"))
    return _comparable_files(folder, paths)


def files_of_folder(folder: Path) -> Files:
    """Return every file but the lock, including hidden ones; records without volatile fields."""
    return _comparable_files(folder, sorted(folder.rglob("*")))


def _comparable_files(folder: Path, paths: Iterable[Path]) -> Files:
    files = {}
    for path in paths:
        if not path.is_file() or path.name in (".lock", "study.log"):  # this one has times
            continue
        data = _stable_bytes(path)
        if path.suffix == ".json":
            record = json.loads(data)
            if isinstance(record, dict):
                record = {name: record[name] for name in record if name not in VOLATILE_FIELDS}
            data = json.dumps(record, sort_keys=True).encode()
        files[str(path.relative_to(folder))] = data
    return files


def is_orphan_traceback(error: str) -> bool:
    """Whether all tracebacks come from worker processes that started after their parent was killed.

    These contain only lines of multiprocessing, and errors of a broken pipe.
    """
    sources = re.findall(r'^ +File "(.*?)"', error, re.MULTILINE)
    pattern = r"^[\w.]*(?:Error|Exception|Interrupt|Exit|Warning)\b"
    exceptions = set(re.findall(pattern, error, re.MULTILINE))
    is_startup = all(path == "<string>" or "/multiprocessing/" in path for path in sources)
    return is_startup and exceptions <= ORPHAN_ERRORS


TARGETS = (
    Target("train", train_or_resume(), files_of_run),
    Target("train --matches", train_or_resume(*STEPPED), files_of_run),
    Target("train --matches --workers 2", train_or_resume(*STEPPED, *WORKERS), files_of_run),
    Target("resume", extend_command, files_of_run, lambda tale, out: train_command(tale, out, 3)),
    Target("reproduce", reproduce_command, files_of_results),
    Target("sweep", sweep_command, files_of_folder),
    Target("diagnose", diagnose_command, files_of_folder),
    Target("arena", arena_command, files_of_folder),
    Target("evaluate", evaluate_command, files_of_run, train_command, prints=True),
)


class KillTest:
    """Kills commands at moments that the seed decides, as far as the machine's timing allows."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.generator = random.Random(seed)
        self.tale = folder / "tale.toml"
        self.tale.write_text('story = "tale.twee"\n' + REWARDS)
        self.tale.with_suffix(".twee").write_text(FORK)
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OMP_NUM_THREADS": "1",
            "TEXTGAMES_HOME": str(folder / "home"),
        }
        self.trials = 0

    def test(self, target: Target, kills: int) -> None:
        """Kill a command this many times, in one or more trials; compare the files of each."""
        expected, _ = self._trial(target, 0)
        assert expected, f"{target.name} writes no file"
        while kills > 0:
            self.trials += 1
            files, used = self._trial(target, kills)
            difference = files.keys() ^ expected.keys()
            assert not difference, f"{target.name}: different files: {difference}"
            changes = [name for name in expected if files[name] != expected[name]]
            assert not changes, f"{target.name}: different bytes after {used} kills: {changes}"
            kills -= used

    def _trial(self, target: Target, kills: int) -> tuple[Files, int]:
        """Run a command to its end with at most this many kills; return its files and the kills."""
        out = self.folder / f"{target.name.replace(' ', '')}-{self.trials}"
        if target.prepare:
            self._run_in_process(target.prepare(self.tale, out))
        output: bytes | None = None
        used = -1
        if not kills:
            output = self._run_in_process(target.command(self.tale, out))
        while output is None and used < MAX_STARTS:
            used += 1
            output = self._run(target.command(self.tale, out), kill=used < kills)
        if output is not None:
            printed = {"output": output} if target.prints else {}
            return {**target.files(out), **printed}, max(0, used)
        raise AssertionError(f"{target.name} did not end after {MAX_STARTS} starts")

    def _run_in_process(self, command: list[str]) -> bytes:
        """Run a command without kills in this process, which has imported everything."""
        output = io.StringIO()
        with redirect_stdout(output), mock.patch.dict(os.environ, self.environment):
            assert main(command) == 0, command
        return output.getvalue().encode()

    def _run(self, command: list[str], *, kill: bool) -> bytes | None:
        """Run a command in a process; return what it printed, or None if it was killed."""
        process = subprocess.Popen(
            process_of(command),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        seen = ""
        if kill:
            seen = self._wait(process)
            process.send_signal(signal.SIGKILL)
        out, error = process.communicate(timeout=600)
        out = seen + out
        is_clean = "Traceback" not in error or (kill and is_orphan_traceback(error))
        assert is_clean, f"{command}: {out}{error}"
        assert process.returncode in (0, -signal.SIGKILL), f"{command}: {out}{error}"
        return None if process.returncode else out.encode()

    def _wait(self, process: subprocess.Popen[str]) -> str:
        """Wait for some lines; in one case of three for a time during which the command starts.

        Returns the lines.
        """
        if self.generator.random() < 0.3:
            time.sleep(self.generator.random() * 6)
            return ""
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(self.generator.randint(1, 4))]
        if lines[-1]:
            time.sleep(self.generator.random() * 0.15)
        return "".join(lines)


def kill_all(kills: int, seed: int, only: list[str]) -> None:
    """Divide the kills among all commands, or those that are named."""
    targets = [target for target in TARGETS if not only or target.name.split()[0] in only]
    with tempfile.TemporaryDirectory() as folder:
        test = KillTest(Path(folder), seed)
        for number, target in enumerate(targets):
            share = len(range(number, kills, len(targets)))
            test.test(target, share)
            print(f"{target.name}: {share} kills, equal bytes", flush=True)
    print(f"{kills} kills in {test.trials} runs: the final files equal those of uninterrupted runs")


def parse_arguments() -> dict[str, Any]:
    """Parse the command line."""
    options = argparse.ArgumentParser(prog="scripts/kill-test", description=DESCRIPTION)
    options.add_argument("kills", type=int, nargs="?", default=100, help="(default: 100)")
    options.add_argument("seed", type=int, nargs="?", default=0, help="(default: 0)")
    options.add_argument("only", nargs="*", help="names of commands (default: all)")
    return vars(options.parse_args())


if __name__ == "__main__":
    kill_all(**parse_arguments())
