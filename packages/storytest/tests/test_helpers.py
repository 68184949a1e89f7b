"""A play-test in several processes: what each observes is merged, and none of them is needed."""

from pathlib import Path

import pytest

import textgames
from storytest.playtest.budget import Budget
from storytest.playtest.evidence import Evidence
from storytest.playtest.helpers import Helper, Helpers
from storytest.playtest.play import Games
from storytest.playtest.playtest import StoryTest
from tests.stories import FORK, open_story

# The walk has no longest game, so its ways cannot all be followed.
WALK = """\
:: Start
<<set $steps = $steps + random(1, 1000)>>You walk. [[On.|Start]] [[Rest.|Inn]] [[Back.|Lost]]

:: Inn
You have walked <<print $steps>> miles.
"""


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.twee"
    path.write_text(WALK, encoding="utf-8")
    return path


def played(path: Path, games: int, first: int = 0, stride: int = 1) -> Evidence:
    evidence = Evidence()
    player = Games(
        open_story(path, shuffle=False, lenient=True), evidence, first=first, stride=stride
    )
    for _ in range(games):
        player.play_random()
    return evidence


def test_merged_games_are_those_of_one_process(walk):
    whole = played(walk, 10)
    parts = [played(walk, 5, first, 2) for first in range(2)]
    parts[0].merge(parts[1])
    assert sorted(parts[0].random.steps) == sorted(whole.random.steps)
    assert parts[0].passages.keys() == whole.passages.keys()
    assert parts[0].links == whole.links
    assert parts[0].taken == whole.taken
    assert parts[0].always_set == whole.always_set
    assert parts[0].variables.keys() == whole.variables.keys()
    assert sorted(parts[0].words) == sorted(whole.words)
    for key, page in whole.pages.items():
        assert parts[0].pages[key].visits == page.visits
        assert parts[0].pages[key].successors == page.successors
    paths = [parts[0].endings[key].path for key in whole.endings]
    assert min(map(len, filter(None, paths))) == 1


@pytest.mark.full
def test_two_processes_find_the_same_problems_as_one(walk):
    reports = []
    for jobs in (1, 2):
        game = open_story(walk, shuffle=False, lenient=True)
        reports.append(StoryTest(game, clicks=2_000, jobs=jobs).run())
    one, two = reports
    assert not one.exact and not two.exact
    assert [(p.kind, p.passage) for p in one.problems] == [
        (p.kind, p.passage) for p in two.problems
    ]
    assert [ending.name for ending in one.endings] == [ending.name for ending in two.endings]


def test_processes_report_games_with_seeds_of_their_own(walk):
    helpers = Helpers(open_story(walk, shuffle=False, lenient=True), 2)
    helpers.start(Budget(clicks=300))
    (evidence,) = helpers.finish(60.0)
    assert evidence.random.games > 10
    seeds = [page.path.seed for page in evidence.pages.values() if page.path.seed is not None]
    assert seeds and all(seed % 2 == 1 for seed in seeds)


def test_a_process_that_fails_does_not_lose_the_report(walk):
    helpers = Helpers(open_story(walk, shuffle=False, lenient=True), 2)
    walk.write_text(FORK, encoding="utf-8")  # the process reads another story, and refuses it
    helpers.start(Budget())
    assert helpers.finish() == []


def test_games_that_no_file_describes_are_played_in_one_process():
    class Coin:
        name = "coin"

    assert Helpers(Coin(), 8).jobs == 1  # type: ignore[arg-type]
    assert Helpers(textgames.make("long-watch"), 8).jobs == 8


def test_a_helper_reports_after_ctrl_c_and_refuses_a_story_that_was_changed(walk, monkeypatch):
    def interrupt(games, last):
        if games.evidence.random.games == 3:
            raise KeyboardInterrupt
        games.play_random(last)

    monkeypatch.setattr(Games, "play_next", interrupt)
    game = open_story(walk, lenient=True)
    spec = textgames.openers.spec_for(walk, lenient=True)
    assert Helper(spec, game.fingerprint, 1, 2).play(Budget(seconds=1e9)).random.games == 3
    with pytest.raises(textgames.InputError, match="changed during the test"):
        Helper(spec, game.fingerprint + "x", 1, 2)
