"""Word vectors are read from every form of file alike, on demand; a bad file is one sentence."""

import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drrn.errors import InputError
from drrn.files import home
from drrn.vectors import open_vectors
from tests.vector_files import (
    FORMS,
    WORDS,
    glove,
    matrix,
    vector_file,
    word2vec_binary,
    word2vec_text,
)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_words_and_vectors_that_were_written(tmp_path, name):
    opened = open_vectors(vector_file(tmp_path, name))
    assert (len(opened), opened.dimensions) == (len(WORDS), 6)
    for rank, (word, row) in enumerate(zip(WORDS, matrix(), strict=True)):
        assert opened.rank(word) == rank and np.array_equal(opened.vector(word), row)
    assert opened.rank("nowhere") is None and opened.vector("nowhere") is None


SPELLED = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)


@given(st.lists(SPELLED, min_size=2, max_size=30, unique=True), st.integers(2, 9))
def test_all_forms_are_equal_whatever_the_words(tmp_path_factory, words, dimensions):
    folder = tmp_path_factory.mktemp("forms")
    vectors = matrix(words, dimensions)
    for name in FORMS:
        opened = open_vectors(vector_file(folder, name, words, vectors))
        assert [opened.rank(word) for word in words] == list(range(len(words)))
        for word, row in zip(words, vectors, strict=True):
            assert np.array_equal(opened.vector(word), row)


def test_line_ends_of_any_system_and_a_last_line_without_one_are_read(tmp_path):
    for text in (glove(WORDS, matrix(), end="\r\n"), glove(WORDS, matrix()).rstrip(b"\n")):
        (tmp_path / "v.txt").write_bytes(text)
        assert np.array_equal(open_vectors(tmp_path / "v.txt").vector("down"), matrix()[-1])


@pytest.mark.parametrize("written", [glove, word2vec_text])
def test_a_mark_of_utf_8_at_the_beginning_and_blank_lines_at_the_end_are_passed_over(
    tmp_path, written
):
    (tmp_path / "v.txt").write_bytes(b"\xef\xbb\xbf" + written(WORDS, matrix()) + b"\n\r\n")
    opened = open_vectors(tmp_path / "v.txt")
    assert len(opened) == len(WORDS) and np.array_equal(opened.vector(WORDS[0]), matrix()[0])
    assert np.array_equal(opened.vector(WORDS[-1]), matrix()[-1])


def test_a_binary_file_without_line_ends_is_read(tmp_path):
    (tmp_path / "v.bin").write_bytes(word2vec_binary(WORDS, matrix(), end=b""))
    assert np.array_equal(open_vectors(tmp_path / "v.bin").vector("down"), matrix()[-1])


def test_a_word_of_the_file_may_hold_spaces_and_of_two_alike_the_first_counts(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"sea 1 2\nat name@domain 3 4\nat 5 6\nsea 7 8\n. . . 9 10\n")
    opened = open_vectors(tmp_path / "v.txt")
    assert (
        len(opened) == 5
        and opened.vector("at").tolist() == [5, 6]
        and opened.vector("sea").tolist() == [1, 2]
    )


# --- words that the file does not have


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
def test_an_unknown_word_is_read_in_the_parts_that_the_file_has(tmp_path, word, parts):
    assert open_vectors(vector_file(tmp_path)).parts([word]) == [parts]


@pytest.mark.parametrize(
    ("word", "parts"),
    [("don't", ["do", "not"]), ("can't", ["not"]), ("captain's", ["captain"]), ("it'll", ["it"])],
)
def test_where_the_file_was_not_cut_at_endings_they_are_read_as_what_they_stand_for(
    tmp_path, word, parts
):
    words = [word for word in WORDS if "'" not in word]
    assert open_vectors(vector_file(tmp_path, words=words)).parts([word]) == [parts]


def test_words_are_weighted_by_their_rank_as_sif_does(tmp_path):
    opened = open_vectors(
        vector_file(tmp_path, words=["the", "to", "sea"], vectors=np.eye(3, dtype=np.float32))
    )
    total = 1 + 1 / 2 + 1 / 3
    shares = [1 / total, 1 / 2 / total, 1 / 3 / total]
    rows = opened.weighted(["sea", "the", "nowhere"])
    assert np.allclose(rows[0], [0, 0, 0.001 / (0.001 + shares[2])])
    assert np.allclose(rows[1], [0.001 / (0.001 + shares[0]), 0, 0])
    assert not rows[2].any()


