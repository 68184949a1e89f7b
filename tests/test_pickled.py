"""The reader of pickles accepts only plain data and runs no code."""

import random

import pytest

from drrn.errors import InputError
from drrn.lab.authors.pickled import Record, read_pickle
from tests.imitation import GATE, pickled_story, pickled_string

HARMFUL = {
    "a function": b"cos\nsystem\n(S'touch THE_CODE_WAS_RUN'\ntR.",
    "an instance": b"(S'touch THE_CODE_WAS_RUN'\nios\nsystem\n.",
    "a module": b'c__builtin__\neval\n(S\'open("THE_CODE_WAS_RUN", "w")\'\ntR.',
    "the story's class, looked up": b"c__main__\nStoryNode\n.",
    "a newer protocol": b"\x80\x02cos\nsystem\nq\x00X\x05\x00\x00\x00touchq\x01\x85q\x02Rq\x03.",
    "a name in bytes": b"c\xff\nx\n.",
}


@pytest.mark.parametrize("data", HARMFUL.values(), ids=HARMFUL)
def test_a_pickle_that_names_anything_but_the_storys_class_is_rejected(
    data, working_folder, tmp_path
):
    with pytest.raises(InputError, match=r"story\.pickle, byte \d+: .*the file was not used"):
        read_pickle(data, "story.pickle")
    assert not list(tmp_path.rglob("THE_CODE_WAS_RUN"))


def test_the_error_for_a_rejected_name_contains_it():
    with pytest.raises(InputError, match=r'it names "os\.system"'):
        read_pickle(HARMFUL["a function"], "x")


def test_plain_data_is_read():
    data = (
        b"(dp1\nS'a'\np2\n(lp3\nI-7\nag2\nas"
        + pickled_string("it’s “x”\n")
        + b"(i__main__\nStoryNode\n(dS'k'\ng3\nsbs."
    )
    assert read_pickle(data, "x") == {"a": [-7, "a"], "it’s “x”\n": Record({"k": [-7, "a"]})}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b".",
        b"(",
        b"d.",
        b"a.",
        b"s.",
        b"b.",
        b"(dI1\nI2\ns.",
        b"(lI1\na",
        b"I1\nI2\n.",
        b"I1\n.I2\n.",
        b"((t.",
        b"Ix\n.",
        b"I" + b"9" * 10_000 + b"\n.",
        b"Sabc\n.",
        b"S'a\n.",
        b"S'\\xff'\n.",
        b"S'\\x'\n.",
        b"g1\n.",
        b"p1\n.",
        b"(I1\nd.",
        b"(I1\ni__main__\nStoryNode\n.",
        b"S'a'(('\n.",
        b"(dI1\nb.",
        b"(l(dp1\ng1\ng1\ns.",
    ],
)
def test_a_truncated_pickle_is_rejected(data):
    with pytest.raises(InputError):
        read_pickle(data, "x")


def test_truncated_and_changed_pickles_are_read_or_rejected():
    story = pickled_story(GATE, "Door")
    generator = random.Random(1)
    for trial in range(400):
        data = bytearray(story)
        for _ in range(generator.randint(1, 3)):
            byte = generator.choice(b"()lditSIVpgas.cbR0\n'\\\x80") if trial % 2 else trial % 256
            data[generator.randrange(len(data))] = byte
        if trial % 3 == 0:
            del data[generator.randrange(len(data)) :]
        try:
            read_pickle(bytes(data), "story.pickle")
        except InputError as error:
            assert "story.pickle" in str(error)
