"""A batch's pages and the pages after them, read in one pass: a text that is on both sides is encoded once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from drrn.models.base import LookUp, Model, Pages, Reading
from drrn.models.encoders.base import Leaves, Look, Weights


@dataclass
class SharedEncoding:
    """The texts of both sides, and their vectors once they have been encoded."""

    look: Look
    vectors: Tensor | None = None


@dataclass(frozen=True)
class SharedLook:
    """The texts of one side. Who differentiates must ask first; the other is given the same vectors, as constants."""

    shared: SharedEncoding
    span: slice  # of the texts that both sides ask for, one after the other

    @property
    def places(self) -> Tensor | None:
        places = self.shared.look.places
        return None if places is None else places[:, self.span]

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        if leaves is not None or self.shared.vectors is None:
            self.shared.vectors = self.shared.look.encode(model, leaves)
        found = self.shared.vectors if leaves is not None else self.shared.vectors.detach()
        return found[:, self.span] if self.shared.look.places is None else found


def read_together(
    model: Model, pages: Pages, after: Pages, look_up: LookUp
) -> Iterator[tuple[Reading, Reading]]:
    """Readings of several batches' pages, and of the pages after them: [K, R, B] each."""
    sides = model.reads(pages), model.reads(after)
    spans = {
        name: (slice(ids.shape[-1]), slice(ids.shape[-1], None)) for name, ids in sides[0].items()
    }
    both = {name: np.concatenate([side[name] for side in sides], axis=-1) for name in spans}
    looks = {name: look_up(name, ids, model.store) for name, ids in both.items()}
    for k in range(len(pages.states)):
        shared = {name: SharedEncoding(some[k]) for name, some in looks.items()}
        now, then = (
            {name: SharedLook(shared[name], spans[name][side]) for name in shared}
            for side in (0, 1)
        )
        yield Reading(pages[k], model.store, {**now}), Reading(after[k], model.store, {**then})
