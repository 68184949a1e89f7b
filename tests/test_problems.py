"""Problems of a story: each once, where it is, the clicks that show it, and what allows it."""

import pytest

from drrn.stories.playtest.playtest import StoryTest
from drrn.stories.playtest.problems import Problem, in_order, is_allowed


@pytest.fixture(autouse=True)
def few_games(monkeypatch):
    """Limit the number of games and the extra search, so that tests are fast."""
    monkeypatch.setattr("drrn.stories.playtest.playtest.MAX_GAMES", 200)
    monkeypatch.setattr("drrn.stories.playtest.playtest.EXTRA_SECONDS", 0.5)


def problems_of(game):
    """Return the problems of a story as (kind, passage, line, clicks)."""
    problems = StoryTest(game, 10).run().problems
    clicks = [problem.path.actions if problem.path else None for problem in problems]
    rows = zip(problems, clicks, strict=True)
    return [(problem.kind, problem.passage, problem.line, path) for problem, path in rows]


def test_errors_come_first_and_each_problem_once():
    hint = Problem("number below zero", "low", severity="hint")
    trap = Problem("trap", "stuck", "Cell", severity="warning")
    broken = Problem("broken link", "leads nowhere", "Goat", 3)
    assert in_order([hint, trap, broken, broken]) == (broken, trap, hint)


def test_problems_are_allowed_by_kind_or_by_passage():
    broken = Problem("broken link", "leads nowhere", "Goat", 3)
    assert is_allowed(broken, {"broken link": ()})
    assert is_allowed(broken, {"broken link": ("Goat",)})
    assert not is_allowed(broken, {"broken link": ("Quay",), "trap": ()})


ISLAND = """\
:: Start
[[On.|Home]]
:: Home
Done.
:: Attic
[[Down.|Loft]]
:: Loft
[[Up.|Attic]]
:: Shed
[[Behind.|Yard]]
:: Yard
A yard.
"""


def test_passages_behind_an_unreachable_one_are_no_problems_of_their_own(story):
    problems = problems_of(story(ISLAND))
    assert problems == [("unreachable", "Shed", 10, None), ("unreachable", "Attic", 6, None)]
