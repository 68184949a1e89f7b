"""How fast the encoders learn, beside each other and beside the DRRN of microsoft/tdqn.

    python benchmarks/encoders.py                              transitions a second of each encoder
    python benchmarks/encoders.py --tdqn CLONE/drrn/drrn.py    the GRU beside theirs, on the same work, in one run
    python benchmarks/encoders.py --device cuda                on a GPU

The work is the same for both: texts like Machine of Death's (2,200 words, 85 words a state, 4 actions of 7 words), word
vectors and states of 128, a hidden layer over both sides, Huber loss, the gradient's norm bound by 5, Adam. Theirs
reads a state in three parts, each by a GRU of its own: it is given the same words in three equal parts. Their code is
loaded from the path, with a stand-in for its tokeniser, which the update does not use; nothing of it is kept here.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from learner import Case, batches_of, fill, matrix_speed

from drrn.learning.q_learning import QLearning
from drrn.models import Shape, build_model, encoder_of
from drrn.settings import Settings
from drrn.text import Lexicon, Store

UNITS, CLIP, DISCOUNT = 128, 5.0, 0.9
BATCHES = (64, 256, 1024)
ENCODERS = ("bag", "gru", "lstm", "attention")
AT_ONCE = 4  # updates of a call

Update = Callable[[], Any]


def store_of(case: Case) -> Store:
    """Made-up texts of the case's sizes."""
    generator = np.random.default_rng(0)
    words = [f"w{i}" for i in range(case.vocabulary)]
    store = Store.of_words(words, words[:420])
    fill(store.states, case.texts, case.state_words, generator)
    fill(store.actions, case.action_texts, case.action_words, generator)
    return store


def our_update(case: Case, encoder: str, device: str) -> Update:
    """`AT_ONCE` updates of ours, as the plain learner makes them."""
    store = store_of(case)
    shape = Shape(UNITS, 1, "network", most_actions=case.actions, encoder=encoder_of(encoder))
    model = build_model("drrn", shape, store, list(range(case.replicas)), torch.device(device))
    for replica in range(case.replicas):
        model.meet(replica, np.arange(len(store.states)), np.arange(len(store.actions)))
    settings = Settings(replicas=case.replicas, learning_rate=1e-4, optimiser="adam", loss="huber", clip=CLIP)
    learner = QLearning(model, settings)
    prepared = batches_of(case, np.random.default_rng(1), AT_ONCE)
    return lambda: learner.update(prepared)


def their_update(case: Case, path: Path) -> Update:
    """An update of microsoft/tdqn's agent, from a sample of its own replay memory."""
    theirs, store = loaded(path), store_of(case)
    options = {"gamma": DISCOUNT, "batch_size": case.batch, "spm_path": "", "embedding_dim": UNITS, "output_dir": ""}
    options |= {"hidden_dim": UNITS, "memory_size": 10_000, "clip": CLIP, "learning_rate": 1e-4}
    agent = theirs.DRRN_Agent(types.SimpleNamespace(**options, vocabulary=case.vocabulary))
    generator = np.random.default_rng(1)
    states = [theirs.State(*parts(words)) for words in texts_of(store.states)]
    actions = texts_of(store.actions)
    for _ in range(AT_ONCE * case.batch):
        now, then = generator.integers(case.texts, size=2)
        taken, *following = generator.integers(case.action_texts, size=1 + case.actions)
        agent.observe(states[now], actions[taken], 1.0, states[then], [actions[a] for a in following], False)
    return agent.update


def texts_of(texts: Lexicon) -> list[list[int]]:
    """Each text as the numbers of its words."""
    return [texts.words_of(np.array([text])).tolist() for text in range(len(texts))]


def parts(words: list[int]) -> list[list[int]]:
    """A state's words in three parts: what their agent reads as observation, description and inventory."""
    return [some.tolist() for some in np.array_split(np.array(words), 3)]


def loaded(path: Path) -> Any:
    """Their module, without the tokeniser and the logger that it imports."""

    class Tokeniser:
        def Load(self, path: str) -> None: ...  # noqa: N802
        def __len__(self) -> int:
            return Case().vocabulary

    sys.modules["sentencepiece"] = types.ModuleType("sentencepiece")
    sys.modules["sentencepiece"].SentencePieceProcessor = Tokeniser  # type: ignore[attr-defined]
    sys.modules["logger"] = types.ModuleType("logger")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location("tdqn_agent", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    random.seed(0)
    return module


def seconds_of(update: Update, device: str) -> float:
    """What a call takes: of the one thread's own time on the CPU, so that others on the machine count for less."""
    clock = time.thread_time if device == "cpu" else time.perf_counter
    began = clock()
    update()
    if device != "cpu":
        torch.cuda.synchronize()
    return clock() - began


def fastest(updates: list[Update], seconds: float, device: str) -> list[float]:
    """Of each, the seconds of its fastest call; they take turns, so that what disturbs one disturbs the others."""
    found = [np.inf] * len(updates)
    for update in updates:
        update()
    start, calls = time.perf_counter(), 0
    while calls < 2 or time.perf_counter() - start < seconds:
        found = [min(before, seconds_of(each, device)) for before, each in zip(found, updates, strict=True)]
        calls += 1
    return found


def compare(path: Path, batches: list[int], seconds: float, device: str) -> None:
    """The GRU beside theirs, which runs on a GPU wherever there is one."""
    for batch in batches:
        case, limit = Case(batch=batch, hidden=UNITS), matrix_speed()
        ours, theirs = fastest([our_update(case, "gru", device), their_update(case, path)], seconds, device)
        ours, theirs, limit = AT_ONCE * batch / ours, batch / theirs, max(limit, matrix_speed())
        print(
            f"batch {batch}: ours {ours:,.0f} transitions a second, theirs {theirs:,.0f}: {ours / theirs:.1f} times "
            f"(matrix product: {limit / 1e9:.0f} GFLOP/s)",
            flush=True,
        )


def report(encoders: list[str], replicas: list[int], batches: list[int], seconds: float, device: str) -> None:
    """Each encoder, by replicas and batch."""
    print(f"matrix product of a core: {matrix_speed() / 1e9:.0f} GFLOP/s")
    for encoder in encoders:
        for count in replicas:
            for batch in batches:
                case = Case(replicas=count, batch=batch, hidden=UNITS)
                (taken,) = fastest([our_update(case, encoder, device)], seconds, device)
                rate = AT_ONCE * batch * count / taken
                print(f"{encoder}, R = {count}, batch {batch}: {rate:,.0f} transitions a second", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tdqn", type=Path, metavar="FILE", help="drrn/drrn.py of a clone of microsoft/tdqn")
    parser.add_argument("--encoders", nargs="+", default=list(ENCODERS), help="(default: %(default)s)")
    parser.add_argument("--replicas", nargs="+", type=int, default=[1, 5], help="(default: %(default)s)")
    parser.add_argument("--batches", nargs="+", type=int, default=list(BATCHES), help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each measurement (default: %(default)s)")
    parser.add_argument("--device", default="cpu", help="(default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.tdqn:
        compare(options.tdqn, options.batches, options.seconds, options.device)
    else:
        report(options.encoders, options.replicas, options.batches, options.seconds, options.device)


if __name__ == "__main__":
    main()
