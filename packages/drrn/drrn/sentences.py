"""Vectors of whole texts: from a function, or from a sentence model in a folder.

A folder contains one of these models:

- a model of sentence-transformers, which opens it
- a file .onnx and tokenizer.json
- weights.npz and sp.model: Universal Sentence Encoder Multilingual 3, in NumPy

Published scores were made with the last two. A name without a folder is looked up in the cache,
where `scripts/encoders` puts models. Packages are imported when a model needs them.
"""

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textgames import registry
from textgames.errors import InputError, require
from textgames.files import home, json_or_none
from textgames.progress import tracked

# Modules of sentence-transformers. Others import what the model's files name.
SAFE_MODULES = {"Transformer", "Pooling", "Normalize"}

Floats = NDArray[np.float32]
Function = Callable[[list[str]], Any]


class SentenceVectors:
    """A function from a list of N texts to an array [N, D], with checks of what it returns."""

    def __init__(self, name: str, function: Function, digest: str | None = None) -> None:
        """Take a function, and the digest of its model if it is known."""
        self.name = name
        self.digest = digest
        self.function = function
        self.dimensions = 0
        self.dimensions = self._compute(["One text."]).shape[1]

    def __call__(self, texts: Sequence[str], at_once: int = 32) -> Floats:
        """The vectors of texts, [N, D]. Models get few texts at once, of similar length."""
        distinct = sorted(dict.fromkeys(texts), key=len)
        starts = range(0, len(distinct), at_once)
        rows: dict[str, Floats] = {}
        for start in tracked(starts, len(starts), "reading"):
            some = distinct[start : start + at_once]
            rows.update(zip(some, self._compute(some), strict=True))
        return np.array([rows[text] for text in texts], np.float32).reshape(-1, self.dimensions)

    def _compute(self, texts: list[str]) -> Floats:
        try:
            with np.errstate(over="ignore"):  # too large for 32 bits is reported as not finite
                vectors = np.asarray(self.function(texts), np.float32)
        except Exception as error:  # any: the function is the user's
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            raise self._error(f"it failed on {len(texts)} texts: {reason}") from error
        width = self.dimensions or vectors.shape[-1]
        if vectors.shape != (len(texts), width) or not width:
            shapes = f"{list(vectors.shape)} instead of {[len(texts), width]}"
            raise self._error(f"it returned an array {shapes}")
        if not np.isfinite(vectors).all():
            raise self._error("a vector has a number that is not finite")
        return vectors

    def _error(self, reason: str) -> InputError:
        needed = "it must turn a list of N texts into an array [N, D]"
        return InputError(f'sentences "{self.name}": {" ".join(reason.split())}: {needed}')


# --- opening


def open_sentences(name: str) -> SentenceVectors:
    """Open `module:function`, the folder of a sentence model, or the name of one in the cache.

    With `+` between two, their vectors are put side by side.
    """
    if registry.is_object(name):
        function = registry.resolve("sentence", name, {})
        if isinstance(function, type) or not callable(function):
            raise InputError(f'sentences "{name}": it must be a function of a list of texts')
        return SentenceVectors(name, function)
    if "+" in name:
        parts = [open_sentences(part) for part in name.split("+")]
        both = SentenceVectors(name, lambda texts: np.hstack([unit(part(texts)) for part in parts]))
        both.digest = "+".join(filter(None, (part.digest for part in parts))) or None
        return both
    for folder in (Path(name).expanduser(), home() / "encoders" / name):
        if folder.is_dir():
            return _open_model(folder)
    choices = "run scripts/encoders, which fetches some, or give a folder or module:function"
    raise InputError(f'sentences "{name}": no such model; {choices}')


@functools.cache  # a large model is loaded once
def _open_model(folder: Path) -> SentenceVectors:
    digest = hashlib.sha256()
    try:
        function = _open_folder(folder)
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(file.read_bytes())
    except InputError:
        raise
    except Exception as error:  # any fault of the folder
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(f"{folder}: this sentence model cannot be opened: {reason}") from error
    return SentenceVectors(str(folder), function, digest.hexdigest())


def _open_folder(folder: Path) -> Function:
    names = {path.name for path in folder.iterdir()}
    if {"weights.npz", "sp.model"} <= names:
        return UniversalEncoder(folder)
    if "tokenizer.json" in names and any(name.endswith(".onnx") for name in names):
        return OnnxModel(folder)
    for module in json_or_none(folder / "modules.json") or []:
        package, _, name = str(module["type"]).rpartition(".")
        if name not in SAFE_MODULES or package.partition(".")[0] != "sentence_transformers":
            raise InputError(f"{folder}: modules.json names code outside the package: {name}")
    if not any(folder.rglob("model*.safetensors")):
        raise InputError(f"{folder}: it has no .safetensors; other files of weights can run code")
    options = {"device": "cpu", "model_kwargs": {"use_safetensors": True}}
    model = require("sentence_transformers", "sentence-transformers").SentenceTransformer(
        str(folder), **options
    )
    return lambda texts: unit(np.asarray(model.encode(texts, show_progress_bar=False)))


