"""Embeddings in the course of training: a state and two of its actions, as points on their two principal axes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from drrn.compiled.game import Compiled
from drrn.lab.experiments.examples import Example, examples_of
from drrn.lab.experiments.marks import mark
from drrn.lab.experiments.rows import Row
from drrn.models import Model, Pages
from drrn.models.drrn import DRRN
from drrn.runs import storage

EPISODES = (200, 400, 600)  # when to look, beside the end
ROLES = ("state", "good", "poor")

Points = NDArray[np.float64]


class Trace:
    """Keeps the embeddings of an example in a run's folder as training goes on, so that a resumed run has them."""

    def __init__(self, folder: Path, example: Example, texts: tuple[str, str, str]) -> None:
        self.folder = folder
        self.example = example
        self.texts = texts

    def look(self, model: Model, episodes: int) -> None:
        """Keep the three embeddings of now, [R, 3, H], and Q of the two actions."""
        assert isinstance(model, DRRN)
        store = model.store.scratch()
        replicas = len(model.seeds)
        state, actions = store.page(self.texts[0], self.texts[1:])
        pages = Pages(
            np.full((replicas, 1), state, np.int64), np.array([[actions]] * replicas, np.int64)
        )
        with torch.no_grad():
            reading = model.read(Pages(pages.states[None], pages.actions[None]), store)[0]
            s, a = model.embeddings(reading)
            vectors = torch.cat([s[:, 0, None], a[:, 0]], dim=1).cpu().numpy()  # [R, 3, H]
            q = model.q(pages, store)[:, 0].cpu().numpy()  # [R, 2]
        storage.save_tensors(self._path(episodes), {"vectors": vectors, "q": q})

    def rows(self, seeds: list[int], last: int) -> list[Row]:
        """Rows for each seed: where the three embeddings stood each time they were kept."""
        looks = [
            episodes for episodes in sorted({*EPISODES, last}) if self._path(episodes).exists()
        ]
        kept = [storage.load_tensors(self._path(episodes))[0] for episodes in looks]
        found = []
        for replica, seed in enumerate(seeds):
            points = plane(np.stack([look["vectors"][replica] for look in kept]).astype(np.float64))
            for episodes, look, three in zip(looks, kept, points, strict=True):
                for role, (x, y), q in zip(
                    ROLES, three.tolist(), (None, *look["q"][replica].tolist()), strict=True
                ):
                    place = {
                        "seed": seed,
                        "episodes": episodes,
                        "state": self.example.state.mark,
                        "role": role,
                    }
                    found.append(
                        {
                            **place,
                            "x": round(x, 4),
                            "y": round(y, 4),
                            "q": q if q is None else round(q, 4),
                        }
                    )
        return found

    def _path(self, episodes: int) -> Path:
        return self.folder / f"embeddings-{episodes}.safetensors"


def plane(vectors: Points) -> Points:
    """Vectors [looks, 3, H] on their two principal axes [looks, 3, 2]. The origin stays where it is, so that a right
    angle with the state means a Q near 0; at the last look the state points right, and the good action not down."""
    flat = vectors.reshape(-1, vectors.shape[-1])
    axes = np.linalg.svd(flat, full_matrices=False)[2][:2]
    points = (flat @ axes.T).reshape(*vectors.shape[:2], 2)
    state = points[-1, 0]
    good = points[-1, 1]
    turned: Points = points * np.where([state[0] < 0, good[1] < 0], -1.0, 1.0)
    return turned


def trace_of(folder: Path, game: str, compiled: Compiled | None) -> Trace | None:
    """For the game's example that is to be drawn, where it has one and its texts are there."""
    for example in examples_of(game) if compiled else ():
        if example.embedding and compiled:
            texts = {mark(text): text for text in compiled.texts}
            actions = {mark(text): text for text in compiled.actions}
            try:
                three = (
                    texts[example.state.mark],
                    actions[example.good.mark],
                    actions[example.poor.mark],
                )
            except KeyError:  # another version of the story
                return None
            return Trace(folder, example, three)
    return None
