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


def start_game(client, game, **more):
    """Start a session; return its first page."""
    answer = client.post("/api/sessions", json={"game": game, "seed": 1, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def take(client, page, action):
    """Take the action with this text; return the next page."""
    body = {"action": page["actions"].index(action), "steps": page["steps"]}
    return client.post(f"/api/sessions/{page['session']}/step", json=body).json()
