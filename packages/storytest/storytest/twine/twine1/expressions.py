"""Expressions of macros: a small grammar like JavaScript's, parsed into closures.

Nothing from a story is passed to `eval` or `exec`. An unknown name is an error of the parser.
"""

import math
import re
from collections.abc import Callable, Sequence
from functools import partial

from storytest.limits import LIMITS, Limits
from storytest.twine import values as js
from storytest.twine.script import DEFAULT_ANSWER, Expression, ExpressionError, Facts, Page
from storytest.twine.values import ASSIGNMENTS, BINARY, Value

TOKEN = re.compile(
    r"""(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<variable>\$[A-Za-z_\u00c0-\u0171][\w\u00c0-\u0171]*|\$\d+[A-Za-z_]\w*)
      | (?P<name>Math\.\w+|[A-Za-z_]\w*)
      | (?P<sign>===|!==|==|!=|<=|>=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|[-+*/%<>=!?:;,()])
      | (?P<unknown>\S)""",
    re.X,
)
# Operators in words, as the classic formats replace them.
WORD_PAIRS = "eq == is == neq != gt > gte >= lt < lte <= and && or || not ! to =".split()
WORDS = dict(zip(WORD_PAIRS[::2], WORD_PAIRS[1::2], strict=True))
OPERATORS = {sign: operator for row in BINARY for sign, operator in row.items()}
# From the loosest binding to the tightest.
LEVELS = {sign: level for level, row in enumerate([["||"], ["&&"], *BINARY]) for sign in row}
CONSTANTS: dict[str, Value] = {"true": True, "false": False, "null": None, "undefined": None}
CONSTANTS["NaN"] = js.NAN
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.S)
ESCAPES = {"n": "\n", "t": "\t", "r": "", "b": "", "f": "", "v": "", "0": ""}

Function = Callable[[Page, Sequence[Value]], Value]


def parse(
    source: str, facts: Facts, answers: dict[str, str] | None = None, limits: Limits = LIMITS
) -> Expression:
    """Parse one or more statements, such as `$x = $x + 1`, whose value is the last one's.

    `facts` gets the variables and functions that they use. `answers` are to `prompt`, by variable.
    """
    return _Parser(source, facts, answers or {}, limits).statements()


def _tokens(source: str, longest: int) -> list[tuple[str, str]]:
    if len(source) > longest:
        message = f"an expression of {len(source):,} characters; the limit is {longest:,}"
        raise ExpressionError(message)
    tokens: list[tuple[str, str]] = []
    for match in TOKEN.finditer(source):
        kind = match.lastgroup or ""
        text = match.group()
        if kind == "unknown":
            raise ExpressionError(f"cannot parse {source[match.start() :][:20].rstrip()!r}")
        sign = WORDS.get(text.lower()) if kind == "name" else None
        tokens.append(("sign", sign) if sign else (kind, text))
    return tokens


