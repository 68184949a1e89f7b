"""Vectors of whole texts, made by a function of the user's or by a model of sentence-transformers in a local folder."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn import registry
from drrn.errors import InputError

Made = Callable[[list[str]], Any]
AT_ONCE = 256  # texts that are given to it together


class SentenceVectors:
    """A function from a list of N texts to an array [N, D]; what it gives is checked: anybody may have written it."""

    def __init__(self, name: str, made: Made) -> None:
        self.name = name
        self.made = made
        self.dimensions = 0
        self.dimensions = self(["One text."]).shape[1]

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts, [N, D]."""
        parts = [
            self._checked(list(texts[at : at + AT_ONCE])) for at in range(0, len(texts), AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)

    def _checked(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            with np.errstate(
                over="ignore"
            ):  # what is too large for 32 bits is told as what is not finite
                found = np.asarray(self.made(texts), np.float32)
        except (
            Exception
        ) as error:  # whatever it may be, the function is the user's, and so is the mistake
            why = f"{type(error).__name__}: {error}".rstrip(": ")
            raise self._refusal(f"it failed on {len(texts)} texts: {why}") from error
        if found.ndim != 2 or len(found) != len(texts) or found.shape[1] == 0:
            raise self._refusal(
                f"of {len(texts)} texts it made an array {list(found.shape)}, not [{len(texts)}, D]"
            )
        if self.dimensions and found.shape[1] != self.dimensions:
            raise self._refusal(
                f"it made vectors of {self.dimensions} numbers before, and now of {found.shape[1]}"
            )
        if not np.isfinite(found).all():
            bad = texts[int(np.argmin(np.isfinite(found).all(axis=1)))]
            raise self._refusal(
                f'the vector of "{" ".join(bad.split())[:60]}" holds a number that is not finite'
            )
        return found

    def _refusal(self, why: str) -> InputError:
        said = " ".join(why.split())
        return InputError(
            f'sentences "{self.name}": {said}: it must turn a list of N texts into an array [N, D]'
        )


def open_sentences(name: str) -> SentenceVectors:
    """By `module:function`, or by the folder of a model of sentence-transformers."""
    if registry.is_object(name):
        made = registry.resolve("sentence", name, {})
        if isinstance(made, type) or not callable(made):
            raise InputError(f'sentences "{name}": it must be a function of a list of texts')
        return SentenceVectors(name, made)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise InputError(
            f"sentences is {name}: give module:function, or the folder of a sentence-transformers model"
        )
    return SentenceVectors(name, _transformer(folder))


def _transformer(folder: Path) -> Made:
    try:
        package: Any = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise InputError(
            f"{folder}: sentence-transformers is not installed: pip install 'drrn[sentence]'"
        ) from error
    try:
        model = package.SentenceTransformer(str(folder), device="cpu")
    except Exception as error:  # whatever is wrong with the folder
        why = " ".join(str(error).split())
        raise InputError(
            f"{folder}: sentence-transformers cannot open it: {type(error).__name__}: {why}"
        ) from error
    return lambda texts: model.encode(texts, show_progress_bar=False)