def unit(vectors: Floats) -> Floats:
    """Scale vectors [N, D] to length 1. Zero vectors stay zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), np.float32)


# --- models


class OnnxModel:
    """An ONNX graph that returns a vector per text [N, D], or per token [N, L, D]: their mean."""

    def __init__(self, folder: Path, most_tokens: int = 128) -> None:
        package: Any = require("tokenizers")
        self.tokenizer = package.Tokenizer.from_file(str(folder / "tokenizer.json"))
        limits = json_or_none(folder / "sentence_bert_config.json") or {}
        self.tokenizer.enable_truncation(limits.get("max_seq_length") or most_tokens)
        self.tokenizer.enable_padding()
        package = require("onnxruntime")
        self.session = package.InferenceSession(str(min(folder.glob("*.onnx"))))
        outputs = [each for each in self.session.get_outputs() if "float" in each.type]
        self.output = min(outputs, key=lambda each: len(each.shape)).name

    def __call__(self, texts: list[str]) -> Floats:
        encodings = self.tokenizer.encode_batch(texts)
        ids = np.array([each.ids for each in encodings], np.int64)
        mask = np.array([each.attention_mask for each in encodings], np.int64)
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        inputs = {each.name: values[each.name] for each in self.session.get_inputs()}
        vectors: Floats = self.session.run([self.output], inputs)[0]
        if vectors.ndim == 3:
            vectors = (vectors * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return unit(vectors)


class UniversalEncoder:
    """Universal Sentence Encoder Multilingual 3 (Yang et al. 2019): convolutions over n-grams."""

    ngrams = ((2, 0), (3, 1), (5, 2))  # length, words on the left

    def __init__(self, folder: Path) -> None:
        package: Any = require("sentencepiece")
        self.pieces = package.SentencePieceProcessor(model_file=str(folder / "sp.model"))
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            self.weights = {name: arrays[name] for name in arrays.files}
        # piece i is row i // 17 of chunk i % 17, in bytes; each chunk has a scale
        self.table = [self.weights.pop(f"q{number + 1}") for number in range(17)]

    def __call__(self, texts: list[str]) -> Floats:
        pieces = self.pieces.encode(texts, add_bos=True, add_eos=True)
        return unit(np.stack([self._encode(ids) for ids in pieces]))

    def _encode(self, ids: Sequence[int]) -> Floats:
        w = self.weights
        rows = [self.table[i % 17][i // 17] * w["scale"][i % 17] + w["lo"][i % 17] for i in ids]
        x = np.stack(rows)  # [L, 512]
        gain, bias = (np.concatenate([w[f"ln_{k}{n}"] for n, _ in self.ngrams]) for k in "gb")
        projections = np.hstack([x @ w[f"proj{n}"] + w[f"proj_b{n}"] for n, _ in self.ngrams])
        branches = np.split(self._norm(projections, gain, bias), len(self.ngrams), axis=1)
        parts = [x]
        for (n, left), y in zip(self.ngrams, branches, strict=True):
            for layer in "12":
                padded = np.pad(y, ((left, n - 1 - left), (0, 0)))
                grams = np.hstack([padded[k : k + len(y)] for k in range(n)])
                y = y + np.maximum(grams @ w[f"w{layer}_{n}"] + w[f"b{layer}_{n}"], 0)
            parts.append(y)
        x = self._norm(np.hstack(parts), w["ln_g"], w["ln_b"]) @ w["cnn_W"] + w["cnn_b"]
        mean = x.sum(axis=0) / np.sqrt(len(ids))
        y = np.maximum(mean @ w["p1"] + np.maximum(mean @ w["d0"], 0) @ w["d1"], 0)
        return np.asarray(np.tanh(y @ w["p3"] + np.maximum(y @ w["d2"], 0) @ w["d3"]))

    def _norm(self, x: Floats, gain: Floats, bias: Floats) -> Floats:
        x = x - x.mean(axis=1, keepdims=True)
        scale = np.sqrt((x**2).mean(axis=1, keepdims=True) + self.weights["eps"])
        return np.asarray(x / scale * gain + bias, np.float32)
