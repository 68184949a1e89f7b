"""Learn from returns: store whole episodes, average the returns of each pair, fit Q to the means.

A one-step target credits an action with the average over all histories that reach the next page.
A return counts what really followed. docs/lab/beyond.md shows what each part adds.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.equations import GREEDY, Floats
from drrn.learning.learner import Generators, Learner
from drrn.learning.text_noise import noise_of, noisy
from drrn.models.base import NARROW, Model, Pages
from drrn.settings import Settings
from drrn.text import State
from textgames.arrays import Ids, ranges


class Average:
    """A student whose weights learn, and their moving average, which the model holds and plays."""

    def __init__(self, model: Model, decay: float, every: int = 4) -> None:
        """Prepare to average.

        Args:
            model: The model that plays.
            decay: The share of the average that remains after an update.
            every: Updates between two steps of the average, whose half-life is far longer.
        """
        self.model = model
        self.decay = decay
        self.every = every
        self.student = model.frozen()
        self.updates = 0

    def add_words(self) -> None:
        """Give the student the initial weights of words that are new to the model."""
        for name, table in self.model.tables.items():
            for replica, known in enumerate(table.known):
                self.student.tables[name].meet(replica, np.flatnonzero(known))

    def follow(self) -> None:
        """Move the average, after an update of the student."""
        self.updates += 1
        if self.updates % self.every:
            return
        steps = self.updates // self.every
        # At first, the average is that of all updates so far.
        decay = min(self.decay**self.every, (1 + steps) / (4 + steps))
        student = self.student
        pairs = [(self.model.weights[name], weight) for name, weight in student.weights.items()]
        for name, table in student.tables.items():
            pairs.append((self.model.tables[name].weight, table.weight))
        for average, weight in pairs:
            sizes = zip(average.shape, weight.shape, strict=True)  # one may have grown further
            common = tuple(slice(min(size)) for size in sizes)
            average[common].lerp_(weight[common], 1 - decay)

    def state(self) -> State:
        return {"updates": self.updates, "student": self.student.state()}

    def restore(self, state: State) -> None:
        self.updates = state["updates"]
        self.student.restore(state["student"], "its learning weights")


@dataclass(frozen=True)
class Fits:
    """B pairs of each replica for K updates: pages, the index of the action, the mean return."""

    pages: Pages  # states [K, R, B], actions [K, R, B, A], or [K, R, B, 1] of the action alone
    index: Ids  # [K, R, B]
    targets: NDArray[np.float32]  # [K, R, B]
    weights: NDArray[np.float32]  # [K, R, B], 0 if a replica has nothing to learn from


class ReturnLearning(Learner):
    """Fits Q of each pair to its mean return. Pairs are drawn by a power of their count.

    If the settings ask for an average, the model that plays holds a moving average of the weights.
    """

    memories: Sequence[EpisodeMemory]

    def __init__(self, model: Model, settings: Settings) -> None:
        decay = settings.learner.average
        self.average = Average(model, decay) if decay else None
        self.student = self.average.student if self.average else model
        capacity = settings.learner.capacity
        build = partial(EpisodeMemory, capacity, ordered=model.sees_menu)
        super().__init__(model, settings, build, self.student)
        self.rounds = 0  # learned from
        if settings.exploration.alpha_spread:
            self.alpha_factor = np.ones(len(model.seeds))

    def learn(self, generators: Generators) -> int:
        """Estimate the returns in the memories, then fit Q to them."""
        settings = self.settings
        number = self.rounds + 1
        listwise = settings.learner.listwise
        adapts = settings.exploration.alpha_spread and self.rounds > 1  # Q was learned
        if listwise:
            self._plan(adapts=adapts)
        else:
            self._estimate(number, adapts=adapts)
        if self.average:
            self.average.add_words()
        self.optimiser.learning_rate = settings.learning_rate_at(number)
        fitted = self._fit_menus(number, generators) if listwise else self._fit_pairs(generators)
        self.rounds = number
        return fitted

    def _estimate(self, number: int, *, adapts: bool) -> None:
        """Estimate the returns under the softmax policy, and adapt α to the spread of Q."""
        for r, (memory, q) in enumerate(zip(self.memories, self._q_of_pages(), strict=True)):
            if adapts:
                self.alpha_factor[r] = alpha_factor(memory, q)
            memory.estimate(q, self.settings.learner, self._alpha_of(r, number))

    def _plan(self, *, adapts: bool) -> None:
        """Estimate the returns of the best known policy, and adapt α to the cost of idle steps."""
        for r, memory in enumerate(self.memories):
            memory.estimate(memory.pessimistic, self.settings.learner, GREEDY)
            if adapts:
                alpha = sharp_alpha(memory, memory.pessimistic()[memory.pairs])
                self.alpha_factor[r] = alpha / self.settings.exploration.alpha

    def _alpha_of(self, replica: int, number: int) -> float:
        factor = float(self.alpha_factor[replica % len(self.alpha_factor)])
        return self.settings.alpha_at(number) * factor

    def forget(self) -> None:
        """Drop the episodes of an interrupted round, which is played again, or all of them."""
        if self.settings.learner.keep:
            for memory in self.memories:
                memory.begin(self.rounds)
        else:
            super().forget()

    def state(self) -> State:
        average = self.average.state() if self.average else None
        state = {"rounds": self.rounds, **super().state(), "average": average}
        if self.settings.exploration.alpha_spread:
            state["alpha_factor"] = self.alpha_factor.copy()
        return state

    def restore(self, state: State) -> None:
        super().restore(state)
        self.rounds = state["rounds"]
        if self.settings.exploration.alpha_spread:
            self.alpha_factor[:] = state["alpha_factor"]
        if self.average:
            self.average.restore(state["average"])
        for memory in self.memories:
            memory.begin(self.rounds)

    # --- Updates

    def _fit_pairs(self, generators: Generators) -> int:
        """Fit Q of pairs to their mean returns."""
        fits = self._draw(generators)
        self.fit(fits, generators)
        return int(fits.weights.sum())

    def _fit_menus(self, number: int, generators: Generators) -> int:
        """Fit the softmax over each menu to the softmax over its mean returns.

        The cross-entropy ignores what all actions of a page have in common. Its gradient by Q is
        the difference of the two policies, so that Q plus this difference is the target.
        """
        alphas = [self._alpha_of(r, number) for r in range(len(self.memories))]
        alpha = torch.tensor(alphas, device=self.model.device)[:, None, None]
        noise = noise_of(self.settings)
        count = 0
        for pages, policy in self._draw_menus(alphas, generators):
            read = self.student.read(noisy(self.student, pages, *noise, generators))[0]
            mask, aim = (
                torch.from_numpy(each).to(alpha.device) for each in (pages.mask[0], policy)
            )
            with torch.no_grad():
                q = self.student.forward(read)
            own = torch.softmax((alpha * q).masked_fill(~mask, -torch.inf), dim=-1)
            targets = torch.where(mask, q + aim - own, q)
            self.descend(read, None, targets.detach, mask.float())
            if self.average:
                self.average.follow()
            count += int((pages.states >= 0).sum())
        return count

    def _draw_menus(
        self, alphas: Sequence[float], generators: Generators, pairs_of_menu: int = 8
    ) -> Iterator[tuple[Pages, NDArray[np.float32]]]:
        """Yield pages [1, R, B] for each update, and the softmax over their mean returns."""
        settings = self.settings.learner
        shape = (settings.updates, max(1, settings.batch_size // pairs_of_menu))
        if not all(len(memory) for memory in self.memories):
            return
        most = max(2, *(memory.widest for memory in self.memories))
        rows = []
        policies = []
        for memory, alpha, generator in zip(self.memories, alphas, generators, strict=True):
            visits = np.bincount(memory.steps["page"], minlength=len(memory.states))
            rows.append(draw(visits, settings.count_power, shape, generator))
            policies.append(memory.policy(memory.pessimistic()[memory.pairs], alpha)[0])
        for k in range(shape[0]):
            pages = []
            policy = np.zeros((len(rows), shape[1], most), np.float32)
            for r, memory in enumerate(self.memories):
                menus = memory.menus(rows[r][k])
                pages.append((memory.states[rows[r][k]], menus.padded(most)))
                links = ranges(memory.first[menus.which], menus.counts)
                policy[r][pages[r][1] >= 0] = policies[r][links]
            yield Pages.of_replicas(pages)[None], policy

    def fit(self, fits: Fits, generators: Generators) -> None:
        """Make an update for each of the K batches, by automatic differentiation."""
        noise = noise_of(self.settings)
        for k in range(len(fits.targets)):
            pages = noisy(self.student, fits.pages[k : k + 1], *noise, generators)
            self.fit_batch(pages, fits.index[k], fits.targets[k], fits.weights[k])
            if self.average:
                self.average.follow()

    def _draw(self, generators: Generators) -> Fits:
        """Draw the pairs of all updates of a round."""
        settings = self.settings.learner
        shape = (settings.updates, len(self.memories), settings.batch_size)
        most = max(memory.widest for memory in self.memories) if self.model.sees_menu else 1
        states = np.zeros(shape, np.int64)
        actions = np.full((*shape, most), -1, np.int64)
        index = np.zeros(shape, np.int64)
        targets = np.zeros(shape, np.float32)
        weights = np.zeros(shape, np.float32)
        for r, (memory, generator) in enumerate(zip(self.memories, generators, strict=True)):
            if not len(memory):
                continue
            pairs = draw(memory.counts, settings.count_power, (shape[0], shape[2]), generator)
            page, at = (example[pairs] for example in memory.examples_of_pairs())
            states[:, r] = memory.states[page]
            values = memory.advantages() if settings.advantages else memory.means
            targets[:, r] = values[pairs]
            weights[:, r] = 1.0
            if self.model.sees_menu:
                index[:, r] = at
                actions[:, r] = memory.menus(page.ravel()).padded(most).reshape(*page.shape, most)
            else:
                actions[:, r, :, 0] = memory.links[memory.first[page] + at]
        return Fits(Pages(states, actions), index, targets, weights)

    def _q_of_pages(self) -> Iterator[Floats]:
        """Yield Q of each link of each replica's memory [L], by the model that plays."""
        most = max(memory.widest for memory in self.memories)
        padded = most <= NARROW or self.model.sees_menu
        q = self._q_padded(most) if padded else self._q_of_links()
        for memory, values in zip(self.memories, q, strict=True):
            own = values[: len(memory.links)].astype(np.float64)
            if self.settings.learner.advantages:
                own += memory.baseline(memory.means)[memory.page_of_link]
            yield own

    def _q_padded(self, most: int, at_once: int = 4096) -> list[NDArray[np.float32]]:
        """Compute Q of padded pages: if they are narrow, or Q depends on the whole menu."""
        longest = max(len(memory.states) for memory in self.memories)
        parts: list[list[NDArray[np.float32]]] = [[np.zeros(0, np.float32)] for _ in self.memories]
        for start in range(0, longest, at_once):
            rows = []
            for memory in self.memories:
                some = np.arange(len(memory.states))[start : start + at_once]
                rows.append((memory.states[some], memory.menus(some).padded(most)))
            pages = Pages.of_replicas(rows)
            q = self.model.q(pages).cpu().numpy()
            for part, values, mask in zip(parts, q, pages.mask, strict=True):
                part.append(values[mask])
        return [np.concatenate(part) for part in parts]

    def _q_of_links(self) -> NDArray[np.float32]:
        """Compute Q of the links of all pages, if one is wide."""
        rows = [(each.states[each.page_of_link], each.links[:, None]) for each in self.memories]
        q: NDArray[np.float32] = self.model.q_of_pairs(Pages.of_replicas(rows)).cpu().numpy()
        return q


