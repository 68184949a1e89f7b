"""Ink as a game, played by PyPI's `bink`: source, compiled JSON, and Inky's export for the web.

Source is compiled by inkjs in V8. RANDOM, LIST_RANDOM and shuffles are rewritten as calls of this
module, so that their outcomes can be listed. SEED_RANDOM has no effect.
"""

import contextlib
import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from storytest.authored import INK, AuthoredGame, Position
from storytest.hosted.browser import scripts
from storytest.hosted.engine import Isolate, IsolateError
from storytest.limits import LIMITS, Limits
from storytest.packages import ink_compiler
from storytest.twine.layout import tidy
from storytest.twine.rules import Rules, check_rules
from storytest.twine.script import EveryDraw, Facts, Page, Script
from storytest.twine.story import Passage, Story, unescape_html
from storytest.twine.values import Value
from textgames.compiled.search import EndingId, Face, refusal
from textgames.errors import InputError, require
from textgames.files import decode, read_bytes
from textgames.game.contract import Observation

SOURCE_SUFFIXES = (".ink", ".ink2")
EXPORT = re.compile(r"\s*(?:(?:var|let|const)\s+)?storyContent\s*=\s*")  # of Inky, for the web
FAULT = re.compile(r"(?:ERROR|RUNTIME ERROR): (?:'([^']*)' )?line (\d+): (.*)", re.S)
OPENING = "(opening)"  # the name of the content before the first knot
# Calls in place of RANDOM, LIST_RANDOM and the next index of a shuffle, by command.
DRAWS = {"rnd": "drrn random", "lrnd": "drrn item", "seq": "drrn shuffle"}
TURN_COMMANDS = frozenset(("turn", "turns", "readc"))
HEADING = re.compile(r"^[ \t]*(=+)[ \t]*(?:function\s+)?(\w+)|^[ \t]*INCLUDE[ \t]+(.+?)\s*$", re.M)
NUMBER = re.compile(r"-?\d+")
HTML_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


# --- the file


@dataclass(frozen=True)
class InkFile:
    """A compiled story."""

    text: str  # its JSON, changed so that visits of all knots are counted and tags are modern
    story: Story  # each knot and stitch as a passage
    variables: tuple[str, ...]
    uncounted: frozenset[str]  # knots whose visits the story itself never reads
    sequences: Mapping[str, tuple[int, str]]  # size and command of alternatives, by path
    reads_turns: bool  # whether the story reads the number of turns
    links: Mapping[str, frozenset[str]]  # knots and stitches that each one diverts to
    uses: Mapping[str, tuple[set[str], set[str]]]  # variables that each one reads, and sets


def export_of_inky(path: Path) -> Path | None:
    """The story's file in Inky's export for the web: given it, its page or its folder."""
    is_page = path.suffix.lower() in (".html", ".htm")
    folder = path.parent if is_page else path
    for file in [path] if path.suffix.lower() == ".js" else sorted(folder.glob("*.js")):
        with file.open(encoding="utf-8-sig", errors="replace") as text:
            is_story = EXPORT.match(text.read(200)) is not None
        if is_story and (not is_page or file.name.encode() in read_bytes(path)):
            return file
    return None


def read_ink(path: Path, encoding: str | None = None) -> InkFile:
    """Read a story: Ink source, compiled Ink, or Inky's export for the web."""
    text = decode(read_bytes(path), str(path), encoding)
    lines: dict[str, int] = {}
    if path.suffix.lower() in SOURCE_SUFFIXES:
        files: dict[str, str] = {}
        lines = _read_source(text, path, encoding, files)
        text = compile_ink(text, path, files)
    export = EXPORT.match(text)
    if export:
        text = text[export.end() :].strip().rstrip(";")
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not compiled Ink: it is not valid JSON: {error}") from error
    is_ink = (
        isinstance(table, dict)
        and isinstance(table.get("inkVersion"), int)
        and isinstance(table.get("root"), list)
    )
    if not is_ink:
        raise InputError(f'{path}: not compiled Ink: it has no "inkVersion" with a "root"')
    try:
        return _ink_file(table, str(path), lines)
    except RecursionError as error:
        cause = "damaged Ink: its containers are nested without end"
        raise InputError(f"{path}: {cause}; compile it again") from error


