"""Recall by meaning: pages and actions in other words are read as known ones that mean the same.

The memory has the pages of training, each a text and its menus. If a page shows an action that the
agent does not know, the page is looked up by its text. A page whose text is new is looked up by
the similarity of its sentences and of its menu. Its actions are then matched one to one with those
known there, and the network reads the known texts in place of the new ones. Texts are compared by
the cosine of their sentence vectors, which are centred on the mean of the known ones.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.sentences import Floats, SentenceVectors, unit
from textgames.arrays import Ids, starts_of
from textgames.compiled.game import Compiled
from textgames.game.contract import Observation
from textgames.wording import check_texts

ENDS = re.compile(r"(?<=[.!?…])[\"”’)]*\s+|\s*\n\s*")  # of sentences

Memory = dict[str, list[list[str]]]  # the menus of each text


class Recall:
    """Reads pages in other words as pages of a memory."""

    def __init__(
        self,
        pages: Memory,
        sentences: SentenceVectors,
        *,
        page_weight: float = 4.0,
        least: float = 0.25,
        candidates: int = 8,
    ) -> None:
        """Prepare to recall.

        Args:
            pages: The menus of each known text.
            sentences: The vectors of sentences.
            page_weight: The weight of the similarity of texts, compared with that of menus.
            least: The least similarity of texts. Pages of another game reach about 0.2.
            candidates: The number of pages whose menus are compared.
        """
        self.page_weight = page_weight
        self.least = least
        self.candidates = candidates
        self.pages = pages
        self.sentences = sentences
        self.texts = list(pages)
        check_texts("pages", self.texts)
        self.actions = sorted({each for menus in pages.values() for menu in menus for each in menu})
        self._known = set(self.actions)
        check_texts("menus", self.actions)
        self._cache: dict[tuple[str, tuple[str, ...]], tuple[str, dict[str, str]]] = {}

    def page(self, page: Observation) -> Observation:
        """The page in words that the agent knows, or the page itself if none is similar."""
        if self._known.issuperset(page.actions) or not self.texts:
            return page
        key = (page.text, tuple(sorted(set(page.actions))))
        if key not in self._cache:
            self._cache[key] = self._recall(*key)
        text, names = self._cache[key]
        return replace(page, text=text, actions=tuple(names.get(a, a) for a in page.actions))

    def game(self, game: Compiled) -> Compiled:
        """The game in words that the agent knows."""
        texts = list(game.texts)
        actions = {action: number for number, action in enumerate(game.actions)}
        page_text = game.page_text.copy()
        page_action = game.page_action.copy()
        for number, page in enumerate(pages_of_game(game)):
            known = self.page(page)
            if known is not page:
                page_text[number] = len(texts)
                texts.append(known.text)
                ids = [actions.setdefault(action, len(actions)) for action in known.actions]
                page_action[game.page_first[number] : game.page_first[number + 1]] = ids
        words: dict[str, Any] = {"texts": tuple(texts), "actions": tuple(actions)}
        return replace(game, **words, page_text=page_text, page_action=page_action)

    def _recall(self, text: str, menu: Sequence[str]) -> tuple[str, dict[str, str]]:
        """The known text, and the known action of each action of the menu."""
        texts = {text: 1.0} if text in self.pages else self._similar(text)
        vectors = self._action_vectors(menu)
        best = (-np.inf, text, dict[str, str]())
        for known_text, similarity in texts.items():
            for known in self.pages[known_text]:
                cosines = vectors @ self._action_vectors(known).T
                cosines[np.equal.outer(np.array(menu), np.array(known))] = len(menu) + 1.0
                rows, columns = one_to_one(cosines)
                menu_score = float(np.minimum(cosines[rows, columns], 1).sum()) / max(cosines.shape)
                score = self.page_weight * similarity + menu_score
                if score > best[0]:
                    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
                    best = (score, known_text, {menu[row]: known[column] for row, column in pairs})
        return best[1:]

    def _similar(self, text: str) -> dict[str, float]:
        """The most similar known texts: each sentence is compared with its nearest one."""
        mean, vectors, index, starts = self._sentences
        own = unit(self.sentences(sentences_of(text)) - mean)
        cosines = (own @ vectors.T)[:, index]  # [own, sentences of all texts]
        forward = np.maximum.reduceat(cosines, starts[:-1], axis=1).mean(axis=0)
        backward = np.add.reduceat(cosines.max(axis=0), starts[:-1]) / np.diff(starts)
        similarity = (forward + backward) / 2
        nearest = np.argsort(-similarity)[: self.candidates]
        pairs = {self.texts[at]: float(similarity[at]) for at in nearest.tolist()}
        return {known: value for known, value in pairs.items() if value >= self.least}

    @cached_property
    def _sentences(self) -> tuple[Floats, Floats, Ids, Ids]:
        """The mean of the known sentences, their vectors, and the sentences of each text."""
        parts = [sentences_of(text) for text in self.texts]
        numbers: dict[str, int] = {}
        index = [numbers.setdefault(each, len(numbers)) for part in parts for each in part]
        vectors = self.sentences(list(numbers))
        mean = vectors.mean(axis=0)
        return mean, unit(vectors - mean), np.array(index), starts_of([len(part) for part in parts])

    @cached_property
    def _mean_action(self) -> Floats:
        return np.asarray(self.sentences(self.actions).mean(axis=0))

    def _action_vectors(self, actions: Sequence[str]) -> Floats:
        return unit(self.sentences(actions) - self._mean_action)


def sentences_of(text: str) -> list[str]:
    return [part for part in ENDS.split(text) if part.strip()] or [text]


def one_to_one(similarity: NDArray[Any]) -> tuple[Ids, Ids]:
    """Return rows and columns, matched one to one, with the largest sum of similarities.

    The Hungarian algorithm: rows are added one by one along a shortest augmenting path. u and v
    are the prices of rows and columns, and index 0 means none.
    """
    if similarity.shape[0] > similarity.shape[1]:
        columns, rows = one_to_one(similarity.T)
        return rows, columns
    cost = np.pad(-similarity.astype(float), ((1, 0), (1, 0)), constant_values=np.inf)
    u, v = (np.zeros(size) for size in cost.shape)
    owner = np.zeros(len(v), np.int64)  # the row of each column
    for row in range(1, len(cost)):
        owner[0] = row
        column = 0
        least = np.full(len(v), np.inf)
        before = np.zeros(len(v), np.int64)  # the column before each on the path
        is_done = np.zeros(len(v), np.bool_)
        while owner[column]:
            is_done[column] = True
            distance = cost[owner[column]] - u[owner[column]] - v
            nearer = ~is_done & (distance < least)
            least[nearer] = distance[nearer]
            before[nearer] = column
            column = int(np.argmin(np.where(is_done, np.inf, least)))
            step = least[column]
            u[owner[is_done]] += step
            v[is_done] -= step
            least[~is_done] -= step
        while column:
            owner[column] = owner[before[column]]
            column = int(before[column])
    columns = np.flatnonzero(owner[1:])
    return owner[columns + 1] - 1, columns


def pages_of_game(game: Compiled) -> Iterator[Observation]:
    """Yield every page of a compiled game."""
    menus = np.split(game.page_action, game.page_first[1:-1])
    for text, menu in zip(game.page_text, menus, strict=True):
        yield Observation(game.texts[text], tuple(game.actions[action] for action in menu))


def remember(memory: Memory, pages: Iterable[Observation], most: int = 20_000) -> Memory:
    """Add pages that have a menu to a memory, up to its limit."""
    for page in pages:
        menu = sorted(page.actions)
        if menu and len(memory) < most and menu not in memory.setdefault(page.text, []):
            memory[page.text].append(menu)
    return memory
