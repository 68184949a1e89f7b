"""Files of word vectors: all formats, unknown words, the cache, invalid files."""

import os
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drrn.vectors import open_vectors
from tests.vector_files import FORMS, WORDS, glove, matrix, vector_file, word2vec_text
from textgames.errors import InputError
from textgames.files import home


def vector_of(vectors, word):
    """Return the vector of a word that has one."""
    vector = vectors.vector(word)
    assert vector is not None
    return vector


@pytest.mark.parametrize("name", FORMS)
def test_every_format_has_the_words_and_vectors_of_the_file(tmp_path, name):
    word_vectors = open_vectors(vector_file(tmp_path, name))
    assert (len(word_vectors), word_vectors.dimensions) == (len(WORDS), 6)
    for rank, (word, row) in enumerate(zip(WORDS, matrix(), strict=True)):
        assert word_vectors.rank(word) == rank and np.array_equal(
            vector_of(word_vectors, word), row
        )
    assert word_vectors.rank("nowhere") is None
    assert word_vectors.vector("nowhere") is None


WORD = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)


@given(st.lists(WORD, min_size=2, max_size=30, unique=True), st.integers(2, 9))
def test_all_formats_are_equal_for_any_words(tmp_path_factory, words, dimensions):
    folder = tmp_path_factory.mktemp("forms")
    vectors = matrix(words, dimensions)
    for name in FORMS:
        word_vectors = open_vectors(vector_file(folder, name, words, vectors))
        assert [word_vectors.rank(word) for word in words] == list(range(len(words)))
        for word, row in zip(words, vectors, strict=True):
            assert np.array_equal(vector_of(word_vectors, word), row)


def test_any_line_ends_and_a_last_line_without_one_are_read(tmp_path):
    for text in (glove(WORDS, matrix(), end="\r\n"), glove(WORDS, matrix()).rstrip(b"\n")):
        (tmp_path / "v.txt").write_bytes(text)
        word_vectors = open_vectors(tmp_path / "v.txt")
        assert np.array_equal(vector_of(word_vectors, "down"), matrix()[-1])


@pytest.mark.parametrize("write", [glove, word2vec_text])
def test_a_byte_order_mark_and_blank_lines_at_the_end_are_skipped(tmp_path, write):
    (tmp_path / "v.txt").write_bytes(b"\xef\xbb\xbf" + write(WORDS, matrix()) + b"\n\r\n")
    word_vectors = open_vectors(tmp_path / "v.txt")
    assert len(word_vectors) == len(WORDS)
    assert np.array_equal(vector_of(word_vectors, WORDS[0]), matrix()[0])
    assert np.array_equal(vector_of(word_vectors, WORDS[-1]), matrix()[-1])


def test_words_may_contain_spaces_and_the_first_of_two_equal_words_is_used(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"sea 1 2\nat name@domain 3 4\nat 5 6\nsea 7 8\n. . . 9 10\n")
    word_vectors = open_vectors(tmp_path / "v.txt")
    assert len(word_vectors) == 5
    assert vector_of(word_vectors, "at").tolist() == [5, 6]
    assert vector_of(word_vectors, "sea").tolist() == [1, 2]


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


# --- memory and the cache


@pytest.mark.parametrize("name", FORMS)
def test_a_cached_file_is_mapped_and_has_the_same_vectors(tmp_path, monkeypatch, name):
    path = vector_file(tmp_path, name)
    first = open_vectors(path, cached_size=0)
    monkeypatch.setattr("drrn.vectors._copy", None)  # the file is not read again
    again = open_vectors(path, cached_size=0)
    for word_vectors in (first, again):
        assert (
            isinstance(word_vectors.vectors, np.memmap) and word_vectors.vectors.dtype == np.float32
        )
        assert np.array_equal(word_vectors.vectors, matrix())
        assert [word_vectors.rank(word) for word in WORDS] == list(range(len(WORDS)))
    assert again.digest == first.digest


def test_the_cache_is_rebuilt_if_it_is_damaged_or_the_file_has_changed(tmp_path):
    path = vector_file(tmp_path)
    first = open_vectors(path, cached_size=0)
    for suffix in ("npz", "f32"):
        for copy in (home() / "cache").glob(f"vectors-*.{suffix}"):
            copy.write_bytes(b"broken")
        again = open_vectors(path, cached_size=0)
        assert np.array_equal(vector_of(again, "sea"), vector_of(first, "sea"))
    vector_file(tmp_path, vectors=matrix(seed=1))
    os.utime(path, (1, 1))
    assert open_vectors(path, cached_size=0).digest != first.digest


