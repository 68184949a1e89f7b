"""The contract of games: who keeps it, how violations are reported, seeds and shuffling."""

import random

import pytest

import drrn
from drrn.game.contract import ContractError, Observation, check_game
from drrn.game.make import BUILT_IN
from tests.game_checks import check_markup
from tests.paper_games import PAPER_GAMES
from tests.sample_games import Walk


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("name", [*BUILT_IN, *PAPER_GAMES])
def test_every_story_keeps_the_contract_with_and_without_shuffling(name, shuffle, game_path):
    game = drrn.make(game_path(name), shuffle=shuffle)
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


class Wrapping(Walk):
    def step(self, index):
        return super().step(index % 2)


class Numbered(Walk):
    def current_page(self):
        return Observation(self.stone, super().current_page().actions)  # type: ignore[arg-type]


class Wordless(Walk):
    def current_page(self):
        return Observation("Stone.", () if self.stone == 3 else ("On.", " "))


class Nameless(Walk):
    name = ""


@pytest.mark.parametrize("broken", [Forgetful, Endless, Wrapping, Numbered, Wordless, Nameless])
def test_a_game_that_breaks_the_contract_raises_an_error(broken):
    with pytest.raises(ContractError):
        check_game(broken())


def test_actions_are_shuffled_on_every_page(story):
    game = story(":: Start\nHere.\n\n[[a|Start]]\n[[b|Start]]\n[[c|Start]]\n", shuffle=True)
    orders = [game.reset(0).actions] + [game.step(0).actions for _ in range(200)]
    assert len(set(orders)) == 6
    assert min(orders.count(order) for order in set(orders)) > 15


def test_long_lists_of_actions_are_shuffled(story):
    game = story(
        ":: Start\nHere.\n\n" + "".join(f"[[{i}|Start]]\n" for i in range(8)), shuffle=True
    )
    first, *rest = [game.reset(0).actions] + [game.step(0).actions for _ in range(20)]
    assert all(sorted(order) == sorted(first) for order in rest) and len(set(rest)) > 15


def test_shuffling_can_be_turned_off(story):
    game = story(":: Start\nHere.\n\n[[b|Start]]\n[[a|Start]]\n", shuffle=False)
    assert {game.reset(seed).actions for seed in range(20)} == {("b", "a")}


def test_a_shuffled_action_leads_to_its_own_page(story):
    game = story(
        ":: Start\nHere.\n\n[[a]]\n[[b]]\n[[c]]\n\n:: a\nA\n\n:: b\nB\n\n:: c\nC\n", shuffle=True
    )
    for seed in range(30):
        index = game.reset(seed).actions.index("b")
        assert game.step(index).text == "B"


def test_a_seed_restarts_the_generator_and_none_continues_it():
    game = drrn.make("night-market")

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
