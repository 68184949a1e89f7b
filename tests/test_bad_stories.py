"""Stories that cannot be played say so: one error, with the file, the line and the cure."""

from __future__ import annotations

import random

import pytest

import drrn
from drrn import InputError


@pytest.fixture
def complaint(tmp_path):
    """The error that a file gives, when opened or within ten steps."""

    def said(content, name="tale.twee", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(InputError) as error:
            game = drrn.make(path, shuffle=False, **options)
            game.reset(0)
            for _ in range(40):
                game.step(0)
        message = str(error.value)
        assert message.startswith(str(path))
        return message[len(str(path)) :]

    return said


def chain(link, count):
    """Passages P0, P1, … each of which holds `link` to the next."""
    return (
        "\n".join(f":: P{i}\n{link.format(i + 1)}\n" for i in range(count))
        + f":: P{count}\nThe end.\n"
    )


@pytest.mark.parametrize(
    "twee",
    [
        ":: Start\n<<display 'Start'>>\n",
        ":: Start\n<<Start>>\n",
        ":: Start\n<<display 'A'>>\n\n:: A\n<<display 'Start'>>\n",
        ":: Start\n<<set $p = 'Start'>><<display $p>>\n",
        ":: Start\n<<P0>>\n" + chain("<<P{0}>><<P{0}>>", 40),
        ":: Start\n" + "<<if true>>" * 30 + "<<Start>>" + "<<endif>>" * 30,
    ],
)
def test_displays_without_end_are_stopped(complaint, twee):
    said = complaint(twee)
    assert said.startswith(', passage "Start"')
    assert "<<display>>" in said


@pytest.mark.parametrize(
    "twee",
    [
        ":: Start\n<<set $x = '<<print $x>>'>><<print $x>>\n",
        ":: Start\n<<set $x = '<<$x>><<$x>>'>><<$x>>\n",
        ":: Start\n<<set $x = '[[<<$x>>|Start]]'>><<$x>>\n",
    ],
)
def test_markup_that_prints_itself_is_stopped(complaint, twee):
    assert "markup that prints itself" in complaint(twee)


def test_a_line_of_ten_megabytes_is_refused(complaint):
    line = "word " * 2_000_000
    assert (
        ', line 2: passage "Start" has 9,999,999 characters; the limit is 1,500,000'
        in complaint(f":: Start\n{line}\n")
    )
    assert ", line 1: a passage name has 9,999,999 characters" in complaint(f":: {line}\nText.\n")
    assert "no passages found" in complaint(line)
    assert 'passage "StoryInit" has' in complaint(f":: Start\nx\n\n:: StoryInit\n{line}\n")


def test_a_missing_target_is_named_with_the_nearest_passage(complaint):
    said = complaint(
        ":: Start\nHere.\n\n[[Go|Cellr]]\n<<display 'Atic'>>\n\n:: Cellar\nx\n\n:: Attic\nx\n"
    )
    assert (
        'line 4, line 3 of passage "Start": [[Go|Cellr]] leads to "Cellr", which is not a passage. '
        'Did you mean "Cellar"?' in said
    )
    assert "line 5, line 4 of passage \"Start\": <<display 'Atic'>> shows no passage" in said


def test_conditions_in_ten_thousand_conditions_are_refused(complaint):
    said = complaint(":: Start\n" + "<<if true>>\n" * 10_000 + "x" + "<<endif>>" * 10_000)
    assert said.startswith(', line 42, line 41 of passage "Start": more than 40 nested blocks')


def test_bytes_that_are_no_text_are_refused(complaint):
    assert ", line 2: byte 0xff is not utf-8" in complaint(b":: Start\nab\xff\n")
    assert "NUL characters" in complaint(b":: Start\n\0\n")
    assert "is not utf-8" in complaint(random.Random(0).randbytes(10_000))
    assert "is not utf-16" in complaint(b"\xff\xfe:\0:\0 ")


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("", "tale.twee", "no passages found"),
        ("", "tale.html", "no Twine story in this HTML"),
        ("Just words.\n", "tale.twee", "no passages found"),
        ("<html><p>Hello</p></html>", "tale.html", "no Twine story in this HTML"),
        ("<div id=storeArea></div>", "tale.html", "no passages found"),
        ("<tw-storydata></tw-storydata>", "tale.html", "no passages found"),
        (":: Begin\nHere.\n", "tale.twee", 'no passage named "Start"'),
        (":: StoryTitle\nOnly a title.\n", "tale.twee", "no passages found"),
        (":: Start\nx\n::\ny\n", "tale.twee", ", line 3: a passage has no name"),
        (
            "<div id=storeArea>\n<div tiddler=''>x</div></div>",
            "tale.html",
            ", line 2: a passage has no name",
        ),
        (
            ":: StoryData\n{oops\n\n:: Start\nx\n",
            "tale.twee",
            ", line 2: StoryData is not valid JSON",
        ),
        (
            ":: StoryData\n" + "[" * 100_000 + "\n\n:: Start\nx\n",
            "tale.twee",
            "StoryData is not valid JSON",
        ),
        (
            ":: StoryData\n" + "9" * 10_000 + "\n\n:: Start\nx\n",
            "tale.twee",
            "StoryData is not valid JSON",
        ),
        (":: StoryData\n[]\n\n:: Start\nx\n", "tale.twee", "must be a JSON object"),
    ],
)
def test_a_file_without_a_story_says_what_it_lacks(complaint, content, name, said):
    assert said in complaint(content, name)


