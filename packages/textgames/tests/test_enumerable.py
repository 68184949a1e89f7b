"""Games that list their outcomes: they are compiled, inspected and played like stories."""

import json
from collections import Counter

import pytest

import textgames
from storytest.map.story_map import story_map
from storytest.playtest.playtest import inspect_game
from storytest.playtest.solve import walkthrough
from tests.commands import main
from tests.sample_games import Dice, Doors, FixedEnv, Walk
from textgames.compiled.compile import assemble, compile_game
from textgames.compiled.game import Compiled
from textgames.compiled.search import BreadthFirst
from textgames.compiled.solve import best, random_play
from textgames.game.contract import THE_END, Observation
from textgames.game.gymnasium_game import GymnasiumGame
from textgames.openers import make

# Compilation


def test_a_game_in_ten_lines_is_compiled():
    game = compile_game(Doors())
    assert isinstance(game, Compiled) and len(game) == 1 + 2 + 3 + 4
    assert best(game).score == 20 and best(game, 1.0).score == pytest.approx(20 - 0.2)
    assert random_play(game).final_reward == pytest.approx(10 * (1.5 - 1))
    assert (game.title, game.max_steps, game.training) == ("doors", 500, {})


def test_probabilities_of_a_compiled_game_are_those_that_it_lists():
    game = compile_game(Dice(), cache=False)
    assert random_play(game).steps == pytest.approx(6) and game.max_steps == 40
    assert {ending.passage for ending in game.endings} == {"rich", "poor"}
    shares: Counter[str] = Counter()
    for ending, share in zip(game.endings, random_play(game).endings, strict=True):
        shares[ending.passage] += share
    assert shares == pytest.approx({"rich": 0.5, "poor": 0.5})
    assert sorted(e.reward for e in inspect_game(Dice(), game).endings) == [-10, 0, 10, 20]


@pytest.mark.parametrize("name", ["tale", "long-watch"])
def test_the_search_of_stories_reaches_the_same_pages_as_breadth_first_search(name, story):
    coin = ':: Start\n<<set $coin = either("heads", "tails")>>A coin.\n\n[[Heads!|Guess][$guess = "heads"]]\n'
    coin += '[[Tails!|Guess][$guess = "tails"]]\n\n:: Guess\n<<if $coin eq $guess>>Won.<<else>>Lost.<<endif>>\n'
    game = story(coin) if name == "tale" else make(name)
    plain = assemble(game, BreadthFirst(game, 10**6, 10**9).run())
    own = compile_game(game, cache=False)
    assert len(plain) == len(own) and sorted(plain.texts) == sorted(own.texts)
    assert random_play(plain).total == pytest.approx(random_play(own).total)
    assert random_play(plain).steps == pytest.approx(random_play(own).steps)


class Endless(Doors):
    name = "endless"

    def look(self, state):
        return Observation(f"Room {state[0]}.", ("On.", "Out.") if state[1] < 2 else ())


class Short(Doors):
    name = "short"

    def outcomes(self, state, index):
        return [(0.4, (3, 0)), (0.5, (3, 1))]


class Negative(Doors):
    name = "negative"

    def outcomes(self, state, index):
        return [(-0.5, (3, 0)), (1.5, (3, 1))]


class Unhashable(Doors):
    name = "unhashable"

    def opening(self):
        return [(1.0, [0, 0])]


class Over(Doors):
    name = "over"

    def opening(self):
        return [(1.0, (3, 0))]


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        (Endless, "more than 50 states; raise the limit, or play it uncompiled"),
        (Short, r'"Open the red door." on the page "Room 0: two doors." sum to 0.9'),
        (Negative, "probability -0.5"),
        (Unhashable, "a state must be hashable, and list is not"),
        (Over, "has no actions, so it ends at once"),
        (Walk, r"Walk lacks opening\(\), outcomes\(state, index\), look\(state\)"),
        (lambda: GymnasiumGame(FixedEnv()), "GymnasiumGame lacks opening"),
    ],
)
def test_a_game_that_cannot_be_compiled_is_rejected_in_one_sentence(game, reason):
    uncompilable = game()
    message = rf"^{uncompilable.name} cannot be compiled: .*{reason}"
    with pytest.raises(textgames.InputError, match=message) as error:
        compile_game(uncompilable, limit=50)
    assert "\n" not in str(error.value)


def test_a_page_that_pays_on_return_pays_nothing_at_first():
    class Back(Doors):
        def look(self, state):
            if state[0] == 3:
                return Observation("Out.", (), 1.0)
            return Observation("In.", ("Stay.", "Go."), -1.0)

        def outcomes(self, state, index):
            return [(1.0, (3 * index, 0))]

    game = compile_game(Back())
    assert game.reset(0).reward == 0 and game.step(0).reward == -1 and len(game) == 3


def test_only_a_game_with_a_fingerprint_is_cached(home):
    compile_game(Doors())
    assert not (home / "cache").exists()
    compile_game(Dice())
    (file,) = (home / "cache").iterdir()
    assert file.name.startswith("dice-")
    assert len(compile_game(Dice())) == len(compile_game(Dice(), cache=False))


# Commands


def test_findings_walkthrough_and_map_of_a_compiled_game():
    game = Doors()
    compiled = compile_game(game)
    findings = inspect_game(game, compiled)
    statistics = findings.statistics
    assert statistics is not None
    assert (statistics.pages, statistics.actions) == (7, 2)
    assert statistics.transitions == "deterministic"
    assert [ending.reward for ending in findings.endings] == [20, 10, 0, -10]
    assert {ending.name for ending in findings.endings} == {THE_END}
    probabilities = [ending.probability for ending in findings.endings]
    assert sum(each.mean for each in probabilities if each) == pytest.approx(1)
    assert not findings.problems and not findings.never_reached
    assert not findings.notes and not findings.unused_rules
    assert walkthrough(compiled)[-1].text == "You are out, with 3 coins."
    page_map = story_map(compiled)
    assert "Room 0: two doors." in page_map.labels and page_map.noun == "page"
    assert sorted(page_map.labels)[-1] == "You are out, with 3 coins."
    assert len(page_map.labels) == 3 + 4


def test_inspect_accepts_a_python_game_and_annotate_rejects_it(capsys):
    assert main(["inspect", "tests.sample_games:Doors"]) == 0
    output = capsys.readouterr().out
    for part in ("best play", "7 distinct texts\n", "Endings (4)"):
        assert part in output
    assert main(["inspect", "tests.sample_games:Doors", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["best"]["final_reward"]["mean"] == 20
    assert main(["annotate", "tests.sample_games:Doors"]) == 2
    assert "storytest: doors: storytest annotate needs a Twine story" in capsys.readouterr().err
    assert main(["inspect", "tests.sample_games:Walk", "--walkthrough"]) == 2
    assert "cannot be compiled: it does not list" in capsys.readouterr().err
