"""How much each word of a page matters to an agent: Q with the word, less Q where it is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.writing import UNSPACED

# A character of a script without spaces, or a run of other letters and digits, as `words` reads them.
WORD_SPAN = re.compile(
    rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+(?:['’](?:(?![{UNSPACED}])[^\W_])+)*"
)
MOST_WORDS = 400  # of a text
AT_ONCE = 64  # pages that the agent is asked about at once

Page = tuple[str, tuple[str, ...]]
Span = tuple[int, int]
Values = NDArray[np.float64]
AskMany = Callable[[Sequence[Page]], Values]  # pages of as many actions each -> mean Q [pages, A]


def word_importance(state: str, actions: Sequence[str], ask: AskMany) -> dict[str, Any]:
    """Of each word of the state, what it adds to each action's Q; of each action's words, what they add to its own."""
    menu = tuple(actions)
    of_state = _spans(state)
    of_actions = [_spans(action) for action in menu]
    pages: list[Page] = [(state, menu), *((_without(state, span), menu) for span in of_state)]
    for number, spans in enumerate(of_actions):
        others = menu[:number], menu[number + 1 :]
        pages += [(state, (*others[0], _without(menu[number], span), *others[1])) for span in spans]
    q = np.concatenate(
        [ask(pages[first : first + AT_ONCE]) for first in range(0, len(pages), AT_ONCE)]
    )
    lost = iter((q[0] - q[1:]).tolist())
    return {
        "state": [_told(state, span, next(lost)) for span in of_state],
        "actions": [
            [_told(menu[number], span, next(lost)[number]) for span in spans]
            for number, spans in enumerate(of_actions)
        ],
    }


def _spans(text: str) -> list[Span]:
    """Where the words of a text stand."""
    return [found.span() for found in WORD_SPAN.finditer(text)][:MOST_WORDS]


def _without(text: str, span: Span) -> str:
    return text[: span[0]] + text[span[1] :]


def _told(text: str, span: Span, importance: Any) -> dict[str, Any]:
    """Offsets count in units of UTF-16, as browsers do."""
    word = text[span[0] : span[1]]
    first = span[0] if text.isascii() else _units(text[: span[0]])
    return {
        "word": word.lower(),
        "start": first,
        "end": first + _units(word),
        "importance": importance,
    }


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
