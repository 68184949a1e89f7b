"""The cache of the suites drops its least recently used entry when it is full."""

from drrn.suites.cache import Cache


def full_cache():
    cache: Cache[int, object] = Cache(3)
    for number in range(3):
        cache[number] = str(number)
    return cache


def test_an_entry_that_was_read_is_dropped_later():
    cache = full_cache()
    assert cache[0] == cache.get(0) == "0"
    cache[3] = "3"
    assert dict(cache.entries) == {2: "2", 0: "0", 3: "3"}
    assert cache.get(1) is None and 1 not in cache


def test_an_entry_that_was_assigned_again_is_dropped_later():
    cache = full_cache()
    cache[0] = "new"
    assert cache.setdefault(3, "3") == "3"
    assert cache.setdefault(0, "other") == "new"
    assert list(cache) == [2, 3, 0]


def test_a_cache_never_exceeds_its_limit():
    cache: Cache[int, object] = Cache(3)
    for number in range(100):
        cache[number % 7] = number
        assert len(cache) == min(number + 1, 3)
    cache.clear()
    assert not cache
