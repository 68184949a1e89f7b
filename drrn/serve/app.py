"""The application: all routes behind the guard, the page, and its files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from drrn.errors import InputError
from drrn.pages import STATIC, rendered
from drrn.serve.answers import Refusal, told_refusal
from drrn.serve.games_shown import game_routes
from drrn.serve.guard import Access, Guard
from drrn.serve.learn import learn_routes
from drrn.serve.people import people_routes
from drrn.serve.play import play_routes
from drrn.serve.playtest_routes import playtest_routes
from drrn.serve.services import Services, services_of
from drrn.version import __version__

FILES = Path(str(STATIC))


def application(services: Services, access: Access) -> Starlette:
    """The server as an ASGI application."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        services.prepare()
        try:
            yield
        finally:
            services.close()

    routes = [
        Route("/", front_page, methods=["GET"]),
        Route("/favicon.ico", favicon, methods=["GET"]),
        Mount("/static", StaticFiles(directory=FILES)),
        *game_routes(), *play_routes(), *playtest_routes(), *learn_routes(), *people_routes(),
    ]  # fmt: skip
    handlers = dict.fromkeys((Refusal, InputError, HTTPException, OSError, Exception), told_refusal)
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, access=access)],
        exception_handlers=handlers,
        lifespan=lifespan,
    )
    app.state.services = services
    return app


async def front_page(request: Request) -> Response:
    shared = services_of(request).shared
    return HTMLResponse(rendered("serve.html", version=__version__, shared=shared))


async def favicon(_: Request) -> Response:
    return FileResponse(FILES / "favicon.svg", media_type="image/svg+xml")
