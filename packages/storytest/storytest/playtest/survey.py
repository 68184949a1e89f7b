"""Statistics of a game (the paper's table), from its compiled, explored or observed pages."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np

from storytest.authored import EXPLORE_LIMIT, Explorable, explorable, paraphrases_of
from storytest.playtest.clicks import ClickPath
from storytest.playtest.evidence import EndingRecord, Evidence, Pages
from storytest.playtest.findings import Statistics
from storytest.twine.retelling import is_retelling
from storytest.twine.rules import distance
from textgames.compiled.game import Compiled
from textgames.game.contract import Game
from textgames.wording import last_words, words


def explore(
    game: Game,
    evidence: Evidence,
    limit: int = EXPLORE_LIMIT,
    progress: Callable[[int], None] | None = None,
) -> Statistics:
    """Explore a story up to a number of states, and add what it meets to the evidence."""
    story = explorable(game, "exploring what cannot be compiled")
    exploration = story.explore(limit, progress)
    evidence.states = len(exploration.visited)
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
    """The statistics of a compiled game."""
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
    """The statistics of pages: text, actions, and whether these are in the text."""
    kinds = []
    if any(actions and not is_hypertext for _, actions, is_hypertext in faces):
        kinds.append("choice")
    if any(is_hypertext for _, _, is_hypertext in faces):
        kinds.append("hypertext")
    kind = str(getattr(game, "kind", None) or " & ".join(kinds) or "choice")
    pages = Counter((text, actions) for text, actions, _ in faces)
    return page_statistics(game, pages, kind, "stochastic" if is_stochastic else "deterministic")


def page_statistics(game: Game, pages: Pages, kind: str = "", transitions: str = "") -> Statistics:
    """The statistics of pages, each with its number of visits."""
    story = game if isinstance(game, Explorable) else None
    texts = {text for text, _ in pages}
    actions: set[str] = set().union(*(menu for _, menu in pages))
    sizes: Counter[int] = Counter()  # pages by their number of actions
    for (_, menu), count in pages.items():
        if menu:
            sizes[len(menu)] += count
    return Statistics(
        kind=kind,
        transitions=transitions,
        state_vocabulary=_vocabulary(texts),
        action_vocabulary=_vocabulary(actions),
        words_per_description=sum(len(words(text)) for text in texts) / len(texts),
        fewest_actions=min(sizes, default=0),
        mean_actions=sum(sizes.elements()) / max(1, sizes.total()),
        most_actions=max(sizes, default=0),
        pages=len(texts),
        actions=len(actions),
        passages=len(story.story.pages) if story else 0,
        paraphrases={
            name: distance(pairs, texts | actions if is_retelling(path) else actions)
            for name, path in (story.rules.paraphrases if story else {}).items()
            if (pairs := paraphrases_of(game, name))
        },
    )


def _vocabulary(texts: Collection[str]) -> int:
    return len({word for text in texts for word in words(text)})
