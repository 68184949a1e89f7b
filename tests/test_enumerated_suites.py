"""A variation of TextWorldExpress lists its states, and is solved exactly."""

import pytest

import drrn
from drrn.compiled.compile import compile_game
from drrn.compiled.solve import best
from tests.game_checks import check_outcomes
from tests.suite_files import open_suite


def test_a_small_game_is_enumerated_and_solved(stand_ins):
    """Three rooms; the coin is in the third: two moves (the second pays 0.5), then 0.5 for it."""
    game = open_suite("twx:coin?seed=2&text=look,inventory&enumerate=yes")
    compiled = compile_game(game)
    assert best(compiled, 1.0).score == pytest.approx(1.0)
    assert best(compiled, 0.5).score == pytest.approx(0.5**1 * 0.5 + 0.5**2 * 0.5)
    check_outcomes(game)
    game.close()


def test_enumeration_needs_one_variation_and_a_page_that_is_a_state(stand_ins):
    for name in ("twx:coin?enumerate=yes&text=look", "twx:coin?seed=1&enumerate=yes"):
        with pytest.raises(drrn.InputError, match="add seed=N&text=look,inventory"):
            open_suite(name)
