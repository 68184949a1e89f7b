"""Dead ends, told apart from endings: choices used up, an error thrown, a loop that nobody leaves; and what to do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from drrn.game.contract import Game
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.coverage import story_behind
from drrn.stories.playtest.sightings import EndingKey, PageSeen, Sightings, rules_of
from drrn.stories.twine.layout import ENDING_NAME, ENDING_TEXT

USED_UP = "choices used up"
ERROR = "error"
LOOP = "loop"
UNWRITTEN = "not written"
BLANK = "double-click this passage to edit it."  # what Twine puts into a new passage
# What engines write onto the page where a story sends them to a passage that is not there, or runs code that fails.
ENGINE_ERROR = re.compile(
    r"^.{0,20}\bError: .{0,200}(?:does not exist|not found|cannot|can't|bad )[^\n]*", re.M
)
MOST_ADVICE = 3
ENOUGH_VISITS = 20  # of each page of a loop, before it is said that no one leaves it


@dataclass(frozen=True)
class DeadEnd:
    """A page from which it does not go on, though its author hardly meant it as an ending."""

    kind: str
    passage: str
    what: str
    path: ClickPath


def dead_ends(game: Game, links: Mapping[str, set[str]], sightings: Sightings) -> list[DeadEnd]:
    """The dead ends among the pages that were seen to end."""
    found = [
        DeadEnd(ERROR, key.name, "a page that threw an error and offers nothing", path)
        for key, path in sightings.ended_by_error.items()
        if key.rule is None
    ]
    found += [
        DeadEnd(ERROR, key.name, f"a page that shows an error: {shown[0].strip()[:120]}", seen.path)
        for key, seen in sightings.endings.items()
        if key.rule is None
        and key not in sightings.ended_by_error
        and (shown := ENGINE_ERROR.search(seen.text))
    ]
    found += [
        DeadEnd(
            UNWRITTEN,
            key.name,
            "a passage that was never written: it has Twine's own words alone",
            seen.path,
        )
        for key, seen in sightings.endings.items()
        if key.rule is None and seen.text.strip().casefold() == BLANK
    ]
    known = {dead.passage for dead in found}
    for key, ending in sightings.endings.items():
        if key.name not in known and (why := _used_up(game, key, ending.text, links, sightings)):
            what = f"a page whose choices are used up: {why}, and no [[ending]] names it"
            found.append(DeadEnd(USED_UP, key.name, what, ending.path))
    return found


def _used_up(
    game: Game, key: EndingKey, text: str, links: Mapping[str, set[str]], sightings: Sightings
) -> str:
    """How it is known that a page that ended has choices at other times; "" for an ending by a rule or by its words."""
    rules = rules_of(game)
    story = story_behind(game)
    if (
        story is None
        or key.rule is not None
        or rules.ends
        or ENDING_NAME.search(key.name)
        or ENDING_TEXT.search(text)
    ):
        return ""
    if any(page.passage == key.name and page.actions for page in sightings.pages.values()):
        return "at other times it has some"
    targets = sorted(links.get(key.name, set()) - {story.start, key.name})
    return f'it names "{targets[0]}" but did not lead there' if targets else ""


def loops_seen(sightings: Sightings) -> list[DeadEnd]:
    """Pages from which no ending was seen though every action was tried, there and wherever that leads."""
    pages = sightings.pages
    if not sightings.endings:  # what to do about that is said by `advice`
        return []
    leave = {key for key, page in pages.items() if page.ending or page.untried}
    backward: dict[Hashable, set[Hashable]] = {}
    for key, page in pages.items():
        for successors in page.tried.values():
            for successor in successors:
                backward.setdefault(successor, set()).add(key)
    waiting = list(leave)
    while waiting:
        for key in backward.get(waiting.pop(), set()) - leave:
            leave.add(key)
            waiting.append(key)
    stay = [page for key, page in pages.items() if key not in leave]
    if any(
        page.visits < ENOUGH_VISITS for page in stay
    ):  # what an action does may change with time
        return []
    return loops(sorted(stay, key=_distance))


def _distance(page: PageSeen) -> int:
    return len(page.path)


def loops(pages: Iterable[PageSeen]) -> list[DeadEnd]:
    """A dead end for each passage of pages that no one leaves."""
    found: dict[str, DeadEnd] = {}
    for page in pages:
        name = page.passage or " ".join(page.path.comes_to.split())[:40]
        found.setdefault(
            name,
            DeadEnd(
                LOOP, name, "a loop that no one leaves: no ending was found from here", page.path
            ),
        )
    return list(found.values())


def advice(game: Game, sightings: Sightings) -> list[str]:
    """What an author of a story without endings can write into its TOML."""
    story = story_behind(game)
    if story is None or sightings.endings or not sightings.pages:
        return []
    said = [
        "Every page that was seen leads on. If one of them is an ending, say so in the TOML beside the story."
    ]
    back, last = _ways_back(sightings, story.start)
    for label in back[:MOST_ADVICE]:
        said.append(
            f'"{label}" leads back to the start: restart = ["^{re.escape(label)}$"] makes it no action'
        )
    for passage in last[:MOST_ADVICE]:
        said.append(
            f'"{passage}" leads nowhere else: ends = {{ passage = "{passage}" }} makes it an ending'
        )
    if not back and not last:
        said.append(
            'For example: ends = { passage = "…" } for its last page, or { tag = "ending" }'
        )
    return said


def _ways_back(sightings: Sightings, start: str) -> tuple[list[str], list[str]]:
    """Labels of links to the start, most frequent first; and passages that lead only there or to themselves."""
    labels = Counter[str]()
    onward = dict[str, set[str]]()
    unsure = set[str]()
    for page in (page for page in sightings.pages.values() if page.passage != start):
        for index, successors in page.tried.items():
            names = {sightings.pages[key].passage for key in successors}
            onward.setdefault(page.passage, set()).update(names)
            labels.update([page.actions[index]] if names == {start} else [])
        unsure.update([page.passage] if page.untried else [])
    last = [
        name
        for name, names in onward.items()
        if name and names <= {start, name} and name not in unsure
    ]
    return [label for label, _ in labels.most_common()], last
