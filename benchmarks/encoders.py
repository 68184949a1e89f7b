"""How fast the encoders learn, beside each other and beside the DRRN of microsoft/tdqn.

    python benchmarks/encoders.py                              transitions a second of each encoder
    python benchmarks/encoders.py --tdqn CLONE/drrn/drrn.py    the GRU beside theirs, on the same work, in one run
    python benchmarks/encoders.py --device cuda                on a GPU

The encoders' own texts are made up, of Machine of Death's sizes (2,200 words, 85 words a state, 4 actions of 7 words),
and drawn evenly, so that few occur twice in a batch.

Beside tdqn, both learn from the same 10,000 transitions, of two kinds: those of random play in a game (The Long Watch;
`--game NAME` for another), where pages return as they do in every game, and evenly drawn made-up ones. An update is the
same for both: a batch is sampled from the replay memory; every action of the next pages is valued by the same weights
(neither has a target network); Adam. Theirs also has a Huber loss and bounds the gradient's norm by 5. Word vectors and states are 128 wide, a
hidden layer of 128 lies over both sides. Theirs reads a state in three parts, each by a GRU of its own: it is given the
same words in three equal parts. Ours reads them by one GRU, each distinct text of a batch once; theirs reads all. Their
code is loaded from the path, with a stand-in for its tokeniser, which the update does not use; nothing of it is kept
here. Both have one thread and take turns of half a second, so that a busy machine disturbs both alike. Rates are those
of the thread's own time in the median turn; how many times as fast ours is, is the median over pairs of turns that
follow each other, by the thread's own time and by the clock.
"""

from __future__ import annotations

import argparse
import importlib.util
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
from drrn.models import Shape, build_model, encoder_of
from drrn.settings import Settings
from drrn.text import Lexicon, Store

UNITS, CLIP, DISCOUNT = 128, 5.0, 0.9
BATCHES = (64, 256, 1024)
ENCODERS = ("bag", "gru", "lstm", "attention")
AT_ONCE = 4  # updates of a call
TRANSITIONS = 10_000  # in the replay memory
TURN, LEAST_TURNS = 0.5, 5  # seconds of a turn, and how many turns at least
LONGEST = 100  # steps of an episode

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
    settings = Settings.from_flat(replicas=case.replicas, learning_rate=1e-4, optimiser="adam")
    learner = QLearning(model, settings)
    prepared = batches_of(case, np.random.default_rng(1), AT_ONCE)
    return lambda: learner.update(prepared)


@dataclass(frozen=True)
class Work:
    """Transitions as ids of a store's texts: what was shown and taken, and what was shown then."""

    store: Store
    states: list[int]
    taken: list[int]
    next_states: list[int]
    next_actions: list[list[int]]


def played(name: str) -> Work:
    """Random play in a game."""
    game, generator, store = drrn.make(name), random.Random(0), Store.of_words()
    work = Work(store, [], [], [], [])
    while len(work.states) < TRANSITIONS:
        page = game.reset(generator.randrange(2**31))
        for _ in range(LONGEST):
            if not page.actions:
                break
            place = generator.randrange(len(page.actions))
            after = game.step(place)
            work.states.append(store.states.id(page.text))
            work.taken.append(store.actions.id(page.actions[place]))
            work.next_states.append(store.states.id(after.text))
            work.next_actions.append([store.actions.id(action) for action in after.actions])
            page = after
    return work


def made_up(case: Case) -> Work:
    """Texts of the case's sizes, drawn evenly."""
    generator, count = np.random.default_rng(1), TRANSITIONS
    states, following = generator.integers(case.texts, size=(2, count)).tolist()
    taken = generator.integers(case.action_texts, size=count).tolist()
    menus = generator.integers(case.action_texts, size=(count, case.actions)).tolist()
    return Work(store_of(case), states, taken, following, menus)


def our_sampled_update(work: Work, batch: int, device: str) -> Update:
    """An update of ours, from a sample of its replay buffer."""
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
    steps = Steps(
        states=np.array(work.states),
        actions=Menus.of([[action] for action in work.taken]),
        taken=np.zeros(count, np.int64),
        probabilities=np.ones(count),
        rewards=np.ones(count),
        last=np.ones(count, bool),
        end_states=np.array(work.next_states),
        end_actions=Menus.of(work.next_actions),
    )
    learner.tell(0, steps)
    generator = np.random.default_rng(2)
    return lambda: learner.learn_once([generator], [True])


def their_update(work: Work, batch: int, path: Path) -> Update:
    """An update of microsoft/tdqn's agent, from a sample of its own replay memory."""
    words = max(len(work.store.states.vocabulary), len(work.store.actions.vocabulary))
    theirs = loaded(path, words)
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
        shown = [actions[action] for action in menu] or [
            actions[taken]
        ]  # it must be given an action at an ending
        agent.observe(states[now], actions[taken], 1.0, states[then], shown, not menu)
    return agent.update


def texts_of(texts: Lexicon) -> list[list[int]]:
    """Each text as the numbers of its words."""
    return [texts.words_of(np.array([text])).tolist() for text in range(len(texts))]


def parts(words: list[int]) -> list[list[int]]:
    """A state's words in three parts: what their agent reads as observation, description and inventory."""
    return [some.tolist() for some in np.array_split(np.array(words), 3)]


def loaded(path: Path, words: int) -> Any:
    """Their module, for so many words, without the tokeniser and the logger that it imports."""

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
    """What a call took, in seconds: of the one thread's own time (on a GPU, of the clock's), and of the clock's."""

    own: float
    clock: float


def turn_of(update: Update, device: str, seconds: float) -> Turn:
    """Many calls, as in learning: the first one finds the processor's caches full of the other's numbers."""
    own = time.thread_time if device == "cpu" else time.perf_counter
    began, began_own, calls = time.perf_counter(), own(), 0
    while not calls or own() - began_own < seconds:
        update()
        if device != "cpu":
            torch.cuda.synchronize()
        calls += 1
    return Turn((own() - began_own) / calls, (time.perf_counter() - began) / calls)


def turns_of(updates: list[Update], seconds: float, device: str) -> list[list[Turn]]:
    """Turns of each in turn, for so many seconds: what disturbs one disturbs the next, too."""
    for update in updates:
        update()
    start, turns = time.perf_counter(), []
    while len(turns) < LEAST_TURNS or time.perf_counter() - start < seconds:
        turns.append([turn_of(each, device, TURN) for each in updates])
    return turns


def middle(numbers: Iterable[float]) -> float:
    return float(np.median(list(numbers)))


def compare(path: Path, game: str, batches: list[int], seconds: float, device: str) -> None:
    """The GRU beside theirs, which runs on a GPU wherever there is one."""
    for name, work in {game: played(game), "evenly drawn": made_up(Case())}.items():
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
    """Each encoder, by replicas and batch."""
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
        "--game", default="long-watch", help="played beside tdqn (default: %(default)s)"
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
