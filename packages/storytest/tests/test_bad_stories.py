"""Stories that cannot be played raise one error with the file, the line and the remedy."""

from __future__ import annotations

import pytest

import textgames
from tests.commands import main
from textgames import InputError


@pytest.fixture
def error_of(tmp_path):
    """Function that returns the error of a story, on opening or within 40 steps."""

    def play(content, name="tale.twee", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(InputError) as error:
            game = textgames.make(path, shuffle=False, **options)
            game.reset(0)
            for _ in range(40):
                game.step(0)
        message = str(error.value)
        assert message.startswith(str(path))
        return message[len(str(path)) :]

    return play


def chain(link, count):
    """Return passages P0, P1, … each of which has a `link` to the next."""
    return (
        "\n".join(f":: P{i}\n{link.format(i + 1)}\n" for i in range(count))
        + f":: P{count}\nThe end.\n"
    )


DISPLAYS = "<<display>>"
PRINTS = "markup that prints itself"


@pytest.mark.parametrize(
    ("twee", "cause"),
    [
        ("<<Start>>", DISPLAYS),
        ("<<display 'A'>>\n\n:: A\n<<display 'Start'>>", DISPLAYS),
        ("<<set $p = 'Start'>><<display $p>>", DISPLAYS),
        ("<<P0>>\n" + chain("<<P{0}>><<P{0}>>", 40), DISPLAYS),
        ("<<if true>>" * 30 + "<<Start>>" + "<<endif>>" * 30, DISPLAYS),
        ("<<set $x = '<<print $x>>'>><<print $x>>", PRINTS),
        ("<<set $x = '[[<<$x>>|Start]]'>><<$x>>", PRINTS),
    ],
)
def test_endless_displays_and_markup_that_prints_itself_are_stopped(error_of, twee, cause):
    message = error_of(f":: Start\n{twee}\n")
    assert message.startswith(', passage "Start"') and cause in message


def test_a_line_of_ten_megabytes_is_rejected(error_of):
    line = "word " * 2_000_000
    message = error_of(f":: Start\n{line}\n")
    assert ', line 2: passage "Start" has 9,999,999 characters; the limit is 1,500,000' in message
    assert ", line 1: a passage name has 9,999,999 characters" in error_of(f":: {line}\nText.\n")
    assert "no passages found" in error_of(line)
    assert 'passage "StoryInit" has' in error_of(f":: Start\nx\n\n:: StoryInit\n{line}\n")


def test_the_error_for_a_missing_target_names_the_nearest_passage(error_of):
    message = error_of(
        ":: Start\nHere.\n\n[[Go|Cellr]]\n<<display 'Atic'>>\n\n:: Cellar\nx\n\n:: Attic\nx\n"
    )
    assert 'line 4 (line 3 of passage "Start"): [[Go|Cellr]] leads to "Cellr"' in message
    assert 'Did you mean "Cellar"?' in message
    assert 'line 5 (line 4 of passage "Start"): <<display \'Atic\'>> shows "Atic"' in message


def test_ten_thousand_nested_conditions_are_rejected(error_of):
    message = error_of(":: Start\n" + "<<if true>>\n" * 10_000 + "x" + "<<endif>>" * 10_000)
    assert message.startswith(', line 42 (line 41 of passage "Start"): more than 40 nested blocks')


NOT_JSON = "StoryData is not valid JSON"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no passages found"),
        ("Just words.\n", "no passages found"),
        ("<html><p>Hello</p></html>", "no Twine story in this HTML"),
        ("<div id=storeArea></div>", "no passages found"),
        ("<tw-storydata></tw-storydata>", "no passages found"),
        (":: Begin\nHere.\n", 'no passage named "Start"'),
        (":: StoryTitle\nOnly a title.\n", "no passages found"),
        (":: Start\nx\n::\ny\n", ", line 3: a passage has no name"),
        ("<div id=storeArea>\n<div tiddler=''>x</div></div>", ", line 2: a passage has no name"),
        (":: StoryData\n{oops\n\n:: Start\nx\n", f", line 2: {NOT_JSON}"),
        (":: StoryData\n" + "[" * 100_000 + "\n\n:: Start\nx\n", NOT_JSON),
        (":: StoryData\n" + "9" * 10_000 + "\n\n:: Start\nx\n", NOT_JSON),
        (":: StoryData\n[]\n\n:: Start\nx\n", "must be a JSON object"),
    ],
)
def test_the_error_for_a_file_without_a_story_names_what_is_missing(error_of, content, message):
    assert message in error_of(content, "tale.html" if content[:1] == "<" else "tale.twee")


UNSUPPORTED = (
    ":: Start\nHi.\n<<replace>>x\n<<print foo()>>\n\n[[On]]\n\n:: On\n<<timedreplace 2s>>\nDone.\n"
)
PROBLEMS = [
    'line 3 (line 2 of passage "Start"): the macro <<replace>> is not supported',
    'line 4 (line 3 of passage "Start"): <<print foo()>>: the function foo() is not supported',
    'line 9 (line 1 of passage "On"): the macro <<timedreplace>> is not supported',
]


