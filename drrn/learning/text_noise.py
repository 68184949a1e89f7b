"""Noise in texts while learning, so that no one word decides: words left out, words put in, vectors blurred.

Whoever says the same in other words leaves some out and uses others, which may be known from elsewhere. What is learned
from such texts holds for other words, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from drrn.learning.learner import Generators
from drrn.models.base import Model, Pages
from drrn.settings import Settings
from drrn.text import Ids, Lexicon, Store


@dataclass(frozen=True)
class Noise:
    """Shares of the words of a side's texts that are left out, and put in; what is added to vectors of length 1."""

    out: float = 0.0
    put_in: float = 0.0
    blur: float = 0.0

    @property
    def any(self) -> bool:
        return bool(self.out or self.put_in or self.blur)

    def or_more(self, other: Noise) -> Noise:
        """The larger of both in everything."""
        return Noise(
            max(self.out, other.out), max(self.put_in, other.put_in), max(self.blur, other.blur)
        )


def noise_of(settings: Settings) -> tuple[Noise, Noise]:
    """Of states, and of actions."""
    blur = settings.learner.vectors_noise if settings.model.vectors else 0.0
    return Noise(settings.learner.state_dropout), Noise(
        settings.learner.action_dropout, settings.learner.action_noise, blur
    )


def noisy(
    model: Model, pages: Pages, states: Noise, actions: Noise, generators: Generators
) -> tuple[Pages, Store | None]:
    """Pages [1, R, B] of a batch in a store of their own, with noise in its texts: each replica has its own, and a text
    that it reads twice in the batch is altered once. Without noise: the pages as they are. Where states and actions
    have one embedding a text may be both, so every text gets the larger noise of the two sides."""
    if model.indexes_texts or not (states.any or actions.any):
        return pages, None
    store = model.store
    width = model.shape.vectors.dimensions if model.shape.vectors else 0
    if store.shared:
        both = np.concatenate([pages.states[..., None], pages.actions], axis=-1)
        lexicon, ids = _noisy(store.states, both, states.or_more(actions), generators, width)
        return Pages(ids[..., 0], ids[..., 1:]), Store(lexicon, lexicon)
    other_states, state_ids = _noisy(
        store.states, pages.states[..., None], states, generators, width
    )
    other_actions, action_ids = _noisy(store.actions, pages.actions, actions, generators, width)
    return Pages(state_ids[..., 0], action_ids), Store(other_states, other_actions)


def _noisy(
    texts: Lexicon, ids: Ids, noise: Noise, generators: Generators, width: int
) -> tuple[Lexicon, Ids]:
    """For ids [1, R, B, N]: a lexicon of the distinct texts of each replica, and the ids there."""
    count = len(texts) + 1  # -1, no text, is the last
    owner = np.arange(ids.shape[1]).reshape(1, -1, 1, 1)
    keys, places = np.unique(owner * count + ids % count, return_inverse=True)
    found = keys % count
    no_text = keys % count == count - 1
    found[no_text] = -1
    words, _, lengths = texts.bags().gathered(found)
    ends = np.searchsorted(keys // count, np.arange(len(generators) + 1))  # of each replica's texts
    kept = []
    put_in = []
    blurred = []
    for by, begin, end in zip(generators, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        own = words[lengths[:begin].sum() : lengths[:end].sum()]
        kept.append(by.random(len(own), np.float32) >= noise.out)
        into = np.repeat(np.arange(begin, end), by.binomial(lengths[begin:end], noise.put_in))
        put_in.append((into, by.choice(np.unique(own), len(into)) if len(into) else into))
        if noise.blur and width:
            blurred.append(
                by.standard_normal((end - begin, width), np.float32)
                * np.float32(noise.blur / width**0.5)
            )
    where, which = (np.concatenate(part) for part in zip(*put_in, strict=True))
    altered = texts.thinned(found, np.concatenate(kept), (where, which) if noise.put_in else None)
    altered.blur = np.concatenate(blurred) if blurred else None
    renumbered: Ids = np.where(no_text, -1, np.arange(len(keys)))[places].reshape(ids.shape)
    return altered, renumbered
