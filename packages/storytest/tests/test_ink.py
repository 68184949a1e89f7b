"""Compiled Ink as a game: seeds, rules, and compilation of stories without random draws."""

import copy
import json

import pytest

import textgames
from storytest.ink import open_ink, read_ink
from storytest.limits import Limits
from storytest.playtest.playtest import StoryTest
from storytest.twine.rules import read_rules
from tests.commands import main
from tests.game_checks import check_markup, check_outcomes
from tests.ink_stories import STALL, TOWER
from tests.story_formats import INK_COMPILER
from textgames.compiled.compile import can_be_compiled
from textgames.errors import InputError
from textgames.game.contract import another, ending_of, fingerprint_of, title_of

BUY = "Buy the brass key."
TOSS = "Toss a coin into the well."
WALK = "Walk on."


@pytest.fixture
def ink(tmp_path):
    """Function that opens compiled Ink with an optional TOML, by default without shuffling."""
    pytest.importorskip("bink", reason="needs the extra ink")

    def open_table(table, toml=None, *, shuffle=False, **options):
        path = tmp_path / "tale.json"
        path.write_text(json.dumps(table), encoding="utf-8-sig")  # as inklecate writes it
        if toml is None:
            return open_ink(path, shuffle=shuffle, **options)
        rules = tmp_path / "tale.toml"
        rules.write_text(f'story = "tale.json"\n{toml}', encoding="utf-8")
        return open_ink(path, read_rules(rules), rules, shuffle=shuffle, **options)

    return open_table


def play(game, *actions, seed=0):
    """Play these actions; return the last page."""
    page = game.reset(seed)
    for action in actions:
        page = game.step(page.actions.index(action))
    return page


def test_a_page_is_the_text_up_to_the_next_choice_without_markup(ink):
    game = ink(STALL)
    first = game.reset(0)
    assert first.text == "A stall of lost keys. You have 2 coins."
    assert first.actions == (BUY, TOSS, WALK) and first.reward == 0
    text = "It falls for a long time.\nA stall of lost keys. You have 1 coin."
    assert play(game, TOSS).text == text
    assert title_of(game) == "The Stall of Keys" and game.name == "tale"


@pytest.mark.parametrize(("table", "shuffle"), [(STALL, True), (TOWER, False)])
def test_ink_games_keep_the_contract(ink, table, shuffle):
    game = ink(table, shuffle=shuffle)
    textgames.check_game(game, episodes=10)
    check_markup(game)
    twin = another(game)
    assert twin is not None
    textgames.check_game(twin, episodes=2)


def test_a_story_ends_without_choices_and_its_ending_is_named_after_the_knot(ink):
    game = ink(STALL)
    last = play(game, BUY, WALK)
    assert last.ended and last.text == "The key opens the attic."
    assert ending_of(game, last) == "home.attic"
    with pytest.raises(RuntimeError, match="has ended"):
        game.step(0)
    game.reset(0)
    with pytest.raises(IndexError, match="action 3 is out of range"):
        game.step(3)


def test_the_seed_determines_the_random_draws(ink):
    def texts(game):
        first_pages = [game.reset(seed).text for seed in range(40)]
        second_pages = [play(game, "Ring the bell.", seed=seed).text for seed in range(40)]
        return first_pages, second_pages

    game = ink(TOWER)
    first_pages, second_pages = texts(game)
    assert texts(another(game)) == (first_pages, second_pages)
    assert len(set(first_pages)) == 2
    assert {"The whole town looks up."} < set(second_pages)


RULES = """
step_reward = -0.5
max_steps = 9
default_reward = 1
[[ending]]
passage = "home.attic"
where = "$coins gte 1 and $bag is 'heavy'"
reward = 10
[[ending]]
tag = "prize"
reward = 5
[[event]]
contains = "falls"
reward = 2
"""


def test_rules_pay_by_knot_tag_text_and_variable(ink):
    game = ink(STALL, RULES)
    assert game.max_steps == 9
    assert play(game, BUY).reward == -0.5 and play(game, BUY, WALK).reward == 10
    assert play(game, TOSS).reward == 1.5 and play(game, TOSS, TOSS).reward == -0.5
    assert play(game, BUY, TOSS, WALK).reward == 5 and play(game, WALK).reward == 1


def test_a_rule_can_end_the_game_and_drop_choices(ink):
    game = ink(STALL, 'ends = { where = "$coins is 0" }\ndrop = ["brass"]\n')
    assert game.reset(0).actions == (TOSS, WALK)
    assert play(game, TOSS).actions and play(game, TOSS, TOSS).ended


