"""Hosted stories: a page is read as a player sees it, in the isolate, with a tiny engine of our own."""

from __future__ import annotations

import importlib.util

import pytest

from drrn.errors import InputError
from tests.tiny_engine import tiny_story

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("py_mini_racer") is None, reason="needs drrn[twine]"
)


def opened(passage: str, *, answers: dict[str, str] | None = None, seed: int = 1, **page: str):
    """The session and the first page of a story whose first passage is this."""
    from drrn.stories.hosted.session import Session

    session = Session(
        tiny_story({"Start": passage, "Next": "The next page."}, **page), answers=answers or {}
    )
    return session, session.open(seed)


def page_of(passage: str, **settings: str) -> tuple[str, tuple[str, ...]]:
    session, shown = opened(passage, **settings)
    session.close()
    return shown.content


def test_blocks_and_breaks_end_lines_and_white_space_collapses():
    text, _ = page_of(
        "<p>One\n  two.</p><p>Three<br>four <b>five</b>.</p><div>six</div>seven<div></div>"
    )
    assert text == "One two.\n\nThree\nfour five.\n\nsix\nseven"


def test_what_is_hidden_is_not_read():
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


def test_what_a_jquery_of_the_page_listens_for_higher_up_is_an_action():
    events = "{ click: [{ selector: '.door' }] }"
    script = f"window.jQuery = {{ _data: (owner) => (owner === document ? {events} : undefined) }};"
    _, actions = page_of('<p><b class="door">Door</b></p><b class="wall">Wall</b>', script=script)
    assert actions == ("Door",)


def test_a_link_inside_a_sentence_stays_in_the_text_as_hypertext():
    assert page_of("You see [[a door->Next]] here.") == ("You see a door here.", ("a door",))


def test_a_link_that_is_a_picture_shows_its_alternative_text_or_the_name_of_its_file():
    pictures = '<a data-passage="Next"><img src="x.png" alt="A key"></a><br><a data-passage="Next"><img src="old_map.png"></a>'
    assert page_of(pictures)[1] == ("A key", "old map")


def test_the_side_bar_of_a_format_is_not_read():
    body = '<div id="ui-bar">Saves <button>Restart</button></div>'
    assert page_of("Here.", body=body) == ("Here.", ())


def test_the_options_of_a_select_are_actions_except_the_one_that_is_chosen():
    options = "<option>red</option><option selected>green</option><option>blue</option>"
    session, shown = opened(
        f'<select onchange="story.state.colour = this.value">{options}</select> [[on->Next]]'
    )
    assert shown.content[1] == ("red", "blue", "on")
    shown = session.press(1)
    assert shown.content[1] == ("red", "green", "on")
    assert shown.variables == {"colour": "blue"}
    session.close()


def test_a_check_box_is_an_action_that_shows_whether_it_is_ticked():
    session, shown = opened(
        '<label><input type="checkbox" onchange="story.state.lamp = this.checked"> lamp</label>'
    )
    assert shown.content[1] == ("[ ] lamp",)
    shown = session.press(0)
    assert (shown.content[1], shown.variables) == (("[x] lamp",), {"lamp": True})
    session.close()


@pytest.mark.parametrize(
    "boxes",
    [
        '<input type="checkbox"> hat <input type="radio" name="c"> red <input type="radio" name="c" checked> blue',
        '<label><input type="checkbox"> hat</label> <label><input type="radio" name="c"> red</label> '
        '<label><input type="radio" name="c" checked> blue</label>',
        '<input type="checkbox" id="h"><label for="h">hat</label> <label for="r">red</label><input type="radio" id="r">'
        ' <input type="radio" id="b" checked><label for="b">blue</label>',
        '<label for="h"><input type="checkbox" id="h">hat</label> <label for="r"><input type="radio" id="r">red</label>'
        ' <label for="b"><input type="radio" id="b" checked>blue</label>',
    ],
)
def test_the_text_next_to_a_check_box_is_its_action_and_is_read_once(boxes: str):
    assert page_of(f"Wear {boxes} or [[go->Next]].") == (
        "Wear [ ] hat red blue or go.",
        ("[ ] hat", "red", "go"),
    )


def test_the_label_of_a_select_is_read_once():
    options = "<option>red</option><option>blue</option>"
    for passage in (
        f"<label>Hat <select>{options}</select></label>",
        f'<label for="s">Hat</label> <select id="s">{options}',
    ):
        assert page_of(passage) == ("Hat red", ("blue",))


def test_folded_text_is_read_when_it_is_unfolded():
    session, shown = opened("<details><summary>More</summary>It was a cat.</details>")
    assert shown.content == ("", ("More",))
    assert session.press(0).content == ("It was a cat.", ("More",))
    session.close()


