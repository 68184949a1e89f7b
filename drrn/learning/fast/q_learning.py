"""Which updates can be made over texts instead of words, and how: `QLearning` with plain SGD and few texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.learning.fast import by_hand
from drrn.learning.fast.text_view import MOST_TEXTS, Recall, TextView, overlaps_of
from drrn.learning.q_learning import QLearning
from drrn.learning.replay import Batches
from drrn.models.base import Model, Pages
from drrn.models.encoders import BagOfWords
from drrn.models.encoders.base import Leaves, TextBatch
from drrn.settings import Settings
from drrn.text import Ids, Store

FEW = 3  # batches, for which seeing the words from all their texts does not pay


class FastQLearning(QLearning):
    """The updates of `QLearning`, to rounding; where they cannot be made faster, they are made as there."""

    def __init__(self, model: Model, settings: Settings) -> None:
        super().__init__(model, settings)
        self.views: dict[str, TextView] = {}  # by encoder, while batches are learned from
        self._overlaps: dict[str, tuple[tuple[int, int], Tensor]] = {}

    def steps(self, batches: Batches) -> NDArray[np.float32]:
        rate = self.optimiser.learning_rate
        if not isinstance(
            batches.next_pages, Pages
        ):  # of wide menus every text would be moved at every update
            return super().steps(batches)
        try:
            if self.optimiser.plain and len(batches.taken) > FEW:
                self._open_views(self.pages_to_learn(batches), batches.next_pages)
            if by_hand.can_learn(self.model, self.views):
                errors = by_hand.learn(self.model, self.views, batches, rate)
                self.count(batches.active.sum(axis=0))
                return errors
            return super().steps(batches)
        finally:  # interrupted, too: the words must not stay behind the other weights
            while self.views:
                self.views.popitem()[1].settle(rate)

    def gather(self, name: str, ids: Ids, store: Store) -> Sequence[TextBatch]:
        """In the view of an encoder's table, where one is open."""
        view = self.views.get(name)
        return view.recalls(ids) if view else super().gather(name, ids, store)

    def move(
        self, gradients: Sequence[Tensor], leaves: Leaves, back: Sequence[Tensor], active: Tensor
    ) -> None:
        taken = []
        for (look, _), came in zip(leaves.entries, back, strict=True):
            if isinstance(look, Recall):
                look.view.move(look.texts, look.rows, came, self.optimiser.learning_rate)
            else:
                taken.append((look, came))
        self.optimiser.step(gradients, taken, active)

    def _open_views(self, pages: Pages, after: Pages) -> None:
        """Until the batches are done, see word tables from their texts, where these are few."""
        reads = self.model.reads(pages), self.model.reads(after)
        for name in reads[0] | reads[1]:
            encoder = self.model.encoders[name]
            asked = [ids[name] for ids in reads if name in ids]
            texts = self.model.store.side(encoder.side)
            if type(encoder) is BagOfWords and len(texts) <= MOST_TEXTS:
                table = self.model.tables[name]
                table.make_room()
                self.views[name] = TextView(
                    table, texts.bags(encoder.norm), asked, self._overlaps_of(encoder)
                )

    def _overlaps_of(self, encoder: BagOfWords) -> Tensor:
        """Kept from call to call: the texts' overlaps change only when new texts are met."""
        texts = self.model.store.side(encoder.side)
        made_for, found = self._overlaps.get(encoder.side, (None, torch.empty(0)))
        if made_for != (texts.generation, len(texts)):
            found = overlaps_of(texts.bags(encoder.norm), len(texts.vocabulary), self.model.device)
            self._overlaps[encoder.side] = (texts.generation, len(texts)), found
        return found
