"""Macros of the classic Twine 1 formats; a new one is a function and a line in `MACROS`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from drrn.stories.twine import values as js
from drrn.stories.twine.layout import split_link
from drrn.stories.twine.page import Link, Node, Page
from drrn.stories.twine.script import DEFAULT_ANSWER, IGNORE, ExpressionError, Script
from drrn.stories.twine.story import Passage
from drrn.stories.twine.twine1 import wild
from drrn.stories.twine.twine1.expressions import parameters
from drrn.stories.twine.twine1.markup import PLAIN, Reader, discard, shortened
from drrn.stories.twine.twine1.scanner import link_at

ARGUMENT = re.compile(r"\"([^\"]*)\"|'([^']*)'|\[\[([^\]]{0,2000})\]\]|(\S+)")


def read_passage(script: Script, passage: Passage, names: frozenset[str]) -> Node:
    script.links.setdefault(passage.name, set())
    return Reader(script, passage, names, macro).read(passage.text)


def macro(reader: Reader, source: str) -> None:
    """Add what one <<macro>> does: a known macro, a bare variable, or a passage's name."""
    inside = source[2:-2].strip()
    name, arguments = (*inside.split(None, 1), "", "")[:2]
    if meaning := _meaning(reader.script.macros, name.lower()):
        if meaning != IGNORE:
            MACROS[meaning](reader, arguments, source)
    elif name in MACROS:
        MACROS[name](reader, arguments, source)
    elif name.startswith("$"):
        print_value(reader, inside, source)
    elif name in reader.names:
        display_short(reader, name, arguments, source)
    elif name.lower() in MACROS:
        MACROS[name.lower()](reader, arguments, source)
    elif (
        _block(name.lower()) not in reader.script.unknown
    ):  # of one that is unknown, the end goes without saying
        reader.script.unknown.add(name.lower())
        what = "the macro <<{}>> is not supported".format
        reader.problem(what(shortened(name)), cause=what(shortened(name.lower())))


def _meaning(given: Mapping[str, str], name: str) -> str | None:
    """What the [macros] of the rules say of a macro; the end of a block that is left out is left out, too."""
    return given.get(name) or (IGNORE if given.get(_block(name)) == IGNORE else None)


def _block(name: str) -> str:
    """The macro whose block `/name` or `endname` ends, if it is such an end."""
    return next((name.removeprefix(mark) for mark in ("/", "end") if name.startswith(mark)), "")


# --- values


def set_value(reader: Reader, arguments: str, source: str) -> None:
    expression = reader.expression(arguments, source)
    if expression is not None:
        reader.add(lambda page: discard(expression(page)))


def forget(reader: Reader, arguments: str, source: str) -> None:
    for variable in re.findall(r"\$\w+", arguments):
        reader.add(_write(variable, 0))


def print_value(reader: Reader, arguments: str, source: str) -> None:
    """Say a value; where it holds markup, links even, it is read as such."""
    expression = reader.expression(arguments, source)
    if expression is None:
        return
    told: dict[str, Node] = {}

    def node(page: Page) -> None:
        value = expression(page)
        if value is None or value != value:
            return
        text = js.string(value)
        if PLAIN.fullmatch(text):
            page.say(text)
            return
        if text not in told:
            if len(told) > 1_000:
                told.clear()
            told[text] = _told_while_playing(reader, text)
        page.nested(told[text])

    reader.add(node)


def _told_while_playing(reader: Reader, text: str) -> Node:
    known = len(reader.script.problems)
    node = reader.again(text)
    del reader.script.problems[
        known:
    ]  # too late to refuse the story: left out, as lenient play does
    return node


# --- passages in passages


def display(reader: Reader, arguments: str, source: str) -> None:
    where = wild.passage_named(reader, arguments, source, "shows")
    if where is not None:
        target = where
        reader.add(lambda page: _show(page, target(page)))


def display_short(reader: Reader, name: str, arguments: str, source: str) -> None:
    reader.script.links[reader.passage.name].add(name)
    try:
        given = [
            reader.guarded(argument, source)
            for argument in parameters(arguments, reader.script.facts)
        ]
    except ExpressionError as error:
        reader.problem(f"{shortened(source)}: {error}", cause=str(error))
        return
    reader.add(lambda page: page.show(name, tuple(argument(page) for argument in given)))


# --- links


def choice(reader: Reader, arguments: str, source: str) -> None:
    """A link that is only words once one of the page's choices was taken."""
    label, target, setter = _link(arguments)
    offered = reader.aside(lambda: reader.offer(label, target, setter, source, _chosen))
    words = reader.label(label or target)
    reader.add(lambda page: page.say(words(page)) if page.read(_chosen(page)) else offered(page))


def _chosen(page: Page) -> str:
    return f"chosen {page.passage}"


def actions(reader: Reader, arguments: str, source: str) -> None:
    """A list of passages, each offered until it was taken."""
    for name in _words(arguments):
        _action(reader, name, source)


