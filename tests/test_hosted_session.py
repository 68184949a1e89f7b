"""Hosted stories: a session opens, presses, saves and restores, by a tiny engine and by the real formats."""

from __future__ import annotations

import importlib.util
import json
import re
from html import escape
from pathlib import Path

import pytest

from drrn.errors import InputError
from tests.tiny_engine import tiny_story

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("py_mini_racer") is None, reason="needs drrn[twine]"
)

FORMATS = Path(__file__).parents[2] / "shared" / "formats"
STORIES = {  # the same little story in each format: a coin, a lamp that is counted, an ending
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
PUBLISHED = sorted(FORMATS.glob("*/*/format.js"))
NAMES = ["/".join(path.parts[-3:-1]) for path in PUBLISHED]


def session_of(html: str, **settings: dict[str, str]):
    from drrn.stories.hosted.session import Session

    return Session(html, **{"answers": {}, **settings})


def published(path: Path, story: dict[str, str] | None = None) -> str:
    """The little story or another one, published with a format as Twine does it."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'"source"\s*:\s*("(?:[^"\\]|\\.)*")', text)
    assert found is not None
    kind, version = path.parts[-3:-1]
    told = "".join(
        f'<tw-passagedata pid="{number}" name="{name}" tags="" position="0,0">{escape(source)}</tw-passagedata>'
        for number, (name, source) in enumerate((story or STORIES[kind]).items(), start=1)
    )
    data = (
        f'<tw-storydata name="Lamps" startnode="1" creator="Twine" ifid="0C31A3C2-BFA7-4333-91F9-C259DAB24B98" '
        f'format="{kind.capitalize()}" format-version="{version}" hidden>'
        '<style role="stylesheet" id="twine-user-stylesheet" type="text/twine-css"></style>'
        f'<script role="script" id="twine-user-script" type="text/twine-javascript"></script>{told}</tw-storydata>'
    )
    source = json.loads(found.group(1))
    return source.replace("{{STORY_NAME}}", "Lamps").replace("{{STORY_DATA}}", data)


ASKING = {  # a passage that asks for names, some with a default text, one that no answer is for
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
ASKED = [
    path
    for path in PUBLISHED
    for version in ASKING
    if "/".join(path.parts[-3:-1]).startswith(version)
]
PROMPTING = [path for path in PUBLISHED if path.parts[-3] == "harlowe" and path.parts[-2] >= "2"]
ANSWERS = {"name": "Ines", "first_pet": "Mog", "age": "7", "other": "no"}


def pressed(session, shown, label: str):
    return session.press([link.label for link in shown.links].index(label))


@pytest.mark.skipif(not PUBLISHED, reason="the story formats are not there (../shared/formats)")
@pytest.mark.parametrize("path", PUBLISHED, ids=NAMES)
def test_every_format_plays_the_little_story(path: Path):
    session = session_of(published(path))
    shown = session.open(1)
    assert "A hall." in shown.content[0] and "Take the lamp" in shown.content[1]
    shown = pressed(session, shown, "Take the lamp")
    assert (shown.passage, shown.variables["lamps"]) == ("Lamp", 1)
    shown = pressed(session, pressed(session, shown, "Again"), "Leave")
    assert "The end." in shown.content[0] and shown.links == ()
    assert (shown.passage, shown.variables["lamps"], shown.errors) == ("End", 2, ())
    assert session.about[0].lower() == path.parts[-3]
    session.close()


def asked(path: Path) -> dict[str, str]:
    return next(
        story
        for version, story in ASKING.items()
        if "/".join(path.parts[-3:-1]).startswith(version)
    )


@pytest.mark.skipif(not ASKED, reason="the story formats are not there (../shared/formats)")
@pytest.mark.parametrize("path", ASKED, ids=["/".join(path.parts[-3:-1]) for path in ASKED])
def test_boxes_of_a_format_take_the_answers_of_their_variables_and_else_keep_their_text(path: Path):
    session = session_of(published(path, asked(path)), answers=ANSWERS)
    shown = pressed(session, session.open(1), "On")
    told = {name: str(value) for name, value in shown.variables.items()}
    assert told == {"Name": "Ines", "first_pet": "Mog", "age": "7", "town": "Ys"}
    assert shown.content[0] == "Ines"
    session.close()


@pytest.mark.skipif(not PROMPTING, reason="the story formats are not there (../shared/formats)")
@pytest.mark.parametrize("path", PROMPTING, ids=lambda path: path.parts[-2])
def test_a_prompt_of_harlowe_takes_the_answer_of_the_variable_that_it_sets(path: Path):
    story = {"Start": '(set: $hero to (prompt: "Who is it?", "Bob"))Hello $hero.'}
    session = session_of(published(path, story), answers={"hero": "Ines"})
    shown = session.open(1)
    if shown.content[1]:  # from 3.0 on it is a dialog on the page
        shown = pressed(session, shown, "OK")
    assert shown.content[0] == "Hello Ines."
    session.close()


@pytest.mark.skipif(not PUBLISHED, reason="the story formats are not there (../shared/formats)")
@pytest.mark.parametrize("path", PUBLISHED, ids=NAMES)
def test_a_restarted_episode_equals_a_new_one(path: Path):
    session = session_of(published(path))
    first = session.open(1)
    pressed(session, pressed(session, first, "Take the lamp"), "Again")
    again = session.open(1)
    assert (again.content, again.variables, again.passage) == (
        first.content,
        first.variables,
        first.passage,
    )
    assert pressed(session, again, "Take the lamp").variables["lamps"] == 1
    session.close()


@pytest.mark.skipif(not PUBLISHED, reason="the story formats are not there (../shared/formats)")
@pytest.mark.parametrize("path", PUBLISHED, ids=NAMES)
def test_a_state_is_saved_and_restored_by_the_engines_own_means_where_it_has_them(path: Path):
    session = session_of(published(path))
    shown = pressed(session, pressed(session, session.open(1), "Take the lamp"), "Again")
    saved = session.save()
    if saved is None:
        assert path.parts[-3] not in ("sugarcube", "harlowe") or path.parts[-2].startswith("1.")
    else:
        pressed(session, pressed(session, shown, "Again"), "Leave")
        back = session.restore(saved)
        assert (back.content, back.variables, back.passage) == (
            shown.content,
            shown.variables,
            shown.passage,
        )
        assert pressed(session, back, "Again").variables["lamps"] == 3
    session.close()


@pytest.mark.skipif(not PUBLISHED, reason="the story formats are not there (../shared/formats)")
@pytest.mark.parametrize("kind", ["harlowe/3", "sugarcube/2.37"])
def test_clicks_within_a_passage_are_part_of_what_is_saved(kind: str):
    path = next(path for path, name in zip(PUBLISHED, NAMES, strict=True) if name.startswith(kind))
    session = session_of(published(path))
    looked = pressed(session, session.open(1), "Look")
    assert "You see dust." in looked.content[0]
    saved = session.save()
    pressed(session, looked, "Take the lamp")
    assert session.restore(saved).content == looked.content
    session.close()


def test_the_tiny_engine_plays_and_begins_again():
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


@pytest.mark.skipif(not PUBLISHED, reason="the story formats are not there (../shared/formats)")
@pytest.mark.parametrize("kind", ["harlowe/3", "sugarcube/2.37"])
@pytest.mark.slow
def test_a_story_without_code_is_rewound_in_the_same_isolate(kind: str):
    path = next(path for path, name in zip(PUBLISHED, NAMES, strict=True) if name.startswith(kind))
    session, other = session_of(published(path)), session_of(published(path))
    session.open(1)
    isolate = session.isolate
    pressed(session, session.open(2), "Take the lamp")
    rewound, fresh = session.open(3), other.open(3)
    assert session.isolate is isolate
    assert (rewound.content, rewound.variables, rewound.unlisted_draws) == (
        fresh.content,
        fresh.variables,
        fresh.unlisted_draws,
    )
    session.close()
    other.close()


def test_an_action_that_the_page_does_not_have_is_an_index_error():
    session = session_of(tiny_story({"Start": "[[on->Start]]"}))
    session.open(1)
    with pytest.raises(IndexError, match="1 action"):
        session.press(1)
    session.close()


def test_a_press_that_never_ends_is_one_sentence():
    session = session_of(
        tiny_story({"Start": '<button onclick="for (;;);">go</button>'}), seconds=0.5
    )
    session.open(1)
    with pytest.raises(InputError, match=r"passage \"Start\""):
        session.press(0)
    assert session.open(1).content[1] == ("go",)  # and a new episode is possible
    session.close()
