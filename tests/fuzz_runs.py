"""Damaged runs: every command works or fails with one sentence, and no answer differs silently."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import resource
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest import mock

from drrn import cli
from drrn.runs import storage
from tests.fuzz_corpus import JSON_SNIPPETS
from tests.mutations import (
    check_command,
    collect_errors,
    flip_bytes,
    mutate,
    random_cuts,
    random_flips,
)
from tests.runs import SMALL, SMALL_STRONG
from tests.stories import FORK, REWARDS
from textgames.errors import InputError
from textgames.game.contract import Observation
from textgames_page.advice_worker import AdviceWorker
from textgames_page.runs import PageRun

MEGABYTE = 2**20 if sys.platform == "darwin" else 2**10  # units of ru_maxrss
MOST_MEMORY = 1024  # MB
TABLE = [word for word in SMALL if word not in ("--hidden", "6")] + ["--model", "table"]
DEPLOYED = [*SMALL_STRONG, "--evaluation-episodes", "6", "--rounds", "1"]
GOOD = (SMALL, DEPLOYED, TABLE, [*SMALL, "--keep", "--matches"])
PARSER = functools.cache(cli.parser)  # building one takes longer than most commands
NEW = "new"  # folder that a command writes
FILES = ("evaluations.csv", "model.safetensors", "checkpoint.safetensors")  # after --resume
MOMENT = re.compile(r"\d{4}-\d\d-\d\d.\d\d:\d\d:\d\d| +[\d,.]+ transitions/s")
counts: Counter[str] = Counter()  # of damages, commands and answers

Answer = tuple[int, str, str]  # exit code, output, errors


def fuzz_run(folder: Path, generator: Random) -> None:
    """Damage some files of a run, and run every command on it."""
    run = folder / "run"
    good = generator.choice(good_runs())
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(good, run)
    files = sorted(path for path in run.iterdir() if path.is_file())
    for path in generator.sample(files, generator.randint(1, 2)):
        counts[damage(path, generator)] += 1
    for name, command in commands_of(run).items():
        before = good_answers(good)[name]
        answer = answer_of(run, command)
        counts["commands"] += 1
        counts["refused" if answer[0] == 2 else "answered"] += 1
        is_list = name.startswith("runs")  # where a damaged run is an entry, or no run at all
        has_scores = name != "serve" or (run / storage.SCORES).exists()  # users may delete them
        is_silent = f"{run}/" not in answer[2]  # the page shows a damaged run with its fault
        if answer[0] == 0 and is_silent and not is_list and has_scores:
            assert answer[1] == before[1], f"{name}: a silently different answer: {answer[1]}"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE
        assert memory < MOST_MEMORY, f"{name}: {memory:.0f} MB"


def commands_of(run: Path) -> dict[str, list[str]]:
    """Return every command that opens a run; the last one changes it."""
    tale = str(good_runs()[0].parent / "tale.toml")
    new = str(run.parent / NEW)
    return {
        "ask": ["ask", str(run), "--state", "The sea", "--action", "Go out.", "--action", "x"],
        "evaluate": ["evaluate", str(run), "--episodes", "1"],
        "runs": ["runs", str(run)],
        "runs --json": ["runs", str(run), "--json"],
        "compare": ["compare", str(run), str(run)],
        "play": ["play", tale, "--agent", str(run), "--policy", "greedy", "--episodes", "1"],
        "watch": ["watch", str(run), "--seconds", "0", "--seed", "1", "--episodes", "1"],
        "serve": ["serve", str(run)],
        "arena": ["arena", tale, "--player", f"agent:{run}", "--episodes", "1", "--out", new],
        "train --config": ["train", tale, "--config", str(run), "--rounds", "1", "--out", new],
        "resume": ["train", "--resume", str(run), "--rounds", "2"],
    }


def answer_of(run: Path, command: list[str]) -> Answer:
    """Run a command; the answer has the files that it wrote, and no moments and paths."""
    with quick_commands():
        is_page = command[0] == "serve"
        code, output, errors = open_on_page(run, command) if is_page else check_command(command)
    if command[0] == "train" and code == 0:
        out = run if "--resume" in command else run.parent / NEW
        output += f"{[storage.hash_of(name, (out / name).read_bytes()) for name in FILES]}"
    shutil.rmtree(run.parent / NEW, ignore_errors=True)
    for path, name in ((str(run), "RUN"), (str(run.parent), "FOLDER")):
        output = output.replace(path, name)
    output = re.sub(r"\s+", " ", output)  # columns and lines depend on the length of the path
    return code, MOMENT.sub("WHEN", output), errors


def open_on_page(run: Path, command: list[str]) -> Answer:
    """Open a run as the server and its processes do."""
    page = Observation("The sea", ("Go out.", "x"))
    with collect_errors() as errors:
        try:
            if not (run / storage.CONFIG).exists():
                raise InputError("There is no such run.")  # as RunFolder
            details = PageRun(run).details()
            errors.write(f"{run}/: {details['error']}" if details["error"] else "")
            advice = AdviceWorker().advise(str(run), "greedy", [], page, True)
        except InputError as error:
            return 2, "", f"{error}"
    return 0, json.dumps([details, advice], default=asdict), errors.getvalue()


class Hub:
    """Stands in for the Hub, without a network: what is pulled is the run itself."""

    uploaded = ""

    def __init__(self, run: Path) -> None:
        self.run = run

    def create_repo(self, repository: str, **options: Any) -> Any:
        return SimpleNamespace(repo_id=repository)

    def upload_folder(self, *, folder_path: str, **options: Any) -> None:
        paths = [Path(folder_path, name) for name in ("config.json", *FILES)]
        hashes = [storage.hash_of(path.name, path.read_bytes()) for path in paths]
        self.uploaded = str(hashes[1:])

    def snapshot_download(self, repository: str, *, local_dir: Path, **options: Any) -> None:
        shutil.copytree(self.run, local_dir)


@contextlib.contextmanager
def quick_commands() -> Any:
    """Leave out what takes most of the time: pictures, waiting for the disk, reading the options."""
    with (
        mock.patch("drrn.runs.curve.draw_run", lambda *_: None),
        mock.patch("drrn.cli.arena.report_files", lambda _: {}),
        mock.patch.object(os, "fsync", lambda _: None),
        mock.patch.object(cli, "parser", PARSER),
    ):
        yield


def damage(path: Path, generator: Random) -> str:
    """Damage a file; return how."""
    data = path.read_bytes()
    kinds = ["truncate", "flip", "replace", "delete", "folder", "swap", "cut"]
    kind = generator.choice(kinds)
    if kind == "truncate":
        data = data[: int(generator.random() * len(data))]
    elif kind == "flip" and data:
        data = flip_bytes(data, random_flips(generator))
    elif kind == "replace":
        data = generator.choice([b"", b"{}", b"[]", b"null", b"\xff\xfe", b"PK\x03\x04"])
    elif kind == "swap":
        others = [*sorted(path.parent.iterdir()), *(good / path.name for good in good_runs())]
        data = generator.choice([each for each in others if each.is_file()]).read_bytes()
    elif kind == "cut":
        text = mutate(data.decode("latin-1"), random_cuts(generator, JSON_SNIPPETS, 3))
        data = text.encode("latin-1", "replace")
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind != "delete":
        path.write_bytes(data)
    return kind


@functools.cache
def good_runs() -> list[Path]:
    """Train runs to damage: the paper's recipe, the strong one, a table, and a kept memory."""
    folder = Path(tempfile.mkdtemp())
    (folder / "tale.twee").write_text(FORK)
    (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    runs = []
    for number, options in enumerate(GOOD):
        run = folder / f"good-{number}"
        story = str(folder / "tale.toml")
        with quick_commands():
            check_command(["train", story, "--out", str(run), *options, "--rounds", "1"])
        runs.append(run)
    return runs


@functools.cache
def good_answers(good: Path) -> dict[str, Answer]:
    """Return the answers of an undamaged run."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        shutil.copytree(good, run)
        answers = {name: answer_of(run, command) for name, command in commands_of(run).items()}
    assert all(code == 0 for code, _, _ in answers.values()), answers
    return answers
