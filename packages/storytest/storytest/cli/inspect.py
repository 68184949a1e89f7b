"""`storytest inspect GAME`: pages, endings and their exact probabilities, scores, the best play."""

import argparse
import dataclasses
from collections.abc import Iterator

from storytest.hosted.game import HostedGame
from storytest.playtest.budget import Budget
from storytest.playtest.findings import Findings, Play
from storytest.playtest.playtest import StoryTest, inspect_game
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
from textgames.game.contract import Game, close
from textgames.wording import counted, percent, visible


def run(options: argparse.Namespace) -> None:
    """Inspect the game and print the findings."""
    game = terminal.open_game(options, lenient=True, shuffle=False)
    if options.seconds and isinstance(game, HostedGame):
        game.search_seconds = float(options.seconds)
    progress = terminal.counter("states", options.limit)
    try:
        compiled = compile_game(game, limit=options.limit, memory=options.memory, progress=progress)
        terminal.clear_status()
        if options.walkthrough:
            _print_walkthrough(compiled, as_json=options.json)
            return
        findings = inspect_game(game, compiled)
    except InputError as error:
        if options.walkthrough:
            raise
        findings = _sampled(game, str(error), float(options.seconds or Budget.seconds))
    finally:
        terminal.clear_status()
        close(game)
    if options.json:
        terminal.print_json(findings.as_json(), indent=2)
    else:
        print(to_text(inspection(findings), width=terminal.terminal_width()))


def _sampled(game: Game, why_not: str, seconds: float, games: int = 200) -> Findings:
    """The findings of a play-test, for a game that cannot be compiled."""
    test = StoryTest(game, seconds, terminal.status_line(), games=games)
    return dataclasses.replace(test.run(), why_not=why_not)


def _print_walkthrough(compiled: Compiled, *, as_json: bool) -> None:
    """Print the most likely course of the best play."""
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
    blocks: list[Block] = [literal(findings.why_not)] if findings.why_not else []
    blocks.append(Facts(list(_statistics(findings))))
    sections = [
        _scores(findings),
        Section(f"Endings ({len(findings.endings)})", [_endings(findings)]),
    ]
    if findings.unused_rules:
        rules = [f"[[ending]] {number}" for number in findings.unused_rules]
        so_far = "" if findings.complete else " so far"
        sections.append(Section(f"Ending rules never reached{so_far}", [Bullets(rules)]))
    if findings.notes:
        notes = [literal(note) for note in findings.notes]
        sections.append(Section(f"Notes ({len(notes)})", [Bullets(notes)]))
    return Document(literal(findings.title), blocks, sections)


def _statistics(findings: Findings) -> Iterator[Fact]:
    if table := findings.statistics:
        yield Fact("Actions are", f"{table.kind}, {table.transitions}")
        yield Fact("Pages", f"{table.pages:,} distinct texts")
        yield Fact(
            "Actions", f"{table.actions:,} distinct texts, up to {table.most_actions} a page"
        )
    if findings.passages.total:
        passages = findings.passages
        yield Fact("Passages", f"{passages.count:,} of {passages.total:,} reached")
    if findings.exact:
        least = "" if findings.states_complete else "at least "
        states = f"{least}{findings.states:,} with all variables, {findings.live_states:,} that"
        yield Fact("States", f"{states} may still matter, {findings.merged_states:,} that differ")
    elif findings.states:
        more = "" if findings.complete else " (there are more)"
        yield Fact("States visited", f"{findings.states:,}{more}")


def _scores(findings: Findings) -> Section:
    """Build the table of scores, with the standard errors of estimates."""
    plays = {
        "best play": findings.best,
        "best without memory, at least": findings.memoryless,
        "random play": findings.random,
    }
    if findings.passages.total and findings.equal_rewards:  # a story whose endings have no rewards
        plays = {"random play": findings.random}
    rows = [_score(name, play) for name, play in plays.items() if play]
    title = "Play (exact, without a step limit)"
    if not findings.exact:
        interrupted = ", stopped by Ctrl-C" if findings.interrupted else ""
        games = f"{counted(findings.games, 'game')} in {findings.seconds:.0f} s{interrupted}"
        title = f"Random play ({games}; mean ± standard error)"
    if not rows:
        more = f"allow more time with --seconds {2 * max(1, round(findings.seconds))}"
        return Section(title, [f"No game was finished; {more}"])
    header = ["", "final reward", "return", "steps"]
    blocks: list[Block] = [Table("", header, rows)]
    unfinished = findings.random.unfinished if findings.random else None
    if unfinished and unfinished.mean and not findings.exact:
        limit = f"the limit of {findings.max_steps:,} steps"
        blocks.append(f"{unfinished.percent} of games reached {limit}.")
    return Section(title, blocks)


def _score(name: str, play: Play) -> list[str]:
    steps = str(play.steps or "unbounded") if play.unfinished else ""
    return [name, str(play.final_reward), str(play.returns or "unbounded"), steps]


def _endings(findings: Findings) -> Block:
    if not findings.endings:
        so_far = "" if findings.complete else " so far"
        return (
            f"none{so_far}; every page has actions (`ends` in the TOML of a story names the last)"
        )
    return endings_table(findings)
