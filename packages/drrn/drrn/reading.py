"""Features of texts beyond single words: phrases, and marks of words that an action looks up.

Both are additional words of a text, so that every model and encoder of words can use them.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise

from textgames.wording import words

CLAUSE_END = re.compile(r"[.,;:!?()\n\u2014\u201c\u201d\"]")
BEFORE = 3  # words before a word that an action shares with the page
AFTER = 2
ON_PAGE = "on'page"
OCCURRENCES = 2  # of such a word on the page, the last ones
WIDE = 50  # actions of a page, beyond which fewer pages are cached

recent_words = lru_cache(maxsize=8192)(words)


@lru_cache(maxsize=64)
def clauses(text: str) -> list[list[str]]:
    """Return the words of each clause; clauses end at punctuation marks."""
    return [part for part in map(words, CLAUSE_END.split(text)) if part]


def words_and_phrases(text: str, *, pairs_only: bool = False) -> list[str]:
    """Return the words of a text, its pairs of neighbouring words, and its longer clauses.

    Example:
        >>> words_and_phrases("Left 12.")
        ['left', '12', 'left 12']
    """
    tokens = words(text)
    # Most actions are a single clause.
    for clause in clauses(text) if CLAUSE_END.search(text) else [tokens[:]]:
        tokens += [f"{one} {other}" for one, other in pairwise(clause)]
        if len(clause) > 2 and not pairs_only:
            tokens.append(" ".join(clause))
    return tokens


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
        distinctive = set().union(*self.menu) - common
        occurrences: dict[str, list[tuple[list[str], int]]] = {}
        for clause in clauses(text):
            for at, word in enumerate(clause):
                if word in distinctive:
                    occurrences.setdefault(word, []).append((clause, at))
        # Pages may have a thousand actions of a few words, so each word is looked up once.
        self.neighbours = {word: _neighbours(places) for word, places in occurrences.items()}

    def marks(self, index: int) -> list[str]:
        """Return a mark for each word of an action on the page, and for the words next to it."""
        shared = [word for word in self.menu[index] if word in self.neighbours]
        marks = dict.fromkeys(chain.from_iterable(self.neighbours[word] for word in shared))
        return [ON_PAGE] * len(shared) + list(marks)


def _neighbours(places: Sequence[tuple[list[str], int]]) -> list[str]:
    """Return a mark for each word next to the last places of a word: a clause and an index each."""
    marks: dict[str, None] = {}
    for clause, at in places[-OCCURRENCES:]:
        marks |= dict.fromkeys(f"before'{w}" for w in clause[max(0, at - BEFORE) : at])
        marks |= dict.fromkeys(f"after'{w}" for w in clause[at + 1 : at + 1 + AFTER])
    return list(marks)


def with_marks(text: str, actions: Sequence[str]) -> list[str]:
    """Return the actions of a page with their marks as additional words."""
    marked = (_marked_wide if len(actions) > WIDE else _marked)(text, frozenset(actions))
    return [marked[action] for action in actions]


def _mark(text: str, menu: frozenset[str]) -> dict[str, str]:
    actions = sorted(menu)
    lookup = Lookup(text, actions)
    return {action: " ".join([action, *lookup.marks(at)]) for at, action in enumerate(actions)}


_marked = lru_cache(maxsize=4096)(_mark)
_marked_wide = lru_cache(maxsize=256)(_mark)  # these take far more memory
