"""Texts that are read in pairs: a state's vector that depends on the action, and an action's that
depends on the state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from drrn.errors import InputError
from drrn.models.base import Model, Pages, Reading, pick
from drrn.models.encoders import Leaves
from drrn.models.encoders.attention import AttentionEncoder, mean_of_words
from drrn.models.encoders.base import WordBatch, in_sequence
from drrn.text import Ids, Lexicon, Store

# Limits of one forward pass, for each replica: the words of all pairs take memory.
PAIRS_AT_ONCE = 2048
WORDS_AT_ONCE = 2**21


@dataclass(frozen=True)
class PairVectors:
    """Vectors of both texts of each pair, and the weights of their words if an encoder gives
    them."""

    states: Tensor  # [R, B, A, H]
    actions: Tensor  # [R, B, A, H']
    state_weights: Tensor | None = None  # [R, B, A, L]
    action_weights: Tensor | None = None  # [R, B, A, L']


@dataclass(frozen=True)
class Side:
    """The distinct texts of a batch: as words, if the encoder reads pairs; otherwise as vectors."""

    encoder: AttentionEncoder | None
    vectors: Tensor  # [R, U, L, E] of words, or [R, U, H]
    mask: Tensor | None  # [R, U, L]

    def summaries(self, index: Tensor | None) -> Tensor:
        """Return what represents the texts at [R, N] to the texts of the other side: [R, N, S]."""
        if self.mask is None:
            return pick(self.vectors, index)
        return pick(mean_of_words(self.vectors, self.mask), index)

    def pair_with(
        self, model: Model, index: Tensor | None, others: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return the vectors of the texts at [R, N], each paired with K others [R, N, K, S], and
        the words' weights."""
        if self.encoder is None or self.mask is None or index is None:
            vectors = pick(self.vectors, index).unsqueeze(2)
            return vectors.expand(-1, -1, others.shape[2], -1), None
        replicas, texts, longest, width = self.vectors.shape
        words = pick(self.vectors.reshape(replicas, texts, longest * width), index)
        words = words.view(replicas, -1, longest, width)
        mask = self.mask.reshape(replicas * texts, longest)[index]
        return self.encoder.attend(model, words, mask, others)


def _side(model: Model, reading: Reading, name: str, leaves: Leaves | None) -> Side:
    encoder = model.encoders[name]
    batch = reading.texts[name]
    if isinstance(encoder, AttentionEncoder) and isinstance(batch, WordBatch):
        return Side(encoder, *in_sequence(batch.word_vectors(model, leaves), batch.layout))
    return Side(None, batch.encode(model, leaves), None)


def pair_vectors(model: Model, reading: Reading, leaves: Leaves | None) -> PairVectors:
    """Read both texts of every pair of a batch, by the encoders that `model.pairs` names."""
    replicas, batch, most = reading.pages.actions.shape
    state_name, action_name = model.pairs or ("", "")
    states = _side(model, reading, state_name, leaves)
    state_index = reading.texts[state_name].index
    if state_name != action_name:
        actions = _side(model, reading, action_name, leaves)
        action_index = reading.texts[action_name].index
    else:  # one encoder, which reads the states and then the actions
        actions = states
        action_index = None if state_index is None else state_index[:, batch:]
        state_index = None if state_index is None else state_index[:, :batch]
    of_actions = actions.summaries(action_index).view(replicas, batch, most, -1)
    of_states = states.summaries(state_index).unsqueeze(2).expand(-1, -1, most, -1)
    of_states = of_states.reshape(replicas, batch * most, 1, -1)
    s, s_weights = states.pair_with(model, state_index, of_actions)
    a, weights = actions.pair_with(model, action_index, of_states)
    a_weights = None if weights is None else weights.view(replicas, batch, most, -1)
    return PairVectors(s, a.reshape(replicas, batch, most, -1), s_weights, a_weights)


def q_by_pairs(
    model: Model, reading: Reading, leaves: Leaves | None, q_of: Callable[[PairVectors], Tensor]
) -> Tensor:
    """Return Q [R, B, A] of a batch's pairs by `q_of`; without gradients, some pages at a time."""
    pages = reading.pages
    count = pages.states.shape[1]
    most = pages.actions.shape[2]
    words = max(
        _longest(reading.store.states, pages.states),
        most * _longest(reading.store.actions, pages.actions),
    )
    at_once = max(1, min(PAIRS_AT_ONCE // most, WORDS_AT_ONCE // words))
    if leaves is not None or count <= at_once:
        return q_of(pair_vectors(model, reading, leaves))
    parts = []
    for start in range(0, count, at_once):
        some = slice(start, start + at_once)
        part = Pages(pages.states[None, :, some], pages.actions[None, :, some])
        parts.append(q_of(pair_vectors(model, model.read(part, reading.store)[0], None)))
    return torch.cat(parts, dim=1)


def _longest(texts: Lexicon, ids: Ids) -> int:
    """The number of words of the longest of some texts (-1: no text), at least 1."""
    ids = ids[ids >= 0]
    return int((texts.starts[ids + 1] - texts.starts[ids]).max(initial=1))


@torch.no_grad()
def attention_of(model: Model, pages: Pages, store: Store) -> tuple[Tensor | None, Tensor | None]:
    """Return the weights of the words of states and of actions, [R, B, A, L] for pages [R, B].

    A side that has no attention is None.

    Raises:
        InputError: no encoder of the model has attention.
    """
    reading = model.read(Pages(pages.states[None], pages.actions[None]), store)[0]
    if model.reads_pairs:
        pairs = pair_vectors(model, reading, None)
        return pairs.state_weights, pairs.action_weights
    if not any(encoder.reads_pairs for encoder in model.encoders.values()):
        raise InputError(
            "the run's encoders give words no weights: only those trained with the encoder "
            "attention do"
        )
    most = pages.actions.shape[2]
    state = _weights_alone(model, reading, "state")
    if state is not None:
        state = state.expand(-1, -1, most, -1)
    weights = [_weights_alone(model, reading, f"action {number}") for number in range(most)]
    actions = [each for each in weights if each is not None]
    return state, _side_by_side(actions) if len(actions) == most else None


def _weights_alone(model: Model, reading: Reading, name: str) -> Tensor | None:
    """The weights of texts that are read alone, [R, B, 1, L]; None if the model does not read them
    so."""
    if name not in reading.texts:
        return None
    side = _side(model, reading, name, None)
    index = reading.texts[name].index
    if side.encoder is None or side.mask is None or index is None:
        return None
    _, weights = side.encoder.attend(model, side.vectors, side.mask, None)
    replicas, texts, _, longest = weights.shape
    return weights.reshape(replicas * texts, longest)[index].unsqueeze(2)


def _side_by_side(weights: list[Tensor]) -> Tensor:
    """Join the weights of each action of the menu, [R, B, 1, L], to [R, B, A, L], padded to the
    longest."""
    longest = max(each.shape[3] for each in weights)
    padded = [torch.nn.functional.pad(each, (0, longest - each.shape[3])) for each in weights]
    return torch.cat(padded, dim=2)
