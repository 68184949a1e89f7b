"""The server's connections: above the limit they are refused, and a request names one host."""

import asyncio
import os
import resource
import socket
import subprocess
import sys
import time
import types

import pytest

from drrn.serve.connections import Refusals, most_connections


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with few open files: its port, its process and its error output."""
    folder = tmp_path_factory.mktemp("server")
    command = [sys.executable, "-m", "drrn", "serve", "--no-browser", "--port", "0"]
    command += ["--runs", str(folder / "runs")]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "DRRN_HOME": str(folder / "home")},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300)),
        )
        assert process.stdout is not None
        port = int(process.stdout.readline().strip(" /\n").rpartition(":")[2])
        yield port, process, folder / "errors"
        process.kill()
        process.communicate()


def answer_to(port, request):
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        client.sendall(request)
        client.settimeout(30)
        return client.recv(4096)


def get(port, target="/", more=b""):
    head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode()
    return answer_to(port, head + more + b"Connection: close\r\n\r\n")


@pytest.mark.full
def test_a_request_names_one_host(server):
    port = server[0]
    assert b" 200 " in get(port)
    assert b" 400 " in get(port, more=b"Host: evil.example\r\n")
    assert b" 400 " in get(port, more=f"Host: 127.0.0.1:{port}\r\n".encode())
    assert b" 400 " in get(port, "http://evil.example/")
    assert b" 200 " in get(port, f"http://127.0.0.1:{port}/")


@pytest.mark.full
def test_connections_above_the_limit_are_refused_with_one_line(server):
    port, process, errors = server
    clients = []
    for _ in range(400):
        client = socket.socket()
        client.settimeout(5)
        clients.append(client)
        try:
            client.connect(("127.0.0.1", port))
        except OSError:
            break
    time.sleep(1)
    lines = errors.read_text().splitlines()
    assert len(lines) <= 3 and not any("Traceback" in line for line in lines), lines[:20]
    assert any("refused 1 connection: " in line for line in lines)
    for client in clients:
        client.close()
    time.sleep(1)
    assert b" 200 " in get(port) and process.poll() is None


@pytest.mark.full
def test_an_interrupted_upload_logs_nothing(server):
    port, _, errors = server
    before = errors.read_text()
    head = f"POST /api/games HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 5000\r\n"
    head += "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    part = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.twee"\r\n\r\n:: Sta'
    for text in (head, head + part):
        with socket.create_connection(("127.0.0.1", port), 30) as client:
            client.sendall(text.encode())
            time.sleep(0.3)
    time.sleep(0.5)
    assert b" 200 " in get(port)
    assert errors.read_text() == before


def test_refusals_are_logged_once_a_minute(caplog, monkeypatch):
    now = [100.0]
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("drrn.serve.connections.time", clock)
    refusals = Refusals()
    full = {"socket": None, "exception": OSError(24, "Too many open files")}
    loop = asyncio.new_event_loop()
    for _ in range(1000):
        refusals.handle(loop, full)
    loop.close()
    assert len(caplog.records) == 1
    now[0] += 61
    refusals.add("full")
    assert [record.getMessage() for record in caplog.records] == [
        "refused 1 connection: Too many open files",
        "refused 1,000 connections: full",
    ]


def test_the_limit_fits_the_open_files_of_the_process(monkeypatch):
    limits = [(256, 256)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[0])
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: limits.append(both))
    assert most_connections() == 8 and len(limits) == 1
    limits[0] = (1024, 1024)
    assert most_connections() == 768
    limits[0] = (256, resource.RLIM_INFINITY)
    assert most_connections() == 1000 and limits[-1] == (4096, resource.RLIM_INFINITY)
