"""Any game: what it owes and may say, what it can do, and where it comes from."""

import json
import subprocess
import sys
from collections import Counter

import gymnasium
import pytest

import drrn
import drrn.gym
from drrn.cli import main
from drrn.compiled.compile import assemble, compile_game
from drrn.compiled.game import Compiled
from drrn.compiled.search import BreadthFirst
from drrn.compiled.solve import best, random_play
from drrn.game.contract import (
    THE_END,
    ContractError,
    Enumerable,
    Observation,
    another,
    check_game,
    ending_of,
    fingerprint_of,
    is_stopped,
    sources_of,
    step_limit_of,
    title_of,
    training_of,
)
from drrn.game.gymnasium_game import GymnasiumGame
from drrn.game.make import BUILT_IN, make
from drrn.stories.map.story_map import story_map
from drrn.stories.playtest.playtest import inspect_game
from drrn.stories.playtest.solve import walkthrough
from tests.game_checks import check_outcomes
from tests.sample_games import CommandsEnv, Dice, Doors, FixedEnv, Walk

GAMES = {
    **{name: (lambda name=name: make(name)) for name in BUILT_IN},
    "compiled": lambda: compile_game(make("long-watch")),
    "doors": Doors,
    "doors, compiled": lambda: compile_game(Doors()),
    "dice": Dice,
    "dice, compiled": lambda: compile_game(Dice(), cache=False),
    "name, reset and step alone": Walk,
    "an environment with commands": lambda: GymnasiumGame(CommandsEnv()),
    "an environment with a fixed list": lambda: GymnasiumGame(FixedEnv()),
    "an environment around a story": lambda: GymnasiumGame(gymnasium.make("drrn/NightMarket-v0")),
}


@pytest.mark.parametrize("opened", GAMES.values(), ids=GAMES)
def test_every_game_keeps_the_contract(opened):
    check_game(opened(), episodes=4)


@pytest.mark.parametrize("opened", GAMES.values(), ids=GAMES)
def test_every_game_has_what_a_game_may_say(opened):
    game = opened()
    assert title_of(game) and step_limit_of(game) >= 1 and len(fingerprint_of(game)) >= 10
    assert isinstance(dict(training_of(game)), dict) and isinstance(sources_of(game), dict)
    observation = game.reset(0)
    assert ending_of(game, observation) is None and not is_stopped(game)
    assert fingerprint_of(opened()) == fingerprint_of(game)


@pytest.mark.parametrize("opened", GAMES.values(), ids=GAMES)
def test_another_copy_plays_the_same_and_on_its_own(opened):
    game = opened()
    twin = another(game)
    if twin is None:
        assert isinstance(game, (Walk, Doors, GymnasiumGame))
        return
    first = game.reset(3)
    assert twin.reset(3) == first and twin.step(0) == game.step(0)
    twin.reset(4)
    assert game.step(0) == another_after(opened(), 3)


def another_after(game, seed):
    game.reset(seed)
    game.step(0)
    return game.step(0)


@pytest.mark.parametrize("opened", GAMES.values(), ids=GAMES)
def test_what_stepping_shows_is_among_the_outcomes_that_a_game_lists(opened):
    game = opened()
    if isinstance(game, Enumerable):
        check_outcomes(game)
    else:
        with pytest.raises(ContractError):
            check_outcomes(game)


def test_a_game_that_plays_unlisted_outcomes_is_reported():
    class Lying(Doors):
        def outcomes(self, state, index):
            return (
                [(1.0, (3, 3))] if getattr(self, "lies", False) else super().outcomes(state, index)
            )

        def step(self, index):
            self.lies = False
            found = super().step(index)
            self.lies = True
            return found

    with pytest.raises(ContractError, match="does not list the outcome"):
        check_outcomes(Lying())


# --- what a game may say


def test_a_minimal_game_has_sensible_defaults():
    game = Walk()
    assert (title_of(game), step_limit_of(game), dict(training_of(game))) == ("walk", 500, {})
    game.reset()
    for _ in range(3):
        last = game.step(0)
    assert ending_of(game, last) == THE_END and another(game) is None
    assert fingerprint_of(game) == fingerprint_of(Walk()) != fingerprint_of(Doors())


