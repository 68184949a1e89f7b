"""Mutated stories either load or give the one clear error, and what loads can be played."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import drrn
from drrn import InputError
from drrn.games.stories import values as js
from drrn.games.stories.page import Page
from drrn.games.stories.twine1.expressions import ExpressionError, Facts, parse

fuzz = settings(
    derandomize=True,
    deadline=None,
    max_examples=200,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

GOOD_TWEE = """:: StoryTitle
Tale

:: StoryData
{"start": "Start", "format": "Sugarcane"}

:: StoryInit
<<set $gold = 3; $name = prompt('Name?', "Ada"); $bag = ['rope']>>

:: Start [house]
''Hello'', <<$name>>. You have <<print $gold>> coins &amp; <<print $bag.length>> things.
<<if $gold gt 2 and not visited("Cellar")>>The //cellar// is open.<<elseif $gold is 1>>\
Poor!<<else>><<Wall "red">><<endif>>

[[Go down|Cellar][$gold -= 1]]
* [[Stay->Start]]
<<choice [[Leave|End]]>> <<actions Cellar>>

:: Cellar [house dark]
<<silently>><<set $x = either("Start", "End")>><<endsilently>><<nobr>>
It is dark. <<print random(1, 3)>>
<<endnobr>> <<set $bag.push("bone")>><a data-passage="Start">Up</a> or [[somewhere|$x]].

<<back label "Undo">> <<return>>

:: Wall
A <<print parameter(0)>> wall. /% hush %/ @@color:red;red@@ -- {{{as it is}}}

:: End
<<display 'Wall'>> The end. <b>Bye</b>
"""

GOOD_HTML = """<html><head><meta charset="utf-8"></head><body>
<div id="storeArea"><div tiddler="StorySettings" tags="">obfuscate:off\\nobfuscatekey:abcd</div>
<div tiddler="Start" tags="a b">Hello &lt;&lt;set $x = 1&gt;&gt;\\n\\n[[Go|End]]\\n[[Stay|Start]]</div>
<div tiddler="End" tags="">The end&amp;nbsp;\\s/ &lt;&lt;$x&gt;&gt;</div></div></body></html>"""

GOOD_TWINE_2 = """<tw-storydata name="Tale" startnode="1" format="">
<tw-passagedata pid="1" name="Start" tags="a">Hello &lt;&lt;set $x = 1&gt;&gt;

