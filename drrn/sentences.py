"""Vectors of whole texts: from a function, or from a sentence model in a folder.

A folder contains one of these models:

- config.json, model.safetensors and tokenizer.json: a BERT encoder
- a file .onnx and tokenizer.json
- weights.npz and sp.model: Universal Sentence Encoder Multilingual 3, in NumPy
- any other model of sentence-transformers, if that package is installed

A name without a folder is looked up in the cache, where `scripts/encoders` puts models. The vectors
of a model in a folder are saved on disk under the hash of the model, so that each text is computed
once. Packages are imported when a model needs them.
"""

import functools
import hashlib
import importlib
import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn import registry
from drrn.errors import InputError, require
from drrn.files import home, json_or_none

AT_ONCE = 256  # texts that a function of texts gets together
MODEL_AT_ONCE = 32  # texts that a model in a folder gets together, of similar length
MAX_TOKENS = 128  # of a text, if the model does not set it
EXTRA = "sentences"  # of pyproject.toml: the packages that read models
MODULES = {"Transformer", "Pooling", "Normalize"}  # of sentence-transformers, implemented here
NGRAMS = ((2, 0), (3, 1), (5, 2))  # of the Universal Sentence Encoder: length, words on the left
CHUNKS = 17  # in which its word vectors are stored

Floats = NDArray[np.float32]
Function = Callable[[list[str]], Any]

log = logging.getLogger("drrn")


