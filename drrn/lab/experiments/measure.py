"""What is measured once a job has learned: larger evaluations, paraphrased play, Q-values of pairs and of examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from drrn.compiled.game import Compiled
from drrn.compiled.solve import Score, policy_score
from drrn.game.contract import Game
from drrn.game.optional import step_limit_of
from drrn.lab.experiments.examples import MADE_UP, examples_of
from drrn.lab.experiments.facts import paraphrased_pairs
from drrn.lab.experiments.marks import mark
from drrn.lab.experiments.rows import Row
from drrn.models import Model, Pages
from drrn.playing.compiled_rollouts import CompiledRollouts
from drrn.playing.evaluation import Evaluation, evaluate
from drrn.playing.menu_rollouts import compiled_rollouts
from drrn.playing.policies import policy_of
from drrn.playing.rollouts import Rollouts
from drrn.playing.stepped_rollouts import SteppedRollouts
from drrn.runs.scores import compiled_or_none
from drrn.runs.trainer import Trainer
from drrn.settings import Settings
from drrn.stories.authored import paraphrases_of

MEASURED = (
    "softmax",
    "greedy",
)  # the policies of the paper's experiments, whatever others there are


def final_rows(
    trainer: Trainer,
    game: Game,
    episodes: dict[str, int],
    common: Row,
    *,
    paraphrased: bool = False,
) -> list[Row]:
    """After the last round: more episodes by each policy and seed, and the exact score where there is one."""
    found = final_evaluations(trainer, game, episodes, paraphrased=paraphrased)
    return rows_of_evaluations(found, trainer.settings, common, paraphrased=paraphrased)


def final_evaluations(
    trainer: Trainer, game: Game, episodes: dict[str, int], *, paraphrased: bool = False
) -> list[tuple[Evaluation, Score | None]]:
    """How each seed plays by each policy after the last round, and its exact score where there is one."""
    settings = trainer.settings
    model = trainer.model
    compiled = trainer.compiled if not paraphrased else compiled_or_none(game, settings)
    fast = None
    if compiled is not None and not trainer.grows:
        fast = compiled_rollouts(compiled, model, model.store.scratch() if paraphrased else None)
    rollouts: Rollouts = fast or SteppedRollouts(game, model)
    found = []
    for policy in episodes:
        exact = exact_scores(fast, policy, settings, step_limit_of(game))
        played = evaluate(
            rollouts,
            [policy],
            settings.exploration.alpha,
            episodes[policy],
            settings.run.seeds,
            settings.run.rounds + 1,
        )
        found += [(e, exact[e.replica]) for e in played]
    return found


def rows_of_evaluations(
    found: list[tuple[Evaluation, Score | None]],
    settings: Settings,
    common: Row,
    *,
    paraphrased: bool = False,
) -> list[Row]:
    """A row for each evaluation after the last round."""
    rows = []
    for e, exact in found:
        s = e.summary
        measured = {
            "final_reward": s.mean_final_reward, "return": s.mean_return, "steps": s.mean_steps,
            "stopped": e.stopped, "exact": exact.final_reward if exact else None,
        }  # fmt: skip
        place = {
            "seed": settings.run.seeds[e.replica],
            "round": settings.run.rounds,
            "episodes": s.episodes,
        }
        rows.append(
            {
                **common,
                **place,
                "final": True,
                "policy": e.policy,
                "paraphrased": paraphrased,
                **measured,
            }
        )
    return rows


def exact_scores(
    rollouts: CompiledRollouts | None, policy: str, settings: Settings, max_steps: int
) -> list[Score | None]:
    """What each replica is expected to score; None where its choice depends on the order of the actions, or on the
    pages that were shown before."""
    if rollouts is None or rollouts.model.sees_menu or policy == "best":
        return [None] * len(settings.run.seeds)
    shares = rollouts.probabilities(policy_of(policy, settings.exploration.alpha))
    return [policy_score(rollouts.game, one, max_steps) for one in shares]


def round_rows(
    kept: list[dict[str, str]], common: Row, policies: Sequence[str] = MEASURED
) -> list[Row]:
    """The evaluations of a run's folder: one row for each seed, round and policy."""
    return [
        {
            **common, "seed": int(row["seed"]), "round": int(row["round"]), "episodes": int(row["episodes"]),
            "final": False, "policy": policy, "paraphrased": False, "exact": None,
            **{m: float(row[f"{policy}_{m}"]) for m in ("final_reward", "return", "steps", "stopped")},
        }
        for row in kept
        for policy in policies
    ]  # fmt: skip


def pair_rows(model: Model, game: Game, compiled: Compiled) -> list[Row]:
    """Q of each action that has a paraphrase, on each page that shows it: as it was, and paraphrased. A model that
    sees the menu sees it whole, all as it was or all paraphrased, in the story's order."""
    said = paraphrases_of(game) or {}
    paraphrases = [said.get(action, action) for action in compiled.actions]
    q, other = (
        _q_of_pages(model, compiled, actions) for actions in (compiled.actions, paraphrases)
    )
    rows = []
    for (text, action), (page, place) in paraphrased_pairs(game, compiled).items():
        marks = map(mark, (compiled.texts[text], compiled.actions[action], paraphrases[action]))
        numbers = {"q": q[:, page, place].tolist(), "q_paraphrased": other[:, page, place].tolist()}
        rows.append({**dict(zip(("state", "action", "paraphrase"), marks, strict=True)), **numbers})
    return rows


def _q_of_pages(model: Model, compiled: Compiled, actions: Any) -> Any:
    """Q [R, P, A] of all pages, with the actions said so."""
    store = model.store.scratch()
    replicas = len(model.seeds)
    states = np.array([store.states.id(text) for text in compiled.texts], np.int64)[
        compiled.page_text
    ]
    ids = np.array([*(store.actions.id(action) for action in actions), -1], np.int64)[
        compiled.page_actions
    ]
    return (
        model.q(Pages(np.tile(states, (replicas, 1)), np.tile(ids, (replicas, 1, 1))), store)
        .cpu()
        .numpy()
    )


def example_rows(trainer: Trainer, name: str, game: Game, compiled: Compiled) -> list[Row]:
    """Q of the good and the poor action of each example, of both paraphrased, and of what we made up."""
    said = paraphrases_of(game) or {}
    texts, actions = (
        {mark(text): text for text in side} for side in (compiled.texts, compiled.actions)
    )
    rows = []
    for example in examples_of(name):
        if not (
            example.state.mark in texts and {example.good.mark, example.poor.mark} <= actions.keys()
        ):
            continue  # another version of the story
        asked = [("good", actions[example.good.mark]), ("poor", actions[example.poor.mark])]
        asked += [(f"{kind} paraphrased", said[action]) for kind, action in asked if action in said]
        asked += [(kind, action) for kind in MADE_UP for action in example.made_up[kind]]
        q = trainer.agent.ask(texts[example.state.mark], [action for _, action in asked])
        for replica, seed in enumerate(trainer.settings.run.seeds):
            for (kind, action), value in zip(asked, q[replica].tolist(), strict=True):
                place = {
                    "seed": seed,
                    "state": example.state.mark,
                    "kind": kind,
                    "action": mark(action),
                }
                rows.append({**place, "q": round(value, 4)})
    return rows
