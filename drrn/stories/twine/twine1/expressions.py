"""Expressions of story macros: a small JavaScript-flavoured grammar, parsed once into closures.

Nothing from a story is ever passed to `eval` or `exec`; a name that is not in the tables is refused at load time.
"""

from __future__ import annotations

import re

from drrn.stories.twine import values as js
from drrn.stories.twine.page import Expression
from drrn.stories.twine.script import DEFAULT_ANSWER, ExpressionError, Facts
from drrn.stories.twine.twine1 import functions as made
from drrn.stories.twine.twine1 import uniform
from drrn.stories.twine.twine1.functions import FUNCTIONS, METHODS, TRACKED
from drrn.stories.twine.twine1.tokens import tokens
from drrn.stories.twine.twine1.uniform import INEXACT, Uniform
from drrn.stories.twine.values import ASSIGNMENTS, BINARY, Value

DEEPEST = 25  # brackets in brackets
MOST_IN_A_ROW = 10  # signs before a value, members after it

LEVELS = {sign: level for level, operators in enumerate(BINARY) for sign in operators}
CONSTANTS: dict[str, Value] = {
    "true": True,
    "false": False,
    "null": None,
    "undefined": None,
    "NaN": js.NAN,
}
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.S)
ESCAPES = {"n": "\n", "t": "\t", "r": "", "b": "", "f": "", "v": "", "0": ""}


def parse(source: str, facts: Facts, answers: dict[str, str] | None = None) -> Expression:
    """The closure of one or more statements; its value is the last one's. `answers` fill in what `prompt` asks."""
    return _Parser(tokens(source), facts, answers or {}).statements()


def parameters(source: str, facts: Facts) -> list[Expression]:
    """Expressions set apart by blanks, as the short form of <<display>> passes them."""
    parser = _Parser(tokens(source), facts, {})
    found = []
    while parser.sign is not None:
        found.append(parser.unary())
    parser.check_drawn()
    return found


