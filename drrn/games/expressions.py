"""Expressions of story macros: a small JavaScript-flavoured grammar, parsed once into closures.

Nothing from a story is ever passed to `eval` or `exec`; a name that is not in the tables is refused at load time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from drrn.games import values as js
from drrn.games.functions import FUNCTIONS, METHODS, TRACKED
from drrn.games.page import Expression, Page
from drrn.games.values import Value

LONGEST = 10_000  # characters of one expression
DEEPEST = 60  # brackets in brackets

TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<variable>\$[A-Za-z_\u00c0-\u0171][\w\u00c0-\u0171]*|\$\d+[A-Za-z_]\w*)
      | (?P<name>Math\.\w+|[A-Za-z_]\w*)
      | (?P<sign>===|!==|==|!=|<=|>=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|[-+*/%<>=!?:;,.()\[\]])
    )""",
    re.X,
)
# Operators in words, as the classic formats replace them.
WORDS = {
    "eq": "==", "is": "==", "neq": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=",
    "and": "&&", "or": "||", "not": "!", "to": "=",
}  # fmt: skip
CONSTANTS: dict[str, Value] = {"true": True, "false": False, "null": None, "undefined": None, "NaN": js.NAN}
ESCAPES = {"n": "\n", "t": "\t", "r": "", "b": "", "f": "", "v": "", "0": ""}

Binary = Callable[[Value, Value], Value]
BINARY: list[dict[str, Binary]] = [  # from loosest to tightest; || and && stand apart, since they may stop early
    {"==": js.equal, "===": js.same, "!=": lambda a, b: not js.equal(a, b), "!==": lambda a, b: not js.same(a, b)},
    {"<": js.less, ">": lambda a, b: js.less(b, a), "<=": js.at_most, ">=": lambda a, b: js.at_most(b, a)},
    {"+": js.add, "-": js.subtract},
    {"*": js.multiply, "/": js.divide, "%": js.remainder},
]
ASSIGNMENTS: dict[str, Binary] = {
    "=": lambda old, new: new, "+=": js.add, "-=": js.subtract, "*=": js.multiply, "/=": js.divide, "%=": js.remainder,
}  # fmt: skip


class ExpressionError(Exception):
    """What cannot be read, and why."""


@dataclass
class Facts:
    """What a story's expressions touch, for the checks that read no page."""

    read: set[str] = field(default_factory=set)  # variables, without the $
    written: set[str] = field(default_factory=set)
    tracked: set[str] = field(default_factory=set)  # what the engine must keep: visited, turns, previous …
    chance: bool = False
    asked: set[str] = field(default_factory=set)  # variables that the player is asked to fill in


def parse(source: str, facts: Facts, answers: dict[str, str] | None = None) -> Expression:
    """The closure of one or more statements; its value is the last one's. `answers` fill in what `prompt` asks."""
    if len(source) > LONGEST:
        raise ExpressionError(f"an expression of {len(source):,} characters; the most is {LONGEST:,}")
    return _Parser(_tokens(source), facts, answers or {}).statements()


def parameters(source: str, facts: Facts) -> list[Expression]:
    """Expressions set apart by blanks, as the short form of <<display>> passes them."""
    parser = _Parser(_tokens(source), facts, {})
    found = []
    while parser.sign is not None:
        found.append(parser.postfix())
    return found


def _tokens(source: str) -> list[tuple[str, str]]:
    tokens, position, end = [], 0, len(source.rstrip())
    while position < end:
        match = TOKEN.match(source, position)
        if match is None:
            raise ExpressionError(f"cannot read {source[position : position + 20].strip()!r}")
        kind = match.lastgroup or ""
        text = match.group(kind)
        if kind == "name" and text.lower() in WORDS:
            kind, text = "sign", WORDS[text.lower()]
        tokens.append((kind, text))
        position = match.end()
    return tokens


