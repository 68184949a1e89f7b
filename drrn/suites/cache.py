"""A dictionary of limited size."""

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(MutableMapping[K, V]):
    """A mapping that drops its least recently used entry when it is full.

    Reading or assigning an entry counts as a use; `in` does not.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.entries: OrderedDict[K, V] = OrderedDict()

    def __getitem__(self, key: K) -> V:
        value = self.entries[key]
        self.entries.move_to_end(key)
        return value

    def get(self, key: K, default: Any = None) -> Any:
        value = self.entries.get(key, default)
        if value is not default:
            self.entries.move_to_end(key)
        return value

    def setdefault(self, key: K, default: V) -> V:
        value = self.entries.get(key, default)
        self[key] = value
        return value

    def __setitem__(self, key: K, value: V) -> None:
        self.entries[key] = value
        self.entries.move_to_end(key)
        if len(self.entries) > self.limit:
            self.entries.popitem(last=False)

    def __delitem__(self, key: K) -> None:
        del self.entries[key]

    def __contains__(self, key: object) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[K]:
        return iter(list(self.entries))  # reading an entry changes the order

    def __len__(self) -> int:
        return len(self.entries)
