"""Words, vocabularies and stores of texts: each distinct text is read once and numbered.

A text is its sequence of words, as `writing` defines them. Its bag of words is derived from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.reading import with_marks, words_and_phrases
from textgames.arrays import Ids, ranges, room, starts_of
from textgames.wording import words

State = Mapping[str, Any]  # what a part saves from round to round: arrays, and JSON values


class Vocabulary:
    """Words, numbered in the order in which they were met."""

    limit = 50_000  # words; a game that shows ever new numbers would fill the memory with vectors

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.restore(words)

    def restore(self, words: Iterable[str]) -> None:
        """Replace all words."""
        self.spelled: list[str] = list(dict.fromkeys(words))  # by number
        self.numbers: dict[str, int] = {word: number for number, word in enumerate(self.spelled)}
        self.full = False  # whether a new word was left out

    def __len__(self) -> int:
        return len(self.spelled)

    def read(self, words: Sequence[str], *, grow: bool) -> list[int]:
        """The numbers of words. New words are added with `grow`, else they are left out."""
        for word in words if grow else ():
            if word not in self.numbers:
                self.full = len(self.spelled) >= self.limit
                if self.full:
                    break
                self.numbers[word] = len(self.spelled)
                self.spelled.append(word)
        return [self.numbers[word] for word in words if word in self.numbers]


# Bags of words end to end: words (ascending in each bag), how often each occurs, sizes of the bags.
Bags = tuple[Ids, NDArray[np.float32], Ids]


class Lexicon:
    """A vocabulary, and texts as the numbers of their words. Each distinct text has an id.

    The words of all texts are in one array, `sequence`. Text i has the slice from `starts[i]` to
    `starts[i + 1]`. `scratch()` returns a temporary lexicon with the same vocabulary.
    """

    keeps_texts = False  # the texts themselves are saved, too, for an encoder that reads them
    keeps_unknown = False  # scratch lexicons save words outside the vocabulary, for an encoder
    split: Callable[[str], list[str]] = staticmethod(words)  # a text into its words
    is_fixed = False  # the vocabulary does not grow, and texts with the same words have the same id
    most_recent = 4096  # texts that are found without hashing them

    def __init__(self, vocabulary: Vocabulary, parent: Lexicon | None = None) -> None:
        self.vocabulary = vocabulary
        self.parent = parent
        self.generation = 0  # raised whenever ids change their meaning
        # of a thinned lexicon: the lexicon with all words, and the ids of its texts there
        self.whole: tuple[Lexicon, Ids] | None = None
        # of a thinned lexicon: noise for the vector of each text
        self.blur: NDArray[np.float32] | None = None
        self.forget()

    def __len__(self) -> int:
        return len(self._ids)

    def id(self, text: str) -> int:
        """The text's id. A new text is added."""
        number = self._recent.get(text)
        if number is None:
            # texts are recognised by a hash, so that a million of them need not be stored
            content = self._content(text).encode("utf-8", "surrogatepass")
            key = hashlib.blake2b(content, digest_size=16).digest()
            number = self._ids.get(key)
            if number is None:
                number = self._add(key, text)
            if len(self._recent) >= self.most_recent:
                self._recent.clear()
            self._recent[text] = number
        return number

    def scratch(self) -> Lexicon:
        """A temporary lexicon that learns no words. New ones are ignored, or `unknown`."""
        scratch = Lexicon(self.vocabulary, parent=self)
        scratch.split = self.split
        scratch.is_fixed = self.is_fixed
        return scratch

    def thinned(self, texts: Ids, stays: NDArray[np.bool_], into: Ids, added: Ids) -> Lexicon:
        """A lexicon whose text i is `texts[i]` (-1: no text) with some words left out.

        `stays` is true for each word of each text's bag, end to end, that the text keeps. The
        words `added` are appended to the texts at the indices `into`, which are ascending.
        """
        word_ids, _, lengths = self.bags(texts)
        size = len(self.vocabulary) + 1
        # ascending, as the words of a bag are
        keys = np.repeat(np.arange(len(texts)), lengths) * size + word_ids
        sequence = self.words_of(texts)
        owner = np.repeat(np.arange(len(texts)), self.lengths(texts))
        on = stays[np.searchsorted(keys, owner * size + sequence)]
        owner = np.concatenate([owner[on], into])
        order = np.argsort(owner, kind="stable")
        sequence = np.concatenate([sequence[on], added])[order]
        lexicon = Lexicon(self.vocabulary)
        lexicon.whole = (self, texts)
        lexicon._ids = {number.to_bytes(16, "little"): number for number in range(len(texts))}
        lexicon._starts = starts_of(np.bincount(owner, minlength=len(texts)))
        lexicon._sequence = sequence.astype(np.int32)
        return lexicon

    @property
    def starts(self) -> Ids:
        return self._starts[: len(self) + 1]

    @property
    def sequence(self) -> NDArray[np.int32]:
        return self._sequence[: self._starts[len(self)]]

    @property
    def parent_ids(self) -> Ids:
        """The ids of a scratch lexicon's texts in its parent, -1 for those that it lacks."""
        assert self.parent is not None
        ids = self.parent._ids
        return np.array([ids.get(key, -1) for key in self._ids], np.int64)

    def lengths(self, texts: Ids) -> Ids:
        """The number of words of each of some texts (-1: no text)."""
        return np.where(texts < 0, 0, self._starts[texts + 1] - self._starts[texts])

    def words_of(self, texts: Ids) -> Ids:
        """The words of some texts (-1: no text), end to end."""
        at = ranges(self._starts[texts], self.lengths(texts))
        return self._sequence[at].astype(np.int64)

    def bags(self, texts: Ids) -> Bags:
        """The bags of some texts (-1: no text)."""
        if self._counted < len(self._ids):
            self.count_words()
        first = self._bag_starts[texts]
        lengths = np.where(texts < 0, 0, self._bag_starts[texts + 1] - first)
        at = ranges(first, lengths)
        return self._bag_words[at].astype(np.int64), self._bag_counts[at], lengths

    def forget(self) -> None:
        """Forget all texts, but not the vocabulary."""
        self.generation += 1
        self._ids: dict[bytes, int] = {}
        self._recent: dict[str, int] = {}
        self._starts = np.zeros(256, np.int64)
        self._sequence = np.zeros(4096, np.int32)
        self._counted = 0  # texts whose bags are known
        self._bag_starts = np.zeros(1, np.int64)
        self._bag_words = np.zeros(0, np.int32)
        self._bag_counts = np.zeros(0, np.float32)
        self.spoken: list[str] = []  # the texts themselves, with `keeps_texts`
        # of a scratch lexicon, with `keeps_unknown`: words of a text outside the vocabulary
        self.unknown: dict[int, list[str]] = {}

    def count_words(self) -> None:
        """Count the bags of texts that were added since the last call."""
        done = self._counted
        starts = self.starts[done:]
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        size = len(self.vocabulary.spelled) or 1
        keys, counts = np.unique(owner * size + self.sequence[starts[0] :], return_counts=True)
        lengths = np.bincount(keys // size, minlength=len(starts) - 1)
        begin = int(self._bag_starts[done])
        end = begin + len(keys)
        self._bag_starts = room(self._bag_starts, len(self) + 1)
        self._bag_starts[done + 1 : len(self) + 1] = begin + np.cumsum(lengths)
        self._bag_words = room(self._bag_words, end)
        self._bag_words[begin:end] = keys % size
        self._bag_counts = room(self._bag_counts, end)
        self._bag_counts[begin:end] = counts
        self._counted = len(self)

    def keep(self, used: Ids) -> Ids:
        """Forget all but the used texts. Returns the new id of each old one, -1 if forgotten."""
        keys = list(self._ids)
        renumbered = np.full(len(self) + 1, -1, np.int64)  # the last is for -1, no text
        renumbered[used] = np.arange(len(used))
        if len(used) < len(self):
            starts = self._starts
            sequence = self._sequence
            spoken = self.spoken
            self.forget()
            self.spoken = [spoken[text] for text in used.tolist()] if self.keeps_texts else []
            lengths = starts[used + 1] - starts[used]
            self._ids = {keys[text]: number for number, text in enumerate(used.tolist())}
            self._starts = starts_of(lengths)
            self._sequence = sequence[ranges(starts[used], lengths)]
        return renumbered

    @property
    def keys(self) -> list[str]:
        """The hashes of the texts, in hexadecimal digits."""
        return [key.hex() for key in self._ids]

    def restore_keys(self, keys: Iterable[str]) -> None:
        """Restore texts by their hashes alone, for a model that does not need their words."""
        self.forget()
        self._ids = {bytes.fromhex(key): number for number, key in enumerate(keys)}
        self._starts = np.zeros(len(self._ids) + 2, np.int64)

    def state(self) -> State:
        keys = np.frombuffer(b"".join(self._ids), np.int32).reshape(-1, 4)
        spoken = {"spoken": self.spoken} if self.keeps_texts else {}
        return {"starts": self.starts, "sequence": self.sequence, "keys": keys, **spoken}

    def restore(self, state: State) -> None:
        """Restore what `state` returned. The vocabulary must be restored before."""
        self.forget()
        self._sequence = np.array(state["sequence"], np.int32)
        self._starts = np.array(state["starts"], np.int64)
        self.spoken = list(state.get("spoken", ()))
        keys = np.ascontiguousarray(state["keys"]).tobytes()
        self._ids = {keys[at : at + 16]: at // 16 for at in range(0, len(keys), 16)}

    def _content(self, text: str) -> str:
        if not self.is_fixed:
            return text
        return " ".join(word for word in words(text) if word in self.vocabulary.numbers)

    def _add(self, key: bytes, text: str) -> int:
        parent = self.parent
        spelled = self.split(text)
        read = self.vocabulary.read(spelled, grow=parent is None and not self.is_fixed)
        number = self._ids[key] = len(self)
        if self.keeps_texts or (parent is not None and parent.keeps_texts):
            self.spoken.append(text)
        if parent is not None and parent.keeps_unknown and len(read) < len(spelled):
            self.unknown[number] = [word for word in spelled if word not in self.vocabulary.numbers]
        start = int(self._starts[number])
        self._starts = room(self._starts, number + 2)
        self._starts[number + 1] = start + len(read)
        self._sequence = room(self._sequence, start + len(read))
        self._sequence[start : start + len(read)] = read
        return number


class Store:
    """The texts that a model reads: of states, and of actions (the same lexicon, if shared)."""

    def __init__(self, states: Lexicon, actions: Lexicon, *, matches: bool = False) -> None:
        self.states = states
        self.actions = actions
        self.matches = matches  # actions are read with marks of the words on the page
        self.side = {"states": states, "actions": actions}

    @staticmethod
    def of_words(
        states: Iterable[str] = (),
        actions: Iterable[str] = (),
        *,
        shared: bool = False,
        keep_texts: bool = False,
        phrases: bool = False,
        pairs_only: bool = False,
        hashed: tuple[bool, bool] = (False, False),
        matches: bool = False,
        select_words: bool = False,
    ) -> Store:
        """A store without texts that knows some words."""
        lexicon = Lexicon(Vocabulary(states))
        other = lexicon if shared else Lexicon(Vocabulary(actions))
        store = Store(lexicon, other, matches=matches)
        read = partial(words_and_phrases, pairs_only=pairs_only) if phrases else words
        for side, is_hashed in zip((lexicon, other), hashed, strict=True):
            side.keeps_texts = keep_texts
            side.split = whole if is_hashed else read
        lexicon.is_fixed = select_words and not shared and len(lexicon.vocabulary) > 0
        return store

    @property
    def shared(self) -> bool:
        return self.states is self.actions

    @property
    def sides(self) -> dict[str, Lexicon]:
        """The distinct lexicons, by name."""
        return {"states": self.states} | ({} if self.shared else {"actions": self.actions})

    def scratch(self) -> Store:
        """A temporary store for questions and evaluations, which learns no words."""
        states = self.states.scratch()
        actions = states if self.shared else self.actions.scratch()
        return Store(states, actions, matches=self.matches)

    def read(self, states: Iterable[str], actions: Iterable[str]) -> None:
        """Add texts, and count their words."""
        for side, texts in ((self.states, states), (self.actions, actions)):
            for text in texts:
                side.id(text)
            side.count_words()

    def page(self, text: str, actions: Sequence[str]) -> tuple[int, list[int]]:
        """The ids of a page and of its actions."""
        if self.matches and len(actions) > 1:
            actions = with_marks(text, actions)
        return self.states.id(text), [self.actions.id(action) for action in actions]

    def state(self, *, texts: bool) -> State:
        """The words, and with `texts` the texts. They are not saved if they are read in advance."""
        return {
            name: {"words": side.vocabulary.spelled, **(side.state() if texts else {})}
            for name, side in self.sides.items()
        }

    def restore(self, state: State, *, texts: bool) -> None:
        """Restore what `state` returned. Without `texts`, the words are only compared."""
        for name, side in self.sides.items():
            if texts:
                side.vocabulary.restore(state[name]["words"])
                side.restore(state[name])
            elif side.vocabulary.spelled != state[name]["words"]:
                raise ValueError("the words of the game have changed")


def whole(text: str) -> list[str]:
    """A text as a single word, so that no two texts have a word in common."""
    return [text]
