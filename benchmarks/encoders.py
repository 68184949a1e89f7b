"""Measure how fast the encoders learn, and compare the GRU with the DRRN of microsoft/tdqn.

    python benchmarks/encoders.py                              transitions a second of each encoder
    python benchmarks/encoders.py --tdqn CLONE/drrn/drrn.py    our GRU and theirs, on the same work, in one run
    python benchmarks/encoders.py --device cuda                on a GPU

Without --tdqn, texts are generated with the sizes of Machine of Death (2,200 words, 85 words a state, 4 actions of 7
words) and drawn uniformly, so that few occur twice in a batch.

With --tdqn, both learn from the same 10,000 transitions, of two kinds: random play in a game (The Long Watch;
`--game NAME` for another), where pages recur, and generated ones. An update is the same for both: sample a batch from the
replay memory; evaluate every action of the next pages with the same weights (neither has a target network); Adam. Theirs
also has a Huber loss and clips the gradient's norm at 5. Word vectors and states have 128 dimensions; a hidden layer of
128 units follows on both sides. Theirs reads a state in three parts, each with a separate GRU, and gets the same words in
three equal parts. Ours reads them with one GRU, each distinct text of a batch once; theirs reads all. Their code is loaded
from the path, with a stand-in for its tokeniser, which the update does not use. Both have one thread and alternate every
half second, so that a busy machine affects both equally. Rates use the thread's CPU time in the median turn; ratios are
medians over consecutive pairs of turns, by CPU time and by wall-clock time.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import random
import sys
import time
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from learner import Case, batches_of, fill, matrix_speed

import drrn
from drrn.learning.experience import Steps
from drrn.learning.menus import Menus
from drrn.learning.q_learning import QLearning
from drrn.learning.q_learning import batches_of as replay
from drrn.models import Shape, build_model, encoder_of
from drrn.settings import Settings
from drrn.text import Lexicon, Store

UNITS = 128
CLIP = 5.0
DISCOUNT = 0.9
BATCHES = (64, 256, 1024)
ENCODERS = ("bag", "gru", "lstm", "attention")
AT_ONCE = 4  # updates in a call
TRANSITIONS = 10_000  # in the replay memory
TURN = 0.5  # seconds
MIN_TURNS = 5
MAX_STEPS = 100  # of an episode

Update = Callable[[], Any]


def store_of(case: Case) -> Store:
    """Return generated texts of the case's sizes."""
    generator = np.random.default_rng(0)
    words = [f"w{i}" for i in range(case.vocabulary)]
    store = Store.of_words(words, words[:420])
    fill(store.states, case.texts, case.state_words, generator)
    fill(store.actions, case.action_texts, case.action_words, generator)
    return store


def our_update(case: Case, encoder: str, device: str) -> Update:
    """Return a function that makes `AT_ONCE` updates with our plain learner."""
    store = store_of(case)
    shape = Shape(UNITS, 1, "network", most_actions=case.actions, encoder=encoder_of(encoder))
    model = build_model("drrn", shape, store, list(range(case.replicas)), torch.device(device))
    for replica in range(case.replicas):
        model.meet(replica, np.arange(len(store.states)), np.arange(len(store.actions)))
    settings = Settings.from_flat(replicas=case.replicas, learning_rate=1e-4, optimiser="adam")
    learner = QLearning(model, settings)
    prepared = batches_of(case, np.random.default_rng(1), AT_ONCE)
    return lambda: learner.update(prepared)


@dataclass(frozen=True)
class Work:
    """Transitions as ids of texts: state, chosen action, next state and its actions."""

    store: Store
    states: list[int]
    taken: list[int]
    next_states: list[int]
    next_actions: list[list[int]]


