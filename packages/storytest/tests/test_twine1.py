"""The Twine 1 dialect: text and actions of every macro and every kind of link."""

from __future__ import annotations

import pytest

from textgames import InputError


@pytest.fixture
def play(story):
    """Function that returns the page after these actions in a story that starts with this text."""

    def page_after(text, *actions, rest="", toml=None):
        game = story(f":: Start\n{text}\n\n:: A\nThis is A.\n\n:: B\nThis is B.\n\n{rest}", toml)
        observation = game.reset(0)
        for action in actions:
            observation = game.step(observation.actions.index(action))
        return observation

    return page_after


@pytest.fixture
def render(play):
    """Function that returns the text of the first page of such a story."""
    return lambda text, rest="": play(text, rest=rest).text


# --- values


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("<<set $x = 3>><<print $x + 1>>", "4"),
        ("<<remember $x to 'tea'>><<$x>>", "tea"),
        ("<<print 'a >> b'>>", "a >> b"),
        ("<<print\n3>>", "3"),
        ("<<print 0/0>>none", "none"),
        ("<<print null>>none", "none"),
    ],
)
def test_values_are_set_and_printed(render, text, page):
    assert render(text) == page


def test_a_printed_value_is_rendered_as_markup(play):
    page = play("<<set $way = '[[Go|A]]'>>There is ''a'' way.\n\n<<print $way>>")
    assert (page.text, page.actions) == ("There is a way.", ("Go",))
    assert play("<<print '[[Go|A]]'>>", "Go").text == "This is A."


# --- conditions


@pytest.mark.parametrize(("x", "page"), [(1, "one"), (2, "two"), (3, "three"), (4, "many")])
def test_the_first_branch_whose_condition_is_true_is_rendered(render, x, page):
    branches = "<<if $x is 1>>one<<else if $x is 2>>two<<elseif $x is 3>>three<<else>>many<<endif>>"
    assert render(f"<<set $x = {x}>>{branches}") == page


@pytest.mark.parametrize(
    ("x", "y", "page"), [(0, 0, "neither."), (1, 0, "x only."), (1, 1, "x and y.")]
)
def test_conditions_nest(render, x, y, page):
    text = "<<if $x>>x <<if $y>>and y<<else>>only<<endif>><<else>>neither<<endif>>."
    assert render(f"<<set $x = {x}; $y = {y}>>{text}") == page
    assert render("<<if false>><<set $x = 1>>[[A]]<<endif>><<$x>>") == "0"


# --- display


def test_display_renders_a_passage_inside_another(play):
    rest = ":: Wall\nA wall, <<$colour>>. [[Climb|B]]\n"
    for display in (
        '<<display "Wall">>',
        "<<display 'Wall'>>",
        "<<display Wall>>",
        "<<Wall>>",
        "<<display $w>>",
    ):
        page = play(f"<<set $colour = 'red'; $w = 'Wall'>>{display}", rest=rest)
        assert (page.text, page.actions) == ("A wall, red. Climb", ("Climb",))


def test_display_may_be_recursive(render):
    rest = ":: Count\n<<set $n += 1>><<$n>> <<if $n lt 3>><<Count>><<endif>>\n"
    assert render("<<Count>>", rest) == "1 2 3"


# --- links


@pytest.mark.parametrize(
    ("link", "action"),
    [
        ("[[A]]", "A"),
        ("[[Chapter 1:]]", "Chapter 1:"),
        ("[[Go on|A]]", "Go on"),
        ("[[Go on->A]]", "Go on"),
        ("[[A<-Go on]]", "Go on"),
        ("[[ Go on | A ]]", "Go on"),
        ("[[''Go'' <<print 'on'>>|A]]", "Go on"),
        ("[[Tea &amp; toast|A]]", "Tea & toast"),
        ("[[Go\non|A]]", "Go on"),
        ("[[Go on|$where]]", "Go on"),
        ("[[$where]]", "A"),
        ("[[Go on|either('A', 'A')]]", "Go on"),
        ("[img[door.png][A]]", "A"),
    ],
)
def test_a_link_leads_to_its_passage(play, link, action):
    before = "<<set $where = 'A'>>Here.\n\n"
    rest = ":: Chapter 1:\nThis is A.\n\n:: StoryInit\nNever shown. <<set $where = 'B'>>\n"
    assert play(before + link, rest=rest).actions == (action,)
    assert play(before + link, action, rest=rest).text == "This is A."


