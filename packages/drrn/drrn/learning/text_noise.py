"""Noise in texts while learning: words dropped, words added, vectors blurred.

A paraphrase drops some words and adds others that the model may know from other texts. Learning
from noisy texts makes Q depend on more than one word.
"""

from dataclasses import astuple, dataclass

import numpy as np

from drrn.learning.learner import Generators
from drrn.models.base import Model, Pages
from drrn.models.encoders.vectors import VectorEncoder
from drrn.settings import Settings
from drrn.text import Lexicon, Store
from textgames.arrays import Ids


@dataclass(frozen=True)
class Noise:
    """Shares of a text's words that are dropped and added, and noise on vectors of norm 1."""

    drop: float = 0.0
    add: float = 0.0
    blur: float = 0.0


def noise_of(settings: Settings) -> tuple[Noise, Noise]:
    """The noise of states and of actions."""
    learner = settings.learner
    blur = learner.vectors_noise if settings.uses("vectors_noise") else 0.0
    actions = Noise(learner.action_dropout, learner.action_noise, blur)
    return Noise(learner.state_dropout), actions


def noisy(
    model: Model, pages: Pages, states: Noise, actions: Noise, generators: Generators
) -> Pages:
    """The pages [1, R, B] of a batch with noise in their texts.

    Each replica has its own noise, and a text that occurs twice in its batch is changed once.
    Without noise, the pages are returned as they are. If states and actions share an embedding, a
    text may be both, so that every text gets the larger noise of the two sides.
    """
    if model.indexes_texts or states == actions == Noise():
        return pages
    store = model.store
    readers = [each for each in model.encoders.values() if isinstance(each, VectorEncoder)]
    width = readers[-1].source(model).dimensions if readers else 0  # the last one reads actions
    if store.shared:
        ids = np.concatenate([pages.states[..., None], pages.actions], axis=-1)
        larger = Noise(*map(max, astuple(states), astuple(actions)))
        lexicon, ids = _noisy(store.states, ids, larger, generators, width)
        return Pages(ids[..., 0], ids[..., 1:], Store(lexicon, lexicon))
    state_ids = pages.states[..., None]
    state_texts, state_ids = _noisy(store.states, state_ids, states, generators, width)
    action_texts, action_ids = _noisy(store.actions, pages.actions, actions, generators, width)
    return Pages(state_ids[..., 0], action_ids, Store(state_texts, action_texts))


def _noisy(
    texts: Lexicon, ids: Ids, noise: Noise, generators: Generators, width: int
) -> tuple[Lexicon, Ids]:
    """A lexicon of the noisy distinct texts of each replica, and ids [1, R, B, N] in it."""
    count = len(texts) + 1  # -1, no text, becomes the last id
    owner = np.arange(ids.shape[1]).reshape(1, -1, 1, 1)
    keys, index = np.unique(owner * count + ids % count, return_inverse=True)
    distinct = keys % count
    no_text = distinct == count - 1
    distinct[no_text] = -1
    words, _, lengths = texts.bags(distinct)
    ends = np.searchsorted(keys // count, np.arange(len(generators) + 1))  # of each replica
    remaining = []
    owners = []
    added = []
    blur = []
    for by, start, end in zip(generators, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        own = words[lengths[:start].sum() : lengths[:end].sum()]
        remaining.append(by.random(len(own), np.float32) >= noise.drop)
        into = np.repeat(np.arange(start, end), by.binomial(lengths[start:end], noise.add))
        owners.append(into)
        added.append(by.choice(np.unique(own), len(into)) if len(into) else into)
        if noise.blur and width:
            scale = np.float32(noise.blur / width**0.5)
            blur.append(by.standard_normal((end - start, width), np.float32) * scale)
    stays, into, extra = map(np.concatenate, (remaining, owners, added))
    result = texts.thinned(distinct, stays, into, extra)
    result.blur = np.concatenate(blur) if blur else None
    numbers = np.where(no_text, -1, np.arange(len(keys)))
    return result, np.asarray(numbers[index].reshape(ids.shape))