class _Parser:
    """Recursive descent with a table of the precedence of the binary operators."""

    def __init__(self, source: str, facts: Facts, answers: dict[str, str], limits: Limits) -> None:
        self.limits = limits
        self.tokens = [*_tokens(source, limits.expression_characters), ("end", ""), ("end", "")]
        self.position = 0
        self.facts = facts
        self.answers = answers
        self.depth = 0
        self.target = ""  # the variable being set, for prompt()

    # --- the token stream

    @property
    def kind(self) -> str:
        return self.tokens[self.position][0]

    @property
    def sign(self) -> str:
        """The text of the next token, or '' at the end."""
        return self.tokens[self.position][1]

    def next(self) -> str:
        text = self.sign
        if not text:
            raise ExpressionError("it is incomplete")
        self.position += 1
        return text

    def accept(self, *signs: str) -> str:
        return self.next() if self.sign in signs else ""

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            raise ExpressionError(f"expected {sign!r} before {self.sign or 'the end'!r}")

    # --- the grammar

    def statements(self) -> Expression:
        steps = []
        while self.sign:
            if not self.accept(";", ","):
                steps.append(self.assignment())
                if self.sign not in (";", ",", ""):
                    raise ExpressionError(f"did not expect {self.sign!r}")
        if not steps:
            raise ExpressionError("nothing to evaluate")
        return steps[0] if len(steps) == 1 else lambda page: [step(page) for step in steps][-1]

    def assignment(self) -> Expression:
        self.depth += 1
        if self.depth > self.limits.brackets:
            raise ExpressionError(f"more than {self.limits.brackets} nested brackets")
        is_variable = self.kind == "variable"
        if is_variable and self.tokens[self.position + 1][1] in ASSIGNMENTS:
            expression = self._assign(self.next(), self.next())
        else:
            expression = self._conditional()
        self.depth -= 1
        return expression

    def _assign(self, variable: str, sign: str) -> Expression:
        outer = self.target
        self.target = variable[1:]
        value = self.assignment()
        self.target = outer
        self.facts.written.add(variable[1:])
        # A plain assignment must not read the old value: it would split the story's states.
        if sign != "=":
            value = _apply(OPERATORS[sign[:-1]], self._variable(variable), value)

        def write(page: Page) -> Value:
            result = value(page)
            page.write(variable, result)
            return result

        return write

    def _conditional(self) -> Expression:
        test = self._operation()
        if not self.accept("?"):
            return test
        yes = self.assignment()
        self.expect(":")
        no = self.assignment()
        return lambda page: yes(page) if js.truth(test(page)) else no(page)

    def _operation(self, loosest: int = 0) -> Expression:
        left = self.unary()
        while (level := LEVELS.get(self.sign, -1)) >= loosest:
            signs = []
            operands = [left]
            while LEVELS.get(self.sign) == level:
                signs.append(self.next())
                operands.append(self._operation(level + 1))
            if level < LEVELS["=="]:
                left = _first(operands, stop=signs[0] == "||")
            else:
                left = _fold([OPERATORS[sign] for sign in signs], operands)
        return left

    def unary(self) -> Expression:
        signs: list[str] = []
        while sign := self.accept("!", "-", "+"):
            signs.append(sign)
            if len(signs) > self.limits.operators:
                raise ExpressionError(f"more than {self.limits.operators} signs in a row")
        expression = self._postfix()
        for sign in reversed(signs):
            expression = _signed(sign, expression)
        return expression

    def _postfix(self) -> Expression:
        variable = self.sign if self.kind == "variable" else ""
        expression = self._primary()
        if variable and (sign := self.accept("++", "--")):
            return self._step(sign, variable)
        return expression

    def _primary(self) -> Expression:
        kind = self.kind
        text = self.next()
        if kind == "number":
            return _constant(js.number(float(text)))
        if kind == "string":
            return _constant(ESCAPE.sub(_character, text[1:-1]))
        if kind == "variable":
            return self._variable(text)
        if kind == "name":
            return self._name(text)
        if text == "(":
            expression = self.assignment()
            self.expect(")")
            return expression
        raise ExpressionError(f"did not expect {text!r}")

    # --- names

    def _variable(self, variable: str) -> Expression:
        self.facts.read.add(variable[1:])
        return lambda page: page.read(variable)

    def _name(self, name: str) -> Expression:
        if not self.accept("("):
            if name in CONSTANTS:
                return _constant(CONSTANTS[name])
            raise ExpressionError(f"unknown name {name!r}")
        arguments = self._arguments()
        if name == "prompt":
            return self._prompt(arguments)
        if name not in FUNCTIONS:
            hint = ": write random(1, 6) or either(…)" if name == "Math.random" else ""
            raise ExpressionError(f"the function {name}() is not supported{hint}")
        if name in TRACKED:
            self.facts.tracked.add(name)
        self.facts.chance |= name in ("random", "either")
        function = FUNCTIONS[name]
        return lambda page: function(page, [argument(page) for argument in arguments])

    def _prompt(self, arguments: list[Expression]) -> Expression:
        if self.target:
            self.facts.prompts.add(self.target)
        if self.target in self.answers:
            return _constant(self.answers[self.target])
        return arguments[1] if len(arguments) > 1 else _constant(DEFAULT_ANSWER)

    def _arguments(self) -> list[Expression]:
        arguments: list[Expression] = []
        while not self.accept(")"):
            arguments.append(self.assignment())
            if self.sign != ")":
                self.expect(",")
        return arguments

    def _step(self, sign: str, variable: str) -> Expression:
        """`$x++` and `$x--`, whose value is the old one."""
        self.facts.written.add(variable[1:])
        change = 1 if sign == "++" else -1

        def write(page: Page) -> Value:
            old = js.numeric(page.read(variable))
            page.write(variable, js.number(old + change))
            return old

        return write


