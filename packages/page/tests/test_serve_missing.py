"""The page without PyTorch, without the agent, or without stories: the rest of it works."""

import httpx
import pytest

from tests.browser import AGENT, PageServer
from tests.stories import FORK, REWARDS

pytest.importorskip("starlette")


@pytest.fixture
def client(request, tmp_path):
    """A client of a server in whose processes some modules cannot be imported."""
    program = "drrn" if "storytest" in request.param else "storytest"
    server = PageServer(tmp_path, program=program, missing=request.param)
    with httpx.Client(base_url=server.link, timeout=60) as client:
        yield client
    server.close()


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
