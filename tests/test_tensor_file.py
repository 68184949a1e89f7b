"""Our tensor files are safetensors: what we write the library reads, and what it writes we read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from drrn.runs.tensor_file import KINDS, load, save

safetensors = pytest.importorskip("safetensors")
library = pytest.importorskip("safetensors.numpy")

SHAPES = arrays_of.array_shapes(
    min_dims=0, max_dims=4, min_side=0, max_side=4
)  # a number alone, and nothing, too
ARRAYS = st.sampled_from(list(KINDS.values())).flatmap(lambda kind: arrays_of.arrays(kind, SHAPES))
NAMES = st.text(max_size=12).filter(lambda name: name != "__metadata__")
METADATA = st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=3)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("tensors") / "some.safetensors"


def assert_the_same(found, arrays):
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()  # to the bit, and what is no number, too


@given(arrays=st.dictionaries(NAMES, ARRAYS, max_size=4), metadata=METADATA)
def test_what_we_write_the_library_reads(path, arrays, metadata):
    save(path, arrays, metadata)
    assert_the_same(library.load_file(path), arrays)
    with safetensors.safe_open(path, "numpy") as file:
        assert (file.metadata() or {}) == metadata


@given(arrays=st.dictionaries(NAMES, ARRAYS, max_size=4), metadata=METADATA)
def test_what_the_library_writes_we_read(path, arrays, metadata):
    library.save_file(
        arrays, path, metadata or None
    )  # of no array and empty metadata it makes a broken header
    found, told = load(path)
    assert_the_same(found, arrays)
    assert told == metadata


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_of_number_goes_both_ways(path, kind):
    arrays = {"two rows": np.arange(6).reshape(2, 3).astype(kind), "none": np.zeros((0, 4), kind)}
    save(path, arrays, {"note": "ü"})
    assert_the_same(library.load_file(path), arrays)
    library.save_file(arrays, path)
    assert_the_same(load(path)[0], arrays)


def test_an_array_whose_rows_lie_apart_is_written_in_its_own_order(path):
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    save(path, {"x": array})
    assert_the_same(library.load_file(path), {"x": np.ascontiguousarray(array)})
