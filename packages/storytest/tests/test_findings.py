"""Findings: odds, paths and traps computed by hand, estimates, and commands that agree on them."""

import json
import math

import pytest

import textgames
from storytest.cli.annotate import explored
from storytest.map.story_map import story_map
from storytest.playtest.findings import VariableUse
from storytest.playtest.playtest import StoryTest, inspect_game
from storytest.playtest.report import report
from storytest.playtest.solve import walkthrough
from tests.commands import main
from textgames.document import to_html, to_markdown, to_text
from textgames.estimate import mean_of, share_of
from textgames.files import read_toml
from textgames.wording import last_words

TALE = """\
:: Start
[[Climb.|Wall]]
[[Knock.|Door]]

:: Wall
[[Jump.|Pit]]
[[Back.|Start]]

:: Door
<<if random(1, 4) eq 1>>[[Enter.|Hall]]<<else>>[[Wait.|Door]]<<endif>>

:: Pit
[[Dig.|Pit]]

:: Hall
Home.

:: Attic
Nobody comes here.
"""
RULES = 'step_reward = -1\n[[ending]]\npassage = "Hall"\nreward = 9\n'


def mean(estimate):
    """Return the mean of an estimate that exists."""
    assert estimate is not None
    return estimate.mean


def test_odds_paths_and_traps_equal_those_computed_by_hand(story):
    game = story(TALE, RULES)
    compiled = textgames.compile_game(game, cache=False)
    test = inspect_game(game, compiled)
    assert test.random is not None and test.best is not None
    ending = test.endings[0]
    # Start leads to the door, then home, with 1/2; to the wall with 1/2, then to the pit or back.
    assert mean(ending.probability) == pytest.approx(2 / 3)
    assert mean(test.random.unfinished) == pytest.approx(1 / 3)
    assert mean(ending.best) == pytest.approx(1)
    assert ending.path is not None and list(ending.path.actions) == ["Knock.", "Enter."]
    assert mean(test.best.final_reward) == pytest.approx(9)
    assert mean(test.random.final_reward) == pytest.approx(6)
    assert mean(test.best.returns) == pytest.approx(9 - 4)  # four visits to the door on average
    assert mean(test.best.steps) == pytest.approx(1 + 4)
    assert test.random.returns is None and test.random.steps is None
    assert [dead.passage for dead in test.dead_ends] == ["Pit"]
    steps = [(step.passage, step.action, step.chance) for step in walkthrough(compiled)]
    assert steps == [("Start", "Knock.", 0.25), ("Door", "Enter.", 1), ("Hall", None, 1)]
    graph = story_map(compiled)
    node = {label: number for number, label in enumerate(graph.labels)}
    assert set(node) == {"Start", "Wall", "Door", "Pit", "Hall"}
    assert graph.reward[node["Hall"]] == 9
    assert graph.reward[node["Pit"]] is None and graph.trap[node["Pit"]]
    assert graph.distance[node["Hall"]] == 2
    assert graph.visits[node["Start"]] == pytest.approx(4 / 3)
    assert graph.edges[node["Start"], node["Door"]] == pytest.approx(2 / 3)


def test_the_walkthrough_stops_if_it_is_best_never_to_end(story):
    tale = ":: Start\n[[Stay.|Start]]\n[[Go.|Bad]]\n\n:: Bad\nB.\n"
    game = story(tale, '[[ending]]\npassage = "Bad"\nreward = -1\n')
    steps = walkthrough(textgames.compile_game(game, cache=False))
    assert [step.action for step in steps] == ["Stay."]


# A fair choice between two doors; the left one is locked in one of four games.
DOORS = """\
:: Start
[[Left.|Left]]
[[Right.|Garden]]

:: Left
<<if random(1, 4) eq 1>>[[Knock.|Locked]]<<else>>[[Enter.|Hall]]<<endif>>

:: Hall
A hall.

:: Locked
A locked door.

:: Garden
A garden.
"""
REWARDS = "".join(
    f'[[ending]]\npassage = "{passage}"\nreward = {reward}\n'
    for passage, reward in (("Hall", 8), ("Locked", -4), ("Garden", 2))
)


