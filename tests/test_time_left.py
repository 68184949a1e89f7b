"""The time left of experiments: told from the beginning, by what such jobs took before, then by what is measured."""

import dataclasses
import heapq
import json
from dataclasses import replace
from pathlib import Path

import pytest

import drrn
from drrn.cli.jobs import in_order, seconds_before
from drrn.cli.progress import jobs_display
from drrn.lab.experiments.estimate import SECONDS, WEIGHT, Estimate, seconds_a_cost, told, work_cost
from drrn.lab.experiments.plan import EXPERIMENTS, ON_REQUEST, TABLE, VARIANTS, Scale, settings_of
from drrn.lab.experiments.running import Work
from drrn.lab.experiments.workers import Event, Processes
from drrn.settings import Settings

ROWS = Path(drrn.__file__).parent.parent / "results" / "rows"
PLAIN = {
    variant.name for name in EXPERIMENTS if name not in ON_REQUEST for variant in EXPERIMENTS[name]
}


def work_for(variant=TABLE, game="long-watch", **more):
    settings = settings_of(game, variant, drrn.make("long-watch"), Scale(given=more))
    return Work(Path("x"), game, game, variant, settings, {}, {}, "a commit")


def published():
    """The jobs of a plain `drrn reproduce`, and the seconds that each of them took."""
    names = {field.name for field in dataclasses.fields(Settings)} - {"vectors"}
    for path in sorted(ROWS.glob("*/*.json")):
        record = json.loads(path.read_text())
        if record["job"] in PLAIN:
            wanted = {name: value for name, value in record["wanted"].items() if name in names}
            variant, game = VARIANTS[record["job"]], record["game"]
            yield (
                Work(Path("x"), game, game, variant, Settings.from_flat(**wanted), {}, {}, ""),
                record["seconds"]["whole"],
            )


def replayed(jobs, processes):
    """The events of jobs that take so many seconds, with the moment of each: 2 s before a job's first round, 1 s after
    its last."""
    took = {(work.game, work.name): max(4.0, seconds) for work, seconds in jobs}
    free, told = [0.0] * processes, []
    for work in in_order(work for work, _ in jobs):
        begun, rounds, whole = (
            heapq.heappop(free),
            work.settings.run.rounds,
            took[work.game, work.name],
        )
        for number in range(1, rounds + 1):
            seconds = 2 + (whole - 3) * number / rounds
            told.append((begun + seconds, Event(work, "round", rounds=number, seconds=seconds)))
        told.append((begun + whole, Event(work, "done", seconds=whole)))
        heapq.heappush(free, begun + whole)
    return sorted(told, key=lambda one: one[0])


@pytest.mark.parametrize("slower", [1.0, 3.0, 0.5])
def test_the_time_left_of_the_published_experiments_is_sound_from_the_beginning(slower):
    """On the machine that made them before anything is measured, on a slower or a faster one soon after."""
    jobs = [(work, slower * seconds) for work, seconds in published()]
    events = replayed(jobs, 2)
    end = events[-1][0]
    estimate = Estimate([work for work, _ in jobs], 2)
    if slower == 1.0:
        assert 0.6 < estimate.seconds_left() / end < 1.7
    for moment, event in events:
        estimate.hear(event)
        if end / 50 < moment < end - 60:
            assert 0.6 < estimate.seconds_left() / (end - moment) < 1.7


def test_what_is_measured_soon_counts_for_more_than_what_was_known_before():
    """A job of ten rounds of 10 s each, that takes 20 s to start and 3 s to end, and another one after it."""
    one, two = work_for(rounds=10), work_for(VARIANTS["linear"], rounds=10)
    estimate = Estimate([one, two], 1)
    assert estimate.seconds_left() == pytest.approx(
        SECONDS * (work_cost(one) + work_cost(two)) + 2 + 2
    )
    for number in range(1, 11):
        estimate.hear(Event(one, "round", rounds=number, seconds=20.0 + 10 * number))
    estimate.hear(Event(one, "done", rounds=10, seconds=123.0))
    cost = 0.9 * work_cost(
        one
    )  # of the rounds after the first, which nobody can tell from the start
    rate = (90 + WEIGHT * SECONDS) / (cost + WEIGHT)
    start = 30 - work_cost(one) / 10 * rate
    assert estimate.seconds_left() == pytest.approx(start + work_cost(two) * rate + 3)


def test_jobs_that_are_done_tell_what_the_others_will_take():
    one, two = work_for(), work_for(VARIANTS["linear"])
    rate = seconds_a_cost(
        [(one, 10.0), (replace(one, variant=None), 99.0)]
    )  # a game's facts are no measure
    assert rate == pytest.approx(10 / work_cost(one)) and seconds_a_cost([]) == SECONDS
    assert Estimate([two], 1, rate).seconds_left() == pytest.approx(work_cost(two) * rate + 2)
    assert seconds_before([two]) == SECONDS  # which has no record


def test_a_job_costs_more_with_more_rounds_episodes_and_seeds():
    plain = work_cost(work_for())
    assert (
        work_cost(work_for(rounds=40))
        == work_cost(work_for(episodes_per_round=400))
        == pytest.approx(2 * plain)
    )
    assert plain < work_cost(work_for(replicas=10)) < 2 * plain
    assert work_cost(replace(work_for(), variant=None)) == 0


def test_the_time_left_is_no_less_than_the_longest_job():
    works = [work_for(), work_for(game="machine-of-death")]
    estimate = Estimate(works, 2)
    assert estimate.seconds_left() == pytest.approx(
        SECONDS * work_cost(works[1]) + 2
    )  # nobody can help with it


def test_a_job_whose_worker_was_lost_counts_as_one_to_be_done():
    estimate = Estimate([work := work_for(rounds=4)], 1)
    whole = estimate.seconds_left()
    estimate.hear(Event(work, "round", rounds=2, seconds=1 + SECONDS * work_cost(work) / 2))
    assert estimate.seconds_left() == pytest.approx(SECONDS * work_cost(work) / 2 + 1)
    estimate.hear(Event(work, "lost", seconds=9.0))
    assert estimate.seconds_left() == whole


def test_the_display_tells_the_time_left_before_anything_has_happened(capsys):
    with Processes(2) as crew, jobs_display([work_for()], crew, SECONDS) as show:
        assert (
            capsys.readouterr().out == f"{told(SECONDS * work_cost(work_for()) + 2)}, 2 at a time\n"
        )
        show(Event(work_for(), "failed", seconds=4.0, why="no memory"))
    assert "FAILED: no memory  all done" in capsys.readouterr().out
    assert told(42.4) == "about 42 s left" and told(600) == "about 10 min left"
