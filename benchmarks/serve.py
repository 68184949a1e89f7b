"""Measure the answer times and the memory of `drrn serve` with a hundred players.

    python benchmarks/serve.py [--players 100] [--seconds 60] [--pause 1.0] [--game long-watch]

The server runs in a separate process. Each player has a connection: starts a game, chooses at random,
undoes a step now and then, and restarts at the end; between two requests a player reads for `--pause` seconds on average
(0: the server is always busy). Before that, the same players request a route that does nothing, which measures the
machine and the web server alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

EMPTY_SHARE = 0.25  # of the time, for the route that does nothing


class Browser:
    """One connection, which records the times of answers."""

    def __init__(self, port: int, times: list[float], errors: list[str]) -> None:
        self.port = port
        self.times = times
        self.errors = errors

    async def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        reader, writer = await self._connection()
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
        start = time.perf_counter()
        writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        headers = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(headers.lower().partition("content-length:")[2].partition("\r\n")[0])
        answer = json.loads(await reader.readexactly(length))
        self.times.append(time.perf_counter() - start)
        status = int(headers.split(" ", 2)[1])
        if status >= 400:
            self.errors.append(f"{method} {path}: {status} {answer.get('error')}")
        return answer

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not hasattr(self, "streams"):
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        return self.streams


async def ask_for_nothing(
    browser: Browser, read: Callable[[], Awaitable[None]], until: float, _: Any
) -> None:
    while time.monotonic() < until:
        await browser.ask("GET", "/api/status")
        await read()


async def play(
    browser: Browser, read: Callable[[], Awaitable[None]], until: float, player: Any
) -> None:
    choose = random.Random(player.number)
    place = {"session": str(player.number), "seed": player.number}
    moves: list[int] = []
    while time.monotonic() < until:
        answer = await browser.ask(
            "POST", f"/api/games/{player.game}/pages", {**place, "moves": moves}
        )
        (page,) = answer["pages"]
        await read()
        if page["ended"] or page["stopped"]:
            moves = []
        elif moves and choose.random() < 0.1:
            moves.pop()
        else:
            moves.append(choose.randrange(len(page["actions"])))


async def together(
    one: Any, options: argparse.Namespace, seconds: float
) -> tuple[list[float], list[str], float]:
    """Run all players for a number of seconds; return answer times, errors and elapsed seconds."""
    times: list[float] = []
    errors: list[str] = []
    start = time.monotonic()

    async def player(number: int) -> None:
        pauses = random.Random(number)

        async def read() -> None:
            await asyncio.sleep(pauses.uniform(0.5, 1.5) * options.pause)

        options_of_player = argparse.Namespace(game=options.game, number=number)
        await asyncio.sleep(pauses.random() * options.pause)
        try:
            await one(
                Browser(options.port, times, errors), read, start + seconds, options_of_player
            )
        except (OSError, ValueError, KeyError, asyncio.IncompleteReadError) as error:
            errors.append(f"{type(error).__name__}: {error}")

    await asyncio.gather(*map(player, range(options.players)))
    return times, errors, time.monotonic() - start


def print_times(
    what: str, times: list[float], errors: list[str], seconds: float, spent: float
) -> None:
    parts = statistics.quantiles(times, n=100)
    quantiles = f"median {1000 * parts[49]:.1f} ms, 95 % {1000 * parts[94]:.1f}, 99 % {1000 * parts[98]:.1f}"
    print(
        f"{what}: {len(times):,} answers, {len(times) / seconds:,.0f} a second, {quantiles}, {len(errors)} errors; "
        f"{1000 * spent / len(times):.2f} ms of the server's CPU an answer"
    )
    for error in errors[:5]:
        print(f"    {error}")


def family(pid: int) -> list[int]:
    """Return the ids of a process and its children."""
    pids = [pid]
    for other in pids:
        for task in Path(f"/proc/{other}/task").glob("*/children"):
            pids += [int(child) for child in task.read_text().split() if int(child) not in pids]
    return pids


def memory(pid: int) -> float:
    """Return the MB of a process and its children; shared memory counts once."""
    rollups = [Path(f"/proc/{other}/smaps_rollup").read_text() for other in family(pid)]
    return sum(int(rollup.partition("\nPss:")[2].split()[0]) for rollup in rollups) / 1024


def cpu(pid: int) -> float:
    """Return the CPU seconds of a process and its children."""
    fields = [
        Path(f"/proc/{other}/stat").read_text().rpartition(")")[2].split() for other in family(pid)
    ]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def measure(options: argparse.Namespace, server: subprocess.Popen[str]) -> None:
    before = memory(server.pid)
    spent = cpu(server.pid)
    nothing = asyncio.run(together(ask_for_nothing, options, options.seconds * EMPTY_SHARE))
    print_times("a route that does nothing", *nothing, cpu(server.pid) - spent)
    half = options.seconds / 2
    spent = cpu(server.pid)
    first = asyncio.run(together(play, options, half))
    middle = memory(server.pid)
    second = asyncio.run(together(play, options, half))
    print_times(
        f"{options.players} players of {options.game}",
        first[0] + second[0],
        first[1] + second[1],
        2 * half,
        cpu(server.pid) - spent,
    )
    after = memory(server.pid)
    print(
        f"memory: {before:.0f} MB at the start, {middle:.0f} after half of the time, {after:.0f} at the end"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--players", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=1.0)
    parser.add_argument("--game", default="long-watch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["serve", "--no-browser", "--port", "0", "--runs", folder]
        server = subprocess.Popen(
            [sys.executable, "-m", "drrn", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TEXTGAMES_HOME": folder},
        )
        try:
            assert server.stdout is not None
            options.port = int(server.stdout.readline().strip(" /\n").rpartition(":")[2])
            measure(options, server)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


if __name__ == "__main__":
    main()