def compile_ink(text: str, path: Path, files: Mapping[str, str]) -> str:
    """The JSON of Ink source that is compiled with the files that it includes.

    Raises:
        InputError: The source has an error; the message has its file and line.
    """
    compiler = ink_compiler(str(path))
    arguments = f"{json.dumps(text)}, {json.dumps(files)}"
    try:
        with Isolate() as isolate:
            isolate.evaluate(compiler)
            isolate.evaluate(scripts(("compile_ink",)))
            answer = isolate.evaluate(f"compileInk({arguments})")
    except IsolateError as error:
        raise InputError(f"{path}: the Ink compiler cannot read it: {error}") from error
    compiled, faults = json.loads(answer)
    if not faults:
        return str(compiled)
    matches = [match for match in map(FAULT.match, faults) if match]
    if not matches:
        raise InputError(f"{path}: Ink: {faults[0]}")
    fault, *others = matches
    file = path.parent / fault[1] if fault[1] else path
    rest = f" (and {len(others)} more)" if others else ""
    raise InputError(f"{file}, line {fault[2]}: {' '.join(fault[3].split())}{rest}")


def _read_source(
    text: str, path: Path, encoding: str | None, files: dict[str, str]
) -> dict[str, int]:
    """Read the included files into `files`, and return the lines of the knots and stitches.

    Included files are in the folder of the first. What they contain has the line of its INCLUDE.
    """
    lines: dict[str, int] = {}
    knot = ""
    for heading in HEADING.finditer(text):
        marks, name, include = heading.groups()
        line = text.count("\n", 0, heading.end()) + 1
        if marks:
            knot = knot if marks == "=" else name
            lines[f"{knot}.{name}" if marks == "=" else name] = line
        elif include not in files:
            file = path.parent / include
            if not file.resolve().is_relative_to(path.parent.resolve()) or not file.is_file():
                raise InputError(f"{path}: INCLUDE {include}: the story's folder has no such file")
            files[include] = decode(read_bytes(file), str(file), encoding)
            names = _read_source(files[include], path, encoding, files)
            lines |= dict.fromkeys(names, line)
    return lines


def _ink_file(table: dict[str, Any], source: str, lines: Mapping[str, int]) -> InkFile:
    root = table["root"]
    for container in _containers(root):
        if not container or not isinstance(container[-1], (dict, type(None))):
            raise InputError(f"{source}: damaged Ink: a container has no end; compile it again")
    sections_of_root = _named(root)
    functions = {part["f()"] for part in _parts(root) if isinstance(part, dict) and "f()" in part}
    knots = {}
    for name, knot in sections_of_root.items():
        if name != "global decl" and name not in functions:
            knots[name] = knot
    for name, knot in tuple(knots.items()):
        knots |= {f"{name}.{inner}": stitch for inner, stitch in _named(knot).items()}
    sections = {OPENING: root[:-1], **knots}
    passages = {
        name: Passage(name, _texts_in(part), _tags(part), lines.get(name, 1))
        for name, part in sections.items()
    }
    titles = [tag[6:].strip() for tag in passages[OPENING].tags if tag.lower().startswith("title:")]
    commands = {part for part in _parts(root) if isinstance(part, str)}
    declarations = (
        part for part in sections_of_root.get("global decl", []) if isinstance(part, dict)
    )
    variables = tuple(part["VAR="] for part in declarations if "VAR=" in part)
    uncounted = frozenset(name for name, knot in knots.items() if _count_visits(knot))
    _modernise_tags(root)
    sequences = dict(_sequences(root))
    _rewrite_draws(root)
    return InkFile(
        text=json.dumps(table),
        story=Story(source, passages, title=titles[0] if titles else "", start=OPENING),
        variables=variables,
        uncounted=uncounted,
        sequences=sequences,
        reads_turns=not TURN_COMMANDS.isdisjoint(commands),
        links=_links(sections),
        uses=_variable_uses(
            sections_of_root | sections, {*variables} - table.get("listDefs", {}).keys()
        ),
    )


def _own_parts(container: list[Any], ids: Collection[int]) -> Iterator[Any]:
    """Yield the parts of a knot or stitch without those of its stitches."""
    for part in (*container, *(_named(container).values() if container else ())):
        if not isinstance(part, list):
            yield part
        elif id(part) not in ids:
            yield from _own_parts(part, ids)


