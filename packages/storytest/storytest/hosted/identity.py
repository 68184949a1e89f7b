"""Which states of a hosted story are equal, and which links of a page are.

Two states are one if no page ahead can differ: they show the same, and agree in the variables that
may still be read, in the part of the history that the story asks for, and in hidden clicks.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from storytest.hosted import patterns
from storytest.hosted.session import HostedPage
from storytest.hosted.variables import Lookahead
from storytest.twine.script import Link
from storytest.twine.story import Passage, Story, letters_of, split_link

# Formats whose variables start with a dollar sign wherever they are named.
DOLLAR_FORMATS = ("harlowe", "sugarcube")


@dataclass(frozen=True, slots=True)
class Click:
    """A link that was pressed (-1: it entered the passage), its label, and the random draws."""

    link: int
    label: str
    draws: tuple[int, ...]


class Identity:
    """Computes keys of states. States with equal keys have equal continuations."""

    def __init__(self, story: Story, *, twine1: bool = False) -> None:
        """`twine1`: the page was published by Twine 1, which names no format."""
        self.story = story
        self.reads_names = twine1 or story.format.startswith(DOLLAR_FORMATS)
        self.ahead = Lookahead(story, self.reads_names)
        self._texts = [passage.text for passage in story.passages.values()]
        is_chapbook = story.format.startswith("chapbook")
        whole = patterns.CHAPBOOK_TRAIL if is_chapbook else patterns.WHOLE_HISTORY
        by_macros = story.format.startswith(DOLLAR_FORMATS)
        self.reads_all = not by_macros and self._has(whole)
        self.reads_turns = self._has(patterns.TURNS)
        self.reads_previous = self._has(patterns.PREVIOUS)
        self.has_undo = self._has(patterns.UNDO)
        self._counted_from = cache(self._passages_counted_from)

    def _has(self, pattern: re.Pattern[str]) -> bool:
        return any(map(pattern.search, self._texts))

    @cached_property
    def variables(self) -> frozenset[str]:
        """Every name that may be a variable's."""
        pattern = patterns.VARIABLE if self.reads_names else patterns.WORD
        return frozenset(name for text in self._texts for name in pattern.findall(text))

    def keep(self, variables: Collection[str]) -> None:
        """Make variables that the rules read part of every key."""
        self.ahead.always_read = frozenset(variables)

    def of(self, page: HostedPage, clicks: Sequence[Click]) -> Hashable:
        """The key of a state. The first of `clicks` entered the passage."""
        if not page.links:  # an ending
            return page.passage, page.parts, _json(page.variables), "", (), ()
        return (
            page.passage,
            page.parts,
            _json(self._live_variables(page)),
            page.beyond,
            self._past(page.passage, page.history),
            self._hidden_clicks(page.passage, clicks),
        )

    def _live_variables(self, page: HostedPage) -> Mapping[str, Any]:
        may_be_read = self.ahead.may_be_read
        values = page.variables.items()
        return {name: value for name, value in values if may_be_read(page.passage, name)}

    def _hidden_clicks(self, passage_name: str, clicks: Sequence[Click]) -> Hashable:
        """The clicks and draws within a page that may have a hidden effect."""
        passage = self.story.passages.get(passage_name)
        if passage is None or not self.reads_names:
            return tuple(clicks)
        hidden = patterns.HIDDEN.search(passage.text) is not None
        if not hidden and not patterns.LATER.search(passage.text):
            return ()
        draws = clicks[0].draws if clicks else ()
        # Without hidden values, only links with the same label, one after the other, look alike.
        return draws, _distinct_clicks(clicks[1:], passage.text, repeated_only=not hidden)

    def _past(self, passage: str, history: tuple[str, ...]) -> Hashable:
        if self.reads_all:
            return history
        turns = len(history) if self.reads_turns else 0
        previous = history[-2:-1] if self.reads_previous else ()
        names = self._counted_from(passage)
        if names is not None and not names:
            return turns, previous
        counts: dict[str, int] = {}
        for name in history:
            if names is None or name in names:
                counts[name] = min(counts.get(name, 0) + 1, self._max_count)
        return turns, previous, tuple(sorted(counts.items()))

    def _passages_counted_from(self, passage: str) -> frozenset[str] | None:
        """The passages whose visits may still be asked for. None means any."""
        names: frozenset[str] = frozenset()
        for reached in self.ahead.reached_from(passage):
            more = self._visits_read.get(reached, frozenset())
            if more is None:
                return None
            names |= more
        return names

    @cached_property
    def _visits_read(self) -> dict[str, frozenset[str] | None]:
        return {name: _visits_read_by(passage) for name, passage in self.story.passages.items()}

    @cached_property
    def _max_count(self) -> int:
        """A number of visits that no comparison in the story reaches."""
        text = "\n".join(self._texts)
        lines = list(filter(patterns.VISIT_WORD.search, text.splitlines()))
        if any(map(patterns.VISITS_AS_VALUE.search, lines)):
            return 10**9
        numbers = map(int, patterns.SMALL_NUMBER.findall("\n".join(lines)))
        return max(numbers, default=1) + 1


