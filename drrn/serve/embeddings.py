"""Embeddings of some pages and actions after each round: saved by the run, drawn by the page."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException

from drrn.files import write_atomically
from drrn.game.contract import another, close
from drrn.game.episodes import episode
from drrn.serve.runs import read_json, write_json

if TYPE_CHECKING:
    from drrn.runs.trainer import Trainer

MAX_PAGES = 8
MAX_ACTIONS = 12
GAMES = 10  # random games in which pages are counted
STEPS = 100  # of each
PAGES = "pages.json"

Page = tuple[str, tuple[str, ...]]
Vectors = NDArray[np.float64]


class EmbeddingLog:
    """Saves the embeddings of a few pages after each round, if the model has two towers."""

    def __init__(self, folder: Path, trainer: Trainer) -> None:
        self.folder = folder
        self.trainer = trainer
        self.pages = read_json(folder / PAGES)  # a resumed run continues with the same pages
        if self.pages is None:
            self.pages = _choose_pages(trainer)
            write_json(folder / PAGES, self.pages)

    def save(self, number: int) -> None:
        """Save the embeddings of the first replica."""
        arrays = {}
        for i, (text, actions) in enumerate(self.pages):
            arrays[f"vectors_{i}"], arrays[f"q_{i}"] = self._embed(text, actions)
        if arrays:
            buffer = io.BytesIO()
            np.savez(buffer, **arrays)
            write_atomically(self.folder / f"round-{number:05}.npz", buffer.getvalue())

    def _embed(self, text: str, actions: Sequence[str]) -> tuple[Any, Any]:
        """Return the vectors of the state and its actions [1 + A, H], and Q [A]."""
        import torch

        from drrn.playing.stepped_rollouts import pages_of

        model: Any = self.trainer.model
        store = model.store.scratch()
        pages = pages_of([[store.page(text, tuple(actions))]] * len(model.seeds), store)
        with torch.no_grad():
            s, a = model.embeddings(model.read(pages[None])[0])
            vectors = torch.cat([s[0, :1], a[0, 0]]).cpu().numpy().astype(np.float32)
            q = model.q(pages)[0, 0, : len(actions)].cpu().numpy()
        return vectors, q


def _choose_pages(trainer: Trainer) -> list[Page]:
    """Return the pages with a choice that random games show most; none for other models."""
    from drrn.models.drrn import DRRN

    is_drrn = isinstance(trainer.model, DRRN) and trainer.settings.model.action_hidden is None
    game = another(trainer.game) if is_drrn else None
    if game is None:
        return []
    counter: Counter[Page] = Counter()
    draw = random.Random(0)
    for seed in range(GAMES):
        steps = episode(game, lambda page: draw.randrange(len(page.actions)), seed, max_steps=STEPS)
        for page in (step.page for step in steps):
            if 2 <= len(page.actions) <= MAX_ACTIONS:
                counter[page.text, tuple(sorted(page.actions))] += 1
    close(game)
    return [page for page, _ in counter.most_common(MAX_PAGES)]


def read_embeddings(folder: Path, page: int) -> dict[str, Any]:
    """Return the embeddings of a page after each round, on the two principal axes of all."""
    pages = read_json(folder / PAGES)
    files = sorted(folder.glob("round-*.npz"))
    if not pages or not files:
        raise HTTPException(404, "Only runs of the model drrn that start here have embeddings.")
    if page >= len(pages):
        raise HTTPException(404, f"The page must be a number from 0 to {len(pages) - 1}.")
    vectors = []
    q = []
    for path in files:
        with np.load(path, allow_pickle=False) as file:
            vectors.append(file[f"vectors_{page}"].astype(np.float64))
            q.append(file[f"q_{page}"].tolist())
    rounds = []
    for path, points, values in zip(files, _plane(np.stack(vectors)).tolist(), q, strict=True):
        number = int(path.stem.removeprefix("round-"))
        pairs = zip(points[1:], values, strict=True)
        tips = [{"x": x, "y": y, "q": value} for (x, y), value in pairs]
        rounds.append({"round": number, "state": points[0], "actions": tips})
    text, actions = pages[page]
    names = [each[0][:80] for each in pages]
    return {"pages": names, "page": page, "text": text, "actions": actions, "rounds": rounds}


def _plane(vectors: Vectors) -> Vectors:
    """Project vectors [rounds, n, H] on their two principal axes, [rounds, n, 2].

    The origin stays, so that a right angle between the state and an action means a Q near 0. After
    the last round the state points to the right.
    """
    flat = vectors.reshape(-1, vectors.shape[-1])
    axes = np.linalg.svd(flat, full_matrices=False)[2][:2]
    points: Vectors = (flat @ axes.T).reshape(*vectors.shape[:2], -1)
    if points.shape[-1] < 2:
        points = np.concatenate([points, np.zeros_like(points)], axis=-1)
    return points * np.where([points[-1, 0, 0] < 0, False], -1.0, 1.0)
