"""Small runs that tests make through the command line, and what they leave."""

import numpy as np

from drrn.cli import main
from drrn.training import tensor_file

SMALL = "--hidden 6 --rounds 3 --episodes-per-round 8 --epochs 2 --evaluation-episodes 4 --replicas 2".split()


def train(tale, out, *more):
    return main(["train", str(tale), "--out", str(out), *SMALL, *more])


def resuming(run):
    return ["train", "--resume", str(run)]


def numbers(run):
    arrays, _ = tensor_file.load(run / "model.safetensors")
    return (run / "evaluations.csv").read_text(), arrays


def same(one, two):
    return (
        one[0] == two[0]
        and one[1].keys() == two[1].keys()
        and all(np.array_equal(a, two[1][n]) for n, a in one[1].items())
    )