def test_every_format_has_every_section_and_exact_odds(story):
    findings = StoryTest(story(DOORS, REWARDS), clicks=1_000).run()
    odds = {ending.name: (ending.probability, ending.best) for ending in findings.endings}
    shares = {name: tuple(map(mean, pair)) for name, pair in odds.items()}
    assert shares == {"Hall": (3 / 8, 3 / 4), "Locked": (1 / 8, 1 / 4), "Garden": (1 / 2, 0)}
    document = report(findings, "doors.toml")
    titles = [section.title for section in document.sections]
    assert titles == ["Endings (3)", "Coverage", "Words per play-through"]
    for write in (to_text, to_markdown, to_html):
        text = write(document)
        assert all(title in text for title in titles) and "37.5 %" in text and "Garden" in text


def test_a_share_has_an_error_even_if_all_games_agree():
    assert share_of(0, 0) is None and mean_of([]) is None
    share = share_of(10, 10)
    assert share is not None and share.mean == 1
    assert share.error == pytest.approx(math.sqrt(11 / 12 / 12 / 10))
    estimate = mean_of([1.0, 3.0])
    assert estimate is not None and estimate.mean == 2 and estimate.error == pytest.approx(1)


def test_test_inspect_and_annotate_agree(tmp_path, capsys):
    (tmp_path / "doors.twee").write_text(DOORS, encoding="utf-8")
    toml = tmp_path / "doors.toml"
    toml.write_text(f'story = "doors.twee"\n{REWARDS}', encoding="utf-8")
    assert main(["test", str(toml), "--format", "json"]) == 0
    tested = json.loads(capsys.readouterr().out)
    assert main(["inspect", str(toml), "--json"]) == 0
    inspected = json.loads(capsys.readouterr().out)
    for key in ("endings", "states", "passages", "links", "top_reward", "never_reached"):
        assert tested[key] == inspected[key], key
    assert tested["random"]["final_reward"] == inspected["random"]["final_reward"]
    assert main(["annotate", str(toml), "--out", str(tmp_path / "new.toml")]) == 0
    rules = read_toml(tmp_path / "new.toml")["ending"]
    rewards = {ending["passage"]: ending["reward"] for ending in rules}
    assert rewards == {ending["name"]: ending["reward"] for ending in tested["endings"]}


def test_a_game_that_is_not_compiled_gives_estimates_near_the_exact_values(story):
    game = story(DOORS, REWARDS)
    exact = inspect_game(game, textgames.compile_game(game, cache=False))
    sampled = explored(game, 10, 5.0)
    for one, other in zip(exact.endings, sampled.endings, strict=True):
        assert one.name == other.name
        assert one.probability is not None and other.probability is not None
        assert other.probability.error > 0
        difference = abs(one.probability.mean - other.probability.mean)
        assert difference < 5 * other.probability.error


STALL = """\
:: Start
<<set $coins = 5>>A stall of hats.
[[Buy.|Till]]
[[Leave.|Home]]

:: Till
<<set $coins = $coins - 2>>You pay.
[[Go home.|Home]]

:: Home
<<if $coins gt 4>>All <<endif>>coins: <<print $coins>>
"""


def test_words_of_play_throughs_and_uses_of_variables(story):
    # 4 words at the start and 3 at home, or 2 more at the till and 2 at home.
    findings = StoryTest(story(STALL), clicks=1_000).run()
    words = findings.words
    assert words is not None and words.games > 50 and (words.least, words.most) == (7, 8)
    assert words.least < words.mean < words.most
    assert findings.uses == {"$coins": VariableUse(["Start", "Till"], ["Home"])}
    text = to_text(report(findings))
    assert "Where variables are used" in text and "shortest 7, mean" in text


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("You go in.\n\nThe table is laid for two.", "The table is laid for two."),
        (
            "He nods. You look round the room. There is cake.",
            "You look round the room. There is cake.",
        ),
        ('It is late. She says: "Is there any cake?"', 'She says: "Is there any cake?"'),
        ("“Go now!” You run as you never ran.", "You run as you never ran."),
        ('It is late. "Is there cake?" he asks.', '"Is there cake?" he asks.'),
        ("It is late. You wake at Dr. Moss and Mrs. Hill.", "You wake at Dr. Moss and Mrs. Hill."),
        ("You swim home.\n\nTHE END", "You swim home."),
        ("The end.", "The end."),
        ("* * *", "* * *"),
    ],
)
def test_last_words_of_a_page(text, last):
    assert last_words(text) == last
