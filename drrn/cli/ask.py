"""`drrn ask RUN`: Q-values for any text."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.terminal import one_line, positive, table
from drrn.compiled.history import with_history
from drrn.errors import InputError
from drrn.game.contract import Game, Observation
from drrn.game.optional import is_stopped
from drrn.stories.playtest.findings import last_words
from drrn.text import words
from drrn.writing import visible_json

if TYPE_CHECKING:
    from drrn.runs.agent import Agent, Attention

# a word is marked from so many times its share on; so many are listed
MARKED = 1.5
MOST_WORDS = 5

QValues = dict[str, list[float]]  # of each action, best first: one for each replica


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "ask",
        help="Q-values of a trained agent for any state and actions",
        description="Print what each action is worth in a state: the mean over the run's replicas, and how far they "
        "differ. The texts may be made up; words the agent never met count for nothing. With --examples, the states "
        "are pages of the run's own game, as the agent plays it.",
    )
    command.add_argument("agent", type=Path, metavar="RUN", help="the folder of a run")
    command.add_argument("--state", help="the text of the page")
    command.add_argument("--action", action="append", help="the text of an action (give several)")
    command.add_argument(
        "--examples", type=positive, metavar="N", help="N Q-values along games that the agent plays"
    )
    command.add_argument(
        "--attention",
        action="store_true",
        help="show the attention weights of the words (encoder attention)",
    )
    command.add_argument(
        "--json", action="store_true", help="print each replica's Q-values as JSON"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from drrn.runs.agent import Agent
    from drrn.runs.run import Run

    if options.examples is None and (options.state is None or not options.action):
        raise InputError("give a --state and one or more --action, or --examples N")
    if options.attention and options.examples is not None:
        raise InputError(
            "--attention shows the words of a --state and its --action texts: leave out --examples"
        )
    agent = Agent.load(options.agent)
    if options.examples is not None:
        pages = list(_examples(agent, Run(options.agent).open_game(), options.examples))
        as_json: Any = [{"state": page.text, "reward": page.reward, "q": q} for page, q in pages]
        told = "\n\n".join(_told(page, q) for page, q in pages)
    else:
        _warn_of_unknown_texts(agent, options.state, options.action)
        as_json = _asked(agent, options.state, options.action)
        told = table(_rows(as_json), header=["Q", "", "action"])
        if options.attention:
            carried = dict(zip(as_json, agent.attention(options.state, list(as_json)), strict=True))
            as_json = {action: {"q": q, **vars(carried[action])} for action, q in as_json.items()}
            told += "".join(_carried(action, found) for action, found in carried.items())
    print(visible_json(json.dumps(as_json, ensure_ascii=False)) if options.json else told)


def _asked(agent: Agent, state: str, actions: Sequence[str]) -> QValues:
    q = agent.ask(state, actions)
    best_first = sorted(range(len(actions)), key=lambda i: -q[:, i].mean())
    return {actions[i]: q[:, i].tolist() for i in best_first}


def _rows(q: QValues) -> list[list[object]]:
    """Mean over replicas, how far they differ, and the action."""
    return [
        [statistics.fmean(each), f"± {statistics.pstdev(each):.2f}", action]
        for action, each in q.items()
    ]


def _carried(action: str, found: Attention) -> str:
    """The words of both texts, those marked that counted for more than their share; then the first of them."""
    lines = [f"\n\nWhat carried the Q of: {one_line(action)}"]
    for side, shares in (("state", found.state), ("action", found.action)):
        if shares:
            least = MARKED / len(shares)
            text = " ".join(_marked(word) if share >= least else word for word, share in shares)
            first = sorted(shares, key=lambda each: -each[1])[:MOST_WORDS]
            lines.append(
                f"  {side}: {text}\n    {', '.join(f'{word} {share:.0%}' for word, share in first)}"
            )
    return "\n".join(lines)


def _marked(word: str) -> str:
    """Bold in a terminal; in brackets elsewhere."""
    return f"\033[1m{word}\033[0m" if sys.stdout.isatty() else f"[{word}]"


def _examples(agent: Agent, game: Game, count: int) -> Iterator[tuple[Observation, QValues]]:
    """Pages of games played by the highest mean Q, with `count` Q-values in all; the last page may show its best."""
    game = with_history(game, agent.settings.run.history)
    page = game.reset(0)
    while count > 0 and page.actions:
        q = _asked(agent, page.text, page.actions)
        yield page, dict(list(q.items())[:count])
        count -= len(q)
        page = game.step(page.actions.index(next(iter(q))))
        if page.ended:
            yield page, {}
        if page.ended or is_stopped(game):
            page = game.reset()


def _told(page: Observation, q: QValues) -> str:
    return f"… {one_line(last_words(page.text))}" + (
        f"  (reward {page.reward:g})" if page.ended else f"\n{table(_rows(q))}"
    )


def _warn_of_unknown_texts(agent: Agent, state: str, actions: Sequence[str]) -> None:
    store = agent.model.store
    sides = [(store.states, state), *((store.actions, action) for action in actions)]
    unknown = [
        f'"{text}"'
        for texts, text in sides
        if texts.vocabulary.numbers.keys().isdisjoint(words(text))
    ]
    if unknown:
        print(
            f"the agent knows no word of {', '.join(unknown)}: it reads nothing there",
            file=sys.stderr,
        )
