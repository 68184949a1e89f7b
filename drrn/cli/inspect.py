"""`drrn inspect GAME`: statistics, endings and their odds, the best play, a map; `drrn test` is for authors."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drrn.cli.terminal import (
    add_game_options,
    counted,
    counter,
    one_line,
    open_game,
    positive,
    table,
)
from drrn.compiled.compile import LIMIT, MEMORY, compile_game
from drrn.compiled.game import Compiled
from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.optional import close
from drrn.stories.authored import EXPLORE_LIMIT as EXPLORED
from drrn.stories.authored import Explorable
from drrn.stories.map.story_map import story_map
from drrn.stories.map.svg import check_map_file, write_map
from drrn.stories.playtest.playtest import PlayTest, walkthrough
from drrn.stories.playtest.sampled_games import GAMES, SampledPlay
from drrn.stories.playtest.shares import share
from drrn.stories.playtest.survey import Survey, full_survey, sampled_survey, survey
from drrn.stories.playtest.told import estimated
from drrn.stories.twine.rules import DEFAULT_SET
from drrn.writing import visible, visible_json

WIDEST = 120


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "inspect",
        help="what a game holds: statistics, endings and their odds, the best play, a map",
        description="Go everywhere in a game and print the paper's table of statistics, the best score and that of "
        "random play (exact), and every ending with its reward and its odds. What a story's author asks for (ways, "
        "coverage, dead ends, broken links) is told by drrn test. A story too large to be compiled is explored as far "
        "as the limit goes; a game that can only be stepped, such as a suite's, is played at random, and Ctrl-C prints "
        "what was found so far.",
    )
    add_game_options(command)
    command.add_argument(
        "--limit",
        type=positive,
        default=LIMIT,
        help="how many states to visit (default: %(default)s)",
    )
    command.add_argument(
        "--memory",
        type=positive,
        default=MEMORY,
        metavar="MB",
        help="about how much to use (default: %(default)s)",
    )
    command.add_argument("--json", action="store_true", help="print it all as JSON")
    command.add_argument(
        "--plot",
        nargs="?",
        const=Path(),
        type=Path,
        metavar="FILE",
        help="draw the game's map as SVG (default: GAME.svg)",
    )
    command.add_argument(
        "--seconds",
        type=positive,
        help="how long to search a story that its own engine plays (default: 60; what was found is kept, so that "
        "nothing searches it again), or to play a game that can only be stepped (default: 30)",
    )
    command.add_argument(
        "--walkthrough", action="store_true", help="print the best play, page by page, instead"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    game = open_game(options, lenient=True)
    if options.seconds and hasattr(game, "search_seconds"):
        game.search_seconds = float(options.seconds)
    map_file = _map_file(options.plot, game.name) if options.plot else None
    compiled, why_not = _compiled(game, options)
    _clear_progress()
    if compiled is None and (options.walkthrough or map_file):
        raise InputError(why_not)
    if compiled is None and not isinstance(game, Explorable):
        _tell_stepped(game, why_not, options)
        return
    if compiled and options.walkthrough:
        print((visible_json if options.json else visible)(told_walkthrough(compiled, options.json)))
        return
    if compiled:
        found = full_survey(game, compiled)
    else:
        found = survey(game, min(options.limit, EXPLORED), counter("states", options.limit))
        found = sampled_survey(
            dataclasses.replace(found, notes=[why_not, *found.notes]), game, counter("games", GAMES)
        )
        _clear_progress()
    print(
        visible_json(survey_as_json(found))
        if options.json
        else visible(told_survey(found, options.game))
    )
    if compiled and map_file:
        write_map(story_map(compiled), map_file)
        print(f"{map_file}: the map", file=sys.stderr)


def _tell_stepped(game: Game, why_not: str, options: argparse.Namespace) -> None:
    """What random games show of a game that can only be stepped."""
    from drrn.cli.stepped_inspect import play_progress, told_stepped_survey
    from drrn.stories.playtest.stepped_survey import STEPPED_GAMES, STEPPED_SECONDS, stepped_survey

    seconds = float(options.seconds or STEPPED_SECONDS)
    try:
        found = stepped_survey(
            game, why_not, seconds=seconds, progress=play_progress(STEPPED_GAMES, seconds)
        )
    finally:
        _clear_progress()
        close(game)
    as_json = (
        json.dumps(dataclasses.asdict(found), indent=2, ensure_ascii=False) if options.json else ""
    )
    print(visible_json(as_json) if options.json else visible(told_stepped_survey(found)))


def _clear_progress() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _compiled(game: Game, options: argparse.Namespace) -> tuple[Compiled | None, str]:
    """The compiled game, or why it cannot be."""
    try:
        return compile_game(
            game,
            limit=options.limit,
            memory=options.memory,
            progress=counter("states", options.limit),
        ), ""
    except InputError as error:
        return None, str(error)


def _map_file(path: Path, name: str) -> Path:
    """Return the file for the map; one that exists is never overwritten."""
    file = Path(f"{name}.svg") if path == Path() else path
    if file.suffix.lower() != ".svg":
        file = file.with_name(f"{file.name}.svg")
    check_map_file(file)
    return file


def survey_as_json(found: Survey) -> str:
    """The survey as JSON. Scores of memoryless play have their former keys, `sighted_…`, as well."""
    told = dataclasses.asdict(found)
    if test := told["play_test"]:
        test |= {f"sighted_{of}": test[f"memoryless_{of}"] for of in ("final_reward", "return")}
    return json.dumps(told, indent=2, ensure_ascii=False)


def told_walkthrough(compiled: Compiled, as_json: bool) -> str:
    """The best play, as it most likely goes."""
    steps = walkthrough(compiled)
    if as_json:
        return json.dumps(
            [dataclasses.asdict(step) for step in steps], indent=2, ensure_ascii=False
        )
    lines = []
    for step in steps:
        luck = f"  (by chance: {share(step.chance)})" if step.chance < 1 else ""
        lines.append(f"{step.text}\n" + (f"\n  → {step.action}{luck}\n" if step.action else ""))
    last = steps[-1].state
    reward = f"  final reward {compiled.reward[last]:g} after {counted(len(steps) - 1, 'step')}"
    lines.append(reward if compiled.ended[last] else "  … and so on: it is best never to end")
    return "\n".join(lines)


def told_survey(found: Survey, asked_for: str = "") -> str:
    """The survey as text; what an author asks for is told by drrn test."""
    least = "" if found.complete else "at least "
    rows = [
        ["Text game type", found.kind],
        ["Vocabulary, states", f"{least}{found.state_vocabulary:,} words"],
        ["Vocabulary, actions", f"{least}{found.action_vocabulary:,} words"],
        ["Words per description", f"{found.words_per_description:.2f} on average"],
        ["Most actions at once", f"{found.most_actions}"],
        ["State transitions", found.transitions],
        ["Pages", f"{least}{found.pages:,} distinct texts{_from_passages(found)}"],
        ["Actions", f"{least}{found.actions:,} distinct texts"],
    ]
    if found.play_test:
        rows.append(["States", _states(found)])
    else:
        more = "" if found.complete else " (there are more)"
        rows.append(["States visited", f"{found.states:,}{more}"])
    rows += _paraphrases(found)
    notes = list(found.notes)
    parts = [found.title, table(rows)]
    if found.play_test is None and notes:
        parts.insert(1, notes.pop(0))  # why it could not be compiled
    if found.play_test:
        parts += ["Play (exact, without a step limit)", _indented(_scores(found.play_test))]
    if found.sampled_play:
        parts.append(_sampled(found.sampled_play))
    parts += [
        f"Endings ({len(found.endings)})",
        _indented(_endings(found) if found.endings else _no_endings(found)),
    ]
    for head, items in _lists(found, notes).items():
        if items:
            parts += [
                f"{head} ({len(items)})",
                "\n".join(_wrapped(one_line(item), "  ") for item in items),
            ]
    parts.append(_for_its_author(found, asked_for or found.name))
    return "\n\n".join(part for part in parts if part)


def _paraphrases(found: Survey) -> list[list[str]]:
    """A row for each set of paraphrases; where the default set is the only one, it goes without its name."""
    rows = []
    for name, p in found.paraphrase_sets.items():
        label = (
            "Paraphrases"
            if list(found.paraphrase_sets) == [DEFAULT_SET]
            else f"Paraphrases, {name}"
        )
        bleu = "needs pip install 'drrn[paper]'" if p.bleu is None else f"{p.bleu:.3f}"
        rows.append([label, f"{p.pairs} actions, OOV rate {p.oov_rate:.1%}, BLEU-4 {bleu}"])
    return rows


def _from_passages(found: Survey) -> str:
    return f", from {found.passages:,} passages" if found.passages else ""


def _states(found: Survey) -> str:
    test = found.play_test
    assert test is not None
    merged = f"{test.states:,} once those alike are merged"
    if not found.passages:
        return f"{test.live_states:,}; {merged}"
    counted_all = (
        f"{'' if test.raw_complete else 'at least '}{test.raw_states:,} of (page, variables)"
    )
    return f"{counted_all}; {test.live_states:,} of variables that may yet matter; {merged}"


def _scores(test: PlayTest) -> str:
    rows = [
        [
            "best play",
            test.best_final_reward,
            _or_endless(test.best_return),
            _or_endless(test.best_steps),
        ],
        [
            "best without memory, at least",
            test.memoryless_final_reward,
            _or_endless(test.memoryless_return),
            "",
        ],
        [
            "random play",
            test.random_final_reward,
            _or_endless(test.random_return),
            _or_endless(test.random_steps),
        ],
    ]
    return table(rows, header=["", "final reward", "return", "steps"])


def _sampled(play: SampledPlay) -> str:
    """Random play that was sampled, in a sentence."""
    reward = play.final_reward
    steps = play.steps
    stopped = (
        f"; {estimated(play.stopped)} stopped at the limit of {play.max_steps:,} steps"
        if play.stopped.mean
        else ""
    )
    return (
        f"Random play ({counted(play.games, 'game')}, with standard errors): final reward {reward.mean:.2f} ± "
        f"{reward.error:.2f}, {steps.mean:.1f} ± {steps.error:.1f} steps{stopped}"
    )


def _or_endless(number: float | None) -> str:
    return "endless" if number is None else f"{number:.2f}"


def _endings(found: Survey) -> str:
    """A row for each ending; where the game has rules, those without one are marked."""
    rows: list[list[object]] = []
    for e in found.endings:
        unruled = "(no rule)" if found.passages and not e.rule else ""
        if e.sampled is not None:
            rows.append(
                [e.reward, estimated(e.sampled), e.passage, unruled, _cut(e.last_words, 60)]
            )
        elif e.odds is None:
            rows.append([e.reward, e.passage, unruled, _cut(e.last_words, 70)])
        else:
            odds = [share(e.odds.random), share(e.odds.best), len(e.odds.shortest)]
            rows.append([e.reward, *odds, e.passage, unruled, _cut(e.last_words, 60)])
    name = "passage" if found.passages else "ending"
    header: Sequence[str] = ()
    if found.play_test:
        header = ["reward", "random", "best", "fewest steps", name, "", "last words"]
    elif found.sampled_play:
        header = ["reward", "random", name, "", "last words"]
    return table(rows, header=header)


def _no_endings(found: Survey) -> str:
    """That nothing ends, and what an author can do about it."""
    cure = (
        ": in the TOML, ends names pages that end it, and restart links that begin it again"
        if found.passages
        else ""
    )
    return f"none{'' if found.complete else ' so far'}; every page leads on{cure}"


def _cut(text: str, length: int) -> str:
    text = one_line(text)
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _lists(found: Survey, notes: list[str]) -> dict[str, list[str]]:
    so_far = "" if found.complete else " so far"
    return {
        f"Ending rules never reached{so_far}": [
            f"[[ending]] {number}" for number in found.rules_never_reached
        ],
        "Notes": notes,
    }


def _for_its_author(found: Survey, asked_for: str) -> str:
    """What drrn test tells whole: here its kinds and numbers alone."""
    traps = found.play_test.trap_states if found.play_test and found.endings else 0
    kinds = {
        "passage": (len(found.unreachable), "never reached"),
        "state": (traps, "from which no ending can be reached"),
        "thing": (len(found.problems), "that cannot be played"),
    }
    told = [f"{counted(number, noun)} {what}" for noun, (number, what) in kinds.items() if number]
    more = (
        f"{'; '.join(told)}: " if told else "Ways to each ending, coverage, values of variables: "
    )
    return _wrapped(f"{more}drrn test {asked_for} tells them.")


def _wrapped(text: str, indent: str = "") -> str:
    width = min(shutil.get_terminal_size((100, 24)).columns, WIDEST)
    return textwrap.fill(
        text, max(width, 40), initial_indent=indent, subsequent_indent=indent + "  ",
        break_on_hyphens=False, break_long_words=False,  # a command can be copied
    )  # fmt: skip


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
