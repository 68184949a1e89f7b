"""The server itself: its socket, its link, the browser, and a quiet end."""

from __future__ import annotations

import errno
import ipaddress
import logging
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import uvicorn

from drrn.errors import InputError
from drrn.game.make import spec_for
from drrn.game.optional import close
from drrn.serve.app import application
from drrn.serve.guard import Access, local_access, shared_access
from drrn.serve.library import GameEntry, Library, given_entry
from drrn.serve.services import Services

logging.getLogger("python_multipart").setLevel(
    logging.CRITICAL
)  # what a form lacks is said in the answer

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PORTS_TRIED = 20  # where none was asked for
FIRST_PORT = 8642
MOST_CONNECTIONS = 1_000


class QuietServer(uvicorn.Server):
    """A server that lets streams of events go when it is told to end, so that it ends at once."""

    def __init__(
        self, config: uvicorn.Config, services: Services, announce: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self.services = services
        self.announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.services.closing = True
        super().handle_exit(sig, frame)


def serve(
    games: Sequence[str],
    runs: Path,
    *,
    host: str | None,
    port: int | None,
    browser: bool,
    say: Callable[[str], None],
) -> None:
    """Serve until Ctrl-C. Whoever is told a link can open it; with another host than this machine's, only with it."""
    library = Library(_given(games))
    bound = _socket(host or LOOPBACK[0], port)
    port = int(bound.getsockname()[1])
    access = local_access(port, host or LOOPBACK[0]) if is_loopback(host) else shared_access(port)
    services = Services(library, runs, shared=access.token is not None)
    link = link_of(host, port, access)

    def announce() -> None:
        say(link)
        if browser and has_screen():
            threading.Thread(target=webbrowser.open, args=[link], daemon=True).start()

    config = uvicorn.Config(
        application(services, access), log_level="critical", access_log=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=2, timeout_keep_alive=30, limit_concurrency=MOST_CONNECTIONS, ws="none",
    )  # fmt: skip
    try:
        QuietServer(config, services, announce).run(sockets=[bound])
    finally:
        services.close()
        bound.close()


def is_loopback(host: str | None) -> bool:
    """Whether an address is of this machine alone."""
    if host is None or host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def has_screen() -> bool:
    """Whether a browser has a screen to open on; else one that runs in the terminal might take that."""
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def link_of(host: str | None, port: int, access: Access) -> str:
    """What opens the page: of an address that stands for all of a machine, one that others can reach."""
    name = host or LOOPBACK[0]
    if name in ("0.0.0.0", "::"):
        name = _own_address()
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{port}/" + (f"?token={access.token}" if access.token else "")


def _own_address() -> str:
    """The address by which this machine sends to its network; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address that nobody has
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def _socket(host: str, port: int | None) -> socket.socket:
    """A socket bound to the address; where no port was asked for, the first that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = range(FIRST_PORT, FIRST_PORT + PORTS_TRIED) if port is None else (port,)
    for number in ports:
        # With its protocol said, asyncio sends each answer at once (TCP_NODELAY) instead of after 40 ms.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, number))
            bound.listen(2048)
            bound.set_inheritable(False)
            return bound
        except OSError as error:
            bound.close()
            if error.errno != errno.EADDRINUSE:
                raise InputError(
                    f"{host}:{number}: cannot be served from: {error.strerror}"
                ) from error
        except OverflowError as error:
            bound.close()
            raise InputError(f"port {number}: it must lie between 0 and 65535") from error
    tried = f"port {port} is" if port is not None else f"ports {ports[0]} to {ports[-1]} are all"
    raise InputError(f"{tried} in use: name another by --port, or 0 for any that is free")


def _given(games: Sequence[str]) -> list[GameEntry]:
    """The games that the command line names; one that cannot be opened is an error now, not later."""
    found: dict[str, GameEntry] = {}
    for name in games:
        recipe = spec_for(name, lenient=True)
        game = recipe.open()
        entry = given_entry(name, game, recipe)
        close(game)
        if entry.id in found:
            raise InputError(
                f"{name}: another game named {entry.id} is given already: rename one of the files"
            )
        found[entry.id] = entry
    return list(found.values())
