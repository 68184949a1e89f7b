"""Menus of actions in ragged arrays: each list of actions once, one after the other, so that memory follows the actions
that are there, whatever the widest menu has."""

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
    """The menu of each of N pages: page i shows `actions[first[m] : first[m + 1]]`, where m is `which[i]`."""

    which: Ids  # [N]
    first: Ids  # [M + 1]
    actions: Ids  # of all menus end to end

    @staticmethod
    def of(menus: Sequence[Sequence[int]]) -> Menus:
        """Of lists; a list that several pages share as one object is kept once."""
        numbers: dict[int, int] = {}
        which = np.array([numbers.setdefault(id(menu), len(numbers)) for menu in menus], np.int64)
        kept = list({id(menu): menu for menu in menus}.values())
        return Menus(
            which, starts_of([len(menu) for menu in kept]), np.array(list(chain(*kept)), np.int64)
        )

    @staticmethod
    def of_padded(menus: Ids) -> Menus:
        """Of menus side by side [N, A], -1 where one has no more."""
        mask = menus >= 0
        return Menus(
            np.arange(len(menus)), starts_of(mask.sum(axis=1)), menus[mask].astype(np.int64)
        )

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, rows: Ids | slice | NDArray[np.bool_]) -> Menus:
        return Menus(self.which[rows], self.first, self.actions)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Ids:
        return self.padded().astype(dtype or np.int64)

    @cached_property
    def counts(self) -> Ids:
        """How many actions each page shows, [N]."""
        found: Ids = np.diff(self.first)[self.which]
        return found

    @property
    def widest(self) -> int:
        """The most actions that any menu has, those included that no page shows; at least 1."""
        return max(1, int(np.diff(self.first).max(initial=0)))

    def at(self, places: Ids) -> Ids:
        """The action at a place of each page, [N]."""
        found: Ids = self.actions[self.first[self.which] + places]
        return found

    def flat(self) -> Ids:
        """The actions of all pages end to end."""
        found: Ids = self.actions[ranges(self.first[self.which], self.counts)]
        return found

    def padded(self, width: int | None = None) -> Ids:
        """Side by side, -1 where a page has no more: [N, width]."""
        found = np.full((len(self), width or self.widest), -1, np.int64)
        found[np.arange(found.shape[1]) < self.counts[:, None]] = self.flat()
        return found

    def joined(self, below: Menus) -> Menus:
        """These pages, then those."""
        if below.actions is self.actions:
            return Menus(np.concatenate([self.which, below.which]), self.first, self.actions)
        return Menus(
            np.concatenate([self.which, below.which + len(self.first) - 1]),
            np.concatenate([self.first, below.first[1:] + self.first[-1]]),
            np.concatenate([self.actions, below.actions]),
        )

    def used(self) -> Menus:
        """The same pages, without menus that none of them shows."""
        kept, which = np.unique(self.which, return_inverse=True)
        counts = np.diff(self.first)[kept]
        return Menus(
            which.astype(np.int64),
            starts_of(counts),
            self.actions[ranges(self.first[kept], counts)],
        )


class MenuStore:
    """Menus that come and go: new ones are added, those in use are kept. One that is wide is kept once, however often
    it is shown; small ones are as small as what it would take to find them again."""

    def __init__(self) -> None:
        self.widest = 1  # of all menus that were ever added
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
        """Keep the menus of some pages; the number of each page's."""
        self.widest = max(self.widest, menus.widest)
        new = menus.used()
        counts = np.diff(new.first)
        numbers = np.full(len(counts), -1, np.int64)
        same = np.arange(len(counts))
        seen: dict[bytes, int] = {}
        for menu in np.flatnonzero(counts > NARROW).tolist():
            key = _key(new.actions[new.first[menu] : new.first[menu + 1]])
            numbers[menu], same[menu] = self._wide.get(key, -1), seen.setdefault(key, menu)
        fresh = (numbers < 0) & (same == np.arange(len(same)))
        numbers[fresh] = self.count + np.arange(int(fresh.sum()))
        self._wide |= {key: int(numbers[menu]) for key, menu in seen.items()}
        self._append(counts[fresh], new.actions[ranges(new.first[:-1][fresh], counts[fresh])])
        found: Ids = numbers[same[new.which]]
        return found

    def of(self, numbers: Ids) -> Menus:
        """The menus by their numbers, [N]."""
        actions: Any = self._actions  # in fewer bytes than ids elsewhere
        return Menus(numbers.astype(np.int64), self._first[: self.count + 1], actions)

    def keep(self, used: Ids) -> Ids:
        """Forget all but the used menus (ascending numbers); the new number of each old one."""
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
        self._know_wide(counts)
        return renumbered

    def renumber(self, actions: Ids) -> None:
        """Action i is now `actions[i]`."""
        mine = self._actions[: self._first[self.count]]
        mine[...] = actions[mine]
        self._know_wide(np.diff(self._first[: self.count + 1]))

    def restore(self, first: Ids, actions: Ids, widest: int) -> None:
        self.count = len(first) - 1
        self.widest = widest
        self._first = np.array(first, np.int64)
        self._actions = np.array(actions, np.int32)
        self._know_wide(np.diff(self._first))

    def state(self) -> tuple[Ids, NDArray[np.int32], int]:
        return self._first[: self.count + 1], self._actions[: self._first[self.count]], self.widest

    def _append(self, counts: Ids, actions: NDArray[np.integer]) -> None:
        begin = int(self._first[self.count])
        end = int(self._first[self.count]) + len(actions)
        self._first = room(self._first, self.count + len(counts) + 1)
        self._first[self.count + 1 : self.count + len(counts) + 1] = begin + np.cumsum(counts)
        self._actions = room(self._actions, end)
        self._actions[begin:end] = actions
        self.count += len(counts)

    def _know_wide(self, counts: Ids) -> None:
        self._wide = {
            _key(self._actions[self._first[menu] : self._first[menu + 1]]): menu
            for menu in np.flatnonzero(counts > NARROW).tolist()
        }


def _key(actions: NDArray[np.integer]) -> bytes:
    """What stands for a menu: a hash that no two menus share."""
    return hashlib.blake2b(actions.astype(np.int32).tobytes(), digest_size=16).digest()


def starts_of(counts: Sequence[int] | Ids) -> Ids:
    """Where each of some parts begins, laid end to end, and where the last one ends: [M + 1]."""
    found = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=found[1:])
    return found


def alike_in_width(counts: Ids, widest: int) -> Iterator[tuple[Ids, int]]:
    """Pages in groups that can be laid side by side without much room for nothing: the places of each group's pages,
    and their width. Where no menu is wide it is one group."""
    if widest <= NARROW:
        yield np.arange(len(counts)), widest
        return
    classes = np.ceil(np.log2(np.maximum(counts, NARROW))).astype(np.int64)
    for each in np.unique(classes).tolist():
        rows = np.flatnonzero(classes == each)
        yield rows, max(1, int(counts[rows].max()))
