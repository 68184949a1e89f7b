"""Vectors of whole texts: from a function, or from a sentence model in a folder.

A folder contains one of these models:

- config.json, model.safetensors and tokenizer.json: a BERT encoder
- a file .onnx and tokenizer.json
- weights.npz and sp.model: Universal Sentence Encoder Multilingual 3, in NumPy
- any other model of sentence-transformers, if that package is installed

A name without a folder is looked up in the cache, where `scripts/encoders` puts models. The vectors
of a model are saved on disk under its hash. Packages are imported when a model needs them.
"""

import functools
import hashlib
import importlib
import logging
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn import registry
from drrn.errors import InputError, require
from drrn.files import home, json_or_none
from drrn.progress import tracked

AT_ONCE = 256  # texts that a function of texts gets together
MODEL_AT_ONCE = 32  # texts that a model in a folder gets together, of similar length
MAX_TOKENS = 128  # of a text, if the model does not set it
MODULES = {"Transformer", "Pooling", "Normalize"}  # of sentence-transformers, implemented here
SAFE_MODULES = MODULES | {"Dense", "Dropout", "LayerNorm"}  # others import what their files name
NGRAMS = ((2, 0), (3, 1), (5, 2))  # of the Universal Sentence Encoder: length, words on the left

Floats = NDArray[np.float32]
Function = Callable[[list[str]], Any]

log = logging.getLogger("drrn")


class SentenceVectors:
    """A function from a list of N texts to an array [N, D], with checks of what it returns."""

    def __init__(self, name: str, function: Function, digest: str | None = None) -> None:
        """Take a function; with the digest of its model, vectors are saved on disk."""
        self.name = name
        self.digest = digest
        self.function = function
        self.dimensions = 0
        self.dimensions = self._compute(["One text."]).shape[1]
        self._saved = _database(digest) if digest else None

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of texts, [N, D]."""
        rows = {text: self._look_up(text) for text in texts}
        new = sorted((text for text, row in rows.items() if row is None), key=len)
        size = MODEL_AT_ONCE if self._saved else AT_ONCE
        starts = range(0, len(new), size)
        for start in tracked(starts, len(starts), "reading"):
            some = new[start : start + size]
            pairs = list(zip(some, self._compute(some), strict=True))
            rows.update(pairs)
            if self._saved:
                with self._saved:
                    entries = [(repr(text), row.tobytes()) for text, row in pairs]
                    self._saved.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", entries)
        return np.array([rows[text] for text in texts], np.float32).reshape(-1, self.dimensions)

    def _look_up(self, text: str) -> Floats | None:
        query = "SELECT numbers FROM vectors WHERE text = ?"
        row = self._saved.execute(query, (repr(text),)).fetchone() if self._saved else None
        return np.frombuffer(row[0], "<f4") if row else None

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


def _database(digest: str) -> sqlite3.Connection | None:
    """Open the saved vectors of a model; None if they cannot be saved."""
    path = home() / "cache" / f"sentences-{digest[:24]}.sqlite"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path, check_same_thread=False)
        database.execute("CREATE TABLE IF NOT EXISTS vectors (text PRIMARY KEY, numbers)")
    except (OSError, sqlite3.Error) as error:
        log.warning("%s: cannot be opened (%s); sentence vectors are not saved", path, error)
        return None
    return database


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
    config = _table(folder / "config.json")
    is_bert = config.get("model_type") == "bert" and config.get("hidden_act") == "gelu"
    modules = json_or_none(folder / "modules.json") or []
    types = {str(module["type"]) for module in modules}
    is_plain = {each.rpartition(".")[2] for each in types} <= MODULES
    if is_bert and is_plain and {"model.safetensors", "tokenizer.json"} <= names:
        return Bert(folder, config)
    _check_code(folder, types)
    try:
        package: Any = importlib.import_module("sentence_transformers")
    except ImportError as error:
        install = "sentence-transformers, which is not installed: pip install 'drrn[sentence]'"
        raise InputError(f"{folder}: this model needs {install}") from error
    model = package.SentenceTransformer(str(folder), device="cpu")
    return lambda texts: model.encode(texts, show_progress_bar=False)


def _check_code(folder: Path, types: set[str]) -> None:
    """Refuse a model with which sentence-transformers would import code that its files name."""
    for each in types:
        package, _, name = each.rpartition(".")
        if name not in SAFE_MODULES or package.partition(".")[0] != "sentence_transformers":
            raise InputError(f"{folder}: modules.json names code outside the package: {each}")
    for path in folder.glob("**/config.json"):
        code = _table(path).get("activation_function")
        if code and not str(code).startswith("torch.nn.modules.activation."):
            raise InputError(f"{path}: names code outside PyTorch: {code}")
    pickles = {path.parent for path in folder.rglob("*.bin")}
    preferred = ("model.safetensors", "model.safetensors.index.json")  # to a pickle next to them
    is_safe = all(any((each / name).is_file() for name in preferred) for each in pickles)
    if not is_safe or not any(folder.rglob("model*.safetensors")):
        raise InputError(f"{folder}: it has no .safetensors; other files of weights can run code")


def _table(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one if there is none."""
    table = json_or_none(path)
    return table if isinstance(table, dict) else {}


