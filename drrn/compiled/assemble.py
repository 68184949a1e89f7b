"""From the states of a search to a compiled game: number the pages, merge bisimilar states.

Bisimulation: each state has a hash of what it shows. Each round mixes in the hashes of the states
that its actions lead to, with their probabilities, until the number of distinct hashes stops
growing. States with equal hashes (64 bits) behave the same and become one state.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drrn.compiled.game import Compiled, Floats, Ints, totals
from drrn.compiled.search import Face, States
from drrn.game.contract import Game, step_limit_of, title_of
from drrn.text import ranges

Hashes = NDArray[np.uint64]

MAX_LOOKUPS = 400_000_000
ROUNDS = 8  # between two counts of the hashes
SCALE = math.lcm(*range(1, 37))  # makes thirds, sixths, tenths … whole numbers, which add exactly


def assemble(game: Game, states: States) -> Compiled:
    """Return the compiled game. Row 0 stays the opening; states and rows keep their order."""
    faces = _Faces(states.faces)
    page_action, page_first = _flat(faces.menus)
    of_state, count, graph = _merge(states, faces, page_action, page_first)
    page, passage, ending_at = _ints(faces.parts)[of_state, :3].T
    return Compiled(
        name=game.name,
        title=title_of(game),
        max_steps=step_limit_of(game),
        texts=tuple(faces.texts),
        actions=tuple(faces.actions),
        passages=tuple(faces.passages),
        endings=tuple(faces.endings),
        page_text=_ints(faces.page_text),
        page_hypertext=np.array(faces.page_hypertext),
        page_first=page_first,
        page_action=page_action,
        page=page,
        passage=passage,
        reward=np.array([face.reward for face in states.faces])[of_state],
        ending_at=ending_at,
        first=_starts(count),
        **graph,
        raw_states=states.raw_states,
        raw_complete=states.raw_complete,
        live_states=len(states),
        unreached=states.unreached,
        shuffle=bool(getattr(game, "shuffle", False)),
    )


class _Numbers(dict[Any, int]):
    """Interned values: each distinct value gets the next id."""

    def __missing__(self, value: Hashable) -> int:
        number = len(self)
        self[value] = number
        return number


class _Faces:
    """Interned faces. The first face that shows a page determines the order of its actions."""

    def __init__(self, faces: Sequence[Face]) -> None:
        self.texts = _Numbers()
        self.actions = _Numbers()
        self.passages = _Numbers()
        self.endings = _Numbers()
        self.pages = _Numbers()
        self.kinds = _Numbers()  # what a state shows and pays
        self.page_text: list[int] = []
        self.page_hypertext: list[bool] = []
        self.menus: list[list[int]] = []  # actions of each page
        self.parts: list[tuple[int, int, int, int]] = []  # page, passage, ending, kind of each face
        self.positions: list[list[int]] = []  # of each page action among the actions of the face
        for face in faces:
            self._add(face)

    def _add(self, face: Face) -> None:
        text = self.texts[face.text]
        actions = [self.actions[action] for action in face.actions]
        page = self.pages[text, tuple(sorted(actions))]
        if page == len(self.menus):
            self.page_text.append(text)
            self.page_hypertext.append(face.hypertext)
            self.menus.append(actions)
        indices = np.empty(len(actions), np.intp)
        indices[np.argsort(self.menus[page], kind="stable")] = np.argsort(actions, kind="stable")
        self.positions.append(indices.tolist())
        ending = self.endings[face.ending] if face.ending else -1
        kind = self.kinds[page, face.reward, ending]
        self.parts.append((page, self.passages[face.passage], ending, kind))


def _merge(
    states: States, faces: _Faces, page_action: Ints, page_first: Ints
) -> tuple[Ints, Ints, dict[str, Any]]:
    """Merge bisimilar states and equal rows.

    Returns the face and the number of actions of each class of states, and the arrays of rows.
    """
    face = _ints(states.face)
    page, _, _, kind = _ints(faces.parts)[face].T  # [S] each
    first = _ints(states.first)
    count = np.diff(first)
    action = page_action[ranges(page_first[page], count)]
    position, position_first = _flat(faces.positions)
    in_page_order = position[ranges(position_first[face], count)]
    row = _ints(states.row)[np.repeat(first[:-1], count) + in_page_order]
    row_first = _ints(states.row_first)
    successor = _ints(states.successor)
    probability = np.array(states.probability)
    hashes = behaviour_hashes(kind, first, action, row, row_first, successor, probability)
    kept, state = _first_occurrences(hashes[0])
    used = np.concatenate([[0], row[ranges(first[kept], count[kept])]])
    kept_rows, row = _first_occurrences(hashes[1][used])
    graph = _merge_outcomes(used[kept_rows], row_first, state[successor], probability)
    return face[kept], count[kept], {"row": row[1:], **graph}


def _merge_outcomes(
    rows: Ints, row_first: Ints, successor: Ints, probability: Floats
) -> dict[str, Any]:
    """Return the outcomes of some rows; those that lead to the same state are added."""
    counts = np.diff(row_first)[rows]
    old = ranges(row_first[rows], counts)
    size = int(successor.max()) + 1
    owner = np.repeat(np.arange(len(rows)), counts)
    pairs, number = np.unique(owner * size + successor[old], return_inverse=True)
    merged = totals(number, probability[old], len(pairs))
    row = pairs // size
    merged /= totals(row, merged, len(rows))[row]  # so that the probabilities sum to exactly 1
    row_first = _starts(np.bincount(row))
    return {"row_first": row_first, "successor": pairs % size, "probability": merged}


def behaviour_hashes(
    kind: Ints,
    first: Ints,
    action: Ints,
    row: Ints,
    row_first: Ints,
    successor: Ints,
    probability: Floats,
) -> tuple[Hashes, Hashes]:
    """Return hashes of states and of rows that are equal if they behave the same.

    `kind` numbers what a state shows and pays, `action` the words of each slot; the order of a
    state's slots does not matter.
    """
    weight = np.rint(probability * SCALE).astype(np.uint64)
    action_hash = mix(action.astype(np.uint64))
    kind_hash = mix(kind.astype(np.uint64) + np.uint64(1))
    states = kind_hash
    distinct = 0
    lookups = 0
    while (count := len(np.unique(states))) > distinct:
        distinct = count
        lookups += ROUNDS * (len(states) + len(successor))
        if lookups > MAX_LOOKUPS:  # long chains need as many rounds as they are long: do not merge
            states = mix(np.arange(len(states), dtype=np.uint64))
            break
        for _ in range(ROUNDS):
            rows = _sums(weight * states[successor], row_first)
            states = mix(kind_hash + mix(_sums(mix(rows[row] + action_hash), first)))
    return states, _sums(weight * states[successor], row_first)


def mix(x: Hashes) -> Hashes:
    """SplitMix64: every bit of the result depends on every bit of x."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _sums(values: Hashes, first: Ints) -> Hashes:
    """Sum each range, modulo 2⁶⁴; an empty range gives 0."""
    cumulative = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    sums: Hashes = cumulative[first[1:]] - cumulative[first[:-1]]
    return sums


def _first_occurrences(hashes: Hashes) -> tuple[Ints, Ints]:
    """Return the index of each distinct hash's first occurrence, and each hash's number."""
    _, index, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(index)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return index[order], number[inverse]


def _flat(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return the concatenation of lists, and the start of each."""
    items = _ints([item for items in lists for item in items])
    return items, _starts(_ints([len(items) for items in lists]))


def _starts(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)])


def _ints(numbers: ArrayLike) -> Ints:
    return np.array(numbers, dtype=np.intp)