class SentenceVectors:
    """A function from a list of N texts to an array [N, D], with checks of what it returns."""

    def __init__(self, name: str, function: Function, digest: str | None = None) -> None:
        """Take a function; with the digest of its model, vectors are saved on disk."""
        self.name = name
        self.function = function
        self.digest = digest
        self.track: Callable[[Sequence[int], int, str], Iterable[int]] | None = None  # progress
        self.dimensions = 0
        self.dimensions = self._compute(["One text."]).shape[1]
        self._saved = SavedVectors(digest) if digest else None

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of texts, [N, D]."""
        rows = {text: self._saved[text] if self._saved else None for text in texts}
        new = sorted((text for text, row in rows.items() if row is None), key=len)
        size = MODEL_AT_ONCE if self._saved else AT_ONCE
        starts = range(0, len(new), size)
        for start in self.track(starts, len(starts), "reading") if self.track else starts:
            some = new[start : start + size]
            vectors = self._compute(some)
            rows.update(zip(some, vectors, strict=True))
            if self._saved:
                self._saved.add(some, vectors)
        return np.array([rows[text] for text in texts], np.float32).reshape(-1, self.dimensions)

    def _compute(self, texts: list[str]) -> Floats:
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


class SavedVectors:
    """Vectors of texts in a database on disk; in memory, if it cannot be opened."""

    def __init__(self, digest: str) -> None:
        path = home() / "cache" / f"sentences-{digest[:24]}.sqlite"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open(str(path))
        except (OSError, sqlite3.Error) as error:
            log.warning("%s: cannot be used (%s); vectors are not saved", path, error)
            self._open(":memory:")

    def _open(self, path: str) -> None:
        self.database = sqlite3.connect(path, check_same_thread=False)
        self.database.execute("CREATE TABLE IF NOT EXISTS vectors (text PRIMARY KEY, numbers)")

    def __getitem__(self, text: str) -> Floats | None:
        query = "SELECT numbers FROM vectors WHERE text = ?"
        row = self.database.execute(query, (_key(text),)).fetchone()
        return np.frombuffer(row[0], "<f4") if row else None

    def add(self, texts: Sequence[str], vectors: Floats) -> None:
        rows = [(_key(text), row.tobytes()) for text, row in zip(texts, vectors, strict=True)]
        try:
            with self.database:
                self.database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            log.warning("vectors of sentences are not saved: %s", error)


def _key(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# --- opening


def open_sentences(name: str) -> SentenceVectors:
    """Open `module:function`, the folder of a sentence model, or the name of one in the cache.

    With `+` between two, their vectors are put side by side.

    Raises:
        InputError: There is no such model, or a package that reads it is not installed.
    """
    if registry.is_object(name):
        function = registry.resolve("sentence", name, {})
        if isinstance(function, type) or not callable(function):
            raise InputError(f'sentences "{name}": it must be a function of a list of texts')
        return SentenceVectors(name, function)
    if "+" in name:
        parts = [open_sentences(part) for part in name.split("+")]
        joined = SentenceVectors(name, lambda t: np.hstack([unit(p(t)) for p in parts]))
        joined.digest = "+".join(part.digest or "" for part in parts)
        return joined
    folder = model_folder(name)
    if not folder.is_dir():
        models = ", ".join(sorted(path.name for path in (home() / "encoders").glob("*"))) or "none"
        choices = f"give module:function, the folder of a model, or a name in the cache ({models})"
        raise InputError(f'sentences is "{name}": {choices}; scripts/encoders fetches models')
    return _open_model(name, folder)


@functools.cache  # a large model is loaded once
def _open_model(name: str, folder: Path) -> SentenceVectors:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    try:
        function = _open_folder(folder, files)
    except InputError:
        raise
    except Exception as error:  # any fault of the folder
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(f"{folder}: this sentence model cannot be opened: {reason}") from error
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    return SentenceVectors(name, function, digest.hexdigest())


def model_folder(name: str) -> Path:
    """Return the folder of a sentence model: of that path, or of that name in the cache."""
    path = Path(name).expanduser()
    return path if path.is_dir() or len(path.parts) > 1 else home() / "encoders" / name


def _open_folder(folder: Path, files: Sequence[Path]) -> Function:
    names = {path.name for path in files if path.parent == folder}
    modules = json_or_none(folder / "modules.json") or []
    is_plain = {module["type"].rpartition(".")[2] for module in modules} <= MODULES
    if {"weights.npz", "sp.model"} <= names:
        return UniversalEncoder(folder)
    if "tokenizer.json" in names and any(name.endswith(".onnx") for name in names):
        return OnnxModel(folder)
    config = json_or_none(folder / "config.json") or {}
    is_bert = config.get("model_type") == "bert" and config.get("hidden_act") == "gelu"
    if is_bert and is_plain and {"model.safetensors", "tokenizer.json"} <= names:
        return Bert(folder, config)
    try:
        package: Any = importlib.import_module("sentence_transformers")
    except ImportError as error:
        install = "sentence-transformers is not installed: pip install 'drrn[sentence]'"
        raise InputError(f"{folder}: to read this model, {install}") from error
    model = package.SentenceTransformer(str(folder), device="cpu")
    return lambda texts: model.encode(texts, show_progress_bar=False)


# --- models


class Tokens:
    """The tokeniser of a model: texts to token ids and a mask, [N, L]."""

    def __init__(self, folder: Path) -> None:
        package: Any = require("tokenizers", EXTRA)
        self.tokenizer = package.Tokenizer.from_file(str(folder / "tokenizer.json"))
        limits = json_or_none(folder / "sentence_bert_config.json") or {}
        self.tokenizer.enable_truncation(limits.get("max_seq_length") or MAX_TOKENS)
        self.tokenizer.enable_padding()

    def __call__(self, texts: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        encodings = self.tokenizer.encode_batch(texts)
        ids = np.array([each.ids for each in encodings], np.int64)
        return ids, np.array([each.attention_mask for each in encodings], np.int64)


class OnnxModel:
    """An ONNX graph that returns a vector per text [N, D], or per token [N, L, D]: their mean."""

    def __init__(self, folder: Path) -> None:
        package: Any = require("onnxruntime", EXTRA)
        self.tokens = Tokens(folder)
        options = package.SessionOptions()
        options.intra_op_num_threads = 1
        path = next(iter(sorted(folder.glob("*.onnx"))))
        self.session = package.InferenceSession(str(path), options)
        self.inputs = {each.name for each in self.session.get_inputs()}
        outputs = [each for each in self.session.get_outputs() if "float" in each.type]
        self.output = min(outputs, key=lambda each: len(each.shape)).name

    def __call__(self, texts: list[str]) -> Floats:
        ids, mask = self.tokens(texts)
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        given = {name: value for name, value in values.items() if name in self.inputs}
        vectors: Floats = self.session.run([self.output], given)[0]
        if vectors.ndim == 3:
            vectors = (vectors * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return unit(vectors)


class Bert:
    """A BERT encoder; the vector of a text is the mean of its tokens', or the first token's."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        torch: Any = require("torch", "torch")
        self.tokens = Tokens(folder)
        package: Any = require("safetensors.torch", EXTRA)
        weights = package.load_file(folder / "model.safetensors")
        self.weights = {name.removeprefix("bert."): w.float() for name, w in weights.items()}
        self.layers = int(config["num_hidden_layers"])
        self.heads = int(config["num_attention_heads"])
        self.epsilon = float(config["layer_norm_eps"])
        pooling = json_or_none(folder / "1_Pooling" / "config.json") or {}
        self.by_first = bool(pooling.get("pooling_mode_cls_token"))
        self.torch = torch

    def __call__(self, texts: list[str]) -> Floats:
        ids, mask = map(self.torch.from_numpy, self.tokens(texts))
        with self.torch.no_grad():
            x = self._encode(ids, mask)  # [N, L, H]
            weights = mask[:, :, None].float()
            mean = (x * weights).sum(dim=1) / weights.sum(dim=1)
            return unit((x[:, 0] if self.by_first else mean).numpy())

    def _encode(self, ids: Any, mask: Any) -> Any:
        functional = self.torch.nn.functional
        tables = "embeddings.{}_embeddings.weight"
        x = self.weights[tables.format("word")][ids]
        x = x + self.weights[tables.format("position")][: ids.shape[1]]
        x = self._norm(x + self.weights[tables.format("token_type")][0], "embeddings.LayerNorm")
        for number in range(self.layers):
            layer = f"encoder.layer.{number}"
            names = (f"{layer}.attention.self.{part}" for part in ("query", "key", "value"))
            parts = [self._linear(x, name).unflatten(2, (self.heads, -1)) for name in names]
            q, k, v = (part.transpose(1, 2) for part in parts)  # [N, heads, L, H / heads]
            seen = mask[:, None, None, :].bool()
            y = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
            y = self._linear(y.transpose(1, 2).flatten(2), f"{layer}.attention.output.dense")
            x = self._norm(x + y, f"{layer}.attention.output.LayerNorm")
            y = functional.gelu(self._linear(x, f"{layer}.intermediate.dense"))
            y = self._linear(y, f"{layer}.output.dense")
            x = self._norm(x + y, f"{layer}.output.LayerNorm")
        return x

    def _linear(self, x: Any, name: str) -> Any:
        weight = self.weights[f"{name}.weight"]
        return self.torch.nn.functional.linear(x, weight, self.weights[f"{name}.bias"])

    def _norm(self, x: Any, name: str) -> Any:
        weight = self.weights[f"{name}.weight"]
        bias = self.weights[f"{name}.bias"]
        return self.torch.nn.functional.layer_norm(x, weight.shape, weight, bias, self.epsilon)