def random_play_in(name: str) -> Work:
    """Return transitions of random play in a game."""
    game = drrn.make(name)
    generator = random.Random(0)
    store = Store.of_words()
    work = Work(store, [], [], [], [])
    while len(work.states) < TRANSITIONS:
        page = game.reset(generator.randrange(2**31))
        for _ in range(MAX_STEPS):
            if not page.actions:
                break
            index = generator.randrange(len(page.actions))
            after = game.step(index)
            work.states.append(store.states.id(page.text))
            work.taken.append(store.actions.id(page.actions[index]))
            work.next_states.append(store.states.id(after.text))
            work.next_actions.append([store.actions.id(action) for action in after.actions])
            page = after
    return work


def generated(case: Case) -> Work:
    """Return transitions between generated texts, drawn uniformly."""
    generator = np.random.default_rng(1)
    count = TRANSITIONS
    states, following = generator.integers(case.texts, size=(2, count)).tolist()
    taken = generator.integers(case.action_texts, size=count).tolist()
    menus = generator.integers(case.action_texts, size=(count, case.actions)).tolist()
    return Work(store_of(case), states, taken, following, menus)


def our_sampled_update(work: Work, batch: int, device: str) -> Update:
    """Return a function that makes one of our updates, from a sample of the replay buffer."""
    shape = Shape(
        UNITS,
        1,
        "network",
        most_actions=max(map(len, work.next_actions)),
        encoder=encoder_of("gru"),
    )
    model = build_model("drrn", shape, work.store, [0], torch.device(device))
    model.meet(0, np.arange(len(work.store.states)), np.arange(len(work.store.actions)))
    settings = {"learning_rate": 1e-4, "optimiser": "adam", "capacity": TRANSITIONS}
    learner = QLearning(model, Settings.from_flat(replicas=1, batch_size=batch, **settings))
    count = len(work.states)
    pages = zip(work.states, work.next_states, strict=True)
    menus = zip([[action] for action in work.taken], work.next_actions, strict=True)
    steps = Steps(
        page_states=np.array(list(itertools.chain(*pages))),
        page_actions=Menus.of(list(itertools.chain(*menus))),
        taken=np.zeros(count, np.int64),
        probabilities=np.ones(count),
        rewards=np.ones(count),
        last=np.ones(count, bool),
    )
    learner.observe(0, steps)
    generator = np.random.default_rng(2)

    def update() -> None:
        index = generator.integers(count, size=batch)
        learner.update(replay(learner.memories, [index], batch, menus=False))

    return update


def their_update(work: Work, batch: int, path: Path) -> Update:
    """Return the update of microsoft/tdqn's agent, from a sample of its replay memory."""
    words = max(len(work.store.states.vocabulary), len(work.store.actions.vocabulary))
    theirs = load_module(path, words)
    options = {
        "gamma": DISCOUNT,
        "batch_size": batch,
        "spm_path": "",
        "embedding_dim": UNITS,
        "output_dir": "",
    }
    options |= {
        "hidden_dim": UNITS,
        "memory_size": TRANSITIONS,
        "clip": CLIP,
        "learning_rate": 1e-4,
    }
    agent = theirs.DRRN_Agent(types.SimpleNamespace(**options))
    states = [theirs.State(*parts(text)) for text in texts_of(work.store.states)]
    actions = texts_of(work.store.actions)
    for now, taken, then, menu in zip(
        work.states, work.taken, work.next_states, work.next_actions, strict=True
    ):
        available = [actions[action] for action in menu]
        if not menu:  # it needs an action at an ending
            available = [actions[taken]]
        agent.observe(states[now], actions[taken], 1.0, states[then], available, not menu)
    return agent.update


def texts_of(texts: Lexicon) -> list[list[int]]:
    """Return each text as word ids."""
    return [texts.words_of(np.array([text])).tolist() for text in range(len(texts))]


def parts(words: list[int]) -> list[list[int]]:
    """Split a state's words into three parts, which their agent reads as observation, description and inventory."""
    return [some.tolist() for some in np.array_split(np.array(words), 3)]


