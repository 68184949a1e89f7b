"""Fuzz tests: a mutated input works, or fails with one sentence."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz_corpus import SNIPPETS
from tests.fuzzing import TARGETS, play

fuzz = settings(
    derandomize=True,
    deadline=None,
    max_examples=120,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@fuzz
@given(st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join))
def test_a_passage_of_snippets_plays_or_fails_with_one_sentence(tmp_path, text):
    path = tmp_path / "tale.twee"
    path.write_text(
        f":: Start\n{text}\n\n:: End\nThe end.\n\n:: Wall\n[[Start]]\n", encoding="utf-8"
    )
    play(path, lenient=True)


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_a_random_case_works_or_fails_with_one_sentence(tmp_path, target):
    for number in range(TARGETS[target]):
        target(tmp_path, random.Random(number))
