"""How much each word of a page and of its actions matters to an agent: Q minus Q without it."""

import re
from typing import Any

from numpy.typing import NDArray

from textgames.game.contract import Observation
from textgames.wording import UNSPACED, visible

# A character of a script without spaces, or a run of letters and digits, like `writing.words`.
WORD = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+(?:['’](?:(?![{UNSPACED}])[^\W_])+)*")

Span = tuple[int, int]


def word_pages(page: Observation) -> list[Observation]:
    """The page, and then the page without each word of its text and of its actions."""
    text = page.text
    actions = page.actions
    pages = [page, *(Observation(_without(text, span), actions) for span in _spans(text))]
    for i, action in enumerate(actions):
        for span in _spans(action):
            menu = (*actions[:i], _without(action, span), *actions[i + 1 :])
            pages.append(Observation(text, menu))
    return pages


def word_importance(page: Observation, q: NDArray[Any]) -> dict[str, Any]:
    """How much each word adds to Q: Q of the page, minus Q without the word.

    Words of the text have a value for each action, words of an action one for that action. Offsets
    of words count UTF-16 units of the visible text, as browsers do. `q` is that of `word_pages`.
    """
    losses = iter((q[0] - q[1:]).tolist())
    state = [_word(page.text, span, next(losses)) for span in _spans(page.text)]
    menu = []
    for i, action in enumerate(page.actions):
        menu.append([_word(action, span, next(losses)[i]) for span in _spans(action)])
    return {"state": state, "actions": menu}


def _spans(text: str, limit: int = 400) -> list[Span]:
    return [match.span() for match in WORD.finditer(text)][:limit]


def _without(text: str, span: Span) -> str:
    return text[: span[0]] + text[span[1] :]


def _word(text: str, span: Span, importance: Any) -> dict[str, Any]:
    word = text[span[0] : span[1]]
    start = _utf16_units(visible(text[: span[0]]))
    end = start + _utf16_units(word)
    return {"word": word.lower(), "start": start, "end": end, "importance": importance}


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
