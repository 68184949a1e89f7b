"""The page without PyTorch: Play and Test work, Learn names the package to install."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.stories import FORK, REWARDS

pytest.importorskip("starlette")

BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name == "torch" or name.startswith("torch."):
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, Block())
"""


@pytest.fixture
def link(tmp_path):
    """A server in whose processes torch cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    root = Path(__file__).parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)]),
        "DRRN_HOME": str(tmp_path / "home"),
    }
    arguments = ["serve", "--no-browser", "--port", "0", "--runs", str(tmp_path / "runs")]
    server = subprocess.Popen(
        [sys.executable, "-m", "drrn", *arguments],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.terminate()
    server.communicate()


@pytest.mark.slow
def test_without_pytorch_stories_are_played_and_tested_and_training_names_the_package(link):
    with httpx.Client(base_url=link, timeout=60) as client:
        toml = 'story = "fork.twee"\n' + REWARDS
        files = [("file", ("fork.twee", FORK)), ("file", ("fork.toml", toml))]
        game = client.post("/api/games", files=files).json()["game"]["id"]
        assert client.get(f"/api/games/{game}/opening").json()["text"].startswith("The sea")
        page = client.post("/api/sessions", json={"game": game, "seed": 1}).json()
        step = {"action": page["actions"].index("Stay in.")}
        page = client.post(f"/api/sessions/{page['session']}/step", json=step).json()
        assert page["ending"] == "Home"
        assert client.get(f"/api/games/{game}").json()["findings"]["statistics"]["pages"] == 4
        client.post(f"/api/tests/{game}", json={"seconds": 2})
        while (result := client.get(f"/api/tests/{game}").json())["status"] == "running":
            time.sleep(0.1)
        assert result["report"]["exact"]
        for answer in (
            client.get("/api/settings", params={"game": game}),
            client.post("/api/runs", json={"game": game}),
        ):
            assert answer.status_code == 503
            assert "pip install 'drrn[torch]'" in answer.json()["error"]
