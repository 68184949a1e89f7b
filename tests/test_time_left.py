"""The estimate of the time left, from records of earlier jobs and from measurements."""

import heapq
import json
from dataclasses import replace
from pathlib import Path

import pytest

import drrn
from drrn.cli.jobs import Display
from drrn.lab.experiments.job import Job
from drrn.lab.experiments.plan import EXPERIMENTS, ON_REQUEST, TABLE, VARIANTS, Scale, settings_of
from drrn.lab.experiments.workers import (
    SECONDS,
    START,
    WEIGHT,
    Estimate,
    Event,
    Processes,
    in_order,
    job_cost,
    time_left_text,
)
from drrn.settings import Settings, all_settings

ROWS = Path(drrn.__file__).parent.parent / "results" / "rows"
PLAIN = {
    variant.name for name in EXPERIMENTS if name not in ON_REQUEST for variant in EXPERIMENTS[name]
}


def job_for(variant=TABLE, game="long-watch", root="x", seeds=None, **overrides):
    scale = Scale(seeds=seeds, overrides=overrides)
    settings = settings_of(game, variant, drrn.make("long-watch"), scale)
    return Job(Path(root), game, game, variant, settings, {}, {}, "a commit")


def published_jobs():
    """Yield the jobs of a plain `drrn reproduce`, and the seconds that each of them took."""
    names = all_settings().keys() - {"vectors"}
    for path in sorted(ROWS.glob("*/*.json")):
        record = json.loads(path.read_text())
        if record["job"] in PLAIN:
            flat = {name: value for name, value in record["wanted"].items() if name in names}
            game = record["game"]
            settings = Settings.from_flat(**flat)
            job = Job(Path("x"), game, game, VARIANTS[record["job"]], settings, {}, {}, "")
            yield job, record["seconds"]["whole"]


def simulate(jobs, processes):
    """Return the events of jobs with the time of each.

    A job takes 2 s before its first round and 1 s after its last.
    """
    durations = {(job.game, job.name): max(4.0, seconds) for job, seconds in jobs}
    free = [0.0] * processes
    events = []
    for job in in_order(job for job, _ in jobs):
        start = heapq.heappop(free)
        rounds = job.settings.run.rounds
        whole = durations[job.game, job.name]
        for number in range(1, rounds + 1):
            seconds = 2 + (whole - 3) * number / rounds
            events.append((start + seconds, Event(job, "round", rounds=number, seconds=seconds)))
        events.append((start + whole, Event(job, "done", seconds=whole)))
        heapq.heappush(free, start + whole)
    return sorted(events, key=lambda pair: pair[0])


@pytest.mark.parametrize("factor", [1.0, 3.0, 0.5])
def test_the_estimate_for_the_published_experiments_is_within_a_factor_of_1_7(factor):
    """On the same machine immediately, on a slower or faster one soon after the start."""
    jobs = [(job, factor * seconds) for job, seconds in published_jobs()]
    events = simulate(jobs, 2)
    end = events[-1][0]
    estimate = Estimate([job for job, _ in jobs], 2)
    if factor == 1.0:
        assert 0.6 < estimate.seconds_left() / end < 1.7
    for now, event in events:
        estimate.update(event)
        if end / 50 < now < end - 60:
            assert 0.6 < estimate.seconds_left() / (end - now) < 1.7


def test_measurements_soon_outweigh_the_prior():
    """A job of ten rounds takes 123 s; then another job."""
    first = job_for(rounds=10)
    second = job_for(VARIANTS["linear"], rounds=10)
    estimate = Estimate([first, second], 1)
    expected = SECONDS * (job_cost(first) + job_cost(second))
    assert estimate.seconds_left() == pytest.approx(expected)
    for number in range(1, 11):
        estimate.update(Event(first, "round", rounds=number, seconds=20.0 + 10 * number))
    estimate.update(Event(first, "done", rounds=10, seconds=123.0))
    rate = (123 + WEIGHT * SECONDS) / (job_cost(first) + WEIGHT)
    assert estimate.seconds_left() == pytest.approx(job_cost(second) * rate)


def test_a_job_costs_more_with_more_rounds_episodes_and_seeds():
    plain = job_cost(job_for()) - 2 * START
    assert job_cost(job_for(rounds=40)) == pytest.approx(2 * plain + 2 * START)
    assert job_cost(job_for(episodes_per_round=400)) == pytest.approx(2 * plain + 2 * START)
    assert plain < job_cost(job_for(seeds=10)) < 2 * plain + 2 * START
    assert job_cost(replace(job_for(), variant=None)) == 0


def test_the_time_left_is_at_least_that_of_the_longest_job():
    jobs = [job_for(), job_for(game="machine-of-death")]
    estimate = Estimate(jobs, 2)
    assert estimate.seconds_left() == pytest.approx(SECONDS * job_cost(jobs[1]))


def test_a_job_whose_worker_died_counts_as_not_started():
    job = job_for(rounds=4)
    estimate = Estimate([job], 1)
    whole = estimate.seconds_left()
    estimate.update(Event(job, "round", rounds=2, seconds=SECONDS * job_cost(job) / 2))
    assert estimate.seconds_left() == pytest.approx(SECONDS * job_cost(job) / 2)
    estimate.update(Event(job, "lost", seconds=9.0))
    assert estimate.seconds_left() == whole


def test_the_display_starts_with_the_time_left(capsys):
    job = job_for()
    with Processes(2) as workers:
        display = Display([job], workers)
        text = time_left_text(SECONDS * job_cost(job))
        assert capsys.readouterr().out == f"{text}, 2 at a time\n"
        display.update(Event(job, "failed", seconds=4.0, why="no memory"))
    assert "FAILED: no memory  all done" in capsys.readouterr().out
    assert time_left_text(42.4) == "about 42 s left"
    assert time_left_text(600) == "about 10 min left"