class _Parser:
    """Recursive descent, one method a level of precedence."""

    def __init__(self, found: list[tuple[str, str]], facts: Facts, answers: dict[str, str]) -> None:
        self.tokens = found
        self.facts = facts
        self.answers = answers
        self.kind: str
        self.sign: str | None
        self.go_to(0)
        self.depth = 0
        self.target = ""  # the variable being set, for prompt()
        self.undrawn = 0  # Math.random()s that nothing has yet made a lot of

    # --- the token stream

    def go_to(self, position: int) -> None:
        self.position = position
        self.kind, self.sign = (
            self.tokens[position] if position < len(self.tokens) else ("end", None)
        )

    def next(self) -> str:
        text = self.sign
        if text is None:
            raise ExpressionError("it stops in the middle")
        self.go_to(self.position + 1)
        return text

    def accept(self, *signs: str) -> str | None:
        return self.next() if self.kind == "sign" and self.sign in signs else None

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            raise ExpressionError(f"expected {sign!r} before {self.sign or 'the end'!r}")

    def check_drawn(self) -> None:
        if self.undrawn:
            raise ExpressionError(INEXACT)

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
        self.check_drawn()
        return steps[0] if len(steps) == 1 else made.sequence(steps)

    def assignment(self) -> Expression:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(f"more than {DEEPEST} brackets in one another")
        name = self.sign or ""
        if self.kind == "variable" and self._peek(1) in ASSIGNMENTS:
            self.next()
            operator = self.next()
            outer = self.target
            self.target = name[1:]
            right = self.assignment()
            self.target = outer
            if operator != "=":
                self.facts.read.add(name[1:])
            self.facts.written.add(name[1:])
            found = made.assign(name, ASSIGNMENTS[operator], right)
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
        return made.choose(test, yes, no)

    def either(self) -> Expression:
        found = [self.both()]
        while self.accept("||"):
            found.append(self.both())
        return made.any_of(found)

    def both(self) -> Expression:
        found = [self.binary(0)]
        while self.accept("&&"):
            found.append(self.binary(0))
        return made.all_of(found)

    def binary(self, loosest: int) -> Expression:
        """Operators that bind no looser than that, level by level from the one that comes next."""
        left = self.unary()
        while (level := LEVELS.get(self.sign or "", -1)) >= loosest:
            rest = []
            while self.sign in BINARY[level]:
                rest.append((self.next(), self.binary(level + 1)))
            left = self._row(left, level, rest)
        return left

    def _row(self, left: Expression, level: int, rest: list[tuple[str, Expression]]) -> Expression:
        """Operators of one level, from left to right."""
        if not any(
            isinstance(operand, Uniform) for operand in (left, *(right for _, right in rest))
        ):
            return made.chain(left, [(BINARY[level][sign], right) for sign, right in rest])
        if len(rest) > MOST_IN_A_ROW:
            raise ExpressionError(
                f"more than {MOST_IN_A_ROW} operators in a row with Math.random() among them"
            )
        for sign, right in rest:
            if isinstance(left, Uniform) or isinstance(right, Uniform):
                left = uniform.operated(left, sign, right)
                self.undrawn -= not isinstance(left, Uniform)
            else:
                left = made.chain(left, [(BINARY[level][sign], right)])
        return left

    def unary(self) -> Expression:
        signs: list[str] = []
        while sign := self.accept("!", "-", "+", "++", "--"):
            signs.append(sign)
            if len(signs) > MOST_IN_A_ROW:
                raise ExpressionError(f"more than {MOST_IN_A_ROW} signs in a row")
        stepped = bool(signs) and signs[-1] in ("++", "--")
        found = self._step(signs.pop(), before=True) if stepped else self.postfix()
        for sign in reversed(signs):
            if sign in ("++", "--"):
                raise ExpressionError(f"{sign} needs a variable")
            if isinstance(found, Uniform) and sign != "!":
                found = uniform.negated(found) if sign == "-" else found
            else:
                found = made.signed(sign, found)
        return found

    def postfix(self) -> Expression:
        if self.kind == "variable" and self._peek(1) in ("++", "--"):
            name = self.next()
            return self._step(self.next(), before=False, name=name)
        variable = self.sign if self.kind == "variable" else None
        found = self.primary()
        members = 0
        while sign := self.accept(".", "["):
            members += 1
            if members > MOST_IN_A_ROW:
                raise ExpressionError(f"more than {MOST_IN_A_ROW} members in a row")
            found = self._index(found) if sign == "[" else self._member(found, variable)
            variable = None
        return found

    def primary(self) -> Expression:
        kind = self.kind
        text = self.next()
        if kind == "number":
            return made.constant(js.number(float(text)))
        if kind == "string":
            return made.constant(_unescape(text[1:-1]))
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
            return made.listing(self._arguments("]"))
        raise ExpressionError(f"did not expect {text!r}")

    # --- names, members, lots

    def _name(self, name: str) -> Expression:
        if not self.accept("("):
            if name in CONSTANTS:
                return made.constant(CONSTANTS[name])
            raise ExpressionError(f"the name {name!r} is not known")
        arguments = self._arguments(")")
        if name == "Math.random":
            self.facts.chance = True
            self.undrawn += 1
            return uniform.math_random()
        if name in uniform.ROUNDED and arguments and isinstance(arguments[0], Uniform):
            self.undrawn -= 1
            return uniform.rounded(name, arguments[0])
        if name == "prompt":
            return self._prompt(arguments)
        if name not in FUNCTIONS:
            raise ExpressionError(f"the function {name}() is not supported")
        self.facts.tracked.update(TRACKED.get(name, ()))
        self.facts.chance |= name in ("random", "either")
        return made.call(FUNCTIONS[name], arguments)

    def _prompt(self, arguments: list[Expression]) -> Expression:
        """`prompt(question, suggestion)`: the answer of [inputs], else the suggestion, else a name."""
        if self.target:
            self.facts.asked.add(self.target)
        if self.target in self.answers:
            return made.constant(self.answers[self.target])
        return arguments[1] if len(arguments) > 1 else made.constant(DEFAULT_ANSWER)

    def _member(self, owner: Expression, variable: str | None) -> Expression:
        name = self.next()
        if name == "length":
            return lambda page: made.length(owner(page))
        if name not in METHODS or not self.accept("("):
            raise ExpressionError(f"the member .{name} is not supported")
        arguments = self._arguments(")")
        if name == "push":
            if variable is None:
                raise ExpressionError(".push() needs a variable")
            self.facts.written.add(variable[1:])
            return made.push(variable, arguments)
        method = METHODS[name]
        return lambda page: method(owner(page), [argument(page) for argument in arguments])

    def _index(self, owner: Expression) -> Expression:
        index = self.assignment()
        self.expect("]")
        if self.sign in ASSIGNMENTS:
            raise ExpressionError("setting one item of a list is not supported")
        return made.item(owner, index)

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
        return made.step(name, 1 if sign == "++" else -1, before=before)

    def _peek(self, ahead: int) -> str | None:
        position = self.position + ahead
        return self.tokens[position][1] if position < len(self.tokens) else None


def _unescape(text: str) -> str:
    return ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code is None:
        return ESCAPES.get(match[3], match[3])
    return "" if 0xD800 <= int(code, 16) < 0xE000 else chr(int(code, 16))
