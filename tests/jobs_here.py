"""Jobs in the process of the test, where it is not the processes that are tested: each would import PyTorch anew."""

from drrn.lab.experiments.workers import Crew, Event, outcomes


class JobsHere(Crew):
    """Does one job after another, in this process."""

    attempts = 1

    def __init__(self, count):
        self.work = self.said = None

    def places(self):
        return 1

    def begin(self, work):
        self.work, self.said = work, outcomes(work)

    def events(self):
        kind, rounds, score, why = next(self.said)
        return [Event(self.work, kind, rounds, score, 0.0, why)]

    def close(self):
        self.work = self.said = None
