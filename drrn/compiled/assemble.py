"""From the states that a search reached to a compiled game: pages numbered, bisimilar states merged, arrays made."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drrn.compiled.bisimulation import alike
from drrn.compiled.game import Compiled
from drrn.compiled.graph import Floats, Ints, totals
from drrn.compiled.reached import Face, States
from drrn.game.contract import Game
from drrn.game.optional import step_limit_of, title_of
from drrn.text import ranges


class _Numbers(dict[Any, int]):
    """Interned values: each distinct value gets the next id."""

    def __missing__(self, value: Hashable) -> int:
        self[value] = number = len(self)
        return number


@dataclass
class _Pages:
    """Interned pages: what players see. The first face that shows a page gives the order of its actions."""

    text_numbers: _Numbers = field(default_factory=_Numbers)
    action_numbers: _Numbers = field(default_factory=_Numbers)
    numbers: _Numbers = field(default_factory=_Numbers)
    text: list[int] = field(default_factory=list)
    hypertext: list[bool] = field(default_factory=list)
    actions: list[list[int]] = field(default_factory=list)

    def add(self, face: Face) -> tuple[int, list[int]]:
        """The number of a face's page, and for each of the page's actions its place on the face."""
        text = self.text_numbers[face.text]
        actions = [self.action_numbers[action] for action in face.actions]
        page = self.numbers[text, tuple(sorted(actions))]
        if page == len(self.text):
            self.text.append(text)
            self.hypertext.append(face.hypertext)
            self.actions.append(actions)
        places = np.empty(len(actions), np.intp)
        places[np.argsort(self.actions[page], kind="stable")] = np.argsort(actions, kind="stable")
        return page, places.tolist()


@dataclass
class _Faces:
    """Interned faces: the numbers of each face's parts, and for each of its page's actions the place on the face."""

    pages: _Pages = field(default_factory=_Pages)
    passages: _Numbers = field(default_factory=_Numbers)
    endings: _Numbers = field(default_factory=_Numbers)
    kinds: _Numbers = field(default_factory=_Numbers)  # what a state shows and pays
    parts: list[tuple[int, int, int, int]] = field(
        default_factory=list
    )  # page, passage, ending or -1, kind
    places: list[list[int]] = field(default_factory=list)

    def add(self, face: Face) -> None:
        page, places = self.pages.add(face)
        ending = self.endings[face.ending] if face.ending else -1
        self.parts.append(
            (page, self.passages[face.passage], ending, self.kinds[page, face.reward, ending])
        )
        self.places.append(places)


@dataclass(frozen=True)
class _Merged:
    """What is left when bisimilar states are one: which states are kept, and the rows of their slots."""

    kept: Ints
    row: Ints  # of each slot
    row_first: Ints
    successor: Ints
    probability: Floats


def assemble(game: Game, states: States) -> Compiled:
    """The compiled game. Row 0 stays the opening; states and rows keep the order in which they were found."""
    faces = _Faces()
    for face in states.faces:
        faces.add(face)
    pages = faces.pages
    face_of = _ints(states.face)
    page, passage, ending_at, kind = _ints(faces.parts)[face_of].T  # [S] each
    reward = np.array([face.reward for face in states.faces])[face_of]
    page_action, page_first = _flat(pages.actions)
    count = np.diff(_ints(states.first))
    action = page_action[ranges(page_first[page], count)]
    merged = _merged(states, kind, action, _rows_in_page_order(states, faces.places))
    kept = merged.kept
    return Compiled(
        name=game.name,
        title=title_of(game),
        max_steps=step_limit_of(game),
        texts=tuple(pages.text_numbers),
        actions=tuple(pages.action_numbers),
        passages=tuple(faces.passages),
        endings=tuple(faces.endings),
        page_text=_ints(pages.text),
        page_hypertext=np.array(pages.hypertext),
        page_first=page_first,
        page_action=page_action,
        page=page[kept],
        passage=passage[kept],
        reward=reward[kept],
        ending_at=ending_at[kept],
        first=_starts(count[kept]),
        row=merged.row,
        row_first=merged.row_first,
        successor=merged.successor,
        probability=merged.probability,
        raw_states=states.raw_states,
        raw_complete=states.raw_complete,
        live_states=len(states),
        unreached=states.unreached,
        shuffle=bool(getattr(game, "shuffle", False)),
    )


def _rows_in_page_order(states: States, places: list[list[int]]) -> Ints:
    """The row of each slot, the slots of a state in the order of its page's actions, not of its face's."""
    place, place_first = _flat(places)
    first = _ints(states.first)
    count = np.diff(first)
    in_page_order = place[ranges(place_first[_ints(states.face)], count)]
    row: Ints = _ints(states.row)[np.repeat(first[:-1], count) + in_page_order]
    return row


def _merged(states: States, kind: Ints, action: Ints, row: Ints) -> _Merged:
    """The first of the states that are alike stands for all of them; rows that are alike are one, too."""
    first = _ints(states.first)
    row_first = _ints(states.row_first)
    successor = _ints(states.successor)
    probability = np.array(states.probability)
    state_hash, row_hash = alike(kind, first, action, row, row_first, successor, probability)
    kept, state = _firsts(state_hash)
    used = np.concatenate([[0], row[ranges(first[kept], np.diff(first)[kept])]])
    kept_rows, row = _firsts(row_hash[used])
    return _Merged(
        kept, row[1:], *_outcomes(used[kept_rows], row_first, state[successor], probability)
    )


def _outcomes(
    rows: Ints, row_first: Ints, successor: Ints, probability: Floats
) -> tuple[Ints, Ints, Floats]:
    """The outcomes of some rows; those that now lead to the same state are one."""
    counts = np.diff(row_first)[rows]
    old = ranges(row_first[rows], counts)
    most = int(successor.max()) + 1
    owner = np.repeat(np.arange(len(rows)), counts)
    pairs, number = np.unique(owner * most + successor[old], return_inverse=True)
    merged = totals(number, probability[old], len(pairs))
    row = pairs // most
    merged /= totals(row, merged, len(rows))[
        row
    ]  # what many small chances add up to is 1, not nearly 1
    return _starts(np.bincount(row)), pairs % most, merged


def _firsts(hashes: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """Where each distinct hash stands first, in order, and the number of each hash by that order."""
    _, at, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(at)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return at[order], number[inverse]


def _flat(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """The items one after the other, and where each list starts."""
    return _ints([item for items in lists for item in items]), _starts(
        _ints([len(items) for items in lists])
    )


def _starts(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)])


def _ints(numbers: ArrayLike) -> Ints:
    return np.array(numbers, dtype=np.intp)
