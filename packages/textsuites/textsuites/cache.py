"""A dictionary of limited size."""

from collections import OrderedDict
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(OrderedDict[K, V]):
    """A dictionary that drops its least recently used entry when it has more than `limit`.

    Reading or assigning an entry counts as a use. `in` does not.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def __getitem__(self, key: K) -> V:
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self.limit:
            del self[next(iter(self))]

    def get(self, key: K, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def setdefault(self, key: K, default: V) -> V:
        try:
            return self[key]
        except KeyError:
            self[key] = default
            return default
