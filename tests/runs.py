"""Small runs that tests make through the command line, and their files."""

import numpy as np

from drrn.cli import main
from drrn.runs import storage

FEW = "--hidden 6 --rounds 3 --episodes-per-round 8 --evaluation-episodes 4 --replicas 2".split()
SMALL = ["--paper", "--epochs", "2", *FEW]
SMALL_STRONG = ["--updates", "3", "--batch-size", "8", *FEW]
UNUSED = {"table": "--hidden", "linear": "--hidden", "online": "--epochs"}  # refused with these


def small_options(*more):
    """Return the options of a small run, without those that the others forbid."""
    left_out = {UNUSED.get(word) for word in more}
    options = zip(SMALL[1::2], SMALL[2::2], strict=True)
    return ["--paper"] + [
        word for option in options if option[0] not in left_out for word in option
    ]


def train(tale, out, *more):
    return main(["train", str(tale), "--out", str(out), *small_options(*more), *more])


def resume_command(run):
    return ["train", "--resume", str(run)]


def rehash(run):
    """Make hashes.json accept the files as they are, to test the checks behind it."""
    names = [path.name for path in run.iterdir() if path.name in storage.FILES]
    names.remove(storage.HASHES)
    hashes = {name: [storage.hash_of(name, (run / name).read_bytes())] for name in names}
    storage._write_hashes(run, hashes)


def results_of(run):
    arrays, _ = storage.load_tensors(run / "model.safetensors")
    return (run / "evaluations.csv").read_text(), arrays


def same_results(one, two):
    return (
        one[0] == two[0]
        and one[1].keys() == two[1].keys()
        and all(np.array_equal(a, two[1][n]) for n, a in one[1].items())
    )
