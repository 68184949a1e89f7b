"""`drrn inspect GAME`: the paper's table of statistics, endings, and what an author should mend."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

from drrn.cli.show import add_game_options, add_limit, open_game, states_progress, table
from drrn.survey import Survey, survey


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "inspect",
        help="what a story holds: statistics, endings, broken links",
        description="Go everywhere in a story and print the paper's table of statistics, every ending with its "
        "reward, passages that cannot be reached, links that lead nowhere, and macros that are not supported.",
    )
    add_game_options(command)
    add_limit(command)
    command.add_argument("--json", action="store_true", help="print it all as JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    game = open_game(options, lenient=True)
    found = survey(game, options.limit, states_progress(options.limit))
    if options.json:
        print(json.dumps(dataclasses.asdict(found), indent=2, ensure_ascii=False))
    else:
        print(report(found))


def report(found: Survey) -> str:
    least = "" if found.complete else "at least "
    rows = [
        ["Text game type", found.kind],
        ["Vocabulary, states", f"{least}{found.state_vocabulary:,} words"],
        ["Vocabulary, actions", f"{least}{found.action_vocabulary:,} words"],
        ["Words per description", f"{found.words_per_description:.2f} on average"],
        ["Most actions at once", f"{found.most_actions}"],
        ["State transitions", found.transitions],
        ["Pages", f"{least}{found.pages:,} distinct texts, from {found.passages:,} passages"],
        ["Actions", f"{least}{found.actions:,} distinct texts"],
        ["States visited", f"{found.states:,}" + ("" if found.complete else " (there are more: raise --limit)")],
    ]
    if found.paraphrases:
        p = found.paraphrases
        bleu = "needs pip install 'drrn[paper]'" if p.bleu is None else f"{p.bleu:.3f}"
        rows.append(["Paraphrases", f"{p.pairs} actions, OOV rate {p.oov_rate:.1%}, BLEU-4 {bleu}"])
    endings = [[e.reward, e.passage, "" if e.rule else "(no rule)", e.last_words[:70]] for e in found.endings]
    parts = [found.title, table(rows), f"Endings ({len(endings)})", _indented(table(endings))]
    so_far = "" if found.complete else " so far"
    lists = {
        f"Ending rules never reached{so_far}": [f"[[ending]] {number}" for number in found.rules_never_reached],
        f"Passages never reached{so_far}": found.unreachable,
        "Cannot be played (left out here)": found.problems,
        "Notes": found.notes,
    }
    for head, items in lists.items():
        if items:
            parts += [f"{head} ({len(items)})", _indented("\n".join(items))]
    return "\n\n".join(part for part in parts if part)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