# --- closures


def _constant(value: Value) -> Expression:
    return lambda page: value


def _first(operands: list[Expression], *, stop: bool) -> Expression:
    """The first operand whose truth is `stop`, or the last: true for `||`, false for `&&`."""

    def run(page: Page) -> Value:
        value: Value = 0
        for operand in operands:
            value = operand(page)
            if js.truth(value) is stop:
                break
        return value

    return run


def _apply(operator: js.Binary, left: Expression, right: Expression) -> Expression:
    return lambda page: operator(left(page), right(page))


def _fold(operators: list[js.Binary], operands: list[Expression]) -> Expression:
    """A loop over operators, since a thousand nested closures overflow the stack."""
    first, *others = operands
    if len(operators) == 1:
        return _apply(operators[0], first, others[0])
    rest = list(zip(operators, others, strict=True))

    def run(page: Page) -> Value:
        value = first(page)
        for operator, operand in rest:
            value = operator(value, operand(page))
        return value

    return run


def _signed(sign: str, operand: Expression) -> Expression:
    if sign == "!":
        return lambda page: not js.truth(operand(page))
    factor = -1 if sign == "-" else 1
    return lambda page: js.number(js.numeric(operand(page)) * factor)


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code is None:
        return ESCAPES.get(match[3], match[3])
    return "" if 0xD800 <= int(code, 16) < 0xE000 else chr(int(code, 16))


# --- functions that expressions may call


def random(page: Page, arguments: Sequence[Value]) -> Value:
    """A whole number from a to b, both included. With one argument, from 0 to it."""
    ends = [_integer(argument) for argument in arguments[:2]]
    low = min(ends) if len(ends) == 2 and ends[1] != 0 else 0
    return low + page.draw(max(ends, default=0) - low + 1)


def either(page: Page, arguments: Sequence[Value]) -> Value:
    """A random one of the arguments."""
    return arguments[page.draw(len(arguments))] if arguments else 0


def visited(page: Page, arguments: Sequence[Value]) -> Value:
    """The visits to a passage, this one included. Of several passages, the minimum."""
    names = [js.string(argument) for argument in arguments] or [page.passage]
    return min(_integer(page.read(f"visited {name}")) for name in names)


def _integer(value: Value) -> int:
    number = js.numeric(value)
    return int(number) if math.isfinite(number) and abs(number) < 2**53 else 0


def _round(how: Callable[[float], int], _: Page, arguments: Sequence[Value]) -> Value:
    number = js.numeric(arguments[0]) if arguments else js.NAN
    return js.number(how(number)) if math.isfinite(number) else number


FUNCTIONS: dict[str, Function] = {
    "random": random,
    "either": either,
    "visited": visited,
    "turns": lambda page, _: page.read("turns"),
    "passage": lambda page, _: page.passage,
    "Math.abs": lambda _, a: js.number(abs(js.numeric(a[0]))) if a else js.NAN,
    "Math.min": lambda _, a: js.number(min(map(js.numeric, a), default=math.inf)),
    "Math.max": lambda _, a: js.number(max(map(js.numeric, a), default=-math.inf)),
    "Number": lambda _, a: js.numeric(a[0]) if a else 0,
    "String": lambda _, a: js.string(a[0]) if a else "",
    "Math.floor": partial(_round, math.floor),
    "Math.ceil": partial(_round, math.ceil),
    "Math.round": partial(_round, lambda x: math.floor(x + 0.5)),
    "Math.trunc": partial(_round, math.trunc),
    "parseInt": partial(_round, math.trunc),
}
TRACKED = ("visited", "turns")  # functions that need engine state
