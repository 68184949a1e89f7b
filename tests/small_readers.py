"""Small models that read some short texts, for tests of encoders."""

import numpy as np

from drrn.models import Shape, build_model, encoder_of
from drrn.text import Store
from tests.small_models import ACTIONS, CPU, STATES

TEXTS = [
    "the sea is grey",
    "",
    "the wind and the sea",
    "a lamp",
    "grey is the sea",
    "the the the the the the a",
]


def reader(encoder, seeds=(0,), hidden=5, name="drrn", **shape):
    store = Store.of_words(shared=shape.get("shared", False))
    for text in (*TEXTS, *STATES, *ACTIONS):
        store.states.id(text)
        store.actions.id(text)
    shape = Shape(**{"hidden": hidden, "most_actions": 3, "encoder": encoder_of(encoder), **shape})
    built = build_model(name, shape, store, list(seeds), CPU)
    for replica in range(len(seeds)):
        built.meet(replica, np.arange(len(store.states)), np.arange(len(store.actions)))
    return built
