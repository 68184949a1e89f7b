"""The classic Twine 1 dialect: every macro and every link, seen as a player sees them."""

from __future__ import annotations

import pytest

from drrn import InputError


@pytest.fixture
def tell(story):
    """What a player reads where the start is this text; passages A and B are there to go to."""

    def told(text, rest="", **options):
        game = story(
            f":: Start\n{text}\n\n:: A\nThis is A.\n\n:: B\nThis is B.\n\n{rest}", **options
        )
        return game.reset(0).text

    return told


@pytest.fixture
def play(story):
    """The game of a story whose start is this text, after taking these actions in turn."""

    def played(text, *actions, rest="", toml=None):
        game = story(f":: Start\n{text}\n\n:: A\nThis is A.\n\n:: B\nThis is B.\n\n{rest}", toml)
        observation = game.reset(0)
        for action in actions:
            observation = game.step(observation.actions.index(action))
        return observation

    return played


# --- values


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("<<set $x = 3>><<print $x + 1>>", "4"),
        ("<<set $x to 'tea'>><<$x>>", "tea"),
        ("<<set $x = 1; $y = 2>><<print $x + $y>>", "3"),
        ("<<remember $x = 5>><<$x>>", "5"),
        ("<<set $x = 5>><<forget $x>><<$x>>", "0"),
        ("<<print 'a' + \"b\">>", "ab"),
        ("<<print 1 > 2>>", "false"),
        ("<<print 'a >> b'>>", "a >> b"),
        ("<<print\n3>>", "3"),
        ("<<set $list = ['a', 'b']>><<print $list.length>>", "2"),
        ("<<print 0/0>>none", "none"),
        ("<<print null>>none", "none"),
    ],
)
def test_values_are_set_and_printed(tell, text, read):
    assert tell(text) == read


def test_a_printed_value_is_read_as_markup(play):
    seen = play("<<set $way = '[[Go|A]]'>>There is ''a'' way.\n\n<<print $way>>")
    assert (seen.text, seen.actions) == ("There is a way.", ("Go",))
    assert play("<<print '[[Go|A]]'>>", "Go").text == "This is A."


def test_what_is_remembered_is_forgotten_when_the_story_begins_anew(story):
    game = story(":: Start\n<<$x>>\n\n[[On]]\n\n:: On\n<<remember $x = 1>><<$x>>\n\n[[Start]]\n")
    assert game.reset(0).text == "0"
    assert [game.step(0).text, game.step(0).text] == ["1", "1"]
    assert game.reset(0).text == "0"


# --- conditions


@pytest.mark.parametrize(("x", "read"), [(1, "one"), (2, "two"), (3, "three"), (4, "many")])
def test_the_first_branch_that_holds_is_told(tell, x, read):
    branches = "<<if $x is 1>>one<<else if $x is 2>>two<<elseif $x is 3>>three<<else>>many<<endif>>"
    assert tell(f"<<set $x = {x}>>{branches}") == read


@pytest.mark.parametrize(
    ("x", "y", "read"), [(0, 0, "neither."), (1, 0, "x only."), (1, 1, "x and y.")]
)
def test_conditions_nest(tell, x, y, read):
    text = "<<if $x>>x <<if $y>>and y<<else>>only<<endif>><<else>>neither<<endif>>."
    assert tell(f"<<set $x = {x}; $y = {y}>>{text}") == read


def test_a_branch_not_taken_changes_nothing(tell):
    assert tell("<<if false>><<set $x = 1>>[[A]]<<endif>><<$x>>") == "0"


# --- display


def test_a_passage_can_be_told_inside_another(play):
    rest = ":: Wall\nA wall, <<$colour>>. [[Climb|B]]\n"
    for display in (
        '<<display "Wall">>',
        "<<display 'Wall'>>",
        "<<display Wall>>",
        "<<Wall>>",
        "<<display $w>>",
    ):
        seen = play(f"<<set $colour = 'red'; $w = 'Wall'>>{display}", rest=rest)
        assert (seen.text, seen.actions) == ("A wall, red. Climb", ("Climb",))


