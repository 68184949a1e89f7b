"""Games of users that fail in every way: one sentence with the file and the line, and exit code 2."""

import subprocess
import sys

import pytest

from tests.runs import FEW

GAMES = """import os, sys, time, textgames
class Base:
    name = "own"
    calls = 0
    def reset(self, seed=None):
        return textgames.Observation("here", ("on", "off"))
    def step(self, index):
        Base.calls += 1
        if Base.calls > 60: self.fail()
        return textgames.Observation("there", (), float(index))
    def fail(self): pass
class Exit(Base):
    def fail(self): sys.exit(0)
class Stop(Base):
    def fail(self): raise StopIteration("no more")
class Interrupt(Base):
    def fail(self): raise KeyboardInterrupt
class Generator(Base):
    def fail(self): raise GeneratorExit
class Another(Base):
    def another(self): raise ArithmeticError("no copy")
class Close(Base):
    def close(self): raise ArithmeticError("not closed")
class Half(Base):
    name = "half \\ud83d"
class Killed(Base):
    def fail(self): os.kill(os.getpid(), 9)
class Hang(Base):
    def fail(self): time.sleep(999)
class HangReset(Base):
    def reset(self, seed=None):
        if Base.calls > 60: time.sleep(999)
        return super().reset(seed)
class Wide(Base):
    def reset(self, seed=None):
        return textgames.Observation("here", tuple(f"go {i}" for i in range(100_000)))
class Long(Base):
    def reset(self, seed=None):
        return textgames.Observation("word " * 200_000, ("on", "off"))
"""
SENTENCES = {
    "Exit": "line 13: Exit.step raised SystemExit: 0",
    "Stop": "line 15: Stop.step raised StopIteration: no more",
    "Interrupt": "line 17: Interrupt.step raised KeyboardInterrupt",
    "Generator": "line 19: Generator.step raised GeneratorExit",
    "Another": "line 21: Another.another raised ArithmeticError: no copy",
    "Close": "line 23: Close.close raised ArithmeticError: not closed",
    "Half": "half \\ud83d",
    "Killed": "own_games:Killed: stepping the game failed: the process was killed by SIGKILL",
    "Hang": "line 29: Hang.step did not return within 1 seconds",
    "HangReset": "line 32: HangReset.reset did not return within 1 seconds",
}
TRAIN = ["--paper", "--epochs", "1", *FEW, "--rounds", "9", "--out", "run"]


@pytest.fixture
def train(tmp_path):
    """Function that trains on a game in a process; returns its exit code and its lines of errors."""
    (tmp_path / "own_games.py").write_text(GAMES)

    def run(name, *more):
        command = [sys.executable, "-m", "drrn", "train", f"own_games:{name}", *TRAIN, *more]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode, [line for line in done.stderr.splitlines() if line]

    return run


CASES = [(name, workers) for name in SENTENCES for workers in ("1", "2")]
CASES.remove(("Killed", "1"))  # nothing can be said then
QUICK = {("Exit", "1"), ("Stop", "2"), ("Interrupt", "1"), ("Close", "1"), ("Half", "1")}


@pytest.mark.parametrize(
    ("name", "workers"),
    [pytest.param(*case, marks=[] if case in QUICK else pytest.mark.full) for case in CASES],
)
def test_a_failing_game_is_one_sentence(name, workers, train, tmp_path):
    code, lines = train(name, "--workers", workers, "--step-seconds", "1")
    assert code == 2 and any(SENTENCES[name] in line for line in lines), lines
    assert not any("Traceback" in line for line in lines)
    if name not in ("Another", "Close", "Half"):
        assert (tmp_path / "run" / "evaluations.csv").exists()  # what was learned until then


@pytest.mark.full
@pytest.mark.parametrize("name", ["Wide", "Long"])
def test_a_page_may_be_wide_or_long(name, train):
    assert train(name, "--rounds", "1")[0] == 0
