"""The wheel: built from a copy of the source, installed in another folder and used there."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"]
OFFLINE = ["--no-deps", "--no-index"]  # without network
TINY = (
    "--paper --rounds 1 --episodes-per-round 5 --epochs 1 --evaluation-episodes 5 --replicas 1 "
    "--hidden 4"
).split()
CONSUMER = """\
import drrn

text: str = drrn.make("long-watch").reset(0).text
number: int = drrn.make("long-watch").reset(0).text  # type: ignore[assignment]
"""


def source_files():
    """Return the relative path of every file of the package."""
    paths = (ROOT / "drrn").rglob("*")
    files = [path for path in paths if path.is_file() and "__pycache__" not in path.parts]
    return {*(path.relative_to(ROOT).as_posix() for path in files)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy, because files of a build would enter the next one."""
    copy = tmp_path_factory.mktemp("source")
    out = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "drrn", copy / "drrn", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    options = [*OFFLINE, "--no-build-isolation", "--wheel-dir", out]
    subprocess.run([*PIP, "wheel", *options, copy], check=True)
    (path,) = out.iterdir()
    return path


@pytest.fixture(scope="module")
def installation(wheel, tmp_path_factory):
    """Folder with the installed package and its command, and an empty folder to work in."""
    folder = tmp_path_factory.mktemp("installation")
    subprocess.run([*PIP, "install", *OFFLINE, "--target", folder / "packages", wheel], check=True)
    (folder / "work").mkdir()
    return folder


def output(installation, *command):
    """Run a command with the installed package; return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(installation / "packages")}
    folder = installation / "work"
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_wheel_contains_exactly_the_files_of_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == source_files()
    stories = {
        "long-watch.twee",
        "long-watch.toml",
        "night-market.paraphrases.tsv",
        "night-market.reworded.tsv",
    }
    data = {*stories, "examples.toml", "py.typed"}
    assert data <= {name.rpartition("/")[2] for name in names}


def test_the_wheel_requires_only_numpy(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(path).decode("utf-8").splitlines()
    requirements = [
        line.split()[1]
        for line in lines
        if line.startswith("Requires-Dist:") and "extra ==" not in line
    ]
    assert [name.split(">")[0] for name in requirements] == ["numpy", "tomli"]  # tomli: Python 3.10


def test_the_installed_command_lists_the_games_and_trains(installation):
    packages = installation / "packages"
    module = output(installation, sys.executable, "-c", "import drrn; print(drrn.__file__)")
    assert Path(module.strip()) == packages / "drrn" / "__init__.py"
    drrn = shutil.which("drrn", path=packages / "bin")
    games = output(installation, drrn, "games")
    assert "long-watch" in games and "night-market" in games
    output(installation, drrn, "train", "long-watch", "--out", "run", *TINY)
    run = installation / "work" / "run"
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    assert config["game"]["source"] == "long-watch"
    rows = (run / "evaluations.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 2  # the header and one round


def test_the_installed_command_plays_tests_and_serves(installation):
    drrn = shutil.which("drrn", path=installation / "packages" / "bin") or "drrn"
    played = output(installation, drrn, "play", "long-watch", "--policy", "random", "--json")
    assert json.loads(played)["episodes"] == 1000
    assert "Endings" in output(installation, drrn, "test", "long-watch", "--jobs", "1")
    command = [drrn, "serve", "--no-browser", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(installation / "packages")}
    work = installation / "work"
    with subprocess.Popen(command, cwd=work, env=environment, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        link = server.stdout.readline().decode().strip()
        with urllib.request.urlopen(link, timeout=60) as answer:
            assert b"</html>" in answer.read()
        server.kill()


def test_mypy_uses_the_types_of_the_installed_package(wheel, tmp_path):
    pytest.importorskip("mypy")
    venv.create(tmp_path / "other", symlinks=True)
    (packages,) = (tmp_path / "other").glob("lib/python*/site-packages")
    subprocess.run([*PIP, "install", *OFFLINE, "--target", packages, wheel], check=True)
    (tmp_path / "consumer.py").write_text(CONSUMER, encoding="utf-8")
    options = ["--strict", "--cache-dir", "cache", "--python-executable", "other/bin/python"]
    command = [sys.executable, "-m", "mypy", *options, "consumer.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