def test_a_story_without_random_draws_is_compiled_and_solved(ink):
    game = ink(STALL, RULES)
    check_outcomes(game, episodes=5)
    compiled = textgames.compile_game(game, cache=False)
    assert textgames.best(compiled).score == 10  # buy, then walk
    assert len(compiled) == 9  # six at the stall, and three endings


def test_states_with_equal_continuations_are_merged_even_if_visits_differ(ink):
    table = copy.deepcopy(STALL)
    loop = table["root"][2]["stall"][0][-1]["c-1"]
    loop[loop.index(1)] = 0  # the coin returns
    assert len(textgames.compile_game(ink(table), cache=False)) < 20


def test_random_draws_and_shuffles_are_listed_with_their_probabilities(ink):
    game = ink(TOWER)
    opening = list(game.opening())
    assert [chance for chance, _ in opening] == [0.5, 0.5]  # the pigeon or the wind
    after = list(game.outcomes(opening[0][1], 0))
    assert sum(chance for chance, _ in after) == pytest.approx(1)
    heard = sum(chance for chance, page in after if page.face.ending)
    assert heard == pytest.approx(1 / 6)
    check_outcomes(game, episodes=10)
    findings = StoryTest(game, seconds=1).run()
    assert findings.exact and {ending.name for ending in findings.endings} == {"square", "yard"}


def test_a_shuffle_shows_each_of_its_texts_before_it_repeats_one(ink):
    game = ink(TOWER)
    for seed in range(20):
        first = game.reset(seed)
        second = game.step(first.actions.index("Ring the bell."))
        texts = [page.text for page in (first, second)]
        assert second.ended or {"pigeon" in text for text in texts} == {True, False}


def test_a_draw_with_too_many_outcomes_is_not_listed(ink):
    game = ink(TOWER)
    game.limits = Limits(outcomes=5)
    with pytest.raises(InputError, match="more than 5 random outcomes"):
        textgames.compile_game(game, cache=False)


def test_a_seed_of_the_story_has_no_effect(ink):
    parts = ["ev", 7, "srnd", "pop", "/ev", "^Hi", "\n", *choice("Go.", "on")]
    game = ink(tiny(*parts, on=["end", None]))
    assert game.reset(0).text == "Hi" and can_be_compiled(game)


def test_the_fingerprint_depends_on_the_story_and_its_rewards(ink):
    games = [ink(STALL), ink(STALL), ink(STALL, RULES), ink(TOWER)]
    fingerprints = [fingerprint_of(game) for game in games]
    assert fingerprints[0] == fingerprints[1] and len(set(fingerprints)) == 3


# Errors


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not valid JSON"),
        ("[" * 100_000, "not valid JSON|without end"),
        ("{}", 'no "inkVersion"'),
        ('{"inkVersion": 21, "root": []}', "a container has no end"),
        ('{"inkVersion": 21, "root": [["^Hi"], "done", null]}', "a container has no end"),
    ],
)
def test_a_file_that_is_not_compiled_ink_is_rejected(tmp_path, text, sentence):
    path = tmp_path / "tale.json"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_ink(path)


def tiny(*parts, version=20, **knots):
    return {"inkVersion": version, "root": [[*parts, None], "done", knots or None], "listDefs": {}}


