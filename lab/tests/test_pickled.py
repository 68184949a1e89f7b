"""The reader of the authors' pickles accepts only plain data and runs no code."""

import pytest

from lab.authors.install import StoryNode, read_pickle
from tests.imitation import pickled_string
from textgames.errors import InputError

HARMFUL = {
    "a function": b"cos\nsystem\n(S'touch THE_CODE_WAS_RUN'\ntR.",
    "an instance": b"(S'touch THE_CODE_WAS_RUN'\nios\nsystem\n.",
    "a module": b'c__builtin__\neval\n(S\'open("THE_CODE_WAS_RUN", "w")\'\ntR.',
    "a newer protocol": b"\x80\x02cos\nsystem\nq\x00X\x05\x00\x00\x00touchq\x01\x85q\x02Rq\x03.",
}


@pytest.mark.parametrize("data", HARMFUL.values(), ids=HARMFUL)
def test_a_pickle_that_names_anything_but_the_storys_class_is_rejected(
    data, working_folder, tmp_path
):
    with pytest.raises(InputError, match=r"names (os|__builtin__|builtins)\.(system|eval)"):
        read_pickle(data)
    assert not list(tmp_path.rglob("THE_CODE_WAS_RUN"))


def test_plain_data_is_read():
    data = (
        b"(dp1\nS'a'\np2\n(lp3\nI-7\nag2\nas"
        + pickled_string("it’s “x”\n")
        + b"(i__main__\nStoryNode\n(dS'links'\ng3\nsbs."
    )
    content = read_pickle(data)
    node = content.pop("it’s “x”\n")
    assert isinstance(node, StoryNode) and node.links == [-7, "a"]
    assert content == {"a": [-7, "a"]}