def test_the_attributes_of_a_game_are_used():
    game = Dice()
    assert (title_of(game), step_limit_of(game), training_of(game)) == (
        "Doors and Dice",
        40,
        {"hidden": 8},
    )
    game.state = (3, 2)
    assert (
        ending_of(game, game.look(game.state)) == "rich"
        and fingerprint_of(game) == "dice, first edition"
    )


@pytest.mark.parametrize(
    ("attribute", "value", "ask"),
    [("max_steps", "many", step_limit_of), ("max_steps", 0, step_limit_of), ("training", 3, training_of),
     ("fingerprint", 3, fingerprint_of), ("another", lambda: 3, another)],
)  # fmt: skip
def test_invalid_attributes_of_a_game_are_one_error(attribute, value, ask):
    game = Walk()
    setattr(game, attribute, value)
    with pytest.raises(drrn.InputError, match=rf"^walk: {attribute}") as error:
        ask(game)
    assert "\n" not in str(error.value)


def test_a_storys_fingerprint_is_the_one_that_published_rows_carry():
    assert fingerprint_of(make("long-watch")).startswith("67c67ae5016fd2a4")
    assert fingerprint_of(make("night-market", paraphrased=True)).startswith("6400cef299728cdf")


WHERE = ":: Start\n<<set $gold = 3>>Here.\n\n[[On.|End]]\n\n:: End\nThere.\n"
RULES = """
[[ending]]
passage = "End"
where = "$gold gte 2"
reward = {reward}

[[event]]
where = "$gold gt 9"
reward = 1
"""


@pytest.mark.slow
def test_a_fingerprint_of_rules_with_where_is_the_same_in_every_process(story, tmp_path):
    game = story(WHERE, RULES.format(reward=4))
    code = f"import drrn, drrn.game.contract as o; print(o.fingerprint_of(drrn.make({str(tmp_path / 'tale.toml')!r})))"
    told = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        for _ in range(2)
    ]
    assert {run.stdout.strip() for run in told} == {fingerprint_of(game)}
    assert fingerprint_of(story(WHERE, RULES.format(reward=5))) != fingerprint_of(game)
    assert fingerprint_of(
        story(WHERE, RULES.format(reward=4).replace("gte 2", "gte 1"))
    ) != fingerprint_of(game)


def test_a_compiled_game_is_identified_by_its_arrays():
    one, other = compile_game(Doors()), compile_game(Dice(), cache=False)
    assert fingerprint_of(one) == fingerprint_of(compile_game(Doors())) != fingerprint_of(other)
    assert compile_game(one) is one


# --- compiling


def test_a_game_in_ten_lines_is_compiled():
    game = compile_game(Doors())
    assert isinstance(game, Compiled) and len(game) == 1 + 2 + 3 + 4
    assert best(game).score == 20 and best(game, 1.0).score == pytest.approx(20 - 0.2)
    assert random_play(game).final_reward == pytest.approx(10 * (1.5 - 1))
    assert (game.title, game.max_steps, game.training) == ("doors", 500, {})


def test_chances_are_those_that_the_game_lists():
    game = compile_game(Dice(), cache=False)
    assert random_play(game).steps == pytest.approx(6) and game.max_steps == 40
    assert {ending.passage for ending in game.endings} == {"rich", "poor"}
    shares = Counter()
    for ending, share in zip(game.endings, random_play(game).endings, strict=True):
        shares[ending.passage] += share
    assert shares == pytest.approx({"rich": 0.5, "poor": 0.5})
    assert sorted(e.reward for e in inspect_game(Dice(), game).endings) == [-10, 0, 10, 20]


@pytest.mark.parametrize("name", ["tale", "long-watch"])
def test_the_search_of_stories_leaves_out_nothing_that_a_plain_search_finds(name, story):
    coin = ':: Start\n<<set $coin = either("heads", "tails")>>A coin.\n\n[[Heads!|Guess][$guess = "heads"]]\n'
    coin += '[[Tails!|Guess][$guess = "tails"]]\n\n:: Guess\n<<if $coin eq $guess>>Won.<<else>>Lost.<<endif>>\n'
    game = story(coin) if name == "tale" else make(name)
    plain, own = (
        assemble(game, BreadthFirst(game, 10**6, 10**9).run()),
        compile_game(game, cache=False),
    )
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
    ("game", "why"),
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
def test_a_game_that_cannot_be_compiled_is_refused_in_one_sentence(game, why):
    opened = game()
    with pytest.raises(
        drrn.InputError, match=rf"^{opened.name} cannot be compiled: .*{why}"
    ) as error:
        compile_game(opened, limit=50)
    assert "\n" not in str(error.value)


