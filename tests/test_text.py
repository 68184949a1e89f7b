import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drrn.text import Lexicon, bags_of, words

TEXTS = st.lists(st.text("abc '-.\n", max_size=12), max_size=12)


def test_words_are_lower_cased_and_keep_an_apostrophe_inside():
    assert words("Don't STOP—she's 14, o' clock; rock'n'roll") == [
        "don't", "stop", "she's", "14", "o", "clock", "rock'n'roll",
    ]  # fmt: skip
    assert words("It’s") == words("it's") == ["it's"]


def test_a_bag_counts_each_word():
    lexicon = Lexicon()
    text = lexicon.id("Wait, wait. Go!")
    assert lexicon.vocabulary == {"wait": 0, "go": 1}
    assert lexicon.bag(text) == {0: 2.0, 1: 1.0}


def test_a_bag_with_a_norm_is_scaled_to_it_by_the_words_that_are_known():
    lexicon = Lexicon(["wait", "go"], norm=5)
    lexicon.grows = False
    assert lexicon.bag(lexicon.id("Wait, wait. Go!")) == {0: np.float32(10 / 5**0.5), 1: np.float32(5 / 5**0.5)}
    assert lexicon.bag(lexicon.id("Go, zeppelin")) == {1: 5.0}
    assert lexicon.bag(lexicon.id("Zeppelin")) == {}


def test_a_text_is_read_once_and_has_one_number():
    lexicon = Lexicon()
    assert [lexicon.id("a b"), lexicon.id("b c"), lexicon.id("a b")] == [0, 1, 0]
    assert len(lexicon) == 2


def test_a_closed_vocabulary_counts_an_unknown_word_for_nothing():
    lexicon = Lexicon(["wait"])
    lexicon.grows = False
    assert lexicon.bag(lexicon.id("wait zeppelin")) == {0: 1.0}
    assert lexicon.spelled == ["wait"]


def test_a_text_read_while_closed_is_read_anew_when_the_vocabulary_grows():
    lexicon = Lexicon(["wait"])
    lexicon.grows = False
    closed = lexicon.id("wait zeppelin")
    lexicon.grows = True
    opened = lexicon.id("wait zeppelin")
    assert lexicon.bag(opened) == {0: 1.0, 1: 1.0} and opened != closed
    assert lexicon.id("wait zeppelin") == opened


@given(TEXTS)
def test_bags_end_to_end_are_the_bags_one_by_one(texts):
    lexicon = Lexicon()
    ids = np.array([lexicon.id(text) for text in texts] + [-1], np.int64)
    word_ids, counts, lengths = bags_of(lexicon, ids)
    assert lengths[-1] == 0 and lengths.sum() == len(word_ids) == len(counts)
    start = 0
    for text, length in zip(ids[:-1], lengths, strict=False):
        span = slice(start, start + length)
        assert dict(zip(word_ids[span].tolist(), counts[span].tolist(), strict=True)) == lexicon.bag(int(text))
        start += length


@given(TEXTS)
def test_a_restored_lexicon_counts_alike(texts):
    lexicon = Lexicon()
    ids = [lexicon.id(text) for text in texts]
    other = Lexicon()
    other.restore(lexicon.spelled, lexicon.texts, lexicon.arrays())
    assert [other.id(text) for text in texts] == ids
    assert other.id("quite new") == lexicon.id("quite new")
    assert other.bag(other.id("quite new")) == lexicon.bag(lexicon.id("quite new"))
