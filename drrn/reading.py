"""Features of texts beyond single words: phrases, and marks of words that an action looks up.

Both are additional words of a text, so that every model and encoder of words can use them.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise

from drrn.writing import words

CLAUSE_END = re.compile(r"[.,;:!?()\n\u2014\u201c\u201d\"]")
BEFORE = 3  # words before a word that an action shares with the page
AFTER = 2
ON_PAGE = "on'page"
OCCURRENCES = 2  # of such a word on the page, the last ones

recent_words = lru_cache(maxsize=8192)(words)


@lru_cache(maxsize=64)
def clauses(text: str) -> list[list[str]]:
    """Return the words of each clause; clauses end at punctuation marks."""
    return [part for part in map(words, CLAUSE_END.split(text)) if part]


def words_and_phrases(text: str) -> list[str]:
    """Return the words of a text, its pairs of neighbouring words, and its longer clauses.

    Example:
        >>> words_and_phrases("Left 12.")
        ['left', '12', 'left 12']
    """
    tokens = words(text)
    for clause in _clauses(text, tokens):
        tokens += _pairs(clause)
        if len(clause) > 2:
            tokens.append(" ".join(clause))
    return tokens


def words_and_pairs(text: str) -> list[str]:
    """Return the words of a text, and its pairs of neighbouring words."""
    tokens = words(text)
    for clause in _clauses(text, tokens):
        tokens += _pairs(clause)
    return tokens


def _clauses(text: str, tokens: list[str]) -> list[list[str]]:
    """Return the clauses of a text of these words; most actions are a single one."""
    return clauses(text) if CLAUSE_END.search(text) else [tokens[:]]


def _pairs(clause: list[str]) -> list[str]:
    return [f"{one} {other}" for one, other in pairwise(clause)]


class Lookup:
    """Looks up the words of actions on a page.

    Example:
        >>> Lookup("Left 12, right 7.", ["go left", "go right"]).marks(0)
        ["on'page", "after'12"]
    """

    def __init__(self, text: str, actions: Sequence[str]) -> None:
        self.menu = [dict.fromkeys(recent_words(action)) for action in actions]
        # Words of every action do not distinguish them.
        common = set(self.menu[0]).intersection(*self.menu[1:]) if self.menu else set()
        looked_up = set().union(*self.menu) - common
        self.occurrences: dict[str, list[tuple[list[str], int]]] = {}
        for clause in clauses(text):
            for at, word in enumerate(clause):
                if word in looked_up:
                    self.occurrences.setdefault(word, []).append((clause, at))
        # Pages may have a thousand actions of a few words, so that each word is looked up once.
        self.neighbours = {word: self._neighbours(word) for word in self.occurrences}

    def _neighbours(self, word: str) -> list[str]:
        """Return a mark for each word next to a word on the page."""
        marks: dict[str, None] = {}
        for clause, at in self.occurrences[word][-OCCURRENCES:]:
            marks |= dict.fromkeys(f"before'{w}" for w in clause[max(0, at - BEFORE) : at])
            marks |= dict.fromkeys(f"after'{w}" for w in clause[at + 1 : at + 1 + AFTER])
        return list(marks)

    def marks(self, index: int) -> list[str]:
        """Return a mark for each word of an action on the page, and for the words next to it."""
        shared = [word for word in self.menu[index] if word in self.neighbours]
        marks = dict.fromkeys(chain.from_iterable(self.neighbours[word] for word in shared))
        return [ON_PAGE] * len(shared) + list(marks)


def with_marks(text: str, actions: Sequence[str]) -> list[str]:
    """Return the actions of a page with their marks as additional words."""
    marked = _marked(text, frozenset(actions))
    return [marked[action] for action in actions]


@lru_cache(maxsize=4096)
def _marked(text: str, menu: frozenset[str]) -> dict[str, str]:
    actions = sorted(menu)
    lookup = Lookup(text, actions)
    return {action: " ".join([action, *lookup.marks(at)]) for at, action in enumerate(actions)}
