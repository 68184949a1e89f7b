"""Texts that are read in pairs: a state's vector given an action, and an action's given a state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from drrn.errors import InputError
from drrn.models.base import Model, Pages, Reading, picked
from drrn.models.encoders.attention import AttentionEncoder, mean_of_words
from drrn.models.encoders.base import Leaves
from drrn.models.encoders.sequence import SequenceLook
from drrn.text import Ids, Lexicon, Store

PAIRS_AT_ONCE = (
    2048  # of a state and an action that are read one beside the other: their words take room
)
WORDS_AT_ONCE = 2**21  # of a replica's states, or of its actions, in such pairs


@dataclass(frozen=True)
class Paired:
    """Vectors of both texts of each pair, and the weights of their words, where an encoder gives words weights."""

    states: Tensor  # [R, B, A, H]
    actions: Tensor  # [R, B, A, H']
    state_weights: Tensor | None = None  # [R, B, A, L]
    action_weights: Tensor | None = None  # [R, B, A, L']


@dataclass(frozen=True)
class Opened:
    """A batch's distinct texts as an encoder has them: their words, where it reads pairs; else their vectors."""

    encoder: AttentionEncoder | None
    vectors: Tensor  # [R, U, L, E] of words, or [R, U, H]
    mask: Tensor | None  # [R, U, L]

    def summaries(self, at: Tensor | None) -> Tensor:
        """What the other text's words are weighed by, of texts at [R, N]: [R, N, S]."""
        return picked(
            self.vectors if self.mask is None else mean_of_words(self.vectors, self.mask), at
        )

    def beside(
        self, model: Model, at: Tensor | None, others: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Vectors of texts at [R, N], each beside K others [R, N, K, S], and the weights of their words."""
        if self.encoder is None or self.mask is None or at is None:
            return picked(self.vectors, at).unsqueeze(2).expand(-1, -1, others.shape[2], -1), None
        replicas, texts, longest, wide = self.vectors.shape
        words = picked(self.vectors.reshape(replicas, texts, longest * wide), at).view(
            replicas, -1, longest, wide
        )
        mask = self.mask.reshape(replicas * texts, longest)[at]
        return self.encoder.attend(model, words, mask, others)


def opened(model: Model, reading: Reading, name: str, leaves: Leaves | None) -> Opened:
    encoder = model.encoders[name]
    look = reading.looks[name]
    if isinstance(encoder, AttentionEncoder) and isinstance(look, SequenceLook):
        return Opened(encoder, *look.words_of(model, leaves))
    return Opened(None, look.encode(model, leaves), None)


def paired(model: Model, reading: Reading, leaves: Leaves | None) -> Paired:
    """Both texts of every pair of a batch, by the encoders that `model.pairs` names; one name is a shared one."""
    replicas, batch, most = reading.pages.actions.shape
    state_name, action_name = model.pairs or ("", "")
    states = actions = opened(model, reading, state_name, leaves)
    at_state = at_action = reading.looks[state_name].places
    if state_name != action_name:
        actions = opened(model, reading, action_name, leaves)
        at_action = reading.looks[action_name].places
    elif at_state is not None:
        at_state, at_action = at_state[:, :batch], at_state[:, batch:]
    of_actions = actions.summaries(at_action).view(replicas, batch, most, -1)
    of_states = states.summaries(at_state).unsqueeze(2).expand(-1, -1, most, -1)
    s, s_weights = states.beside(model, at_state, of_actions)
    a, weights = actions.beside(model, at_action, of_states.reshape(replicas, batch * most, 1, -1))
    a_weights = None if weights is None else weights.view(replicas, batch, most, -1)
    return Paired(s, a.reshape(replicas, batch, most, -1), s_weights, a_weights)


def paired_q(
    model: Model, reading: Reading, leaves: Leaves | None, q_of: Callable[[Paired], Tensor]
) -> Tensor:
    """Q [R, B, A] of a batch's pairs, by `q_of`; where nothing is kept for a way back, some pages at a time."""
    pages = reading.pages
    count = pages.states.shape[1]
    most = pages.actions.shape[2]
    words = max(
        _longest(reading.store.states, pages.states),
        most * _longest(reading.store.actions, pages.actions),
    )
    at_once = max(1, min(PAIRS_AT_ONCE // most, WORDS_AT_ONCE // words))
    if leaves is not None or count <= at_once:
        return q_of(paired(model, reading, leaves))
    parts = [slice(start, start + at_once) for start in range(0, count, at_once)]
    some = [Pages(pages.states[None, :, part], pages.actions[None, :, part]) for part in parts]
    return torch.cat(
        [q_of(paired(model, model.read(each, reading.store)[0], None)) for each in some], dim=1
    )


def _longest(texts: Lexicon, ids: Ids) -> int:
    """The words of the longest of some texts (-1: no text), at least 1."""
    there = ids[ids >= 0]
    return int((texts.starts[there + 1] - texts.starts[there]).max(initial=1))


@torch.no_grad()
def attention_of(model: Model, pages: Pages, store: Store) -> tuple[Tensor | None, Tensor | None]:
    """The weights of the words of states and of actions, [R, B, A, L] of pages [R, B]; None for a side without."""
    reading = model.read(Pages(pages.states[None], pages.actions[None]), store)[0]
    if model.reads_pairs:
        found = paired(model, reading, None)
        return found.state_weights, found.action_weights
    if not any(encoder.reads_pairs for encoder in model.encoders.values()):
        raise InputError(
            "the run's encoders give words no weights: only those trained with the encoder attention do"
        )
    most = pages.actions.shape[2]
    state = _alone(model, reading, "state")
    actions = [_alone(model, reading, f"action {place}") for place in range(most)]
    if state is not None:
        state = state.expand(-1, -1, most, -1)
    known = [weights for weights in actions if weights is not None]
    return state, _side_by_side(known) if len(known) == most else None


def _alone(model: Model, reading: Reading, name: str) -> Tensor | None:
    """The weights of texts that are read for themselves, [R, B, 1, L]; None for what the model does not read so."""
    if name not in reading.looks:
        return None
    found = opened(model, reading, name, None)
    at = reading.looks[name].places
    if found.encoder is None or found.mask is None or at is None:
        return None
    _, weights = found.encoder.attend(model, found.vectors, found.mask, None)
    replicas, texts, _, longest = weights.shape
    return weights.reshape(replicas * texts, longest)[at].unsqueeze(2)


def _side_by_side(weights: list[Tensor]) -> Tensor:
    """[R, B, 1, L] of each place, with texts of other lengths, to [R, B, A, L]."""
    longest = max(each.shape[3] for each in weights)
    return torch.cat(
        [torch.nn.functional.pad(each, (0, longest - each.shape[3])) for each in weights], dim=2
    )
