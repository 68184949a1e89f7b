"""Twine 1 stories have the same pages and odds in our interpreter and in SugarCube."""

from pathlib import Path

import pytest

import textgames
from benchmarks.twins import compare
from storytest import twine as stories
from storytest.formats import add_formats
from tests.story_formats import SHARED_FORMATS
from tests.twins import compare_twins

BUILT_IN = Path(stories.__file__).parent / "built_in"
SUGARCUBE = sorted(SHARED_FORMATS.glob("*ugar*ube*/2*/format.js"))
REAL = pytest.mark.skipif(not SUGARCUBE, reason=f"{SHARED_FORMATS} has no SugarCube 2")


@pytest.fixture
def sugarcube(home):
    """Install SugarCube 2."""
    add_formats(SUGARCUBE[-1])


@REAL
@pytest.mark.usefixtures("sugarcube")
@pytest.mark.parametrize("name", ["long-watch", "night-market"])
def test_built_in_stories_are_equal_in_both(name, tmp_path):
    source = (BUILT_IN / f"{name}.twee").read_text(encoding="utf-8")
    comparison = compare_twins(source, tmp_path, walks=8, clicks=30)
    assert not comparison.difference and not comparison.unlisted
    assert comparison.pages > 80 and len(comparison.distinct) > 40


SNIPPETS = {
    "set and print": "<<set $x = 2>><<set $y = $x * 3 + 1>>You have <<print $x>> of <<print $y>>.\n[[On we go.|B]]\n"
    ":: B\n<<set $x += 5>>Now <<print $x>>, and <<print $x % 4>>, <<print 'a' + $y>>.\n",
    "if": "<<set $x = 1>>Start.\n[[On and on.|B]]\n:: B\n<<set $x++>><<if $x gt 3>>Many.<<elseif $x is 3>>Three."
    "<<else>>Few.<<endif>>\n\n[[Once more.|B]]\n[[To the end.|C]]\n"
    ":: C\n<<if not ($x lt 3 or $x eq 4)>>Odd<<endif>>.\n",
    "random": "<<set $x = random(1, 3)>><<set $y = random(2)>>You throw <<print $x>>.\n[[Look again.|B]]\n"
    ":: B\nAnd <<print $y>>, <<print random(0, 1)>>.\n[[Look again.|B]]\n",
    "either": "<<set $who = either('Ann', 'Bob', 'Bob')>>Someone comes.\n[[Who is it?|B]]\n"
    ":: B\nIt is <<print $who>>, <<print either('glad', 'sad')>>.\n[[Go back now.|Start]]\n",
    "visited": "Times: <<print visited()>>.\n[[Go on then.|B]]\n"
    ":: B\n<<if visited('Start') gt 1>>Twice.<<else>>Once.<<endif>>\n[[Go back now.|Start]]\n",
    "links": "A [[label and target|B]] and [[Target]].\n\n[[An arrow ->B]]\n[[B<-Turned round]]\n"
    "* [[In a list|B]]\n* [[Also there|Target]]\n:: B\nB it is.\n:: Target\nT.\n",
    "setters": "<<set $x = 0>>Take.\n[[One of them|B][$x = 1]]\n[[Two of them|B][$x = 2; $x += 3]]\n"
    ":: B\nYou took <<print $x>>.\n",
    "the same link twice": "A [[red door|B]], and again the [[red door|B]].\n\n"
    "[[Open the door.|B]]\n[[Open the door.|B]]\n"
    ":: B\nThe end.\n",
    "alike but for their setters": "<<set $x = 0>>Doors.\n[[Open the door.|B][$x = 1]]\n[[Open the door.|B][$x = 2]]\n"
    ":: B\nIt was <<print $x>>.\n",
    "turns": "Start.\n[[Go on then.|B]]\n:: B\n<<print turns()>> turns.\n[[Go back now.|B]]\n[[Once again.|Start]]\n",
    "two links in a line": "[[First of all|B]] [[Second of all|C]]\n:: B\nB, <<print passage()>>.\n:: C\nC.\n",
}


def test_a_difference_is_reported_with_its_path(tmp_path):
    games = []
    for number, end in enumerate("ab"):
        path = tmp_path / f"{number}.twee"
        path.write_text(
            f":: Start\n<<set $x = random(1, 2)>>Here.\n[[On|B]]\n:: B\n<<print $x>> and {end}.\n"
        )
        games.append(textgames.make(path, shuffle=False))
    assert compare(games[0], games[0]).difference == ""
    assert compare(*games).difference == "after On: text '1 and a.' natively, '1 and b.' hosted"


@REAL
@pytest.mark.usefixtures("sugarcube")
@pytest.mark.parametrize("name", SNIPPETS)
def test_code_that_twine_1_and_sugarcube_share_is_equal_in_both(name, tmp_path):
    comparison = compare_twins(f":: Start\n{SNIPPETS[name]}", tmp_path, walks=4, clicks=6)
    assert not comparison.difference and not comparison.unlisted
