"""A hosted story as a game: a Twine story played by the engine in its published file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from storytest.authored import HOSTED, Explorable, Position, Progress
from storytest.hosted import patterns
from storytest.hosted.identity import RepeatedLinks, likely_answers
from storytest.hosted.stage import Moment, OutOfTimeError, Stage
from storytest.hosted.variables import is_shared
from storytest.search import LostError, UnlistedError, clock
from storytest.twine.layout import judge_page
from storytest.twine.rules import Rules
from storytest.twine.script import Link, Page, Problem, Script
from storytest.twine.story import Passage, Story, letters_of
from storytest.twine.values import Value
from textgames.compiled.search import BreadthFirst, Face, States, refusal
from textgames.game.contract import Observation


@dataclass(frozen=True)
class HostedState:
    """A state of an episode: a moment of the story, and the events that have paid."""

    moment: Moment
    paid: frozenset[str] = frozenset()
    opening: bool = False
    is_first: bool = False  # whether no passage was entered after the first one


@dataclass(frozen=True)
class Scene:
    """What a state shows and pays, and what its actions do."""

    face: Face
    links: tuple[int, ...]  # index of the page's link for each action
    paid: frozenset[str]  # events that have paid, including those of this page


class HostedGame(Explorable):
    """Plays a story by its own engine, under the rules of its TOML file."""

    engine = HOSTED
    most_copies = 4  # one engine each
    search_seconds: float = 60.0

    def __init__(
        self, name: str, stage: Stage, script: Script, rules: Rules, *, page: str, **options: Any
    ) -> None:
        """`page` is the text of the published file, `options` are those of AuthoredGame."""
        super().__init__(name, script, rules, **options)
        self.stage = stage
        self._digest = hashlib.sha256(page.encode("utf-8", "surrogatepass")).hexdigest()
        self._repeated = RepeatedLinks(script.story)
        self.scripts = "\n".join(patterns.USER_SCRIPT.findall(page))  # of the author
        self._displayed = DisplayedPassages(script.story, self.scripts)
        self.stopped = False  # whether the episode was truncated because its page was lost
        self.walks = False  # whether episodes stay in one engine, and cache nothing
        self.curious = 0  # 1: they also type likely words; 2: and do not always wait for timers
        texts = [passage.text for passage in script.story.passages.values()]
        self._has_menus = any(map(patterns.MENU_CODE.search, texts))
        stage.asks = any("prompt(" in text or "(prompt:" in text for text in texts)
        self.start = HostedState(stage.start)  # before the first page; its only action opens it
        stage.users += 1
        stage.words = likely_answers(script.story, self.scripts)

    @property
    def fingerprint(self) -> str:
        """A hash of the story, its engine, its rewards and its answers."""
        text = super().fingerprint + self._digest
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def problems(self) -> Sequence[Problem]:
        """Errors that the story's own scripts have thrown so far."""
        problems = []
        for error in self.stage.errors:
            name, _, message = error.partition(": ")
            passage = self.story.passages.get(name)
            problems.append(Problem(passage.line if passage else 1, name, message))
        return problems

    def another(self) -> HostedGame:
        twin = super().another()
        twin.stopped = False
        twin.stage.users += 1
        return twin

    def close(self) -> None:
        """Close the engines, unless another copy of the game still plays."""
        self.stage.users -= 1
        if self.stage.users <= 0:
            self.stage.close()

    def _open(self) -> Observation:
        self.stopped = False
        return self._show(self._after(self.start, 0))

    def _take(self, option: int) -> Observation:
        try:
            return self._show(self._after(self._state, option))
        except LostError:  # the page stays as it is, and the episode is truncated
            self.stopped = True
            face = self.face_at(self._state)
            return Observation(face.text, tuple(face.actions[i] for i in self._options))

    def _after(self, state: HostedState, index: int) -> HostedState:
        key = self._random.getrandbits(32)
        if not self.walks:
            return self.after(state, index, key)
        scene = self._scene(state)
        link = scene.links[index]
        moment = self.stage.walk(state.moment, link, key, curious=self.curious)
        return self._state_after(state, moment, scene)

    def set_variables(self, values: Mapping[str, Value]) -> Observation:
        """Enter the passage again with other values of variables."""
        new = {name.lstrip("$"): value for name, value in values.items()}
        key = self._random.getrandbits(32)
        return self._show(
            replace(self._state, moment=self.stage.change(self._state.moment, new, key))
        )

    def opening(self) -> Iterator[tuple[float, HostedState]]:
        return self.outcomes(self.start, 0)

    def outcomes(self, state: HostedState, index: int) -> Iterator[tuple[float, HostedState]]:
        scene = self._scene(state)
        for probability, moment in self.stage.outcomes(state.moment, scene.links[index]):
            yield probability, self._state_after(state, moment, scene)

    def after(self, state: HostedState, index: int, key: int) -> HostedState:
        scene = self._scene(state)
        moment = self.stage.follow(state.moment, scene.links[index], key)
        return self._state_after(state, moment, scene)

    def _state_after(self, before: HostedState, moment: Moment, scene: Scene) -> HostedState:
        opening = before is self.start
        is_first = opening or (before.is_first and not moment.page.entered)
        return HostedState(moment, scene.paid, opening, is_first)

    def face_at(self, state: HostedState) -> Face:
        return self._scene(state).face

    def position_at(self, state: HostedState) -> Position:
        page = state.moment.page
        cells = _cells(page.variables)
        face = self.face_at(state)
        shown = self._displayed.on_page(page.passage, face)
        rest = (page.errors, page.faults, page.history, page.asks, page.words)
        return Position(page.passage, shown, cells, *rest)

    def _scene(self, state: HostedState) -> Scene:
        key = (state.paid, state.opening, state.is_first)
        scene: Scene | None = state.moment.scenes.get(key)
        if scene is None:
            scene = state.moment.scenes[key] = self._new_scene(state)
        return scene

    def _new_scene(self, state: HostedState) -> Scene:
        if state is self.start:
            return Scene(Face("", ("",), 0.0), (0,), frozenset())
        hosted = state.moment.page
        passage = hosted.passage
        cells = _cells(hosted.variables) | dict.fromkeys(state.paid, True)
        page = Page(passage, {}, self.script.tags, cells, lambda chances: 0)
        page.pieces = list(map(self._without_menu, hosted.pieces))
        page.passages = [passage] if passage in self.script.tags else []
        where = {"opening": state.opening, "is_first": state.is_first}
        face, all_links = judge_page(self.rules, self.restarts, page, **where)
        links = self._repeated.unique(all_links)
        face = replace(face, actions=self._reworded(label for label, _ in links))
        indices = {id(link): index for index, link in enumerate(hosted.links)}
        numbers = tuple(indices[id(link)] for _, link in links)
        return Scene(face, numbers, state.paid.union(page.writes))

    def _without_menu(self, piece: str | Link) -> str | Link:
        """A link to a menu of the engine as text: it is not a choice of the story."""
        if isinstance(piece, str) or piece.target or not self._has_menus:
            return piece
        return piece.label if patterns.MENU.fullmatch(piece.label) else piece

    def reachable_states(self, limit: int, memory: int, progress: Progress | None = None) -> States:
        """All states.

        Raises:
            TooLargeError: There are more states than the limit or the memory allows.
            InputError: The search takes too long, or some outcomes cannot be listed.
        """
        if self.stage.identity.has_undo:
            raise refusal(self, "it has an undo, so every path to a page is a separate state")
        self.stage.until = clock() + self.search_seconds
        try:
            self._visit_depth_first(limit, progress)
            states = BreadthFirst(self, limit, memory).run(progress)
        except UnlistedError as error:
            raise refusal(self, f"{error}; play it uncompiled") from error
        except OutOfTimeError as error:
            count = f"{self.search_seconds:g} seconds and {len(self.stage.moments):,} states"
            cure = "search longer with --seconds, or play it uncompiled"
            raise refusal(self, f"the search is not finished after {count}; {cure}") from error
        finally:
            self.stage.until = None
        passages: set[str] = set()
        for face in states.faces:
            passages.update(self._displayed.on_page(face.passage, face))
        states.unreached = tuple(
            name
            for name, passage in self.story.pages.items()
            if name not in passages and not is_shared(passage)
        )
        return states

    def _visit_depth_first(self, limit: int, progress: Progress | None, depth: int = 15) -> None:
        """Visit the states depth first: an engine then often continues from its present state.

        An engine that cannot save its state is not worth it: the path to each state should be
        short, because it is replayed.
        """
        if any(state.moment.saved is None for _, state in self.opening()):
            return
        visited: set[HostedState] = set()
        waiting = [self._successors(self.start)]
        while waiting and len(visited) <= limit:
            state = next((state for _, state in waiting[-1] if state not in visited), None)
            if state is None:
                waiting.pop()
                continue
            visited.add(state)
            if len(waiting) < depth:
                waiting.append(self._successors(state))
            if progress and len(visited) % 20 == 0:
                progress(len(visited))

    def _successors(self, state: HostedState) -> Iterator[tuple[float, HostedState]]:
        for index in range(len(self.face_at(state).actions)):
            yield from self.outcomes(state, index)