# --- memory and time


def test_the_index_takes_sixteen_bytes_a_word_whatever_the_dimensions(tmp_path):
    words = [f"word{number}" for number in range(5000)]
    for dimensions in (2, 200):
        path = vector_file(tmp_path, words=words, vectors=matrix(words, dimensions))
        opened = open_vectors(path)
        assert opened.hashes.nbytes + opened.ranks.nbytes == 16 * 5000


@pytest.fixture
def cached(monkeypatch):
    """Files of any size are copied into the cache."""
    monkeypatch.setattr("drrn.vectors.CACHED_SIZE", 0)


@pytest.mark.parametrize("name", FORMS)
def test_a_cached_file_is_mapped_and_has_the_same_vectors(tmp_path, monkeypatch, cached, name):
    path = vector_file(tmp_path, name)
    first = open_vectors(path)
    monkeypatch.setattr("drrn.vectors._read", None)  # the file is not read again
    again = open_vectors(path)
    for opened in (first, again):
        assert isinstance(opened.vectors, np.memmap) and opened.vectors.dtype == np.float32
        assert np.array_equal(opened.vectors, matrix())
        assert [opened.rank(word) for word in WORDS] == list(range(len(WORDS)))
    assert again.digest == first.digest


def test_a_copy_is_made_again_if_it_is_damaged_or_the_file_has_changed(tmp_path, cached):
    path = vector_file(tmp_path)
    first = open_vectors(path)
    for suffix in ("npz", "f32"):
        for copy in (home() / "cache").glob(f"vectors-*.{suffix}"):
            copy.write_bytes(b"broken")
        assert np.array_equal(open_vectors(path).vector("sea"), first.vector("sea"))
    vector_file(tmp_path, vectors=matrix(seed=1))
    os.utime(path, (1, 1))
    assert open_vectors(path).digest != first.digest


def test_a_cache_that_cannot_be_written_is_not_needed(tmp_path, monkeypatch, cached):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DRRN_HOME", str(tmp_path / "file"))
    assert np.array_equal(open_vectors(vector_file(tmp_path)).vector("sea"), matrix()[7])


def test_a_damaged_file_leaves_nothing_in_the_cache(tmp_path, monkeypatch, cached):
    monkeypatch.setenv("DRRN_HOME", str(tmp_path / "home"))
    (tmp_path / "v.txt").write_bytes(TEXT[:-10])
    with pytest.raises(InputError, match=r"v\.txt"):
        open_vectors(tmp_path / "v.txt")
    assert list((tmp_path / "home" / "cache").iterdir()) == []


# --- bad files

