"""The paper's statistics of a game, and the distance of paraphrases from their originals."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from storytest.authored import Explorable
from storytest.twine.paraphrases import DEFAULT_SET, SCRIPT, is_retelling, read_paraphrases, retell
from storytest.twine.reading import read_story
from storytest.twine.story import split_link
from textgames.compiled.game import Compiled
from textgames.errors import InputError, require
from textgames.game.contract import Game
from textgames.wording import words


@dataclass(frozen=True)
class Distance:
    """The distance of paraphrases from their originals, by the paper's measures."""

    pairs: int
    oov_rate: float  # share of words that no original text has
    bleu: float | None  # corpus BLEU-4, from 0 to 1; None without sacrebleu


def statistics_of(game: Game, compiled: Compiled) -> dict[str, Any]:
    """The paper's table of a game: its texts, words, actions and states."""
    pages = np.unique(compiled.page)
    texts = {compiled.texts[text] for text in compiled.page_text[pages]}
    menus = [compiled.page_actions[page] for page in pages]
    actions = {compiled.actions[action] for menu in menus for action in menu if action >= 0}
    is_hypertext = {
        bool(compiled.page_hypertext[page]) for page in pages if (menus[page] >= 0).any()
    }
    kinds = ["choice"] * (False in is_hypertext) + ["hypertext"] * (True in is_hypertext)
    return {
        "kind": str(getattr(game, "kind", None) or " & ".join(kinds) or "choice"),
        "state_vocabulary": _vocabulary(texts),
        "action_vocabulary": _vocabulary(actions),
        "words_per_description": sum(len(words(text)) for text in texts) / len(texts),
        "most_actions": max(int((menu >= 0).sum()) for menu in menus),
        "transitions": "stochastic" if (np.diff(compiled.row_first) > 1).any() else "deterministic",
        "pages": len(texts),
        "actions": len(actions),
        "states": compiled.raw_states,
        "endings": len(compiled.endings),
        "states_are_all": compiled.raw_complete,
    }


def distances_of(game: Game, compiled: Compiled) -> dict[str, Distance]:
    """The distance of each set of paraphrases from its originals."""
    texts = (*compiled.texts, *compiled.actions)
    sets = game.rules.paraphrases if isinstance(game, Explorable) else {}
    return {
        name: distance(pairs, texts if is_retelling(path) else compiled.actions)
        for name, path in sets.items()
        if (pairs := paraphrases_of(game, name))
    }


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
