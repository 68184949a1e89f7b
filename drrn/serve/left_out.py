"""How much each word of a page matters to an agent: Q with the word, less Q where it is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.writing import UNSPACED

# A character of a script without spaces, or a run of other letters and digits, as `words` reads them.
WORD_SPAN = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+(?:['’](?:(?![{UNSPACED}])[^\W_])+)*")
MOST_WORDS = 400  # of a state, each as often as it stands there
AT_ONCE = 64  # pages that the agent is asked about at once

Page = tuple[str, tuple[str, ...]]
Values = NDArray[np.float64]
AskMany = Callable[[Sequence[Page]], Values]  # pages of as many actions each -> mean Q [pages, A]


def word_importance(state: str, actions: Sequence[str], ask: AskMany) -> dict[str, Any]:
    """Of each word of the state, what it adds to each action's Q; of each action's words, what they add to its own."""
    menu = tuple(actions)
    of_state = _spans(state)[:MOST_WORDS]
    without = {word: _without(state, word) for word in dict.fromkeys(word for word, _, _ in of_state)}
    of_actions = [_spans(action)[:MOST_WORDS] for action in menu]
    pages: list[Page] = [(state, menu), *((text, menu) for text in without.values())]
    places: dict[tuple[int, str], int] = {}
    for number, spans in enumerate(of_actions):
        for word in dict.fromkeys(word for word, _, _ in spans):
            places[number, word] = len(pages)
            pages.append((state, (*menu[:number], _without(menu[number], word), *menu[number + 1 :])))
    q = np.concatenate([ask(pages[first : first + AT_ONCE]) for first in range(0, len(pages), AT_ONCE)])
    added = dict(zip(without, (q[0] - q[1 : 1 + len(without)]).tolist(), strict=True))
    return {
        "state": [_told(state, word, start, end, added[word]) for word, start, end in of_state],
        "actions": [
            [_told(menu[number], word, start, end, float(q[0, number] - q[places[number, word], number]))
             for word, start, end in spans]
            for number, spans in enumerate(of_actions)
        ],
    }  # fmt: skip


def _spans(text: str) -> list[tuple[str, int, int]]:
    """Each word of a text in lower case, and where it stands."""
    return [(found[0].lower(), found.start(), found.end()) for found in WORD_SPAN.finditer(text)]


def _without(text: str, word: str) -> str:
    """A text without a word, wherever it stands."""
    return WORD_SPAN.sub(lambda found: "" if found[0].lower() == word else found[0], text)


def _told(text: str, word: str, start: int, end: int, importance: Any) -> dict[str, Any]:
    """Offsets count in units of UTF-16, as browsers do."""
    first = start if text.isascii() else _units(text[:start])
    return {"word": word, "start": first, "end": first + _units(text[start:end]), "importance": importance}


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