def test_the_short_form_passes_parameters(tell):
    rest = ":: Say\n<<print parameter(0)>> says <<print parameter(1)>>.\n"
    assert tell("<<set $who = 'Ann'>><<Say $who \"good day\">>", rest) == "Ann says good day."
    assert tell("<<Say 1 -1>>", rest) == "1 says -1."


def test_a_display_may_come_back_to_itself_if_it_stops(tell):
    rest = ":: Count\n<<set $n += 1>><<$n>> <<if $n lt 3>><<Count>><<endif>>\n"
    assert tell("<<Count>>", rest) == "1 2 3"


# --- links


@pytest.mark.parametrize(
    ("link", "action"),
    [
        ("[[A]]", "A"),
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
        ("<a data-passage='A'>Go <b>on</b></a>", "Go on"),
        ("<<button [[Go on|A]]>>", "Go on"),
        ("<<choice [[Go on|A]]>>", "Go on"),
        ('<<choice "A" "Go on">>', "Go on"),
        ("<<choice A>>", "A"),
        ("<<actions A>>", "A"),
        ("<<actions [[A]]>>", "A"),
        ('<<actions "A">>', "A"),
    ],
)
def test_a_link_leads_to_its_passage(play, link, action):
    before = "<<set $where = 'A'>>Here.\n\n"
    assert play(before + link).actions == (action,)
    assert play(before + link, action).text == "This is A."


@pytest.mark.parametrize(
    "link",
    [
        "[[Take it|Look][$x = 3]]",
        "[[Take it|Look][$x = $list[2]]]",
        "[[Take it->Look][$y = 1; $x = 3]]",
        "<a data-passage='Look' data-setter='$x = 3'>Take it</a>",
        "<<choice [[Take it|Look][$x = 3]]>>",
    ],
)
def test_a_setter_runs_when_its_link_is_taken(play, link):
    rest = ":: Look\nYou have <<$x>>.\n"
    text = f"<<set $list = [1, 2, 3]>>You have <<$x>>.\n\n{link}"
    assert play(text, rest=rest).text == "You have 0."
    assert play(text, "Take it", rest=rest).text == "You have 3."


def test_a_link_out_of_the_story_is_only_words(play):
    seen = play("See [[the site|http://example.org/a_b]] or http://example.org/c__d.\n\n[[A]]")
    assert (seen.text, seen.actions) == ("See the site or http://example.org/c__d.", ("A",))


def test_a_variable_that_names_no_passage_is_an_error_when_it_is_met(play):
    with pytest.raises(
        InputError,
        match=r'tale.twee, line 2, line 1 of passage "Start": .*"C", which is not a passage',
    ):
        play("<<set $where = 'C'>>[[Go|$where]]")


def test_all_choices_of_a_page_become_words_once_one_was_taken(play):
    rest = ":: Back\nBack.\n\n[[Start]]\n\n:: More\n<<choice [[More|Back]]>>\n"
    text = "Take one: <<choice [[''red''|Back]]>> <<choice [[blue|Back]]>>\n<<More>>\n\n[[On|A]]"
    assert play(text, rest=rest).actions == ("red", "blue", "More", "On")
    again = play(text, "blue", "Start", rest=rest)
    assert again.actions == ("On",)
    assert again.text == "Take one: red blue\nMore"


def test_an_action_vanishes_once_taken(play):
    rest = ":: Eat\nEaten.\n\n[[Start]]\n\n:: Drink\nDrunk.\n\n[[Start]]\n"
    text = "Lunch.\n\n<<actions Eat Drink>>"
    assert play(text, rest=rest).actions == ("Eat", "Drink")
    assert play(text, "Eat", "Start", rest=rest).actions == ("Drink",)


