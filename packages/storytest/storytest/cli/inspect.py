"""`storytest inspect GAME`: statistics, endings and their probabilities, the best play, a map."""

import argparse
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from storytest.authored import EXPLORE_LIMIT
from storytest.hosted.game import HostedGame
from storytest.map.story_map import story_map
from storytest.map.svg import check_map_file, story_map_svg
from storytest.playtest.budget import Budget
from storytest.playtest.findings import Findings, Play, Statistics
from storytest.playtest.playtest import inspect_game
from storytest.playtest.report import endings_table
from storytest.playtest.solve import walkthrough
from storytest.twine.rules import DEFAULT_SET
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
from textgames.files import write
from textgames.game.contract import Game, close
from textgames.wording import counted, percent, visible


def run(options: argparse.Namespace) -> None:
    """Inspect the game and print the findings."""
    game = terminal.open_game(options, lenient=True)
    if options.seconds and isinstance(game, HostedGame):
        game.search_seconds = float(options.seconds)
    map_file = options.map
    if map_file == Path():  # the option has no value
        map_file = Path(f"{game.name}.svg")
    if map_file:
        check_map_file(map_file)
    compiled, why_not = _compile(game, options)
    terminal.clear_status()
    if compiled is None and (options.walkthrough or map_file):
        raise InputError(why_not)
    if compiled and options.walkthrough:
        _print_walkthrough(compiled, as_json=options.json)
        return
    try:
        findings = inspect_game(
            game,
            compiled,
            why_not,
            limit=min(options.limit, EXPLORE_LIMIT),
            seconds=float(options.seconds or Budget.seconds),
            progress=terminal.status_line(),
        )
    finally:
        terminal.clear_status()
        close(game)
    if options.json:
        terminal.print_json(findings.as_json(), indent=2)
    else:
        print(to_text(inspection(findings, options.game), width=terminal.terminal_width()))
    if compiled and map_file:
        write(map_file, story_map_svg(story_map(compiled)))
        terminal.warn(f"map: {map_file}")


def _compile(game: Game, options: argparse.Namespace) -> tuple[Compiled | None, str]:
    """The compiled game, or why it cannot be compiled."""
    progress = terminal.counter("states", options.limit)
    try:
        compiled = compile_game(game, limit=options.limit, memory=options.memory, progress=progress)
    except InputError as error:
        return None, str(error)
    return compiled, ""


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


def inspection(findings: Findings, command: str = "") -> Document:
    """Build the report of an inspection."""
    blocks: list[Block] = []
    if findings.why_not:
        blocks.append(literal(findings.why_not))
    if findings.statistics:
        blocks.append(Facts(list(_statistics(findings, findings.statistics))))
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
    if findings.passages.total:
        sections.append(Section("For the author", [_author_hint(findings, command)]))
    return Document(literal(findings.title), blocks, sections)


def _statistics(findings: Findings, table: Statistics) -> Iterator[Fact]:
    least = "" if findings.complete else "at least "
    passages = f", from {table.passages:,} passages" if table.passages else ""
    if table.kind:
        yield Fact("Text game type", table.kind)
        yield Fact("State transitions", table.transitions)
    yield Fact("Vocabulary, states", f"{least}{table.state_vocabulary:,} words")
    yield Fact("Vocabulary, actions", f"{least}{table.action_vocabulary:,} words")
    yield Fact("Words per description", f"{table.words_per_description:.2f} on average")
    yield Fact("Most actions on a page", f"{table.most_actions:,}")
    mean = f"{table.mean_actions:.1f} on average"
    yield Fact("Actions per page", f"{table.fewest_actions:,} to {table.most_actions:,}, {mean}")
    yield Fact("Pages", f"{least}{table.pages:,} distinct texts{passages}")
    yield Fact("Actions", f"{least}{table.actions:,} distinct texts")
    if findings.exact:
        states = f"{findings.live_states:,}"
        if table.passages:
            least = "" if findings.states_complete else "at least "
            total = f"{least}{findings.states:,}"
            states = f"{total} with all variables, {states} with those that may still matter"
        yield Fact("States", f"{states}, {findings.merged_states:,} after merging equivalent ones")
    elif findings.states:
        more = "" if findings.complete else " (there are more)"
        yield Fact("States visited", f"{findings.states:,}{more}")
    for name, set_ in table.paraphrases.items():
        is_only = list(table.paraphrases) == [DEFAULT_SET]
        label = "Paraphrases" if is_only else f"Paraphrases, {name}"
        bleu = "needs pip install sacrebleu" if set_.bleu is None else f"{set_.bleu:.3f}"
        rate = f"OOV rate {percent(set_.oov_rate)}, BLEU-4 {bleu}"
        yield Fact(label, f"{set_.pairs} texts, {rate}")


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
        cure = ""
        if findings.passages.total:
            cure = "; in the TOML, `ends` names the pages that end the story"
        return f"none{'' if findings.complete else ' so far'}; every page has actions{cure}"
    return endings_table(findings)


def _author_hint(findings: Findings, command: str) -> str:
    """Count what storytest reports in detail."""
    counts = []
    if findings.never_reached:
        counts.append(f"{counted(len(findings.never_reached), 'passage')} never reached")
    if findings.trap_states and findings.endings:
        counts.append(f"{counted(findings.trap_states, 'state')} without a path to an ending")
    if findings.unplayable:
        counts.append(f"{counted(len(findings.unplayable), 'problem')} in the source")
    details = "; ".join(counts) or "Paths to each ending, coverage, values of variables"
    return f"{details}: see `storytest {literal(command or findings.name)}`."
