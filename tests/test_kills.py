"""Commands killed once each, at a random moment; scripts/kill-test does so a hundred times."""

import pytest

from tests.kills import COMMANDS, KillTest, is_orphan_traceback


@pytest.mark.parametrize("what", COMMANDS, ids=lambda what: what.name)
def test_a_command_killed_at_a_random_moment_leaves_the_same_bytes(
    what, tmp_path, jobs_in_process, real_curves
):
    KillTest(tmp_path, seed=1).test(what, 1)


SPAWN = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
SPAWN += '  File "/usr/lib/python3.11/multiprocessing/spawn.py", line 122, in spawn_main\n    exitcode = _main(fd)\n'


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (f"{SPAWN}EOFError: Ran out of input\n", True),
        (
            f"{SPAWN}{SPAWN}BrokenPipeError: [Errno 32] Broken pipe\nEOFError\n",
            True,
        ),  # two at once, line by line
        (f"{SPAWN}ValueError: of a worker\n", False),
        (f'{SPAWN}  File "/drrn/training/record.py", line 1, in keep\nEOFError\n', False),
        (f"{SPAWN}EOFError\n{SPAWN}KeyError: 1\n", False),
    ],
)
def test_of_what_is_thrown_only_a_worker_without_its_parent_is_no_fault(error, expected):
    assert is_orphan_traceback(error) == expected
