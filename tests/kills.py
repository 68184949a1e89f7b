"""Kill tests: a command killed at random and restarted writes the files of an uninterrupted one.

python -m tests.kills [KILLS [SEED]]     as scripts/kill-test calls it
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from drrn.runs import storage
from tests.commands import process as process_of
from tests.runs import SMALL
from tests.stories import FORK, REWARDS
from textgames.processes import is_locked

TRAIN = f"train TALE --rounds 15 --seed 3 {' '.join(SMALL)}"
STEPPED = f"{TRAIN} --matches --optimiser adam --episodes-per-round 3"
# The strong recipe has a survey, after which a run has other settings than the command.
SET = "--set rounds=5 episodes_per_round=200 evaluation_episodes=20"
REPRODUCE = "reproduce --quick --games long-watch --jobs 2 --only"
COMMANDS = {
    "train": TRAIN,
    "train --matches": STEPPED,
    "train --matches --workers 2": f"{STEPPED} --workers 2",
    "sweep": f"sweep long-watch --vary alpha=0.5,1 --seeds 1 --report-seeds 1 --jobs 2 {SET} updates=20",
    "sweep --search tpe": "sweep long-watch --vary alpha=0.5..2 --search tpe --budget 5 --prune --seeds 1 "
    f"--jobs 1 {SET} updates=20",
    "diagnose": "diagnose order memory --agent default paper random --level 1 --episodes 1200 "
    "--seeds 1 --jobs 2 --set updates=5",
    "reproduce": f"{REPRODUCE} table strong {SET} updates=20",
    "reproduce --only arena": f"{REPRODUCE} arena {SET}",
    "arena": "arena long-watch night-market --player random best --episodes 40",
}
COMPARED = (".csv", ".json", ".jsonl", ".safetensors")
VOLATILE_FIELDS = {"seconds", "commit"}  # of a record


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files to compare, without what depends on the time. No half-written file remains."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        assert path.name in (".lock", ".gitignore") or not path.name.startswith("."), path
        if path.suffix not in COMPARED or name.startswith("work/"):
            continue
        data = path.read_bytes()
        if path.name == storage.PROGRESS:
            data = b"\n".join(line.rpartition(b",")[0] for line in data.split(b"\n"))  # seconds
        record = json.loads(data) if path.suffix == ".json" else None
        if isinstance(record, dict):
            data = json.dumps({k: record[k] for k in record if k not in VOLATILE_FIELDS}).encode()
        files[name] = data
    return files


def rows_in(folder: Path) -> int:
    """Return the number of bytes of all rows, which tells how much is done."""
    size = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # replaced meanwhile
            size += path.stat().st_size if path.suffix in (".csv", ".jsonl") else 0
    return size


def kill_test(name: str, folder: Path, kills: int, seed: int = 0) -> None:
    """Kill a command this many times, or until it ends; compare its files with those of another."""
    tale = folder / "tale.toml"
    tale.write_text('story = "tale.twee"\n' + REWARDS)
    tale.with_suffix(".twee").write_text(FORK)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    environment["TEXTGAMES_HOME"] = str(folder / "home")

    def start(out: Path) -> subprocess.Popen[bytes]:
        words = [*COMMANDS[name].replace("TALE", str(tale)).split(), "--out", str(out)]
        if words[0] == "train" and (out / "config.json").exists():
            words = ["train", "--resume", str(out)]
        elif words[0] == "train":
            shutil.rmtree(out, ignore_errors=True)  # killed while its folder was created
        return subprocess.Popen(process_of(words), env=environment, start_new_session=True)

    assert start(folder / "whole").wait() == 0
    generator = random.Random(f"{name} {seed}")
    for part in sorted(generator.uniform(0.1, 0.9) for _ in range(kills)):
        process = start(folder / "killed")
        while process.poll() is None:
            if rows_in(folder / "killed") >= part * rows_in(folder / "whole"):
                os.killpg(process.pid, generator.choice([signal.SIGKILL, signal.SIGINT]))
                process.wait()
                while any(map(is_locked, (folder / "killed").rglob(".lock"))):
                    time.sleep(0.1)  # its workers end with it
            time.sleep(0.02)
    assert start(folder / "killed").wait() == 0
    expected = files_of(folder / "whole")
    assert expected and files_of(folder / "killed") == expected


if __name__ == "__main__":
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for number, name in enumerate(COMMANDS):
        share = len(range(number, kills, len(COMMANDS)))
        with tempfile.TemporaryDirectory() as folder:
            kill_test(name, Path(folder), share, seed)
        print(f"{name}: killed at most {share} times, equal bytes", flush=True)
