"""Q* of a solved game, computed by hand: rewards on the way count."""

from textgames import Observation, solve_game

PAGES = {
    "gate": Observation("A gate.", ("long", "short")),
    "bridge": Observation("A bridge.", ("on", "back"), 2.0),
    "island": Observation("An island.", (), 3.0),
    "mud": Observation("Mud.", (), -4.0),
    "inn": Observation("An inn.", (), 1.0),
}
WAYS = {("gate", 0): "bridge", ("gate", 1): "inn", ("bridge", 0): "island", ("bridge", 1): "mud"}


class Walk:
    """The long way pays 2 and then 3, or costs 4; the short way pays 1."""

    name = "walk"

    def reset(self, seed=None):
        self.state = "gate"
        return PAGES[self.state]

    def step(self, index):
        self.state = WAYS[self.state, index]
        return PAGES[self.state]

    def opening(self):
        return [(1.0, "gate")]

    def outcomes(self, state, index):
        return [(1.0, WAYS[state, index])]

    def look(self, state):
        return PAGES[state]


def test_q_star_is_the_reward_and_what_follows():
    game = solve_game(Walk())
    game.reset(0)
    assert list(game.q_star()) == [5.0, 1.0] and game.value() == 5.0
    game.step(0)
    assert list(game.q_star()) == [3.0, -4.0]
    assert (game.best, game.random) == (5.0, 0.5 * (2 + 0.5 * (3 - 4)) + 0.5 * 1)
