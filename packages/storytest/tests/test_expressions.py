"""Expressions of story macros: they are evaluated as in JavaScript, and some are rejected."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storytest.hosted.engine import Isolate
from storytest.twine import values as js
from storytest.twine.script import DEFAULT_ANSWER, ExpressionError, Facts, Page
from storytest.twine.twine1.expressions import parse


def page(cells=None, draw=lambda outcomes: 0):
    return Page("Cave", {}, {}, cells or {}, draw)


def value(source, cells=None, **options):
    return parse(source, Facts())(page(cells, **options))


def assignments(source, **variables):
    """Return the variables that a statement writes."""
    state = page({f"${name}": value for name, value in variables.items()})
    parse(source, Facts())(state)
    return {name[1:]: value for name, value in state.writes.items()}


@pytest.mark.parametrize(
    "row",
    "3 eq 3 → 3 == 3; 3 is 3 → 3 == 3; 3 neq 4 → 3 != 4; 3 gt 4 → 3 > 4; 4 gte 4 → 4 >= 4; "
    "3 lt 4 → 3 < 4; 5 lte 4 → 5 <= 4; 1 and 0 → 1 && 0; 0 or 2 → 0 || 2; not 1 → !1; "
    "3 IS 3 AND NOT 0 → 3 == 3 && !0".split("; "),
)
def test_operators_may_be_words(row):
    words, signs = row.split(" → ")
    assert value(words) == value(signs)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"to be or not to be"', "to be or not to be"),
        ("$x + 1", 1),  # an unset variable is 0
        (r"'it\'s'", "it's"),
        (r'"a\nb"', "a\nb"),
        (r"'caf\u00e9 \x41'", "café A"),
        ("visited()", 2),
        ("visited('Cellar')", 3),
        ("visited('Cave', 'Cellar')", 2),
        ("visited('Field')", 0),
        ("turns()", 5),
        ("passage()", "Cave"),
    ],
)
def test_values_are_those_of_javascript_and_of_the_classic_formats(source, expected):
    cells = {"visited Cave": 2, "visited Cellar": 3, "turns": 5}
    assert value(source, cells) == expected


def test_not_a_number_is_one_value():
    assert value("0 / 0") is math.nan and value("'a' * 1") is math.nan


def test_or_and_and_short_circuit():
    assert assignments("true || ($x = 1); false && ($x = 1)") == {}


def possible_values(source):
    """Return the value of each random outcome."""
    counts = []

    def record_count(count):
        counts.append(count)
        return 0

    value(source, draw=record_count)
    return [value(source, draw=lambda _, index=index: index) for index in range(counts[0])]


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("random(1, 6)", [1, 2, 3, 4, 5, 6]),
        ("random(6, 1)", [1, 2, 3, 4, 5, 6]),
        ("random(3)", [0, 1, 2, 3]),
        ("random(3, 0)", [0, 1, 2, 3]),
        ("random(-1, 1)", [-1, 0, 1]),
        ("either('a', 'b', 'c')", ["a", "b", "c"]),
    ],
)
def test_a_random_draw_lists_each_value_once(source, values):
    assert possible_values(source) == values


def test_a_single_outcome_needs_no_random_draw():
    sources = ("either('a')", "random(0)", "either()")
    assert [value(source, draw=None) for source in sources] == ["a", 0, 0]


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("$x = 3", {"x": 3}),
        ("$x to 3", {"x": 3}),
        ("$x += 3", {"x": 13}),
        ("$x %= 4", {"x": 2}),
        ("$x--", {"x": 9}),
        ("$y = $x++", {"x": 11, "y": 10}),
        ("$x = $y = 2", {"x": 2, "y": 2}),
        ("$x = 1, $y = 2", {"x": 1, "y": 2}),
        ("$x = 1; $y = $x + 1;", {"x": 1, "y": 2}),
        ("$y = $x lt 5 ? 1 : $x lt 20 ? 2 : 3", {"y": 2}),
    ],
)
def test_statements_write_variables(source, after):
    assert assignments(source, x=10) == after


def test_a_plain_assignment_does_not_read_its_variable():
    state = page({"$x": 1})
    parse("$x = 2", Facts())(state)
    assert state.trail == []


def test_the_inputs_answer_a_prompt():
    prompt = "$name = prompt('Who are you?', 'Bob')"
    facts = Facts()
    assert parse(prompt, facts, {"name": "Ada"})(page()) == "Ada"
    assert parse(prompt, facts)(page()) == "Bob"
    assert parse("$name = prompt('Who are you?')", facts)(page()) == DEFAULT_ANSWER
    assert facts.prompts == {"name"}
    assert parse("prompt('Who?')", Facts())(page()) == DEFAULT_ANSWER


def test_facts_list_what_an_expression_reads_and_writes():
    facts = Facts()
    parse("$a = $b + random(1, 2); $c += visited('Cave')", facts)
    assert facts.read == {"b", "c"}
    assert facts.written == {"a", "c"}
    assert facts.tracked == {"visited"}
    assert facts.chance


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "nothing"),
        ("1 +", "incomplete"),
        ("(1", "expected ')'"),
        ("1 2", "did not expect '2'"),
        ("foo", "unknown name 'foo'"),
        ("eval('1')", "eval() is not supported"),
        ("Math.floor(Math.random() * 6)", "write random(1, 6)"),
        ("$x.constructor", "cannot parse"),
        ("'open", "cannot parse"),
        ("$x = {}", "cannot parse"),
        ("5 = 3", "did not expect '='"),
        ("$x[0] = 1", "cannot parse"),
        ("++$x", "did not expect"),
        ("!" * 50 + "1", "signs in a row"),
        ("(" * 5000 + "1" + ")" * 4000, "brackets"),
        ("1 ? " * 2000, "brackets"),
        ("1 + " * 10_000, "40,000 characters; the limit is 10,000"),
    ],
)
def test_the_error_for_an_unreadable_expression_names_its_part(source, message):
    with pytest.raises(ExpressionError) as error:
        parse(source, Facts())
    assert message in str(error.value)
    assert len(str(error.value)) < 200


def test_a_long_row_of_operators_is_not_nesting():
    assert value("+".join(["1"] * 4000)) == 4000
    assert value("||".join(["0"] * 3000)) == 0
    assert value("&&".join(["1"] * 3000)) == 1


@pytest.mark.parametrize("source", ["$x = $x + $x"])
def test_values_cannot_grow_without_limit(source):
    state = page({"$x": "ab"})
    grow = parse(source, Facts())
    with pytest.raises(js.GrowthError):
        for _ in range(40):
            grow(state)


# Comparison with V8

NUMBERS = st.integers(-9, 9)
ATOMS = st.one_of(
    NUMBERS.map(str),
    st.sampled_from(
        ["true", "false", "null", "''", "'a'", "'b'", "'7'", "' 3 '", "'0'", "'1e2'", "2.5"]
    ),
)
SIGNS = st.sampled_from("+ - * / % == != === !== < > <= >= && ||".split())
SOURCES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, SIGNS, inner).map(" ".join),
        inner.map(lambda source: f"({source})"),
        inner.map(lambda source: f"!({source})"),
        inner.map(lambda source: f"-({source})"),
        st.tuples(inner, inner, inner).map(lambda parts: "({} ? {} : {})".format(*parts)),
    ),
    max_leaves=8,
)


# What the generated expressions do not contain.
OTHERS = """
10 - 4 - 3 | 24 / 4 / 2 | -7 % 4 | 7 / 2 | .5 + .5 | 1e21 | 0.0000001 | 0.00001 | 1152921504606846976 | 0.5
| 1e200 * 1e200 | -1 / 0 | undefined ? 1 : 2
| null == undefined | NaN == NaN | '١' == 1 | '1_0' == 10 | 'nan' == 0 | '10' < '9' | '10' < 9 | 'false' ? 1 : 2
| Math.floor(-1.5) | Math.ceil(1.2) | Math.round(2.5) | Math.round(-2.5) | Math.abs(-4) | Math.max(1, 3, 2)
| Math.min() | parseInt(2.7) | 'it\\'s' | "a\\nb"
"""


def test_expressions_agree_with_javascript():
    sources = " ".join(OTHERS.split()).split(" | ")

    @settings(derandomize=True, deadline=None, max_examples=500, database=None)
    @given(SOURCES)
    def gather(source):
        sources.append(source)

    gather()
    with Isolate() as isolate:
        program = f"JSON.stringify({json.dumps(sources)}.map((source) => String(eval(source))))"
        theirs = json.loads(isolate.evaluate(program))
    ours = [js.string(value(source)).replace("null", "undefined") for source in sources]
    theirs = [words.replace("null", "undefined") for words in theirs]
    rows = zip(sources, ours, theirs, strict=True)
    assert [row for row in rows if row[1] != row[2]] == []
    assert len(sources) > 300
