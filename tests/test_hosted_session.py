"""Sessions of hosted stories: open, press, save and restore, with a tiny engine and real formats."""

from __future__ import annotations

import importlib.util
import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest

from drrn.errors import InputError
from drrn.stories.hosted.session import Session
from tests.story_formats import REAL_FORMATS
from tests.tiny_engine import tiny_story

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("py_mini_racer") is None, reason="needs drrn[twine]"
)

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
WITH_PROMPTS = [
    path for path in REAL_FORMATS if path.parts[-3] == "harlowe" and path.parts[-2] >= "2"
]
ANSWERS = {"name": "Ines", "first_pet": "Mog", "age": "7", "other": "no"}
needs_formats = pytest.mark.skipif(
    not REAL_FORMATS, reason="the story formats are missing (../shared/formats)"
)


def press(session, page, label: str):
    """Press the link with a label; return the next page."""
    return session.press([link.label for link in page.links].index(label))


@pytest.mark.slow
@needs_formats
@pytest.mark.parametrize("path", REAL_FORMATS, ids=name_of)
def test_every_format_plays_the_small_story(path: Path):
    session = session_of(publish(path))
    page = session.open(1)
    assert "A hall." in page.content[0] and "Take the lamp" in page.content[1]
    page = press(session, page, "Take the lamp")
    assert (page.passage, page.variables["lamps"]) == ("Lamp", 1)
    page = press(session, press(session, page, "Again"), "Leave")
    assert "The end." in page.content[0] and page.links == ()
    assert (page.passage, page.variables["lamps"], page.errors) == ("End", 2, ())
    assert session.about[0].lower() == path.parts[-3]
    session.close()


@pytest.mark.slow
@needs_formats
@pytest.mark.parametrize("path", REAL_FORMATS, ids=name_of)
def test_a_passage_is_entered_again_with_other_values(path: Path):
    session = session_of(publish(path))
    page = press(session, session.open(1), "Take the lamp")
    page = session.change({"lamps": 4}, 0)
    assert (page.passage, page.variables["lamps"]) == ("Lamp", 5)
    assert "You have 5 lamp." in page.content[0]
    assert press(session, page, "Again").variables["lamps"] == 6
    session.close()


@pytest.mark.slow
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
@pytest.mark.parametrize("path", WITH_PROMPTS, ids=name_of)
def test_a_prompt_of_harlowe_gets_the_answer_of_the_variable_that_it_sets(path: Path):
    story = {"Start": '(set: $hero to (prompt: "Who is it?", "Bob"))Hello $hero.'}
    session = session_of(publish(path, story), answers={"hero": "Ines"})
    page = session.open(1)
    if page.content[1]:  # since 3.0 it is a dialog on the page
        page = press(session, page, "OK")
    assert page.content[0] == "Hello Ines."
    session.close()


@pytest.mark.slow
@needs_formats
@pytest.mark.parametrize("path", REAL_FORMATS, ids=name_of)
def test_a_restarted_episode_equals_a_new_one(path: Path):
    session = session_of(publish(path))
    first = session.open(1)
    press(session, press(session, first, "Take the lamp"), "Again")
    again = session.open(1)
    assert (again.content, again.variables, again.passage) == (
        first.content,
        first.variables,
        first.passage,
    )
    assert press(session, again, "Take the lamp").variables["lamps"] == 1
    session.close()


@pytest.mark.slow
@needs_formats
@pytest.mark.parametrize("path", REAL_FORMATS, ids=name_of)
def test_a_state_is_saved_and_restored_if_the_engine_has_saves(path: Path):
    session = session_of(publish(path))
    page = press(session, press(session, session.open(1), "Take the lamp"), "Again")
    saved = session.save()
    if saved is None:
        assert path.parts[-3] not in ("sugarcube", "harlowe") or path.parts[-2].startswith("1.")
    else:
        press(session, press(session, page, "Again"), "Leave")
        back = session.restore(saved)
        assert (back.content, back.variables, back.passage) == (
            page.content,
            page.variables,
            page.passage,
        )
        assert press(session, back, "Again").variables["lamps"] == 3
    session.close()


@pytest.mark.slow
@needs_formats
@pytest.mark.parametrize("kind", ["harlowe/3", "sugarcube/2.37"])
def test_clicks_within_a_passage_are_saved(kind: str):
    path = next(path for path in REAL_FORMATS if name_of(path).startswith(kind))
    session = session_of(publish(path))
    page = press(session, session.open(1), "Look")
    assert "You see dust." in page.content[0]
    saved = session.save()
    assert saved is not None
    press(session, page, "Take the lamp")
    assert session.restore(saved).content == page.content
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


@needs_formats
@pytest.mark.parametrize("kind", ["harlowe/3", "sugarcube/2.37"])
@pytest.mark.slow
def test_a_story_without_code_is_rewound_in_the_same_isolate(kind: str):
    path = next(path for path in REAL_FORMATS if name_of(path).startswith(kind))
    session = session_of(publish(path))
    session.open(1)
    isolate = session.isolate
    press(session, session.open(2), "Take the lamp")
    rewound = session.open(3)
    assert session.isolate is isolate
    other = session_of(publish(path))
    fresh = other.open(3)
    assert (rewound.content, rewound.variables, rewound.unlisted_draws) == (
        fresh.content,
        fresh.variables,
        fresh.unlisted_draws,
    )
    session.close()
    other.close()


def test_an_unknown_action_is_an_index_error():
    session = session_of(tiny_story({"Start": "[[on->Start]]"}))
    session.open(1)
    with pytest.raises(IndexError, match="1 action"):
        session.press(1)
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
