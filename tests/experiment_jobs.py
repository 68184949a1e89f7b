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
