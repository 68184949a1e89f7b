"""The contract of games: who keeps it, how violations are reported, seeds and shuffling."""

import random
import subprocess
import sys

import gymnasium
import pytest

import textgames
from tests.game_checks import check_markup, check_outcomes
from tests.paper_games import PAPER_GAMES
from tests.sample_games import CommandsEnv, Dice, Doors, FixedEnv, Walk
from textgames.compiled.compile import compile_game
from textgames.game.contract import (
    THE_END,
    ContractError,
    Enumerable,
    Observation,
    another,
    check_game,
    ending_of,
    fingerprint_of,
    step_limit_of,
    title_of,
    training_of,
)
from textgames.game.gymnasium_game import GymnasiumGame
from textgames.openers import BUILT_IN, make


def _environment_around_a_story():
    pytest.importorskip("drrn.gym", exc_type=ImportError)
    return GymnasiumGame(gymnasium.make("drrn/NightMarket-v0"))


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
    "an environment around a story": _environment_around_a_story,
}


@pytest.mark.parametrize("open_game", GAMES.values(), ids=GAMES)
def test_every_game_keeps_the_contract(open_game):
    check_game(open_game(), episodes=4)


@pytest.mark.parametrize("open_game", GAMES.values(), ids=GAMES)
def test_a_copy_of_a_game_plays_the_same_and_independently(open_game):
    game = open_game()
    twin = another(game)
    if twin is None:
        assert isinstance(game, (Walk, Doors, GymnasiumGame))
        return
    first = game.reset(3)
    assert twin.reset(3) == first and twin.step(0) == game.step(0)
    twin.reset(4)
    third = open_game()
    third.reset(3)
    third.step(0)
    assert game.step(0) == third.step(0)


@pytest.mark.parametrize("open_game", GAMES.values(), ids=GAMES)
def test_each_step_of_an_enumerable_game_is_a_listed_outcome(open_game):
    game = open_game()
    if isinstance(game, Enumerable):
        check_outcomes(game)
    else:
        with pytest.raises(ContractError):
            check_outcomes(game)


# Optional attributes


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
    assert ending_of(game, game.look(game.state)) == "rich"
    assert fingerprint_of(game) == "dice, first edition"


@pytest.mark.parametrize(
    ("attribute", "value", "read"),
    [
        ("max_steps", "many", step_limit_of),
        ("max_steps", 0, step_limit_of),
        ("training", 3, training_of),
        ("fingerprint", 3, fingerprint_of),
        ("another", lambda: 3, another),
    ],
)
def test_an_invalid_attribute_of_a_game_is_an_input_error(attribute, value, read):
    game = Walk()
    setattr(game, attribute, value)
    with pytest.raises(textgames.InputError, match=rf"^walk: {attribute}") as error:
        read(game)
    assert "\n" not in str(error.value)


def test_the_fingerprint_of_a_story_equals_that_of_published_rows():
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


def test_a_fingerprint_of_rules_with_where_is_the_same_in_every_process(story, tmp_path):
    game = story(WHERE, RULES.format(reward=4))
    path = str(tmp_path / "tale.toml")
    code = (
        "import textgames; from textgames.game.contract import fingerprint_of;"
        f"print(fingerprint_of(textgames.make({path!r})))"
    )
    outputs = [subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(2)]
    assert {output.strip() for output in outputs} == {fingerprint_of(game)}
    other_reward = RULES.format(reward=5)
    other_condition = RULES.format(reward=4).replace("gte 2", "gte 1")
    assert fingerprint_of(story(WHERE, other_reward)) != fingerprint_of(game)
    assert fingerprint_of(story(WHERE, other_condition)) != fingerprint_of(game)


# Stories and violations


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("name", [*BUILT_IN, *PAPER_GAMES])
def test_every_story_keeps_the_contract_with_and_without_shuffling(name, shuffle, game_path):
    game = textgames.make(game_path(name), shuffle=shuffle)
    check_game(game, episodes=5)
    check_markup(game)


class Forgetful(Walk):
    def current_page(self):
        return Observation(f"Stone {random.random()}.", super().current_page().actions)


class Endless(Walk):
    def step(self, index):
        if self.stone == 3:
            return self.current_page()
        return super().step(index)


class Nameless(Walk):
    name = ""


@pytest.mark.parametrize("broken", [Forgetful, Endless, Nameless])
def test_a_game_that_breaks_the_contract_raises_an_error(broken):
    with pytest.raises(ContractError):
        check_game(broken())


# Shuffling and seeds


def test_actions_are_shuffled_on_every_page(story):
    game = story(":: Start\nHere.\n\n[[a|Start]]\n[[b|Start]]\n[[c|Start]]\n", shuffle=True)
    orders = [game.reset(0).actions] + [game.step(0).actions for _ in range(200)]
    assert len(set(orders)) == 6
    assert min(orders.count(order) for order in set(orders)) > 15


def test_a_seed_restarts_the_generator_and_none_continues_it():
    game = textgames.make("night-market")

    def episode(seed):
        observation = game.reset(seed)
        texts = []
        for _ in range(30):
            texts.append((observation.text, observation.actions))
            if observation.ended:
                break
            observation = game.step(0)
        return texts

    first = [episode(1), episode(None)]
    assert [episode(1), episode(None)] == first
    assert first[0] != first[1]


def test_a_player_with_the_seed_of_the_game_is_independent_of_it(story):
    game = story(":: Start\nHere.\n\n[[a]]\n[[b]]\n\n:: a\nA\n\n:: b\nB\n", shuffle=True)
    player = random.Random(0)
    texts = []
    for number in range(400):
        actions = game.reset(0 if number == 0 else None).actions
        texts.append(game.step(int(player.random() * len(actions))).text)
    assert 150 < texts.count("A") < 250
