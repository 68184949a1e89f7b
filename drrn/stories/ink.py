"""Compiled Ink (the JSON that inklecate and Inky write) as a game, played by PyPI's `bink`.

Ink has its own random generator, whose seed is part of the state; each episode gets a seed from the
game's generator. A story without chance can be compiled, because saved states can be loaded again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drrn.compiled.search import EndingId, Face
from drrn.errors import InputError, require
from drrn.files import decode, read_bytes
from drrn.game.contract import Observation
from drrn.stories.authored import INK, AuthoredGame, Position
from drrn.stories.twine.layout import tidy
from drrn.stories.twine.rules import Rules, check_rules
from drrn.stories.twine.script import Facts, Page, Script
from drrn.stories.twine.story import Passage, Story, unescape_html
from drrn.stories.twine.values import Value

SOURCE_SUFFIXES = (".ink", ".ink2")
OPENING = "(opening)"  # the name of the content before the first knot
RANDOM_COMMANDS = frozenset(("rnd", "lrnd", "seq"))  # RANDOM, LIST_RANDOM, shuffles
TURN_COMMANDS = frozenset(("turn", "turns", "readc"))
COUNT_VISITS = 1  # the bit of "#f" that makes the runtime count a container's visits
COMPILE = "compile it first: inklecate -o '{out}' '{source}', or in Inky: File, Export to JSON"
MAX_LINE_MILLISECONDS = 2_000.0
MAX_PAGE_LINES = 5_000
SEEDS = 10**6
HTML_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


# --- the file


@dataclass(frozen=True)
class InkFile:
    """A compiled story."""

    text: str  # its JSON, changed so that visits of all knots are counted and tags are modern
    story: Story  # each knot and stitch as a passage
    variables: tuple[str, ...]
    uncounted: frozenset[str]  # knots whose visits the story itself never reads
    has_chance: bool
    reads_turns: bool  # whether the story reads the number of turns
    links: Mapping[str, frozenset[str]]  # knots and stitches that each one diverts to
    uses: Mapping[str, tuple[set[str], set[str]]]  # variables that each one reads, and sets


def read_ink(path: Path, encoding: str | None = None) -> InkFile:
    """Read a compiled story; refuse Ink source and damaged files."""
    if path.suffix.lower() in SOURCE_SUFFIXES:
        cure = COMPILE.format(out=path.with_suffix(".json").name, source=path.name)
        raise InputError(f"{path}: this is Ink source; {cure}")
    text = decode(read_bytes(path), str(path), encoding)
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
        return _ink_file(table, str(path))
    except RecursionError as error:
        cause = "damaged Ink: its containers are nested without end"
        raise InputError(f"{path}: {cause}; compile it again") from error


def _ink_file(table: dict[str, Any], source: str) -> InkFile:
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
        name: Passage(name, _texts_in(part), _tags(part)) for name, part in sections.items()
    }
    titles = [tag[6:].strip() for tag in passages[OPENING].tags if tag.lower().startswith("title:")]
    commands = {part for part in _parts(root) if isinstance(part, str)}
    declarations = (
        part for part in sections_of_root.get("global decl", []) if isinstance(part, dict)
    )
    variables = tuple(part["VAR="] for part in declarations if "VAR=" in part)
    uncounted = frozenset(name for name, knot in knots.items() if _count_visits(knot))
    _modernise_tags(root)
    return InkFile(
        text=json.dumps(table),
        story=Story(source, passages, title=titles[0] if titles else "", start=OPENING),
        variables=variables,
        uncounted=uncounted,
        has_chance=not RANDOM_COMMANDS.isdisjoint(commands),
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
    """Return the variables that each knot, stitch and function reads, and those that it sets."""
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
    """Return what each knot and stitch diverts to; the links of a stitch are not its knot's."""
    ids = {id(part) for part in sections.values()}
    links = {}
    for name, container in sections.items():
        parts = (part for part in _own_parts(container, ids) if isinstance(part, dict))
        targets = {_section_of(path, sections) for part in parts for path in _paths(part)}
        links[name] = frozenset(target for target in targets if target and target != name)
    return links


def _paths(part: dict[str, Any]) -> list[str]:
    """Return the absolute paths that a part diverts to, or stores for a divert."""
    paths = [part[key] for key in ("->", "->t->", "^->") if isinstance(part.get(key), str)]
    return [] if part.get("var") else [path for path in paths if not path.startswith(".")]


def _section_of(path: str, sections: Mapping[str, Any]) -> str | None:
    parts = path.split(".")
    return next((name for name in (".".join(parts[:2]), parts[0]) if name in sections), None)


