"""`drrn games`: list the games that have a name."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from storytest import added
from textgames.errors import InputError
from textgames.files import read_toml
from textgames.openers import BUILT_IN, WORLDS, make
from textgames.registry import GROUPS, registered
from textgames.terminal import table


def run(options: argparse.Namespace) -> None:
    if options.suites:
        _print_suites()
        return
    papers = added.origin()
    names = [*BUILT_IN, *WORLDS]
    names += added.NAMES if papers else []
    known = read_toml(Path(__file__).with_name("games.toml"))
    rows = [[name, *_facts(name, known, str(papers))] for name in names]
    notes = []
    for name in sorted(set(registered("game")) - {*names, *added.NAMES}):
        try:
            rows.append([name, *facts_of(name)])
        except InputError as error:
            notes.append(f"registered in {GROUPS['game']}, but cannot be opened: {error}")
    print(table(rows, header=["name", "title", "kind", "transitions", "pages", "endings"]))
    where = f"not installed; to install them: {added.HOW}"
    if papers:
        where = f"from {added.REPOSITORY}, {papers}"
    print("\n".join([f"\n{' and '.join(added.NAMES)}: {where}", *notes]))
    diagnostics = ", ".join(known["diagnostics"])
    print(f"diagnostic:NAME/LEVEL (1 to 3; see docs/textgames/diagnostics.md): {diagnostics}")


def _facts(name: str, known: Mapping[str, Any], origin: str) -> list[object]:
    """The facts of a game from the table, unless they are of another origin."""
    entry = known["games"][name]
    return entry["facts"] if entry.get("origin", origin) == origin else facts_of(name)


def facts_of(name: str) -> list[object]:
    """Return title, kind, transitions, pages and endings. The title alone if not compilable."""
    from storytest.playtest.coverage import Source
    from storytest.playtest.survey import compiled_statistics
    from textgames.compiled.compile import MOST_STATES, compile_game
    from textgames.game.contract import title_of

    game = make(name)
    try:
        compiled = compile_game(game, limit=MOST_STATES)
    except InputError:
        return [title_of(game), None, None, None, None]
    statistics = compiled_statistics(game, compiled)
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
