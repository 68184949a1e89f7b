"""Without the agent and PyTorch, stories are tested and games are played; help imports neither."""

import os
import subprocess
import sys

import pytest

from tests.commands import process
from tests.tiny_engine import tiny_story

BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "safetensors", "drrn"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""


@pytest.fixture
def run(tmp_path):
    """Function that runs a command where the agent and PyTorch cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])

    def start(command):
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    return start


@pytest.mark.parametrize(
    "line",
    [
        "test tale.toml --seconds 1",
        "inspect tale.toml --seconds 1",
        "test hosted.html --seconds 1",
        "annotate tale.toml --out new.toml",
        "play tale.toml --path 1,1",
        "formats",
    ],
    ids=lambda line: " ".join(line.split()[:2]),
)
def test_stories_are_tested(run, tmp_path, tale, line):
    hosted = tiny_story({"Start": "The sea. [[Row.->Island]] [[Stay.->Start]]", "Island": "Figs."})
    (tmp_path / "hosted.html").write_text(hosted)
    result = run(process(line.split()))
    assert result.returncode in (0, 1), result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stdout + result.stderr) > 20


@pytest.mark.parametrize(
    "code",
    [
        "import textgames; textgames.solve_game(textgames.make('home-world'))",
        "import textgames_arena.command",
        "import textgames_page.command, textgames_page.app",
        "from textsuites.catalogue import SUITES; assert SUITES",
    ],
    ids=["textgames", "arena", "page", "textsuites"],
)
def test_the_other_packages_work(run, code):
    result = run([sys.executable, "-c", code])
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("program", ["drrn", "storytest"])
def test_help_takes_little_cpu_time(program):
    before = os.times().children_user
    subprocess.run([sys.executable, "-m", program, "--help"], stdout=subprocess.DEVNULL, check=True)
    assert os.times().children_user - before < 0.3
