"""Commands killed once each at a random moment; scripts/kill-test kills them a hundred times."""

import pytest

from tests.kills import TARGETS, KillTest


@pytest.mark.parametrize(
    "target",
    [TARGETS[0], *(pytest.param(target, marks=pytest.mark.full) for target in TARGETS[1:])],
    ids=lambda target: target.name,
)
def test_a_killed_command_leaves_the_bytes_of_an_uninterrupted_one(
    target, tmp_path, jobs_in_process
):
    test = KillTest(tmp_path, seed=1)
    test.test(target, kills=1)
    assert test.trials >= 1
