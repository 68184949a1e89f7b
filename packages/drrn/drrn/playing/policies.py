"""Policies over Q-values, and the base class of rollouts, which play games with them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from drrn.learning.equations import Probabilities, Q, greedy, softmax
from drrn.learning.experience import Steps
from drrn.learning.learner import Alpha, Generators
from drrn.models import Model, Pages
from drrn.settings import CANDIDATES
from textgames.errors import InputError, did_you_mean
from textgames.game.episodes import Episode

# From a replica, the Q-values and the pages to the probabilities of their actions [N, A].
Choose = Callable[[int, Q, Pages], Probabilities]
# In general, and if the episode is in a circle (None: the same).
Policy = tuple[Choose, Choose | None]


def softmax_policy(alpha: Alpha) -> Policy:
    """The softmax policy on all pages."""

    def choose(replica: int, q: Q, pages: Pages) -> Probabilities:
        return softmax(q, pages.mask, np.ravel(alpha)[replica % np.size(alpha)])

    return choose, None


def policy_of(name: str, alpha: Alpha) -> Policy:
    """A policy by its name, one of `settings.CANDIDATES`.

    The policy `best` is greedy, but softmax in a circle: if a page does not show what was done
    before, greedy play may take the same actions on the same pages for ever.
    """
    if name not in CANDIDATES:
        names = ", ".join(CANDIDATES)
        near = did_you_mean(name, CANDIDATES)
        raise InputError(f'no policy is named "{name}": choose from {names}.{near}')

    def by_greedy(replica: int, q: Q, pages: Pages) -> Probabilities:
        return greedy(q, pages.mask)

    kind, _, factor = name.partition(":")
    by_softmax, _ = softmax_policy(alpha * float(factor or 1))
    policies: dict[str, Policy] = {
        "softmax": (by_softmax, None),
        "greedy": (by_greedy, None),
        "best": (by_greedy, by_softmax),
    }
    return policies[kind]


def probabilities_of(
    policy: Policy, replica: int, q: Q, pages: Pages, circle: NDArray[np.bool_]
) -> Probabilities:
    """Probabilities [N, A]. `circle` [N] is whether each page's episode is in a circle."""
    first, again = policy
    probabilities: Probabilities = first(replica, q, pages)
    if again is None or not circle.any():
        return probabilities
    probabilities = probabilities.copy()
    probabilities[circle] = again(replica, q[circle], pages[circle])
    return probabilities


class Rollouts:
    """Plays one game with the replicas of one model, to an ending or to the step limit.

    The random generator of a replica alone determines its episodes.
    """

    model: Model
    progress: Callable[[int, int], None] | None = None  # called with ended and all episodes

    def play(self, count: int, policy: Policy, generators: Generators) -> list[list[Episode]]:
        """Play episodes with each replica to evaluate it. Unknown words are ignored."""
        raise NotImplementedError

    def record(self, count: int, policy: Policy, generators: Generators) -> list[Steps]:
        """Play training episodes. New words are added to the vocabulary."""
        raise NotImplementedError
