"""From a clone of the authors' repository to two games that can be played by name."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.game.make import make
from drrn.lab.authors.machine_of_death import MachineOfDeath, paraphrases
from drrn.lab.authors.pickled import read_pickle
from drrn.lab.authors.python2 import parse_python2, strange
from drrn.lab.authors.rewards import Rewards
from drrn.lab.authors.saving_john import read_saving_john
from drrn.lab.authors.sources import REPOSITORY, SIMULATOR, Sources, read_sources
from drrn.stories.added import NAMES, Origin, games_folder, origin_if_sound, record_path


def add_games(
    clone: Path, *, as_published: bool = False, altered: bool = False
) -> tuple[Origin, bool]:
    """Install both games from a clone: what they were made from, and whether anything had to be written."""
    sources = read_sources(clone, altered=altered)
    try:
        files = converted(sources, as_published=as_published)
    except RecursionError as error:
        raise InputError(
            f"{clone / SIMULATOR}: expressions in expressions without end: clone {REPOSITORY} again"
        ) from error
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
    made = Origin(
        f"text-games-{digest[:12]}", sources.sha256, sources.hashes, sources.altered, as_published
    )
    before = origin_if_sound()
    if before == made and _holds(made.path, files):
        return made, False
    try:
        _put(files, made)
    except OSError as error:
        raise InputError(
            f"{games_folder()}: cannot be written: {error.strerror}; what was there before stays"
        ) from error
    if before is not None and before.folder != made.folder:
        shutil.rmtree(before.path, ignore_errors=True)
    return made, True


def converted(sources: Sources, *, as_published: bool) -> dict[str, str]:
    """The files of both games, by name."""
    tree = parse_python2(sources.files[SIMULATOR])
    john, machine = NAMES
    story = MachineOfDeath.read(tree)
    rewards = {name: Rewards.read(tree, name.replace("-", "")) for name in NAMES}
    if rewards[machine].end_mark != story.end_mark:
        raise strange(tree, "the same mark of an ending in the rewards and in the simulator")
    originals, others = (
        sources.files[f"simulators/machineofdeath_{kind}Actions.txt"]
        for kind in ("original", "paraphrased")
    )
    place = "simulators/machineofdeath_originalActions.txt"
    pairs = paraphrases(originals, others, story.labels, place)
    pickled = "simulators/savingjohn.pickle"
    stories = {john: read_saving_john(sources.files[pickled], tree, pickled), machine: story.told}
    files = {
        f"{machine}.paraphrases.tsv": "\n".join(
            ("original\tparaphrase", *("\t".join(p) for p in pairs.items()))
        )
        + "\n"
    }
    for name, title in zip(NAMES, ("Saving John", "Machine of Death"), strict=True):
        options = {"as_published": as_published, "paraphrased": name == machine}
        files[f"{name}.twee"] = stories[name].twee
        files[f"{name}.toml"] = rewards[name].toml(title, name, stories[name], **options)
        files[f"{name}.vocabulary.json"] = json.dumps(
            _vocabulary(sources, name.replace("-", "")), ensure_ascii=False
        )
    return files


def _vocabulary(sources: Sources, name: str) -> dict[str, Any]:
    """The published numbers of words, of states and of actions."""
    return {
        side: _numbers(sources.files[place := f"simulators/{name}_{kind}Id.pickle"], place)
        for side, kind in (("states", "word"), ("actions", "action"))
    }


def _numbers(data: bytes, place: str) -> dict[str, int]:
    found = read_pickle(data, place)
    if not isinstance(found, dict) or not all(isinstance(number, int) for number in found.values()):
        raise InputError(f"{place}: not a table of words and numbers: clone {REPOSITORY} again")
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _put(files: dict[str, str], made: Origin) -> None:
    """Write beside, open the games to see that they can be played, then put the folder and its record in place."""
    games_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=".text-games-", dir=games_folder(), ignore_cleanup_errors=True
    ) as beside:
        unfinished = Path(beside) / "games"
        unfinished.mkdir()
        for name, text in files.items():
            (unfinished / name).write_text(text, encoding="utf-8", newline="\n")
        _check(unfinished)
        if not _holds(made.path, files):  # else a kill came between the folder and its record
            shutil.rmtree(made.path, ignore_errors=True)
            unfinished.rename(made.path)
        record = Path(beside) / "record.json"
        record.write_text(made.to_json(), encoding="utf-8")
        record.replace(record_path())


def _check(folder: Path) -> None:
    """Open both games, the second in other words, too."""
    try:
        for name in NAMES:
            make(folder / f"{name}.toml", paraphrased=(folder / f"{name}.paraphrases.tsv").exists())
    except InputError as error:
        where = str(error).replace(f"{folder}{os.sep}", "")
        raise InputError(f"the clone's files make no game that can be played: {where}") from error


def _holds(folder: Path, files: dict[str, str]) -> bool:
    """Whether the folder has these files, unchanged."""
    try:
        return all(
            (folder / name).read_text(encoding="utf-8") == text for name, text in files.items()
        )
    except (OSError, ValueError):
        return False
