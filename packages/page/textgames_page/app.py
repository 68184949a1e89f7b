"""The application, and the server that runs it: its socket, its link, the browser."""

import errno
import ipaddress
import logging
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from textgames.errors import InputError
from textgames.pages import rendered
from textgames.version import __version__
from textgames_page.connections import Connection
from textgames_page.http import TABLE, Access, Guard, error_response, local_access, shared_access
from textgames_page.library import Library, given_entries
from textgames_page.products import has_agents, has_stories, product
from textgames_page.routes import ROUTES
from textgames_page.services import Services

# Faults of a form are part of the response.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)

STATIC = Path(__file__).with_name("static")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PORTS = range(8642, 8662)  # tried in order if none is named


def application(
    services: Services, access: Access, announce: Callable[[], None] = lambda: None
) -> Starlette:
    """The server as an ASGI application. `announce` is called when it starts."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        announce()
        try:
            yield
        finally:
            services.close()

    routes = [
        Route("/", front_page, methods=["GET"]),
        Mount("/static", StaticFiles(directory=STATIC, packages=_styles())),
        *ROUTES,
    ]
    errors = (InputError, HTTPException, OSError, Exception)
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, access=access, limits=services.limits)],
        exception_handlers=dict.fromkeys(errors, error_response),
        lifespan=lifespan,
    )
    app.state.services = services
    return app


async def front_page(request: Request) -> Response:
    shared = request.app.state.services.shared
    page = {"name": product(), "agents": has_agents(), "version": __version__, "shared": shared}
    return HTMLResponse(rendered("textgames_page/serve.html", **page))


def serve(
    games: Sequence[str],
    runs: Path,
    *,
    host: str | None,
    port: int | None,
    browser: bool,
    say: Callable[[str], None],
) -> None:
    """Serve the page until Ctrl-C.

    Args:
        games: Names and files of more games.
        runs: The folder of training runs.
        host: The default is this machine only. Any other needs a token.
        port: The default is the first free one of `PORTS`.
        browser: Open the page in a browser.
        say: Called with the link once the server has started.
    """
    library = Library(given_entries(games))
    address = host or LOOPBACK[0]
    bound = _socket(address, port)
    port = int(bound.getsockname()[1])
    access = local_access(port, address) if is_loopback(address) else shared_access(port)
    services = Services(library, runs, shared=access.token is not None)
    link = link_of(address, port, access)

    def announce() -> None:
        say(link)
        if browser and has_screen():
            threading.Thread(target=webbrowser.open, args=[link], daemon=True).start()

    app = application(services, access, announce)
    config = uvicorn.Config(app, http=Connection, **TABLE["uvicorn"])
    try:
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        services.close()
        bound.close()


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine only."""
    try:
        return host in LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def has_screen() -> bool:
    """Whether a browser can open a window. A text browser would take over the terminal."""
    has_display = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return sys.platform in ("darwin", "win32") or has_display


def link_of(host: str, port: int, access: Access) -> str:
    """The link to the page, with an address that others can reach."""
    name = _own_address() if host in ("0.0.0.0", "::") else host
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/" + (f"?token={access.token}" if access.token else "")


def _own_address() -> str:
    """The address of this machine in its network. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def _socket(host: str, port: int | None) -> socket.socket:
    """A listening socket, on the first free port if none is named."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = PORTS if port is None else (port,)
    for number in ports:
        try:
            bound = socket.create_server((host, number), family=family)
        except OverflowError as error:
            raise InputError(f"port {number}: must be between 0 and 65535") from error
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise InputError(f"{host}:{number}: cannot listen: {error.strerror}") from error
        else:
            # If the protocol is named, asyncio sets TCP_NODELAY, which saves 40 ms for each answer.
            return socket.socket(family, proto=socket.IPPROTO_TCP, fileno=bound.detach())
    used = f"port {port} is" if port is not None else f"ports {ports[0]} to {ports[-1]} are all"
    raise InputError(f"{used} in use; choose another with --port, or 0 for any free one")


def _styles() -> list[str | tuple[str, str]]:
    """The folders of styles that the pages share with reports and maps."""
    folders: list[str | tuple[str, str]] = [("textgames.pages", "styles")]
    if has_stories():
        folders.append(("storytest", "styles"))
    return folders
