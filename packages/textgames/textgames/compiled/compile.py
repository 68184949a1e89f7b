"""`compile_game`: all reachable states of a game as arrays, searched once and cached.

States that behave the same are merged. The cache has one file per game, named by a hash of the game
and of the code that compiles it.
"""

import contextlib
import dataclasses
import hashlib
import io
import itertools
import json
import logging
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache as memoise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textgames.arrays import Hashes, mix, ranges, starts_of
from textgames.compiled.game import Compiled, Floats, Ints, totals
from textgames.compiled.search import BreadthFirst, EndingId, Face, States, TooLargeError, refusal
from textgames.errors import InputError
from textgames.files import home, slug, write_atomically
from textgames.game import contract
from textgames.game.contract import Enumerable, Game, Searchable

LIMIT = 200_000  # states
MOST_STATES = 50_000  # states of a game that is compiled although nobody asked for it
MEMORY = 2_000  # MB
METHODS = {"opening": "()", "outcomes": "(state, index)", "look": "(state)"}

CODE = ("game", "compiled", "stories", "worlds", "suites")  # packages that results depend on
TABLES = "tables"  # everything that is not an array, as JSON

SCALE = math.lcm(*range(1, 37))  # makes thirds, sixths, tenths … whole numbers, which add exactly

Progress = Callable[[int], None]

log = logging.getLogger("textgames")


def compile_game(
    game: Game,
    *,
    limit: int = LIMIT,
    memory: int = MEMORY,
    progress: Progress | None = None,
    cache: Path | bool = True,
) -> Compiled:
    """Find every state that a game can reach and store them as arrays.

    Args:
        game: A game that lists its outcomes (see `textgames.game.contract`).
        limit: Largest number of states.
        memory: Largest size in MB (approximate).
        progress: Called with the number of states found so far.
        cache: A folder for compiled games, True for the default one, False for none. A game
            without a fingerprint is not cached, since changes to it could not be detected.

    Raises:
        InputError: The game cannot be compiled.

    Example:
        >>> game = textgames.compile_game(textgames.make("long-watch"))
        >>> textgames.best(game).score
    """
    if not contract.looks_like_a_game(game):
        cause = f"a value of type {type(game).__name__} is not a game"
        raise InputError(f"{cause}; pass a game, or open one by name with textgames.make")
    if isinstance(game, Compiled):
        return game
    if not can_be_compiled(game):
        missing = ", ".join(name + METHODS[name] for name in METHODS if not hasattr(game, name))
        lacks = f"{type(game).__name__} lacks {missing} (see docs/textgames/games.md)"
        raise refusal(game, f"it does not list its outcomes: {lacks}")
    folder = home() / "cache" if cache is True else cache or None
    path = _cache_path(game, folder) if folder and contract.has_fingerprint(game) else None
    compiled = _load(path, contract.story_of(game).shuffle) if path else None
    if compiled is None or not _is_within(compiled, limit, memory * 2**20):
        compiled = assemble(game, _search_once(game, path, limit, memory * 2**20, progress))
        # a result that a small limit truncated is not cached
        if path and (compiled.raw_complete or limit >= MOST_STATES):
            _save(compiled, path)
    return compiled


def is_cached(game: Game) -> bool:
    """Whether a game was compiled before, and its file is in the default folder."""
    return contract.has_fingerprint(game) and _cache_path(game, home() / "cache").is_file()


def _is_within(compiled: Compiled, limit: int, memory: int) -> bool:
    """Whether a search with these limits has the same result."""
    least = compiled.raw_states + 1 if compiled.raw_complete else MOST_STATES
    return max(least, compiled.live_states) <= limit and compiled.search_bytes <= memory


def can_be_compiled(game: Game) -> bool:
    """Whether the game lists its outcomes. It may still have too many states."""
    return isinstance(game, (Compiled, Enumerable, Searchable))


