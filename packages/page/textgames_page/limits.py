"""Limits of a server: what all its users together may take of the machine."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one server, passed to the parts that keep them."""

    seconds: float = 60.0  # for an answer of a worker process
    # requests
    json_bytes: int = 64 * 2**10
    form_bytes: int = 2**16  # of a form, in addition to its files
    # uploaded stories
    upload_bytes: int = 32 * 2**20  # all files of one upload
    upload_files: int = 4
    uploads: int = 50
    # play
    moves: int = 2_000  # of an episode
    game_processes: int = 6
    # play-tests, inspections and training runs
    tests: int = 2  # at once
    ended_tests: int = 4  # in memory, with processes that can be asked about their maps
    test_seconds: int = 600
    inspections: int = 2  # at once
    runs: int = 4  # at once
