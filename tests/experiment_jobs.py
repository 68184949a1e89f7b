"""Helpers for jobs of experiments and sweeps."""

from __future__ import annotations

from drrn.experiments.workers import Workers, events_of


class InProcessWorkers(Workers):
    """Runs one job after another in this process; other processes would import PyTorch again."""

    def __init__(self, count=1):
        super().__init__()

    def slots(self):
        return 1

    def start(self, job):
        return events_of(job)

    def wait(self):
        (stream,) = self.running
        yield stream, next(stream)

    def cancel(self, handle):
        handle.close()


def assert_interrupted_job_matches(job, rows, names):
    """Assert that a job interrupted after its first round writes the rows of an uninterrupted one.

    `job(root)` creates the job, `rows(root)` is the folder of its rows; `names` of files are compared.
    """
    list(job("whole").run())
    next(job("interrupted").run())
    list(job("interrupted").run())
    for name in names:
        assert (rows("interrupted") / name).read_text() == (rows("whole") / name).read_text()
