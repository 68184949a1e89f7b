"""Files of word vectors: all formats, unknown words, the cache, invalid files."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drrn.vectors import open_vectors
from tests.vector_files import FORMS, WORDS, glove, matrix, vector_file, word2vec_text
from textgames.errors import InputError
from textgames.files import home

WORD = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)


@given(st.lists(WORD, min_size=2, max_size=30, unique=True), st.integers(2, 9))
def test_all_formats_are_equal_for_any_words(tmp_path_factory, words, dimensions):
    folder = tmp_path_factory.mktemp("forms")
    vectors = matrix(words, dimensions)
    for name in FORMS:
        word_vectors = open_vectors(vector_file(folder, name, words, vectors))
        assert (len(word_vectors), word_vectors.dimensions) == (len(words), dimensions)
        assert list(word_vectors.ranks.items())[::-1] == [(w, i) for i, w in enumerate(words)]
        assert np.array_equal(word_vectors.vectors, vectors)
        second = word_vectors.vector(words[1])
        assert second is not None and np.array_equal(second, vectors[1])
        assert word_vectors.vector("no where") is None


@pytest.mark.parametrize(
    "content",
    [
        glove(WORDS, matrix(), end="\r\n"),
        glove(WORDS, matrix()).rstrip(b"\n"),
        b"\xef\xbb\xbf" + glove(WORDS, matrix()) + b"\n\r\n",
        b"\xef\xbb\xbf" + word2vec_text(WORDS, matrix()) + b"\n\r\n",
    ],
)
def test_ends_of_lines_a_byte_order_mark_and_blank_lines_do_not_matter(tmp_path, content):
    (tmp_path / "v.txt").write_bytes(content)
    word_vectors = open_vectors(tmp_path / "v.txt")
    assert word_vectors.ranks == {word: rank for rank, word in enumerate(WORDS)}
    assert np.array_equal(word_vectors.vectors, matrix())


def test_words_may_contain_spaces_and_the_first_of_two_equal_words_is_used(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"sea 1 2\nat name@domain 3 4\nat 5 6\nsea 7 8\n. . . 9 10\n")
    word_vectors = open_vectors(tmp_path / "v.txt")
    assert word_vectors.ranks == {"sea": 0, "at name@domain": 1, "at": 2, ". . .": 4}
    assert len(word_vectors) == 5


# --- unknown words


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("sea", ["sea"]),
        ("don't", ["do", "n't"]),
        ("captain's", ["captain", "'s"]),
        ("rock'sea", ["rock", "sea"]),
        ("12b", ["12", "b"]),
        ("12th", ["12", "th"]),
        ("7127", ["7", "1", "2", "7"]),
        ("brock", []),
        ("9", []),
    ],
)
def test_an_unknown_word_is_split_into_known_parts(tmp_path, word, parts):
    assert open_vectors(vector_file(tmp_path)).parts([word]) == [parts]


@pytest.mark.parametrize(
    ("word", "parts"),
    [("don't", ["do", "not"]), ("can't", ["not"]), ("captain's", ["captain"]), ("it'll", ["it"])],
)
def test_without_contractions_in_the_file_they_are_expanded(tmp_path, word, parts):
    words = [word for word in WORDS if "'" not in word]
    assert open_vectors(vector_file(tmp_path, words=words)).parts([word]) == [parts]


def test_words_have_sif_weights_by_rank(tmp_path):
    unit = np.eye(3, dtype=np.float32)
    word_vectors = open_vectors(vector_file(tmp_path, words=["the", "to", "sea"], vectors=unit))
    total = 1 + 1 / 2 + 1 / 3
    shares = [1 / total, 1 / 2 / total, 1 / 3 / total]
    rows = word_vectors.weighted(["sea", "the", "nowhere"])
    assert np.allclose(rows[0], [0, 0, 0.001 / (0.001 + shares[2])])
    assert np.allclose(rows[1], [0.001 / (0.001 + shares[0]), 0, 0])
    assert not rows[2].any()


# --- the cache


@pytest.mark.parametrize("name", FORMS)
def test_a_cached_file_is_mapped_and_has_the_same_vectors(tmp_path, monkeypatch, name):
    path = vector_file(tmp_path, name)
    first = open_vectors(path)
    monkeypatch.setattr("drrn.vectors._read", None)  # the file is not read again
    again = open_vectors(path)
    assert isinstance(again.vectors, np.memmap) and again.vectors.dtype == np.float32
    assert np.array_equal(again.vectors, first.vectors)
    assert (again.ranks, again.digest) == (first.ranks, first.digest)


def test_the_cache_is_rebuilt_if_it_is_damaged_or_the_file_has_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path / "home"))
    path = vector_file(tmp_path)
    first = open_vectors(path)
    for suffix in ("npy", "txt"):
        for copy in (home() / "cache").glob(f"vectors-*.{suffix}"):
            copy.write_bytes(b"broken")
        assert np.array_equal(open_vectors(path).vectors, first.vectors)
    vector_file(tmp_path, vectors=matrix(seed=1))
    os.utime(path, (1, 1))
    assert open_vectors(path).digest != first.digest


def test_vectors_are_read_without_a_writable_cache(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path / "file"))
    assert np.array_equal(open_vectors(vector_file(tmp_path)).vectors, matrix())


# --- invalid files

TEXT = glove(WORDS, matrix())
LINES = TEXT.splitlines(keepends=True)
HEADED = word2vec_text(WORDS, matrix())
INVALID = {
    "empty": (b"", "0 words"),
    "a truncated line": (TEXT.rstrip().rsplit(b" ", 2)[0], f"line {len(WORDS)}"),
    "a truncated number": (TEXT.rstrip(b"\n0123456789.") + b"-", f"line {len(WORDS)}"),
    "a shorter line": (LINES[0] + b"to 1 2\n" + LINES[2], "line 2: it is not a word and 6"),
    "not a number": (b"the 1 2 3\nsea 1 1,5 3\n", "line 2"),
    "a huge number": (b"the 1 2 3\nsea 1 1e99 3\n", '"sea" has a number that is not finite'),
    "prose": (b"It was a dark and stormy night.\nThe rain fell.\n", "line 1"),
    "a word": (b"sea\n", "line 1"),
    "one long line": (b"x" * 2**21, "line 1"),
    "word2vec's binary format": (b"2 3\nsea " + bytes(12) + b"\n", "line 2"),
    "a lost line after a header": (b"".join(HEADED.splitlines(keepends=True)[:-1]), "announces"),
    "a header without words": (b"0 6\n", "0 words"),
}


@pytest.mark.parametrize("case", INVALID)
def test_the_error_for_an_invalid_file_names_the_line(tmp_path, case):
    content, part = INVALID[case]
    (tmp_path / "v.txt").write_bytes(content)
    with pytest.raises(InputError) as error:
        open_vectors(tmp_path / "v.txt")
    assert str(tmp_path / "v.txt") in str(error.value) and part in str(error.value)


@given(st.sampled_from([TEXT, HEADED]), st.data())
def test_a_truncated_file_is_rejected_or_has_the_words_before_the_end(
    tmp_path_factory, content, data
):
    path = tmp_path_factory.mktemp("truncated") / "v"
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    try:
        word_vectors = open_vectors(path)
    except InputError as error:
        assert str(path) in str(error)
    else:  # truncation after a line or in its last digits cannot be recognised
        known = WORDS[: len(word_vectors)]
        assert word_vectors.ranks == {word: rank for rank, word in enumerate(known)}


@pytest.mark.parametrize("name", ["", "none.txt"])
def test_a_folder_and_a_missing_file_are_rejected(tmp_path, name):
    with pytest.raises(InputError, match="cannot be read"):
        open_vectors(tmp_path / name)