def load_module(path: Path, words: int) -> Any:
    """Load their module for a vocabulary size, without the tokeniser and the logger that it imports."""

    class Tokeniser:
        def Load(self, path: str) -> None: ...  # noqa: N802
        def __len__(self) -> int:
            return words

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


@dataclass(frozen=True)
class Turn:
    """Seconds of a call: CPU time of the thread (on a GPU wall-clock time), and wall-clock time."""

    own: float
    clock: float


def turn_of(update: Update, device: str, seconds: float) -> Turn:
    """Time many calls: in the first one the processor's caches hold the other's data."""
    own = time.thread_time if device == "cpu" else time.perf_counter
    start = time.perf_counter()
    start_own = own()
    calls = 0
    while not calls or own() - start_own < seconds:
        update()
        if device != "cpu":
            torch.cuda.synchronize()
        calls += 1
    return Turn((own() - start_own) / calls, (time.perf_counter() - start) / calls)


def turns_of(updates: list[Update], seconds: float, device: str) -> list[list[Turn]]:
    """Alternate the updates for a number of seconds, so that other load affects all of them."""
    for update in updates:
        update()
    start = time.perf_counter()
    turns: list[list[Turn]] = []
    while len(turns) < MIN_TURNS or time.perf_counter() - start < seconds:
        turns.append([turn_of(each, device, TURN) for each in updates])
    return turns


def middle(numbers: Iterable[float]) -> float:
    return float(np.median(list(numbers)))


def compare(path: Path, game: str, batches: list[int], seconds: float, device: str) -> None:
    """Compare our GRU with theirs, which uses a GPU if there is one."""
    for name, work in {game: random_play_in(game), "generated": generated(Case())}.items():
        for batch in batches:
            pair = [our_sampled_update(work, batch, device), their_update(work, batch, path)]
            turns = turns_of(pair, seconds, device)
            ours, theirs = (batch / middle(turn[who].own for turn in turns) for who in (0, 1))
            times, by_clock = (
                middle(getattr(their, kind) / getattr(our, kind) for our, their in turns)
                for kind in ("own", "clock")
            )
            print(
                f"{name}, batch {batch}: ours {ours:,.0f} transitions a second, theirs {theirs:,.0f}: "
                f"{times:.1f} times ({by_clock:.1f} by the clock), {len(turns)} turns; "
                f"matrix product: {matrix_speed() / 1e9:.0f} GFLOP/s",
                flush=True,
            )


def report(
    encoders: list[str], replicas: list[int], batches: list[int], seconds: float, device: str
) -> None:
    """Print the speed of each encoder, number of replicas and batch size."""
    print(f"matrix product of a core: {matrix_speed() / 1e9:.0f} GFLOP/s")
    for encoder in encoders:
        for count in replicas:
            for batch in batches:
                case = Case(replicas=count, batch=batch, hidden=UNITS)
                turns = turns_of([our_update(case, encoder, device)], seconds, device)
                rate = AT_ONCE * batch * count / middle(turn.own for (turn,) in turns)
                print(
                    f"{encoder}, R = {count}, batch {batch}: {rate:,.0f} transitions a second",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tdqn", type=Path, metavar="FILE", help="drrn/drrn.py of a clone of microsoft/tdqn"
    )
    parser.add_argument(
        "--game",
        default="long-watch",
        help="game for the comparison with tdqn (default: %(default)s)",
    )
    parser.add_argument(
        "--encoders", nargs="+", default=list(ENCODERS), help="(default: %(default)s)"
    )
    parser.add_argument(
        "--replicas", nargs="+", type=int, default=[1, 5], help="(default: %(default)s)"
    )
    parser.add_argument(
        "--batches", nargs="+", type=int, default=list(BATCHES), help="(default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="for each measurement (default: %(default)s)"
    )
    parser.add_argument("--device", default="cpu", help="(default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.tdqn:
        compare(options.tdqn, options.game, options.batches, options.seconds, options.device)
    else:
        report(options.encoders, options.replicas, options.batches, options.seconds, options.device)


if __name__ == "__main__":
    main()