def _variable_uses(
    sections: Mapping[str, list[Any]], variables: set[str]
) -> dict[str, tuple[set[str], set[str]]]:
    ids = {id(part) for part in sections.values()}
    uses: dict[str, tuple[set[str], set[str]]] = {}
    for name, container in sections.items():
        parts = [part for part in _own_parts(container, ids) if isinstance(part, dict)]
        read = {str(part.get("VAR?") or part.get("^var")) for part in parts}
        settings = {str(part.get("VAR=")) for part in parts}
        uses[name] = (read & variables, settings & variables)
    uses[OPENING][1].update(uses.pop("global decl", ((), ()))[1])
    return uses


def _links(sections: Mapping[str, list[Any]]) -> dict[str, frozenset[str]]:
    """What each knot and stitch diverts to. The links of a stitch are not its knot's."""
    ids = {id(part) for part in sections.values()}
    links = {}
    for name, container in sections.items():
        parts = (part for part in _own_parts(container, ids) if isinstance(part, dict))
        targets = {_section_of(path, sections) for part in parts for path in _paths(part)}
        links[name] = frozenset(target for target in targets if target and target != name)
    return links


def _paths(part: dict[str, Any]) -> list[str]:
    paths = [part[key] for key in ("->", "->t->", "^->") if isinstance(part.get(key), str)]
    return [] if part.get("var") else [path for path in paths if not path.startswith(".")]


def _section_of(path: str, sections: Mapping[str, Any]) -> str | None:
    parts = path.split(".")
    return next((name for name in (".".join(parts[:2]), parts[0]) if name in sections), None)


def _named(container: list[Any]) -> dict[str, list[Any]]:
    """The named containers inside one: knots of the root, stitches of a knot."""
    last = container[-1]
    items = last.items() if isinstance(last, dict) else ()
    return {name: part for name, part in items if isinstance(part, list)}


def _containers(container: list[Any]) -> Iterator[list[Any]]:
    yield container
    unnamed = (part for part in container if isinstance(part, list))
    for inner in (*unnamed, *(_named(container).values() if container else ())):
        yield from _containers(inner)


def _parts(node: list[Any]) -> Iterator[Any]:
    for container in _containers(node):
        yield from container


def _sequences(container: list[Any], path: str = "") -> Iterator[tuple[str, tuple[int, str]]]:
    """Yield alternatives such as {a|b|c}, by the paths under which their visits are counted."""
    if container[:2] == ["ev", "visit"] and container[3] in ("MIN", "%", "seq"):
        yield path, (container[2], container[3])
    parts = [(str(i), part) for i, part in enumerate(container) if isinstance(part, list)]
    for name, part in (*parts, *_named(container).items()):
        details = part[-1] if isinstance(part[-1], dict) else {}
        yield from _sequences(part, f"{path}.{details.get('#n', name)}".lstrip("."))


def _texts_in(node: list[Any]) -> str:
    return "\n".join(part[1:] for part in _parts(node) if str(part).startswith("^"))


def _tags(node: list[Any]) -> tuple[str, ...]:
    """The tags in both notations: an object, or text between two marks."""
    objects = (part for part in _parts(node) if isinstance(part, dict))
    tags = [str(part["#"]).strip() for part in objects if "#" in part]
    for inner in _containers(node):
        marks = [index for index, part in enumerate(inner) if part == "#"]
        tags += [str(inner[index + 1])[1:].strip() for index in marks if index + 1 < len(inner)]
    return tuple(tags)


def _count_visits(container: list[Any]) -> bool:
    details = container[-1] if isinstance(container[-1], dict) else {}
    flags = details.get("#f", 0)
    container[-1] = {**details, "#f": flags | 1}  # the bit that makes the runtime count
    return not flags & 1


def _modernise_tags(root: list[Any]) -> None:
    """Rewrite tags as Ink 21 does. One part stays one part, because paths count parts."""
    for container in list(_containers(root)):
        for index, part in enumerate(container):
            if isinstance(part, dict) and set(part) == {"#"}:
                container[index] = ["#", f"^{part['#']}", "/#", None]


def _rewrite_draws(root: list[Any]) -> None:
    """Replace random commands by calls. One part stays one part. A shuffle also has a number."""
    for site, container in enumerate(list(_containers(root))):
        for index, part in enumerate(container):
            if part == "seq":
                container[index] = [site, {"x()": DRAWS[part], "exArgs": 3}, None]
            elif isinstance(part, str) and part in DRAWS:
                container[index] = {"x()": DRAWS[part], "exArgs": 1 if part == "lrnd" else 2}


