"""A run or a folder from others: links, pipes, devices, large files and file names do no harm."""

import json
import os
import shutil
import signal
import subprocess
import sys
from unittest import mock

import pytest

from drrn import registry
from drrn.cli import main
from drrn.errors import InputError
from drrn.files import json_or_none, write_atomically
from drrn.processes import is_locked, lock_file
from drrn.runs import storage
from drrn.serve import runs as page_runs
from drrn.serve.library import Library
from tests.fuzz_runs import Hub
from tests.runs import train
from tests.stories import FORK, REWARDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
SECRET = "a private key"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small run, which no test changes."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "tale.twee").write_text(FORK)
    (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    assert train(folder / "tale.toml", folder / "run", "--rounds", "1") == 0
    return folder / "run"


@pytest.fixture
def run(trained, tmp_path, home):
    """Folder of a copy of the run, to be changed."""
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def secret(tmp_path):
    """A file of the user, outside the run."""
    path = tmp_path / "secret"
    path.write_text(SECRET)
    return path


def test_a_lock_does_not_follow_a_link(run, secret, capsys):
    (run / ".lock").symlink_to(secret)
    assert main(["train", "--resume", str(run), "--rounds", "4"]) == 2
    assert ".lock: cannot be locked" in capsys.readouterr().err
    assert secret.read_text() == SECRET


def test_a_process_that_waits_for_a_lock_does_not_clear_the_file(tmp_path):
    path = tmp_path / "alive"
    with lock_file(path, "busy") as held:
        held.write("12345")
        held.flush()
        with pytest.raises(InputError, match="busy"):
            lock_file(path, "busy")
        assert path.read_text() == "12345" and is_locked(path)


def test_a_temporary_file_does_not_follow_a_link(tmp_path, secret):
    (tmp_path / f".config.json.{os.getpid()}").symlink_to(secret)
    write_atomically(tmp_path / "config.json", b"{}")
    assert (secret.read_text(), (tmp_path / "config.json").read_text()) == (SECRET, "{}")


@pytest.mark.parametrize("name", ["README.md", "curve.png", "reference_scores.json"])
def test_a_linked_file_is_not_pushed(name, run, secret, capsys):
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(secret)
    hub = Hub(run)
    with mock.patch("drrn.runs.hub._hub_api", lambda: hub):
        assert main(["push", str(run), "ann/tale"]) == 2
    assert f"{run / name}: a link" in capsys.readouterr().err and not hub.uploaded


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", ["config.json", "hashes.json", "model.safetensors", ".lock"])
def test_no_command_reads_a_pipe_or_a_device(kind, name, run, capsys):
    (run / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(run / name)
    else:
        (run / name).symlink_to("/dev/zero")
    ask = ["ask", str(run), "--state", "x", "--action", "y"]
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(60)
    try:
        codes = [main(each) for each in (ask, ["runs", str(run)], ["compare", str(run), str(run)])]
        codes.append(main(["train", "--resume", str(run), "--rounds", "4"]))
    finally:
        signal.alarm(0)
    assert 130 not in codes and "Traceback" not in capsys.readouterr().err
    assert codes[3] == (0 if name == "model.safetensors" else 2)  # resuming writes it again
    assert codes[0] == (0 if name == ".lock" else 2)


def test_huge_and_deep_json_is_refused(run, capsys):
    deep = run / "deep.json"
    deep.write_text("[" * 100_000)
    assert json_or_none(deep) is None
    for text in ("[" * 100_000, "[{}" + ",{}" * (storage.MAX_JSON // 3) + "]"):
        (run / "config.json").write_text(text)
        assert main(["ask", str(run), "--state", "x", "--action", "y"]) == 2
        assert "config.json" in capsys.readouterr().err


@pytest.mark.parametrize("settings", [None, "", []])
def test_settings_that_are_no_object_are_refused(run, capsys, settings):
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, "settings": settings}))
    (run / "hashes.json").unlink()
    assert main(["ask", str(run), "--state", "x", "--action", "y", "--unverified"]) == 2
    assert "not the settings of a run" in capsys.readouterr().err


def test_a_run_with_a_folder_as_settings_is_listed(run, capsys):
    (run / "evaluations.csv").unlink()
    (run / "config.json").unlink()
    (run / "config.json").mkdir()
    main(["runs", str(run)])
    assert "config.json" in "".join(capsys.readouterr())


def test_a_huge_vocabulary_is_refused(run, capsys):
    (run / "vocabulary.json").write_text(" " * (storage.MAX_DATA + 1))
    assert main(["ask", str(run), "--state", "x", "--action", "y", "--unverified"]) == 2
    assert "vocabulary.json" in capsys.readouterr().err


def test_settings_of_a_changed_run_are_not_used(run, trained, tmp_path, capsys):
    config = (run / "config.json").read_text()
    (run / "config.json").write_text(config.replace('"discount": 0.9', '"discount": 0.8'))
    command = ["train", str(trained.parent / "tale.toml"), "--config", str(run), "--rounds", "1"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 2
    assert "config.json: damaged or changed" in capsys.readouterr().err
    (run / "hashes.json").unlink()
    assert main([*command, "--out", str(tmp_path / "out")]) == 2
    assert "--unverified" in capsys.readouterr().err


def test_a_run_without_its_checkpoint_does_not_start_again(run, capsys):
    for name in ("checkpoint.safetensors", "vocabulary.json"):
        (run / name).unlink()
    assert main(["train", "--resume", str(run), "--rounds", "2"]) == 2
    assert "checkpoint.safetensors: missing" in capsys.readouterr().err


def test_the_page_lists_a_folder_in_place_of_config_json(run):
    (run / "config.json").unlink()
    (run / "config.json").mkdir()
    (damaged,) = page_runs.RunFolder(run.parent, Library([])).all()
    assert damaged.as_json()["state"] == "damaged"


@pytest.mark.parametrize("name", ["canary:Own", "a,canary:Own,b.toml"])
def test_the_name_of_a_file_is_not_trusted(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(registry.TRUSTED, "")
    (tmp_path / name).touch()
    main(["runs", name])  # as the shell expands `drrn runs *`
    assert registry.trusted() == []
    (tmp_path / name).unlink()
    main(["runs", name])
    assert registry.trusted() == ["canary:Own"]


def test_a_training_of_the_page_imports_nothing_from_the_current_folder(tmp_path, monkeypatch):
    for module in ("json", "torch", "numpy", "drrn"):
        (tmp_path / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    run = page_runs.PageRun(tmp_path / "runs" / "mine")
    run.side.mkdir(parents=True)
    processes = []

    def start(*arguments, **options):
        processes.append(subprocess_popen(*arguments, **options))
        return processes[0]

    subprocess_popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    page_runs.RunFolder(tmp_path / "runs", Library([]))._launch(run)
    assert processes[0].wait(120) == 1 and not (tmp_path / "ran").exists()
    assert "no such folder" in run.error_file.read_text()  # our worker ran, without a request
