"""Commands killed at random moments; scripts/kill-test kills them a hundred times."""

import pytest

from tests.kills import COMMANDS, kill_test


@pytest.mark.parametrize(
    "name", ["train", *(pytest.param(name, marks=pytest.mark.full) for name in [*COMMANDS][1:])]
)
def test_a_killed_command_leaves_the_bytes_of_an_uninterrupted_one(name, tmp_path):
    if "sweep" in name:
        pytest.importorskip("optuna")
    kill_test(name, tmp_path, kills=1 if name == "train" else 3)
