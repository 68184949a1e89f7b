"""Words, texts and bags of words: ids, counts, removal and saved state."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drrn.text import Lexicon, Store, Vocabulary
from tests.bags import bag_of
from textgames.wording import words

TEXTS = st.lists(st.text("abc '-.\n", max_size=12), max_size=12)


def test_words_are_lower_cased_and_keep_an_apostrophe_inside():
    expected = ["don't", "stop", "she's", "14", "o", "clock", "rock'n'roll"]
    assert words("Don't STOP—she's 14, o' clock; rock'n'roll") == expected
    assert words("It’s") == words("it's") == ["it's"]


def lexicon_of(*words):
    return Lexicon(Vocabulary(words))


def test_a_text_is_a_sequence_of_words_and_its_bag_counts_them():
    lexicon = lexicon_of()
    text = lexicon.id("Wait, go, wait.")
    assert lexicon.vocabulary.numbers == {"wait": 0, "go": 1}
    assert lexicon.words_of(np.array([text])).tolist() == [0, 1, 0]
    assert bag_of(lexicon, text) == {0: 2.0, 1: 1.0}


def test_a_scratch_store_adds_no_words_and_does_not_change_its_parent():
    lexicon = lexicon_of("wait")
    parent = lexicon.id("wait")
    scratch = lexicon.scratch()
    first = scratch.id("wait zeppelin")
    second = scratch.id("wait")
    assert bag_of(scratch, first) == {0: 1.0}
    assert lexicon.vocabulary.spelled == ["wait"] and len(lexicon) == 1
    assert scratch.parent_ids.tolist() == [-1, parent] and second == 1
    new = lexicon.id("wait zeppelin")
    assert bag_of(lexicon, new) == {0: 1.0, 1: 1.0}


@given(TEXTS)
def test_gathered_bags_equal_single_bags(texts):
    lexicon = lexicon_of()
    ids = np.array([lexicon.id(text) for text in texts] + [-1], np.int64)
    word_ids, counts, lengths = lexicon.bags(ids)
    assert lengths[-1] == 0 and lengths.sum() == len(word_ids) == len(counts)
    start = 0
    for text, length in zip(ids[:-1], lengths, strict=False):
        span = slice(start, start + length)
        bag = dict(zip(word_ids[span].tolist(), counts[span].tolist(), strict=True))
        assert bag == bag_of(lexicon, int(text))
        start += length


@given(TEXTS, TEXTS)
def test_bags_computed_in_two_calls_equal_those_of_one_call(early, late):
    one = lexicon_of()
    two = lexicon_of()
    for text in early:
        two.id(text)
    two.bags(np.arange(len(two)))
    for text in early + late:
        one.id(text)
        two.id(text)
    for text in set(early + late):
        assert bag_of(one, one.id(text)) == bag_of(two, two.id(text)) == counts_of(one, text)


def counts_of(lexicon, text):
    tokens = words(text)
    return {lexicon.vocabulary.numbers[word]: float(tokens.count(word)) for word in tokens}


@given(TEXTS, st.data())
def test_remaining_texts_have_new_ids_and_the_same_words(texts, data):
    lexicon = lexicon_of()
    ids = np.unique([lexicon.id(text) for text in texts]).astype(np.int64)
    used = ids[[data.draw(st.booleans()) for _ in ids]] if len(ids) else ids
    before = {int(text): bag_of(lexicon, int(text)) for text in used}
    new_ids = lexicon.keep(used)
    assert len(lexicon) == len(used) and new_ids[-1] == -1
    for text, bag in before.items():
        assert bag_of(lexicon, int(new_ids[text])) == bag
    for text in texts:
        lexicon.id(text)
    assert len(lexicon) == len(ids)  # removed texts are added again


@given(TEXTS)
def test_a_restored_store_has_the_same_ids_and_bags(texts):
    store = Store.of_words()
    ids = [store.states.id(text) for text in texts]
    other = Store.of_words()
    other.restore(store.state(texts=True), texts=True)
    assert [other.states.id(text) for text in texts] == ids
    assert other.states.id("quite new") == store.states.id("quite new")
    new = store.states.id("quite new")
    assert bag_of(other.states, new) == bag_of(store.states, new)


def test_a_shared_store_has_one_side():
    store = Store.of_words(["a"], shared=True)
    assert store.page("a b", ["b a"]) == (0, [1]) and list(store.sides) == ["states"]
    scratch = store.scratch()
    assert scratch.states is scratch.actions