TEXT = glove(WORDS, matrix())
BINARY = word2vec_binary(WORDS, matrix())
LINES = TEXT.splitlines(keepends=True)
BAD = {
    "empty": (b"", "v.txt: the file is empty"),
    "cut in the middle of a line": (
        TEXT.rstrip().rsplit(b" ", 2)[0], f"v.txt, line {len(WORDS)}: 4 numbers after the word instead of 6; copy"
    ),
    "cut in a number": (TEXT.rstrip(b"\n0123456789.") + b"-", f"line {len(WORDS)}: 5 numbers after the word instead of 6"),
    "a shorter line": (LINES[0] + b"to 1 2\n" + LINES[2], "v.txt, line 2: 2 numbers after the word"),
    "a longer line": (LINES[0] + b"to 1 2 3 4 5 6 7\n" + LINES[2], "v.txt, line 2: 7 numbers after the word"),
    "prose": (b"It was a dark and stormy night.\nThe rain fell.\n", "v.txt: unknown format"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "v.txt: unknown format"),
    "one long line": (b"x" * 2**21, "v.txt: unknown format"),
    "compressed": (b"\x1f\x8b\x08\0\0\0", "v.txt: the file is compressed; unpack it first"),
    "word2vec's text, cut": (word2vec_text(WORDS, matrix())[:-40], "numbers after the word instead of 6"),
    "word2vec's text, cut after a line": (
        b"".join(word2vec_text(WORDS, matrix()).splitlines(keepends=True)[:-1]),
        f"{len(WORDS) - 1} words, but the first line announces {len(WORDS)}",
    ),
    "word2vec's text of no words": (b"0 6\n", "line 1: it announces 0 words of 6 dimensions"),
    "binary, cut": (BINARY[:-9], f"v.txt: the file ends in the middle of word {len(WORDS)} of {len(WORDS)}; copy"),
    "binary, cut in half": (BINARY[: len(BINARY) // 2], "v.txt: the file ends in the middle of word"),
    "binary, with other dimensions": (BINARY.replace(b" 6\n", b" 5\n", 1), f"more than the {len(WORDS)} words"),
    "a first line of endless digits": (b"9" * 5000 + b" 3\nsea 1 2 3\n", "v.txt, line 2: 3 numbers"),
    "one endless vector": (b"1 900000000000\nsea " + bytes(99), "line 1: it announces 1 words of 900000000000 dimensions"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, case):
    content, message = BAD[case]
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        open_vectors(path)
    assert (
        message in str(error.value)
        and str(error.value).startswith(str(path))
        and "\n" not in str(error.value)
    )


PROMISES = {
    "of zeros": b"",
    "of one vector": b"1 1000000000\nsea ",
    "of one line": b"sea 1 2 3\n" * 200_000,
}


@pytest.mark.parametrize("promise", PROMISES)
def test_a_file_of_five_gigabytes_that_holds_nothing_is_refused_in_a_few_megabytes(
    tmp_path, promise
):
    path = tmp_path / "v.bin"
    with path.open("wb") as file:
        file.write(PROMISES[promise])
        file.truncate(5 * 2**30)  # what was not written takes no room on the disk
    tracemalloc.start()
    with pytest.raises(InputError, match=r"v.bin\b"):
        open_vectors(path)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()


@given(st.sampled_from([TEXT, word2vec_text(WORDS, matrix()), BINARY]), st.data())
def test_a_file_cut_anywhere_is_refused_or_reads_as_far_as_it_goes(tmp_path_factory, content, data):
    path = tmp_path_factory.mktemp("cut") / "v"
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    try:
        opened = open_vectors(path)
    except InputError as error:
        assert str(path) in str(error)
    else:  # cut after a line, or in the last digits of one: no text can tell that
        assert content in (TEXT, word2vec_text(WORDS, matrix())) or len(opened) == len(WORDS)
        assert [opened.rank(word) for word in WORDS[: len(opened)]] == list(range(len(opened)))


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e99", "x", "1,5"])
def test_a_number_that_is_none_is_reported_when_its_word_is_used(tmp_path, number):
    (tmp_path / "v.txt").write_bytes(
        b"the 1 2 3\n" + f"sea 1 {number} 3\n".encode() + b"go 1 2 3\n"
    )
    if number in ("x", "1,5"):
        with pytest.raises(InputError, match="line 2"):
            open_vectors(tmp_path / "v.txt").vector("sea")
        return
    opened = open_vectors(tmp_path / "v.txt")
    with pytest.raises(InputError, match="word 2: number 2 is not finite"):
        opened.vector("sea")


def test_a_number_of_a_binary_file_that_is_not_finite_is_reported_with_its_word(tmp_path):
    vectors = matrix()
    vectors[7, 2] = np.nan
    with pytest.raises(InputError, match="word 8: number 3 is not finite"):
        open_vectors(vector_file(tmp_path, "word2vec.bin", vectors=vectors)).vector("sea")


def test_what_is_no_file_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(InputError, match="this is a folder"):
        open_vectors(tmp_path)
    with pytest.raises(InputError, match=r"none\.txt: no such file"):
        open_vectors(tmp_path / "none.txt")


def test_vectors_stay_readable_if_the_file_goes(tmp_path):
    path = vector_file(tmp_path)
    opened = open_vectors(path)
    path.unlink()
    assert np.array_equal(opened.vector("sea"), matrix()[7])
