"""The page without PyTorch, without the agent, or without stories: the rest of it works."""

import os
import subprocess
import sys

import httpx
import pytest

from tests.stories import FORK, REWARDS

pytest.importorskip("starlette")

AGENT = ("drrn.runs", "drrn.playing", "drrn.learning", "drrn.models", "drrn.settings", "drrn.arena")
BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in {names}):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Block())
"""
SERVE = """
import pathlib
from textgames_page.app import serve
from functools import partial
serve([], pathlib.Path("runs"), host=None, port=0, browser=False, say=partial(print, flush=True))
"""


@pytest.fixture
def client(request, tmp_path):
    """A client of a server in whose processes some modules cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text(BLOCK.format(names=request.param))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
        "TEXTGAMES_HOME": str(tmp_path / "home"),
    }
    command = [sys.executable, "-c", SERVE]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, env=environment, text=True, cwd=tmp_path
    )
    assert server.stdout is not None
    with httpx.Client(base_url=server.stdout.readline().strip(), timeout=60) as client:
        yield client
    server.terminate()
    server.communicate()


def play(client, game):
    """Take one action in a game, and return its first page."""
    body = {"seed": 1, "moves": [0], "since": 0}
    first, _ = client.post(f"/api/games/{game}/pages", json=body).json()["pages"]
    return first


@pytest.mark.parametrize(
    "client", [pytest.param(["torch"], marks=pytest.mark.full), AGENT], indirect=True
)
def test_without_the_agent_stories_are_played_and_tested(client):
    toml = 'story = "fork.twee"\n' + REWARDS
    files = [("file", ("fork.twee", FORK)), ("file", ("fork.toml", toml))]
    game = client.post("/api/games", files=files).json()["game"]["id"]
    assert client.get(f"/api/games/{game}/opening").json()["text"].startswith("The sea")
    assert play(client, game)["passage"] == "Start"
    assert client.get(f"/api/games/{game}").json()["findings"]["statistics"]["pages"] == 4
    assert client.post(f"/api/tests/{game}", json={"seconds": 2}).status_code == 201
    assert client.get("/api/runs").json() == {"runs": []}
    for answer in (
        client.get("/api/settings", params={"game": game}),
        client.post("/api/runs", json={"game": game}),
    ):
        assert answer.status_code == 400 and "install the package drrn" in answer.json()["error"]


@pytest.mark.parametrize("client", [["storytest"]], indirect=True)
def test_without_stories_parser_games_are_played(client):
    games = [game["id"] for game in client.get("/api/games").json()["games"]]
    assert games == ["home-world", "comet-house"]
    play(client, "home-world")
    for answer in (
        client.post("/api/tests/home-world"),
        client.post("/api/games", files=[("file", ("fork.twee", FORK))]),
    ):
        assert answer.status_code == 400 and "install the package" in answer.json()["error"]
    assert "install the package" in client.get("/api/games/home-world").json()["reason"]
