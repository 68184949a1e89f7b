"""A stand-in for the Hugging Face Hub: model repositories in memory, served to push and pull."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """HTTP server; `repositories` maps names to files, `requests` lists all requests."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.requests: list[tuple[str, str, str | None]] = []
        self.private: dict[str, bool] = {}

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def running_hub():
    hub = Hub()
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    """Answers the requests that the client library sends."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        hub = self.server
        assert isinstance(hub, Hub)
        path = self.path.partition("?")[0]
        hub.requests.append(("POST", path, self.headers.get("Authorization")))
        if path == "/api/repos/create":
            options = json.loads(body)
            name = "/".join(filter(None, (options.get("organization"), options["name"])))
            hub.repositories.setdefault(name, {})
            hub.private[name] = (
                options.get("private") or options.get("visibility") == "private"
            )  # depends on the library's version
            self.answer({"url": f"{hub.address}/{name}", "id": name, "name": name})
        elif path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif path.endswith("/preupload/main"):
            files = [
                {"path": file["path"], "uploadMode": "regular"}
                for file in json.loads(body)["files"]
            ]
            self.answer({"files": [{**file, "shouldIgnore": False} for file in files]})
        elif path.endswith("/commit/main"):
            name = path.removeprefix("/api/models/").removesuffix("/commit/main")
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    hub.repositories[name][line["value"]["path"]] = base64.b64decode(
                        line["value"]["content"]
                    )
            self.answer({"commitUrl": f"{hub.address}/{name}/commit/{COMMIT}", "commitOid": COMMIT})
        else:
            self.answer({"error": "not found"}, 404)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        hub = self.server
        assert isinstance(hub, Hub)
        path = self.path.partition("?")[0]
        hub.requests.append((self.command, path, self.headers.get("Authorization")))
        if not path.startswith("/api/models/"):
            name, _, file = path[1:].partition(f"/resolve/{COMMIT}/")
            self.send_file(hub.repositories.get(name, {}).get(file))
            return
        name, kind, _ = path.removeprefix("/api/models/").partition("/revision/")
        if not kind:
            name, kind, _ = name.partition("/tree/")
        files = hub.repositories.get(name)
        if files is None:
            self.answer({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
        elif kind == "/tree/":
            self.answer(
                [
                    {"type": "file", "path": file, "size": len(data), "oid": _oid(data)}
                    for file, data in files.items()
                ]
            )
        else:
            self.answer(
                {"id": name, "sha": COMMIT, "siblings": [{"rfilename": file} for file in files]}
            )

    def send_file(self, data):
        if data is None:
            self.answer({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
            return
        headers = {
            "ETag": f'"{_oid(data)}"',
            "X-Repo-Commit": COMMIT,
            "Content-Type": "application/octet-stream",
        }
        self.send(200, data, headers)

    def answer(self, value, status=200, headers=None):
        self.send(
            status,
            json.dumps(value).encode(),
            {"Content-Type": "application/json", **(headers or {})},
        )

    def send(self, status, data, headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _oid(data):
    return hashlib.sha1(data).hexdigest()
