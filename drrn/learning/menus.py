"""Menus of actions as ragged arrays: memory grows with the actions, not with the widest menu."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.models.base import NARROW
from drrn.text import Ids, ranges, room


@dataclass(frozen=True, eq=False)
class Menus:
    """Menus of N pages: page i shows `actions[first[m] : first[m + 1]]`, with m = `which[i]`."""

    which: Ids  # [N]
    first: Ids  # [M + 1]
    actions: Ids  # of all menus, end to end

    @staticmethod
    def of(menus: Sequence[Sequence[int]]) -> Menus:
        """Return the menus of lists; a list object that several pages share is stored once."""
        numbers: dict[int, int] = {}
        which = np.array([numbers.setdefault(id(menu), len(numbers)) for menu in menus], np.int64)
        distinct = list({id(menu): menu for menu in menus}.values())
        actions = np.array(list(chain(*distinct)), np.int64)
        return Menus(which, starts_of([len(menu) for menu in distinct]), actions)

    @staticmethod
    def of_padded(menus: Ids) -> Menus:
        """Return the menus of rows [N, A] that are padded with -1."""
        mask = menus >= 0
        actions = menus[mask].astype(np.int64)
        return Menus(np.arange(len(menus)), starts_of(mask.sum(axis=1)), actions)

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, rows: Ids | slice | NDArray[np.bool_]) -> Menus:
        return Menus(self.which[rows], self.first, self.actions)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Ids:
        return self.padded().astype(dtype or np.int64)

    @cached_property
    def counts(self) -> Ids:
        """The number of actions of each page, [N]."""
        return np.asarray(np.diff(self.first)[self.which])

    @property
    def widest(self) -> int:
        """The size of the largest menu, also of those that no page shows; at least 1."""
        return max(1, int(np.diff(self.first).max(initial=0)))

    def at(self, index: Ids) -> Ids:
        """Return the action at an index of each page, [N]."""
        return np.asarray(self.actions[self.first[self.which] + index])

    def flat(self) -> Ids:
        """Return the actions of all pages, end to end."""
        return np.asarray(self.actions[ranges(self.first[self.which], self.counts)])

    def padded(self, width: int | None = None) -> Ids:
        """Return one row for each page, padded with -1: [N, width]."""
        table = np.full((len(self), width or self.widest), -1, np.int64)
        table[np.arange(table.shape[1]) < self.counts[:, None]] = self.flat()
        return table

    def joined(self, below: Menus) -> Menus:
        """Return the menus of these pages, then of those."""
        if below.actions is self.actions:
            return Menus(np.concatenate([self.which, below.which]), self.first, self.actions)
        return Menus(
            np.concatenate([self.which, below.which + len(self.first) - 1]),
            np.concatenate([self.first, below.first[1:] + self.first[-1]]),
            np.concatenate([self.actions, below.actions]),
        )

    def used(self) -> Menus:
        """Return the same pages without menus that none of them shows."""
        numbers, which = np.unique(self.which, return_inverse=True)
        counts = np.diff(self.first)[numbers]
        actions = self.actions[ranges(self.first[numbers], counts)]
        return Menus(which.astype(np.int64), starts_of(counts), actions)


class MenuStore:
    """A growing collection of menus; unused ones can be dropped.

    A wide menu is stored once, however often it is added; small ones are as small as the key that
    would be needed to find them.
    """

    def __init__(self) -> None:
        self.widest = 1  # size of the largest menu ever added
        self.clear()

    def clear(self) -> None:
        self.count = 0
        self._first = np.zeros(64, np.int64)
        self._actions = np.zeros(256, np.int32)
        self._wide: dict[bytes, int] = {}  # the number of each wide menu, by its actions

    @property
    def nbytes(self) -> int:
        return self._first.nbytes + self._actions.nbytes

    def add(self, menus: Menus) -> Ids:
        """Add the menus of some pages; return the number of each page's menu."""
        self.widest = max(self.widest, menus.widest)
        new = menus.used()
        counts = np.diff(new.first)
        numbers = np.full(len(counts), -1, np.int64)
        same = np.arange(len(counts))
        firsts: dict[bytes, int] = {}
        for menu in np.flatnonzero(counts > NARROW).tolist():
            key = _key(new.actions[new.first[menu] : new.first[menu + 1]])
            numbers[menu] = self._wide.get(key, -1)
            same[menu] = firsts.setdefault(key, menu)
        fresh = (numbers < 0) & (same == np.arange(len(same)))
        numbers[fresh] = self.count + np.arange(int(fresh.sum()))
        self._wide |= {key: int(numbers[menu]) for key, menu in firsts.items()}
        self._append(counts[fresh], new.actions[ranges(new.first[:-1][fresh], counts[fresh])])
        return np.asarray(numbers[same[new.which]])

    def of(self, numbers: Ids) -> Menus:
        """Return menus by their numbers, [N]."""
        actions: Any = self._actions  # int32, smaller than ids elsewhere
        return Menus(numbers.astype(np.int64), self._first[: self.count + 1], actions)

    def keep(self, used: Ids) -> Ids:
        """Drop all but the used menus (ascending numbers); return the new number of each menu."""
        renumbered = np.full(self.count, -1, np.int64)
        renumbered[used] = np.arange(len(used))
        first = self._first
        counts = first[used + 1] - first[used]
        actions = self._actions[ranges(first[used], counts)]
        self.count = 0
        self._wide = {}
        self._first = np.zeros(64, np.int64)
        self._actions = actions[:0]
        self._append(counts, actions)
        self._index_wide(counts)
        return renumbered

    def renumber(self, actions: Ids) -> None:
        """Action i is now `actions[i]`."""
        ids = self._actions[: self._first[self.count]]
        ids[...] = actions[ids]
        self._index_wide(np.diff(self._first[: self.count + 1]))

    def restore(self, first: Ids, actions: Ids, widest: int) -> None:
        self.count = len(first) - 1
        self.widest = widest
        self._first = np.array(first, np.int64)
        self._actions = np.array(actions, np.int32)
        self._index_wide(np.diff(self._first))

    def state(self) -> tuple[Ids, NDArray[np.int32], int]:
        return self._first[: self.count + 1], self._actions[: self._first[self.count]], self.widest

    def _append(self, counts: Ids, actions: NDArray[np.integer]) -> None:
        start = int(self._first[self.count])
        end = start + len(actions)
        self._first = room(self._first, self.count + len(counts) + 1)
        self._first[self.count + 1 : self.count + len(counts) + 1] = start + np.cumsum(counts)
        self._actions = room(self._actions, end)
        self._actions[start:end] = actions
        self.count += len(counts)

    def _index_wide(self, counts: Ids) -> None:
        self._wide = {
            _key(self._actions[self._first[menu] : self._first[menu + 1]]): menu
            for menu in np.flatnonzero(counts > NARROW).tolist()
        }


def _key(actions: NDArray[np.integer]) -> bytes:
    """Return a hash of a menu, long enough to be unique."""
    return hashlib.blake2b(actions.astype(np.int32).tobytes(), digest_size=16).digest()


def starts_of(counts: Sequence[int] | Ids) -> Ids:
    """Return where parts of these sizes start when laid end to end, and where the last one ends."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def groups_by_width(counts: Ids, widest: int) -> Iterator[tuple[Ids, int]]:
    """Yield groups of pages of similar width, and the width, to be padded with little waste.

    If no menu is wide, there is one group.
    """
    if widest <= NARROW:
        yield np.arange(len(counts)), widest
        return
    classes = np.ceil(np.log2(np.maximum(counts, NARROW))).astype(np.int64)
    for each in np.unique(classes).tolist():
        rows = np.flatnonzero(classes == each)
        yield rows, max(1, int(counts[rows].max()))