UNSUPPORTED = (
    ":: Start\nHi.\n<<replace>>x\n<<print foo()>>\n\n[[On]]\n\n:: On\n<<timedreplace 2s>>\nDone.\n"
)
PROBLEMS = [
    'line 3, line 2 of passage "Start": the macro <<replace>> is not supported',
    'line 4, line 3 of passage "Start": <<print foo()>>: the function foo() is not supported',
    'line 9, line 1 of passage "On": the macro <<timedreplace>> is not supported',
]


def test_everything_unsupported_is_listed_in_one_error(complaint):
    assert complaint(UNSUPPORTED).split("\n  ") == [
        ": 3 things in this story cannot be played (--lenient skips them):",
        *PROBLEMS,
    ]


def test_things_with_one_cause_are_one_line_with_a_count_and_the_first_places(complaint):
    twee = ":: Start\nHi.\n<<setback a.jpg>>\n<<print foo(1)>>\n[[On]]\n\n"
    twee += ":: On\n<<setback>>\n<<setBack>><<if foo(2)>>x<<endif>>\n"
    twee += "\n:: Other\n<<setback b.png>>\n"
    assert complaint(twee).split("\n  ")[1:] == [
        'the macro <<setback>> is not supported: 4 times: line 3, line 2 of passage "Start"; '
        'line 8, line 1 of passage "On"; line 9, line 2 of passage "On"; and 1 more',
        'the function foo() is not supported: 2 times: line 4, line 3 of passage "Start"; '
        'line 9, line 2 of passage "On"',
    ]


def test_the_end_of_an_unknown_block_is_no_thing_of_its_own(complaint):
    said = complaint(
        ":: Start\n<<once>>a<<becomes>>b<<endonce>> <<linkreplace 'x'>>c<</linkreplace>> <<endless>>\n"
    )
    assert said.startswith(": 4 things") and "<<endless>>" in said and "<<endonce>>" not in said


def test_the_line_of_a_published_story_of_twine_1_is_that_of_its_file(complaint):
    page = "<html>\n<div id=storeArea><div tiddler='Start'>One\\nTwo &lt;&lt;wobble&gt;&gt;</div></div>"
    assert 'line 2, line 2 of passage "Start": the macro <<wobble>>' in complaint(page, "tale.html")


