"""`drrn serve`: a local page in the browser where stories are played, tested, learned and explained."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from drrn.errors import require


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "serve",
        help="open a local page where stories are played, tested, learned and explained",
        description="Serve a page to this machine's browser: play the games that are there, drop a story file to add "
        "one, see what an agent thinks of each action, play-test a story and walk on its map, train agents and watch "
        "them learn. Nothing is loaded from elsewhere. Training goes on when the page or the server is closed. Ctrl-C "
        "ends the server.",
    )
    command.add_argument(
        "games", metavar="GAME", nargs="*", help="games to show first, beside those that are there"
    )
    command.add_argument(
        "--port", type=_port, help="the port (default: the first that is free from 8642 on)"
    )
    command.add_argument(
        "--no-browser", action="store_true", help="print the link, and leave the browser alone"
    )
    command.add_argument(
        "--host", metavar="ADDRESS",
        help="also let others on the network in, by this address of the machine (0.0.0.0: all of them); the link that "
        "is printed has a token, without which nobody gets in",
    )  # fmt: skip
    command.add_argument(
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="FOLDER",
        help="the folder of runs (default: %(default)s)",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    for module in ("starlette", "uvicorn", "python_multipart", "jinja2"):
        require(module, "serve")
    from drrn.serve.app import serve

    def say(link: str) -> None:
        print(f"{link}\nCtrl-C ends the server; training goes on.", flush=True)

    serve(
        options.games,
        options.runs,
        host=options.host,
        port=options.port,
        browser=not options.no_browser,
        say=say,
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 5 or int(text) > 65_535:
        raise argparse.ArgumentTypeError(
            f"{text[:20]} is not a port: a whole number from 0 to 65535"
        )
    return int(text)
