"""Share runs on the Hugging Face Hub: a run's folder is a model repository.

Only the files of a run are uploaded and downloaded, and none of them is executed.
"""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drrn.runs import storage
from drrn.runs.run import Run, config_bytes
from drrn.runs.storage import CARD, CHECKPOINT, CONFIG, CURVE, HASHES, WEIGHTS, WORDS
from textgames import registry
from textgames.errors import InputError, require
from textgames.files import make_folder, write_atomically

HASHED = (storage.ROWS, storage.METRICS, storage.SCORES, storage.MEMORY, WORDS, WEIGHTS)
SHARED = (CONFIG, *HASHED, CHECKPOINT, HASHES, CARD, CURVE)
NEEDED = (CONFIG, WORDS, WEIGHTS, HASHES)


def push_run(
    folder: Path, repository: str, *, private: bool = False, checkpoint: bool = False
) -> str:
    """Upload a run to a repository such as "yourname/long-watch", and return its address.

    With the `checkpoint`, others can resume the run.
    """
    api = _hub_api()
    with tempfile.TemporaryDirectory() as staged:
        _stage(Run(folder), Path(staged), checkpoint=checkpoint)
        with _hub_errors(repository):
            url = api.create_repo(repository, private=private or None, exist_ok=True)
            options = {"commit_message": "A run of drrn", "allow_patterns": list(SHARED)}
            api.upload_folder(repo_id=url.repo_id, folder_path=staged, **options)
    return str(url)


def _stage(run: Run, staged: Path, *, checkpoint: bool) -> None:
    """Copy the files to share, without the paths of this machine."""
    config = run.config
    if not run.has(WEIGHTS):
        raise InputError(f"{run.folder}: the run has not finished a round yet")
    names = [name for name in HASHED if run.has(name)]
    if checkpoint and run.has(CHECKPOINT):
        names.append(CHECKPOINT)
    for path in (run.folder / name for name in SHARED):
        if path.is_symlink():
            raise InputError(f"{path}: a link to another file; replace it by a copy to share it")
    run.check(*names)
    _remove_folders(config)
    files = {CONFIG: config_bytes(config)}
    files |= {name: storage.read_bytes(run.folder / name) for name in names}
    storage.replace_files(staged, files)
    card = storage.read_bytes(run.folder / CARD) if run.has(CARD) else run.card()
    write_atomically(staged / CARD, card)
    if run.has(CURVE):
        shutil.copy(run.folder / CURVE, staged / CURVE)


def pull_run(repository: str, out: Path, *, revision: str | None = None) -> None:
    """Download a run to a new folder, from which `drrn.load` loads it."""
    api = _hub_api()
    if out.exists():
        raise InputError(f"{out}: already exists; choose another name with --out")
    make_folder(out.parent)
    parent = tempfile.TemporaryDirectory("", ".drrn-pull-", out.parent)
    with parent as name, _hub_errors(repository):
        folder = Path(name, out.name)
        options = {"revision": revision, "allow_patterns": list(SHARED)}
        api.snapshot_download(repository, local_dir=folder, **options)
        _check_download(repository, folder)
        folder.replace(out)


def _hub_api() -> Any:
    hub = require("huggingface_hub")
    utilities = require("huggingface_hub.utils", "huggingface_hub")
    utilities.logging.set_verbosity_error()
    if not sys.stderr.isatty():
        utilities.disable_progress_bars()
    return hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)


def _check_download(repository: str, folder: Path) -> None:
    """Remove unknown files and foreign paths. What is not a run, or is damaged, is refused."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name not in SHARED or path.is_symlink():
            path.unlink()
    run = Run(folder)
    missing = [name for name in NEEDED if not run.has(name)]
    if missing:
        raise InputError(f"{repository}: not a run of drrn: it has no {missing[0]}")
    try:
        config = run.config
        run.check(*HASHED, CHECKPOINT)
    except InputError as error:  # names the repository, not the temporary folder
        raise InputError(str(error).replace(str(folder), repository)) from error
    _remove_folders(config)
    storage.replace_files(folder, {CONFIG: config_bytes(config)})


def _remove_folders(config: dict[str, Any]) -> None:
    """Replace the absolute paths in a config by the names of their files."""
    game = config["game"]
    settings = config["settings"]
    config["folder"] = None
    if game.get("folder"):
        game["folder"] = None
    for table, name in ((game, "source"), (settings, "vectors"), (settings, "sentences")):
        path = table.get(name)
        if isinstance(path, str) and not registry.is_object(path) and Path(path).is_absolute():
            table[name] = Path(path).name


@contextlib.contextmanager
def _hub_errors(repository: str) -> Iterator[None]:
    """Turn errors of the Hub, and of the network libraries below it, into an `InputError`."""
    errors = require("huggingface_hub.errors", "huggingface_hub")
    offline = errors.LocalEntryNotFoundError
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        if isinstance(error, errors.LocalTokenNotFoundError):
            reason = "you are not logged in to the Hub; run hf auth login, or set HF_TOKEN"
        elif isinstance(error, errors.RepositoryNotFoundError):
            reason = "no such repository, or it is private"
        elif isinstance(error, errors.HfHubHTTPError):
            reason = f"the Hub refused: {reason}"
        elif isinstance(error, offline) or not isinstance(error, (OSError, ValueError)):
            reason = f"cannot reach the Hub: {_root_cause(error)}"
        raise InputError(f"{repository}: {reason}") from error


def _root_cause(error: BaseException) -> str:
    while cause := error.__cause__ or error.__context__:
        error = cause
    return " ".join(str(error).split())[:200] or type(error).__name__
