"""What expressions are made of: the functions and methods that a story may call, and closures for its operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from drrn.stories.twine import values as js
from drrn.stories.twine.page import Expression, Page
from drrn.stories.twine.values import Value

Function = Callable[[Page, Sequence[Value]], Value]
Method = Callable[[Value, Sequence[Value]], Value]


def random(page: Page, arguments: Sequence[Value]) -> Value:
    """A whole number from a to b, both included; with one argument, from 0 to it."""
    ends = [_integer(argument) for argument in arguments[:2]]
    low, high = (
        (min(ends), max(ends)) if len(ends) == 2 and ends[1] != 0 else (0, max(ends, default=0))
    )
    return low + page.draw(high - low + 1)


def either(page: Page, arguments: Sequence[Value]) -> Value:
    """One of the arguments, or of the one list, by lot."""
    items = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments
    return items[page.draw(len(items))] if items else 0


def visited(page: Page, arguments: Sequence[Value]) -> Value:
    """How often the player came to a passage, the present visit included; of several, the least."""
    names = [js.string(argument) for argument in arguments] or [page.passage]
    return min(_count(page, f"visited {name}") for name in names)


def visited_tag(page: Page, arguments: Sequence[Value]) -> Value:
    """How often the player came to passages that carry all the tags."""
    wanted = set(" ".join(js.string(argument) for argument in arguments).split())
    return sum(
        _count(page, f"visited {name}") for name, tags in page.tags.items() if wanted <= set(tags)
    )


def parameter(page: Page, arguments: Sequence[Value]) -> Value:
    """What the short form of <<display>> passed, by number from 0."""
    index = _integer(arguments[0]) if arguments else 0
    return page.parameters[index] if 0 <= index < len(page.parameters) else 0


FUNCTIONS: dict[str, Function] = {
    "random": random,
    "either": either,
    "visited": visited,
    "visitedTag": visited_tag,
    "visitedTags": visited_tag,
    "turns": lambda page, _: page.read("turns"),
    "previous": lambda page, _: page.read("previous") or "",
    "passage": lambda page, _: page.passage,
    "parameter": parameter,
    "tags": lambda page, _: page.tags.get(page.passage, ()),
    "Math.floor": lambda _, a: _rounded(math.floor, a),
    "Math.ceil": lambda _, a: _rounded(math.ceil, a),
    "Math.round": lambda _, a: _rounded(lambda x: math.floor(x + 0.5), a),
    "Math.trunc": lambda _, a: _rounded(math.trunc, a),
    "Math.abs": lambda _, a: js.number(abs(js.numeric(a[0]))) if a else js.NAN,
    "Math.min": lambda _, a: js.number(min(map(js.numeric, a), default=math.inf)),
    "Math.max": lambda _, a: js.number(max(map(js.numeric, a), default=-math.inf)),
    "parseInt": lambda _, a: _rounded(math.trunc, a),
    "Number": lambda _, a: js.numeric(a[0]) if a else 0,
    "String": lambda _, a: js.string(a[0]) if a else "",
}

# What the engine must keep in cells, because a function asks for it.
TRACKED = {
    "visited": ("visited",),
    "visitedTag": ("visited",),
    "visitedTags": ("visited",),
    "turns": ("turns",),
    "previous": ("previous",),
}

METHODS: dict[str, Method] = {
    "indexOf": lambda owner, a: _index_of(owner, a[0] if a else None),
    "includes": lambda owner, a: _index_of(owner, a[0] if a else None) >= 0,
    "toUpperCase": lambda owner, _: js.string(owner).upper(),
    "toLowerCase": lambda owner, _: js.string(owner).lower(),
    "trim": lambda owner, _: js.string(owner).strip(),
    "toString": lambda owner, _: js.string(owner),
    "charAt": lambda owner, a: js.string(owner)[max(_integer(a[0] if a else 0), 0) :][:1],
    "slice": lambda owner, a: _slice(owner, a),
    "substring": lambda owner, a: _slice(js.string(owner), [max(_integer(i), 0) for i in a[:2]]),
    "concat": lambda owner, a: _concat(owner, a),
    "join": lambda owner, a: _join(_items(owner), js.string(a[0]) if a else ","),
    "push": lambda owner, _: owner,  # parsed apart: it writes the variable
}


def length(value: Value) -> Value:
    return len(value) if isinstance(value, (str, tuple)) else None


def _count(page: Page, cell: str) -> int:
    return _integer(page.read(cell))


def _integer(value: Value) -> int:
    number = js.numeric(value)
    return int(number) if math.isfinite(number) and abs(number) < 2**53 else 0


def _rounded(how: Callable[[float], int], arguments: Sequence[Value]) -> Value:
    number = js.numeric(arguments[0]) if arguments else js.NAN
    return js.number(how(number)) if math.isfinite(number) else number


def _items(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _concat(owner: Value, others: Sequence[Value]) -> Value:
    if isinstance(owner, tuple):
        return js.bounded(owner + tuple(item for other in others for item in _items(other)))
    return js.bounded("".join(map(js.string, (owner, *others))))


def _join(items: tuple[Value, ...], between: str) -> Value:
    if len(items) * len(between) > js.MOST_CHARACTERS:
        raise js.GrowthError(f"a text of more than {js.MOST_CHARACTERS:,} characters")
    return js.bounded(between.join("" if item is None else js.string(item) for item in items))


def _index_of(owner: Value, item: Value) -> int:
    if isinstance(owner, tuple):
        return next((at for at, other in enumerate(owner) if js.same(other, item)), -1)
    return js.string(owner).find(js.string(item))


def _slice(owner: Value, arguments: Sequence[Value]) -> Value:
    start, end = (*(_integer(argument) for argument in arguments[:2]), None, None)[:2]
    return owner[start:end] if isinstance(owner, (str, tuple)) else js.string(owner)[start:end]


# --- closures over a page


def constant(value: Value) -> Expression:
    return lambda page: value


def sequence(steps: list[Expression]) -> Expression:
    def run(page: Page) -> Value:
        value: Value = 0
        for step in steps:
            value = step(page)
        return value

    return run


def assign(variable: str, combine: js.Binary, right: Expression) -> Expression:
    if (
        combine is js.ASSIGNMENTS["="]
    ):  # a plain set must not read the old value: it would split the story's states

        def write(page: Page) -> Value:
            value = right(page)
            page.write(variable, value)
            return value
    else:

        def write(page: Page) -> Value:
            value = combine(page.read(variable), right(page))
            page.write(variable, value)
            return value

    return write


def step(variable: str, by: int, *, before: bool) -> Expression:
    """++ and --: the new value where the sign stands before the variable, else the old one."""

    def write(page: Page) -> Value:
        old = js.numeric(page.read(variable))
        page.write(variable, js.number(old + by))
        return js.number(old + by) if before else old

    return write


def chain(first: Expression, rest: list[tuple[js.Binary, Expression]]) -> Expression:
    """Operators of one level, from left to right; a loop, since a thousand closures in one another overflow."""
    if not rest:
        return first
    if len(rest) == 1:
        [(operator, second)] = rest
        return lambda page: operator(first(page), second(page))

    def fold(page: Page) -> Value:
        value = first(page)
        for operator, operand in rest:
            value = operator(value, operand(page))
        return value

    return fold


def any_of(operands: list[Expression]) -> Expression:
    """`||`: the first that is true, or the last."""
    return operands[0] if len(operands) == 1 else _until(operands, stop=True)


def all_of(operands: list[Expression]) -> Expression:
    """`&&`: the first that is false, or the last."""
    return operands[0] if len(operands) == 1 else _until(operands, stop=False)


def _until(operands: list[Expression], *, stop: bool) -> Expression:
    def run(page: Page) -> Value:
        value: Value = 0
        for operand in operands:
            value = operand(page)
            if js.truth(value) is stop:
                break
        return value

    return run


def choose(test: Expression, yes: Expression, no: Expression) -> Expression:
    return lambda page: yes(page) if js.truth(test(page)) else no(page)


def signed(sign: str, operand: Expression) -> Expression:
    if sign == "!":
        return lambda page: not js.truth(operand(page))
    factor = -1 if sign == "-" else 1
    return lambda page: js.number(js.numeric(operand(page)) * factor)


def listing(items: list[Expression]) -> Expression:
    return lambda page: js.bounded(tuple(item(page) for item in items))


def item(owner: Expression, index: Expression) -> Expression:
    def pick(page: Page) -> Value:
        value = owner(page)
        at = js.numeric(index(page))
        if isinstance(value, (str, tuple)) and isinstance(at, int) and 0 <= at < len(value):
            return value[at]
        return None

    return pick


def call(function: Function, arguments: list[Expression]) -> Expression:
    return lambda page: function(page, [argument(page) for argument in arguments])


def push(variable: str, arguments: list[Expression]) -> Expression:
    def write(page: Page) -> Value:
        old = page.read(variable)
        items = old if isinstance(old, tuple) else ()
        page.write(variable, js.bounded((*items, *(argument(page) for argument in arguments))))
        return len(items) + len(arguments)

    return write
