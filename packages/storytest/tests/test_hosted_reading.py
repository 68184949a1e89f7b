"""Pages of hosted stories: what is read, what is an action, and how forms are answered."""

from __future__ import annotations

from typing import Any

import pytest

from storytest.hosted.session import Session
from tests.tiny_engine import tiny_story


def open_session(
    passage: str, *, answers: dict[str, str] | None = None, seed: int = 1, **page: str
):
    """Return the session and the first page of a story with this first passage."""
    story = tiny_story({"Start": passage, "Next": "The next page."}, **page)
    session = Session(story, answers=answers or {})
    return session, session.open(seed)


def page_of(passage: str, **options: Any) -> tuple[str, tuple[str, ...]]:
    """Return the text and the actions of the first page."""
    session, page = open_session(passage, **options)
    session.close()
    text, actions = page.content
    return text, actions


def test_blocks_and_breaks_end_lines_and_white_space_collapses():
    text, _ = page_of(
        "<p>One\n  two.</p><p>Three<br>four <b>five</b>.</p><div>six</div>seven<div></div>"
    )
    assert text == "One two.\n\nThree\nfour five.\n\nsix\nseven"


def test_hidden_elements_are_not_read():
    style = ".gone { display: none } #veiled { visibility: hidden } @media (max-width: 500px) { .wide { display: none } }"
    text, actions = page_of(
        '<i class="gone">a</i><i id="veiled">b <a data-passage="Next">no</a><u style="visibility: visible">c</u></i>'
        '<i style="display: none">d</i><i hidden>e</i><i class="wide">f</i><script>g</script><style>h</style>',
        style=style,
    )
    assert (text, actions) == ("cf", ())


def test_links_buttons_and_listening_elements_are_actions_and_other_sites_are_text():
    passage = (
        '<a data-passage="Next">one</a><br><button>two</button><br><span onclick="1">three</span><br>'
        '<span id="four">four</span><br><a href="https://example.org">five</a><br><a>six</a>'
        "<br><button disabled>seven</button>"
        "{{setTimeout(() => document.getElementById('four').addEventListener('click', () => 1)) && ''}}"
    )
    text, actions = page_of(passage)
    assert actions == ("one", "two", "three", "four")
    assert text == "five\nsix\nseven"


def test_an_element_with_a_delegated_jquery_listener_is_an_action():
    events = "{ click: [{ selector: '.door' }] }"
    script = f"window.jQuery = {{ _data: (owner) => (owner === document ? {events} : undefined) }};"
    _, actions = page_of('<p><b class="door">Door</b></p><b class="wall">Wall</b>', script=script)
    assert actions == ("Door",)


def test_a_link_that_is_a_picture_shows_its_alternative_text_or_the_name_of_its_file():
    pictures = '<a data-passage="Next"><img src="x.png" alt="A key"></a><br><a data-passage="Next"><img src="old_map.png"></a>'
    assert page_of(pictures)[1] == ("A key", "old map")


def test_the_options_of_a_select_are_actions_except_the_selected_one():
    options = "<option>red</option><option selected>green</option><option>blue</option>"
    session, page = open_session(
        f'<select onchange="story.state.colour = this.value">{options}</select> [[on->Next]]'
    )
    assert page.content[1] == ("red", "blue", "on")
    page = session.press(1)
    assert page.content[1] == ("red", "green", "on")
    assert page.variables == {"colour": "blue"}
    session.close()


@pytest.mark.parametrize(
    "boxes",
    [
        '<input type="checkbox"> hat <input type="radio" name="c"> red <input type="radio" name="c" checked> blue',
        '<label><input type="checkbox"> hat</label> <label><input type="radio" name="c"> red</label> '
        '<label><input type="radio" name="c" checked> blue</label>',
        '<label for="h"><input type="checkbox" id="h">hat</label> <label for="r"><input type="radio" id="r">red</label>'
        ' <label for="b"><input type="radio" id="b" checked>blue</label>',
    ],
)
def test_the_text_next_to_a_check_box_is_its_action_and_is_read_once(boxes: str):
    assert page_of(f"Wear {boxes} or [[go->Next]].") == (
        "Wear [ ] hat red blue or go.",
        ("[ ] hat", "red", "go"),
    )


@pytest.mark.parametrize(
    ("attribute", "answers", "variables"),
    [
        ('id="textbox-hero"', {"hero": "Ada"}, {"hero": "Ada"}),
        ('name="$Hero"', {"$Hero": "Eve"}, {"hero": "Eve"}),
        ('data-varname="hero"', {"$Hero": "Eve"}, {"hero": "Eve"}),
        ('name="$Hero"', {"her": "Eve"}, {}),
    ],
)
def test_the_answer_of_its_variable_replaces_the_default_of_a_text_box(
    attribute, answers, variables
):
    box = f'<input {attribute} value="Bob" onchange="story.state.hero = this.value"> [[on->Next]]'
    session, page = open_session(box, answers=answers)
    assert page.variables == variables
    session.close()


def test_the_action_of_a_lone_text_box_presses_enter():
    box = "<input onkeydown=\"if (event.key === 'Enter') story.show('Next')\" name=\"hero\">"
    session, page = open_session(box, answers={"hero": "Ada"})
    assert page.content[1] == ("Ada",)
    assert session.press(0).content == ("The next page.", ())
    session.close()


def test_prompts_are_answered_and_confirmed_and_alerts_dismissed():
    passage = (
        "{{confirm('Sure?')}} {{prompt('Your name?')}} {{prompt('Colour?', 'red')}} {{alert('!')}}"
    )
    assert page_of(passage, answers={"name": "Ada"})[0] == "true Ada red"


def test_timed_text_and_promises_settle_before_the_page_is_read():
    script = (
        "const page = document.getElementById('passages'); let n = 0, typing;"
        "typing = setInterval(() => { page.append('abc'[n]); n += 1; n < 3 || clearInterval(typing) }, 50);"
        "setTimeout(() => Promise.resolve().then(() => 1).then(() => 2).then(() => page.append(' then')), 900);"
        "setTimeout(async () => { await null; setTimeout(() => page.append(' last'), 20000); }, 5000);"
    )
    session, page = open_session("", script=f"addEventListener('load', () => {{ {script} }});")
    # The page has no actions, so the session waits for the last word.
    assert page.content[0] == "abc then last"
    session.close()


def test_a_page_with_an_endless_timer_is_read():
    script = "let n = 0; setInterval(() => { story.state.n = ++n; }, 1); (function again() { setTimeout(again, 0); })();"
    session, page = open_session("Here. [[on->Next]]", script=script)
    assert page.content == ("Here. on", ("on",))
    session.close()


def test_errors_are_recorded_with_their_passage_and_the_story_continues():
    session, page = open_session("<button onclick=\"story.show('Next'); nowhere()\">go</button>")
    assert page.errors == ()
    page = session.press(0)
    assert page.content[0] == "The next page."
    assert page.errors == ("Next: ReferenceError: nowhere is not defined",)
    session.close()


def test_random_numbers_depend_only_on_the_seed_and_the_step():
    waiting = '<button onclick="for (let i = 0; i < {n}; i += 1) Math.random()">wait</button>'
    passage = "{{Math.random()}}" + waiting + "[[again->Start]]"
    once = passage.replace("{n}", "1")
    twice = passage.replace("{n}", "2")
    pages = []
    for source, seed in ((once, 1), (once, 1), (twice, 1), (once, 2)):
        session, _ = open_session(source, seed=seed)
        session.press(0)
        pages.append(session.press(1).content[0])
        session.close()
    assert pages[0] == pages[1] == pages[2] != pages[3]