[[Go|End]]</tw-passagedata>
<tw-passagedata pid="2" name="End" tags="">The end &lt;&lt;$x&gt;&gt;</tw-passagedata></tw-storydata>"""

SNIPPETS = [
    "<<", ">>", "[[", "]]", "][", "|", "->", "<-", '"', "'", "\\", "$x", "$gold", "$bag", "/%", "%/", "{{{",
    "}}}", "<!--", "-->",
    "<<if $x>>", "<<else>>", "<<elseif 1>>", "<<else if", "<<endif>>", "<<set $x = ",
    "<<set $x = $x + $x + 'a'>>", "<<set $bag = [$bag, $bag]>>",
    "<<print ", "<<print $x>>", "<<display 'Start'>>", "<<Start>>", "<<Wall $x 1>>", "<<choice ", "<<actions ",
    "<<back 2 steps>>",
    "<<back ", "<<return>>", "<<nobr>>", "<<endnobr>>", "<<silently>>", "<<endsilently>>", "<<remember $x = 2>>",
    "<<forget $x>>",
    "<<textinput $x>>", "<<button ", "<<$x>>", "[[Start]]", "[[Go|End]]", "[[a|$x]]", "[[b|End][$x += 1]]",
    "[img[a][End]]",
    "<set $x = '<<print $x>>'>", "<<set $x = '[[Go|End]]'>>", "<a data-passage='End'>", "</a>", "<br>",
    "<script>", "</script>", "<p", "@@", "@@a:b;",
    "&amp;", "&#", "&#99999999999;", "&#x", "\n", "\n:: ", "\n:: Start\n", "\n:: A [", "\n:: StoryData\n{", "\r",
    "\t", "\u200b", "\ud7ff", "é", "İ", "²", "٣",
    "0", "1e999", "9" * 5000, "(", ")", "[", "]", "{", "}", "random(1,", "either(", "visited(", "parameter(0)",
    "Math.floor(Math.random()*",
    " is not ", " to ", " and ", "++", "--", "? :",
    "-" * 4, "((((" * 50, "<<if 1>>" * 60, "!" * 40, "." * 30, ".length", ".push(", ".join(",
    "<div tiddler='a'>", "</div>", "<div ", "<tw-passagedata pid='1' name='", "</tw-passagedata>", "tags=", "\\n",
    "\\s",
]  # fmt: skip

CUTS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 30), st.lists(st.sampled_from(SNIPPETS), max_size=4).map("".join)),
    min_size=1,
    max_size=5,
)
FLIPS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=5)


def mutated(text, cuts):
    """The text with some of it cut out and snippets put in."""
    for place, length, snippet in cuts:
        at = int(place * len(text))
        text = text[:at] + snippet + text[at + length :]
    return text


def flipped(data, flips):
    data = bytearray(data)
    for place, byte in flips:
        data[int(place * (len(data) - 1))] = byte
    return bytes(data)


def play(path, **options):
    """Fifty random steps, or the one clear error."""
    try:
        game = drrn.make(path, **options)
        choose = random.Random(0)
        observation = game.reset(0)
        for _ in range(50):
            assert isinstance(observation.text, str)
            assert all(action.strip() for action in observation.actions)
            observation = game.reset() if observation.ended else game.step(choose.randrange(len(observation.actions)))
    except InputError as error:
        assert str(error).startswith(str(path))


@pytest.mark.parametrize("lenient", [True, False])
@fuzz
@given(cuts=CUTS)
def test_a_mutated_twee_file_plays_or_says_why_not(tmp_path, lenient, cuts):
    path = tmp_path / "tale.twee"
    path.write_text(mutated(GOOD_TWEE, cuts), encoding="utf-8")
    play(path, lenient=lenient)


@pytest.mark.parametrize("good", [GOOD_HTML, GOOD_TWINE_2])
@fuzz
@given(cuts=CUTS)
def test_a_mutated_twine_page_plays_or_says_why_not(tmp_path, good, cuts):
    path = tmp_path / "tale.html"
    path.write_text(mutated(good, cuts), encoding="utf-8")
    play(path, lenient=True)


@pytest.mark.parametrize(
    ("good", "name"), [(GOOD_TWEE, "tale.twee"), (GOOD_HTML, "tale.html"), (GOOD_TWINE_2, "tale.html")]
)
@fuzz
@given(flips=FLIPS)
def test_a_file_with_flipped_bytes_plays_or_says_why_not(tmp_path, good, name, flips):
    path = tmp_path / name
    path.write_bytes(flipped(good.encode(), flips))
    play(path, lenient=True)


@fuzz
@given(st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join))
def test_a_passage_of_snippets_plays_or_says_why_not(tmp_path, text):
    path = tmp_path / "tale.twee"
    path.write_text(f":: Start\n{text}\n\n:: End\nThe end.\n\n:: Wall\n[[Start]]\n", encoding="utf-8")
    play(path, lenient=True)


@fuzz
@given(st.binary(max_size=300))
def test_bytes_play_or_say_why_not(tmp_path, data):
    for name in ("tale.twee", "tale.html"):
        path = tmp_path / name
        path.write_bytes(data)
        play(path, lenient=True)


TOKENS = (
    "$x $y $list 0 1 2.5 'a' \"b\" true false null + - * / % == != === < > <= >= && || ! is not to and or eq neq "
    "gt ( ) [ ] , ; . ? : = += ++ -- .length .indexOf( .push( .join( .concat( .slice( .substring( .charAt( "
    ".toUpperCase() random( either( visited( visitedTag( turns() previous() passage() parameter( Math.floor( "
    "Math.random()* Math.max( Math.abs( parseInt( Number( String( prompt( foo eval( __import__("
).split()


@settings(fuzz, max_examples=1500)
@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=14).map(" ".join))
def test_any_expression_has_a_value_or_says_why_not(source):
    try:
        expression = parse(source, Facts())
    except ExpressionError as error:
        assert 0 < len(str(error)) < 200
        return
    cells = {"$x": 7, "$y": "text", "$list": (1, "b", (True, None))}
    page = Page("Here", {}, {"Here": ("a",)}, cells, lambda outcomes: outcomes - 1)
    for _ in range(3):
        try:
            value = expression(page)
        except js.GrowthError:
            return
        assert isinstance(js.string(value), str)
        hash(value)