def choice(words, knot):
    return ["ev", "str", f"^{words}", "/str", "/ev", {"*": knot, "flg": 4}]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (tiny("^Hi", "\n", "end", version=999), "the Ink runtime cannot play it: .*newer"),
        (tiny("^Hi", "\n", {"->": "nowhere"}), "no choice and no end on its first page"),
        (tiny("^Hi", "\n", "end"), "offers no choice on its first page"),
        (tiny("ev", {"x()": "shine", "exArgs": 0}, "out", "/ev", "\n", "end"), "external: 'shine'"),
    ],
)
def test_a_story_that_the_runtime_cannot_play_is_rejected(ink, table, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        ink(table).reset(0)
    assert "\n" not in str(error.value)


def test_a_story_that_reaches_no_choice_is_stopped_and_can_be_reset(ink):
    for words in ([], ["^On "], ["^On", "\n"]):
        loop = [*words, {"->": "round"}, None]
        game = ink(tiny("^Here.", "\n", *choice("Go.", "round"), round=loop))
        game.limits = Limits(line_milliseconds=50.0, lines=500)
        first = game.reset(0)
        with pytest.raises(InputError, match=r"reaches no choice and no end after 'Here\.'"):
            game.step(0)
        assert game.reset(0) == first


def test_a_runtime_error_ends_the_story_and_is_recorded(ink):
    game = ink(tiny("^Here.", "\n", *choice("Go.", "gap"), gap=["^Into nothing.", "\n", None]))
    assert play(game, "Go.").ended and "ran out of content" in game.errors[0]
    findings = StoryTest(game, seconds=1).run()
    assert findings.intended_endings == 0
    assert [(one.kind, one.passage) for one in findings.problems] == [("thrown error", "gap")]


def test_a_panic_of_the_runtime_is_one_sentence(tmp_path, capfd):
    path = tmp_path / "tale.json"
    path.write_text(json.dumps(STALL).replace('"nop"', '"npo"', 1))
    assert main(["play", str(path), "--policy", "random", "--episodes", "1"]) == 2
    error = capfd.readouterr().err
    assert "the Ink runtime cannot play it" in error and error.count("\n") == 1


# Inky's export for the web


def test_the_export_of_inky_is_opened_by_its_script_its_page_or_its_folder(tmp_path):
    pytest.importorskip("bink", reason="needs the extra ink")
    (tmp_path / "tale.js").write_text(f"var storyContent = {json.dumps(STALL)};", "utf-8-sig")
    (tmp_path / "ink.js").write_text("!function(){}")
    (tmp_path / "index.html").write_text('<script src="ink.js"></script><script src="tale.js">')
    for given in ("tale.js", "index.html", "."):
        game = textgames.make(tmp_path / given, shuffle=False)
        assert game.name == "tale" and game.reset(0).actions == (BUY, TOSS, WALK)


# Ink source


SOURCE = """\
# title: The Bridge
VAR coins = 1
INCLUDE more/ferry.ink
-> bridge
=== bridge
A toll bridge. {~A gull waits.|A goat waits.}
+ {coins > 0} [Pay.]
    ~ coins = RANDOM(0, 1)
    -> over
+ [Call the ferry.] -> ferry
= over
You are over, with {coins} coins. -> END
=== tower
Nobody comes here. -> END
"""
FERRY = "=== ferry\nIt takes all day.\n-> END\n"
with_compiler = pytest.mark.skipif(
    not INK_COMPILER.exists(), reason="needs storytest formats add ink, in TEXTGAMES_INK_COMPILER"
)


@pytest.fixture
def bridge(tmp_path, home):
    """The path of a story in Ink source with an included file; the compiler is installed."""
    target = home / "formats" / INK_COMPILER.name
    target.parent.mkdir(parents=True)
    target.write_bytes(INK_COMPILER.read_bytes())
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "ferry.ink").write_text(FERRY)
    path = tmp_path / "bridge.ink"
    path.write_text(SOURCE)
    return path


@with_compiler
def test_ink_source_is_compiled_and_solved(bridge):
    pytest.importorskip("bink", reason="needs the extra ink")
    game = open_ink(bridge, shuffle=False)
    assert title_of(game) == "The Bridge"
    lines = {name: passage.line for name, passage in game.story.passages.items()}
    assert (lines["bridge"], lines["bridge.over"], lines["ferry"]) == (5, 11, 3)
    findings = StoryTest(game, seconds=1).run()
    odds = {one.name: one.probability.mean for one in findings.endings if one.probability}
    assert findings.exact and odds == {"bridge.over": 0.5, "ferry": 0.5}
    assert [(one.passage, one.line) for one in findings.problems] == [("tower", 13)]


@with_compiler
@pytest.mark.parametrize(
    ("file", "before", "after", "sentence"),
    [
        ("bridge.ink", "-> ferry", "-> fery", r"bridge\.ink, line 10: Divert target not found"),
        ("bridge.ink", "more/ferry.ink", "more/fery.ink", r"bridge\.ink: INCLUDE more/fery\.ink"),
        ("bridge.ink", "more/ferry.ink", "../ferry.ink", r"the story's folder has no such file"),
        ("bridge.ink", "VAR coins = 1", "VAR coins =", r"bridge\.ink, line 2: "),
        ("more/ferry.ink", "END", "nowhere", r"more/ferry\.ink, line 3: "),
    ],
)
def test_an_error_in_ink_source_has_its_file_and_line(bridge, file, before, after, sentence):
    path = bridge.parent / file
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(InputError, match=sentence) as error:
        read_ink(bridge)
    assert "\n" not in str(error.value)
