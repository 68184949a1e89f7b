"""A stand-in for the Hugging Face Hub on this machine: model repositories in memory, by the few addresses that pushing
and pulling use."""

import base64
import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """The server: `repositories` has the files of each, `asked` what it was asked for."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.repositories, self.asked, self.private = {}, [], {}

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


class Answers(BaseHTTPRequestHandler):
    """What the Hub answers."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        hub, path = self.server, self.path.partition("?")[0]
        hub.asked.append(("POST", path, self.headers.get("Authorization")))
        if path == "/api/repos/create":
            given = json.loads(body)
            name = "/".join(filter(None, (given.get("organization"), given["name"])))
            hub.repositories.setdefault(name, {})
            hub.private[name] = (
                given.get("private") or given.get("visibility") == "private"
            )  # by versions of the library
            self.answer({"url": f"{hub.address}/{name}", "id": name, "name": name})
        elif path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif path.endswith("/preupload/main"):
            files = [
                {"path": one["path"], "uploadMode": "regular"} for one in json.loads(body)["files"]
            ]
            self.answer({"files": [{**one, "shouldIgnore": False} for one in files]})
        elif path.endswith("/commit/main"):
            name = path.removeprefix("/api/models/").removesuffix("/commit/main")
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    hub.repositories[name][line["value"]["path"]] = base64.b64decode(
                        line["value"]["content"]
                    )
            self.answer({"commitUrl": f"{hub.address}/{name}/commit/{COMMIT}", "commitOid": COMMIT})
        else:
            self.answer({"error": "not here"}, 404)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        hub, path = self.server, self.path.partition("?")[0]
        hub.asked.append((self.command, path, self.headers.get("Authorization")))
        if not path.startswith("/api/models/"):
            name, _, file = path[1:].partition(f"/resolve/{COMMIT}/")
            self.give(hub.repositories.get(name, {}).get(file))
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

    def give(self, data):
        if data is None:
            self.answer({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
            return
        headers = {
            "ETag": f'"{_oid(data)}"',
            "X-Repo-Commit": COMMIT,
            "Content-Type": "application/octet-stream",
        }
        self.send(200, data, headers)

    def answer(self, told, status=200, headers=None):
        self.send(
            status,
            json.dumps(told).encode(),
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
