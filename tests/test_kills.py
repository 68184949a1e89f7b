"""Commands killed at random moments; scripts/kill-test does so a hundred times."""

import pytest

from tests.kills import COMMANDS, KillTest


@pytest.mark.parametrize("what", COMMANDS, ids=lambda what: what.name)
def test_a_command_killed_at_random_moments_leaves_the_same_bytes(what, tmp_path):
    KillTest(tmp_path, seed=1).test(what, 2 if what.name == "train" else 1)
