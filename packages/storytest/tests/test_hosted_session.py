"""Sessions of hosted stories: open, press, save and restore, with a tiny engine and real formats."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest

from storytest.hosted.session import Session
from tests.story_formats import REAL_FORMATS
from tests.tiny_engine import tiny_story
from textgames.errors import InputError

# The same small story in each format: a lamp that is counted, and an ending.
STORIES = {
    "harlowe": {
        "Start": '(set: $lamps to 0)A hall. [[Take the lamp->Lamp]]\n\n(link: "Look")[You see dust.]',
        "Lamp": "(set: $lamps to it + 1)You have (print: $lamps) lamp.\n\n[[Again->Lamp]]\n\n[[Leave->End]]",
        "End": "The end.",
    },
    "sugarcube": {
        "Start": "<<set $lamps to 0>>A hall. [[Take the lamp->Lamp]]\n\n"
        '<<linkreplace "Look">>You see dust.<</linkreplace>>',
        "Lamp": "<<set $lamps += 1>>You have <<print $lamps>> lamp.\n\n[[Again->Lamp]]\n\n[[Leave->End]]",
        "End": "The end.",
    },
    "chapbook": {
        "Start": "lamps: 0\n--\n\nA hall. [[Take the lamp->Lamp]]",
        "Lamp": "lamps: lamps + 1\n--\n\nYou have {lamps} lamp.\n\n[[Again->Lamp]]\n\n[[Leave->End]]",
        "End": "The end.",
    },
    "snowman": {
        "Start": "<% s.lamps = 0 %>A hall. [[Take the lamp->Lamp]]",
        "Lamp": "<% s.lamps += 1 %>You have <%= s.lamps %> lamp.\n\n[[Again->Lamp]]\n\n[[Leave->End]]",
        "End": "The end.",
    },
}


def name_of(path: Path) -> str:
    """Return FORMAT/VERSION."""
    return "/".join(path.parts[-3:-1])


def session_of(html: str, **settings: Any) -> Session:
    return Session(html, **{"answers": {}, **settings})


def publish(path: Path, story: dict[str, str] | None = None) -> str:
    """Publish the small story, or another one, with a format as Twine does."""
    text = path.read_text(encoding="utf-8")
    match = re.search(r'"source"\s*:\s*("(?:[^"\\]|\\.)*")', text)
    assert match is not None
    kind, version = path.parts[-3:-1]
    passages = "".join(
        f'<tw-passagedata pid="{number}" name="{name}" tags="" position="0,0">{escape(source)}</tw-passagedata>'
        for number, (name, source) in enumerate((story or STORIES[kind]).items(), start=1)
    )
    data = (
        f'<tw-storydata name="Lamps" startnode="1" creator="Twine" ifid="0C31A3C2-BFA7-4333-91F9-C259DAB24B98" '
        f'format="{kind.capitalize()}" format-version="{version}" hidden>'
        '<style role="stylesheet" id="twine-user-stylesheet" type="text/twine-css"></style>'
        f'<script role="script" id="twine-user-script" type="text/twine-javascript"></script>{passages}</tw-storydata>'
    )
    source: str = json.loads(match.group(1))
    return source.replace("{{STORY_NAME}}", "Lamps").replace("{{STORY_DATA}}", data)


# Stories with text boxes, by format and major version; $town has no answer.
FORMS = {
    "harlowe/3": {
        "Start": '(input-box: bind $Name)(display: "More")(input-box: bind $town, "Ys")\n\n[[On->End]]',
        "More": '(input-box: bind $first_pet, "=XX=", "Rex")(if: false)[(input: bind $other)](input: bind $age)',
        "End": "$Name",
    },
    "sugarcube/2": {
        "Start": '<<textbox "$Name" "">><<textarea "$first_pet" "Rex">><<textbox "$age" "3">><<textbox "$town" "Ys">>'
        "\n\n[[On->End]]",
        "End": "$Name",
    },
}
WITH_FORMS = [path for path in REAL_FORMATS if name_of(path).startswith(tuple(FORMS))]
NEWEST = {path.parts[-3]: path for path in REAL_FORMATS}.values()
FORMATS = [
    pytest.param(path, id=name_of(path), marks=() if path in NEWEST else pytest.mark.full)
    for path in REAL_FORMATS
]
ANSWERS = {"name": "Ines", "first_pet": "Mog", "age": "7", "other": "no"}
needs_formats = pytest.mark.skipif(
    not REAL_FORMATS, reason="the story formats are missing (../shared/formats)"
)


def press(session, page, label: str):
    """Press the link with a label; return the next page."""
    return session.press([link.label for link in page.links].index(label))


def look(page):
    return page.content, page.variables, page.passage


@needs_formats
@pytest.mark.parametrize("path", FORMATS)
def test_every_format_plays_saves_changes_and_restarts_the_small_story(path: Path):
    session = session_of(publish(path))
    first = session.open(1)
    assert "A hall." in first.content[0] and "Take the lamp" in first.content[1]
    page = press(session, first, "Take the lamp")
    assert (page.passage, page.variables["lamps"]) == ("Lamp", 1)
    page = press(session, page, "Again")
    saved = session.save()
    last = press(session, page, "Leave")
    assert "The end." in last.content[0] and last.links == ()
    assert (last.passage, last.variables["lamps"], last.errors) == ("End", 2, ())
    assert session.about[0].lower() == path.parts[-3]
    if saved is None:
        assert path.parts[-3] not in ("sugarcube", "harlowe") or path.parts[-2].startswith("1.")
    else:
        back = session.restore(saved)
        assert look(back) == look(page)
        assert press(session, back, "Again").variables["lamps"] == 3
    again = session.open(1)
    assert look(again) == look(first)
    assert press(session, again, "Take the lamp").variables["lamps"] == 1
    page = session.change({"lamps": 4}, 0)
    assert (page.passage, page.variables["lamps"]) == ("Lamp", 5)
    assert "You have 5 lamp." in page.content[0]
    assert press(session, page, "Again").variables["lamps"] == 6
    session.close()


@needs_formats
@pytest.mark.parametrize("path", WITH_FORMS, ids=name_of)
def test_text_boxes_of_a_format_get_the_answers_of_their_variables(path: Path):
    story = next(story for prefix, story in FORMS.items() if name_of(path).startswith(prefix))
    session = session_of(publish(path, story), answers=ANSWERS)
    page = press(session, session.open(1), "On")
    values = {name: str(value) for name, value in page.variables.items()}
    assert values == {"Name": "Ines", "first_pet": "Mog", "age": "7", "town": "Ys"}
    assert page.content[0] == "Ines"
    session.close()


@needs_formats
@pytest.mark.parametrize("kind", ["harlowe", "sugarcube"])
def test_clicks_in_a_passage_are_saved_and_a_story_is_rewound_in_its_isolate(kind: str):
    path = next(path for path in NEWEST if path.parts[-3] == kind)
    session = session_of(publish(path))
    fresh = session.open(3)
    isolate = session.isolate
    page = press(session, session.open(1), "Look")
    assert "You see dust." in page.content[0]
    saved = session.save()
    assert saved is not None
    press(session, page, "Take the lamp")
    assert session.restore(saved).content == page.content
    rewound = session.open(3)
    assert session.isolate is isolate
    assert look(rewound) == look(fresh) and rewound.unlisted_draws == fresh.unlisted_draws
    session.close()


def test_the_tiny_engine_plays_and_restarts():
    session = session_of(
        tiny_story({"Start": "{{s.n = 1}} [[on->Next]]", "Next": "{{s.n += 1}} [[on->Next]]"})
    )
    first = session.open(3)
    assert (first.passage, first.content, first.variables) == ("Start", ("1 on", ("on",)), {"n": 1})
    session.press(0)
    assert session.press(0).variables == {"n": 3}
    assert session.open(3).variables == {"n": 1}
    assert session.save() is None
    session.close()


def test_the_error_for_an_endless_press_names_the_passage():
    session = session_of(
        tiny_story({"Start": '<button onclick="for (;;);">go</button>'}), seconds=0.5
    )
    session.open(1)
    with pytest.raises(InputError, match=r"passage \"Start\""):
        session.press(0)
    assert session.open(1).content[1] == ("go",)  # a new episode is possible
    session.close()
