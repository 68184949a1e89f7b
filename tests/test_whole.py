"""Which stories our reading of Twine 1 understands whole, and which are left to their own engine."""

import pytest

import drrn
from drrn.errors import InputError
from drrn.stories.authored import NATIVE
from drrn.stories.hosted.game import HostedGame
from drrn.stories.twine.dialects import engine_difference, read_script
from drrn.stories.twine.story import Passage, Story
from drrn.stories.twine.story_game import StoryGame
from tests.tiny_engine import tiny_story

PLAIN = "You see a door.\n\n[[Open it.|End]]"


def beyond(text, form="", tags=(), **others):
    """What the engine of a one-page story may show otherwise than we do."""
    passages = {"Start": Passage("Start", text, tags), "End": Passage("End", "The end.")}
    passages |= {name: Passage(name, said, marks) for name, (said, marks) in others.items()}
    story = Story("tale.twee", passages, format=form)
    return engine_difference(story, read_script(story, {}, lenient=True))


@pytest.mark.parametrize("form", ["", "sugarcane", "sugarcube", "harlowe"])
def test_words_and_links_are_understood_in_these_formats(form):
    assert beyond(PLAIN, form) == ""


@pytest.mark.parametrize("form", ["snowman", "chapbook"])
def test_a_format_that_reads_markdown_plays_its_own_stories(form):
    assert "reads Markdown" in beyond(PLAIN, form)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("**Bold** words.", "the markup *"),
        ("A dash -- here.", "the markup --"),
        ("<b>Bold</b>", "the markup <"),
        ("[[**Open** it.|End]]", "the markup *"),
        ("- one\n- two", "the markup -"),
    ],
)
def test_markup_is_left_to_harlowe(text, what):
    assert what in beyond(text, "harlowe")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<<set $x to 1>><<if $x is 1>>One.<<endif>>", ""),
        ("<<set $x to random(1, 6)>><<print $x>>", ""),
        ("<<if $x is 1>>One.<<endif>>", "$x may be read before it is set"),
        (
            "<<if visited() is 2>><<set $x to 1>><<endif>><<print $x>>",
            "$x may be read before it is set",
        ),
        ("<<set $x to 1>><<if $x is 1>>One.<<else if $x is 2>>Two.<<endif>>", "the macro else"),
        ('<<display "End">>', "the macro display"),
        ("<<nobr>>One\ntwo<<endnobr>>", "the macro nobr"),
        ("<<print previous()>>", "the function previous"),
        ('[["Open it," she says.|End]]', "words may be code"),
        ("[[name|End]]", "words may be code"),
        ("!A heading", "the markup !"),
        ("A <b>bold</b> word.", "the markup <"),
    ],
)
def test_what_sugarcube_may_tell_otherwise_is_left_to_it(text, what):
    assert what in beyond(text, "sugarcube") if what else not beyond(text, "sugarcube")


@pytest.mark.parametrize("name", ["PassageHeader", "PassageFooter", "PassageDone", "StoryCaption"])
def test_a_passage_that_belongs_to_every_page_is_left_to_sugarcube(name):
    assert f'"{name}" is part of every page' in beyond(PLAIN, "sugarcube", **{name: ("More.", ())})
    assert not beyond(PLAIN, "sugarcube", **{name: (" \n", ())})
    assert not beyond(PLAIN, "", **{name: ("More.", ())})


def test_tags_that_change_pages_are_left_to_the_engine():
    assert "the tag nobr" in beyond(PLAIN, "sugarcube", tags=("nobr",))
    assert "the tag header" in beyond(PLAIN, "harlowe", Top=("More.", ("header",)))
    assert not beyond(PLAIN, "harlowe", tags=("dark",))


@pytest.mark.parametrize(
    ("style", "hides"),
    [
        ("#sidebar, #storyMenu { display: none }", False),
        (".passage { color: red }", False),
        (".passage .secret { display:none; }", True),
        ("#sidebar, a { visibility: hidden }", True),
        ("a::before { content: '> ' }", True),
    ],
)
@pytest.mark.parametrize("form", ["", "sugarcube", "harlowe"])
def test_a_style_sheet_that_may_hide_parts_of_pages_is_left_to_the_engine(style, hides, form):
    assert bool(beyond(PLAIN, form, Looks=(style, ("stylesheet",)))) is hides


def test_a_part_with_a_style_of_its_own_is_left_to_the_engine():
    assert "its own style" in beyond('A <span style="display:none">hidden</span> word.')
    assert "its own style" in beyond("A @@display:none;hidden@@ word.")
    assert not beyond("A <b>bold</b> and a @@bright@@ word.")


@pytest.mark.parametrize(
    "text",
    [
        "A <p>paragraph</p>.",
        "[img[cat.png][End]]",
        "> A quotation.",
        "[[Onward->End]]",
        "[[End<-Onward]]",
    ],
)
def test_what_the_engines_of_twine_1_lay_out_in_their_own_way_is_left_to_them(text):
    assert "has the markup" in beyond(text)
    assert not beyond("<<if 2 > 1 and 1 < 2>>A <b>bold</b><br>word.<<endif>> [[Onward|End]]")


def test_only_a_story_that_has_an_engine_is_left_to_it(tmp_path):
    path = tmp_path / "tale.twee"
    path.write_text(':: StoryData\n{"format": "Chapbook"}\n\n:: Start\nOne line\nand another.\n')
    assert isinstance(drrn.make(path), StoryGame)


def test_a_story_that_starts_in_a_passage_that_is_no_page_is_left_to_its_engine(tmp_path):
    page = tmp_path / "tale.html"
    page.write_text(
        tiny_story({"StoryInit": "Press [[here->Start]].", "Start": "Here."}), encoding="utf-8"
    )
    game = drrn.make(page)
    assert isinstance(game, HostedGame)
    game.close()
    with pytest.raises(InputError, match='the start "StoryInit" is not a page'):
        drrn.make(page, engine=NATIVE)
