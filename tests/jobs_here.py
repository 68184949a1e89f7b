"""Runs jobs in the process of the test: other processes would have to import PyTorch again."""

from drrn.lab.experiments.workers import Workers, events_of


class JobsHere(Workers):
    """Runs one job after another in this process."""

    attempts = 1

    def __init__(self, count):
        self.stream = None

    def slots(self):
        return 1

    def start(self, job):
        self.stream = events_of(job)

    def events(self):
        return [next(self.stream)]

    def close(self):
        self.stream = None