def _search_once(
    game: Game, path: Path | None, limit: int, memory: int, progress: Progress | None
) -> States:
    """The game's states. A failed search with a time limit is recorded, not repeated."""
    seconds = contract.story_of(game).search_seconds
    if path is None or seconds is None:
        return _search(game, limit, memory, progress)
    record = path.with_suffix(f".{limit}-{memory}.refused.json")
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        refused = json.loads(record.read_text(encoding="utf-8"))
        if float(refused["seconds"]) >= seconds:
            raise InputError(str(refused["why"]))
    try:
        return _search(game, limit, memory, progress)
    except InputError as error:
        with contextlib.suppress(OSError):
            record.parent.mkdir(parents=True, exist_ok=True)
            refused = {"seconds": seconds, "why": str(error)}
            record.write_text(json.dumps(refused), encoding="utf-8")
        raise


def _search(game: Game, limit: int, memory: int, progress: Progress | None) -> States:
    try:
        if isinstance(game, Searchable):
            states: States = game.reachable_states(limit, memory, progress)
        else:
            states = BreadthFirst(game, limit, memory).run(progress)
    except TooLargeError as error:
        raise refusal(game, f"{error}; raise the limit, or play it uncompiled") from error
    opening = [
        states.faces[states.face[state]] for state in states.successor[: states.row_first[1]]
    ]
    if all(face.ended for face in opening):
        passage = opening[0].passage
        what = f', passage "{passage}", has no links' if passage else " has no actions"
        raise refusal(game, f"its first page{what}, so it ends at once")
    return states


# --- the cache


def _cache_path(game: Game, folder: Path) -> Path:
    # what a player sees although the fingerprint leaves it out, such as paraphrases
    edition = contract.story_of(game).edition
    limit = str(contract.step_limit_of(game))
    parts = (
        _code_hash(),
        game.name,
        contract.title_of(game),
        limit,
        contract.fingerprint_of(game),
        edition,
    )
    digest = hashlib.sha256("\0".join(parts).encode())
    return folder / f"{slug(game.name)}-{digest.hexdigest()[:24]}.npz"


@memoise
def _code_hash() -> str:
    """Hash the compiler's source: a cache of another version is ignored."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for part in CODE:
        for path in sorted((*(package / part).rglob("*.py"), *(package / part).rglob("*.js"))):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _load(path: Path, shuffle: bool) -> Compiled | None:
    """The compiled game in a file, or None if it is missing or unreadable (logged)."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            values: dict[str, Any] = json.loads(file[TABLES].tobytes())
            for name in ("texts", "actions", "passages", "unreached"):
                values[name] = tuple(values[name])
            values["endings"] = tuple(EndingId(*ending) for ending in values["endings"])
            values |= {key: file[key] for key in file.files if key != TABLES}
        return Compiled(**values, shuffle=shuffle)
    except Exception as error:  # whatever NumPy raises for a damaged file
        log.warning("%s: not a compiled game (%s); compiling again", path, type(error).__name__)
        return None


def _save(compiled: Compiled, path: Path) -> None:
    """Write a compiled game atomically. A folder that cannot be written to is logged."""
    arrays: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for name in [each.name for each in dataclasses.fields(compiled) if each.name != "shuffle"]:
        value = getattr(compiled, name)
        if isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            tables[name] = value
    tables["endings"] = [dataclasses.astuple(ending) for ending in compiled.endings]
    arrays[TABLES] = np.frombuffer(json.dumps(tables).encode(), np.uint8)
    content = io.BytesIO()
    np.savez(content, **arrays)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.getvalue())
    except (OSError, InputError) as error:
        log.warning("%s: cannot be written (%s); the game will be compiled each time", path, error)


# --- from the states of a search to a compiled game
#
# Bisimulation: each state has a hash of what it shows. Each round mixes in the hashes of the states
# that its actions lead to, with their probabilities, until the number of distinct hashes stops
# growing. States with equal hashes (64 bits) behave the same and become one state.


def assemble(game: Game, states: States) -> Compiled:
    """The compiled game. Row 0 stays the opening, and states and rows keep their order."""
    faces = _Faces(states.faces)
    page_action, page_first = _flat(faces.menus)
    of_state, count, graph = _merge(states, faces, page_action, page_first)
    page, passage, ending_at = _ints(faces.parts)[of_state, :3].T
    return Compiled(
        name=game.name,
        title=contract.title_of(game),
        max_steps=contract.step_limit_of(game),
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
        first=starts_of(count),
        **graph,
        raw_states=states.raw_states,
        raw_complete=states.raw_complete,
        live_states=len(states),
        search_bytes=states.bytes,
        unreached=states.unreached,
        shuffle=contract.story_of(game).shuffle,
    )


