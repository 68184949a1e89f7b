"""Facts about a game: the paper's table of statistics, the scores of random and best play, its paraphrases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from drrn.compiled.chain import softmax_of_slots
from drrn.compiled.compile import MOST_STATES, compile_game
from drrn.compiled.fixed_point import fixed_point
from drrn.compiled.game import Compiled
from drrn.compiled.solve import best, policy_score
from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.episodes import play_episodes, random_policy, summarise
from drrn.game.optional import another, step_limit_of, title_of
from drrn.lab.experiments.plan import FOUR_STEPS
from drrn.lab.experiments.quests import quest_facts, share_done
from drrn.runs.scores import reference_scores
from drrn.settings import Settings
from drrn.stories.authored import paraphrases_of
from drrn.stories.playtest.evidence import Evidence
from drrn.stories.playtest.playtest import gather, inspect_game
from drrn.stories.playtest.survey import explore
from drrn.stories.twine.rules import DEFAULT_SET

RANDOM_EPISODES = 2_000  # of a game that cannot be compiled
SUITE_EPISODES = {"twx": 100, "textworld": 20}  # of random play in a suite's game
FEW_EPISODES = 10  # of one whose steps are slow
SUITE_KIND = "suite"  # the kind of game


def facts(game: Game, settings: Settings) -> dict[str, Any]:
    """A game's facts by name; None: not known. The settings give α and γ of the softmax over the true Q-values."""
    try:
        compiled = compile_game(game, limit=MOST_STATES)
        found = inspect_game(game, compiled)
    except InputError:
        compiled = None
        evidence = Evidence()
        found = gather(game, evidence, None, explore(game, evidence))
    statistics = found.statistics
    assert statistics is not None
    paraphrases = statistics.paraphrases.get(DEFAULT_SET)
    scores = reference_scores(game, compiled, RANDOM_EPISODES)
    told: dict[str, Any] = {
        "title": title_of(game),
        **{name: getattr(statistics, name) for name in SURVEYED},
        "states": found.states,
        "endings": sum(len(ending.variants) or 1 for ending in found.endings),
        "states_are_all": found.states_complete,
        "states_that_differ": len(compiled) if compiled else None,
        "random_final_reward": scores.random,
        "best_final_reward": scores.best,
        **(softmax_scores(compiled, settings, step_limit_of(game)) if compiled else {}),
    }
    if scores.random_return is not None and statistics.kind == "parser":
        told |= {"random_return": scores.random_return, "best_return": scores.best_return}
        told |= quest_facts(compiled, step_limit_of(game)) if compiled else {}
    if paraphrases:
        told |= {
            "paraphrases": paraphrases.pairs,
            "paraphrased_pairs": len(paraphrased_pairs(game, compiled)) if compiled else None,
            "oov_rate": paraphrases.oov_rate,
            "bleu": paraphrases.bleu,
        }
    return told


SURVEYED = (
    "kind", "state_vocabulary", "action_vocabulary", "words_per_description", "most_actions", "transitions", "pages",
    "actions",
)  # fmt: skip


def suite_facts(game: Game, source: str) -> dict[str, Any]:
    """What is told of a suite's game: its name without the folder of a file, and random play, sampled."""
    suite, _, rest = source.partition(":")
    path, question, options = rest.partition("?")
    episodes = SUITE_EPISODES.get(suite, FEW_EPISODES)
    played = summarise(play_episodes(another(game) or game, random_policy(0), episodes, 0))
    return {
        "title": title_of(game).partition(" (")[0],  # the source has its options
        "kind": SUITE_KIND,
        "source": f"{suite}:{Path(path).name}{question}{options}",
        "random_final_reward": played.mean_final_reward,
        "random_return": played.mean_return,
        "random_done": share_done(played.endings) / played.episodes,
        "random_episodes": played.episodes,
    }


def softmax_scores(
    compiled: Compiled, settings: Settings, max_steps: int
) -> dict[str, float | None]:
    """What softmax scores on the true Q-values, and at Q-learning's fixed points: with the settings' α and γ."""
    alpha = settings.exploration.alpha
    gamma = settings.learner.discount
    knowing = policy_score(
        compiled, softmax_of_slots(compiled, best(compiled, gamma).q, alpha), max_steps
    )
    rests = {
        n: fixed_point(compiled, alpha, gamma, max_steps, n_steps=n)
        for n in (1, FOUR_STEPS.n_steps)
    }
    one, four = (rest.final_reward if rest else None for rest in rests.values())
    return {
        "true_q_softmax": knowing.final_reward,
        "one_step_at_rest": one,
        "four_steps_at_rest": four,
    }


def paraphrased_pairs(game: Game, compiled: Compiled) -> dict[tuple[int, int], tuple[int, int]]:
    """Each distinct pair of a state's text and an action that has a paraphrase, and where it first stands: as numbers
    of texts and actions, and as page and place."""
    pairs = paraphrases_of(game) or {}
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for page, actions in enumerate(compiled.page_actions.tolist()):
        for place, action in enumerate(actions):
            if action >= 0 and compiled.actions[action] in pairs:
                found.setdefault((int(compiled.page_text[page]), action), (page, place))
    return found