def _cells(variables: Mapping[str, Any]) -> dict[str, Value]:
    return {f"${name}": _plain_value(value) for name, value in variables.items()}


def _plain_value(value: Any) -> Value:
    """A value that rules can compare: lists become tuples, objects None."""
    if isinstance(value, list):
        return tuple(map(_plain_value, value))
    return value if isinstance(value, (int, float, str, bool)) else None


# --- passages that a page displays in addition to its own

CODE = re.compile(  # pictures, macros, tags and variables
    r"\[[<>]?img\[[^\n]*?\]\]|<<[^<>]*>>|<[^<>]*>|\([\w-]+:[^()\n]*\)|\{[^{}\n]*\}"
    r"|(?:\$|\b_)[A-Za-z]\w*(?:\.[a-z]\w*)*"
)
MARKUP = re.compile(r"[\[\]<>(){}$|*/_~\n\"'`@#^=\\]+")


class DisplayedPassages:
    """The passages that each passage of a story can display.

    Engines do not report it. A passage that another one names, as `<<include>>` does, is displayed
    if the page has some of its text, or if it has no text to look for.
    """

    def __init__(self, story: Story, scripts: str = "") -> None:
        """`scripts` of the author may display any passage, if they read the source of one."""
        self.story = story
        self._is_scripted = patterns.READS_SOURCE.search(scripts) is not None
        self._candidates: dict[str, list[tuple[str, tuple[str, ...]]]] = {}

    def on_page(self, passage: str, face: Face) -> tuple[str, ...]:
        """The passages on a page: its own first, then those that it displays."""
        text = "\n".join((face.text, *face.actions)) if self._is_scripted else face.text
        shown = dict.fromkeys((passage, *self._everywhere))
        queue = [passage] if passage in self.story.passages else []
        letters = ""
        for name in queue:
            for other, pieces in self._named_in(name):
                letters = letters or letters_of(text)
                is_displayed = not pieces or any(piece in letters for piece in pieces)
                if other not in shown and is_displayed:
                    shown[other] = None
                    queue.append(other)
        return tuple(shown)

    def _named_in(self, name: str) -> list[tuple[str, tuple[str, ...]]]:
        if name not in self._candidates:
            passage = self.story.passages[name]
            displayed = _displayed_by(passage)
            anywhere = self.story.pages.keys() if self._is_scripted else set()
            text = patterns.COMMENT.sub("", passage.text)
            quoted = {one or other for one, other in patterns.QUOTED_TEXT.findall(text)}
            names = displayed | quoted | anywhere
            own = letters_of(text)
            candidates = []
            for other in sorted(names & self.story.pages.keys() - {name}):
                pieces = _pieces(self.story.pages[other])
                new_pieces = tuple(piece for piece in pieces if piece not in own)
                if new_pieces or (not pieces and other in displayed):
                    candidates.append((other, new_pieces))
            self._candidates[name] = candidates
        return self._candidates[name]

    @cached_property
    def _everywhere(self) -> tuple[str, ...]:
        """The passages that headers, footers and side bars display."""
        shared = filter(is_shared, self.story.passages.values())
        names = set[str]().union(*map(_displayed_by, shared))
        return tuple(sorted(names & self.story.pages.keys()))


def _displayed_by(passage: Passage) -> set[str]:
    text = patterns.COMMENT.sub("", passage.text)
    return {next(filter(None, names)) for names in patterns.DISPLAY_MACRO.findall(text)}


def _pieces(passage: Passage, least: int = 12) -> tuple[str, ...]:
    text = CODE.sub("\n", patterns.NOT_DISPLAYED.sub("\n", passage.text))
    pieces = map(letters_of, MARKUP.split(text))
    return tuple(piece for piece in pieces if len(piece) >= least)