def test_one_error_lists_everything_unsupported(error_of):
    assert error_of(UNSUPPORTED).split("\n  ") == [
        ": 3 things in this story cannot be played (skip with --lenient):",
        *PROBLEMS,
    ]


@pytest.mark.parametrize("macro", ["= $x", "Widget 'x'"])
def test_sugarcube_is_recognised_by_its_macros(error_of, macro):
    assert "in this SugarCube story cannot be played" in error_of(f":: Start\n<<{macro}>>\n")
    assert "SugarCube" not in error_of(":: Start\n<<wobble>>\n")


def test_lenient_play_skips_unsupported_macros_and_lists_them(story):
    game = story(UNSUPPORTED, lenient=True)
    assert [str(problem) for problem in game.script.problems] == PROBLEMS
    assert (game.reset(0).text, game.step(0).text) == ("Hi.\nx", "Done.")


@pytest.mark.parametrize(
    ("twee", "message"),
    [
        (":: Start\nx\n\n:: StoryIncludes\nother.twee\n", 'line 5 (passage "StoryIncludes")'),
        (":: Start\na\n<<if true>>\nb\n", 'line 3 (line 2 of passage "Start"): <<if>> has no'),
        (":: Start\n<<nobr>>\n", "<<nobr>> has no <<endnobr>>"),
        (":: Start\n<<else>>\n", "<<else>> is outside an <<if>>"),
        (':: Start\n<<print "a>>\n', 'line 2 (line 1 of passage "Start"): <<print "a>>: cannot'),
        (":: Start\n<<set $x = 'it's'>>\n", "cannot parse"),
        (":: Start\n<<print 1\n", "<<print 1 has no closing >>"),
        (":: Start\n[[Start\n", "[[Start has no closing ]]"),
        (":: Start\n[[]]\n", 'leads to "", which'),
        (":: Start\n<<if>>x<<endif>>\n", "nothing to evaluate"),
        (":: Start\n<<print " + "(" * 9_000 + ">>\n", "more than 25 nested brackets"),
        (":: Start\n<<print " + "1+" * 9_000 + "1>>\n", "the limit is 10,000"),
    ],
)
def test_the_error_for_a_mistake_names_its_line(error_of, twee, message):
    assert message in error_of(twee)


@pytest.mark.parametrize("title", ["Harlowe", "Snowman", "Chapbook", "SugarCube"])
def test_the_native_interpreter_rejects_stories_of_twine_2(error_of, title):
    passage = '<tw-passagedata pid="1" name="Start">One</tw-passagedata>'
    page = f'<tw-storydata startnode="1" format="{title}">\n{passage}</tw-storydata>'
    assert f"it is a {title} story" in error_of(page, "tale.html", engine="native")


@pytest.mark.parametrize(
    ("growing", "where"),
    [
        ("<<set $x = $x + $x>>", 'passage "Loop" makes a text'),
        ("<<set $x = '<<print $x>>' + $x + $x>>", "makes a text"),
    ],
)
def test_a_value_that_doubles_each_turn_is_stopped(error_of, growing, where):
    twee = f":: Start\n<<set $x = 'ab'>>[[Loop]]\n\n:: Loop\n{growing}[[Loop]]\n"
    assert where in error_of(twee)


def test_a_page_that_is_too_long_is_stopped(error_of):
    message = error_of(":: Start\n<<set $x = '" + "word " * 1_500 + "'>>" + "<<$x>>" * 220 + "\n")
    assert "makes a page of more than 1,500,000 characters" in message


HOSTILE = '<< >> [[ ]] /% {{{ <!-- <a @@a( " \' <<" <<\\ <script> [[a][ [[a|b] \\ & &# * ! | <p --'.split()


@pytest.mark.parametrize(
    "snippet", [*HOSTILE, '<a data-passage="Start">', "<<print 1>>", "[[$x]]", "[[Start]]", "\n"]
)
def test_a_quarter_of_a_million_characters_of_markup_are_read_or_rejected(tmp_path, snippet):
    path = tmp_path / "tale.twee"
    path.write_text(":: Start\nx" + snippet * (240_000 // len(snippet)), encoding="utf-8")
    try:
        textgames.make(path, lenient=True).reset(0)
    except InputError as error:
        assert str(error).startswith(str(path))


def test_the_deepest_story_that_is_allowed_can_be_played(story):
    deep = "(0 || 0 && 1 == 1 < 1 + 1 * - " * 24 + "1" + ")" * 24
    game = story(
        ":: Start\n" + "<<if true>>" * 35 + "<<Inner>>" + "<<endif>>" * 35 + "\n\n"
        ":: Inner\n" + "<<if true>>" * 20 + f"<<print {deep}>>" + "<<endif>>" * 20 + "\n"
    )
    assert game.reset(0).text == "0"


def test_a_story_with_very_many_links_is_refused_at_once(tmp_path, capsys):
    path = tmp_path / "dense.twee"
    links = " ".join(f"[[P{number}]]" for number in range(400))
    path.write_text("".join(f":: P{number}\n{links}\n\n" for number in range(400)) + ":: Start\nx")
    for command in ("play", "test", "inspect"):
        assert main([command, str(path)]) == 2
        error = capsys.readouterr().err
        assert "over 100,000 links and macros" in error and error.count("\n") == 1
