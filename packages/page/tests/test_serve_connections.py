"""The server as a process: a request names one host, and clients that go away log nothing."""

import contextlib
import socket
import sys
import time

import pytest

pytest.importorskip("uvicorn")

from tests.browser import PageServer


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    page_server = PageServer(tmp_path_factory.mktemp("server"))
    yield page_server
    page_server.close()


def get(port, more=b"", visitor="127.0.0.1"):
    """The answer to a request of the front page with more headers."""
    head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), 30, (visitor, 0)) as client:
        client.sendall(head + more + b"Connection: close\r\n\r\n")
        return client.recv(4096)


def test_a_request_names_one_host_and_an_interrupted_upload_logs_nothing(server):
    port = int(server.port)
    assert b" 200 " in get(port)
    assert b" 400 " in get(port, more=b"Host: evil.example\r\n")
    assert b" 400 " in get(port, more=f"Host: 127.0.0.1:{port}\r\n".encode())
    head = f"POST /api/games HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 5000\r\n"
    head += "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    part = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.twee"\r\n\r\n:: Sta'
    for text in (head, head + part):
        with socket.create_connection(("127.0.0.1", port), 30) as client:
            client.sendall(text.encode())
            time.sleep(0.1)
    assert b" 200 " in get(port)
    assert (server.folder / "errors").read_text() == ""


def test_headers_without_end_are_refused(server):
    port = int(server.port)
    assert b" 431 " in get(port, more=b"A: b\r\n" * 100)
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        with pytest.raises(OSError):  # the server closes the connection
            for _ in range(200):
                client.sendall(b"x" * 1024)
                time.sleep(0.002)
        assert b" 200 " in get(port)
    assert (server.folder / "errors").read_text() == ""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="needs a second address of this machine")
def test_half_open_connections_of_one_visitor_lock_out_nobody(server):
    port = int(server.port)
    clients = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(1000)]
    for client in clients:
        with contextlib.suppress(OSError):  # one of too many
            client.sendall(b"GET / HTTP/1.1\r\nHost:")
    assert b" 200 " in get(port, visitor="127.0.0.2")
    for _ in range(300):  # until those that finish no headers are closed
        time.sleep(0.1)
        with contextlib.suppress(OSError):
            if b" 200 " in get(port):
                break
    else:
        raise AssertionError("the visitor was not let in again")
    for client in clients:
        client.close()
    assert (server.folder / "errors").read_text() == ""
