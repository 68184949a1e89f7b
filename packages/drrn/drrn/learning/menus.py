"""Menus of actions as ragged arrays: memory grows with the actions, not with the widest menu."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from drrn.models.base import NARROW
from textgames.arrays import Ids, ranges, starts_of


@dataclass(frozen=True, eq=False)
class Menus:
    """Menus of N pages: page i shows `actions[first[m] : first[m + 1]]`, with m = `which[i]`."""

    which: Ids  # [N]
    first: Ids  # [M + 1]
    actions: Ids  # of all menus, end to end

    @staticmethod
    def of(menus: Sequence[Sequence[int]]) -> Menus:
        """The menus of lists. A list object that several pages share is stored once."""
        numbers: dict[int, int] = {}
        which = np.array([numbers.setdefault(id(menu), len(numbers)) for menu in menus], np.int64)
        distinct = list({id(menu): menu for menu in menus}.values())
        actions = np.array(list(chain(*distinct)), np.int64)
        return Menus(which, starts_of([len(menu) for menu in distinct]), actions)

    @staticmethod
    def of_padded(menus: Ids) -> Menus:
        """The menus of rows [N, A] that are padded with -1."""
        mask = menus >= 0
        return Menus(np.arange(len(menus)), starts_of(mask.sum(axis=1)), menus[mask])

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, rows: Ids | slice | NDArray[np.bool_]) -> Menus:
        return Menus(self.which[rows], self.first, self.actions)

    @cached_property
    def counts(self) -> Ids:
        """The number of actions of each page, [N]."""
        return np.asarray(np.diff(self.first)[self.which])

    @property
    def widest(self) -> int:
        """The size of the largest menu, displayed or not, and at least 1."""
        return max(1, int(np.diff(self.first).max(initial=0)))

    def flat(self) -> Ids:
        """The actions of all pages, end to end."""
        return np.asarray(self.actions[ranges(self.first[self.which], self.counts)])

    def padded(self, width: int | None = None) -> Ids:
        """Return one row for each page, padded with -1: [N, width]."""
        table = np.full((len(self.which), width or self.widest), -1, np.int64)
        table[np.arange(table.shape[1]) < self.counts[:, None]] = self.flat()
        return table

    def used(self) -> Menus:
        """The same pages without menus that none of them shows."""
        numbers, which = np.unique(self.which, return_inverse=True)
        counts = np.diff(self.first)[numbers]
        actions = self.actions[ranges(self.first[numbers], counts)]
        return Menus(which.astype(np.int64), starts_of(counts), actions)


def groups_by_width(counts: Ids, widest: int) -> Iterator[tuple[Ids, int]]:
    """Groups of pages of similar width, and the width. One group, if no menu is wide."""
    if widest <= NARROW:
        yield np.arange(len(counts)), widest
        return
    classes = np.ceil(np.log2(np.maximum(counts, NARROW))).astype(np.int64)
    for each in np.unique(classes).tolist():
        rows = np.flatnonzero(classes == each)
        yield rows, max(1, int(counts[rows].max()))
