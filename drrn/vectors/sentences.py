"""Vectors of whole texts, by a function of the user's or a local sentence-transformers model."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn import registry
from drrn.errors import InputError

AT_ONCE = 256  # texts that the function gets together


class SentenceVectors:
    """A function from a list of N texts to an array [N, D], with checks of what it returns."""

    def __init__(self, name: str, function: Callable[[list[str]], Any]) -> None:
        self.name = name
        self.function = function
        self.dimensions = 0
        self.dimensions = self(["One text."]).shape[1]

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, [N, D]."""
        starts = range(0, len(texts), AT_ONCE)
        parts = [self._compute(list(texts[start : start + AT_ONCE])) for start in starts]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)

    def _compute(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):  # too large for 32 bits is reported as not finite
                vectors = np.asarray(self.function(texts), np.float32)
        except Exception as error:  # any: the function is the user's
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            raise self._error(f"it failed on {len(texts)} texts: {reason}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.shape[1] == 0:
            shape = list(vectors.shape)
            raise self._error(f"it returned an array {shape} for {len(texts)} texts")
        if self.dimensions not in (0, vectors.shape[1]):
            widths = f"{self.dimensions} numbers before, and now of {vectors.shape[1]}"
            raise self._error(f"it returned vectors of {widths}")
        if not np.isfinite(vectors).all():
            bad = texts[int(np.argmin(np.isfinite(vectors).all(axis=1)))]
            text = " ".join(bad.split())[:60]
            raise self._error(f'the vector of "{text}" has a number that is not finite')
        return vectors

    def _error(self, reason: str) -> InputError:
        reason = " ".join(reason.split())
        needed = "it must turn a list of N texts into an array [N, D]"
        return InputError(f'sentences "{self.name}": {reason}: {needed}')


def open_sentences(name: str) -> SentenceVectors:
    """Open `module:function`, or the folder of a sentence-transformers model."""
    if registry.is_object(name):
        function = registry.resolve("sentence", name, {})
        if isinstance(function, type) or not callable(function):
            raise InputError(f'sentences "{name}": it must be a function of a list of texts')
        return SentenceVectors(name, function)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        choices = "give module:function, or the folder of a sentence-transformers model"
        raise InputError(f'sentences is "{name}": {choices}')
    try:
        package: Any = importlib.import_module("sentence_transformers")
        model = package.SentenceTransformer(str(folder), device="cpu")
    except ImportError as error:
        install = "sentence-transformers is not installed: pip install 'drrn[sentence]'"
        raise InputError(f"{folder}: {install}") from error
    except Exception as error:  # any fault of the folder
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(f"{folder}: sentence-transformers cannot open it: {reason}") from error
    return SentenceVectors(name, lambda texts: model.encode(texts, show_progress_bar=False))
