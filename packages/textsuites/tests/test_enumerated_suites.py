"""A game of a suite lists its states, and is solved exactly."""

import pytest

import textgames
from tests.game_checks import check_outcomes
from tests.suite_files import LocalService, game_file, open_suite
from textgames.compiled.compile import compile_game
from textgames.compiled.solve import best
from textsuites.game import EnumeratedGame


@pytest.fixture(autouse=True)
def local_services(monkeypatch):
    """Open the environments in this process."""
    monkeypatch.setattr("textsuites.game.Service", LocalService)


def test_a_small_game_is_enumerated_and_solved(stand_ins):
    """Three rooms; the coin is in the third: two moves (the second pays 0.5), then 0.5 for it."""
    game = open_suite("twx:coin?seed=2&text=look,inventory&enumerate=yes")
    compiled = compile_game(game)
    assert best(compiled, 1.0).score == pytest.approx(1.0)
    assert best(compiled, 0.5).score == pytest.approx(0.5**1 * 0.5 + 0.5**2 * 0.5)
    check_outcomes(game)
    game.close()


def test_an_enumeration_leaves_the_episodes_of_players_alone(stand_ins):
    game = open_suite("twx:coin?seed=2&text=look,inventory&enumerate=yes&copies=2")
    assert isinstance(game, EnumeratedGame)
    (_, opening), *_ = game.opening()
    first = game.reset(0)
    move = first.actions.index("move east")
    second = game.step(move)
    (_, after), *_ = game.outcomes(opening, move)
    assert game.look(after).text == second.text
    alone = open_suite("twx:coin?seed=2&text=look,inventory")
    alone.reset(0)
    alone.step(move)
    back = second.actions.index("move west")
    assert game.step(back) == alone.step(back)
    alone.close()
    game.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("text=look", "needs one variation: add seed=N$"),
        ("seed=1", "needs pages without the answer to the last action: add text=look,inventory$"),
        ("seed=1&text=look&initial_score=yes", "remove initial_score=yes$"),
    ],
)
def test_enumeration_needs_one_variation_and_a_page_that_is_a_state(stand_ins, options, message):
    with pytest.raises(textgames.InputError, match=message):
        open_suite(f"twx:coin?enumerate=yes&{options}")


@pytest.mark.parametrize(
    ("name", "states", "score", "discounted"),
    [
        # Two rooms, with and without the apple (which is taken, for 1, or carried there); in each
        # it is eaten, for 2, or dropped, which loses.
        ("textworld:{path}?enumerate=yes", 9, 3.0, 0.5 * 1 + 0.25 * 2),
        # Without the lamp, with it (which is taken, for 5, or held for longer), and left with and
        # without it, for a score of 10 or -10. Time and the bat are no part of a state.
        ("jericho:{path}?enumerate=yes&seed=1&text=look,inventory", 5, 10.0, 5 + 0.5 * 5),
    ],
)
def test_games_in_files_are_enumerated_and_solved(
    stand_ins, tmp_path, name, states, score, discounted
):
    game = open_suite(name.format(path=game_file(tmp_path)))
    compiled = compile_game(game)
    assert compiled.raw_states == states
    assert best(compiled, 1.0).score == pytest.approx(score)
    assert best(compiled, 0.5).score == pytest.approx(discounted)
    check_outcomes(game)
    game.close()


def test_an_answer_is_no_part_of_a_state_of_textworld(stand_ins, tmp_path):
    path = game_file(tmp_path)
    with pytest.raises(textgames.InputError, match="add text=description,inventory"):
        open_suite(f"textworld:{path}?enumerate=yes&text=feedback")