def _named(container: list[Any]) -> dict[str, list[Any]]:
    """Return the named containers inside one: knots of the root, stitches of a knot."""
    last = container[-1]
    items = last.items() if isinstance(last, dict) else ()
    return {name: part for name, part in items if isinstance(part, list)}


def _containers(container: list[Any]) -> Iterator[list[Any]]:
    """Yield a container and all containers inside it."""
    yield container
    unnamed = (part for part in container if isinstance(part, list))
    for inner in (*unnamed, *(_named(container).values() if container else ())):
        yield from _containers(inner)


def _parts(node: list[Any]) -> Iterator[Any]:
    for container in _containers(node):
        yield from container


def _texts_in(node: list[Any]) -> str:
    strings = (part for part in _parts(node) if isinstance(part, str))
    return "\n".join(part[1:] for part in strings if part.startswith("^"))


def _tags(node: list[Any]) -> tuple[str, ...]:
    """Return the tags in both notations: an object, or text between two marks."""
    objects = (part for part in _parts(node) if isinstance(part, dict))
    tags = [str(part["#"]).strip() for part in objects if "#" in part]
    for inner in _containers(node):
        marks = [index for index, part in enumerate(inner) if part == "#"]
        tags += [str(inner[index + 1])[1:].strip() for index in marks if index + 1 < len(inner)]
    return tuple(tags)


def _count_visits(container: list[Any]) -> bool:
    """Make the runtime count a container's visits; return whether it did not before."""
    details = container[-1] if isinstance(container[-1], dict) else {}
    flags = details.get("#f", 0)
    container[-1] = {**details, "#f": flags | COUNT_VISITS}
    return not flags & COUNT_VISITS


def _modernise_tags(root: list[Any]) -> None:
    """Rewrite tags as Ink 21 does; one part stays one part, because paths count parts."""
    for container in list(_containers(root)):
        for index, part in enumerate(container):
            if isinstance(part, dict) and set(part) == {"#"}:
                container[index] = ["#", f"^{part['#']}", "/#", None]


# --- the game


def open_ink(
    path: Path,
    rules: Rules | None = None,
    toml: Path | None = None,
    encoding: str | None = None,
    **options: Any,
) -> InkGame:
    """Open a compiled story under the rules of its TOML file; `options` are those of the game."""
    ink = read_ink(path, encoding)
    rules = rules or Rules()
    if toml is not None:
        facts = Facts(written=set(ink.variables))
        check_rules(rules, Script(ink.story, {}, facts=facts), toml)
    game_class = InkGame if ink.has_chance else EnumerableInkGame
    return game_class(path.stem.removesuffix(".ink"), ink, rules, **options)


@dataclass(frozen=True)
class InkPage:
    """A page of an Ink story, and the state behind it; equal keys have equal continuations."""

    face: Face = field(compare=False)
    choices: tuple[tuple[str, int], ...] = field(compare=False)  # label and Ink's index
    knot: str = field(compare=False)  # the last one entered
    saved: str = field(compare=False, repr=False)  # state of the runtime
    paid: frozenset[str] = field(compare=False)  # events that have paid
    entered: tuple[str, ...] = field(compare=False)  # knots and stitches since the previous page
    key: str = ""  # only of stories without chance