# --- the game


def open_ink(
    path: Path,
    rules: Rules | None = None,
    toml: Path | None = None,
    encoding: str | None = None,
    **options: Any,
) -> "InkGame":
    """Open an Ink story under the rules of its TOML file. `options` are those of the game."""
    ink = read_ink(path, encoding)
    rules = rules or Rules()
    if toml is not None:
        facts = Facts(written=set(ink.variables))
        check_rules(rules, Script(ink.story, {}, facts=facts), toml)
    return InkGame(path.stem.removesuffix(".ink"), ink, rules, **options)


@dataclass(frozen=True)
class InkPage:
    """A page of an Ink story and the state behind it. Equal keys have equal continuations."""

    face: Face = field(compare=False)
    choices: tuple[tuple[str, int], ...] = field(compare=False)  # label and Ink's index
    knot: str = field(compare=False)  # the last one entered
    saved: str = field(compare=False, repr=False)  # state of the runtime
    paid: frozenset[str] = field(compare=False)  # events that have paid
    entered: tuple[str, ...] = field(compare=False)  # knots and stitches since the previous page
    shuffles: Mapping[int, tuple[int, ...]] = field(compare=False)  # picks, by shuffle
    errors: tuple[str, ...] = field(compare=False)  # of this page
    key: str = ""  # only if its outcomes are listed


