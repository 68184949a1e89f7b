"""The server of the page with a home and runs of its own, asked as a browser on this machine asks."""

from contextlib import contextmanager

from starlette.testclient import TestClient

from drrn.serve.app import application
from drrn.serve.http import Access, local_access
from drrn.serve.library import Library
from drrn.serve.services import Services

PORT = 8642
BASE = f"http://127.0.0.1:{PORT}"


@contextmanager
def client_of(runs, access: Access | None = None, base: str = BASE):
    """A client of a server of its own; `client.services` is what that has."""
    services = Services(Library(), runs)
    app = application(services, access or local_access(PORT))
    with TestClient(app, base_url=base, raise_server_exceptions=False) as client:
        client.services = services
        yield client


def uploaded(client, name, text, *others):
    """Upload a story, and whatever else."""
    files = [(name, text), *others]
    parts = [
        ("file", (one, data.encode() if isinstance(data, str) else data)) for one, data in files
    ]
    return client.post("/api/games", files=parts)


def begun(client, game, **more):
    answer = client.post("/api/sessions", json={"game": game, "seed": 1, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def stepped(client, page, action):
    """Take the action with these words."""
    body = {"action": page["actions"].index(action), "steps": page["steps"]}
    return client.post(f"/api/sessions/{page['session']}/step", json=body).json()