class InkGame(AuthoredGame):
    """Plays a compiled story under its rules."""

    engine = INK
    most_copies = 32  # one runtime each

    def __init__(self, name: str, ink: InkFile, rules: Rules, **options: Any) -> None:
        """`options` are those of AuthoredGame."""
        super().__init__(name, ink.story, rules, **options)
        self.ink = ink
        self.links = ink.links
        self.variable_uses = ink.uses
        self._start_runtime()

    def another(self) -> InkGame:
        twin = super().another()
        twin.errors = []
        twin._start_runtime()
        return twin

    def _start_runtime(self) -> None:
        runtime = require("bink.story", "ink")
        with self._checked_runtime():
            with _silent_stderr():
                self._runtime: Any = runtime.Story(self.ink.text)
            self._runtime.set_allow_external_function_fallbacks(True)
            self._runtime.set_error_handler(self._record_error)
            self._first_state: dict[str, Any] = json.loads(self._runtime.save_state())
            self._defaults = {f"${name}": self._variable(name) for name in self.ink.variables}

    @property
    def fingerprint(self) -> str:
        """A hash of the story and its rewards."""
        text = f"{self.ink.text}\n{super().fingerprint}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def edition(self) -> str:
        """What the fingerprint does not cover and a player sees."""
        return repr(sorted(self.paraphrases.items()))

    def position_at(self, state: InkPage) -> Position:
        cells = self._cells(json.loads(state.saved))
        return Position(state.knot, (*state.entered, state.knot), cells)

    def face_at(self, state: InkPage) -> Face:
        return state.face

    def _open(self) -> Observation:
        return self._show(self._first_page(self._random.randrange(SEEDS)))

    def _take(self, option: int) -> Observation:
        return self._show(self._next_page(self._state, option))

    def _first_page(self, seed: int) -> InkPage:
        """Return the first page of an episode that has the given random seed."""
        state = {**self._first_state, "storySeed": seed, "previousRandom": 0}
        with self._checked_runtime():
            self._runtime.load_state(json.dumps(state))
            page = self._read_page(None)
        if not page.choices:
            cause = f" ({self.errors[-1]})" if self.errors else ""
            raise self._refusal(f"the story offers no choice on its first page{cause}")
        return page

    def _next_page(self, page: InkPage, choice: int) -> InkPage:
        """Return the page after a choice; the runtime must be in the state of `page`."""
        with self._checked_runtime():
            self._runtime.choose_choice_index(page.choices[choice][1])
            return self._read_page(page)

    def _read_page(self, before: InkPage | None) -> InkPage:
        """Read up to the next choice and apply the rules; `before` is None on the first page."""
        text, tags = self._read_lines()
        rules = self.rules
        labels = [_plain(label) or "…" for label in self._runtime.get_current_choices()]
        choices = tuple((label, i) for i, label in enumerate(labels) if rules.is_action(label))
        saved = self._runtime.save_state()
        state = json.loads(saved)
        shown = self._entered_knots(before, state["visitCounts"])
        entered = tuple(shown) if before else tuple(dict.fromkeys((OPENING, *shown)))
        paid = before.paid if before else frozenset()
        knot = shown[-1]
        cells = self._cells(state) | dict.fromkeys(paid, True)
        page = Page(knot, {}, dict.fromkeys(shown, tags), cells, lambda _: 0)
        page.passages.extend(shown)
        if choices and rules.stops(page, text):
            choices = ()
        rule, reward = rules.judge(page, text, ended=not choices, opening=before is None)
        ending = None
        if not choices:
            ending = EndingId(rules.ending_name(rule, knot), rule, text, reward)
        actions = self._reworded(label for label, _ in choices)
        face = Face(text, actions, reward, ending=ending)
        return InkPage(face, choices, knot, saved, paid | page.writes.keys(), entered)

    def _entered_knots(self, before: InkPage | None, counts: Mapping[str, int]) -> list[str]:
        """Return the knots and stitches entered since the last page, or the current one."""
        visits = json.loads(before.saved)["visitCounts"] if before else {}
        names = self.story.passages
        entered = [name for name in names if counts.get(name, 0) > visits.get(name, 0)]
        return entered or [before.knot if before else OPENING]

    def _read_lines(self) -> tuple[str, tuple[str, ...]]:
        """Return the text and tags up to the next choice."""
        lines: list[str] = []
        tags: list[str] = []
        while self._runtime.can_continue():
            finished = self._runtime.continue_async(MAX_LINE_MILLISECONDS)
            if not finished or len(lines) >= MAX_PAGE_LINES:
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
        if is_error and message not in self.errors:
            self.errors.append(message)

    def _refusal(self, cause: str) -> InputError:
        return InputError(f"{self.story.source}: {cause}")

    @contextlib.contextmanager
    def _checked_runtime(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            cause = f"the Ink runtime cannot play it: {' '.join(str(error).split())}"
            raise self._refusal(f"{cause}; correct the story and compile it again") from error


class EnumerableInkGame(InkGame):
    """A story without chance, which can be compiled."""

    def opening(self) -> Iterator[tuple[float, InkPage]]:
        yield 1.0, self._with_key(self._first_page(0))

    def outcomes(self, state: InkPage, index: int) -> Iterator[tuple[float, InkPage]]:
        self._runtime.load_state(state.saved)
        yield 1.0, self._with_key(self._next_page(state, index))

    def _with_key(self, page: InkPage) -> InkPage:
        """Identify a page by what it shows and, before the end, by the saved state."""
        face = page.face
        name = face.ending.passage if face.ending else page.knot
        hidden = self._identity(json.loads(page.saved)) if page.choices else ""
        visible = (face.text, page.choices, face.reward, name)
        return replace(page, key=repr((*visible, sorted(page.paid), hidden)))

    def _identity(self, saved: dict[str, Any]) -> str:
        """Return the saved state without what is never read: seeds, old text, thread numbers."""
        unread = {"storySeed", "previousRandom"}
        if not self.ink.reads_turns:
            unread |= {"turnIdx", "turnIndices"}
        values = {key: value for key, value in saved.items() if key not in unread}
        visits = saved["visitCounts"].items()
        values["visitCounts"] = {k: n for k, n in visits if k not in self.ink.uncounted}
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