class InkGame(AuthoredGame):
    """Plays a compiled story under its rules."""

    engine = INK
    most_copies = 32  # one runtime each

    def __init__(
        self, name: str, ink: InkFile, rules: Rules, *, limits: Limits = LIMITS, **options: Any
    ) -> None:
        """`options` are those of AuthoredGame."""
        super().__init__(name, ink.story, rules, **options)
        self.limits = limits
        self.ink = ink
        self.links = ink.links
        self.variable_uses = ink.uses
        self._draw: Callable[[int], int] = self._random.randrange
        self._shuffles: Mapping[int, tuple[int, ...]] = {}
        self._start_runtime()

    def another(self) -> "InkGame":
        twin = super().another()
        twin.errors = []
        twin._start_runtime()
        return twin

    def _start_runtime(self) -> None:
        runtime = require("bink.story", "bink")
        self._current: InkPage | None = None  # the page whose state the runtime is in
        self._page_errors: list[str] = []
        with self._checked_runtime():
            self._runtime: Any = runtime.Story(self.ink.text)
            for name, function in zip(DRAWS.values(), self._draws(), strict=True):
                self._runtime.bind_external_function(name, function)
            self._runtime.set_allow_external_function_fallbacks(True)
            self._runtime.set_error_handler(self._record_error)
            self._first_state: str = self._runtime.save_state()
            self._defaults = {f"${name}": self._variable(name) for name in self.ink.variables}

    @property
    def fingerprint(self) -> str:
        """A hash of the story and its rewards."""
        text = f"{self.ink.text}\n{super().fingerprint}"
        return hashlib.sha256(text.encode()).hexdigest()

    def position_at(self, state: InkPage) -> Position:
        cells = self._cells(json.loads(state.saved))
        errors = tuple(f"{state.knot}: {error}" for error in state.errors)
        return Position(state.knot, (*state.entered, state.knot), cells, errors)

    def face_at(self, state: InkPage) -> Face:
        return state.face

    def _open(self) -> Observation:
        self._draw = self._random.randrange
        return self._show(self._first_page())

    def _take(self, option: int) -> Observation:
        self._draw = self._random.randrange
        return self._show(self._next_page(self._state, option))

    def _draws(self) -> tuple[Callable[..., Any], ...]:
        def between(_: str, low: float, high: float) -> int:
            if high < low:
                self._record_error(f"RANDOM({low:g}, {high:g}): no number is between them", True)
            return int(low) + self._draw(max(1, int(high) - int(low) + 1))

        def item(_: str, items: Any) -> Any:
            names = sorted(name for name, _ in items.items)
            return self._runtime.list_from_item(names[self._draw(len(names))]) if names else items

        def shuffle(_: str, __: int, size: int, site: int) -> int:
            picks = self._shuffles.get(site, ())
            rest = [index for index in range(size) if index not in picks]
            index = rest.pop(self._draw(len(rest)))
            self._shuffles = {**self._shuffles, site: (*sorted((*picks, index)),) if rest else ()}
            return index

        return between, item, shuffle

    def _first_page(self) -> InkPage:
        self._shuffles = {}
        with self._checked_runtime():
            self._runtime.load_state(self._first_state)
            page = self._read_page(None)
        if not page.choices:
            cause = f" ({self.errors[-1]})" if self.errors else ""
            raise self._refusal(f"the story offers no choice on its first page{cause}")
        return page

    def _next_page(self, page: InkPage, choice: int) -> InkPage:
        with self._checked_runtime():
            if self._current is not page:
                self._runtime.load_state(page.saved)
                self._shuffles = page.shuffles
            self._runtime.choose_choice_index(page.choices[choice][1])
            return self._read_page(page)

    def _read_page(self, before: InkPage | None) -> InkPage:
        """Read up to the next choice and apply the rules."""
        self._current = None
        self._page_errors.clear()
        text, tags = self._read_lines()
        rules = self.rules
        labels = [_plain(label) or "…" for label in self._runtime.get_current_choices()]
        choices = tuple((label, i) for i, label in enumerate(labels) if rules.is_action(label))
        saved = self._runtime.save_state()
        state = json.loads(saved)
        shown = self._entered_knots(before, state["visitCounts"])
        entered = tuple(shown) if before else tuple(dict.fromkeys((OPENING, *shown)))
        paid = before.paid if before else frozenset()
        knot = self._last_knot(shown, state)
        cells = self._cells(state) | dict.fromkeys(paid, True)
        page = Page(knot, {}, dict.fromkeys(shown, tags), cells, lambda _: 0)
        page.passages.extend(shown)
        if choices and rules.stops(page, text):
            choices = ()
        rule, reward = rules.judge(page, text, ended=not choices, opening=before is None)
        ending = None
        if not choices:
            # Without knots, the words make an ending; a number in them does not.
            words = NUMBER.sub("…", text) if knot == OPENING else ""
            ending = EndingId(rules.ending_name(rule, knot), rule, words)
        actions = self._reworded(label for label, _ in choices)
        face = Face(text, actions, reward, knot, ending)
        paid |= page.writes.keys()
        errors = tuple(self._page_errors)
        self._current = InkPage(face, choices, knot, saved, paid, entered, self._shuffles, errors)
        return self._current

    def _entered_knots(self, before: InkPage | None, counts: Mapping[str, int]) -> list[str]:
        visits = json.loads(before.saved)["visitCounts"] if before else {}
        names = self.story.passages
        entered = [name for name in names if counts.get(name, 0) > visits.get(name, 0)]
        return entered or [before.knot if before else OPENING]

    def _last_knot(self, entered: list[str], state: Mapping[str, Any]) -> str:
        """The knot of the last choice. At an end, a knot that was entered and leads to no other."""
        flow = state["flows"][state["currentFlowName"]]
        for choice in reversed(flow["currentChoices"]):
            if knot := _section_of(choice["originalChoicePath"], self.story.passages):
                return knot
        last = [name for name in entered if self.ink.links[name].isdisjoint(entered)]
        return (last or entered)[-1]

    def _read_lines(self) -> tuple[str, tuple[str, ...]]:
        lines: list[str] = []
        tags: list[str] = []
        while self._runtime.can_continue():
            finished = self._runtime.continue_async(self.limits.line_milliseconds)
            if not finished or len(lines) >= self.limits.lines:
                self._start_runtime()  # this one is in the middle of a line
                where = (
                    f"after {self._state.face.text[-60:]!r}" if self._state else "on its first page"
                )
                cause = f"the story reaches no choice and no end {where}"
                raise self._refusal(f"{cause}; fix the loop there")
            lines.append(_plain(self._runtime.get_current_text()))
            tags += self._runtime.get_current_tags()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(), tuple(tags)

    def _cells(self, state: Mapping[str, Any]) -> dict[str, Value]:
        saved = state["variablesState"].items()
        return self._defaults | {f"${name}": _saved_value(value) for name, value in saved}

    def _variable(self, name: str) -> Value:
        try:
            value = self._runtime.get_variable(name)
        except TypeError:  # the address of a knot
            return ""
        if isinstance(value, (bool, int, float, str)):
            return value
        return _list_words(item for item, _ in value.items)

    def _record_error(self, message: str, is_error: bool) -> None:
        if is_error:
            self._page_errors.append(message.removeprefix("RUNTIME ERROR: "))
            self.errors += [error for error in self._page_errors[-1:] if error not in self.errors]

    def _refusal(self, cause: str) -> InputError:
        return InputError(f"{self.story.source}: {cause}")

    @contextlib.contextmanager
    def _checked_runtime(self) -> Iterator[None]:
        try:
            with _silent_stderr():
                yield
        except RuntimeError as error:
            words = " ".join(str(error).split())
            if "panic" in words:
                words = "its code fails, for example by a division by zero"
            raise self._refusal(f"the Ink runtime cannot play it: {words}") from error

    # --- every outcome, for compiling

    def opening(self) -> Iterator[tuple[float, InkPage]]:
        return self._every(self._first_page)

    def outcomes(self, state: InkPage, index: int) -> Iterator[tuple[float, InkPage]]:
        return self._every(lambda: self._next_page(state, index))

    def _every(self, play: Callable[[], InkPage]) -> Iterator[tuple[float, InkPage]]:
        draws = EveryDraw()
        for count in itertools.count():
            if not draws.advance():
                return
            if count >= self.limits.outcomes:
                raise refusal(self, f"a click has more than {count:,} random outcomes")
            self._draw = draws.draw
            page = play()
            yield draws.probability, self._with_key(page)

    def _with_key(self, page: InkPage) -> InkPage:
        """Identify a page by what it shows and, before the end, by the saved state."""
        face = page.face
        name = face.ending.passage if face.ending else page.knot
        hidden = self._identity(json.loads(page.saved)) if page.choices else ""
        visible = (face.text, page.choices, face.reward, name)
        shuffles = sorted(page.shuffles.items()) if page.choices else ()
        return replace(page, key=repr((*visible, sorted(page.paid), hidden, shuffles)))

    def _identity(self, saved: dict[str, Any]) -> str:
        """The saved state without what is never read: seeds, old text, thread numbers."""
        unread = {"storySeed", "previousRandom"}
        if not self.ink.reads_turns:
            unread |= {"turnIdx", "turnIndices"}
        values = {key: value for key, value in saved.items() if key not in unread}
        visits = saved["visitCounts"].items()
        counts = {path: n for path, n in visits if path not in self.ink.uncounted}
        for path in counts.keys() & self.ink.sequences.keys():
            size, command = self.ink.sequences[path]
            index = counts[path] - 1
            # What comes next in a shuffle does not depend on the number of visits.
            counts[path] = {"%": index % size, "MIN": min(index, size), "seq": 0}[command]
        values["visitCounts"] = counts
        return json.dumps(_renumbered(values, {}), sort_keys=True)


