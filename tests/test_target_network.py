"""A frozen copy of the model gives the targets, and has room for what was met since."""

import numpy as np
import pytest

from drrn.models import Pages
from tests.test_models import model, shown
from tests.test_train import FORK, REWARDS, trained


@pytest.fixture
def fork(story):
    return story(FORK, REWARDS, shuffle=True)


@pytest.mark.parametrize("extra", [{}, {"double": True}, {"grow": True}, {"double": True, "grow": True}], ids=str)
def test_a_table_has_a_target_network_too(fork, extra):
    _, rounds = trained(fork, model="table", target_every=3, rounds=4, **extra)
    assert len(rounds) == 4


def test_a_frozen_table_stays_as_it_was_while_the_lexicons_grow():
    built = model("table", seeds=(0, 1))
    built.q(shown(built))  # makes room
    built.weights["table"] += 1.0
    frozen = built.frozen()
    for number in range(9):
        built.states.id(f"state {number}")
        built.actions.id(f"action {number}")
    new = Pages(np.full((2, 1), 11), np.array([[[0, 12]]] * 2))
    for asked, q in ((shown(built), 1.0), (new, 0.0)):
        found = frozen.forward(built.read(Pages(asked.states[None], asked.actions[None]))[0], None).numpy()
        assert (found[asked.mask] == q).all()