def test_return_keeps_the_variables(play):
    rest = ":: Look\n<<set $x = 1>>Seen.\n\n<<return>>\n"
    seen = play("<<$x>>\n\n[[Look]]", "Look", rest=rest)
    assert seen.actions == ("« return",)
    assert play("<<$x>>\n\n[[Look]]", "Look", "« return", rest=rest).text == "1"


def test_back_takes_the_variables_back(play):
    rest = ":: Look\n<<set $x = 1>>Seen.\n\n<<back label 'Undo'>>\n"
    assert play("<<$x>>\n\n[[Look]]", "Look", "Undo", rest=rest).text == "0"


def test_back_can_name_steps_or_a_passage(play):
    for ways in ("<<back 2 steps>>", "<<back 'Start'>>"):
        rest = f":: One\n1\n\n[[Two]]\n\n:: Two\n2\n\n{ways}\n"
        assert play("0\n\n[[One]]", "One", "Two", "« back", rest=rest).text == "0"


def test_there_is_no_way_back_from_the_first_page(play):
    assert play("Here.\n\n<<back>>\n<<return>>\n[[A]]").actions == ("A",)


# --- blocks and marks


def test_what_is_done_silently_is_not_read(tell):
    assert tell("a<<silently>>b <<set $x = 1>> [[A]]<<endsilently>>c<<$x>>") == "ac1"


def test_nobr_joins_lines(play):
    assert play("<<nobr>>one\ntwo\n<<if true>>three\n<<endif>><<endnobr>>").text == "onetwothree"
    assert play("<<nobr>>one<br>two<<endnobr>>\nthree").text == "one\ntwo\nthree"
    glued = ":: Glued [nobr]\none\ntwo<br>three\n"
    assert play("<<Glued>>", rest=glued).text == "onetwo\nthree"


@pytest.mark.parametrize(
    ("text", "read"),
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
def test_marks_are_not_read_aloud(tell, text, read):
    assert tell(text) == read


def test_story_init_runs_before_the_first_page_and_is_not_read(tell):
    assert tell("<<$x>>", ":: StoryInit\nHello <<set $x = 7>>\n") == "7"


def test_where_a_story_asks_the_inputs_answer(play):
    text = 'Your name?\n\n<<textinput "$name" [[Enter|Hall]]>>'
    rest = ":: Hall\nHello, <<$name>>!\n"
    assert play(text, "Enter", rest=rest).text == "Hello, Alex!"
    assert play(text, "Enter", rest=rest, toml='[inputs]\nname = "Ada"\n').text == "Hello, Ada!"


def test_visits_and_turns_are_counted(play):
    text = "Visit <<print visited()>>, turn <<print turns()>>, from '<<print previous()>>'.\n\n[[Loop]]"
    rest = ":: Loop\nLoop.\n\n[[Start]]\n"
    assert play(text, rest=rest).text == "Visit 1, turn 1, from ''."
    assert play(text, "Loop", "Start", rest=rest).text == "Visit 2, turn 3, from 'Loop'."


def test_capitals_in_the_name_of_a_macro_do_not_matter_unless_a_passage_has_it(play):
    assert play("<<Set $x = 2>><<IF $x is 2>><<PRINT $x>><<Else>>no<<EndIf>>").text == "2"
    assert play("<<Print>> <<print 1>>", rest=":: Print\nA print.\n").text == "A print. 1"


def test_true_one_and_lists_of_them_are_told_apart(story):
    twee = """\
:: Start
Go.

[[a|Show][$x = true]]
[[b|Show][$x = [1]]]
[[c|Show][$x = 1]]
[[d|Show][$x = [true]]]

:: Show
It is <<$x>>.
"""
    game = story(twee)
    for _ in range(2):
        texts = []
        for place in range(4):
            game.reset(0)
            texts.append(game.step(place).text)
        assert texts == ["It is true.", "It is 1.", "It is 1.", "It is true."]


def test_the_words_of_a_broken_link_stay_in_lenient_play(story):
    game = story(":: Start\nYou open the [[door]] and see a cat.\n", lenient=True)
    assert game.reset(0).text == "You open the door and see a cat."
