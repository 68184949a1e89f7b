"""Coverage: which passages and links of a story a play-test met, which it never did, and why."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from drrn.game.contract import Game
from drrn.stories.formats.file import format_key
from drrn.stories.formats.library import HOW, TITLES
from drrn.stories.hosted.variables import COMPUTED_LINK, MOVES, is_shared
from drrn.stories.playtest.shares import share
from drrn.stories.playtest.sightings import Sightings, rules_of
from drrn.stories.twine.script import summarise
from drrn.stories.twine.story import Story, split_link

LINK = re.compile(r"\[\[([^\[\]\n]+)\]")
QUOTED = re.compile(r"\"([^\"\n]{1,500})\"|'([^'\n]{1,500})'")
COMMENT = re.compile(r"<!--.*?-->|/\*.*?\*/|/%.*?%/", re.S)
NOWHERE = "no passage: there is no"  # how a reader complains of a link that leads nowhere
Pair = tuple[str, str]  # a passage, and one that it leads to
SURE = 3.0  # what never came in n games has, with 95 % confidence, odds below 3/n


@dataclass(frozen=True)
class Covered:
    """So many of all."""

    seen: int
    total: int


@dataclass(frozen=True)
class NeverReached:
    """A passage that was never reached, and why."""

    passage: str
    why: str
    line: int
    behind: str = ""  # the passage that leads there, where that is never reached either
    named_by: str = ""  # a passage that was reached and names it


@dataclass(frozen=True)
class LinksUntaken:
    """Passages that one names and was not seen to lead to, though they are reached by other ways."""

    passage: str
    targets: tuple[str, ...]
    line: int


def story_behind(game: Game) -> Story | None:
    """The story that a game was read from, if it was."""
    story = getattr(game, "story", None)
    return story if isinstance(story, Story) else None


def links_of(game: Game) -> dict[str, set[str]]:
    """Passage → passages that it leads to or displays: as it was parsed, else as its source names them."""
    story = story_behind(game)
    if story is None:
        return {}
    if hasattr(game, "ink"):
        return {name: set(targets) for name, targets in game.ink.links.items()}
    parsed: Mapping[str, set[str]] = getattr(getattr(game, "script", None), "links", {})
    pages = _pages(story)
    found = {
        name: set(parsed[name]) if name in parsed else _named_by(story, name) for name in pages
    }
    return {name: targets & pages.keys() for name, targets in found.items()}


def _named_by(story: Story, name: str) -> set[str]:
    """The targets of links, and names of passages that stand in quotation marks, as macros have them."""
    text = COMMENT.sub("", story.passages[name].text)
    targets = {split_link(body)[1] for body in LINK.findall(text)}
    return targets | {one or other for one, other in QUOTED.findall(text)}


def _pages(story: Story) -> dict[str, int]:
    """The passages that can be shown, with their lines."""
    return {name: passage.line for name, passage in story.pages.items() if not is_shared(passage)}


def passages_covered(game: Game, seen: Collection[str]) -> Covered:
    """How many passages of the story were seen."""
    story = story_behind(game)
    pages = _pages(story) if story else {}
    return Covered(len(pages.keys() & set(seen)), len(pages))


def links_covered(
    links: Mapping[str, set[str]], seen: set[tuple[str, str]], left_out: Collection[Pair]
) -> Covered:
    """How many links were seen to lead where they say; those that are no actions do not count."""
    every = {(name, target) for name, targets in links.items() for target in targets}
    every -= set(left_out) - seen
    return Covered(len(every & seen), len(every))


def links_untaken(
    game: Game, links: Mapping[str, set[str]], sightings: Sightings
) -> list[LinksUntaken]:
    """The links between passages that were reached which were not seen to lead where they say."""
    story = story_behind(game)
    no_actions = links_left_out(game)
    reached = sightings.passages
    if story is None:
        return []
    found = []
    for name, targets in links.items():
        left = [
            to
            for to in targets
            if to in reached and to != name and (name, to) not in sightings.links
        ]
        left = sorted(to for to in left if (name, to) not in no_actions)
        if left and name in reached:
            found.append(LinksUntaken(name, tuple(left), story.passages[name].line))
    return found


def links_left_out(game: Game) -> Mapping[Pair, str]:
    """Links that are no actions (they begin the story again, or it ends there), and why."""
    found = getattr(game, "left_out", {})
    return found if isinstance(found, Mapping) else {}


def never_reached(
    game: Game, links: Mapping[str, set[str]], sightings: Sightings, *, exact: bool, games: int
) -> list[NeverReached]:
    """The passages that were never reached, in the story's order, each with the reason."""
    story = story_behind(game)
    if story is None:
        return []
    missing = {name: line for name, line in _pages(story).items() if name not in sightings.passages}
    tried = {
        page.passage for page in sightings.pages.values() if page.untried
    }  # pages with an action left to try
    unnamed = _unnamed(story) if missing else ""
    no_actions = links_left_out(game)
    found = []
    for name, line in missing.items():
        sources = sorted(
            passage for passage, targets in links.items() if name in targets and passage != name
        )
        met = [passage for passage in sources if passage in sightings.passages]
        if not links:
            found.append(NeverReached(name, "" if exact else _seldom(games), line))
        elif not sources:
            found.append(NeverReached(name, unnamed, line))
        elif not met:
            why = f'only "{sources[0]}" leads there, which is never reached either'
            found.append(NeverReached(name, why, line, behind=sources[0]))
        elif all((passage, name) in no_actions for passage in met):
            found.append(
                NeverReached(
                    name,
                    f'"{met[0]}" names it, but {no_actions[met[0], name]}',
                    line,
                    named_by=met[0],
                )
            )
        else:
            met = [passage for passage in met if (passage, name) not in no_actions]
            found.append(
                NeverReached(
                    name, _unmet(met[0], met[0] in tried, exact, games), line, named_by=met[0]
                )
            )
    return found


