"""The process in which agents rate actions: Q-values, probabilities, and which words matter."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError, require
from drrn.game.contract import Observation
from drrn.runs.storage import WEIGHTS
from drrn.writing import UNSPACED, visible

MAX_AGENTS = 3  # in memory, each with all of its weights
RETRY_SECONDS = 0.3  # after which files that were being replaced are read again
# A character of a script without spaces, or a run of letters and digits, like `text.words`.
WORD = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+(?:['’](?:(?![{UNSPACED}])[^\W_])+)*")
MAX_WORDS = 400  # of a text
BATCH = 64  # pages that the agent rates at once

Choice = tuple[Observation, int]  # a page and the index of the action chosen there
Span = tuple[int, int]


def agent_of(folder: str) -> Any:
    """Return the agent of a run; it is loaded again when its weights have changed."""
    path = Path(folder) / WEIGHTS
    if not path.exists():
        raise InputError("This run has no agent yet.")
    try:
        return _load(folder, path.stat().st_mtime)
    except InputError:  # its files may be replaced at this moment
        time.sleep(RETRY_SECONDS)
        return _load(folder, path.stat().st_mtime)


@functools.lru_cache(MAX_AGENTS)
def _load(folder: str, _: float) -> Any:
    from drrn.runs.agent import Agent

    return Agent.load(folder)


class AdviceWorker:
    """Rates the actions of pages by the agents of runs."""

    def __init__(self) -> None:
        torch: Any = require("torch", "torch")
        torch.set_num_threads(1)  # the matrices are small

    def advise(
        self, folder: str, policy: str, past: Sequence[Choice], page: Observation, words: bool
    ) -> dict[str, Any]:
        """Rate the actions of a page.

        Args:
            folder: The run of the agent.
            policy: The policy that chooses an action.
            past: The pages of the episode before, with the indices of the actions chosen there.
            page: The page.
            words: Whether to compute the importance of each word.

        Returns:
            Whether the episode had the page before; the choice (None if the policy is random); for
            each action Q of each replica, their mean, its share under softmax and its chance under
            the policy; and the words.
        """
        agent = agent_of(folder)
        player = agent.policy(policy)
        for choice in past:
            player.take(*choice)
        is_repeated = player.has_seen(page)
        texts = word_pages(page) if words else [page]
        q = _rate(agent, [(player.history.prepend_to(each.text), each.actions) for each in texts])
        replicas = q[:, 0]
        shares = agent.policy("softmax").probabilities(replicas, False).tolist()
        chances = player.probabilities(replicas, is_repeated).tolist()
        rows = zip(
            replicas.mean(axis=0).tolist(), replicas.T.tolist(), shares, chances, strict=True
        )
        names = ("q", "replicas", "share", "chance")
        most = max(chances)
        return {
            "seen": is_repeated,
            "choice": chances.index(most) if most > 1 - 1e-9 else None,
            "actions": [dict(zip(names, row, strict=True)) for row in rows],
            "words": word_importance(page, q.mean(axis=0, dtype=np.float64)) if words else None,
        }


def _rate(agent: Any, pages: Sequence[tuple[str, tuple[str, ...]]]) -> NDArray[Any]:
    """Return Q of all replicas, [R, pages, A], for pages with the same number of actions."""
    from drrn.playing.stepped_rollouts import pages_of

    batches = []
    for first in range(0, len(pages), BATCH):
        store = agent.model.store.scratch()
        rows = [store.page(text, actions) for text, actions in pages[first : first + BATCH]]
        q = agent.model.q(pages_of([rows] * len(agent.model.seeds)), store)
        batches.append(q[:, :, : len(pages[0][1])].cpu().numpy())
    values: NDArray[Any] = np.concatenate(batches, axis=1) / agent.scales[:, :, None]
    return values


def word_pages(page: Observation) -> list[Observation]:
    """Return a page, and then the page without each word of its text and of its actions."""
    text = page.text
    actions = page.actions
    pages = [page, *(Observation(_without(text, span), actions) for span in _spans(text))]
    for i, action in enumerate(actions):
        for span in _spans(action):
            menu = (*actions[:i], _without(action, span), *actions[i + 1 :])
            pages.append(Observation(text, menu))
    return pages


def word_importance(page: Observation, q: NDArray[Any]) -> dict[str, Any]:
    """Return how much each word adds to Q: Q of the page, minus Q without the word.

    Words of the text have a value for each action, words of an action one for that action.
    Offsets of words count UTF-16 units of the visible text, as browsers do.

    Args:
        page: The page.
        q: Q of the pages of `word_pages`, [pages, actions].
    """
    losses = iter((q[0] - q[1:]).tolist())
    state = [_word(page.text, span, next(losses)) for span in _spans(page.text)]
    menu = []
    for i, action in enumerate(page.actions):
        menu.append([_word(action, span, next(losses)[i]) for span in _spans(action)])
    return {"state": state, "actions": menu}


def _spans(text: str) -> list[Span]:
    return [match.span() for match in WORD.finditer(text)][:MAX_WORDS]


def _without(text: str, span: Span) -> str:
    return text[: span[0]] + text[span[1] :]


def _word(text: str, span: Span, importance: Any) -> dict[str, Any]:
    word = text[span[0] : span[1]]
    start = _utf16_units(visible(text[: span[0]]))
    end = start + _utf16_units(word)
    return {"word": word.lower(), "start": start, "end": end, "importance": importance}


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
