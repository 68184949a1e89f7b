"""The reference implementation: it learns, is independent, and makes the same updates as ours."""

import ast
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import drrn
from drrn.learning import reference
from drrn.learning.fast.q_learning import FastQLearning
from drrn.learning.q_learning import Batches
from drrn.models import Pages, Shape, build_model
from drrn.settings import Settings
from drrn.text import Store
from textgames.game.contract import Observation
from textgames.wording import words

UPDATES = 400
RATE = 0.005
HIDDEN = 20


def some_transitions(game, count):
    """Return shuffled transitions (s, a, r, s' with its actions) of random play."""
    chance = random.Random(1)
    page = game.reset(seed=1)
    transitions: list[tuple[str, str, float, Observation]] = []
    while len(transitions) < count:
        index = chance.randrange(len(page.actions))
        following = game.step(index)
        transitions.append((page.text, page.actions[index], following.reward, following))
        page = game.reset() if following.ended else following
    chance.shuffle(transitions)
    return transitions


def fast_weights(transitions):
    """Return our learner's weights before and after, by side and name."""
    store = Store.of_words()
    most = max(len(following.actions) for *_, following in transitions)
    numbers = [
        (store.states.id(s), store.actions.id(a), r, *store.page(next_.text, next_.actions))
        for s, a, r, next_ in transitions
    ]
    model = build_model("drrn", Shape(HIDDEN, 2), store, [0], torch.device("cpu"))
    model.meet(0, np.arange(len(store.states)), np.arange(len(store.actions)))
    s, a, r, next_s, next_a = zip(*numbers, strict=True)

    def batches(values, kind: Any = np.int64):  # one update for each value: [K, R = 1, B = 1, …]
        return np.array(values, kind).reshape(len(numbers), 1, 1, *np.shape(values)[1:])

    menus = batches([some + [-1] * (most - len(some)) for some in next_a])
    ones = np.ones((len(numbers), 1, 1), np.float32)
    now = Pages(batches(s), batches(a)[..., None])
    then = Pages(batches(next_s), menus)
    indices = np.zeros_like(now.states)
    first = weights_by_side(model)
    FastQLearning(model, Settings.from_flat(learning_rate=RATE)).update(
        Batches(
            now, indices, batches(r, np.float32), np.float32(reference.GAMMA) * ones, then, ones
        )
    )
    return first, weights_by_side(model)


def weights_by_side(model):
    """Return the weights of both towers; W1 is a dict with a vector for each word."""
    arrays = {name: np.array(array[0]) for name, array in model.state().items()}
    weights: dict[str, dict[str, Any]] = {}
    for side, texts in (("state", model.store.states), ("action", model.store.actions)):
        vectors = zip(texts.vocabulary.spelled, arrays[f"table {side}"], strict=True)
        weights[side] = {"W1": dict(vectors)}
        weights[side] |= {name: arrays[f"weight {side} {name}"] for name in ("b1", "W2", "b2")}
    return weights


def copy_weights(model, weights):
    """Copy these weights to the reference model."""
    with torch.no_grad():
        for side, tower in (("state", model.state), ("action", model.action)):
            first = tower[0]
            second = tower[2]
            for word, vector in weights[side]["W1"].items():
                first.weight[:, model.dictionary.setdefault(word, len(model.dictionary))] = (
                    torch.from_numpy(vector)
                )
            first.bias.copy_(torch.from_numpy(weights[side]["b1"][0]))
            second.weight.copy_(torch.from_numpy(weights[side]["W2"].T))
            second.bias.copy_(torch.from_numpy(weights[side]["b2"][0]))


def test_our_learner_makes_the_updates_of_the_reference(monkeypatch):
    monkeypatch.setattr(reference, "HIDDEN", HIDDEN)
    transitions = some_transitions(drrn.make("long-watch"), UPDATES)
    first, last = fast_weights(transitions)
    model = reference.DRRN()
    copy_weights(model, first)
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE)
    for transition in transitions:
        reference.learn(model, optimiser, transition)
    changes = []
    for side, tower in (("state", model.state), ("action", model.action)):
        ours = last[side]
        before = first[side]
        one: Any = tower[0]
        two: Any = tower[2]
        pairs = [
            (one.weight[:, model.dictionary[word]], vector) for word, vector in ours["W1"].items()
        ]
        pairs += [(one.bias, ours["b1"][0]), (two.weight.T, ours["W2"]), (two.bias, ours["b2"][0])]
        for theirs, mine in pairs:
            np.testing.assert_allclose(theirs.detach().numpy(), mine, rtol=0, atol=1e-5)
        changes += [np.abs(ours[name] - before[name]).max() for name in ("b1", "W2", "b2")]
    assert min(changes) > 0.02  # far above the tolerance


@pytest.mark.full
def test_the_reference_learns(tale, capsys, monkeypatch):
    # other tests run in this process
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)
    reference.main(str(tale), "200")
    scores = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert scores[1] > max(9, scores[0])


def test_a_bag_counts_the_words_of_a_text():
    model = reference.DRRN()
    bag = model.bag("The sea, the lamp; the sea.")
    assert {word: bag[number].item() for word, number in model.dictionary.items()} == {
        "the": 3,
        "sea": 2,
        "lamp": 1,
    }
    assert bag.sum() == 6 and model.bag("…").sum() == 0 and words("…") == []


def test_the_reference_does_not_import_our_learner():
    tree = ast.parse(Path(reference.__file__).read_text(encoding="utf-8"))
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith(("drrn", "textgames"))} == {
        "textgames.game.contract",
        "textgames.openers",
        "textgames.wording",
    }