def test_vectors_are_read_without_a_writable_cache(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path / "file"))
    word_vectors = open_vectors(vector_file(tmp_path), cached_size=0)
    assert np.array_equal(vector_of(word_vectors, "sea"), matrix()[7])


def test_a_damaged_file_leaves_nothing_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path / "home"))
    (tmp_path / "v.txt").write_bytes(TEXT[:-10])
    with pytest.raises(InputError, match=r"v\.txt"):
        open_vectors(tmp_path / "v.txt", cached_size=0)
    assert list((tmp_path / "home" / "cache").iterdir()) == []


# --- invalid files

TEXT = glove(WORDS, matrix())
LINES = TEXT.splitlines(keepends=True)
HEADED = word2vec_text(WORDS, matrix())
INVALID = {
    "empty": (b"", "0 words"),
    "a truncated line": (TEXT.rstrip().rsplit(b" ", 2)[0], f"line {len(WORDS)}: 4 numbers"),
    "a truncated number": (TEXT.rstrip(b"\n0123456789.") + b"-", f"line {len(WORDS)}: 5 numbers"),
    "a shorter line": (LINES[0] + b"to 1 2\n" + LINES[2], "line 2: 2 numbers"),
    "a longer line": (LINES[0] + b"to 1 2 3 4 5 6 7\n" + LINES[2], "line 2: 7 numbers"),
    "prose": (b"It was a dark and stormy night.\nThe rain fell.\n", "line 1: 0 numbers"),
    "a word": (b"sea\n", "line 1: 0 numbers"),
    "compressed": (b"\x1f\x8b\x08\0\0\0", "line 1: 0 numbers"),
    "one long line": (b"x" * 2**21, "line 1: over a million bytes"),
    "word2vec's binary format": (b"2 3\nsea " + bytes(12) + b"\n", "line 2: 0 numbers"),
    "a lost line after a header": (b"".join(HEADED.splitlines(keepends=True)[:-1]), "announces"),
    "a header without words": (b"0 6\n", "0 words"),
    "a header of huge numbers": (
        b"9" * 18 + b" " + b"9" * 18 + b"\nsea 1 2\n",
        "line 2: 2 numbers",
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_the_error_for_an_invalid_file_names_the_line(tmp_path, case):
    content, part = INVALID[case]
    (tmp_path / "v.txt").write_bytes(content)
    with pytest.raises(InputError) as error:
        open_vectors(tmp_path / "v.txt")
    assert str(tmp_path / "v.txt") in str(error.value) and part in str(error.value)


@pytest.mark.full
def test_an_invalid_file_of_five_gigabytes_is_rejected_with_little_memory(tmp_path):
    path = tmp_path / "v.bin"
    with path.open("wb") as file:
        file.write(b"sea 1 2 3\n" * 20_000)
        file.truncate(5 * 2**30)  # a sparse file takes no space on the disk
    tracemalloc.start()
    with pytest.raises(InputError, match=r"line 20001"):
        open_vectors(path)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()


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
        assert [word_vectors.rank(word) for word in known] == list(range(len(known)))


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e99", "x", "1,5"])
def test_an_invalid_number_is_reported_when_its_word_is_used(tmp_path, number):
    (tmp_path / "v.txt").write_bytes(
        b"the 1 2 3\n" + f"sea 1 {number} 3\n".encode() + b"go 1 2 3\n"
    )
    if number in ("x", "1,5"):
        with pytest.raises(InputError, match="line 2"):
            open_vectors(tmp_path / "v.txt").vector("sea")
        return
    word_vectors = open_vectors(tmp_path / "v.txt")
    with pytest.raises(InputError, match="word 2: number 2 is not finite"):
        word_vectors.vector("sea")


def test_a_folder_and_a_missing_file_are_rejected(tmp_path):
    with pytest.raises(InputError, match=re.escape(str(tmp_path))):
        open_vectors(tmp_path)
    with pytest.raises(InputError, match=r"none\.txt"):
        open_vectors(tmp_path / "none.txt")


def test_vectors_stay_readable_after_the_file_is_deleted(tmp_path):
    path = vector_file(tmp_path)
    word_vectors = open_vectors(path)
    path.unlink()
    assert np.array_equal(vector_of(word_vectors, "sea"), matrix()[7])
