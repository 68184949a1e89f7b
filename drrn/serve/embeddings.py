"""Embeddings of some pages and actions after each round: saved by the run, drawn by the page."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.exceptions import HTTPException

from drrn.files import json_or_none, write
from drrn.game.contract import another, close
from drrn.game.episodes import episode
from drrn.runs.embeddings import embed, plane

if TYPE_CHECKING:
    from drrn.runs.trainer import Trainer

MAX_PAGES = 8
MAX_ACTIONS = 12
GAMES = 10  # random games in which pages are counted
STEPS = 100  # of each
PAGES = "pages.json"

Page = tuple[str, tuple[str, ...]]


class EmbeddingLog:
    """Saves the embeddings of a few pages after each round, if the model has two towers."""

    def __init__(self, folder: Path, trainer: Trainer) -> None:
        self.folder = folder
        self.trainer = trainer
        self.pages = json_or_none(folder / PAGES)  # a resumed run continues with the same pages
        if self.pages is None:
            self.pages = _choose_pages(trainer)
            write(folder / PAGES, json.dumps(self.pages, ensure_ascii=False))

    def save(self, number: int) -> None:
        """Save the embeddings of the first replica."""
        arrays: dict[str, Any] = {}
        for i, (text, actions) in enumerate(self.pages):
            vectors, q = embed(self.trainer.model, text, actions)
            arrays |= {f"vectors_{i}": vectors[0], f"q_{i}": q[0]}
        if arrays:
            buffer = io.BytesIO()
            np.savez(buffer, **arrays)
            write(self.folder / f"round-{number:05}.npz", buffer.getvalue())


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
    pages = json_or_none(folder / PAGES)
    files = sorted(folder.glob("round-*.npz"))
    if not pages or not files:
        sentence = "Embeddings exist only for runs of the model drrn that this page started."
        raise HTTPException(404, sentence)
    if page >= len(pages):
        raise HTTPException(404, f"The page must be a number from 0 to {len(pages) - 1}.")
    vectors = []
    q = []
    for path in files:
        with np.load(path, allow_pickle=False) as file:
            vectors.append(file[f"vectors_{page}"])
            q.append(file[f"q_{page}"].tolist())
    rounds = []
    for path, points, values in zip(files, plane(np.stack(vectors)).tolist(), q, strict=True):
        number = int(path.stem.removeprefix("round-"))
        pairs = zip(points[1:], values, strict=True)
        tips = [{"x": x, "y": y, "q": value} for (x, y), value in pairs]
        rounds.append({"round": number, "state": points[0], "actions": tips})
    text, actions = pages[page]
    names = [each[0][:80] for each in pages]
    return {"pages": names, "page": page, "text": text, "actions": actions, "rounds": rounds}
