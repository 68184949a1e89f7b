"""Several jobs at once: every job ends, even if workers die."""

from dataclasses import replace
from pathlib import Path

import pytest

import drrn
from drrn.lab.experiments.job import Job, hashes_of
from drrn.lab.experiments.plan import TABLE, Scale, settings_of
from drrn.lab.experiments.workers import Event, Processes, Workers, run_all

GAME = drrn.make("long-watch")
TINY = Scale(seeds=1, overrides={"rounds": 1, "episodes_per_round": 1})
JOB = Job(
    root=Path("x"),
    source="long-watch",
    game="long-watch",
    variant=TABLE,
    settings=settings_of("long-watch", TABLE, GAME, TINY),
    final={"softmax": 1, "greedy": 1},
    hashes=hashes_of(GAME),
    commit="",
)


class ScriptedWorkers(Workers):
    """Two slots; each job has a list of outcomes, one for each start, and is then done."""

    attempts = 3

    def __init__(self, outcomes):
        self.outcomes = outcomes
        self.running: list[Job] = []
        self.closed = False
        self.peak = 0

    def slots(self):
        return 2

    def start(self, job):
        self.running.append(job)
        self.peak = max(self.peak, len(self.running))

    def events(self):
        job = self.running.pop(0)
        outcomes = self.outcomes.get(job.game, [])
        return [Event(job, "round", 1), Event(job, outcomes.pop(0) if outcomes else "done", 1)]

    def close(self):
        self.closed = True


def kinds(workers, games):
    jobs = (replace(JOB, game=game) for game in games)
    events = run_all(jobs, workers)
    return [(event.job.game, event.kind) for event in events if event.kind != "round"]


def test_jobs_start_in_order_and_at_most_as_many_as_slots():
    workers = ScriptedWorkers({})
    with workers:
        events = kinds(workers, "abcd")
    assert [game for game, kind in events if kind == "started"] == list("abcd")
    assert workers.peak == 2
    assert workers.closed
    assert kinds(ScriptedWorkers({}), "") == []


def test_a_lost_job_starts_again_before_the_others():
    events = kinds(ScriptedWorkers({"a": ["lost"]}), "abcd")
    assert [game for game, kind in events if kind == "started"] == list("abacd")
    assert sorted(game for game, kind in events if kind == "done") == list("abcd")


def test_a_job_that_loses_every_worker_fails():
    events = kinds(ScriptedWorkers({"a": ["lost"] * 9}), "ab")
    kinds_of_a = [kind for game, kind in events if game == "a"]
    assert kinds_of_a == ["started", "lost", "started", "lost", "started", "failed"]
    assert ("b", "done") in events


def test_a_job_is_created_only_when_a_slot_is_free():
    created = []

    def jobs():
        for game in "abc":
            created.append(game)
            yield replace(JOB, game=game)

    for event in run_all(jobs(), ScriptedWorkers({})):
        if event.kind == "done":
            break
    assert created == ["a", "b"]


@pytest.mark.slow
def test_a_job_whose_process_dies_fails_and_another_process_runs_the_rest(tmp_path, import_folder):
    (tmp_path / "mortal.py").write_text(
        "import os, drrn\n"
        "class Game:\n"
        "    name = 'mortal'\n"
        "    def reset(self, seed=None): os._exit(3)\n"
        "    def step(self, index): ...\n"
    )
    hashes = hashes_of(drrn.make("mortal:Game"))
    bad = replace(JOB, root=tmp_path, source="mortal:Game", game="mortal", hashes=hashes)
    with Processes(1) as workers:
        events = list(run_all([bad, replace(JOB, root=tmp_path)], workers))
    ends = [event for event in events if event.kind in ("failed", "done", "lost")]
    outcomes = [(event.job.game, event.kind) for event in ends]
    assert outcomes == [("mortal", "failed"), ("long-watch", "done")]
    assert "exit code 3" in ends[0].why


def test_processes_start_with_the_first_job():
    workers = Processes(2)
    with workers:
        assert not workers.idle
        assert not workers.running
