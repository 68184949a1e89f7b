"""Runs shared by the Hugging Face Hub: a run's folder is a model repository. Only known files travel, none is run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drrn.files import write_atomically
from drrn import registry
from drrn.errors import InputError, require
from drrn.processes import temporary_folder
from drrn.runs import hashes, tensor_file
from drrn.runs.card import model_card
from drrn.runs.loading import modules_named, read_config
from drrn.runs.metrics import METRICS
from drrn.runs.record import CARD, SCORES, WEIGHTS, WORDS, Run

CHECKPOINT = "checkpoint.safetensors"
VOUCHED = ("evaluations.csv", METRICS, SCORES, WORDS, WEIGHTS)  # as they stand in the run's folder
SHARED = ("config.json", *VOUCHED, CHECKPOINT, hashes.NAME, CARD, "curve.png")
NEEDED = ("config.json", WORDS, WEIGHTS)


def push_run(folder: Path, repository: str, *, private: bool = False, checkpoint: bool = False) -> str:
    """Upload a run; the address of its repository. The checkpoint, by which others could go on, only if asked for."""
    hub_api = _hub_api()
    with tempfile.TemporaryDirectory() as staged:
        stage_run(folder, Path(staged), checkpoint=checkpoint)
        with _refusals(repository):
            made = hub_api.create_repo(repository, private=private or None, exist_ok=True)
            hub_api.upload_folder(
                repo_id=made.repo_id, folder_path=staged, commit_message="A run of drrn", allow_patterns=list(SHARED)
            )
    return str(made)


def stage_run(folder: Path, staged: Path, *, checkpoint: bool = False) -> None:
    """Copy what is shared of a run, without the folders of the machine that it was made on."""
    config = read_config(folder)
    run = Run(folder)
    if not (folder / WEIGHTS).exists():
        raise InputError(f"{folder}: the run has not finished a round yet")
    names = [name for name in (*VOUCHED, *([CHECKPOINT] if checkpoint else [])) if (folder / name).exists()]
    run.check("config.json", *names)
    _without_places(config)
    files = {"config.json": [json.dumps(config, indent=2).encode()]}
    files |= {name: [tensor_file.contents(folder / name)] for name in names}
    hashes.replace_files(staged, files)
    rows = run.rows() if (folder / "evaluations.csv").exists() else []
    own = folder / CARD
    card = tensor_file.contents(own) if own.exists() else model_card(config, rows, run.reference()).encode()
    write_atomically(staged / CARD, [card])
    if (folder / "curve.png").exists():
        shutil.copy(folder / "curve.png", staged / "curve.png")


def pull_run(repository: str, out: Path, *, revision: str | None = None, modules: bool = False) -> None:
    """Download a run into a new folder, from which `drrn.load` loads it. One that names modules of Python is refused
    unless `modules` says that they are trusted: loading it would import them from where the user is."""
    hub_api = _hub_api()
    if out.exists():
        raise InputError(f"{out}: it exists and is left as it is: give another name by --out")
    with contextlib.ExitStack() as stack:
        with _refusals(repository):
            out.parent.mkdir(parents=True, exist_ok=True)
            pulled = stack.enter_context(temporary_folder("pull", out.parent, hidden=True)) / out.name
            pulled.mkdir()
            hub_api.snapshot_download(repository, local_dir=pulled, revision=revision, allow_patterns=list(SHARED))
        _check_pulled(repository, pulled, modules=modules)
        pulled.replace(out)


def _hub_api() -> Any:
    """The Hub's own library, quiet but for its progress bars, which people alone see."""
    hub = require("huggingface_hub", "hub")
    told = require("huggingface_hub.utils", "hub")
    told.logging.set_verbosity_error()
    if not sys.stderr.isatty():
        told.disable_progress_bars()
    return hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)


def _check_pulled(repository: str, folder: Path, *, modules: bool) -> None:
    """Refuse what is no run, or was damaged; leave known files alone, and no folder of another machine."""
    for path in folder.iterdir():
        if path.name not in SHARED or path.is_symlink() or not path.is_file():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    missing = [name for name in NEEDED if not (folder / name).exists()]
    if missing:
        raise InputError(f"{repository}: no run of drrn is there: it has no {missing[0]}")
    with _named_for(repository, folder):
        config = read_config(folder)
        Run(folder).check(*(name for name in SHARED if name not in (CARD, "curve.png", hashes.NAME)))
    if (named := modules_named(config)) and not modules:
        raise InputError(
            f"{repository}: the run names modules of Python ({', '.join(named.values())}), which loading it would "
            "import from where you are: --modules takes it, if you have them and trust them"
        )
    _without_places(config)
    hashes.replace_files(folder, {"config.json": [json.dumps(config, indent=2).encode()]})


def _without_places(config: dict[str, Any]) -> None:
    """Take folders of a machine out of what a run says of itself: the names of files alone say enough."""
    config["folder"] = None
    game = config["game"]
    settings = config["settings"]
    if game.get("folder"):
        game["folder"] = None
    for of, name in ((game, "source"), (settings, "vectors"), (settings, "sentences")):
        if isinstance(of.get(name), str) and not registry.is_object(of[name]) and Path(of[name]).is_absolute():
            of[name] = Path(of[name]).name


@contextlib.contextmanager
def _named_for(repository: str, folder: Path) -> Iterator[None]:
    """A complaint names the repository, not the folder that it was downloaded to."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(str(folder), repository)) from error


def _first_cause(error: BaseException) -> str:
    """What an error came of in the beginning, on one line."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return " ".join(str(error).split())[:200] or type(error).__name__


@contextlib.contextmanager
def _refusals(repository: str) -> Iterator[None]:
    """What the Hub refuses, in one sentence."""
    errors = require("huggingface_hub.errors", "hub")
    try:
        yield
    except errors.LocalTokenNotFoundError as error:
        raise InputError(f"{repository}: you are not logged in to the Hub: hf auth login, or set HF_TOKEN") from error
    except errors.RepositoryNotFoundError as error:
        raise InputError(f"{repository}: there is no such repository, or it is not yours to see") from error
    except errors.LocalEntryNotFoundError as error:  # nothing was downloaded, and nothing is in the cache
        raise InputError(f"{repository}: the Hub cannot be reached: {_first_cause(error)}") from error
    except errors.HfHubHTTPError as error:
        said = " ".join(str(error).split())
        raise InputError(f"{repository}: the Hub refused: {said[:200]}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{repository}: {' '.join(str(error).split())[:200]}") from error
    except Exception as error:  # a network has many ways to fail, and each library its own exceptions for them
        raise InputError(f"{repository}: the Hub cannot be reached: {_first_cause(error)}") from error
