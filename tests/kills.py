"""Commands that are killed at random moments and begun again, until they end: what they leave must be what one that
was never killed leaves, to the last byte.

    python -m tests.kills [KILLS [SEED]]     as scripts/kill-test calls it
"""

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
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from drrn.cli import main
from tests.runs import SMALL
from tests.stories import FORK, REWARDS

WHAT = """Kill train, resume, reproduce and sweep at random moments and begin them again, until they end; every byte
that they leave must be what a run that was never killed leaves."""
ROUNDS = 15
MOST_STARTS = 60  # of one command, which is killed and begun again: then it gets nowhere
ORPHANED = {
    "EOFError",
    "BrokenPipeError",
    "ConnectionResetError",
}  # of a pipe whose other end was killed
CHANGING = {"seconds", "commit"}  # what a record says of the clock


@dataclass(frozen=True)
class Killed:
    """A command to be killed: what to run now that the folder is as it is, and what must be the same in the end."""

    name: str
    command: Callable[[Path, Path], list[str]]  # of the story and the folder
    made: Callable[[Path], dict[str, bytes]]
    prepare: Callable[[Path, Path], list[str]] | None = (
        None  # a command that is run first, and left alone
    )


def training(tale: Path, out: Path, rounds: int = ROUNDS) -> list[str]:
    return ["train", str(tale), "--out", str(out), *SMALL, "--rounds", str(rounds), "--seed", "3"]


def begun_or_resumed(tale: Path, out: Path) -> list[str]:
    return (
        ["train", "--resume", str(out)] if (out / "config.json").exists() else training(tale, out)
    )


def resumed_further(tale: Path, out: Path) -> list[str]:
    return ["train", "--resume", str(out), "--rounds", str(ROUNDS)]


def reproducing(tale: Path, out: Path) -> list[str]:
    few = ["rounds=6", "episodes_per_round=6", "evaluation_episodes=4"]
    jobs = ["table", "drrn-1x20", "linear"]
    return [
        "reproduce",
        "--quick",
        "--games",
        str(tale),
        "--only",
        *jobs,
        "--jobs",
        "2",
        "--out",
        str(out),
        "--set",
        *few,
    ]


def sweeping(tale: Path, out: Path) -> list[str]:
    few = ["rounds=6", "episodes_per_round=6", "evaluation_episodes=4", "epochs=2", "hidden=6"]
    seeds = ["--seeds", "2", "--report-seeds", "1", "--jobs", "1"]
    vary = ["--paper", "--vary", "alpha=0.5,1,2"]
    return ["sweep", str(tale), *vary, *seeds, "--out", str(out), "--set", *few]


def files_of_run(folder: Path) -> dict[str, bytes]:
    """Every file, hidden ones included: nothing that was half-written may be left."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def files_of_results(folder: Path) -> dict[str, bytes]:
    """Rows and what is drawn from them; of records all but the clock."""
    found = {}
    for path in sorted((folder / "rows").rglob("*")) + sorted((folder / "figures").rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = _timeless(path)
    return found


def files_of_sweep(folder: Path) -> dict[str, bytes]:
    """Every file but the lock, hidden ones included; of records all but the clock."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): _timeless(path) for path in paths}


def _timeless(path: Path) -> bytes:
    if path.suffix != ".json":
        return path.read_bytes()
    record = {
        name: value for name, value in json.loads(path.read_text()).items() if name not in CHANGING
    }
    return json.dumps(record, sort_keys=True).encode()


def is_orphan_traceback(error: str) -> bool:
    """Whether all that was thrown came of workers whose parent was killed before it had told them what to do: nothing
    but multiprocessing's own lines, and a pipe that nobody holds any more."""
    places = re.findall(r'^ +File "(.*?)"', error, re.MULTILINE)
    thrown = re.findall(r"^[\w.]*(?:Error|Exception|Interrupt|Exit|Warning)\b", error, re.MULTILINE)
    return {*thrown} <= ORPHANED and all(
        place == "<string>" or "/multiprocessing/" in place for place in places
    )


