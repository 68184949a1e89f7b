"""Random malformed requests: each is rejected with a sentence, and the server never fails."""

import json
import random

import pytest

from tests.page_client import client_of

pytest.importorskip("starlette")

WORDS = ["..", "%2e%2e%2f", "%00", "%ff", "-5", "1", "a" * 3000, "long-watch", "<script>", "best"]
ODD = '[null, true, 0, -1, 1e308, "", "../..", "\\u0000", [], [1], {}, {"a": 1}, {"rounds": 1e9}]'
VALUES = [*json.loads(ODD), 2**63, "é" * 300]
NAMES = "game seed moves since run policy seconds settings recipe player".split()
KINDS = "application/json text/plain multipart/form-data;boundary=x multipart/form-data x".split()
METHODS = "GET POST POST DELETE PUT HEAD OPTIONS".split()


def request_of(draw, paths):
    """Return a random request: method, address, body and headers."""
    path = draw.choice(paths)
    while "{" in path:
        before, _, after = path.partition("{")
        path = before + draw.choice(WORDS) + after.partition("}")[2]
    query = f"?{draw.choice(NAMES)}={draw.choice(WORDS)}" if draw.random() < 0.5 else ""
    body = json.dumps({name: draw.choice(VALUES) for name in draw.sample(NAMES, 4)}).encode()
    content = draw.choice([body, body, draw.randbytes(40), b""])
    return (
        draw.choice(METHODS),
        path + query,
        {"content": content, "headers": {"content-type": draw.choice(KINDS)}},
    )


@pytest.mark.full
def test_nonsense_is_rejected_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path / "home"))
    draw = random.Random(5)
    with client_of(tmp_path / "runs") as client:
        paths = [route.path for route in client.app.routes if route.path.startswith("/api")]
        for _ in range(500):
            method, path, more = request_of(draw, paths)
            answer = client.request(method, path, **more)
            assert answer.status_code < 500, (method, path, more, answer.text)
            if answer.status_code >= 400 and method != "HEAD":
                assert set(answer.json()) == {"error"}
    assert not (tmp_path / "runs").exists()  # no run was started
