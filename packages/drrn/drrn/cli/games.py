"""`drrn games`: list the games that have a name."""

import argparse

from textgames.compiled.compile import MOST_STATES, compile_game
from textgames.diagnostics import DIAGNOSTICS
from textgames.errors import InputError
from textgames.game.contract import title_of
from textgames.openers import ANY_PATH, PAPER, installed_games, make, opener_for
from textgames.registry import registered
from textgames.terminal import table


def run(options: argparse.Namespace) -> None:
    openers = registered("opener")
    names = {name for name in openers if name != ANY_PATH and not name.endswith(":")}
    rows: list[list[object]] = []
    notes = []
    installed = installed_games()
    if missing := [name for name in PAPER if name not in installed]:
        notes.append(f"{' and '.join(missing)}: not installed; see: python -m lab games --help")
    for name in sorted(names | installed.keys() | registered("game").keys()):
        try:
            rows.append(_facts(name))
        except InputError as error:
            notes.append(f"{name} cannot be opened: {error}")
    print(table(rows, header=["name", "title", "kind", "pages"]))
    schemes = ", ".join(sorted(name for name in openers if name.endswith(":")))
    print("\n".join(["", *notes, f"names of other games start with: {schemes}"]))
    diagnostics = ", ".join(DIAGNOSTICS)
    print(f"diagnostic:NAME/LEVEL (1 to 3; see docs/textgames/diagnostics.md): {diagnostics}")


def _facts(name: str) -> list[object]:
    """The name, title, kind and number of pages of a game. No pages if it cannot be compiled."""
    game = make(name)
    kind = opener_for(name).kind.removeprefix("a ")
    try:
        pages = len(compile_game(game, limit=MOST_STATES).page_text)
    except InputError:
        pages = None
    return [name, title_of(game), kind, pages]
