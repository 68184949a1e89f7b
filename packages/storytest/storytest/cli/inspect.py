"""`storytest inspect GAME`: pages, endings and their exact probabilities, scores, the best play."""

import argparse
import dataclasses
from collections.abc import Iterator

from storytest.hosted.game import HostedGame
from storytest.playtest.findings import Findings, Play
from storytest.playtest.playtest import inspect_game
from storytest.playtest.report import endings_table
from storytest.playtest.solve import walkthrough
from textgames import terminal
from textgames.compiled.compile import compile_game
from textgames.compiled.game import Compiled
from textgames.document import (
    Block,
    Bullets,
    Document,
    Fact,
    Facts,
    Section,
    Table,
    literal,
    to_text,
)
from textgames.errors import InputError
from textgames.game.contract import close
from textgames.wording import counted, percent, visible


def run(options: argparse.Namespace) -> None:
    """Inspect the game and print the findings."""
    game = terminal.open_game(options, lenient=True, shuffle=False)
    if options.seconds and isinstance(game, HostedGame):
        game.search_seconds = float(options.seconds)
    progress = terminal.counter("states", options.limit)
    try:
        compiled = compile_game(game, limit=options.limit, memory=options.memory, progress=progress)
        findings = None if options.walkthrough else inspect_game(game, compiled)
    except InputError as error:
        if "cannot be compiled" not in str(error):
            raise
        raise InputError(f"{error}; storytest {options.game} estimates its odds") from error
    finally:
        terminal.clear_status()
        close(game)
    if findings is None:
        _print_walkthrough(compiled, as_json=options.json)
    elif options.json:
        terminal.print_json(findings.as_json(), indent=2)
    else:
        print(to_text(inspection(findings), width=terminal.terminal_width()))


def _print_walkthrough(compiled: Compiled, *, as_json: bool) -> None:
    steps = walkthrough(compiled)
    if as_json:
        terminal.print_json([dataclasses.asdict(step) for step in steps], indent=2)
        return
    for step in steps:
        print(f"{visible(step.text)}\n")
        if step.action:
            draw = f"  (probability {percent(step.chance)})" if step.chance < 1 else ""
            print(f"  → {visible(step.action)}{draw}\n")
    last = steps[-1].state
    if compiled.ended[last]:
        count = counted(len(steps) - 1, "step")
        print(f"  final reward {compiled.reward[last]:g} after {count}")
    else:
        print("  … and so on: the best play never ends")


def inspection(findings: Findings) -> Document:
    """Build the report of an inspection."""
    endings: list[Block] = ["none; every page has actions (`ends` in a TOML names the last ones)"]
    if findings.endings:
        endings = [endings_table(findings)]
    sections = [
        Section("Play (exact, without a step limit)", [_scores(findings)]),
        Section(f"Endings ({len(findings.endings)})", endings),
    ]
    if findings.unused_rules:
        rules = [f"[[ending]] {number}" for number in findings.unused_rules]
        sections.append(Section("Ending rules never reached", [Bullets(rules)]))
    if findings.notes:
        notes = [literal(note) for note in findings.notes]
        sections.append(Section(f"Notes ({len(notes)})", [Bullets(notes)]))
    return Document(literal(findings.title), [Facts(list(_statistics(findings)))], sections)


def _statistics(findings: Findings) -> Iterator[Fact]:
    if table := findings.statistics:
        yield Fact("Actions are", f"{table.kind}, {table.transitions}")
        yield Fact("Pages", f"{table.pages:,} distinct texts")
        most = f"up to {table.most_actions} on a page"
        yield Fact("Actions", f"{table.actions:,} distinct texts, {most}")
    if findings.passages.total:
        passages = findings.passages
        yield Fact("Passages", f"{passages.count:,} of {passages.total:,} reached")
    least = "" if findings.states_complete else "at least "
    states = f"{least}{findings.states:,} with all variables, {findings.live_states:,} that"
    yield Fact("States", f"{states} may still matter, {findings.merged_states:,} that differ")


def _scores(findings: Findings) -> Table:
    plays = {"best play": findings.best, "random play": findings.random}
    if findings.passages.total and findings.equal_rewards:  # a story whose endings have no rewards
        plays = {"random play": findings.random}
    rows = [_score(name, play) for name, play in plays.items() if play]
    return Table("", ["", "final reward", "return", "steps"], rows)


def _score(name: str, play: Play) -> list[str]:
    steps = str(play.steps or "unbounded") if play.unfinished else ""
    return [name, str(play.final_reward), str(play.returns or "unbounded"), steps]
