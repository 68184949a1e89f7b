"""Embeddings in the course of training: some pages and their actions as vectors after each round, and on a plane."""

from __future__ import annotations

import io
import random
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from drrn.compiled.game import Compiled
from drrn.errors import InputError
from drrn.files import write_atomically
from drrn.game.contract import Game
from drrn.game.optional import another, close, is_stopped
from drrn.serve.run_files import RunFiles

if TYPE_CHECKING:
    from drrn.runs.trainer import Trainer

MOST_PAGES = 8
MOST_ACTIONS = 12
# to find pages of a game that is not compiled
GAMES_PLAYED = 5
STEPS_PLAYED = 50
KEPT = re.compile(r"round-(\d{5})\.npz")

Page = tuple[str, tuple[str, ...]]
Vectors = NDArray[np.float64]


class EmbeddingLog:
    """Keeps the vectors of a few pages after each round; of models that have no vectors of actions, nothing."""

    def __init__(self, files: RunFiles, trainer: Trainer) -> None:
        self.files = files
        self.trainer = trainer
        kept = files.read_json(files.beside / "pages.json")  # of a run that goes on: the same pages
        self.pages = [(text, tuple(actions)) for text, actions in kept] if kept else _pages(trainer)
        if self.pages and not kept:
            files.write_json(files.beside / "pages.json", self.pages)

    def keep(self, number: int) -> None:
        """Keep the vectors of now, of the first replica."""
        kept = {}
        for at, (text, actions) in enumerate(self.pages):
            kept[f"vectors_{at}"], kept[f"q_{at}"] = self._look(text, actions)
        if kept:
            packed = io.BytesIO()
            np.savez(packed, **kept)
            write_atomically(
                self.files.beside / f"round-{number:05}.npz", [packed.getvalue()]
            )  # a stop may come meanwhile

    def _look(self, text: str, actions: tuple[str, ...]) -> tuple[Any, Any]:
        """The state's vector and those of its actions [1 + A, H], and Q of the actions [A]."""
        import torch

        from drrn.models import Pages

        model: Any = self.trainer.model
        store = model.store.scratch()
        replicas = len(model.seeds)
        state, menu = store.page(text, actions)
        pages = Pages(
            np.full((replicas, 1), state, np.int64), np.array([[menu]] * replicas, np.int64)
        )
        with torch.no_grad():
            reading = model.read(Pages(pages.states[None], pages.actions[None]), store)[0]
            s, a = model.embeddings(reading)
            vectors = torch.cat([s[0, :1], a[0, 0]]).cpu().numpy().astype(np.float32)
            q = model.q(pages, store)[0, 0, : len(actions)].cpu().numpy()
        return vectors, q


def _pages(trainer: Trainer) -> list[Page]:
    """The pages with a choice that random play comes to most often; none where the model has no two vectors to show."""
    from drrn.models.drrn import DRRN

    if not isinstance(trainer.model, DRRN) or trainer.settings.model.action_hidden is not None:
        return []
    often = _often(trainer.compiled) if trainer.compiled is not None else _met(trainer.game)
    shown = [page for page, _ in often.most_common() if 2 <= len(page[1]) <= MOST_ACTIONS]
    return shown[:MOST_PAGES]


def _often(compiled: Compiled) -> Counter[Page]:
    """How often random play comes to each page of a compiled game."""
    from drrn.compiled.chain import Chain, uniform

    visits = np.bincount(
        compiled.page, Chain(compiled, uniform(compiled)).visits(), len(compiled.page_text)
    )
    found: Counter[Page] = Counter()
    for page, often in enumerate(visits.tolist()):
        actions = compiled.page_action[compiled.page_first[page] : compiled.page_first[page + 1]]
        found[
            compiled.texts[compiled.page_text[page]], tuple(compiled.actions[a] for a in actions)
        ] = often
    return found


def _met(game: Game) -> Counter[Page]:
    """How often a few random games of a copy come to each page; of a game that has no copies, nothing."""
    found: Counter[Page] = Counter()
    copied = another(game)
    choose = random.Random(0)
    if copied is None:
        return found
    for seed in range(GAMES_PLAYED):
        shown = copied.reset(seed)
        for _ in range(STEPS_PLAYED):
            if shown.ended or is_stopped(copied):
                break
            found[shown.text, tuple(sorted(shown.actions))] += 1
            shown = copied.step(choose.randrange(len(shown.actions)))
    close(copied)
    return found


def told_embeddings(files: RunFiles, page: int) -> dict[str, Any]:
    """Where the vectors of a page stood after each round, on the two principal axes of all of them."""
    pages = files.read_json(files.beside / "pages.json")
    rounds = sorted(path for path in files.beside.glob("round-*.npz") if KEPT.fullmatch(path.name))
    if not pages or not rounds:
        raise InputError(
            "No embeddings were kept of this run: they are of the model drrn, in runs begun on this page."
        )
    if not 0 <= page < len(pages):
        raise InputError(f"Pages are numbered from 0 to {len(pages) - 1}.")
    looks = [(path, *_read(path, page)) for path in rounds]
    vectors = np.stack([one for _, one, _ in looks])  # [rounds, 1 + A, H]
    points = _plane(vectors)
    text, actions = pages[page]
    told = []
    for (path, _, q), places in zip(looks, points.tolist(), strict=True):
        moved = [
            {"x": x, "y": y, "q": float(value)} for (x, y), value in zip(places[1:], q, strict=True)
        ]
        told.append({"round": _round_of(path), "state": places[0], "actions": moved})
    shown = [{"page": number, "text": one[0][:80]} for number, one in enumerate(pages)]
    return {"pages": shown, "page": page, "text": text, "actions": actions, "rounds": told}


def _read(path: Path, page: int) -> tuple[Vectors, Vectors]:
    with np.load(path, allow_pickle=False) as file:
        return file[f"vectors_{page}"].astype(np.float64), file[f"q_{page}"].astype(np.float64)


def _plane(vectors: Vectors) -> Vectors:
    """Vectors [rounds, n, H] on their two principal axes [rounds, n, 2]; the origin stays, so that a right angle
    between the state and an action means a Q near 0. At the last round the state points right."""
    flat = vectors.reshape(-1, vectors.shape[-1])
    axes = np.linalg.svd(flat, full_matrices=False)[2][:2]
    points: Vectors = (flat @ axes.T).reshape(*vectors.shape[:2], -1)
    if points.shape[-1] < 2:
        points = np.concatenate([points, np.zeros_like(points)], axis=-1)
    return points * np.where([points[-1, 0, 0] < 0, False], -1.0, 1.0)


def _round_of(path: Path) -> int:
    match = KEPT.fullmatch(path.name)
    assert match is not None
    return int(match[1])