def _action(reader: Reader, name: str, source: str) -> None:
    mark = f"clicked {name}"

    def item() -> None:
        reader.break_line()
        reader.offer("", name, "", source, lambda page: mark)
        reader.break_line()

    offered = reader.aside(item)
    reader.add(lambda page: None if page.read(mark) else offered(page))


def button(reader: Reader, arguments: str, source: str) -> None:
    label, target, setter = _link(arguments)
    reader.offer(label, target, setter, source)


def text_input(reader: Reader, arguments: str, source: str) -> None:
    """The answer of [inputs] is written at once; the button, if there is one, is a link."""
    variable, _, rest = arguments.partition(" ")
    name = variable.strip("\"'").lstrip("$")
    reader.script.facts.asked.add(name)
    reader.script.facts.written.add(name)
    reader.add(_write(f"${name}", reader.script.answers.get(name, DEFAULT_ANSWER)))
    if rest.strip():
        button(reader, rest, source)


def back(reader: Reader, arguments: str, source: str) -> None:
    """To an earlier page, with the variables it had."""
    label, steps, target = _way_back(reader, arguments, "« back")
    reader.script.facts.tracked.add("history")
    reader.add(
        lambda page: page.offer(Link(label, target, back=steps)) if page.read("moved") else None
    )


def return_(reader: Reader, arguments: str, source: str) -> None:
    """To an earlier page, with the variables of now."""
    label, steps, target = _way_back(reader, arguments, "« return")
    if steps != 1:
        reader.problem("<<return>> by several steps is not supported: name the passage")
        return
    reader.script.facts.tracked.add("last")

    def node(page: Page) -> None:
        if where := page.read("last") and (target or page.read("last")):
            page.offer(Link(label, js.string(where)))

    reader.add(node)


def _way_back(reader: Reader, arguments: str, label: str) -> tuple[str, int, str]:
    """Label, steps and passage of `label "…"`, `3 steps`, `"Passage"`."""
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
            reader.problem(
                f"going back by {shortened(words[at - 1])} steps is not supported: write a number"
            )
        del words[at - 1 : at + 1]
    target = words[0] if words else ""
    if target and target not in reader.names:
        reader.problem(f'there is no passage "{target}" to go back to')
        target = ""
    return label, steps, target


# --- blocks


def if_(reader: Reader, arguments: str, source: str) -> None:
    reader.open("if", reader.expression(arguments, source) or (lambda page: False))


def else_(reader: Reader, arguments: str, source: str) -> None:
    if not reader.blocks or reader.blocks[-1].kind != "if":
        reader.problem(f"{shortened(source)} stands outside an <<if>>")
    elif arguments.split(None, 1)[:1] == ["if"]:
        reader.branch(reader.expression(arguments[2:], source) or (lambda page: False))
    else:
        reader.branch(lambda page: True)


def else_if(reader: Reader, arguments: str, source: str) -> None:
    else_(reader, f"if {arguments}", source)


def end(kind: str) -> Callable[[Reader, str, str], None]:
    """A block's end; one that closes nothing is passed over, as the formats do."""

    def close(reader: Reader, arguments: str, source: str) -> None:
        if reader.blocks and reader.blocks[-1].kind == kind:
            reader.close()

    return close


MACROS: dict[str, Callable[[Reader, str, str], None]] = {
    "set": set_value,
    "remember": set_value,
    "forget": forget,
    "print": print_value,
    "display": display,
    "choice": choice,
    "actions": actions,
    "button": button,
    "textinput": text_input,
    "back": back,
    "return": return_,
    "if": if_,
    "else": else_,
    "elseif": else_if,
    "endif": end("if"),
    "silently": lambda reader, arguments, source: reader.open("silently"),
    "endsilently": end("silently"),
    "nobr": lambda reader, arguments, source: reader.open("nobr"),
    "endnobr": end("nobr"),
    "goto": wild.goto,
    "timedgoto": wild.timed_goto,
    "cyclinglink": lambda reader, arguments, source: wild.cycling_link(
        reader, _words(arguments), source
    ),
    **dict.fromkeys(wild.SOUNDS, wild.ignore),
    **{f"/{kind}": end(kind) for kind in ("if", "silently", "nobr")},
}


def _words(arguments: str) -> list[str]:
    return [next(filter(None, match.groups()), "") for match in ARGUMENT.finditer(arguments)]


def _link(arguments: str) -> tuple[str, str, str]:
    """Label, target and setter of `[[label|target][…]]`, or of `"target" "label"`."""
    if (start := arguments.find("[[")) >= 0 and (found := link_at(arguments, start)):
        _, body, setter = found
        return (*split_link(body), setter)
    words = _words(arguments) or [""]
    target, _, label = words[0].partition("|")
    if label:  # `label|target` in one word
        target, label = label, target
    return (words[1] if len(words) > 1 else label), target, ""


def _write(variable: str, value: js.Value) -> Node:
    return lambda page: page.write(variable, value)


def _show(page: Page, name: str) -> None:
    """A computed name that is no passage comes here in lenient play only."""
    if name in page.script:
        page.show(name)
