"""The command `serve`: a local web page to play, test, train and explain."""

import argparse
from pathlib import Path

from textgames.errors import InputError, require

COMMANDS = Path(__file__).with_name("commands.toml")


def run(options: argparse.Namespace) -> None:
    for module in ("starlette", "uvicorn", "python_multipart", "jinja2"):
        require(module)
    from textgames_page.app import serve

    if options.runs.exists() and not options.runs.is_dir():
        raise InputError(f"{options.runs}: not a folder; name the folder of your runs with --runs")

    def say(link: str) -> None:
        print(f"{link}\nCtrl-C stops the server.", flush=True)

    browser = not options.no_browser
    choices = {"host": options.host, "port": options.port, "browser": browser, "say": say}
    serve(options.games, options.runs, **choices)
