"""A server of the page in this process, with a client that acts like a local browser."""

from contextlib import contextmanager

from starlette.testclient import TestClient

from textgames_page.app import application
from textgames_page.http import Access, local_access
from textgames_page.library import Library
from textgames_page.limits import Limits
from textgames_page.services import Services

PORT = 8642
BASE = f"http://127.0.0.1:{PORT}"


@contextmanager
def client_of(runs, access: Access | None = None, base: str = BASE, limits: Limits | None = None):
    """Yield a client of a new server. `client.services` are the services of the server."""
    services = Services(Library(), runs, limits=limits)
    app = application(services, access or local_access(PORT))
    with TestClient(app, base_url=base, raise_server_exceptions=False) as client:
        client.services = services
        yield client


def upload(client, name, text, *others):
    """Upload a story with other files."""
    files = [(name, text), *others]
    parts = [
        ("file", (each, data.encode() if isinstance(data, str) else data)) for each, data in files
    ]
    return client.post("/api/games", files=parts)


def start_game(client, game, seed=1, moves=()):
    """Return the last page of an episode, and what identifies it."""
    place = {"session": "mine", "seed": seed, "moves": list(moves)}
    answer = client.post(f"/api/games/{game}/pages", json=place)
    assert answer.status_code == 200, answer.text
    return {**answer.json()["pages"][-1], "game": game, "place": place}


def take(client, page, action):
    """Take the action with this text; return the next page."""
    place = page["place"]
    moves = [*place["moves"], page["actions"].index(action)]
    return start_game(client, page["game"], place["seed"], moves)
