"""Word dropout: while learning, each word of a text is left out with some probability, so that no one word decides."""

from __future__ import annotations

import numpy as np

from drrn.learning.learner import Generators
from drrn.models.base import Model, Pages
from drrn.text import Ids, Lexicon, Store


def thinned(
    model: Model, pages: Pages, states: float, actions: float, generators: Generators
) -> tuple[Pages, Store | None]:
    """Pages [1, R, B] of a batch in a store of their own, whose texts lack some words: each replica leaves out its own,
    and a text that a replica reads twice in the batch is thinned once. Without dropout: the pages as they are."""
    if model.indexes_texts or not (states or actions):
        return pages, None
    store = model.store
    if store.shared:
        both = np.concatenate([pages.states[..., None], pages.actions], axis=-1)
        lexicon, ids = _thinned(store.states, both, states, generators)
        return Pages(ids[..., 0], ids[..., 1:]), Store(lexicon, lexicon)
    fewer_states, state_ids = _thinned(store.states, pages.states[..., None], states, generators)
    fewer_actions, action_ids = _thinned(store.actions, pages.actions, actions, generators)
    return Pages(state_ids[..., 0], action_ids), Store(fewer_states, fewer_actions)


def _thinned(texts: Lexicon, ids: Ids, share: float, generators: Generators) -> tuple[Lexicon, Ids]:
    """For ids [1, R, B, N]: a lexicon of the distinct texts of each replica, and the ids there."""
    count = len(texts) + 1  # -1, no text, is the last
    owner = np.arange(ids.shape[1]).reshape(1, -1, 1, 1)
    keys, places = np.unique(owner * count + ids % count, return_inverse=True)
    found, no_text = keys % count, keys % count == count - 1
    found[no_text] = -1
    bags = texts.bags()
    lengths = np.where(no_text, 0, bags.starts[found + 1] - bags.starts[found])
    by_replica = np.bincount(keys // count, lengths, minlength=len(generators)).astype(int)
    kept = np.concatenate(
        [by.random(size, np.float32) >= share for by, size in zip(generators, by_replica, strict=True)]
    )
    renumbered: Ids = np.where(no_text, -1, np.arange(len(keys)))[places].reshape(ids.shape)
    return texts.thinned(found, kept), renumbered
