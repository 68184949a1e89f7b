"""Training on pages with very many actions or words."""

import resource

import pytest

import drrn
from drrn.game.contract import Observation
from tests.sample_games import Walk


class Hall(Walk):
    """Many doors, and many words, on each page."""

    doors, more = 2000, 0

    def current_page(self):
        page = super().current_page()
        doors = tuple(f"door {number % 10} of row {number // 10}" for number in range(self.doors))
        return Observation(
            page.text + " so on" * self.more, doors if page.actions else (), page.reward
        )

    def step(self, index):
        if not 0 <= index < self.doors:
            raise IndexError(index)
        return super().step(index % 2)


@pytest.mark.parametrize("paper", [True, False])
@pytest.mark.parametrize(("doors", "more"), [(2000, 0), (3, 170_000)])
def test_a_page_of_2000_links_or_of_a_megabyte_takes_the_memory_that_it_needs(doors, more, paper):
    hall = Hall()
    hall.doors, hall.more = doors, more
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    few = {
        "rounds": 1,
        "episodes_per_round": 5,
        "replicas": 2,
        "hidden": 20,
        "evaluation_episodes": 2,
    }
    (done,) = drrn.trainer(hall, paper=paper, **few, **({} if paper else {"updates": 10})).train()
    assert done.transitions >= 10
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
    )  # kB; it was 8,400,000
