"""`drrn games`: list the games that have a name."""

import argparse
from pathlib import Path

from textgames.errors import InputError
from textgames.files import read_toml
from textgames.openers import BUILT_IN, PAPER, WORLDS, installed_games, make
from textgames.registry import registered
from textgames.terminal import table


def run(options: argparse.Namespace) -> None:
    if options.suites:
        _print_suites()
        return
    known = read_toml(Path(__file__).with_name("games.toml"))
    rows = [[name, *known["games"][name]["facts"]] for name in (*BUILT_IN, *WORLDS)]
    notes = []
    if missing := [name for name in PAPER if name not in installed_games()]:
        notes.append(f"{' and '.join(missing)}: not installed; see: python -m lab games --help")
    for name in dict.fromkeys((*installed_games(), *sorted(registered("game")))):
        try:
            rows.append([name, *facts_of(name)])
        except InputError as error:
            notes.append(f"installed, but cannot be opened: {error}")
    print(table(rows, header=["name", "title", "kind", "transitions", "pages", "endings"]))
    print("\n".join(["", *notes]))
    diagnostics = ", ".join(known["diagnostics"])
    print(f"diagnostic:NAME/LEVEL (1 to 3; see docs/textgames/diagnostics.md): {diagnostics}")


def facts_of(name: str) -> list[object]:
    """Return title, kind, transitions, pages and endings. The title alone if not compilable."""
    from storytest.playtest.coverage import Source
    from storytest.playtest.solve import statistics_of
    from textgames.compiled.compile import MOST_STATES, compile_game
    from textgames.game.contract import title_of

    game = make(name)
    try:
        compiled = compile_game(game, limit=MOST_STATES)
    except InputError:
        return [title_of(game), None, None, None, None]
    statistics = statistics_of(game, compiled)
    source = Source(game)
    rewards = [source.reward(ending) for ending in compiled.endings]
    endings = f"{len(rewards)} from {min(rewards):g} to {max(rewards):g}"
    return [title_of(game), statistics.kind, statistics.transitions, statistics.pages, endings]


def _print_suites() -> None:
    from textsuites.catalogue import SUITES, has_java, install_command

    suites = SUITES.values()
    rows = [[s.title, s.version or "not installed", f"{s.name}:{s.example}"] for s in suites]
    print(table(rows, header=["suite", "installed", "example"]) + "\n")
    for suite in suites:
        print(f"{suite.title}: {suite.repeats}.")
    users = " and ".join(suite.title for suite in suites if suite.java)
    print(f"\nJava: {'installed' if has_java() else 'not installed'}, needed by {users}.")
    command = install_command()
    print(f"To install the rest: {command}" if command else "All are installed.")
    print("Their options, and measurements of each: docs/textgames/suites.md")
