"""A dictionary of limited size."""

from collections import OrderedDict
from typing import Any


class Cache(OrderedDict[Any, Any]):
    """A dictionary that, when it is full, drops the entry that was not used for longest."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def __getitem__(self, key: Any) -> Any:
        self.move_to_end(key)
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if len(self) > self.limit:
            self.popitem(last=False)
