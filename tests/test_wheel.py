"""The wheel: built from a copy, installed elsewhere, and used from there without the checkout."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"]
ALONE = ["--no-deps", "--no-index"]  # nothing is looked up anywhere
TINY = "--paper --rounds 1 --episodes-per-round 5 --epochs 1 --evaluation-episodes 5 --replicas 1 --hidden 4".split()
CONSUMER = """\
import drrn

text: str = drrn.make("long-watch").reset(0).text
number: int = drrn.make("long-watch").reset(0).text  # type: ignore[assignment]
"""


def source_files():
    """Every file of the package, by its place in it."""
    files = (
        path
        for path in (ROOT / "drrn").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    return {path.relative_to(ROOT).as_posix() for path in files}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy: a build leaves files behind, which the next one would take for the package's own."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "drrn", copy / "drrn", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    subprocess.run(
        [*PIP, "wheel", *ALONE, "--no-build-isolation", "--wheel-dir", out, copy], check=True
    )
    (found,) = out.iterdir()
    return found


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory):
    """A folder with the installed package and its command, beside an empty one to work in."""
    folder = tmp_path_factory.mktemp("elsewhere")
    subprocess.run([*PIP, "install", *ALONE, "--target", folder / "packages", wheel], check=True)
    (folder / "work").mkdir()
    return folder


def output(elsewhere, *command):
    environment = {**os.environ, "PYTHONPATH": str(elsewhere / "packages")}
    done = subprocess.run(
        command, cwd=elsewhere / "work", env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel):
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


def test_the_wheel_needs_numpy_alone(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(path).decode("utf-8").splitlines()
    needed = [
        line.split()[1]
        for line in lines
        if line.startswith("Requires-Dist:") and "extra ==" not in line
    ]
    assert [name.split(">")[0] for name in needed] == ["numpy", "tomli"]  # tomli before 3.11


def test_the_installed_command_lists_the_games_and_trains_on_one(elsewhere):
    packages = elsewhere / "packages"
    place = output(elsewhere, sys.executable, "-c", "import drrn; print(drrn.__file__)")
    assert Path(place.strip()) == packages / "drrn" / "__init__.py"
    drrn = shutil.which("drrn", path=packages / "bin")
    told = output(elsewhere, drrn, "games")
    assert "long-watch" in told and "night-market" in told
    output(elsewhere, drrn, "train", "long-watch", "--out", "run", *TINY)
    run = elsewhere / "work" / "run"
    assert (
        json.loads((run / "config.json").read_text(encoding="utf-8"))["game"]["source"]
        == "long-watch"
    )
    assert (
        len((run / "evaluations.csv").read_text(encoding="utf-8").splitlines()) == 2
    )  # the names, and one round


def test_mypy_reads_the_types_of_the_installed_package(wheel, tmp_path):
    pytest.importorskip("mypy")
    venv.create(tmp_path / "other", symlinks=True)
    (packages,) = (tmp_path / "other").glob("lib/python*/site-packages")
    subprocess.run([*PIP, "install", *ALONE, "--target", packages, wheel], check=True)
    (tmp_path / "consumer.py").write_text(CONSUMER, encoding="utf-8")
    options = ["--strict", "--cache-dir", "cache", "--python-executable", "other/bin/python"]
    command = [sys.executable, "-m", "mypy", *options, "consumer.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
