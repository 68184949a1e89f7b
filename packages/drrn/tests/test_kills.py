"""Commands killed once each at a random moment; scripts/kill-test kills them a hundred times."""

import pytest

from tests.kills import TARGETS, KillTest, is_orphan_traceback

SPAWN = (
    'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
    '  File "/usr/lib/python3.11/multiprocessing/spawn.py", line 122, in spawn_main\n'
    "    exitcode = _main(fd)\n"
)
# Two processes write their tracebacks at the same time, line by line.
TWO_ORPHANS = f"{SPAWN}{SPAWN}BrokenPipeError: [Errno 32] Broken pipe\nEOFError\n"


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


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (f"{SPAWN}EOFError: Ran out of input\n", True),
        (TWO_ORPHANS, True),
        (f"{SPAWN}ValueError: of a worker\n", False),
        (f'{SPAWN}  File "/drrn/runs/storage.py", line 1, in save\nEOFError\n', False),
        (f"{SPAWN}EOFError\n{SPAWN}KeyError: 1\n", False),
    ],
)
def test_only_tracebacks_of_orphaned_workers_are_ignored(error, expected):
    assert is_orphan_traceback(error) == expected
