"""Macros of the classic Twine 1 formats.

A new macro is a function with `@macro("name")`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from drrn.stories.twine import values as js
from drrn.stories.twine.page import Link, Node, Page
from drrn.stories.twine.script import DEFAULT_ANSWER, ExpressionError, Script
from drrn.stories.twine.story import Passage, split_link
from drrn.stories.twine.twine1.expressions import parse_parameters
from drrn.stories.twine.twine1.markup import PLAIN, Reader, discard, link_at, shortened

MOST_PRINTED = 1_000  # texts with markup that one <<print>> caches
ARGUMENT = re.compile(r"\"([^\"]*)\"|'([^']*)'|\[\[([^\]]{0,2000})\]\]|(\S+)")
QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")

Macro = Callable[[Reader, str, str], None]  # takes the reader, the arguments, the whole source
MACROS: dict[str, Macro] = {}


def macro(names: str) -> Callable[[Macro], Macro]:
    """Register a macro under one or more names."""

    def register(function: Macro) -> Macro:
        MACROS.update(dict.fromkeys(names.split(), function))
        return function

    return register


def read_passage(script: Script, passage: Passage, names: frozenset[str]) -> Node:
    script.links.setdefault(passage.name, set())
    return Reader(script, passage, names, _add_macro).read(passage.text)


def _add_macro(reader: Reader, source: str) -> None:
    """Add a known macro, a bare variable, or a passage by its name."""
    inside = source[2:-2].strip()
    name, arguments = (*inside.split(None, 1), "", "")[:2]
    lower = name.lower()
    # the macro that `/name` or `endname` ends
    block = next((lower.removeprefix(p) for p in ("/", "end") if lower.startswith(p)), "")
    if name in MACROS:
        MACROS[name](reader, arguments, source)
    elif name.startswith("$"):
        _print(reader, inside, source)
    elif name in reader.names:
        _display_short(reader, name, arguments, source)
    elif lower in MACROS:
        MACROS[lower](reader, arguments, source)
    elif block not in reader.script.unknown:  # an unknown macro is reported without its end
        reader.script.unknown.add(lower)
        what = "the macro <<{}>> is not supported".format
        reader.problem(what(shortened(name)), cause=what(shortened(lower)))


# --- values


@macro("set remember")
def _set(reader: Reader, arguments: str, source: str) -> None:
    expression = reader.expression(arguments, source)
    if expression is not None:
        reader.add(lambda page: discard(expression(page)))


@macro("forget")
def _forget(reader: Reader, arguments: str, source: str) -> None:
    for variable in re.findall(r"\$\w+", arguments):
        reader.add(_write(variable, 0))


@macro("print")
def _print(reader: Reader, arguments: str, source: str) -> None:
    """Print a value; markup in it, links included, is read as such."""
    expression = reader.expression(arguments, source)
    if expression is None:
        return
    cache: dict[str, Node] = {}

    def node(page: Page) -> None:
        value = expression(page)
        if value is None or value != value:
            return
        text = js.string(value)
        if PLAIN.fullmatch(text):
            page.print(text)
            return
        if text not in cache:
            if len(cache) > MOST_PRINTED:
                cache.clear()
            count = len(reader.script.problems)
            cache[text] = reader.read_inner(text)
            del reader.script.problems[count:]  # too late to refuse the story
        page.run_nested(cache[text])

    reader.add(node)


# --- passages


@macro("display")
def _display(reader: Reader, arguments: str, source: str) -> None:
    """Display a passage that is named in quotes, bare, as a link, or by an expression."""
    name = arguments.strip()
    if name.startswith("[[") and (link := link_at(name, 0)):
        name = split_link(link[1])[1]
    elif quoted := QUOTED.fullmatch(name):
        name = quoted[1] or quoted[2] or ""
    elif name not in reader.names:
        name = f"({name})"
    target = reader.target(name, source, "shows")
    if target is not None:
        where = target

        def node(page: Page) -> None:
            name = where(page)
            if name in page.script:  # else the play is lenient
                page.display(name)

        reader.add(node)


def _display_short(reader: Reader, name: str, arguments: str, source: str) -> None:
    reader.script.links[reader.passage.name].add(name)
    try:
        parameters = parse_parameters(arguments, reader.script.facts)
    except ExpressionError as error:
        reader.problem(f"{shortened(source)}: {error}", cause=str(error))
        return
    values = [reader.guarded(parameter, source) for parameter in parameters]
    reader.add(lambda page: page.display(name, tuple(value(page) for value in values)))


# --- links


@macro("choice")
def _choice(reader: Reader, arguments: str, source: str) -> None:
    """Add a link that becomes plain text once one of the page's choices was taken."""
    label, target, setter = _link(arguments)
    link = reader.separate(lambda: reader.add_link(label, target, setter, source, _choice_cell))
    words = reader.label(label or target)
    reader.add(
        lambda page: page.print(words(page)) if page.read(_choice_cell(page)) else link(page)
    )