def unit(vectors: Floats) -> Floats:
    """Return vectors [N, D] of length 1; zero vectors stay zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), np.float32)


# --- models


class Tokens:
    """The tokeniser of a model: texts to token ids and a mask, [N, L]."""

    def __init__(self, folder: Path) -> None:
        package: Any = require("tokenizers", "sentences")
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
        package: Any = require("onnxruntime", "sentences")
        self.tokens = Tokens(folder)
        self.session = package.InferenceSession(str(min(folder.glob("*.onnx"))))
        outputs = [each for each in self.session.get_outputs() if "float" in each.type]
        self.output = min(outputs, key=lambda each: len(each.shape)).name

    def __call__(self, texts: list[str]) -> Floats:
        ids, mask = self.tokens(texts)
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        inputs = {each.name: values[each.name] for each in self.session.get_inputs()}
        vectors: Floats = self.session.run([self.output], inputs)[0]
        if vectors.ndim == 3:
            vectors = (vectors * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return unit(vectors)


class Bert:
    """A BERT encoder; the vector of a text is the mean of its tokens', or the first token's."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.torch: Any = require("torch", "torch")
        self.tokens = Tokens(folder)
        package: Any = require("safetensors.torch", "sentences")
        weights = package.load_file(folder / "model.safetensors")
        self.weights = {name.removeprefix("bert."): w.float() for name, w in weights.items()}
        self.config = config
        pooling = json_or_none(folder / "1_Pooling" / "config.json") or {}
        self.by_first = bool(pooling.get("pooling_mode_cls_token"))

    def __call__(self, texts: list[str]) -> Floats:
        ids, mask = map(self.torch.from_numpy, self.tokens(texts))
        with self.torch.no_grad():
            x = self._encode(ids, mask[:, None, None, :].bool())  # [N, L, H]
        weights = mask[:, :, None].float()
        mean = (x * weights).sum(dim=1) / weights.sum(dim=1)
        return unit((x[:, 0] if self.by_first else mean).numpy())

    def _encode(self, ids: Any, mask: Any) -> Any:
        functional = self.torch.nn.functional
        tables = "embeddings.{}_embeddings.weight"
        x = self.weights[tables.format("word")][ids]
        x = x + self.weights[tables.format("position")][: ids.shape[1]]
        x = self._norm(x + self.weights[tables.format("token_type")][0], "embeddings.LayerNorm")
        for number in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{number}"
            names = (f"{layer}.attention.self.{part}" for part in ("query", "key", "value"))
            heads = (self.config["num_attention_heads"], -1)
            parts = [self._linear(x, name).unflatten(2, heads).transpose(1, 2) for name in names]
            y = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
            y = self._linear(y.transpose(1, 2).flatten(2), f"{layer}.attention.output.dense")
            x = self._norm(x + y, f"{layer}.attention.output.LayerNorm")
            y = functional.gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._norm(
                x + self._linear(y, f"{layer}.output.dense"), f"{layer}.output.LayerNorm"
            )
        return x

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, x: Any, name: str) -> Any:
        gain = self.weights[f"{name}.weight"]
        rest = (gain.shape, gain, self.weights[f"{name}.bias"], self.config["layer_norm_eps"])
        return self.torch.nn.functional.layer_norm(x, *rest)


class UniversalEncoder:
    """Universal Sentence Encoder Multilingual 3 (Yang et al. 2019): convolutions over n-grams."""

    def __init__(self, folder: Path) -> None:
        package: Any = require("sentencepiece", "sentences")
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
        gain, bias = (np.concatenate([w[f"ln_{k}{n}"] for n, _ in NGRAMS]) for k in "gb")
        projections = np.hstack([x @ w[f"proj{n}"] + w[f"proj_b{n}"] for n, _ in NGRAMS])
        branches = np.split(self._norm(projections, gain, bias), len(NGRAMS), axis=1)
        parts = [x]
        for (n, left), y in zip(NGRAMS, branches, strict=True):
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
