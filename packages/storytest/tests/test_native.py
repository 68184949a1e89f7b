"""Which stories our interpreter plays, and which their engine plays."""

import re

import pytest

import textgames
from storytest.authored import NATIVE
from storytest.hosted.game import HostedGame
from storytest.twine.native import engines_differ, twine_2_format
from storytest.twine.story import Passage, Story
from storytest.twine.twine1.expressions import FUNCTIONS
from tests.source_code import ROOT
from tests.tiny_engine import tiny_story
from textgames.errors import InputError

PLAIN = "You see a door.\n\n[[Open it.|End]]"


def story_of(text, form="", **others):
    passages = {"Start": Passage("Start", text), "End": Passage("End", "The end.")}
    passages |= {name: Passage(name, content, tags) for name, (content, tags) in others.items()}
    return Story("tale.twee", passages, format=form)


@pytest.mark.parametrize(
    ("form", "title"),
    [
        ("sugarcane", ""),
        ("my sugarcube", ""),
        ("sugarcube-2.36", "SugarCube"),
        ("harlowe 3.3.5", "Harlowe"),
    ],
)
def test_formats_of_twine_2_are_recognised_by_name(form, title):
    assert twine_2_format(story_of(PLAIN, form)) == title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("(set: $x to 1)", "Harlowe"),
        ("(if: visits > 1)[Again.]", "Harlowe"),
        ('(link: "Go")[Gone.]', "Harlowe"),
        ("<%= s.name %>", "Snowman"),
        ("Tea (black: no milk) or (if: you must) milk? [[Yes|Start]]", ""),
        ("<<if $x>>(set: the table)<<endif>>", ""),
    ],
)
def test_a_story_that_names_no_format_is_recognised_by_unmistakable_code(text, title):
    assert twine_2_format(story_of(text)) == title


def test_a_twine_2_story_without_its_engine_is_rejected(tmp_path, home):
    path = tmp_path / "tale.twee"
    path.write_text(':: StoryData\n{"format": "SugarCube"}\n\n:: Start\nHere.\n')
    with pytest.raises(InputError, match="SugarCube, is not installed"):
        textgames.make(path, lenient=True)


def test_a_story_that_starts_in_a_passage_that_is_not_a_page_is_played_by_its_engine(tmp_path):
    page = tmp_path / "tale.html"
    page.write_text(
        tiny_story({"StoryInit": "Press [[here->Start]].", "Start": "Here."}), encoding="utf-8"
    )
    game = textgames.make(page)
    assert isinstance(game, HostedGame)
    game.close()
    with pytest.raises(InputError, match='the start "StoryInit" is not a page'):
        textgames.make(page, engine=NATIVE)


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
def test_a_style_sheet_that_may_hide_parts_of_pages_is_a_difference(style, hides):
    assert engines_differ(Passage("Looks", style, ("stylesheet",))) is hides


@pytest.mark.parametrize(
    ("texts", "differ"),
    [
        (
            [
                PLAIN,
                "A <b>bold</b> and a @@bright@@ word.",
                "<<if 2 > 1 and 1 < 2>>A <b>bold</b><br>word.<<endif>> [[Onward|End]]",
            ],
            False,
        ),
        (
            [
                'A <span style="display:none">hidden</span> word.',
                "A @@display:none;hidden@@ word.",
                "A <p>paragraph</p>.",
                "[img[cat.png][End]]",
                "> A quotation.",
                "[[Onward->End]]",
                "[[End<-Onward]]",
            ],
            True,
        ),
    ],
)
def test_markup_that_engines_display_differently_is_a_difference(texts, differ):
    for text in texts:
        assert engines_differ(Passage("Start", text)) is differ, text


def test_the_documentation_names_every_function():
    text = (ROOT / "docs/storytest/stories.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`(\w+)`", text))
    assert {name for name in FUNCTIONS if "." not in name} <= names
