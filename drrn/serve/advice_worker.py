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

from drrn.compiled.history import PageHistory
from drrn.errors import InputError, require
from drrn.runs.storage import WEIGHTS
from drrn.writing import UNSPACED, visible

MAX_AGENTS = 3  # in memory, each with all of its weights
RETRY_SECONDS = 0.3  # after which files that were being replaced are read again
# A character of a script without spaces, or a run of letters and digits, like `text.words`.
WORD = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+(?:['’](?:(?![{UNSPACED}])[^\W_])+)*")
MAX_WORDS = 400  # of a text
BATCH = 64  # pages that the agent rates at once

Page = tuple[str, tuple[str, ...]]
Span = tuple[int, int]


def agent_of(folder: str) -> Any:
    """Return the agent of a run; it is loaded again when its weights have changed."""
    path = Path(folder) / WEIGHTS
    for is_last in (False, True):
        try:
            return _load(folder, path.stat().st_mtime if path.exists() else 0.0)
        except InputError:
            if is_last:
                raise
            time.sleep(RETRY_SECONDS)  # the files may have been replaced at this moment
    raise AssertionError


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
        self,
        folder: str,
        policy: str,
        past: Sequence[tuple[str, str]],
        text: str,
        actions: Sequence[str],
        is_repeated: bool,
        words: bool,
    ) -> dict[str, Any]:
        """Rate the actions of a page.

        Args:
            folder: The run of the agent.
            policy: The policy that chooses an action.
            past: The pages before, with the actions chosen there, for agents with a history.
            text: The text of the page.
            actions: Its actions.
            is_repeated: Whether the agent saw the page before in this episode.
            words: Whether to compute the importance of each word.

        Returns:
            The choice (None if the policy is random); for each action Q of each replica, their
            mean, its share under softmax and its chance under the policy; and the words.
        """
        from drrn.models import Pages
        from drrn.playing.policies import policy_of, probabilities_of

        agent = agent_of(folder)
        history = PageHistory(agent.settings.run.history)
        for past_text, action in past:
            history.add(past_text, action)
        menu = tuple(actions)
        pages = word_pages(text, menu) if words else [(text, menu)]
        q = _rate(agent, history, pages)  # [R, pages, A]
        replicas = q[:, 0]
        scaled = (replicas * agent.scales).mean(axis=0)  # α belongs to the units of learning
        page = Pages(np.zeros(1, np.int64), np.arange(len(menu))[None])

        def probabilities(name: str, is_repeated: bool) -> Any:
            rule = policy_of(name, agent.settings.exploration.alpha)
            return probabilities_of(rule, 0, scaled[None], page, np.array([is_repeated]))[0]

        shares = probabilities("softmax", False).tolist()
        chances = probabilities(policy, is_repeated).tolist()
        rows = zip(
            replicas.mean(axis=0).tolist(), replicas.T.tolist(), shares, chances, strict=True
        )
        names = ("q", "replicas", "share", "chance")
        most = max(chances)
        mean_q = q.mean(axis=0, dtype=np.float64)
        return {
            "seen": is_repeated,
            "choice": chances.index(most) if most > 1 - 1e-9 else None,
            "actions": [dict(zip(names, row, strict=True)) for row in rows],
            "words": word_importance(text, menu, mean_q) if words else None,
        }


def _rate(agent: Any, history: PageHistory, pages: Sequence[Page]) -> NDArray[Any]:
    """Return Q of all replicas, [R, pages, A], for pages with the same number of actions."""
    from drrn.playing.stepped_rollouts import pages_of

    batches = []
    for first in range(0, len(pages), BATCH):
        store = agent.model.store.scratch()
        batch = pages[first : first + BATCH]
        rows = [store.page(history.prepend_to(text), actions) for text, actions in batch]
        q = agent.model.q(pages_of([rows] * len(agent.model.seeds)), store)
        batches.append(q[:, :, : len(pages[0][1])].cpu().numpy())
    values: NDArray[Any] = np.concatenate(batches, axis=1) / agent.scales[:, :, None]
    return values


def word_pages(text: str, actions: tuple[str, ...]) -> list[Page]:
    """Return a page, and then the page without each word of its text and of its actions."""
    pages: list[Page] = [(text, actions)]
    pages += [(_without(text, span), actions) for span in _spans(text)]
    for i, action in enumerate(actions):
        for span in _spans(action):
            pages.append((text, (*actions[:i], _without(action, span), *actions[i + 1 :])))
    return pages


def word_importance(text: str, actions: tuple[str, ...], q: NDArray[Any]) -> dict[str, Any]:
    """Return how much each word adds to Q: Q of the page, minus Q without the word.

    Words of the text have a value for each action, words of an action one for that action.
    Offsets of words count UTF-16 units of the visible text, as browsers do.

    Args:
        text: The text of the page.
        actions: Its actions.
        q: Q of the pages of `word_pages`, [pages, actions].
    """
    losses = iter((q[0] - q[1:]).tolist())
    state = [_word(text, span, next(losses)) for span in _spans(text)]
    menu = []
    for i, action in enumerate(actions):
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
