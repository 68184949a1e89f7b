"""Learning from returns: whole episodes are kept, what followed each pair is averaged, and Q is fitted to the means.

One-step targets hand the mean value of all pasts that lead to a page to the action that made the difference. Returns
do not: they count what really followed. `docs/beyond.md` tells what each part gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.errors import InputError
from drrn.learning.averaging import Average
from drrn.learning.episode_memory import EpisodeMemory, Marked
from drrn.learning.equations import squared
from drrn.learning.learner import Experience, Generators
from drrn.learning.optimisers import OPTIMISERS
from drrn.learning.q_learning import differentiable
from drrn.learning.returns import Floats
from drrn.learning.text_noise import noise_of, noisy
from drrn.models.base import NARROW, Model, Pages
from drrn.models.encoders import Leaves
from drrn.settings import Settings
from drrn.text import Ids, State, texts_of_all

PAGES_AT_ONCE = 4096  # of a replica, whose Q-values are computed together


@dataclass(frozen=True)
class Fits:
    """What K updates fit, B pairs of each replica: pages, the place of the action, the mean return of the pair."""

    pages: Pages  # states [K, R, B], actions [K, R, B, A], or [K, R, B, 1] of the action itself
    places: Ids  # [K, R, B]
    targets: NDArray[np.float32]  # [K, R, B]
    weights: NDArray[np.float32]  # [K, R, B], 0 where a replica has nothing to learn from


class ReturnLearning:
    """Fits the Q of each kept pair to the mean of its returns; pairs are drawn by a power of how often they were taken.

    The model that plays holds a moving average of the weights that learn, where the settings ask for one.
    """

    def __init__(self, model: Model, settings: Settings) -> None:
        if settings.run.form == "online":
            raise InputError(
                "the learner returns needs whole episodes: leave out form online, or choose q-learning"
            )
        self.model = model
        self.settings = settings
        self.average = (
            Average(model, settings.learner.average) if settings.learner.average else None
        )
        self.student = self.average.student if self.average else model  # whose weights move
        kind = OPTIMISERS[settings.learner.optimiser]
        self.optimiser = kind(self.student, settings.learning_rate)
        self.memories = [
            EpisodeMemory(settings.learner.capacity, ordered=model.sees_menu) for _ in model.seeds
        ]
        # rounds that were learned from
        self.marked = Marked(self.memories)
        self.rounds = 0

    # --- what a learner does

    def tell(self, replica: int, played: Experience) -> None:
        self.memories[replica].add(played.steps())

    def rescale(self, replica: int, factor: float) -> None:
        self.memories[replica].rescale(factor)

    def learn(self, generators: Generators) -> int:
        """Value what was kept, then fit Q to it."""
        settings = self.settings
        number = self.rounds + 1
        for memory, q in zip(self.memories, self._q_of_pages(), strict=True):
            value_anew(memory, q, settings, settings.alpha_at(number))
        if self.average:
            self.average.meet()
        self.optimiser.learning_rate = settings.learning_rate_at(number)
        fits = self._draw(generators)
        self.fit(fits, generators)
        self._check_finite()
        self.rounds = number
        return int(fits.weights.sum())

    def learn_once(self, generators: Generators, replicas: Sequence[bool]) -> int:
        raise NotImplementedError("the online form is refused when the learner is made")

    def forget(self) -> None:
        """Keeping or not, what a round that was interrupted was told is let go of: it is told again."""
        if self.settings.learner.keep:
            self.marked.begin(self.rounds)
        else:
            for memory in self.memories:
                memory.clear()

    def texts_in_use(self) -> tuple[Ids, Ids]:
        return texts_of_all(self.memories)

    def renumber(self, states: Ids, actions: Ids) -> None:
        for memory in self.memories:
            memory.renumber(states, actions)
        self.marked.void()

    def state(self) -> State:
        return {
            "rounds": self.rounds,
            "optimiser": self.optimiser.state(),
            "average": self.average.state() if self.average else None,
            "memories": [memory.state() for memory in self.memories],
        }

    def restore(self, state: State) -> None:
        self.rounds = state["rounds"]
        self.optimiser.restore(state["optimiser"])
        if self.average:
            self.average.restore(state["average"])
        for memory, kept in zip(self.memories, state["memories"], strict=True):
            memory.restore(kept)
        self.marked.void()

    # --- how weights move

    def fit(self, fits: Fits, generators: Generators) -> None:
        """An update for each of the K batches, by automatic differentiation."""
        for k in range(len(fits.targets)):
            self.step(
                fits.pages[k : k + 1], fits.places[k], fits.targets[k], fits.weights[k], generators
            )
            if self.average:
                self.average.follow()

    def step(
        self,
        pages: Pages,
        places: Ids,
        targets: NDArray[np.float32],
        weights: NDArray[np.float32],
        generators: Generators,
    ) -> None:
        """One update: pages [1, R, B], the others [R, B]."""
        model = self.student
        pages, store = noisy(model, pages, *noise_of(self.settings), generators)
        reading = model.read(pages, store)[0]
        place, y, w = (
            torch.from_numpy(array).to(model.device) for array in (places, targets, weights)
        )
        learned = list(model.weights.values())
        leaves = Leaves()
        with differentiable(learned):
            q = model.forward(reading, leaves).gather(2, place.unsqueeze(2)).squeeze(2)
            loss = (squared(y - q) * w).sum()
            gradients = torch.autograd.grad(
                loss, [*learned, *leaves.vectors], materialize_grads=True
            )
        back = gradients[len(learned) :]
        taken = [(look, came) for (look, _), came in zip(leaves.entries, back, strict=True)]
        self.optimiser.step(gradients[: len(learned)], taken, w.any(dim=1))

    def _draw(self, generators: Generators) -> Fits:
        """Pairs for all updates of a round."""
        settings = self.settings
        replicas = len(self.memories)
        shape = (settings.learner.updates, replicas, settings.learner.batch_size)
        most = max(memory.widest for memory in self.memories) if self.model.sees_menu else 1
        states = np.zeros(shape, np.int64)
        actions = np.full((*shape, most), -1, np.int64)
        places = np.zeros(shape, np.int64)
        targets = np.zeros(shape, np.float32)
        weights = np.zeros(shape, np.float32)
        for r, (memory, generator) in enumerate(zip(self.memories, generators, strict=True)):
            if not len(memory):
                continue
            drawn = drawn_pairs(
                memory, settings.learner.count_power, (shape[0], shape[2]), generator
            )
            page, place = (which[drawn] for which in memory.places_of_pairs())
            states[:, r], targets[:, r], weights[:, r] = (
                memory.states[page],
                memory.means[drawn],
                1.0,
            )
            if self.model.sees_menu:
                places[:, r] = place
                actions[:, r] = memory.menus[page.ravel()].padded(most).reshape(*page.shape, most)
            else:
                actions[:, r, :, 0] = memory.links[memory.first[page] + place]
        return Fits(Pages(states, actions), places, targets, weights)

    def _q_of_pages(self) -> Iterator[Floats]:
        """Q of each action of the pages that each replica's memory holds, [L], by the model that plays."""
        most = max(memory.widest for memory in self.memories)
        q = (
            self._q_side_by_side(most)
            if most <= NARROW or self.model.sees_menu
            else self._q_of_links()
        )
        for memory, found in zip(self.memories, q, strict=True):
            yield found[: len(memory.links)].astype(np.float64)

    def _q_side_by_side(self, most: int) -> list[NDArray[np.float32]]:
        """Where pages are narrow, or Q depends on the whole menu: so many pages at once."""
        longest = max(len(memory.states) for memory in self.memories)
        found = []
        for at in range(0, longest, PAGES_AT_ONCE):
            size = min(PAGES_AT_ONCE, longest - at)
            states, actions = (
                np.full((len(self.memories), size, *more), -1, np.int64) for more in ((), (most,))
            )
            for r, memory in enumerate(self.memories):
                some = memory.states[at : at + size]
                states[r, : len(some)], actions[r, : len(some)] = (
                    some,
                    memory.menus[at : at + size].padded(most),
                )
            found.append((self.model.q(Pages(states, actions)).cpu().numpy(), actions >= 0))
        return [np.concatenate([q[r][mask[r]] for q, mask in found] or [np.zeros(0, np.float32)])
                for r in range(len(self.memories))]  # fmt: skip

    def _q_of_links(self) -> NDArray[np.float32]:
        """Where a page is wide: the actions of all pages end to end."""
        shape = (len(self.memories), max(len(memory.links) for memory in self.memories))
        states = np.full(shape, -1, np.int64)
        actions = np.full(shape, -1, np.int64)
        for r, memory in enumerate(self.memories):
            states[r, : len(memory.links)] = memory.states[memory.page_of_link]
            actions[r, : len(memory.links)] = memory.links
        found: NDArray[np.float32] = self.model.q_of_pairs(states, actions).cpu().numpy()
        return found

    def _check_finite(self) -> None:
        tables: list[Tensor] = [table.weight for table in self.model.tables.values()]
        if not all(
            bool(torch.isfinite(weight).all()) for weight in (*self.model.weights.values(), *tables)
        ):
            rate = self.optimiser.learning_rate
            raise InputError(
                f"Q-values grew beyond all bounds at η = {rate:g}: choose a smaller learning rate"
            )


def value_anew(
    memory: EpisodeMemory, prior: Floats | float, settings: Settings, alpha: float
) -> None:
    """Compute a memory's returns anew, several times over, since each time rests on the means of the last; `prior` is
    the value of a pair that has none of its own."""
    trace = None if settings.learner.returns == "monte-carlo" else settings.learner.trace
    for _ in range(settings.learner.sweeps):
        q = memory.mixed(prior, settings.learner.pseudo_count)
        memory.value(q, alpha, settings.learner.discount, trace)


def drawn_pairs(
    memory: EpisodeMemory, power: float, shape: tuple[int, int], generator: np.random.Generator
) -> Ids:
    """Pairs by chance, each in proportion to a power of how often it was taken; a pair never taken is never drawn."""
    weights = np.where(memory.counts > 0, memory.counts.astype(np.float64) ** power, 0.0)
    ends = np.cumsum(weights)
    drawn = np.searchsorted(ends, generator.random(shape) * ends[-1], side="right")
    found: Ids = np.minimum(drawn, len(ends) - 1)
    return found
