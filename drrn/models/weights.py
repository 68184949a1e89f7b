"""Everything a model has learned, by name: given as arrays, and taken back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.models.base import Model

Arrays = Mapping[str, NDArray[Any]]


def model_state(model: Model) -> dict[str, NDArray[Any]]:
    """Weights and word tables, and which words each replica knows."""
    found: dict[str, NDArray[Any]] = {f"weight {name}": w.cpu().numpy() for name, w in model.weights.items()}
    for name, table in model.tables.items():
        table.make_room()
        words = len(table.vocabulary)
        found[f"table {name}"] = table.weight[:, :words].cpu().numpy()
        found[f"known {name}"] = table.known[:, :words]
    return found


def check_fits(model: Model, arrays: Arrays, source: str) -> None:
    """Refuse what was taken from another model, or from other replicas."""
    mine = model_state(model)
    if odd := sorted(mine.keys() ^ arrays.keys()):
        where = "the run, not in the file" if odd[0] in mine else "the file, not in the run"
        raise InputError(f'{source}: it holds the weights of another model: "{odd[0]}" is in {where}')
    for name, array in arrays.items():
        if not _fits(array, mine[name]):
            shapes = f"{list(array.shape)}, not {list(mine[name].shape)}"
            raise InputError(f'{source}: it holds the weights of another run: "{name}" is {shapes}')


def restore_model(model: Model, arrays: Arrays, source: str) -> None:
    """Become what the arrays were taken from."""
    check_fits(model, arrays, source)
    for name in model.weights:
        model.weights[name] = torch.from_numpy(arrays[f"weight {name}"]).to(model.device)
    for name, table in model.tables.items():
        table.weight = torch.from_numpy(arrays[f"table {name}"]).to(model.device)
        table.known = arrays[f"known {name}"]


def _fits(array: NDArray[Any], mine: NDArray[Any]) -> bool:
    """Whether it can stand in mine's place; a side of no length is one that has yet to grow."""
    if (array.ndim, array.dtype) != (mine.ndim, mine.dtype):
        return False
    return all(have in (0, given) for given, have in zip(array.shape, mine.shape, strict=True))
