"""Fuzz tests: a mutated input works, or fails with one sentence."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz_corpus import GOOD_HTML, GOOD_TWEE, GOOD_TWINE_2, SNIPPETS, TOKENS
from tests.fuzzing import TARGETS, check_expression, play
from tests.mutations import flip_bytes, mutate

fuzz = settings(
    derandomize=True,
    deadline=None,
    max_examples=120,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

CUTS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 30),
        st.lists(st.sampled_from(SNIPPETS), max_size=4).map("".join),
    ),
    min_size=1,
    max_size=5,
)
FLIPS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=5)


@pytest.mark.full
@pytest.mark.parametrize("lenient", [True, False])
@fuzz
@given(cuts=CUTS)
def test_a_mutated_twee_file_plays_or_fails_with_one_sentence(tmp_path, lenient, cuts):
    path = tmp_path / "tale.twee"
    path.write_text(mutate(GOOD_TWEE, cuts), encoding="utf-8")
    play(path, lenient=lenient)


@pytest.mark.full
@pytest.mark.parametrize("text", [GOOD_HTML, GOOD_TWINE_2], ids=["Twine 1", "Twine 2"])
@fuzz
@given(cuts=CUTS)
def test_a_mutated_html_file_plays_or_fails_with_one_sentence(tmp_path, text, cuts):
    path = tmp_path / "tale.html"
    path.write_text(mutate(text, cuts), encoding="utf-8")
    play(path, lenient=True)


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "name"),
    [(GOOD_TWEE, "tale.twee"), (GOOD_HTML, "tale.html"), (GOOD_TWINE_2, "tale.html")],
    ids=["Twee", "Twine 1", "Twine 2"],
)
@fuzz
@given(flips=FLIPS)
def test_a_file_with_changed_bytes_plays_or_fails_with_one_sentence(tmp_path, text, name, flips):
    path = tmp_path / name
    path.write_bytes(flip_bytes(text.encode(), flips))
    play(path, lenient=True)


@fuzz
@given(st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join))
def test_a_passage_of_snippets_plays_or_fails_with_one_sentence(tmp_path, text):
    path = tmp_path / "tale.twee"
    path.write_text(
        f":: Start\n{text}\n\n:: End\nThe end.\n\n:: Wall\n[[Start]]\n", encoding="utf-8"
    )
    play(path, lenient=True)


@fuzz
@given(st.binary(max_size=300))
def test_arbitrary_bytes_play_or_fail_with_one_sentence(tmp_path, data):
    for name in ("tale.twee", "tale.html"):
        path = tmp_path / name
        path.write_bytes(data)
        play(path, lenient=True)


@pytest.mark.full
@settings(fuzz, max_examples=600)
@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=14).map(" ".join))
def test_an_expression_has_a_value_or_a_short_error(source):
    check_expression(source)


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_a_random_case_works_or_fails_with_one_sentence(tmp_path, target):
    for number in range(TARGETS[target]):
        target(tmp_path, random.Random(number))