def _numbers() -> defaultdict[Any, int]:
    """Interned values: each distinct value gets the next id."""
    return defaultdict(itertools.count().__next__)


class _Faces:
    """Interned faces. The first face that shows a page determines the order of its actions."""

    def __init__(self, faces: Sequence[Face]) -> None:
        self.texts = _numbers()
        self.actions = _numbers()
        self.passages = _numbers()
        self.endings = _numbers()
        self.pages = _numbers()
        self.kinds = _numbers()  # what a state shows and pays
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
    weight = np.rint(probability * SCALE).astype(np.uint64)
    hashes = _behaviour_hashes(kind, first, action, row, row_first, successor, weight)
    kept, state = _first_occurrences(hashes[0])
    used = np.concatenate([[0], row[ranges(first[kept], count[kept])]])
    kept_rows, row = _first_occurrences(hashes[1][used])
    graph = _merge_outcomes(used[kept_rows], row_first, state[successor], probability)
    return face[kept], count[kept], {"row": row[1:], **graph}


def _merge_outcomes(
    rows: Ints, row_first: Ints, successor: Ints, probability: Floats
) -> dict[str, Any]:
    """The outcomes of some rows. Those that lead to the same state are added."""
    counts = np.diff(row_first)[rows]
    old = ranges(row_first[rows], counts)
    size = int(successor.max()) + 1
    owner = np.repeat(np.arange(len(rows)), counts)
    pairs, number = np.unique(owner * size + successor[old], return_inverse=True)
    merged = totals(number, probability[old], len(pairs))
    row = pairs // size
    merged /= totals(row, merged, len(rows))[row]  # so that the probabilities sum to exactly 1
    row_first = starts_of(np.bincount(row))
    return {"row_first": row_first, "successor": pairs % size, "probability": merged}


def _behaviour_hashes(
    kind: Ints,
    first: Ints,
    action: Ints,
    row: Ints,
    row_first: Ints,
    after: Ints,
    weight: Hashes,
    most_lookups: int = 400_000_000,
) -> tuple[Hashes, Hashes]:
    """Hashes of states and of rows that are equal if they behave the same.

    `kind` numbers what a state shows and pays, `action` the words of each slot. The order of a
    state's slots does not matter.
    """
    rounds = 8  # between two counts of the hashes
    action_hash = mix(action.astype(np.uint64))
    kind_hash = mix(kind.astype(np.uint64) + np.uint64(1))
    states = kind_hash
    distinct = 0
    lookups = 0
    while (count := len(np.unique(states))) > distinct:
        distinct = count
        lookups += rounds * (len(states) + len(after))
        if lookups > most_lookups:  # long chains need as many rounds as they are long: do not merge
            states = mix(np.arange(len(states), dtype=np.uint64))
            break
        for _ in range(rounds):
            rows = _sums(weight * states[after], row_first)
            states = mix(kind_hash + mix(_sums(mix(rows[row] + action_hash), first)))
    return states, _sums(weight * states[after], row_first)


def _sums(values: Hashes, first: Ints) -> Hashes:
    """Sum each range, modulo 2⁶⁴. An empty range gives 0."""
    cumulative = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    sums: Hashes = cumulative[first[1:]] - cumulative[first[:-1]]
    return sums


def _first_occurrences(hashes: Hashes) -> tuple[Ints, Ints]:
    """The index of each distinct hash's first occurrence, and each hash's number."""
    _, index, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(index)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return index[order], number[inverse]


def _flat(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """The concatenation of lists, and the start of each."""
    items = _ints([item for items in lists for item in items])
    return items, starts_of([len(items) for items in lists])


def _ints(numbers: ArrayLike) -> Ints:
    return np.array(numbers, dtype=np.intp)
