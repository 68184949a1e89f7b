"""The paper's statistics of a game, and the distance of paraphrases from their originals."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from storytest.authored import Explorable, explorable
from storytest.twine.paraphrases import DEFAULT_SET, SCRIPT, is_retelling, read_paraphrases, retell
from storytest.twine.reading import read_story
from storytest.twine.story import split_link
from textgames.compiled.game import Compiled
from textgames.errors import InputError, require
from textgames.game.contract import Game
from textgames.wording import last_words, words

Face = tuple[str, tuple[str, ...], bool]  # text, actions, whether these are in the text


@dataclass(frozen=True)
class Statistics:
    """The paper's table of a game: its texts, words and actions. Lower bounds unless complete."""

    kind: str  # such as "choice"
    transitions: str  # "deterministic" or "stochastic"
    state_vocabulary: int
    action_vocabulary: int
    words_per_description: float
    most_actions: int
    pages: int  # distinct texts
    actions: int  # distinct texts
    states: int  # of (page, all variables)
    endings: int  # those of one passage that differ in their last words count separately
    complete: bool  # whether `states` counts all of them
    paraphrases: "dict[str, Distance]" = field(default_factory=dict)  # by the name of the set


@dataclass(frozen=True)
class Distance:
    """The distance of paraphrases from their originals, by the paper's measures."""

    pairs: int
    oov_rate: float  # share of words that no original text has
    bleu: float | None  # corpus BLEU-4, from 0 to 1; None without sacrebleu


def statistics_of(game: Game, compiled: Compiled | None) -> Statistics:
    """The statistics of a compiled game, or of a story that is explored up to a limit."""
    if compiled is not None:
        is_stochastic = bool((np.diff(compiled.row_first) > 1).any())
        states = (compiled.raw_states, len(compiled.endings), compiled.raw_complete)
        return _statistics(game, _faces(compiled), is_stochastic, *states)
    exploration = explorable(game, "exploring what cannot be compiled").explore()
    faces = [(face.text, face.actions, face.hypertext) for face in exploration.faces]
    endings = {
        (face.ending, last_words(face.text) if face.ending.rule is None else "")
        for face in exploration.faces
        if face.ending is not None
    }
    states = (len(exploration.visited), len(endings), exploration.complete)
    return _statistics(game, faces, exploration.stochastic, *states)


def _faces(compiled: Compiled) -> list[Face]:
    faces = []
    for page in np.unique(compiled.page):
        numbers = compiled.page_action[compiled.page_first[page] : compiled.page_first[page + 1]]
        actions = tuple(compiled.actions[action] for action in numbers)
        text = compiled.texts[compiled.page_text[page]]
        faces.append((text, actions, bool(compiled.page_hypertext[page])))
    return faces


def _statistics(
    game: Game,
    faces: Collection[Face],
    is_stochastic: bool,
    states: int,
    endings: int,
    complete: bool,
) -> Statistics:
    is_hypertext = {hypertext for _, actions, hypertext in faces if actions}
    kinds = ["choice"] * (False in is_hypertext) + ["hypertext"] * (True in is_hypertext)
    texts = {text for text, _, _ in faces}
    actions = {action for _, menu, _ in faces for action in menu}
    sets = game.rules.paraphrases if isinstance(game, Explorable) else {}
    return Statistics(
        kind=str(getattr(game, "kind", None) or " & ".join(kinds) or "choice"),
        transitions="stochastic" if is_stochastic else "deterministic",
        state_vocabulary=_vocabulary(texts),
        action_vocabulary=_vocabulary(actions),
        words_per_description=sum(len(words(text)) for text in texts) / len(texts),
        most_actions=max(len(menu) for _, menu, _ in faces),
        pages=len(texts),
        actions=len(actions),
        states=states,
        endings=endings,
        complete=complete,
        paraphrases={
            name: distance(pairs, texts | actions if is_retelling(path) else actions)
            for name, path in sets.items()
            if (pairs := paraphrases_of(game, name))
        },
    )


def _vocabulary(texts: Collection[str]) -> int:
    return len({word for text in texts for word in words(text)})


# --- paraphrases


def paraphrases_of(game: Game, name: str = DEFAULT_SET) -> Mapping[str, str] | None:
    """Original → paraphrase, of actions or of the prose of passages, if the game has such a set."""
    path = game.rules.paraphrases.get(name) if isinstance(game, Explorable) else None
    if path is None:
        return None
    if not is_retelling(path):
        return read_paraphrases(path)
    story = read_story(game.rules.story)  # type: ignore[attr-defined]
    new = retell(story, path).passages
    changed = {name for name, old in story.passages.items() if old.text != new[name].text}
    return {_prose(story.passages[name].text): _prose(new[name].text) for name in sorted(changed)}


def _prose(text: str) -> str:
    return SCRIPT.sub(lambda part: split_link(part[1] or "")[0], text)


def distance(pairs: Mapping[str, str], originals: Collection[str]) -> Distance:
    """The OOV rate against all original texts, and BLEU-4 (no case, no punctuation)."""
    vocabulary = {word for text in (*originals, *pairs) for word in words(text)}
    all_words = [word for paraphrase in pairs.values() for word in words(paraphrase)]
    oov = sum(word not in vocabulary for word in all_words)
    return Distance(len(pairs), oov / len(all_words), _bleu(pairs))


def _bleu(pairs: Mapping[str, str]) -> float | None:
    try:
        sacrebleu = require("sacrebleu")
    except InputError:
        return None
    paraphrases = [" ".join(words(text)) for text in pairs.values()]
    originals = [" ".join(words(text)) for text in pairs]
    score: float = sacrebleu.corpus_bleu(paraphrases, [originals], tokenize="none").score
    return score / 100