def _unnamed(story: Story) -> str:
    """What is said of a passage that no link names: in stories that work names out, one may yet lead there."""
    worked_out = any(
        COMPUTED_LINK.search(passage.text) or MOVES.search(passage.text)
        for passage in story.passages.values()
    )
    return (
        "no link names it, though code may work its name out"
        if worked_out
        else "no link leads there"
    )


def _unmet(source: str, untried: bool, exact: bool, games: int) -> str:
    """Why a passage is not reached from one that is."""
    if exact:
        return f'"{source}" names it, but the condition of that link never holds'
    what = (
        "not every link there was tried in the time"
        if untried
        else "the condition of that link was never met"
    )
    return f'"{source}" names it, but {what} ({_seldom(games)})'


def _seldom(games: int) -> str:
    return (
        f"by chance in less than {share(SURE / games)} of random games"
        if games > 10
        else "few games were played"
    )


def left_out(game: Game) -> list[str]:
    """What our own reading of a story does not know, so that it was played without; an engine leaves nothing out."""
    problems = getattr(game, "problems", ()) if is_parsed(game) else ()
    return summarise(problem for problem in problems if NOWHERE not in problem.what)


def rules_without_effect(game: Game) -> list[str]:
    """What the TOML says that a story played by its own engine, or by Ink's, has no use for."""
    if not rules_of(game).macros or is_parsed(game):
        return []
    return [
        "[macros] in the TOML has no effect: the story's own engine plays it, and knows its macros. Take it out."
    ]


def engine_advice(game: Game) -> list[str]:
    """That a story's own engine would leave nothing out, where it has one that could be here."""
    story = story_behind(game)
    title = TITLES.get(format_key(story.format)) if story is not None and left_out(game) else None
    return (
        [f"It is a {title} story; {title} itself would leave nothing out: {HOW}"] if title else []
    )


def is_parsed(game: Game) -> bool:
    """Whether the story was read by our own dialect, so that its links are known."""
    return bool(getattr(getattr(game, "script", None), "links", None))
