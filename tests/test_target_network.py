"""A frozen copy gives the targets: it has room for what was met since, and each replica's has a count of its own."""

import numpy as np
import pytest

from drrn.models import Pages
from tests.small_models import learner, model, random_batches, shown
from tests.small_trainings import trained


@pytest.mark.parametrize(
    "extra", [{}, {"double": True}, {"grow": True}, {"double": True, "grow": True}], ids=str
)
def test_a_table_has_a_target_network_too(fork, extra):
    trainer, _ = trained(fork, model="table", target_every=3, rounds=4, **extra)
    row_on, turn_back = trainer.agent.ask("You are out on the water.", ["Row on.", "Turn back."]).T
    assert (row_on > turn_back).all()
    learned, target = (
        model.weights["table"].amax(dim=(1, 2)) for model in (trainer.model, trainer.learner.target)
    )
    assert trainer.learner.updates == [
        8,
        8,
    ]  # the target was renewed after the sixth: it moved, and lags behind
    assert (target > 0).all() and (target < learned).all()


def test_a_frozen_table_stays_as_it_was_while_the_vocabularies_and_texts_grow():
    built = model("table", seeds=(0, 1))
    built.q(shown(built))  # makes room
    built.weights["table"] += 1.0
    frozen = built.frozen()
    for number in range(9):
        built.store.states.id(f"state {number}")
        built.store.actions.id(f"action {number}")
    new = Pages(np.full((2, 1), 11), np.array([[[0, 12]]] * 2))
    for asked, q in ((shown(built), 1.0), (new, 0.0)):
        found = frozen.forward(
            built.read(Pages(asked.states[None], asked.actions[None]))[0], None
        ).numpy()
        assert (found[asked.mask] == q).all()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"double": True},
        {"grow": True},
        {"form": "online"},
        {"model": "table"},
        {"model": "table", "grow": True},
    ],
    ids=str,
)
def test_a_replica_with_a_target_network_trains_as_alone_though_episodes_differ_in_length(
    fork, settings
):
    settings = {"target_every": 7, "rounds": 3, "batch_size": 4, "learning_rate": 0.05, **settings}
    together, _ = trained(fork, **{**settings, "replicas": 3, "seed": 5})
    for replica in range(3):
        alone, _ = trained(fork.another(), **{**settings, "replicas": 1, "seed": 5 + replica})
        for text in ("The sea is grey and the wind is north.", "You are out on the water."):
            q = [trainer.agent.ask(text, ["Go out.", "Row on."]) for trainer in (together, alone)]
            assert q[0][replica] == pytest.approx(q[1][0], abs=1e-4)
        assert together.learner.updates[replica] == alone.learner.updates[0]


def test_a_replica_without_data_makes_no_update_and_keeps_its_target():
    built = model(seeds=(0, 1))
    learn = learner(built, target_every=2)
    some = random_batches(built, 4, updates=3)
    some.weights[1:, 1] = 0
    before = learn.target.q(shown(built))
    learn.update(some)
    after = learn.target.q(shown(built))
    assert learn.updates == [3, 1]
    assert not np.allclose(after[0], before[0]) and np.array_equal(after[1], before[1])


def test_a_word_met_since_counts_for_nothing_in_a_target_that_was_not_renewed():
    built = model(seeds=(0, 1))
    learn = learner(built, target_every=1)
    new = built.store.states.id("zebra")
    for replica in (0, 1):
        built.meet(replica, np.array([new]), np.arange(0))
    some = random_batches(built, 4, updates=1)
    some.weights[:, 1] = 0
    learn.update(some)
    word = built.store.states.vocabulary.numbers["zebra"]
    rows = learn.target.tables["state"].weight[:, word]
    assert rows[0].any() and not rows[1].any()
