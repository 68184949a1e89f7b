"""Small runs of the command line, and their files."""

import contextlib
import signal

import numpy as np

from drrn.runs import storage, tensors
from drrn.runs.run import Run
from tests.commands import main

FEW = "--hidden 6 --rounds 3 --episodes-per-round 8 --evaluation-episodes 4 --replicas 2".split()
SMALL = ["--paper", "--epochs", "2", *FEW]
SMALL_STRONG = ["--updates", "3", "--batch-size", "8", *FEW]
UNUSED = {"table": "--hidden", "linear": "--hidden"}  # options that these reject


def small_options(*more):
    """Return the options of a small run, without those that the other options reject."""
    rejected = {UNUSED.get(word) for word in more}
    options = zip(SMALL[1::2], SMALL[2::2], strict=True)
    return ["--paper"] + [
        word for option in options if option[0] not in rejected for word in option
    ]


def train(tale, out, *more):
    """Train a small run; return the exit code."""
    return main(["train", str(tale), "--out", str(out), *small_options(*more), *more])


def resume_command(run):
    """Return the arguments that resume a run."""
    return ["train", "--resume", str(run)]


@contextlib.contextmanager
def interrupted_saves(monkeypatch):
    """Interrupt each training after it has saved a round."""
    save = Run.save

    def save_and_stop(self, *arguments):
        save(self, *arguments)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "save", save_and_stop)
        yield


def rehash(run):
    """Update the manifest to the present files, as one who forges a run does."""
    (run / storage.HASHES).unlink()
    storage.replace_files(run, {})


def results_of(run):
    """Return the scores and the weights of a run."""
    arrays, _ = tensors.load_tensors(run / "model.safetensors")
    return (run / "evaluations.csv").read_text(), arrays


def same_results(first, second):
    """Whether scores and weights of two runs are equal, bit for bit."""
    scores, weights = first
    other_scores, other_weights = second
    if scores != other_scores or weights.keys() != other_weights.keys():
        return False
    return all(np.array_equal(array, other_weights[name]) for name, array in weights.items())
