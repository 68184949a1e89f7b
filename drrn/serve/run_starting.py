"""Training runs begun, stopped and resumed from the page; their processes outlive the page and the server."""

from __future__ import annotations

import datetime
import re
import shutil
import subprocess
import time
from dataclasses import asdict
from typing import Any

from drrn.serve.answers import Refusal
from drrn.serve.detached import start_detached
from drrn.serve.library import GameEntry
from drrn.serve.run_files import RunFiles
from drrn.serve.runs import OVER, RunEntry, RunShelf
from drrn.serve.setting_form import MOST

MODULE = "drrn.serve.run_process"
MOST_RUNNING = 4
STARTING_SECONDS = 60  # in which a process that another server began must say that it lives


class Trainings:
    """The runs that this server began; it need not live for them to go on."""

    def __init__(self, shelf: RunShelf) -> None:
        self.shelf = shelf
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def begin(
        self, entry: GameEntry, checked: dict[str, Any], given: dict[str, Any], *, paper: bool
    ) -> RunEntry:
        """Begin a run; `checked` are the settings as they will be, `given` those that were asked for."""
        self._check_room()
        settings = checked["settings"]
        files = RunFiles(self.shelf.folder, self._new_id(f"{checked['name']}-{settings['model']}"))
        game = {**asdict(entry.recipe), "title": checked["title"]}
        config = {"settings": settings, "game": game, "recipe": "paper" if paper else "strong"}
        asked = {
            "recipe": asdict(entry.recipe),
            "settings": given,
            "paper": paper,
            "config": config,
        }
        files.write_json(files.request, asked)
        return self._start(files, "begin")

    def resume(self, run: RunEntry, rounds: Any = None) -> RunEntry:
        """Go on with a run that was stopped, failed, or was killed; a finished one with more rounds, if they are given
        (how many it has in all)."""
        if run.status not in OVER or self.is_starting(run):
            raise Refusal(409, "The run is running: it goes on by itself.")
        if run.status == "finished" and rounds is None:
            raise Refusal(409, "The run has finished: it goes on only with more rounds.")
        _check_rounds(run, rounds)
        self._check_room()
        run.files.beside.mkdir(parents=True, exist_ok=True)
        begun = (run.folder / "config.json").exists()
        if not begun and not run.asked:
            raise Refusal(409, "There is nothing of this run to go on with.")
        return self._start(
            run.files, "resume" if begun else "begin", *([str(rounds)] if rounds and begun else [])
        )

    def stop(self, run: RunEntry) -> RunEntry:
        """Ask the run to stop; what it has finished is kept."""
        if run.status in OVER and not self.is_starting(run):
            raise Refusal(409, "This run is not running.")
        if not run.files.beside.is_dir():
            raise Refusal(409, "This run was begun in a terminal: stop it there, by Ctrl-C.")
        run.files.stop.touch()
        return self.shelf[run.id]

    def remove(self, run: RunEntry) -> None:
        """Remove a run that was begun from the page."""
        if not run.asked:
            raise Refusal(409, "This run was begun in a terminal: remove its folder there.")
        if run.status not in OVER or self.is_starting(run):
            raise Refusal(409, "The run is running: stop it first.")
        shutil.rmtree(run.folder, ignore_errors=True)
        shutil.rmtree(run.files.beside, ignore_errors=True)

    def is_starting(self, run: RunEntry) -> bool:
        """Whether its process was begun and has not said yet that it lives."""
        try:
            begun = run.files.starting.stat().st_mtime
        except OSError:
            return False
        self._let_go()
        return run.id in self.processes or time.time() < begun + STARTING_SECONDS

    def told(self, run: RunEntry, *, whole: bool = False) -> dict[str, Any]:
        """A run as the page gets it; one whose process has not yet said that it lives is starting."""
        found = run.told_whole() if whole else run.told()
        if found["status"] in OVER and self.is_starting(run):
            found |= {"status": "starting", "error": None, "stopping": run.files.stop.exists()}
        return found

    def _let_go(self) -> None:
        """Forget the processes that have ended."""
        for id_, process in list(self.processes.items()):
            if process.poll() is not None:
                self.processes.pop(id_, None)

    def _start(self, files: RunFiles, what: str, *rounds: str) -> RunEntry:
        for path in (files.stop, files.error):
            path.unlink(missing_ok=True)
        files.starting.touch()
        arguments = (str(files.runs), files.id, what, *rounds)
        self.processes[files.id] = start_detached(MODULE, *arguments, log=files.log)
        return self.shelf[files.id]

    def _check_room(self) -> None:
        self._let_go()
        running = sum(run.is_alive for run in self.shelf.all() if run.asked)
        if max(running, len(self.processes)) >= MOST_RUNNING:
            raise Refusal(
                429, f"{MOST_RUNNING} runs are at work already: stop one, or wait for it."
            )

    def _new_id(self, name: str) -> str:
        moment = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "run"
        id_ = f"{plain[:60]}-{moment}"
        number = 1
        while id_ in self.shelf.ids() or (self.shelf.folder / id_).exists():
            number += 1
            id_ = f"{plain[:60]}-{moment}-{number}"
        return id_


def _check_rounds(run: RunEntry, rounds: Any) -> None:
    """Refuse a number of rounds that the run cannot have."""
    done = run.curve[-1]["round"] if run.curve else 0
    most = int(MOST["rounds"])
    if rounds is not None and (type(rounds) is not int or not done < rounds <= most):
        raise Refusal(
            400,
            f"The run has finished {done} rounds: give a whole number from {done + 1} to {most}.",
        )
