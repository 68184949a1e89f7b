"""`drrn push RUN REPO`, `drrn pull REPO`: runs shared by the Hugging Face Hub."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from drrn.errors import InputError

PUSH = """Upload a run to the Hugging Face Hub as a model repository: weights, words, settings, rows, and a model card
(README.md; one that you have written is taken as it is). The folders of your machine are left out. You must be logged
in (hf auth login), or HF_TOKEN be set."""
PULL = """Download a run that drrn push uploaded, into a new folder, from which drrn.load, watch, evaluate, ask and play
--agent take it. Only the files that a run has are downloaded, their hashes are checked, and none of them is ever run.
The game is not part of it: it is opened by its name, or given by --game."""


def add_command(commands: Any) -> None:
    push = commands.add_parser("push", help="share a run by the Hugging Face Hub", description=PUSH)
    push.add_argument("folder", type=Path, metavar="RUN", help="the folder of a run")
    push.add_argument("repository", metavar="REPO", help="such as yourname/long-watch")
    push.add_argument(
        "--private", action="store_true", help="for you alone, where the repository is new"
    )
    push.add_argument(
        "--checkpoint",
        action="store_true",
        help="the checkpoint, too, so that others can go on with it",
    )
    push.set_defaults(run=run_push)
    pull = commands.add_parser(
        "pull", help="fetch a run from the Hugging Face Hub", description=PULL
    )
    pull.add_argument("repository", metavar="REPO", help="such as yourname/long-watch")
    pull.add_argument(
        "--out", type=Path, metavar="RUN", help="the run's folder (default: runs/NAME)"
    )
    pull.add_argument("--revision", help="a commit, a branch or a tag (default: the newest)")
    pull.add_argument(
        "--modules", action="store_true",
        help="take a run that names modules of Python, too; they are imported when it is loaded, so trust them first",
    )  # fmt: skip
    pull.set_defaults(run=run_pull)


def run_push(options: argparse.Namespace) -> None:
    from drrn.runs.hub import push_run

    _check_name(options.repository)
    private = options.private
    checkpoint = options.checkpoint
    print(push_run(options.folder, options.repository, private=private, checkpoint=checkpoint))


def run_pull(options: argparse.Namespace) -> None:
    from drrn.runs.hub import pull_run

    _check_name(options.repository)
    out = options.out or Path("runs") / options.repository.rpartition("/")[2]
    pull_run(options.repository, out, revision=options.revision, modules=options.modules)
    print(f"run: {out}")


def _check_name(repository: str) -> None:
    if not re.fullmatch(r"(?:[\w.-]+/)?[\w.-]+", repository) or ".." in repository:
        raise InputError(f'"{repository[:60]}" is no repository: name one as yourname/long-watch')