def test_a_text_box_takes_the_answer_of_its_name_and_else_a_name():
    box = (
        '<input type="text" name="{name}" onchange="story.state.{name} = this.value"> [[on->Next]]'
    )
    for answers, wanted in (({"hero": "Ada"}, "Ada"), ({}, "Alex")):
        session, shown = opened(box.format(name="hero"), answers=answers)
        assert shown.variables == {"hero": wanted}
        session.close()


@pytest.mark.parametrize(
    "written", ['id="textbox-hero"', 'name="$Hero"', 'data-varname="hero"', 'id="numberbox-HERO"']
)
def test_a_text_box_takes_the_answer_of_its_variable_whatever_its_default_text(written: str):
    box = f'<input {written} value="Bob" onchange="story.state.hero = this.value"> [[on->Next]]'
    for answers, wanted in (
        ({"hero": "Ada"}, {"hero": "Ada"}),
        ({"$Hero": "Eve"}, {"hero": "Eve"}),
        ({"her": "Eve"}, {}),
    ):
        session, shown = opened(box, answers=answers)
        assert shown.variables == wanted
        session.close()


def test_a_nameless_text_box_takes_the_answer_of_the_variable_that_it_sets():
    session, shown = opened(
        '<input oninput="story.state.hero = this.value"> [[on->Next]]', answers={"hero": "Ada"}
    )
    assert shown.variables == {"hero": "Ada"}
    session.close()


def test_a_lone_text_box_is_answered_by_pressing_enter():
    box = "<input onkeydown=\"if (event.key === 'Enter') story.show('Next')\" name=\"hero\">"
    session, shown = opened(box, answers={"hero": "Ada"})
    assert shown.content[1] == ("Ada",)
    assert session.press(0).content == ("The next page.", ())
    session.close()


def test_prompts_are_answered_and_confirmed_and_alerts_dismissed():
    told = (
        "{{confirm('Sure?')}} {{prompt('Your name?')}} {{prompt('Colour?', 'red')}} {{alert('!')}}"
    )
    assert page_of(told, answers={"name": "Ada"})[0] == "true Ada red"


def test_timed_text_and_promises_settle_before_the_page_is_read():
    script = (
        "const page = document.getElementById('passages'); let said = 0, typing;"
        "typing = setInterval(() => { page.append('abc'[said]); said += 1; said < 3 || clearInterval(typing) }, 50);"
        "setTimeout(() => Promise.resolve().then(() => 1).then(() => 2).then(() => page.append(' then')), 900);"
        "setTimeout(async () => { await null; setTimeout(() => page.append(' last'), 20000); }, 5000);"
    )
    session, shown = opened("", script=f"addEventListener('load', () => {{ {script} }});")
    assert (
        shown.content[0] == "abc then last"
    )  # nothing can be pressed, so the last word is waited for
    session.close()


def test_an_endless_timer_does_not_keep_a_page_from_being_read():
    script = "let n = 0; setInterval(() => { story.state.n = ++n; }, 1); (function again() { setTimeout(again, 0); })();"
    session, shown = opened("Here. [[on->Next]]", script=script)
    assert shown.content == ("Here. on", ("on",))
    session.close()


def test_errors_are_recorded_with_their_passage_and_the_story_continues():
    session, shown = opened("<button onclick=\"story.show('Next'); nowhere()\">go</button>")
    assert shown.errors == ()
    shown = session.press(0)
    assert shown.content[0] == "The next page."
    assert shown.errors == ("Next: ReferenceError: nowhere is not defined",)
    session.close()


def test_chance_follows_from_seed_and_step_alone():
    waiting = '<button onclick="for (let i = 0; i < {n}; i += 1) Math.random()">wait</button>'
    passage = "{{Math.random()}}" + waiting + "[[again->Start]]"
    once = passage.replace("{n}", "1")
    twice = passage.replace("{n}", "2")
    pages = []
    for told, seed in ((once, 1), (once, 1), (twice, 1), (once, 2)):
        session, _ = opened(told, seed=seed)
        session.press(0)
        pages.append(session.press(1).content[0])
        session.close()
    assert pages[0] == pages[1] == pages[2] != pages[3]


def test_the_clock_begins_at_the_same_moment_every_time():
    told = "{{new Date().getFullYear()}} {{Date.now() === new Date().getTime()}} {{typeof Date()}}"
    assert page_of(told)[0] == "2020 true string"


def test_a_link_that_reloads_the_page_is_reported():
    session, _ = opened('<button onclick="location.reload()">again</button>')
    assert session.press(0).restarted
    session.close()


def test_a_page_that_reloads_itself_at_once_is_refused():
    with pytest.raises(InputError, match="reloads itself at once"):
        opened("A page.", script="location.reload()")
