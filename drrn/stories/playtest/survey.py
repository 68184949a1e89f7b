"""Statistics of a game (the paper's table), from its compiled, explored or observed pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np

from drrn.compiled.game import Compiled
from drrn.game.contract import Game, Observation
from drrn.stories.authored import EXPLORE_LIMIT as LIMIT
from drrn.stories.authored import Explorable, explorable, paraphrases_of
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.evidence import EndingRecord, Evidence
from drrn.stories.playtest.findings import Statistics, last_words
from drrn.stories.twine.rules import distance
from drrn.text import words


def explore(
    game: Game,
    evidence: Evidence,
    limit: int = LIMIT,
    progress: Callable[[int], None] | None = None,
) -> Statistics:
    """Explore a story up to a number of states; add its endings and passages to the evidence."""
    story = explorable(game, "exploring what cannot be compiled")
    exploration = story.explore(limit, progress)
    evidence.states = exploration.states
    evidence.complete = exploration.complete
    for name in story.story.pages:
        if name in exploration.shown:
            evidence.passages.setdefault(name, ClickPath())
    for face in exploration.faces:
        if face.ending is not None:
            record = EndingRecord(None, face.reward, face.text)
            variants = evidence.endings.setdefault(face.ending, record).variants
            if face.ending.rule is None:
                variants.setdefault(last_words(face.text))
    faces = [(face.text, face.actions, face.hypertext) for face in exploration.faces]
    return _statistics(game, faces, exploration.stochastic)


def compiled_statistics(game: Game, compiled: Compiled) -> Statistics:
    """Return the statistics of a compiled game."""
    faces = []
    for page in np.unique(compiled.page):
        actions = compiled.page_action[compiled.page_first[page] : compiled.page_first[page + 1]]
        words = tuple(compiled.actions[action] for action in actions)
        text = compiled.texts[compiled.page_text[page]]
        faces.append((text, words, bool(compiled.page_hypertext[page])))
    return _statistics(game, faces, bool((np.diff(compiled.row_first) > 1).any()))


def _statistics(
    game: Game, faces: Sequence[tuple[str, tuple[str, ...], bool]], is_stochastic: bool
) -> Statistics:
    """Return the statistics of pages: text, actions, and whether these are in the text."""
    pages = PageStatistics()
    kinds = []
    for text, actions, _ in faces:
        pages.add(Observation(text, actions))
    if any(actions and not is_hypertext for _, actions, is_hypertext in faces):
        kinds.append("choice")
    if any(is_hypertext for _, _, is_hypertext in faces):
        kinds.append("hypertext")
    kind = str(getattr(game, "kind", None) or " & ".join(kinds) or "choice")
    return pages.statistics(kind, "stochastic" if is_stochastic else "deterministic", game)


class PageStatistics:
    """Counts over the pages of a game."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}  # number of words
        self.actions: set[str] = set()
        self.menus: Counter[int] = Counter()  # pages by their number of actions

    def add(self, page: Observation) -> None:
        """Count a page."""
        if page.text not in self.texts:
            self.texts[page.text] = len(words(page.text))
        self.actions.update(page.actions)
        self.menus[len(page.actions)] += bool(page.actions)

    def statistics(self, kind: str, transitions: str, game: Game) -> Statistics:
        """Return the statistics of the pages counted so far."""
        story = game if isinstance(game, Explorable) else None
        sizes = +self.menus  # without pages that have no actions
        actions = sum(size * count for size, count in sizes.items())
        return Statistics(
            kind=kind,
            transitions=transitions,
            state_vocabulary=_vocabulary(self.texts),
            action_vocabulary=_vocabulary(self.actions),
            words_per_description=sum(self.texts.values()) / len(self.texts),
            fewest_actions=min(sizes, default=0),
            mean_actions=actions / max(1, sizes.total()),
            most_actions=max(sizes, default=0),
            pages=len(self.texts),
            actions=len(self.actions),
            passages=len(story.story.pages) if story else 0,
            paraphrases={
                name: distance(dict(pairs), self.actions)
                for name in (story.rules.paraphrases if story else ())
                if (pairs := paraphrases_of(game, name))
            },
        )


def _vocabulary(texts: Collection[str]) -> int:
    return len({word for text in texts for word in words(text)})
