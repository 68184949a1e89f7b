"""`drrn reproduce`: the experiments of the paper, see `drrn.lab.cli`."""

from drrn.lab.cli import run_reproduce as run

__all__ = ["run"]
