"""Findings: probabilities computed by hand, estimates, and commands that agree on them."""

import json
import math

import pytest

import textgames
from storytest.cli.annotate import explored
from storytest.playtest.findings import VariableUse
from storytest.playtest.playtest import StoryTest, inspect_game
from storytest.playtest.report import report
from tests.commands import main
from textgames.document import to_html, to_markdown, to_text
from textgames.estimate import mean_of, share_of
from textgames.files import read_toml

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
RULES = "".join(
    f'[[ending]]\npassage = "{passage}"\nreward = {reward}\n'
    for passage, reward in (("Hall", 8), ("Locked", -4), ("Garden", 2))
)


@pytest.fixture
def findings(story):
    return StoryTest(story(DOORS, RULES), clicks=1_000).run()


def test_probabilities_equal_those_computed_by_hand(findings):
    endings = {ending.name: ending for ending in findings.endings}
    assert all(ending.probability.error == 0 for ending in endings.values())
    probabilities = {name: ending.probability.mean for name, ending in endings.items()}
    expected = {"Hall": 3 / 8, "Garden": 1 / 2, "Locked": 1 / 8}
    assert probabilities == pytest.approx(expected)
    assert findings.random.final_reward.mean == pytest.approx(8 * 3 / 8 + 2 / 2 - 4 / 8)
    assert findings.random.steps.mean == pytest.approx(1.5)
    # The left door pays (3 · 8 - 4) / 4 = 5 on average, the right one 2.
    assert findings.best.final_reward.mean == pytest.approx(5)
    assert endings["Hall"].best.mean == pytest.approx(3 / 4)
    assert endings["Hall"].path.actions == ("Left.", "Enter.")
    assert endings["Hall"].path.chances == pytest.approx((3 / 4, 1))


def test_a_share_has_an_error_even_if_all_games_agree():
    assert share_of(0, 0) is None and mean_of([]) is None
    share = share_of(10, 10)
    assert share is not None and share.mean == 1
    assert share.error == pytest.approx(math.sqrt(11 / 12 / 12 / 10))
    mean = mean_of([1.0, 3.0])
    assert mean is not None and mean.mean == 2 and mean.error == pytest.approx(1)


def test_every_format_has_every_section(findings):
    document = report(findings, "doors.toml")
    titles = [section.title for section in document.sections]
    assert titles == ["Endings (3)", "Coverage", "Words per play-through"]
    for write in (to_text, to_markdown, to_html):
        text = write(document)
        assert all(title in text for title in titles) and "37.5 %" in text and "Garden" in text


def test_test_inspect_and_annotate_agree(tmp_path, capsys):
    (tmp_path / "doors.twee").write_text(DOORS, encoding="utf-8")
    toml = tmp_path / "doors.toml"
    toml.write_text(f'story = "doors.twee"\n{RULES}', encoding="utf-8")
    assert main(["test", str(toml), "--format", "json"]) == 0
    tested = json.loads(capsys.readouterr().out)
    assert main(["inspect", str(toml), "--json"]) == 0
    inspected = json.loads(capsys.readouterr().out)
    assert main(["annotate", str(toml), "--out", str(tmp_path / "new.toml")]) == 0
    for key in ("endings", "random", "states", "passages", "links", "top_reward", "never_reached"):
        if key == "random":
            assert tested[key]["final_reward"] == inspected[key]["final_reward"]
        elif key == "endings":
            same = ("name", "reward", "rule", "probability", "best", "path", "last_words")
            for one, other in zip(tested[key], inspected[key], strict=True):
                assert {name: one[name] for name in same} == {name: other[name] for name in same}
        else:
            assert tested[key] == inspected[key], key
    rules = read_toml(tmp_path / "new.toml")["ending"]
    rewards = {ending["passage"]: ending["reward"] for ending in rules}
    assert rewards == {ending["name"]: ending["reward"] for ending in tested["endings"]}


def test_a_game_that_is_not_compiled_gives_estimates_near_the_exact_values(story):
    game = story(DOORS, RULES)
    exact = inspect_game(game, textgames.compile_game(game, cache=False))
    sampled = explored(game, 10, 5.0)
    for one, other in zip(exact.endings, sampled.endings, strict=True):
        assert one.name == other.name
        assert one.probability is not None and other.probability is not None
        assert other.probability.error > 0
        difference = abs(one.probability.mean - other.probability.mean)
        assert difference < 5 * other.probability.error


# --- details: words, and uses of variables

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


@pytest.fixture
def stall(story):
    return StoryTest(story(STALL), clicks=1_000).run()


def test_words_of_the_shortest_and_longest_play_through(stall):
    # 4 words at the start and 3 at home, or 2 more at the till and 2 at home.
    assert stall.words.games > 50
    assert (stall.words.least, stall.words.most) == (7, 8)
    assert stall.words.least < stall.words.mean < stall.words.most


def test_passages_that_set_and_read_a_variable(stall):
    assert stall.uses == {"$coins": VariableUse(["Start", "Till"], ["Home"])}


def test_the_report_has_a_section_for_each_of_them(stall):
    text = to_text(report(stall))
    assert "Where variables are used" in text and "shortest 7, mean" in text