@pytest.mark.parametrize(
    "macro", ["link 'On'", "run $x.y()", "= $x", "linkreplace 'x'", "Widget 'x'"]
)
def test_a_story_that_names_no_format_is_called_sugarcube_by_its_macros(complaint, macro):
    assert "in this SugarCube story cannot be played" in complaint(f":: Start\n<<{macro}>>\n")
    assert "SugarCube" not in complaint(":: Start\n<<wobble>>\n")


@pytest.mark.parametrize(
    ("opening", "lacks"),
    [
        (
            "<<wobble [[On]]>>",
            "without text and without any action, so that no other passage can be reached",
        ),
        ("Hi. <<wobble [[On]]>>", "without any action, so that no other passage can be reached"),
        ("<<wobble 'Hi.'>>\n[[On]]", "without text"),
    ],
)
def test_lenient_play_never_gives_an_empty_opening_without_a_word(story, opening, lacks):
    game = story(f":: Start\n{opening}\n\n:: On\nDone.\n", lenient=True)
    assert (
        str(game.problems[-1])
        == f'line 2, passage "Start": skipping unsupported code leaves the first page {lacks}'
    )


def test_an_opening_that_is_empty_by_itself_is_the_authors_own(story):
    assert not story(":: Start\n[[On]]\n\n:: On\nDone.\n", lenient=True).problems
    assert (
        len(story(":: Start\nHi.\n[[On]]\n\n:: On\n<<wobble>>Done.\n", lenient=True).problems) == 1
    )


def test_lenient_play_leaves_out_what_is_unsupported_and_lists_it(story):
    game = story(UNSUPPORTED, lenient=True)
    assert [str(problem) for problem in game.script.problems] == PROBLEMS
    assert (game.reset(0).text, game.step(0).text) == ("Hi.\nx", "Done.")


@pytest.mark.parametrize(
    ("twee", "said"),
    [
        (
            ":: Start\nx\n\n:: StoryIncludes\nother.twee\n",
            'line 5, passage "StoryIncludes": including files',
        ),
        (
            ":: Start\na\n<<if true>>\nb\n",
            'line 3, line 2 of passage "Start": <<if>> has no <<endif>>',
        ),
        (":: Start\n<<nobr>>\n", "<<nobr>> has no <<endnobr>>"),
        (":: Start\n<<silently>>\n", "<<silently>> has no <<endsilently>>"),
        (":: Start\n<<else>>\n", "<<else>> is outside an <<if>>"),
        (
            ':: Start\n<<print "a>>\n',
            'line 2, line 1 of passage "Start": <<print "a>>: cannot parse',
        ),
        (":: Start\n<<set $x = 'it's'>>\n", "cannot parse"),
        (":: Start\n<<print 1\n", "<<print 1 has no closing >>"),
        (":: Start\n[[Start\n", "[[Start has no closing ]]"),
        (":: Start\n[[]]\n", 'leads to "", which'),
        (":: Start\n<<if>>x<<endif>>\n", "nothing to evaluate"),
        (":: Start\n<<back ² steps>>\n", "going back ² steps is not supported"),
        (":: Start\n<<back 'Nowhere'>>\n", 'no passage "Nowhere"'),
        (":: Start\n<<print " + "(" * 9_000 + ">>\n", "more than 25 nested brackets"),
        (":: Start\n<<print " + "1+" * 9_000 + "1>>\n", "the limit is 10,000"),
    ],
)
def test_a_slip_of_the_pen_is_named_where_it_stands(complaint, twee, said):
    assert said in complaint(twee)


@pytest.mark.parametrize("title", ["Harlowe", "Snowman", "Chapbook", "SugarCube"])
def test_a_story_of_twine_2_is_refused_by_our_interpreter(complaint, title):
    passage = '<tw-passagedata pid="1" name="Start">One</tw-passagedata>'
    page = f'<tw-storydata startnode="1" format="{title}">\n{passage}</tw-storydata>'
    assert f"it is a {title} story" in complaint(page, "tale.html", engine="native")