def test_a_page_that_pays_on_return_pays_nothing_at_first():
    class Back(Doors):
        def look(self, state):
            return (
                Observation("Out.", (), 1.0)
                if state[0] == 3
                else Observation("In.", ("Stay.", "Go."), -1.0)
            )

        def outcomes(self, state, index):
            return [(1.0, (3 * index, 0))]

    game = compile_game(Back())
    assert game.reset(0).reward == 0 and game.step(0).reward == -1 and len(game) == 3


def test_only_a_game_with_a_fingerprint_is_cached(home):
    compile_game(Doors())
    assert not (home / "cache").exists()
    compile_game(Dice())
    (file,) = (home / "cache").iterdir()
    assert file.name.startswith("dice-") and len(compile_game(Dice())) == len(
        compile_game(Dice(), cache=False)
    )


# --- for authors


def test_any_compiled_game_is_surveyed_play_tested_and_drawn():
    game = Doors()
    compiled = compile_game(game)
    found = inspect_game(game, compiled)
    assert (
        found.statistics.pages,
        found.statistics.actions,
        found.statistics.passages,
        found.statistics.transitions,
    ) == (7, 2, 0, "deterministic")
    assert [(e.reward, e.name) for e in found.endings] == [(r, THE_END) for r in (20, 10, 0, -10)]
    assert sum(e.probability.mean for e in found.endings) == pytest.approx(1)
    assert (found.problems, found.never_reached, found.notes, found.unused_rules) == (
        [],
        [],
        [],
        [],
    )
    assert walkthrough(compiled)[-1].text == "You are out, with 3 coins."
    drawn = story_map(compiled)
    assert "Room 0: two doors." in drawn.labels and drawn.noun == "page"
    assert sorted(drawn.labels)[-1] == "You are out, with 3 coins." and len(drawn.labels) == 3 + 4


def test_inspect_works_on_a_game_in_ten_lines_and_annotate_refuses_it(capsys):
    assert main(["inspect", "tests.sample_games:Doors"]) == 0
    told = capsys.readouterr().out
    assert (
        "best without memory, at least" in told
        and "7 distinct texts\n" in told
        and "Endings (4)" in told
    )
    assert main(["inspect", "tests.sample_games:Doors", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["best"]["final_reward"]["mean"] == 20
    assert main(["annotate", "tests.sample_games:Doors"]) == 2
    assert "drrn: doors: drrn annotate needs a Twine story" in capsys.readouterr().err
    assert main(["inspect", "tests.sample_games:Walk", "--walkthrough"]) == 2
    assert "cannot be compiled: it does not list" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Doors", "Walk", "Dice", "fixed_env"])
def test_a_random_policy_plays_any_game(name, capsys):
    assert (
        main(
            [
                "play",
                f"tests.sample_games:{name}",
                "--policy",
                "random",
                "--episodes",
                "5",
                "--seed",
                "1",
            ]
        )
        == 0
    )
    assert "mean final reward" in capsys.readouterr().out
    assert (
        main(
            [
                "play",
                f"tests.sample_games:{name}",
                "--policy",
                "random",
                "--episodes",
                "1",
                "--show",
            ]
        )
        == 0
    )
    assert "\n  reward " in capsys.readouterr().out


def test_a_person_plays_any_game_and_the_score_is_saved(home, capsys, monkeypatch):
    answers = iter(["1", "1", "1", "n"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_, **__: next(answers))
    assert main(["play", "tests.sample_games:Doors", "--player", "Ada", "--seed", "0"]) == 0
    assert "Final reward" in capsys.readouterr().out
    assert (
        (home / "scores.csv")
        .read_text()
        .splitlines()[1]
        .endswith(f",doors,Ada,0,0,3,10.0,9.8,{THE_END}")
    )