def alpha_factor(
    memory: EpisodeMemory, q: Floats, usual: float = 22.0, most_power: int = 6
) -> float:
    """The factor on α that suits the spread of Q [L] on the pages of a memory.

    The spread is the 90 % quantile of max Q - min Q of a page. The factor is a power of four, so
    that it is 1 for stories, whose endings pay from -20 to 20 or 30. It is 1 before any reward.

    Args:
        memory: The pages.
        q: Q of each link.
        usual: The spread with the factor 1. It is 17 in Machine of Death, 28 in our stories.
        most_power: The factor is between 4^-n and 4^n for this n.
    """
    widths = memory.widths
    starts = memory.first[:-1][widths > 0]
    if not starts.size or not memory.steps["reward"].any():
        return 1.0
    ranges = np.maximum.reduceat(q, starts) - np.minimum.reduceat(q, starts)
    choices = ranges[widths[widths > 0] > 1]
    spread = float(np.quantile(choices, 0.9)) if choices.size else usual
    power = round(math.log(usual / max(spread, 1e-9), 4))
    return 4.0 ** min(max(power, -most_power), most_power)


def sharp_alpha(memory: EpisodeMemory, q: Floats, sharpness: float = 10.0) -> float:
    """An α by which the best of many actions is likely, in a game where most do nothing.

    The gap is between the best and the median of Q [L], on the median of all pages. α times the
    gap is the sharpness: e^10 outweighs thousands of actions.
    """
    gaps = []
    for _, mask, links in memory.layout:
        table = np.full(mask.shape, np.nan)
        table[mask] = q[links]
        some = table[mask.any(axis=1)]
        gaps.append(np.nanmax(some, axis=1) - np.nanmedian(some, axis=1))
    gap = np.concatenate(gaps)
    gap = gap[gap > 0]
    return sharpness / float(np.median(gap)) if gap.size else 1.0


def draw(counts: Ids, power: float, shape: tuple[int, int], generator: np.random.Generator) -> Ids:
    """Draw indices in proportion to a power of their count. Count 0 is never drawn."""
    weights = np.where(counts > 0, counts.astype(np.float64) ** power, 0.0)
    ends = np.cumsum(weights)
    indices = np.searchsorted(ends, generator.random(shape) * ends[-1], side="right")
    return np.asarray(np.minimum(indices, len(ends) - 1))
