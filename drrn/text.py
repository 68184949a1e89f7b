"""Words, vocabularies and interned texts: each distinct text is read once and from then on is a number.

A text is its sequence of words (`writing` says what a word is); a bag of words is one thing that can be made of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from drrn.writing import words as words

MOST_WORDS = 50_000  # of a vocabulary: a game that shows ever new numbers would fill all memory with their vectors
RECENT = 4096  # texts that a store knows by themselves

Ids = NDArray[np.int64]
State = Mapping[str, Any]  # what a part keeps from round to round: arrays, and what JSON can hold


def text_key(text: str) -> bytes:
    """16 bytes that stand for a text, so that a million texts need not be kept to be known again."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Vocabulary:
    """Words, each with a number in the order in which they were met."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.restore(known)

    def restore(self, known: Iterable[str]) -> None:
        """Replace the words by these."""
        self.spelled: list[str] = list(dict.fromkeys(known))  # by number
        self.numbers: dict[str, int] = {word: number for number, word in enumerate(self.spelled)}

    def __len__(self) -> int:
        return len(self.spelled)

    def read(self, found: Sequence[str], *, grow: bool) -> list[int]:
        """The numbers of words; a new one gets the next number, or, where it must not grow any more, is left out."""
        for word in found if grow else ():
            if word not in self.numbers and len(self.spelled) < MOST_WORDS:
                self.numbers[word] = len(self.spelled)
                self.spelled.append(word)
        return [self.numbers[word] for word in found if word in self.numbers]


class Lexicon:
    """A vocabulary, and interned texts: each distinct text gets the next id, and is kept as the numbers of its words.

    The sequences of all texts lie in one array, `sequence`; text i has the slice from `starts[i]` to `starts[i + 1]`.
    A `scratch` store reads with the same vocabulary and leaves this one as it is.
    """

    keeps_texts = (
        False  # whether texts are kept as they were written, too, for an encoder that reads them so
    )
    keeps_unknown = False  # whether scratch stores keep the words that the vocabulary does not have, for an encoder

    def __init__(self, vocabulary: Vocabulary, parent: Lexicon | None = None) -> None:
        self.vocabulary = vocabulary
        self.parent = parent
        self.generation = 0  # raised whenever ids change their meaning
        self.whole: tuple[Lexicon, Ids] | None = (
            None  # of a thinned one: where its texts stand whole, and their ids
        )
        self.blur: NDArray[np.float32] | None = (
            None  # of a thinned one: what is added to the vector of each text
        )
        self.forget()

    def __len__(self) -> int:
        return len(self._ids)

    def id(self, text: str) -> int:
        """The text's number; a text not met before is read and kept."""
        found = self._recent.get(text)
        if found is None:
            key = text_key(text)
            found = self._ids.get(key)
            if found is None:
                found = self._intern(key, text)
            if len(self._recent) >= RECENT:
                self._recent.clear()
            self._recent[text] = found
        return found

    def scratch(self) -> Lexicon:
        """A store for a while, which learns no words: an unknown one counts for nothing, or is `unknown`."""
        return Lexicon(self.vocabulary, parent=self)

    def thinned(
        self, texts: Ids, kept: NDArray[np.bool_], put_in: tuple[Ids, Ids] | None = None
    ) -> Lexicon:
        """A lexicon whose text i is `texts[i]` (-1: no text) without some of its words: `kept` says of each word of
        each text's bag, one bag after the other, whether it stays, wherever it stands in the text. `put_in` are places
        among the texts, ascending, and words that each gets at its end."""
        bags = self.bags()
        size = len(self.vocabulary) + 1
        word_ids, _, lengths = bags.gathered(texts)
        stays = (
            np.repeat(np.arange(len(texts)), lengths) * size + word_ids
        )  # ascending, as the words of a bag are
        first = self._starts[texts]
        counts = np.where(texts < 0, 0, self._starts[texts + 1] - first)
        sequence = self._sequence[ranges(first, counts)]
        owner = np.repeat(np.arange(len(texts)), counts)
        on = kept[np.searchsorted(stays, owner * size + sequence)]
        sequence = sequence[on]
        owner = owner[on]
        if put_in is not None:
            owner = np.concatenate([owner, put_in[0]])
            order = np.argsort(owner, kind="stable")
            sequence = np.concatenate([sequence, put_in[1].astype(np.int32)])[order]
            owner = owner[order]
        found = Lexicon(self.vocabulary)
        found.whole = (self, texts)
        found._ids = {number.to_bytes(16, "little"): number for number in range(len(texts))}
        found._starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(texts)))])
        found._sequence = sequence
        return found

    @property
    def starts(self) -> Ids:
        return self._starts[: len(self) + 1]

    @property
    def sequence(self) -> NDArray[np.int32]:
        return self._sequence[: self._starts[len(self)]]

    @property
    def parent_ids(self) -> Ids:
        """Of a scratch store: each text's id in the store that it was made from, -1 where that does not have it."""
        assert self.parent is not None
        known = self.parent._ids
        return np.array([known.get(key, -1) for key in self._ids], np.int64)

    def words_of(self, texts: Ids) -> Ids:
        """The words of some texts, end to end."""
        first = self._starts[texts]
        return self._sequence[ranges(first, self._starts[texts + 1] - first)].astype(np.int64)

    def bags(self, norm: float | None = None) -> Bags:
        """The bag of words of every text: raw counts, or counts scaled to that Euclidean length."""
        kept = self._bags.get(norm)
        if kept is None:
            kept = self._bags[norm] = Bags(norm)
        kept.follow(self)
        return kept

    def forget(self) -> None:
        """Forget all texts; the vocabulary stays."""
        self.generation += 1
        self._ids: dict[bytes, int] = {}
        self._recent: dict[
            str, int
        ] = {}  # some texts themselves, which are found faster than their keys
        self._starts = np.zeros(256, np.int64)
        self._sequence = np.zeros(4096, np.int32)
        self._bags: dict[float | None, Bags] = {}
        self.spoken: list[str] = []  # the texts as they were written, where they are kept
        self.unknown: dict[
            int, list[str]
        ] = {}  # of a scratch store: words of a text that have no number

    def keep(self, used: Ids) -> Ids:
        """Forget all but the used texts; the new id of each old one, -1 for what was forgotten."""
        # the last is for -1, no text
        keys = list(self._ids)
        renumbered = np.full(len(self) + 1, -1, np.int64)
        renumbered[used] = np.arange(len(used))
        if len(used) < len(self):
            starts = self._starts
            sequence = self._sequence
            spoken = self.spoken
            self.forget()
            self.spoken = [spoken[text] for text in used.tolist()] if self.keeps_texts else []
            lengths = starts[used + 1] - starts[used]
            self._ids = {keys[text]: number for number, text in enumerate(used.tolist())}
            self._starts = np.concatenate([[0], np.cumsum(lengths)])
            self._sequence = sequence[ranges(starts[used], lengths)]
        return renumbered

    @property
    def keys(self) -> list[str]:
        """What stands for each text, in hexadecimal digits."""
        return [key.hex() for key in self._ids]

    def restore_keys(self, keys: Iterable[str]) -> None:
        """Know texts by their keys alone, for a model that asks which text it is, and not for its words."""
        self.forget()
        self._ids = {bytes.fromhex(key): number for number, key in enumerate(keys)}
        self._starts = np.zeros(len(self._ids) + 2, np.int64)

    def state(self) -> State:
        keys = np.frombuffer(b"".join(self._ids), np.int32).reshape(-1, 4)
        spoken = {"spoken": self.spoken} if self.keeps_texts else {}
        return {"starts": self.starts, "sequence": self.sequence, "keys": keys, **spoken}

    def restore(self, state: State) -> None:
        """Restore what `state` returned; the vocabulary must already be restored."""
        self.forget()
        self._starts = state["starts"]
        self._sequence = state["sequence"]
        self.spoken = list(state.get("spoken", ()))
        keys = np.ascontiguousarray(state["keys"]).tobytes()
        self._ids = {keys[at : at + 16]: at // 16 for at in range(0, len(keys), 16)}

    def _intern(self, key: bytes, text: str) -> int:
        found = words(text)
        read = self.vocabulary.read(found, grow=self.parent is None)
        number = self._ids[key] = len(self)
        if self.keeps_texts or (self.parent is not None and self.parent.keeps_texts):
            self.spoken.append(text)
        if self.parent is not None and self.parent.keeps_unknown and len(read) < len(found):
            self.unknown[number] = [word for word in found if word not in self.vocabulary.numbers]
        start = int(self._starts[number])
        self._starts, self._sequence = (
            room(self._starts, number + 2),
            room(self._sequence, start + len(read)),
        )
        self._starts[number + 1] = start + len(read)
        self._sequence[start : start + len(read)] = read
        return number


class Bags:
    """Sparse bags of words, text by text: `word_ids` (ascending within a text) and `counts`, cut by `starts`."""

    def __init__(self, norm: float | None) -> None:
        self.norm = norm
        self.count = 0
        self._starts = np.zeros(256, np.int64)
        self._words = np.zeros(4096, np.int32)
        self._counts = np.zeros(4096, np.float32)

    @property
    def starts(self) -> Ids:
        return self._starts[: self.count + 1]

    @property
    def word_ids(self) -> NDArray[np.int32]:
        return self._words[: self._starts[self.count]]

    @property
    def counts(self) -> NDArray[np.float32]:
        return self._counts[: self._starts[self.count]]

    def of(self, text: int) -> dict[int, float]:
        """Word id → count, for one text."""
        span = slice(self._starts[text], self._starts[text + 1])
        return dict(zip(self._words[span].tolist(), self._counts[span].tolist(), strict=True))

    def gathered(self, texts: Ids) -> tuple[Ids, NDArray[np.float32], Ids]:
        """Many bags end to end: word ids, counts, and how many words each has; -1 is a text without words."""
        first = self._starts[texts]
        lengths = self._starts[texts + 1] - first
        lengths[texts < 0] = 0
        places = ranges(first, lengths)
        return self._words[places].astype(np.int64), self._counts[places], lengths

    def follow(self, texts: Lexicon) -> None:
        """Add the bags of texts that were added since the last call."""
        if self.count == len(texts):
            return
        starts = texts.starts[self.count :]
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        size = len(texts.vocabulary) or 1
        found, counts = np.unique(owner * size + texts.sequence[starts[0] :], return_counts=True)
        lengths = np.bincount(found // size, minlength=len(starts) - 1)
        begin = int(self._starts[self.count])
        end = int(self._starts[self.count]) + len(found)
        self._starts = room(self._starts, len(texts) + 1)
        self._words, self._counts = room(self._words, end), room(self._counts, end)
        self._starts[self.count + 1 : len(texts) + 1] = begin + np.cumsum(lengths)
        self._words[begin:end], self._counts[begin:end] = found % size, counts
        if self.norm is not None:
            self._scale(self.norm, range(self.count, len(texts)))
        self.count = len(texts)

    def _scale(self, norm: float, texts: Iterable[int]) -> None:
        for text in texts:
            bag = self._counts[self._starts[text] : self._starts[text + 1]]
            if len(bag):
                bag *= norm / np.linalg.norm(bag)


@dataclass(frozen=True)
class Store:
    """The texts that a model reads: of states, and of actions (the same, where both share one embedding)."""

    states: Lexicon
    actions: Lexicon

    @staticmethod
    def of_words(
        states: Iterable[str] = (),
        actions: Iterable[str] = (),
        *,
        shared: bool = False,
        keep_texts: bool = False,
    ) -> Store:
        known = Lexicon(Vocabulary(states))
        store = Store(known, known if shared else Lexicon(Vocabulary(actions)))
        for side in store.sides.values():
            side.keeps_texts = keep_texts
        return store

    @property
    def shared(self) -> bool:
        return self.states is self.actions

    def side(self, name: str) -> Lexicon:
        """Return the texts of "states" or "actions"."""
        return self.states if name == "states" else self.actions

    @property
    def sides(self) -> dict[str, Lexicon]:
        """The distinct stores, by name."""
        return (
            {"states": self.states}
            if self.shared
            else {"states": self.states, "actions": self.actions}
        )

    def scratch(self) -> Store:
        """A store for questions and evaluations: it learns no words, and goes when they are done."""
        states = self.states.scratch()
        return Store(states, states if self.shared else self.actions.scratch())

    def page(self, text: str, actions: Sequence[str]) -> tuple[int, list[int]]:
        """A page as ids."""
        return self.states.id(text), [self.actions.id(action) for action in actions]

    def state(self, *, texts: bool) -> State:
        """The words; and the texts, unless they are read beforehand in any case."""
        return {
            name: {"words": side.vocabulary.spelled, **(side.state() if texts else {})}
            for name, side in self.sides.items()
        }

    def restore(self, state: State, *, texts: bool) -> None:
        for name, side in self.sides.items():
            if texts:
                side.vocabulary.restore(state[name]["words"])
                side.restore(state[name])
            elif side.vocabulary.spelled != state[name]["words"]:
                raise ValueError("the words of the game are others")


class Texts(Protocol):
    """What holds ids of texts."""

    def texts_in_use(self) -> tuple[Ids, Ids]:
        """The distinct ids, of states and of actions."""


def texts_of_all(users: Sequence[Texts]) -> tuple[Ids, Ids]:
    """The distinct ids that any of them holds, of states and of actions."""
    used = [user.texts_in_use() for user in users]
    states, actions = (np.unique(np.concatenate(side)) for side in zip(*used, strict=True))
    return states, actions


def ranges(starts: NDArray[np.integer], counts: NDArray[np.integer]) -> Ids:
    """start, start + 1 … for each start, as many as its count, one after the other."""
    before = np.cumsum(counts) - counts
    places: Ids = np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
    return places


def room(array: NDArray, size: int) -> NDArray:  # type: ignore[type-arg]
    """The array itself, or a copy at least half as long again where `size` does not fit."""
    if size <= len(array):
        return array
    larger = np.zeros(max(size, len(array) + len(array) // 2), array.dtype)
    larger[: len(array)] = array
    return larger