@pytest.mark.parametrize("link", ["[[Take it|Look][$x = 3]]", "[[Take it->Look][$y = 1; $x = 3]]"])
def test_a_setter_runs_when_its_link_is_clicked(play, link):
    rest = ":: Look\nYou have <<$x>>.\n"
    text = f"You have <<$x>>.\n\n{link}"
    assert play(text, rest=rest).text == "You have 0."
    assert play(text, "Take it", rest=rest).text == "You have 3."


def test_an_external_link_is_plain_text(play):
    page = play("See [[the site|http://example.org/a_b]] or http://example.org/c__d.\n\n[[A]]")
    assert (page.text, page.actions) == ("See the site or http://example.org/c__d.", ("A",))


def test_a_computed_link_to_a_missing_passage_is_an_error_when_it_is_rendered(play):
    with pytest.raises(
        InputError,
        match=r'tale.twee, line 2 \(line 1 of passage "Start"\): .*"C", which is not a passage',
    ):
        play("<<set $where = 'C'>>[[Go|$where]]")


# --- blocks and marks


def test_silently_renders_nothing(render):
    assert render("a<<silently>>b <<set $x = 1>> [[A]]<<endsilently>>c<<$x>>") == "ac1"


def test_nobr_joins_lines(play):
    assert play("<<nobr>>one\ntwo\n<<if true>>three\n<<endif>><<endnobr>>").text == "onetwothree"
    assert play("<<nobr>>one<br>two<<endnobr>>\nthree").text == "one\ntwo\nthree"
    glued = ":: Glued [nobr]\none\ntwo<br>three\n"
    assert play("<<Glued>>", rest=glued).text == "onetwo\nthree"


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("a/% hidden <<no>> [[nowhere]] %/b", "ab"),
        ("a<!-- hidden -->b", "ab"),
        ("a/* hidden */b", "ab"),
        ("one \\\ntwo", "one two"),
        (
            "''bold'' //slanted// __under__ ==struck== ~~low~~ ^^high^^",
            "bold slanted under struck low high",
        ),
        ("!Heading\n* first\n# second", "Heading\nfirst\nsecond"),
        ("@@color:red;danger@@ @@.cls;x@@ @@plain@@", "danger x plain"),
        ("a -- b", "a — b"),
        ("a\n----\nb", "a\n\nb"),
        ("<b>bold</b> <span class='x'>x</span>", "bold x"),
        ("one<br>two", "one\ntwo"),
        ("<script>alert(1)</script>a<style>b {}</style>", "a"),
        ("&lt;3 &amp; &eacute;&#233;&nbsp;x", "<3 & éé x"),
        ("{{{''as it is'' [[A]]}}}", "''as it is'' [[A]]"),
        ("1 < 2 > 0 [x] $5 a_b", "1 < 2 > 0 [x] $5 a_b"),
        ("|a|b|", "a b"),
        ("[img[face.png]]smile", "smile"),
        ("/% not closed", "/% not closed"),
        ("&#" + "9" * 5000 + ";", "&#" + "9" * 5000 + ";"),
    ],
)
def test_markup_is_not_rendered(render, text, page):
    assert render(text) == page


def test_inputs_answer_prompts(play):
    text = "<<set $name = prompt('Your name?')>>Welcome.\n\n[[Enter|Hall]]"
    rest = ":: Hall\nHello, <<$name>>!\n"
    assert play(text, "Enter", rest=rest).text == "Hello, Alex!"
    assert play(text, "Enter", rest=rest, toml='[inputs]\nname = "Ada"\n').text == "Hello, Ada!"


def test_visits_and_turns_are_counted(play):
    text = "Visit <<print visited()>>, turn <<print turns()>>.\n\n[[Loop]]"
    rest = ":: Loop\nLoop.\n\n[[Start]]\n"
    assert play(text, rest=rest).text == "Visit 1, turn 1."
    assert play(text, "Loop", "Start", rest=rest).text == "Visit 2, turn 3."


def test_macro_names_ignore_case_unless_a_passage_has_the_name(play):
    assert play("<<Set $x = 2>><<IF $x is 2>><<PRINT $x>><<Else>>no<<EndIf>>").text == "2"
    assert play("<<Print>> <<print 1>>", rest=":: Print\nA print.\n").text == "A print. 1"


def test_true_and_one_are_distinct(story):
    twee = """\
:: Start
Go.

[[a|Show][$x = true]]
[[b|Show][$x = 1]]

:: Show
It is <<$x>>.
"""
    game = story(twee)
    for _ in range(2):
        texts = []
        for index in range(2):
            game.reset(0)
            texts.append(game.step(index).text)
        assert texts == ["It is true.", "It is 1."]
