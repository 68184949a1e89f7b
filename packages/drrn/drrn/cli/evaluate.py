"""`drrn evaluate RUN` and `drrn ask RUN`: how a trained agent plays, and its Q-values."""

import argparse
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from drrn.runs.agent import Agent
from drrn.runs.run import Run
from drrn.settings import DEPLOYED, POLICIES
from textgames.compiled.history import with_history
from textgames.errors import InputError
from textgames.game.contract import Game, Observation
from textgames.game.episodes import episode, mean_and_sd
from textgames.openers import GameSpec, with_options
from textgames.terminal import print_json, table, warn
from textgames.wording import counted, last_words, one_line, percent, words

MEASURES = ("final_reward", "return", "steps", "stopped_by_the_limit")

Figures = dict[str, list[dict[str, Any]]]  # by policy, of each replica
QValues = dict[str, list[float]]  # by action, best first: of each replica


def run(options: argparse.Namespace) -> None:
    agent = Agent.load(options.agent, sentences=options.sentences)
    deployed = agent.policy_name(DEPLOYED, "")
    policies = list(map(agent.policy_name, options.policy or POLICIES))
    if not options.policy and deployed not in ("", *policies):
        policies.append(deployed)
    exact = [policy for policy in policies if options.exact and policy != "best"]
    if options.exact and not exact:
        cause = "the policy best depends on earlier pages, so it cannot be scored exactly"
        raise InputError(f"{cause}; leave out --exact")
    spec = _spec(options)
    game = spec.open()
    figures: Figures = {}
    for policy in policies:
        if policy in exact:
            figures[policy] = _exact(agent, game, policy)
        else:
            figures[policy] = _sampled(agent, game, policy, options, spec)
    if options.json:
        replicas = []
        for policy, entries in figures.items():
            common = {"policy": policy, "exact": policy in exact}
            replicas += [{**common, **entry} for entry in entries]
        print_json({"game": game.name, "deployed": deployed or None, "replicas": replicas})
        return
    how = "exact" if exact else f"{options.episodes} games each"
    header = [f"{counted(agent.settings.run.replicas, 'replica')}, {how}"]
    for policy in figures:
        sampled = ", sampled" if exact and policy not in exact else ""
        header += [policy + sampled, "sd"]
    print(table([_measure_row(name, figures) for name in MEASURES], header=header))
    print("\n" + table(_ending_rows(figures), header=["ending", *figures]))
    if deployed:
        print(f"\nDeployed policy: {deployed}")


def _spec(options: argparse.Namespace) -> GameSpec:
    """The spec of the game, on another fold or with another step limit if asked for."""
    spec = Run(options.agent).game_spec(options.game, paraphrased=options.paraphrased)
    changes: dict[str, Any] = {}
    if options.fold:
        changes = {"fold": options.fold, "draw": "in-order", "variations": ""}
    if options.max_steps:
        changes |= {"max_steps": options.max_steps, "train_steps": ""}
    if changes:
        spec = replace(spec, source=with_options(spec.source, **changes))
    return spec


def _measure_row(name: str, figures: Figures) -> list[object]:
    cells: list[object] = [name.replace("_", " ")]
    for entries in figures.values():
        cells += mean_and_sd([entry[name] for entry in entries])
    return cells


def _ending_rows(figures: Figures) -> list[list[object]]:
    """The share of each ending by each policy, the most frequent first."""
    shares: dict[str, list[float]] = {}  # by ending, of each policy
    for index, entries in enumerate(figures.values()):
        for entry in entries:
            for name, part in entry["endings"].items():
                share = shares.setdefault(name, [0.0] * len(figures))
                share[index] += part / len(entries)
    rows = sorted(shares.items(), key=lambda item: [-share for share in item[1]])
    return [[name, *map(percent, row)] for name, row in rows if max(row) > 0.0005]


def _sampled(
    agent: Agent, game: Game, policy: str, options: argparse.Namespace, spec: GameSpec
) -> list[dict[str, Any]]:
    choices = {"episodes": options.episodes, "workers": options.workers, "spec": spec}
    choices["in_order"] = options.fold is not None
    evaluations = agent.evaluate(game, policies=[policy], **choices)
    return [_entry(e.replica, e.measures.values(), e.summary.shares) for e in evaluations]


def _exact(agent: Agent, game: Game, policy: str) -> list[dict[str, Any]]:
    compiled, scores = agent.exact(game, policy)
    entries = []
    for replica, score in enumerate(scores):
        shares: Counter[str] = Counter()
        for ending, share in zip(compiled.endings, score.endings.tolist(), strict=True):
            shares[ending.passage] += share
        stopped = 1 - float(score.endings.sum())
        values = (score.final_reward, score.total, score.steps, stopped)
        entries.append(_entry(replica, values, shares))
    return entries


def _entry(replica: int, values: Iterable[float], shares: Mapping[str, float]) -> dict[str, Any]:
    measures = dict(zip(MEASURES, values, strict=True))
    return {"replica": replica, **measures, "endings": dict(shares)}


# --- drrn ask


def run_ask(options: argparse.Namespace) -> None:
    if options.examples is None and (options.state is None or not options.action):
        raise InputError("give --state and at least one --action, or --examples N")
    agent = Agent.load(options.agent, sentences=options.sentences)
    if options.examples is not None:
        pages = list(_examples(agent, Run(options.agent).open_game(), options.examples))
        if options.json:
            print_json([{"state": p.text, "reward": p.reward, "q": q} for p, q in pages])
        else:
            print("\n\n".join(_example_text(page, q) for page, q in pages))
        return
    _warn_about_unknown_texts(agent, options.state, options.action)
    q_values = _ask(agent, options.state, options.action)
    if options.json:
        print_json(q_values)
    else:
        print(table(_rows(q_values), header=["action", "Q", ""]))


def _ask(agent: Agent, state: str, actions: Sequence[str]) -> QValues:
    q = agent.ask(state, actions)
    best_first = sorted(range(len(actions)), key=lambda i: -q[:, i].mean())
    return {actions[i]: q[:, i].tolist() for i in best_first}


def _rows(q_values: QValues) -> list[list[object]]:
    return [
        [action, statistics.fmean(values), f"± {statistics.pstdev(values):.2f}"]
        for action, values in q_values.items()
    ]


def _examples(agent: Agent, game: Game, count: int) -> Iterator[tuple[Observation, QValues]]:
    """Yield pages of games played by the highest mean Q, with `count` Q-values in all."""
    game = with_history(game, agent.settings.run.history)
    seed: int | None = 0

    def best(page: Observation) -> int:
        return page.actions.index(next(iter(_ask(agent, page.text, page.actions))))

    while count > 0:
        for step in episode(game, best, seed):
            page = step.page
            q_values = _ask(agent, page.text, page.actions) if page.actions else {}
            yield page, dict(list(q_values.items())[:count])
            count -= len(q_values)
            if count <= 0 and page.actions:
                return
        seed = None


def _example_text(page: Observation, q_values: QValues) -> str:
    result = f"  (reward {page.reward:g})" if page.ended else f"\n{table(_rows(q_values))}"
    return f"… {one_line(last_words(page.text))}{result}"


def _warn_about_unknown_texts(agent: Agent, state: str, actions: Sequence[str]) -> None:
    store = agent.model.store
    sides = [(store.states, state), *((store.actions, action) for action in actions)]
    for texts, text in sides:
        if texts.vocabulary.numbers.keys().isdisjoint(words(text)):
            warn(f'the agent knows none of the words in "{text}"')
