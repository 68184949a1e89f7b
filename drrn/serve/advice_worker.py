"""The process in which agents rate actions: Q-values, probabilities, and which words matter."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from drrn.compiled.history import PageHistory
from drrn.errors import InputError, require
from drrn.writing import UNSPACED, visible

MAX_AGENTS = 3  # in memory, each with all of its weights
# A character of a script without spaces, or a run of letters and digits, like `text.words`.
WORD = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+(?:['’](?:(?![{UNSPACED}])[^\W_])+)*")
MAX_WORDS = 400  # of a text
BATCH = 64  # pages that the agent rates at once

Page = tuple[str, tuple[str, ...]]
Span = tuple[int, int]
Values = NDArray[np.float64]
Rate = Callable[[Sequence[Page]], Values]  # pages with the same number of actions -> Q [pages, A]


class ActionAdvice(TypedDict):
    """An agent's opinion of one action."""

    q: float  # mean over replicas
    replicas: list[float]
    share: float  # probability under softmax
    chance: float  # probability under the chosen policy


class Word(TypedDict):
    """A word of a page and how much Q depends on it; offsets count UTF-16 units, as browsers do."""

    word: str
    start: int
    end: int
    importance: Any  # of a word of the page: for each action; of an action: for that action


class Words(TypedDict):
    """The words of a page and of its actions."""

    state: list[Word]
    actions: list[list[Word]]


class Advice(TypedDict):
    """An agent's opinion of a page."""

    seen: bool  # the agent saw the page before, so it draws an action at random
    choice: int | None  # None if the policy is random
    actions: list[ActionAdvice]
    words: Words | None


class AdviceWorker:
    """Agents by the folder of their run; an agent is loaded again when its weights have changed."""

    def __init__(self) -> None:
        torch: Any = require("torch", "torch")
        torch.set_num_threads(1)  # the matrices are small
        self._agents: OrderedDict[str, tuple[float, Any]] = OrderedDict()  # last used last

    def ready(self) -> None:
        """Do nothing; the answer says that PyTorch is loaded."""

    def advise(
        self,
        folder: str,
        policy: str,
        past: Sequence[tuple[str, str]],
        text: str,
        actions: Sequence[str],
        seen: bool,
        words: bool,
    ) -> Advice:
        """Rate the actions of a page.

        Args:
            folder: The run of the agent.
            policy: The policy that chooses an action.
            past: The pages before, with the actions chosen there, for agents with a history.
            text: The text of the page.
            actions: Its actions.
            seen: Whether the agent saw the page before in this episode.
            words: Whether to compute the importance of each word.
        """
        from drrn.models import Pages
        from drrn.playing.policies import policy_of, probabilities_of

        agent = self._agent(folder)
        history = PageHistory(agent.settings.run.history)
        for past_text, action in past:
            history.add(past_text, action)
        replicas = agent.ask(history.prepend_to(text), actions)  # [R, A]
        scaled = (replicas * agent.scales).mean(axis=0)  # α belongs to the units of learning
        page = Pages(np.zeros(1, np.int64), np.arange(len(actions))[None])

        def probabilities(name: str, seen: bool) -> Any:
            rule = policy_of(name, agent.settings.exploration.alpha)
            return probabilities_of(rule, 0, scaled[None], page, np.array([seen]))[0]

        q = replicas.mean(axis=0)
        shares = probabilities("softmax", False)
        chosen = probabilities(policy, seen)
        return {
            "seen": seen,
            "choice": int(np.argmax(chosen)) if chosen.max() > 1 - 1e-9 else None,
            "actions": _ratings(replicas, q, shares, chosen),
            "words": self._words(agent, history, text, actions) if words else None,
        }

    def _words(self, agent: Any, history: PageHistory, text: str, actions: Sequence[str]) -> Words:
        from drrn.playing.stepped_rollouts import pages_of

        def rate(pages: Sequence[Page]) -> Values:
            store = agent.model.store.scratch()
            rows = [store.page(history.prepend_to(state), menu) for state, menu in pages]
            all_q = agent.model.q(pages_of([rows] * len(agent.model.seeds)), store)
            q = all_q[:, :, : len(actions)].cpu().numpy() / agent.scales[:, :, None]
            mean: Values = q.mean(axis=0, dtype=np.float64)
            return mean

        return word_importance(visible(text), [visible(action) for action in actions], rate)

    def _agent(self, folder: str) -> Any:
        from drrn.runs.agent import Agent
        from drrn.runs.storage import WEIGHTS

        path = Path(folder) / WEIGHTS
        written = path.stat().st_mtime if path.exists() else 0.0
        old = self._agents.pop(folder, None)
        if old is not None and old[0] == written:
            self._agents[folder] = old
            return old[1]
        try:
            self._agents[folder] = (written, Agent.load(folder))
        except InputError:
            if old is None:
                raise
            self._agents[folder] = old  # the files are being replaced at this moment
        while len(self._agents) > MAX_AGENTS:
            self._agents.popitem(last=False)
        return self._agents[folder][1]


def word_importance(state: str, actions: Sequence[str], rate: Rate) -> Words:
    """Return how much each word adds to Q: Q of the page, minus Q without the word.

    Words of the state have a value for each action, words of an action one for that action.
    """
    menu = tuple(actions)
    state_spans = _spans(state)
    action_spans = [_spans(action) for action in menu]
    pages: list[Page] = [(state, menu)]
    pages += [(_without(state, span), menu) for span in state_spans]
    for i, spans in enumerate(action_spans):
        for span in spans:
            pages.append((state, (*menu[:i], _without(menu[i], span), *menu[i + 1 :])))
    batches = [pages[first : first + BATCH] for first in range(0, len(pages), BATCH)]
    q = np.concatenate([rate(batch) for batch in batches])
    losses = iter((q[0] - q[1:]).tolist())
    return {
        "state": [_word(state, span, next(losses)) for span in state_spans],
        "actions": [
            [_word(menu[i], span, next(losses)[i]) for span in spans]
            for i, spans in enumerate(action_spans)
        ],
    }


def _spans(text: str) -> list[Span]:
    return [match.span() for match in WORD.finditer(text)][:MAX_WORDS]


def _without(text: str, span: Span) -> str:
    return text[: span[0]] + text[span[1] :]


def _word(text: str, span: Span, importance: Any) -> Word:
    word = text[span[0] : span[1]]
    start = span[0] if text.isascii() else _utf16_units(text[: span[0]])
    end = start + _utf16_units(word)
    return {"word": word.lower(), "start": start, "end": end, "importance": importance}


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _ratings(replicas: Any, q: Any, shares: Any, chosen: Any) -> list[ActionAdvice]:
    return [
        {
            "q": float(q[i]),
            "replicas": replicas[:, i].tolist(),
            "share": float(shares[i]),
            "chance": float(chosen[i]),
        }
        for i in range(len(q))
    ]
