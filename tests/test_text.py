"""Words, texts and bags of words: how they are numbered, counted, kept and restored."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drrn.text import Lexicon, Store, Vocabulary
from drrn.writing import words
from tests.bags import bag_of

TEXTS = st.lists(st.text("abc '-.\n", max_size=12), max_size=12)


def test_words_are_lower_cased_and_keep_an_apostrophe_inside():
    assert words("Don't STOP—she's 14, o' clock; rock'n'roll") == [
        "don't", "stop", "she's", "14", "o", "clock", "rock'n'roll",
    ]  # fmt: skip
    assert words("It’s") == words("it's") == ["it's"]


def texts(*known):
    return Lexicon(Vocabulary(known))


def test_a_text_is_the_sequence_of_its_words_and_its_bag_counts_them():
    read = texts()
    text = read.id("Wait, go, wait.")
    assert read.vocabulary.numbers == {"wait": 0, "go": 1}
    assert read.words_of(np.array([text])).tolist() == [0, 1, 0]
    assert bag_of(read, text) == {0: 2.0, 1: 1.0}


def test_a_bag_with_a_norm_is_scaled_to_it_by_the_words_that_are_known():
    read = texts("wait", "go").scratch()
    ids = [read.id(text) for text in ("Wait, wait. Go!", "Go, zeppelin", "Zeppelin")]
    assert bag_of(read, ids[0], 5) == {0: np.float32(10 / 5**0.5), 1: np.float32(5 / 5**0.5)}
    assert bag_of(read, ids[1], 5) == {1: 5.0} and bag_of(read, ids[2], 5) == {}


def test_a_text_is_read_once_and_has_one_number():
    read = texts()
    assert [read.id("a b"), read.id("b c"), read.id("a b")] == [0, 1, 0]
    assert len(read) == 2


def test_a_scratch_store_learns_no_words_and_leaves_the_store_as_it_is():
    read = texts("wait")
    known = read.id("wait")
    scratch = read.scratch()
    first = scratch.id("wait zeppelin")
    second = scratch.id("wait")
    assert bag_of(scratch, first) == {0: 1.0}
    assert read.vocabulary.spelled == ["wait"] and len(read) == 1
    assert scratch.parent_ids.tolist() == [-1, known] and second == 1
    grown = read.id("wait zeppelin")
    assert bag_of(read, grown) == {0: 1.0, 1: 1.0}


@given(TEXTS)
def test_bags_end_to_end_are_the_bags_one_by_one(written):
    read = texts()
    ids = np.array([read.id(text) for text in written] + [-1], np.int64)
    word_ids, counts, lengths = read.bags(ids)
    assert lengths[-1] == 0 and lengths.sum() == len(word_ids) == len(counts)
    start = 0
    for text, length in zip(ids[:-1], lengths, strict=False):
        span = slice(start, start + length)
        bag = dict(zip(word_ids[span].tolist(), counts[span].tolist(), strict=True))
        assert bag == bag_of(read, int(text))
        start += length


@given(TEXTS, TEXTS)
def test_bags_that_were_made_in_two_goes_are_those_made_in_one(early, late):
    one = texts()
    two = texts()
    for text in early:
        two.id(text)
    two.count_words()
    for text in early + late:
        one.id(text)
        two.id(text)
    for text in set(early + late):
        assert bag_of(one, one.id(text)) == bag_of(two, two.id(text)) == dict(expected(one, text))


def expected(read, text):
    found = words(text)
    return {read.vocabulary.numbers[word]: float(found.count(word)) for word in found}


@given(TEXTS, st.data())
def test_what_is_kept_has_new_numbers_and_the_same_words(written, data):
    read = texts()
    ids = np.unique([read.id(text) for text in written]).astype(np.int64)
    used = ids[[data.draw(st.booleans()) for _ in ids]] if len(ids) else ids
    before = {int(text): bag_of(read, int(text)) for text in used}
    renumbered = read.keep(used)
    assert len(read) == len(used) and renumbered[-1] == -1
    for text, bag in before.items():
        assert bag_of(read, int(renumbered[text])) == bag
    for text in written:
        read.id(text)
    assert len(read) == len(ids)  # those that were forgotten are read anew


@given(TEXTS)
def test_a_restored_store_counts_alike(written):
    store = Store.of_words()
    ids = [store.states.id(text) for text in written]
    other = Store.of_words()
    other.restore(store.state(texts=True), texts=True)
    assert [other.states.id(text) for text in written] == ids
    assert other.states.id("quite new") == store.states.id("quite new")
    new = store.states.id("quite new")
    assert bag_of(other.states, new) == bag_of(store.states, new)


def test_a_shared_store_has_one_side():
    store = Store.of_words(["a"], shared=True)
    assert store.page("a b", ["b a"]) == (0, [1]) and list(store.sides) == ["states"]
    scratch = store.scratch()
    assert scratch.states is scratch.actions
