"""Without PyTorch stories are tested and played, and training names the package to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny_engine import tiny_story

BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "safetensors"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""
ROOT = Path(__file__).parents[1]


@pytest.fixture
def drrn_command(tmp_path):
    """Run drrn where PyTorch and safetensors cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    path = os.pathsep.join([str(tmp_path), str(ROOT), *filter(None, sys.path)])

    def run(*arguments, code=None):
        command = ["-c", code] if code else ["-m", "drrn", *arguments]
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ["test", "tale.toml", "--seconds", "1"],
        ["inspect", "tale.toml", "--seconds", "1"],
        ["inspect", "hosted.html", "--seconds", "1"],
        ["play", "--help"],
        ["play", "long-watch", "--policy", "random", "--episodes", "3"],
        ["runs", "."],
    ],
    ids=lambda words: words[0],
)
def test_stories_are_tested_inspected_and_played(drrn_command, tmp_path, tale, arguments):
    hosted = tiny_story({"Start": "The sea. [[Row.->Island]] [[Stay.->Start]]", "Island": "Figs."})
    (tmp_path / "hosted.html").write_text(hosted)
    result = drrn_command(*arguments)
    assert result.returncode in (0, 1), result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stdout + result.stderr) > 20


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "long-watch"],
        ["evaluate", "run"],
        ["ask", "run", "--state", "x", "--action", "y"],
        ["watch", "run"],
        ["play", "long-watch", "--agent", "run"],
        ["reproduce"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_that_needs_pytorch_names_the_installation(drrn_command, arguments):
    result = drrn_command(*arguments)
    assert result.returncode == 2
    assert "pip install 'drrn[torch]'" in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "call", ["drrn.trainer('long-watch')", "drrn.load('run')", "drrn.resume('run')", "drrn.Trainer"]
)
def test_a_function_that_needs_pytorch_names_the_installation(drrn_command, call):
    result = drrn_command(code=f"import drrn; {call}")
    assert "InputError: torch is not installed: pip install 'drrn[torch]'" in result.stderr


def test_help_takes_little_cpu_time(drrn_command):
    before = os.times().children_user
    assert drrn_command("--help").returncode == 0
    assert os.times().children_user - before < 0.3