class _Parser:
    """Recursive descent, one method a level of precedence."""

    def __init__(self, tokens: list[tuple[str, str]], facts: Facts, answers: dict[str, str]) -> None:
        self.tokens, self.facts, self.answers = tokens, facts, answers
        self.position = self.depth = 0
        self.target = ""  # the variable being set, for prompt()

    # --- the token stream

    @property
    def kind(self) -> str:
        return self.tokens[self.position][0] if self.position < len(self.tokens) else "end"

    @property
    def sign(self) -> str | None:
        return self.tokens[self.position][1] if self.position < len(self.tokens) else None

    def next(self) -> str:
        text = self.sign
        if text is None:
            raise ExpressionError("it stops in the middle")
        self.position += 1
        return text

    def accept(self, *signs: str) -> str | None:
        return self.next() if self.kind == "sign" and self.sign in signs else None

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            raise ExpressionError(f"expected {sign!r} before {self.sign or 'the end'!r}")

    # --- the grammar

    def statements(self) -> Expression:
        steps = []
        while self.sign is not None:
            if not self.accept(";", ","):
                steps.append(self.assignment())
                if self.sign not in (";", ",", None):
                    raise ExpressionError(f"did not expect {self.sign!r}")
        if not steps:
            raise ExpressionError("nothing to evaluate")
        return steps[0] if len(steps) == 1 else _sequence(steps)

    def assignment(self) -> Expression:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(f"more than {DEEPEST} brackets in one another")
        name = self.sign or ""
        if self.kind == "variable" and self._peek(1) in ASSIGNMENTS:
            self.next()
            operator = self.next()
            outer, self.target = self.target, name[1:]
            right = self.assignment()
            self.target = outer
            if operator != "=":
                self.facts.read.add(name[1:])
            self.facts.written.add(name[1:])
            found = _assign(name, ASSIGNMENTS[operator], right)
        else:
            found = self.conditional()
        self.depth -= 1
        return found

    def conditional(self) -> Expression:
        test = self.either()
        if not self.accept("?"):
            return test
        yes = self.assignment()
        self.expect(":")
        no = self.assignment()
        return lambda page: yes(page) if js.truth(test(page)) else no(page)

    def either(self) -> Expression:
        left = self.both()
        while self.accept("||"):
            left = _or(left, self.both())
        return left

    def both(self) -> Expression:
        left = self.binary(0)
        while self.accept("&&"):
            left = _and(left, self.binary(0))
        return left

    def binary(self, level: int) -> Expression:
        if level == len(BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while operator := self.accept(*BINARY[level]):
            left = _apply(BINARY[level][operator], left, self.binary(level + 1))
        return left

    def unary(self) -> Expression:
        signs = []
        while sign := self.accept("!", "-", "+", "++", "--"):
            signs.append(sign)
            if len(signs) > DEEPEST:
                raise ExpressionError("too many signs in a row")
        stepped = bool(signs) and signs[-1] in ("++", "--")
        found = self._step(signs.pop(), before=True) if stepped else self.postfix()
        for sign in reversed(signs):
            if sign in ("++", "--"):
                raise ExpressionError(f"{sign} needs a variable")
            found = _negation(found) if sign == "!" else _signed(sign, found)
        return found

    def postfix(self) -> Expression:
        if self.kind == "variable" and self._peek(1) in ("++", "--"):
            name = self.next()
            return self._step(self.next(), before=False, name=name)
        name = self.sign or ""
        variable = name if self.kind == "variable" else None
        found = self.primary()
        while sign := self.accept(".", "["):
            found = self._index(found) if sign == "[" else self._member(found, variable)
            variable = None
        return found

    def primary(self) -> Expression:
        kind, text = self.kind, self.next()
        if kind == "number":
            return _constant(js.number(float(text)))
        if kind == "string":
            return _constant(_unescape(text[1:-1]))
        if kind == "variable":
            self.facts.read.add(text[1:])
            return lambda page: page.read(text)
        if kind == "name":
            return self._name(text)
        if text == "(":
            found = self.assignment()
            self.expect(")")
            return found
        if text == "[":
            return _listing(self._arguments("]"))
        raise ExpressionError(f"did not expect {text!r}")

    # --- names, members, lots

    def _name(self, name: str) -> Expression:
        if not self.accept("("):
            if name in CONSTANTS:
                return _constant(CONSTANTS[name])
            raise ExpressionError(f"the name {name!r} is not known")
        if name in ("Math.floor", "parseInt") and (lot := self._floored_lot()):
            return lot
        arguments = self._arguments(")")
        if name == "prompt":
            return self._prompt(arguments)
        if name not in FUNCTIONS:
            raise ExpressionError(f"the function {name}() is not supported")
        self.facts.tracked.update(TRACKED.get(name, ()))
        self.facts.chance |= name in ("random", "either")
        function = FUNCTIONS[name]
        return lambda page: function(page, [argument(page) for argument in arguments])

    def _floored_lot(self) -> Expression | None:
        """`Math.floor(Math.random() * n + k)`, however bracketed: a whole number by lot."""
        start = self.position
        while self.accept("("):
            pass
        opened = self.position - start
        if self.sign != "Math.random" or self._peek(1) != "(" or self._peek(2) != ")" or self._peek(3) != "*":
            self.position = start
            return None
        self.position += 4
        outcomes = self.unary()
        offset: Expression = _constant(0)
        for _ in range(opened + 1):
            if sign := self.accept("+", "-"):
                offset = _apply(BINARY[2][sign], offset, self.binary(3))
            self.expect(")")
        self.facts.chance = True
        return lambda page: js.add(page.draw(_whole(outcomes(page))), offset(page))

    def _prompt(self, arguments: list[Expression]) -> Expression:
        """`prompt(question, suggestion)`: the answer of [inputs], else the suggestion, else a name."""
        self.facts.asked.add(self.target)
        if self.target in self.answers:
            return _constant(self.answers[self.target])
        return arguments[1] if len(arguments) > 1 else _constant(DEFAULT_ANSWER)

    def _member(self, owner: Expression, variable: str | None) -> Expression:
        name = self.next()
        if name == "length":
            return lambda page: _length(owner(page))
        if name not in METHODS or not self.accept("("):
            raise ExpressionError(f"the member .{name} is not supported")
        arguments = self._arguments(")")
        if name == "push":
            if variable is None:
                raise ExpressionError(".push() needs a variable")
            self.facts.written.add(variable[1:])
            return _push(variable, arguments)
        method = METHODS[name]
        return lambda page: method(owner(page), [argument(page) for argument in arguments])

    def _index(self, owner: Expression) -> Expression:
        index = self.assignment()
        self.expect("]")
        if self.sign in ASSIGNMENTS:
            raise ExpressionError("setting one item of a list is not supported")
        return lambda page: _item(owner(page), index(page))

    def _arguments(self, closing: str) -> list[Expression]:
        found: list[Expression] = []
        while not self.accept(closing):
            found.append(self.assignment())
            if self.sign != closing:
                self.expect(",")
        return found

    def _step(self, sign: str, *, before: bool, name: str = "") -> Expression:
        """++ and --, before or after a variable."""
        if not name:
            if self.kind != "variable":
                raise ExpressionError(f"{sign} needs a variable")
            name = self.next()
        self.facts.read.add(name[1:])
        self.facts.written.add(name[1:])
        by = 1 if sign == "++" else -1

        def step(page: Page) -> Value:
            old = js.numeric(page.read(name))
            page.write(name, js.number(old + by))
            return js.number(old + by) if before else old

        return step

    def _peek(self, ahead: int) -> str | None:
        position = self.position + ahead
        return self.tokens[position][1] if position < len(self.tokens) else None


DEFAULT_ANSWER = "Alex"  # what the player is called where a story asks and no [inputs] answers


def _constant(value: Value) -> Expression:
    return lambda page: value


def _sequence(steps: list[Expression]) -> Expression:
    def run(page: Page) -> Value:
        value: Value = 0
        for step in steps:
            value = step(page)
        return value

    return run


def _assign(variable: str, combine: Binary, right: Expression) -> Expression:
    if combine is ASSIGNMENTS["="]:  # a plain set must not read the old value: it would split the story's states

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


def _apply(operator: Binary, left: Expression, right: Expression) -> Expression:
    return lambda page: operator(left(page), right(page))


def _or(left: Expression, right: Expression) -> Expression:
    return lambda page: value if js.truth(value := left(page)) else right(page)


def _and(left: Expression, right: Expression) -> Expression:
    return lambda page: right(page) if js.truth(value := left(page)) else value


def _negation(operand: Expression) -> Expression:
    return lambda page: not js.truth(operand(page))


def _signed(sign: str, operand: Expression) -> Expression:
    return lambda page: js.number(js.numeric(operand(page)) * (-1 if sign == "-" else 1))


def _listing(items: list[Expression]) -> Expression:
    return lambda page: js.bounded(tuple(item(page) for item in items))


def _push(variable: str, arguments: list[Expression]) -> Expression:
    def push(page: Page) -> Value:
        old = page.read(variable)
        items = old if isinstance(old, tuple) else ()
        page.write(variable, js.bounded((*items, *(argument(page) for argument in arguments))))
        return len(items) + len(arguments)

    return push


def _length(value: Value) -> Value:
    return len(value) if isinstance(value, (str, tuple)) else None


def _item(owner: Value, index: Value) -> Value:
    at = js.numeric(index)
    if isinstance(owner, (str, tuple)) and isinstance(at, int) and 0 <= at < len(owner):
        return owner[at]
    return None


def _whole(value: Value) -> int:
    count = js.numeric(value)
    return int(count) if count == count and 1 <= count < 10**9 else 1


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match.group(1), match.group(1)), text, flags=re.S)
