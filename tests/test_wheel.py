"""The wheels of all packages: their files, and their commands where nothing else is of this clone."""

import fnmatch
import json
import os
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

from tests.source_code import PACKAGES, ROOT
from textgames.files import read_toml

FOLDERS = {name: path.parent for name, path in PACKAGES.items() if name != "lab"}
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"]
OFFLINE = ["--no-deps", "--no-index"]  # without network
TINY = (
    "--paper --rounds 1 --episodes-per-round 5 --epochs 1 --evaluation-episodes 5 --replicas 1 "
    "--hidden 4"
).split()


def source_files(name):
    """Return the path of every file of a package, relative to the folder of its pyproject.toml."""
    paths = [path for path in PACKAGES[name].rglob("*") if "__pycache__" not in path.parts]
    return {path.relative_to(FOLDERS[name]).as_posix() for path in paths if path.is_file()}


@pytest.mark.parametrize("name", FOLDERS)
def test_every_file_that_is_no_module_is_declared_as_package_data(name):
    declared = read_toml(FOLDERS[name] / "pyproject.toml")["tool"]["setuptools"]["package-data"]
    patterns = [
        f"{package.replace('.', '/')}/{pattern}"
        for package, each in declared.items()
        for pattern in each
    ]
    data = [path for path in source_files(name) if not path.endswith(".py")]
    unmatched = [path for path in data if not _is_matched(path, patterns)]
    assert data and unmatched == []
    assert [p for p in patterns if not any(_is_matched(path, [p]) for path in data)] == []


def _is_matched(path, patterns):
    """Whether a pattern matches a path; * stands for no slash."""
    same_depth = [pattern for pattern in patterns if pattern.count("/") == path.count("/")]
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in same_depth)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheel of each package, built from a copy: files of a build would enter the next one."""
    copy = tmp_path_factory.mktemp("source")
    out = tmp_path_factory.mktemp("wheels")
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    options = [*OFFLINE, "--no-build-isolation", "--wheel-dir", out]
    paths: dict[str, Path] = {}
    for name, folder in FOLDERS.items():
        shutil.copytree(folder, copy / name, ignore=ignore)
        subprocess.run([*PIP, "wheel", *options, copy / name], check=True)
        (paths[name],) = set(out.iterdir()) - set(paths.values())
    return paths


@pytest.fixture(scope="module")
def run(wheels, tmp_path_factory):
    """Function that runs a command of the installed packages, outside of the clone."""
    folder = tmp_path_factory.mktemp("installation")
    target = ["--target", folder / "packages"]
    subprocess.run([*PIP, "install", *OFFLINE, *target, *wheels.values()], check=True)
    (folder / "work").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(folder / "packages")}

    def start(command, *words, start=subprocess.run, **options):
        program = shutil.which(command, path=folder / "packages" / "bin") or command
        options = {"cwd": folder / "work", "env": environment, "text": True, **options}
        return start([program, *words], stdout=subprocess.PIPE, **options)

    return start


@pytest.mark.full
@pytest.mark.parametrize("name", FOLDERS)
def test_a_wheel_contains_exactly_the_files_of_its_package(wheels, name):
    with zipfile.ZipFile(wheels[name]) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == source_files(name)


@pytest.mark.full
def test_the_installed_packages_are_imported_from_their_wheels(run):
    code = (
        f"import {', '.join(FOLDERS)}; print({', '.join(f'{name}.__file__' for name in FOLDERS)})"
    )
    files = run(sys.executable, "-c", code, check=True).stdout.split()
    assert len(files) == len(FOLDERS)
    assert [file for file in files if Path(file).is_relative_to(ROOT)] == []
    code = "from textsuites.protocols import read_protocol as r; r('protocol:twx-eacl2023/twc')"
    run(sys.executable, "-c", code, check=True)


@pytest.mark.full
def test_the_installed_commands_list_train_play_and_test(run, tmp_path):
    games = run("drrn", "games", check=True).stdout
    assert "long-watch" in games and "night-market" in games
    run("drrn", "train", "long-watch", "--out", tmp_path / "run", *TINY, check=True)
    config = json.loads((tmp_path / "run/config.json").read_text(encoding="utf-8"))
    assert config["game"]["source"] == "long-watch"
    rows = (tmp_path / "run/evaluations.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 2  # the header and one round
    played = run("drrn", "play", "long-watch", "--policy", "random", "--json", check=True).stdout
    assert json.loads(played)["episodes"] == 1000
    players = ["--player", "random", f"agent:{tmp_path / 'run'}", "--episodes", "1"]
    assert "agent" in run("drrn", "arena", "long-watch", *players, check=True).stdout
    alone = ["-m", "textgames_arena", "home-world", "--episodes", "1", "--out", "alone"]
    assert "best" in run(sys.executable, *alone, check=True).stdout
    assert "Endings" in run("storytest", "test", "long-watch", "--jobs", "1", check=True).stdout


@pytest.mark.full
@pytest.mark.parametrize("program", ["drrn", "storytest"])
def test_the_installed_page_is_served(run, program):
    words = ["serve", "--no-browser", "--port", "0"]
    with run(program, *words, start=subprocess.Popen) as server:
        with urllib.request.urlopen(server.stdout.readline().strip(), timeout=60) as answer:
            assert b"</html>" in answer.read()
        server.kill()
