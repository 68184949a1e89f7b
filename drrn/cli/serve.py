"""`drrn serve`: a local web page to play, test, train and explain."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from drrn.errors import require

DESCRIPTION = """Serve a web page to this machine's browser: play games, drop a story file to add
one, see what an agent thinks of each action, play-test a story and walk on its map, train agents
and watch them learn. Nothing is loaded from the internet. Training continues when the page or the
server is closed. Ctrl-C stops the server."""
HOST = """also admit other machines, through this address (0.0.0.0: any); the printed link
contains a token, which they need"""


def add_command(commands: Any) -> None:
    command = commands.add_parser("serve", description=DESCRIPTION)
    flag = command.add_argument
    flag("games", metavar="GAME", nargs="*", help="games to list first")
    flag("--port", type=_port, help="port (default: the first free one from 8642)")
    flag("--no-browser", action="store_true", help="print the link, and open no browser")
    flag("--host", metavar="ADDRESS", help=HOST)
    runs = {"type": Path, "default": Path("runs"), "metavar": "FOLDER"}
    flag("--runs", help="the folder of runs (default: %(default)s)", **runs)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    for module in ("starlette", "uvicorn", "python_multipart", "jinja2"):
        require(module, "serve")
    from drrn.serve.app import serve

    def say(link: str) -> None:
        print(f"{link}\nCtrl-C stops the server; training continues.", flush=True)

    browser = not options.no_browser
    choices = {"host": options.host, "port": options.port, "browser": browser, "say": say}
    serve(options.games, options.runs, **choices)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 5 or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text[:20]} is not a port from 0 to 65535")
    return int(text)
