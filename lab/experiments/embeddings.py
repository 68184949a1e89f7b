"""The embeddings of a page and its actions, and their projection to a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from drrn.models import Model

Points = NDArray[np.float64]


def embed(model: Model, text: str, actions: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the vectors of a page and its actions [R, 1 + A, H], and Q of the actions [R, A]."""
    import torch

    from drrn.models import Pages
    from drrn.models.drrn import DRRN

    assert isinstance(model, DRRN)
    store = model.store.scratch()
    state, ids = store.page(text, tuple(actions))
    replicas = len(model.seeds)
    pages = Pages(np.array([[state]] * replicas), np.array([[ids]] * replicas), store)
    with torch.no_grad():
        read = model.read(pages[None])[0]
        s, a = model.embeddings(read)
        vectors = torch.cat([s[:, 0, None], a[:, 0]], dim=1)
        q = model.q(pages)[:, 0]
    return vectors.cpu().numpy(), q.cpu().numpy()


def plane(vectors: NDArray[Any]) -> Points:
    """Project vectors [times, 1 + A, H] onto their two principal axes [times, 1 + A, 2].

    The origin is fixed, so that a right angle with the page means a Q near 0. At the last time the
    page points right, and the first action does not point down.
    """
    flat = vectors.astype(np.float64).reshape(-1, vectors.shape[-1])
    axes = np.zeros((2, flat.shape[-1]))
    rows = np.linalg.svd(flat, full_matrices=False)[2][:2]
    axes[: len(rows)] = rows  # of one hidden unit, there is one axis
    points = (flat @ axes.T).reshape(*vectors.shape[:2], 2)
    page = points[-1, 0]
    first = points[-1, 1]
    oriented: Points = points * np.where([page[0] < 0, first[1] < 0], -1.0, 1.0)
    return oriented
