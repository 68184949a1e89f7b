"""A soak test of `drrn serve`: many visitors for a long time, after which nothing has grown.

python -m benchmarks.soak [MINUTES [SEED]]     as scripts/soak calls it
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx

STORY = ":: Start\nA hall. [[Go]] [[Stay]]\n\n:: Go\nYou left.\n\n:: Stay\nNight falls."

PLAYERS = 8
PAUSE = 2.0  # mean seconds between two visits of a player
GROWTH = 1.5  # of memory, that counts as constant
SLACK = 20  # open files and threads
ERRORS = (httpx.HTTPError, OSError, KeyError, ValueError)

Visit = Callable[[httpx.Client, random.Random], httpx.Response | None]  # its first answer


def play(client: httpx.Client, draw: random.Random) -> httpx.Response:
    place = {"session": str(draw.randrange(10**9)), "seed": draw.randrange(99)}
    moves: list[int] = []
    for _ in range(draw.randint(1, 40)):
        answer = client.post("/api/games/long-watch/pages", json={**place, "moves": moves})
        (page,) = answer.json().get("pages", [{"ended": True}])
        if page["ended"] or page["stopped"]:
            break
        moves.append(draw.randrange(len(page["actions"])))
    return answer


def upload(client: httpx.Client, draw: random.Random) -> httpx.Response:
    story = f"{STORY}\n\n:: Extra {draw.randrange(10**9)}\nx"
    answer = client.post("/api/games", files={"file": ("tale.twee", story)})
    if answer.status_code < 300:
        game = answer.json()["game"]["id"]
        if draw.random() < 0.5:
            client.post(f"/api/tests/{game}", json={"seconds": 1})
        client.delete(f"/api/games/{game}")
    return answer


def interrupt_upload(client: httpx.Client, draw: random.Random) -> None:
    host = client.base_url.host
    head = f"POST /api/games HTTP/1.1\r\nHost: {host}:{client.base_url.port}\r\n"
    head += "Content-Length: 9000\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    with socket.create_connection((host, client.base_url.port or 80), 10) as connection:
        connection.sendall(head[: draw.randrange(len(head))].encode())


def read_slowly(client: httpx.Client, draw: random.Random) -> None:
    with client.stream("GET", "/static/api.js") as answer:
        for _ in answer.iter_raw(256):
            time.sleep(0.05)
            if draw.random() < 0.05:
                return


def train(client: httpx.Client, draw: random.Random) -> httpx.Response:
    settings = {"rounds": 1, "episodes_per_round": 4, "evaluation_episodes": 2, "replicas": 1}
    answer = client.post("/api/runs", json={"game": "long-watch", "settings": settings})
    if answer.status_code < 300:
        time.sleep(5)
        client.delete(f"/api/runs/{answer.json()['id']}")
    return answer


VISITS: dict[Visit, float] = {play: 20, upload: 4, interrupt_upload: 4, read_slowly: 2, train: 0.2}


def usage(pid: int) -> tuple[float, int, int]:
    """Return the MB, the open files and the threads of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    memory = int(status.partition("VmRSS:")[2].split()[0]) / 1024
    return memory, len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208


def kill_a_worker(pid: int, draw: random.Random) -> bool:
    """Kill one of the processes that play games or test stories."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for task in tasks for child in task.read_text().split()]
    if children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(draw.choice(children), signal.SIGKILL)
    return bool(children)


def visit(port: int, seed: int, until: float, counts: Counter[str]) -> None:
    draw = random.Random(seed)
    while time.monotonic() < until:
        time.sleep(draw.expovariate(1 / PAUSE))
        (action,) = draw.choices(list(VISITS), list(VISITS.values()))
        counts[action.__name__] += 1
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
                answer = action(client, draw)
            if answer is not None and answer.status_code >= 300:
                counts[f"{action.__name__}: status {answer.status_code}"] += 1
        except ERRORS as error:
            counts[f"{action.__name__}: {type(error).__name__}"] += 1


def soak(minutes: float, seed: int) -> int:
    """Visit a new server; return 0 if it has not grown and still answers."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, Path(folder, "errors").open("w") as errors:
        command = [sys.executable, "-m", "drrn", "serve", "--no-browser", "--port", "0"]
        server = subprocess.Popen(
            [*command, "--runs", f"{folder}/runs"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "TEXTGAMES_HOME": f"{folder}/home"},
        )
        assert server.stdout is not None
        port = int(server.stdout.readline().strip(" /\n").rpartition(":")[2])
        start = time.monotonic()
        until = start + minutes * 60
        counts: Counter[str] = Counter()
        visitors = [
            threading.Thread(target=visit, args=(port, 1000 * seed + number, until, counts))
            for number in range(PLAYERS)
        ]
        for visitor in visitors:
            visitor.start()
        first: tuple[float, int, int] | None = None
        while time.monotonic() < until:
            time.sleep(draw.uniform(1, 20) * min(1, minutes / 10))
            counts["kills"] += kill_a_worker(server.pid, draw)
            if first is None and time.monotonic() > start + minutes * 6:
                first = usage(server.pid)
        for visitor in visitors:
            visitor.join()
        time.sleep(5)
        last = usage(server.pid)
        answers = httpx.get(f"http://127.0.0.1:{port}/api/status").status_code == 200
        server.send_signal(signal.SIGINT)
        server.communicate()
        lines = Path(folder, "errors").read_text().splitlines()
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    for name, usages in (("after a tenth", first), ("at the end", last)):
        print(f"{name}: " + "{:.0f} MB, {} open files, {} threads".format(*(usages or (0, 0, 0))))
    print("".join(f"{line[:200]}\n" for line in lines[-5:]), end="")
    print(f"{len(lines)} lines of log, {sum('Traceback' in line for line in lines)} tracebacks")
    assert first is not None
    is_constant = last[0] < GROWTH * first[0] and all(
        b <= a + SLACK for a, b in zip(first[1:], last[1:], strict=True)
    )
    return 0 if is_constant and answers else 1


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    options = argparse.ArgumentParser(prog="scripts/soak")
    options.add_argument("minutes", type=float, nargs="?", default=60, help="(default: 60)")
    options.add_argument("seed", type=int, nargs="?", default=0, help="(default: 0)")
    return options.parse_args()


if __name__ == "__main__":
    sys.exit(soak(**vars(parse_arguments())))
