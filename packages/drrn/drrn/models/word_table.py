"""Tables of word vectors that grow with the vocabulary, their initial values, sums of rows.

Initial weights depend on a name and a seed alone. So a word starts from the same numbers whether it
is loaded in advance or met late, and a replica starts from the same numbers alone as in a batch of
five.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.text import Lexicon, Vocabulary
from textgames.arrays import GAMMA, Ids, mix

# Uniform in ±0.1: the sum over a bag of 75 words then has a spread of about 0.6, where tanh is
# nearly linear, and initial Q-values differ by less than 1, so that softmax starts by exploring.
SCALE = 0.1


def small_random(
    names: Sequence[str], width: int, seed: int, scale: float = SCALE
) -> NDArray[np.float32]:
    """Numbers in ±scale that follow from the names and the seed alone: [names, width]."""
    digests = [hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest() for name in names]
    keys = np.frombuffer(b"".join(digests), "<u8").reshape(-1, 1)
    bits = mix(keys + GAMMA * np.arange(width, dtype=np.uint64))  # one stream for each name
    unit = (bits >> np.uint64(40)).astype(np.float32) / np.float32(2**24)  # [0, 1)
    rows: NDArray[np.float32] = (2 * unit - 1) * np.float32(scale)
    return rows


def resize_like(tensor: Tensor, like: Tensor) -> Tensor:
    """The tensor in the shape of another one, cut or padded with zeros."""
    resized = torch.zeros_like(like)
    common = tuple(slice(min(sizes)) for sizes in zip(tensor.shape, like.shape, strict=True))
    resized[common] = tensor[common]
    return resized


def bag_sums(rows: Tensor, members: Ids, starts: Ids, counts: NDArray[np.float32]) -> Tensor:
    """Sums of rows [N, H] times counts. Bag i starts at `members[starts[i]]`."""
    return functional.embedding_bag(
        torch.from_numpy(members).to(rows.device),
        rows,
        torch.from_numpy(starts).to(rows.device),
        mode="sum",
        per_sample_weights=torch.from_numpy(counts).to(rows.device),
    )


class WordTable:
    """Word vectors of all replicas, [R, V, H]. V grows with the vocabulary.

    A replica's row is zero until that replica has met the word.
    """

    def __init__(
        self, name: str, vocabulary: Vocabulary, width: int, seeds: list[int], device: torch.device
    ) -> None:
        self.name = name
        self.vocabulary = vocabulary
        self.width = width
        self.seeds = seeds
        self.device = device
        self.scale = SCALE
        self.weight = torch.zeros(len(seeds), 0, width, device=device)
        self.known = np.zeros((len(seeds), 0), bool)

    def meet(self, replica: int, word_ids: Ids) -> None:
        """Give the replica initial rows for the words that are new to it."""
        self.make_room()
        new = np.unique(word_ids[~self.known[replica, word_ids]])
        if len(new) == 0:
            return
        names = [f"{self.name} {self.vocabulary.spelled[number]}" for number in new]
        rows = small_random(names, self.width, self.seeds[replica], self.scale)
        at = torch.from_numpy(new).to(self.device)
        self.weight[replica, at] = torch.from_numpy(rows).to(self.device)
        self.known[replica, new] = True

    def known_words(self, texts: Lexicon, ids: Ids) -> tuple[Ids, Ids]:
        """The words of texts [R, U] that each replica has met, and their number per text.

        The words are concatenated, the numbers are [R, U]. The id -1 is no text.
        """
        lengths = texts.lengths(ids)
        words = texts.words_of(ids.ravel())
        text = np.repeat(np.arange(ids.size), lengths.ravel())
        is_known = self.known[text // ids.shape[1], words]
        if is_known.all():
            return words, lengths
        counts = np.bincount(text[is_known], minlength=ids.size)
        return words[is_known], counts.reshape(ids.shape)

    def state(self) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The vectors of all words [R, V, H], and whether each replica has met them."""
        self.make_room()
        words = len(self.vocabulary)
        return self.weight[:, :words].cpu().numpy(), self.known[:, :words]

    def restore(self, weight: NDArray[np.float32], known: NDArray[np.bool_]) -> None:
        self.weight = torch.from_numpy(weight).to(self.device)
        self.known = known

    def frozen(self) -> WordTable:
        twin = copy.copy(self)
        twin.weight = self.weight.clone()
        twin.known = self.known.copy()
        return twin

    def make_room(self) -> None:
        """Grow to a row for every word of the vocabulary, by doubling."""
        need = len(self.vocabulary.spelled)
        have = self.weight.shape[1]
        if need <= have:
            return
        more = max(need, 2 * have) - have
        self.weight = functional.pad(self.weight, (0, 0, 0, more))
        self.known = np.pad(self.known, [(0, 0), (0, more)])