@pytest.mark.parametrize(
    ("growing", "where"),
    [
        ("<<set $x = $x + $x>>", 'passage "Loop" makes a text'),
        ("<<set $x = [$x, $x]>>", "makes"),
        ("<<Two ($x + $x)>>", "makes"),
        ("<<set $x = '<<print $x>>' + $x + $x>>", "makes a text"),
    ],
)
def test_a_value_that_doubles_each_turn_is_stopped(complaint, growing, where):
    twee = f":: Start\n<<set $x = 'ab'>>[[Loop]]\n\n:: Loop\n{growing}[[Loop]]\n\n:: Two\n<<set $x = parameter(0)>>\n"
    assert where in complaint(twee)


def test_a_number_that_squares_each_turn_becomes_infinite(story):
    game = story(
        ":: Start\n<<set $x = 3>>[[Loop]]\n\n:: Loop\n<<set $x = $x * $x>><<$x>>\n\n[[Loop]]\n"
    )
    game.reset(0)
    texts = [game.step(0).text for _ in range(40)]
    assert texts[:3] == ["9", "81", "6561"]
    assert texts[-1] == "Infinity"


def test_a_page_that_grows_without_end_is_stopped(complaint):
    said = complaint(":: Start\n<<set $x = '" + "word " * 1_500 + "'>>" + "<<$x>>" * 220 + "\n")
    assert "makes a page of more than 1,500,000 characters" in said


HOSTILE = '<< >> [[ ]] /% {{{ <!-- <a @@a( " \' <<" <<\\ <script> [[a][ [[a|b] \\ & &# * ! | <p --'.split()


@pytest.mark.parametrize(
    "snippet", [*HOSTILE, '<a data-passage="Start">', "<<print 1>>", "[[$x]]", "[[Start]]", "\n"]
)
def test_a_quarter_of_a_million_characters_of_any_markup_are_read_or_refused(tmp_path, snippet):
    path = tmp_path / "tale.twee"
    path.write_text(":: Start\nx" + snippet * (240_000 // len(snippet)), encoding="utf-8")
    try:
        drrn.make(path, lenient=True).reset(0)
    except InputError as error:
        assert str(error).startswith(str(path))


def test_a_story_of_ten_thousand_passages_loads(tmp_path):
    words = "The lamp burns low and the wind is at the door again tonight. " * 4
    pages = (
        f":: P{i} [night]\n{words}\n<<if $lamp gt {i}>>It is //bright//.<<else>><<set $lamp += 1>>Dark.<<endif>> "
        f"You have <<$lamp>>.\n\n[[Go on|P{(i + 1) % 10_000}]]\n[[Wait|P{i}][$turn = $turn + {i}]]\n"
        for i in range(10_000)
    )
    path = tmp_path / "long.twee"
    path.write_text(":: Start\n[[P0]]\n\n" + "\n".join(pages), encoding="utf-8")
    game = drrn.make(path, shuffle=False)
    game.reset(0)
    assert len(game.script.nodes) == 10_001
    assert game.step(0).actions == ("Go on", "Wait")


def test_many_missing_targets_are_all_listed(tmp_path):
    path = tmp_path / "tale.twee"
    pages = "".join(
        f":: A passage called number {i}\n[[A passage called number {i}x]]\n\n"
        for i in range(3_000)
    )
    path.write_text(":: Start\nx\n\n" + pages, encoding="utf-8")
    with pytest.raises(InputError, match="3000 things"):
        drrn.make(path)


def test_the_deepest_story_that_is_allowed_can_be_played(story):
    deep = "(0 || 0 && 1 == 1 < 1 + 1 * - " * 24 + "1" + ")" * 24
    game = story(
        ":: Start\n" + "<<if true>>" * 35 + "<<Inner>>" + "<<endif>>" * 35 + "\n\n"
        ":: Inner\n" + "<<if true>>" * 20 + f"<<print {deep}>>" + "<<endif>>" * 20 + "\n"
    )
    assert game.reset(0).text == "0"
