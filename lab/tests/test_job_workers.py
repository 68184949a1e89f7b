"""Several jobs at once: every job ends, even if workers die; the longest start first."""

import heapq
import json
from dataclasses import replace
from pathlib import Path

import drrn
from drrn.experiments.workers import Event, Processes, Workers, in_order
from drrn.settings import Settings, all_settings
from lab.experiments.job import Job, hashes_of
from lab.experiments.plan import TABLE, VARIANTS, Scale, settings_of
from tests.source_code import ROOT

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
        super().__init__()
        self.outcomes = outcomes
        self.canceled: list[Job] = []
        self.peak = 0

    def slots(self):
        return 2

    def start(self, job):
        return object()

    def wait(self):
        self.peak = max(self.peak, len(self.running))
        handle, (job, _) = next(iter(self.running.items()))
        outcomes = self.outcomes.get(job.game, [])
        yield handle, Event(job, "round", 1)
        yield handle, Event(job, outcomes.pop(0) if outcomes else "done", 1)

    def cancel(self, handle):
        self.canceled.append(handle)


def kinds(workers, games):
    events = workers.run(replace(JOB, game=game) for game in games)
    return [(event.job.game, event.kind) for event in events if event.kind != "round"]


def test_jobs_start_in_order_and_at_most_as_many_as_slots():
    workers = ScriptedWorkers({})
    events = kinds(workers, "abcd")
    assert [game for game, kind in events if kind == "started"] == list("abcd")
    assert workers.peak == 2
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


def test_a_job_is_created_only_when_a_slot_is_free_and_a_stopped_one_is_silent():
    created = []

    def jobs():
        for game in "abcd":
            created.append(game)
            yield replace(JOB, game=game)

    workers = ScriptedWorkers({})
    with workers:
        for event in workers.run(jobs()):
            if (event.job.game, event.kind) == ("a", "round"):
                workers.stop(event.job)
                assert created == ["a", "b"] and len(workers.canceled) == 1
            if event.kind == "done":
                break
        assert (event.job.game, created) == ("b", ["a", "b", "c"])
    assert len(workers.canceled) == 2 and not workers.running


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
    workers = Processes(1)
    with workers:
        assert not workers.idle
        events = list(workers.run([bad, replace(JOB, root=tmp_path)]))
    ends = [event for event in events if event.kind in ("failed", "done", "lost")]
    outcomes = [(event.job.game, event.kind) for event in ends]
    assert outcomes == [("mortal", "failed"), ("long-watch", "done")]
    assert "exit code 3" in ends[0].why


def published_jobs():
    """Yield the jobs of the published results, and the seconds that each of them took."""
    rows = ROOT / "results" / "rows"
    for path in sorted(rows.glob("*/*.json")):
        record = json.loads(path.read_text())
        values = record["wanted"]
        if record["job"] != "game" and "vectors" not in values:
            names = values.keys() & all_settings()
            settings = Settings.from_flat({name: values[name] for name in names})
            variant = VARIANTS[record["job"]]
            job = replace(JOB, game=record["game"], variant=variant, settings=settings)
            yield job, record["seconds"]["whole"]


def test_the_order_of_the_published_jobs_takes_little_longer_than_the_best_order():
    published = list(published_jobs())
    seconds = {(job.game, job.name): time for job, time in published}
    for processes in (2, 4, 16):
        free = [0.0] * processes
        for job in in_order(job for job, _ in published):
            heapq.heappush(free, heapq.heappop(free) + seconds[job.game, job.name])
        bound = max(sum(seconds.values()) / processes, *seconds.values())
        assert max(free) < 1.05 * bound


def test_facts_of_games_come_first_and_longer_jobs_before_shorter_ones():
    long = replace(JOB, settings=JOB.settings.replace(rounds=2))
    facts = replace(JOB, variant=None)
    assert in_order([JOB, long, facts]) == [facts, long, JOB]
