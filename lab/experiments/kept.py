"""Algorithm 1's memory D, which rounds do not empty."""

from typing import Any

from drrn.learning.fast.q_learning import FastQLearning
from drrn.learning.learner import Generators
from drrn.text import State


class KeptMemory(FastQLearning):
    """Draws from all transitions so far, as many as the last round added, for each epoch.

    So it makes as many updates as `QLearning` with the transitions of the last round alone. It
    needs the setting `keep`.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen = [0] * len(self.memories)  # transitions up to the last round

    def learn(self, generators: Generators) -> int:
        orders = []
        for replica, (memory, generator) in enumerate(zip(self.memories, generators, strict=True)):
            new = memory.added - self.seen[replica]
            orders.append(generator.integers(len(memory), size=self.settings.learner.epochs * new))
            self.seen[replica] = memory.added
        size = self.settings.learner.batch_size * self.prepared
        for start in range(0, max(map(len, orders)), size):
            self._learn_from([order[start : start + size] for order in orders])
        return sum(map(len, orders))

    def restore(self, state: State) -> None:
        super().restore(state)
        self.seen = [memory.added for memory in self.memories]