def _distinct_clicks(clicks: Sequence[Click], text: str, *, repeated_only: bool) -> Hashable:
    """Each click as often as its label occurs in the text. More have no effect."""
    remaining = Counter({click.label: max(1, text.count(click.label)) for click in clicks})
    distinct = []
    for click in clicks:
        if remaining[click.label] and not (repeated_only and text.count(click.label) < 2):
            distinct.append((click.label, click.draws))
        remaining[click.label] -= remaining[click.label] > 0
    return tuple(sorted(distinct) if repeated_only else distinct)


def _json(variables: Mapping[str, Any]) -> str:
    return json.dumps(variables, sort_keys=True, separators=(",", ":"))


def _visits_read_by(passage: Passage) -> frozenset[str] | None:
    text = passage.text
    arguments = [*patterns.NAMED_VISITS.findall(text), *patterns.HARLOWE_VISITS.findall(text)]
    names = {quoted[1:-1] for quoted in patterns.QUOTED_NAME.findall(" ".join(arguments))}
    reads_own = patterns.OWN_VISITS.search(text) is not None
    rest = patterns.HARLOWE_VISITS.sub("", patterns.NAMED_VISITS.sub("", text))
    rest = patterns.OWN_VISITS.sub("", rest)
    if patterns.ANY_VISITS.search(rest) or (reads_own and not passage.is_page):
        return None
    return frozenset(names | {passage.name} if reads_own else names)


def likely_answers(
    story: Story, script: str = "", most: int = 1_000, longest: int = 40
) -> tuple[str, ...]:
    """The words that a story compares with others: what a player may have to type in.

    A word is repeated for each comparison with it, since a common one is more often right.
    `script` is the author's, in the published file.
    """
    passages = story.passages.values()
    scripts = [passage.text for passage in passages if "script" in passage.tags]
    scripts.append(script)
    answers: list[str] = []
    for text in (*(passage.text for passage in passages), *scripts):
        for match in patterns.COMPARED.finditer(text):
            answers += [answer[1:-1] for answer in patterns.QUOTED_NAME.findall(match[0])]
    for text in scripts:
        answers += patterns.KEY.findall(text)
    words = [word for answer in answers if 0 < len(word := answer.strip()) <= longest]
    return (*dict.fromkeys(words), *words)[:most]


class RepeatedLinks:
    """Finds links of one page with the same label that certainly do the same."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self._are_equal = cache(self._do_the_same)

    def unique(self, links: Sequence[tuple[str, Link]]) -> list[tuple[str, Link]]:
        """The links without those that repeat another."""
        counts = Counter((label, link.target) for label, link in links)
        unique: dict[object, tuple[str, Link]] = {}
        for label, link in links:
            key = (label, link.target)
            repeats = counts[key] > 1 and self._are_equal(*key)
            unique.setdefault(key if repeats else id(link), (label, link))
        return list(unique.values())

    def _do_the_same(self, label: str, target: str) -> bool:
        """Whether all links with a label and target have one effect. Target "" means any."""
        if self._has_code or (target and target not in self.story.pages):
            return False
        links = self._links
        is_computed = patterns.COMPUTED.search
        if target:
            links = [link for link in links if link[1] == target or is_computed(link[1])]
            if len({setter for *_, setter in links}) <= 1:
                return True
        letters = letters_of(label)
        effects = {(to, setter) for words, to, setter in links if letters_of(words) == letters}
        return len(effects) == 1 and not any(is_computed(words + to) for words, to, _ in links)

    @cached_property
    def _has_code(self) -> bool:
        passages = self.story.passages.values()
        return any("script" in p.tags or patterns.LINK_CODE.search(p.text) for p in passages)

    @cached_property
    def _links(self) -> list[tuple[str, str, str]]:
        links = []
        for passage in self.story.passages.values():
            for body, setter in patterns.SETTER_LINK.findall(passage.text):
                label, target = split_link(body)
                links.append((target if target == body.strip() else label, target, setter))
        return links
