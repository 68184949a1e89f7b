"""Jobs side by side, whoever does them: one loop, in which no job is lost."""

from dataclasses import replace
from pathlib import Path

import drrn
from drrn.lab.experiments.plan import TABLE, Scale, settings_of
from drrn.lab.experiments.running import Work, hashes_of
from drrn.lab.experiments.workers import Crew, Event, Processes, side_by_side

GAME = drrn.make("long-watch")
SETTINGS = settings_of(
    "long-watch", TABLE, GAME, Scale(seeds=1, given={"rounds": 1, "episodes_per_round": 1})
)
WORK = Work(
    Path("x"),
    "long-watch",
    "long-watch",
    TABLE,
    SETTINGS,
    {"softmax": 1, "greedy": 1},
    hashes_of(GAME),
    "",
)


class Scripted(Crew):
    """Has two places; each job comes to the ends that are written for it, one after another, then it is done."""

    attempts = 3

    def __init__(self, ends):
        self.ends, self.under_way, self.closed, self.most = ends, [], False, 0

    def places(self):
        return 2

    def begin(self, work):
        self.under_way.append(work)
        self.most = max(self.most, len(self.under_way))

    def events(self):
        work = self.under_way.pop(0)
        ends = self.ends.get(work.game, [])
        return [Event(work, "round", 1), Event(work, ends.pop(0) if ends else "done", 1)]

    def close(self):
        self.closed = True


def told(crew, games):
    works = (replace(WORK, game=game) for game in games)
    return [
        (event.work.game, event.kind)
        for event in side_by_side(works, crew)
        if event.kind != "round"
    ]


def test_jobs_are_begun_in_order_and_no_more_than_there_are_places():
    with Scripted({}) as crew:
        events = told(crew, "abcd")
    assert [game for game, kind in events if kind == "started"] == list("abcd")
    assert crew.most == 2 and crew.closed and told(Scripted({}), "") == []


def test_a_lost_job_is_begun_again_before_the_others():
    events = told(Scripted({"a": ["lost"]}), "abcd")
    assert [game for game, kind in events if kind == "started"] == list("abacd")
    assert sorted(game for game, kind in events if kind == "done") == list("abcd")


def test_a_job_that_loses_each_of_its_workers_has_failed_in_the_end():
    events = told(Scripted({"a": ["lost"] * 9}), "ab")
    assert [kind for game, kind in events if game == "a"] == ["started", "lost"] * 2 + [
        "started",
        "failed",
    ]
    assert ("b", "done") in events


def test_a_job_is_asked_for_only_when_there_is_a_place():
    asked = []

    def works():
        for game in "abc":
            asked.append(game)
            yield replace(WORK, game=game)

    for event in side_by_side(works(), Scripted({})):
        if event.kind == "done":
            break
    assert asked == ["a", "b"]


def test_a_job_whose_process_died_has_failed_and_another_process_does_the_rest(
    tmp_path, own_modules
):
    (tmp_path / "mortal.py").write_text(
        "import os, drrn\n"
        "class Game:\n"
        "    name = 'mortal'\n"
        "    def reset(self, seed=None): os._exit(3)\n"
        "    def step(self, index): ...\n"
    )
    hashes = hashes_of(drrn.make("mortal:Game"))
    bad = replace(WORK, root=tmp_path, source="mortal:Game", game="mortal", hashes=hashes)
    with Processes(1) as crew:
        events = list(side_by_side([bad, replace(WORK, root=tmp_path)], crew))
    ends = [event for event in events if event.kind in ("failed", "done", "lost")]
    assert [(event.work.game, event.kind) for event in ends] == [
        ("mortal", "failed"),
        ("long-watch", "done"),
    ]
    assert "its process died (exit code 3)" in ends[0].why