def _choice_cell(page: Page) -> str:
    return f"chosen {page.passage}"


@macro("actions")
def _actions(reader: Reader, arguments: str, source: str) -> None:
    """Add a list of passages, each until it was taken."""
    for name in _words(arguments):
        _action(reader, name, source)


def _action(reader: Reader, name: str, source: str) -> None:
    mark = f"clicked {name}"

    def item() -> None:
        reader.break_line()
        reader.add_link("", name, "", source, lambda page: mark)
        reader.break_line()

    link = reader.separate(item)
    reader.add(lambda page: None if page.read(mark) else link(page))


@macro("button")
def _button(reader: Reader, arguments: str, source: str) -> None:
    reader.add_link(*_link(arguments), source)


@macro("textinput")
def _text_input(reader: Reader, arguments: str, source: str) -> None:
    """Write the answer of [inputs] at once; the button, if there is one, is a link."""
    variable, _, rest = arguments.partition(" ")
    name = variable.strip("\"'").lstrip("$")
    reader.script.facts.prompts.add(name)
    reader.script.facts.written.add(name)
    reader.add(_write(f"${name}", reader.script.answers.get(name, DEFAULT_ANSWER)))
    if rest.strip():
        _button(reader, rest, source)


@macro("back")
def _back(reader: Reader, arguments: str, source: str) -> None:
    """Link to an earlier page with its variables."""
    label, steps, target = _back_arguments(reader, arguments, "« back")
    reader.script.facts.tracked.add("history")
    link = Link(label, target, back=steps)
    reader.add(lambda page: page.pieces.append(link) if page.read("moved") else None)


@macro("return")
def _return(reader: Reader, arguments: str, source: str) -> None:
    """Link to an earlier page with the present variables."""
    label, steps, target = _back_arguments(reader, arguments, "« return")
    if steps != 1:
        reader.problem("<<return>> by several steps is not supported: name the passage")
        return
    reader.script.facts.tracked.add("last")

    def node(page: Page) -> None:
        if where := page.read("last") and (target or page.read("last")):
            page.pieces.append(Link(label, js.string(where)))

    reader.add(node)


def _back_arguments(reader: Reader, arguments: str, label: str) -> tuple[str, int, str]:
    """Return label, steps and passage of `label "…"`, `3 steps`, `"Passage"`."""
    words = _words(arguments)
    steps = 1
    if "label" in words[:-1]:
        at = words.index("label")
        label = words[at + 1]
        del words[at : at + 2]
    if "steps" in words[1:]:
        at = words.index("steps", 1)
        if re.fullmatch("[1-9][0-9]{0,5}", words[at - 1]):
            steps = int(words[at - 1])
        else:
            number = shortened(words[at - 1])
            reader.problem(f"going back {number} steps is not supported: write a number")
        del words[at - 1 : at + 1]
    target = words[0] if words else ""
    if target and target not in reader.names:
        reader.problem(f'there is no passage "{target}" to go back to')
        target = ""
    return label, steps, target


# --- blocks


@macro("if")
def _if(reader: Reader, arguments: str, source: str) -> None:
    reader.open("if", reader.expression(arguments, source) or (lambda page: False))


@macro("else")
def _else(reader: Reader, arguments: str, source: str) -> None:
    if not reader.blocks or reader.blocks[-1].kind != "if":
        reader.problem(f"{shortened(source)} is outside an <<if>>")
    elif arguments.split(None, 1)[:1] == ["if"]:
        reader.branch(reader.expression(arguments[2:], source) or (lambda page: False))
    else:
        reader.branch(lambda page: True)


@macro("elseif")
def _else_if(reader: Reader, arguments: str, source: str) -> None:
    _else(reader, f"if {arguments}", source)


@macro("silently nobr")
def _block(reader: Reader, arguments: str, source: str) -> None:
    reader.open("nobr" if source[2:].strip().lower().startswith("nobr") else "silently")


@macro("endif endsilently endnobr /if /silently /nobr")
def _end(reader: Reader, arguments: str, source: str) -> None:
    """End a block; an end without a block is ignored, as the formats do."""
    name = source[2:-2].split()[0].lower().lstrip("/").removeprefix("end")
    if reader.blocks and reader.blocks[-1].kind == name:
        reader.close()


def _words(arguments: str) -> list[str]:
    return [next(filter(None, match.groups()), "") for match in ARGUMENT.finditer(arguments)]


def _link(arguments: str) -> tuple[str, str, str]:
    """Return label, target and setter of `[[label|target][…]]` or `"target" "label"`."""
    if (start := arguments.find("[[")) >= 0 and (link := link_at(arguments, start)):
        _, body, setter = link
        return (*split_link(body), setter)
    words = _words(arguments) or [""]
    first, _, second = words[0].partition("|")  # `label|target` in one word
    label = first if second else ""
    return (words[1] if len(words) > 1 else label), second or first, ""


def _write(variable: str, value: js.Value) -> Node:
    return lambda page: page.write(variable, value)
