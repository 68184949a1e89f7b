"""Tensors and checkpoints of a run: written and read by the safetensors library."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from drrn.runs.tensors import checkpoint_bytes, load_checkpoint, load_tensors, tensor_bytes
from textgames.errors import InputError

KINDS = (np.float32, np.float64, np.int16, np.int32, np.int64, np.bool_)
SHAPES = arrays_of.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
ARRAYS = st.sampled_from(KINDS).flatmap(lambda kind: arrays_of.arrays(kind, SHAPES))
NAMES = st.text(max_size=12).filter(lambda name: name != "__metadata__")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("tensors") / "some.safetensors"


def assert_equal(result, arrays):
    assert result.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (result[name].dtype, result[name].shape) == (array.dtype, array.shape)
        assert result[name].tobytes() == array.tobytes()  # to the bit, NaN included


@given(arrays=st.dictionaries(NAMES, ARRAYS, min_size=1, max_size=4), note=st.text(max_size=20))
def test_tensors_and_metadata_are_read_back(path, arrays, note):
    path.write_bytes(tensor_bytes(arrays, {"note": note}))
    result, metadata = load_tensors(path)
    assert_equal(result, arrays)
    assert metadata == {"note": note}


def test_an_array_that_is_not_contiguous_is_written_in_its_order(path):
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    path.write_bytes(tensor_bytes({"x": array}))
    assert_equal(load_tensors(path)[0], {"x": np.ascontiguousarray(array)})


STATE: dict[str, Any] = {
    "round": 3,
    "parts": [{"x": np.arange(3), "y": [1, "two"]}, {"x": np.zeros(0)}],
}


def test_a_checkpoint_is_read_back_and_has_the_same_bytes_each_time(path):
    path.write_bytes(checkpoint_bytes(STATE))
    state: Any = load_checkpoint(path)
    assert state["round"] == 3 and state["parts"][0]["y"] == [1, "two"]
    assert_equal(state["parts"][0] | {"y": np.zeros(1)}, STATE["parts"][0] | {"y": np.zeros(1)})
    assert checkpoint_bytes(STATE) == checkpoint_bytes(state)


def test_a_checkpoint_of_another_edition_is_rejected(path, monkeypatch):
    monkeypatch.setattr("drrn.runs.tensors.EDITION", 1)
    path.write_bytes(checkpoint_bytes(STATE))
    monkeypatch.undo()
    with pytest.raises(InputError, match="another version of drrn"):
        load_checkpoint(path)