class UniversalEncoder:
    """Universal Sentence Encoder Multilingual 3: convolutions over n-grams of word pieces.

    Cer et al. 2018, Yang et al. 2019. The word vectors are stored as bytes, in 17 interleaved
    chunks with a scale each.
    """

    def __init__(self, folder: Path) -> None:
        package: Any = require("sentencepiece", EXTRA)
        self.pieces = package.SentencePieceProcessor(model_file=str(folder / "sp.model"))
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            self.weights = {name: arrays[name] for name in arrays.files}
        chunks = [self.weights.pop(f"q{number + 1}") for number in range(CHUNKS)]
        self.table = np.stack(chunks, axis=1).reshape(-1, chunks[0].shape[1])
        self.epsilon = float(self.weights["eps"])

    def __call__(self, texts: list[str]) -> Floats:
        pieces = self.pieces.encode(texts, add_bos=True, add_eos=True)
        return np.stack([self._encode(np.array(ids)) for ids in pieces])

    def _encode(self, ids: NDArray[np.int64]) -> Floats:
        w = self.weights
        chunk = ids % CHUNKS
        x = self.table[ids] * w["scale"][chunk, None] + w["lo"][chunk, None]  # [L, 512]
        branches = [x @ w[f"proj{n}"] + w[f"proj_b{n}"] for n, _ in NGRAMS]
        gain, bias = (np.concatenate([w[f"ln_{k}{n}"] for n, _ in NGRAMS]) for k in "gb")
        joined = self._norm(np.concatenate(branches, axis=1), gain, bias)
        parts = [x]
        for (n, left), y in zip(NGRAMS, np.split(joined, len(NGRAMS), axis=1), strict=True):
            for layer in ("1", "2"):
                padded = np.pad(y, ((left, n - 1 - left), (0, 0)))
                grams = np.concatenate([padded[k : k + len(y)] for k in range(n)], axis=1)
                y = y + np.maximum(grams @ w[f"w{layer}_{n}"] + w[f"b{layer}_{n}"], 0)
            parts.append(y)
        x = self._norm(np.concatenate(parts, axis=1), w["ln_g"], w["ln_b"])
        mean = (x @ w["cnn_W"] + w["cnn_b"]).sum(axis=0) / np.sqrt(np.float32(len(ids)))
        y = np.maximum(mean @ w["p1"] + np.maximum(mean @ w["d0"], 0) @ w["d1"], 0)
        y = np.tanh(y @ w["p3"] + np.maximum(y @ w["d2"], 0) @ w["d3"])
        return np.asarray(unit(y[None])[0])

    def _norm(self, x: Floats, gain: Floats, bias: Floats) -> Floats:
        x = x - x.mean(axis=1, keepdims=True)
        scale = np.sqrt((x**2).mean(axis=1, keepdims=True) + self.epsilon)
        return np.asarray(x / scale * gain + bias, np.float32)


def unit(vectors: Floats) -> Floats:
    """Return vectors [N, D] of length 1; zero vectors stay zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), np.float32)