def _renumbered(node: Any, threads: dict[str, int]) -> Any:
    """Number threads in order of appearance: their own numbers grow with every choice."""
    if isinstance(node, list):
        return [_renumbered(part, threads) for part in node]
    if not isinstance(node, dict):
        return node
    result: dict[str, Any] = {}
    for key, part in node.items():
        if key in ("threadIndex", "originalThreadIndex"):
            result[key] = threads.setdefault(str(part), len(threads))
        elif key == "choiceThreads":
            inner = {threads.setdefault(n, len(threads)): thread for n, thread in part.items()}
            result[key] = {str(n): _renumbered(thread, threads) for n, thread in inner.items()}
        elif key not in ("threadCounter", "outputStream"):
            result[key] = _renumbered(part, threads)
    return result


def _plain(text: str) -> str:
    return tidy(unescape_html(HTML_TAG.sub("", text)))


def _saved_value(saved: Any) -> Value:
    """Convert a saved variable: text starts with ^, a list has its items as keys."""
    if isinstance(saved, str):
        return saved[1:] if saved.startswith("^") else saved
    if isinstance(saved, dict):
        return _list_words(saved.get("list", {}))
    return saved if isinstance(saved, (bool, int, float)) else 0


def _list_words(names: Any) -> str:
    return ", ".join(sorted(str(name).rpartition(".")[2] for name in names))


@contextlib.contextmanager
def _silent_stderr() -> Iterator[None]:
    """Hide what the runtime prints by itself before it reports a panic."""
    stderr = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as null:
            os.dup2(null.fileno(), 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
