"""What a hosted story may ask of its history: how often passages were shown, how many turns passed, what was before."""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import cached_property

from drrn.stories.hosted.ahead import Lookahead
from drrn.stories.twine.story import Passage, Story

# How often this one was shown.
HERE = re.compile(
    r"\([\w-]+:[^\n]*\b(?:visits?|exits?)\b|\bvisited\s*\(\s*(?:passage\s*\(\s*\)\s*)?\)|\bpassage\.visits\b"
)
NAMED = re.compile(
    r"\b(?:hasVisited|visited)\s*\(\s*((?:\"[^\"]*\"|'[^']*')(?:\s*,\s*(?:\"[^\"]*\"|'[^']*'))*)\s*\)"
)
NAMED_IN_HARLOWE = re.compile(
    r"(?:\(visited:|\(history:\s*\)\s*contains)\s*(\"[^\"]*\"|'[^']*')\s*\)"
)
# How often any other was, unless it is one of those.
ANY = re.compile(r"\(history:|\(visited:|\b(?:hasVisited|visited|visitedTags?|lastVisited)\s*\(")
WHOLE = re.compile(
    r"\bstory\.history\b|\bstate\.history\b(?!\s*\[\s*0\s*\])"
)  # the history itself, in code
TRAIL = re.compile(r"\btrail\b")  # as Chapbook calls it
TURNS = re.compile(r"\([\w-]+:[^\n]*\bturns?\b|\bturns\s*\(|\blastVisited\s*\(|State\s*\.\s*turns")
PREVIOUS = re.compile(
    r"\bpassage\.from\b|\{\s*back\s+link|\bprevious\s*\(|<<return|\(history:\s*\)\s*'s"
)
BACK = re.compile(
    r"<<back\b|\((?:link-|icon-)?undo:|State\s*\.\s*(?:history|peek|index|backward)|Engine\s*\.\s*(?:back|go)\b",
    re.I,
)
COUNTED = re.compile(r"\b(?:visit|exit|visited|visits)\b", re.I)
NUMBER = re.compile(r"\b\d{1,5}\b")
# A count that is shown, kept or divided, not just compared with a number.
MORE = re.compile(
    r"\((?:print|set|put|text|str)\s*:[^\n]*\bvisit|<<(?:print|=|-|set)\s[^>]*visited\s*\(|visit[^\n]*(?:%|\beven\b|\bodd\b|\$)"
)


class Past:
    """What of the history can make a difference to any page ahead."""

    def __init__(self, story: Story, ahead: Lookahead) -> None:
        self.story = story
        self.ahead = ahead
        texts = [passage.text for passage in story.passages.values()]
        whole = TRAIL if story.format.startswith("chapbook") else WHOLE
        self.whole = any(whole.search(text) for text in texts) and not story.format.startswith(
            ("harlowe", "sugarcube")
        )
        self.turns = any(TURNS.search(text) for text in texts)
        self.previous = any(PREVIOUS.search(text) for text in texts)
        self.goes_back = any(BACK.search(text) for text in texts)
        self._asked: dict[str, frozenset[str] | None] = {}

    def of(self, passage: str, history: tuple[str, ...]) -> Hashable:
        """What the story may yet ask of the passages that were shown."""
        if self.whole:
            return history
        asked = self._asked_from(passage)
        past: list[Hashable] = [
            len(history) if self.turns else 0,
            history[-2:-1] if self.previous else (),
        ]
        if asked is None or asked:
            counts: dict[str, int] = {}
            for name in history:
                if asked is None or name in asked:
                    counts[name] = min(counts.get(name, 0) + 1, self._most)
            past.append(tuple(sorted(counts.items())))
        return tuple(past)

    def _asked_from(self, passage: str) -> frozenset[str] | None:
        """The passages whose visits may yet be asked for; None: any."""
        if passage not in self._asked:
            found: frozenset[str] | None = frozenset()
            for name in self.ahead.reached_from(passage):
                asks = self._asks.get(name, frozenset())
                found = None if asks is None or found is None else found | asks
            self._asked[passage] = found
        return self._asked[passage]

    @cached_property
    def _asks(self) -> dict[str, frozenset[str] | None]:
        return {name: _asks(passage) for name, passage in self.story.passages.items()}

    @cached_property
    def _most(self) -> int:
        """A count past which no comparison of the story can tell more."""
        lines = [
            line
            for p in self.story.passages.values()
            for line in p.text.splitlines()
            if COUNTED.search(line)
        ]
        if any(MORE.search(line) for line in lines):
            return 10**9
        return (
            max((int(number) for line in lines for number in NUMBER.findall(line)), default=1) + 1
        )


def _asks(passage: Passage) -> frozenset[str] | None:
    """The passages whose visits a passage asks for; None: it may be any."""
    text = passage.text
    named = [*NAMED.findall(text), *NAMED_IN_HARLOWE.findall(text)]
    asked = {quoted[1:-1] for names in named for quoted in re.findall(r"\"[^\"]*\"|'[^']*'", names)}
    rest = HERE.sub("", NAMED_IN_HARLOWE.sub("", NAMED.sub("", text)))
    if ANY.search(rest) or (HERE.search(text) and not passage.is_page):
        return None
    return frozenset(asked | ({passage.name} if HERE.search(text) else set()))
