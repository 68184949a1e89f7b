"""The pickles of the paper's games: plain data and passages are read, and nothing is run."""

import pytest

from drrn.errors import InputError
from drrn.lab.authors.stories import StoryNode, read_pickle
from tests.imitation import pickled_string

HARMFUL = {
    "a function": b"cos\nsystem\n(S'touch THE_CODE_WAS_RUN'\ntR.",
    "an instance": b"(S'touch THE_CODE_WAS_RUN'\nios\nsystem\n.",
    "a newer protocol": b"\x80\x02cos\nsystem\nq\x00X\x05\x00\x00\x00touchq\x01\x85q\x02Rq\x03.",
    "a name with dots": b"\x80\x04\x8c\x02os\x8c\x06system\x93(X\x05\x00\x00\x00touchtR.",
}


@pytest.mark.parametrize("data", HARMFUL.values(), ids=HARMFUL)
def test_a_pickle_that_names_anything_but_the_storys_class_is_rejected(
    data, working_folder, tmp_path
):
    with pytest.raises(InputError, match=r"names os\.system"):
        read_pickle(data)
    assert not list(tmp_path.rglob("THE_CODE_WAS_RUN"))


def test_plain_data_is_read():
    data = (
        b"(dp1\nS'a'\np2\n(lp3\nI-7\nag2\nas"
        + pickled_string("it’s “x”\n")
        + b"(i__main__\nStoryNode\n(dS'text'\ng2\nsbs."
    )
    result = read_pickle(data)
    node = result.pop("it’s “x”\n")
    assert result == {"a": [-7, "a"]}
    assert isinstance(node, StoryNode) and vars(node) == {"text": "a"}