# What is killed, in turn. A new command is one line more.
COMMANDS = (
    Killed("train", begun_or_resumed, files_of_run),
    Killed(
        "resume", resumed_further, files_of_run, prepare=lambda tale, out: training(tale, out, 3)
    ),
    Killed("reproduce", reproducing, files_of_results),
    Killed("sweep", sweeping, files_of_sweep),
)


class KillTest:
    """Kills, and how they went; the seed makes the moments, as far as a machine keeps to them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        self.tale = folder / "tale.toml"
        self.tale.write_text('story = "tale.twee"\n' + REWARDS)
        self.tale.with_suffix(".twee").write_text(FORK)
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OMP_NUM_THREADS": "1",
        }
        self.environment["DRRN_HOME"] = str(folder / "home")
        self.trials = 0

    def test(self, what: Killed, kills: int) -> None:
        """So many kills of one command, over as many trials as they need; each trial must end as if there were none."""
        whole = self._made(what, 0)
        assert whole, f"{what.name} leaves nothing"
        while kills > 0:
            self.trials += 1
            found, used = self._trial(what, kills)
            assert found.keys() == whole.keys(), (
                f"{what.name}: other files: {found.keys() ^ whole.keys()}"
            )
            changed = [name for name in whole if found[name] != whole[name]]
            assert not changed, f"{what.name}: other bytes after {used} kills: {changed}"
            kills -= used

    def _made(self, what: Killed, kills: int) -> dict[str, bytes]:
        return self._trial(what, kills)[0]

    def _trial(self, what: Killed, kills: int) -> tuple[dict[str, bytes], int]:
        """What a command leaves that is killed at most so many times, and how often it was."""
        out = self.folder / f"{what.name}-{self.trials}"
        if what.prepare:
            self._run_here(what.prepare(self.tale, out))
        if not kills:
            self._run_here(what.command(self.tale, out))
            return what.made(out), 0
        for used in range(MOST_STARTS):
            if self._run(what.command(self.tale, out), kill=used < kills):
                return what.made(out), used
        raise AssertionError(f"{what.name}: it was begun {MOST_STARTS} times and never ended")

    def _run_here(self, command: list[str]) -> None:
        """A command that is not to be killed, in this process, which has imported all that it needs."""
        with redirect_stdout(io.StringIO()), mock.patch.dict(os.environ, self.environment):
            assert main(command) == 0, command

    def _run(self, command: list[str], *, kill: bool) -> bool:
        """Whether the command ended by itself."""
        whole = [sys.executable, "-m", "drrn", *command]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(whole, env=self.environment, **pipes)
        if kill:
            self._wait_for_a_moment(process)
            process.send_signal(signal.SIGKILL)
        out, error = process.communicate(timeout=300)
        quiet = "Traceback" not in error or (kill and is_orphan_traceback(error))
        assert process.returncode in (0, -signal.SIGKILL) and quiet, f"{command}: {out}{error}"
        return process.returncode == 0

    def _wait_for_a_moment(self, process: subprocess.Popen) -> None:
        """Some way into the rounds; now and then while the command is only starting."""
        if self.chance.random() < 0.2:
            time.sleep(self.chance.random() * 3)
            return
        for _ in range(self.chance.randint(1, 4)):
            if not process.stdout.readline():
                return
        time.sleep(self.chance.random() * 0.15)


def kill_all(kills: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        test = KillTest(Path(folder), seed)
        for number, what in enumerate(COMMANDS):
            share = len(range(number, kills, len(COMMANDS)))
            test.test(what, share)
            print(f"{what.name}: {share} kills, equal bytes", flush=True)
    print(
        f"{kills} kills in {test.trials} runs: all ended with the bytes of a run that was never killed"
    )


def asked():
    """What the command line asks for."""
    options = argparse.ArgumentParser(prog="scripts/kill-test", description=WHAT)
    options.add_argument("kills", type=int, nargs="?", default=100, help="(default: 100)")
    options.add_argument("seed", type=int, nargs="?", default=0, help="of the moments (default: 0)")
    return vars(options.parse_args())


if __name__ == "__main__":
    kill_all(**asked())
