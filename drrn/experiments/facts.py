"""What a game itself is: the paper's table of statistics, the scores of random and best play, its paraphrases."""

from __future__ import annotations

from typing import Any

from drrn.authoring.survey import full_survey, survey
from drrn.errors import InputError
from drrn.exact.chain import softmax
from drrn.exact.fixed_point import fixed_point
from drrn.exact.solve import best, policy_score
from drrn.experiments.plan import FOUR_STEPS
from drrn.games import Compiled, StoryGame, compile_game
from drrn.games.stories.paraphrases import read_paraphrases
from drrn.training.settings import Settings
from drrn.training.yardsticks import yardsticks

MOST_STATES = 50_000  # as in training


def facts(game: StoryGame, settings: Settings) -> dict[str, Any]:
    """By name; None is what is not known. The settings give α and γ of the softmax over the true Q-values."""
    try:
        compiled = compile_game(game, limit=MOST_STATES)
        found = full_survey(game, compiled)
    except InputError:
        compiled, found = None, survey(game)
    lines = yardsticks(game, compiled)
    told: dict[str, Any] = {
        "title": game.title,
        **{name: getattr(found, name) for name in SURVEYED},
        "endings": len(found.endings),
        "states_are_all": found.play_test.raw_complete if found.play_test else found.complete,
        "states_that_differ": len(compiled) if compiled else None,
        "random_final_reward": lines.random,
        "best_final_reward": lines.best,
        **(softmax_scores(compiled, settings, game.rules.max_steps) if compiled else {}),
    }
    if found.paraphrases:
        told |= {
            "paraphrases": found.paraphrases.pairs,
            "paraphrased_pairs": len(paraphrased_pairs(game, compiled)) if compiled else None,
            "oov_rate": found.paraphrases.oov_rate,
            "bleu": found.paraphrases.bleu,
        }
    return told


SURVEYED = (
    "kind", "state_vocabulary", "action_vocabulary", "words_per_description", "most_actions", "transitions", "pages",
    "actions", "states",
)  # fmt: skip


def softmax_scores(compiled: Compiled, settings: Settings, max_steps: int) -> dict[str, float | None]:
    """What softmax scores on the true Q-values, and on those that Q-learning comes to: with the settings' α and γ."""
    alpha, gamma = settings.alpha, settings.discount
    knowing = policy_score(compiled, softmax(compiled, best(compiled, gamma).q, alpha), max_steps)
    rests = {n: fixed_point(compiled, alpha, gamma, max_steps, n_steps=n) for n in (1, FOUR_STEPS.n_steps)}
    one, four = (rest.final_reward if rest else None for rest in rests.values())
    return {"true_q_softmax": knowing.final_reward, "one_step_at_rest": one, "four_steps_at_rest": four}


def paraphrased_pairs(game: StoryGame, compiled: Compiled) -> dict[tuple[int, int], tuple[int, int]]:
    """Each distinct pair of a state's text and an action's that is said in other words, and where it first stands: as
    numbers of texts and actions, and as page and place."""
    if game.rules.paraphrases is None:
        return {}
    pairs = read_paraphrases(game.rules.paraphrases)
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for page, actions in enumerate(compiled.page_actions.tolist()):
        for place, action in enumerate(actions):
            if action >= 0 and compiled.actions[action] in pairs:
                found.setdefault((int(compiled.page_text[page]), action), (page, place))
    return found
