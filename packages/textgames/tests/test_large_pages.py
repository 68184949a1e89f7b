"""Training on pages with very many actions or words."""

import resource
from typing import Any

import pytest

import drrn
from tests.sample_games import Walk
from textgames.game.contract import Observation


class Hall(Walk):
    """Pages with many doors and many words."""

    def __init__(self, doors, words):
        self.doors = doors
        self.words = words

    def current_page(self):
        page = super().current_page()
        doors = tuple(f"door {number % 10} of row {number // 10}" for number in range(self.doors))
        text = page.text + " so on" * self.words
        return Observation(text, doors if page.actions else (), page.reward)

    def step(self, index):
        if not 0 <= index < self.doors:
            raise IndexError(index)
        return super().step(index % 2)


@pytest.mark.parametrize(
    ("doors", "words", "recipe"),
    [(2000, 0, {"paper": True}), (2000, 0, {"updates": 10}), (3, 170_000, {"updates": 10})],
)
def test_a_page_of_2000_links_or_of_a_megabyte_needs_little_memory(doors, words, recipe):
    small: dict[str, Any] = {"rounds": 1, "episodes_per_round": 5, "evaluation_episodes": 2}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    trainer = drrn.trainer(Hall(doors, words), replicas=2, hidden=20, **small, **recipe)
    (finished,) = trainer.train()
    assert finished.transitions >= 10
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 500_000  # kB
