"""Obstacles to passages that a play-test did not reach, and their cures."""

import math
from collections import Counter
from pathlib import Path

from drrn.files import read_toml
from drrn.stories.hosted import patterns
from drrn.stories.hosted.game import HostedGame
from drrn.stories.playtest.coverage import Source, values_text
from drrn.stories.playtest.evidence import Evidence
from drrn.writing import counted, percent

LATE = 0.6  # part of the pages seen, after which a new passage means that more are to be expected
MORE_TIME = 4  # times the limit, which is advised
MIN_SHARE = 0.2  # of all pages seen, for a passage that seems to be a puzzle
MIN_VISITS = 200
MAX_WORDS = 5  # that are listed
MAX_LINES = 6
SENTENCES: dict[str, str] = read_toml(Path(__file__).with_suffix(".toml"))


def obstacles(source: Source, evidence: Evidence, *, exact: bool, limit: float) -> list[str]:
    """Name what hides the passages that were not reached, the largest part first, and the cure.

    `limit` is the play-test's time limit in seconds.
    """
    passages = evidence.passages
    cure = f"--seconds {max(1, math.ceil(MORE_TIME * limit))}"
    unreached = [name for name in source.pages if name not in passages]
    behind: dict[str, list[str]] = {}
    for name in unreached:
        passage, target = _gate(source, evidence, name)
        facts = _obstacle(source, evidence, passage, target, exact)
        if facts:
            facts |= {"passage": passage, "target": target, "cure": cure}
            behind.setdefault(SENTENCES[facts["kind"]].format(**facts), []).append(name)
    lines = []
    hidden = [name for name in source.pages if name in passages and passages[name].curious]
    if hidden:
        count = counted(len(hidden), "passage")
        lines.append(SENTENCES["curious"].format(count=count, target=hidden[0]))
    for line, names in sorted(behind.items(), key=lambda item: -len(item[1]))[:MAX_LINES]:
        such_as = "" if len(names) == 1 else "such as "
        lines.append(f'{counted(len(names), "passage")}, {such_as}"{names[0]}": {line}')
    if unreached and not exact and evidence.last_news > LATE * evidence.visits:
        lines.append(SENTENCES["late"].format(cure=cure))
    return lines


def _gate(source: Source, evidence: Evidence, name: str) -> tuple[str, str]:
    """Return the reached passage that should lead to another one, and its link; "" if none."""
    queue = [name]
    for target in queue:
        origins = [one for one, to in source.links.items() if target in to]
        for origin in origins:
            if origin in evidence.passages:
                return ("", "") if (origin, target) in source.no_actions else (origin, target)
        queue += [origin for origin in origins if origin not in queue]
    # No link leads there: perhaps code does, once the right word is typed.
    return (min(evidence.asking), name) if len(evidence.asking) == 1 else ("", "")


def _obstacle(
    source: Source, evidence: Evidence, passage: str, target: str, exact: bool
) -> dict[str, str]:
    """Return the kind of the obstacle between a passage and a target, and facts about it."""
    if passage in evidence.asking:
        game = source.game
        words = list(dict.fromkeys(game.stage.words)) if isinstance(game, HostedGame) else []
        listed = ", ".join(words[:MAX_WORDS]) + (", …" if len(words) > MAX_WORDS else "")
        tried = SENTENCES["tried" if words else "untold"]
        count = counted(len(words), "word")
        return {"kind": "asks", "tried": tried.format(count=count, words=listed)}
    if exact or not passage:  # a condition that never holds is a problem
        return {}
    text = source.story.passages[passage].text
    if patterns.DRAGGED.search(text):
        return {"kind": "drag"}
    if condition := source.condition(passage, target):
        values = _values(source, evidence, passage, condition)
        return {"kind": "condition", "condition": condition, "values": values}
    if share := _puzzling_share(evidence, passage):
        return {"kind": "puzzle", "share": percent(share)}
    if any(page.passage == passage and page.untried for page in evidence.pages.values()):
        return {"kind": "untried"}
    is_drawn = patterns.DRAWN.search(text)
    return {"kind": "timer" if patterns.TIMED.search(text) else "draw" if is_drawn else "hidden"}


def _values(source: Source, evidence: Evidence, passage: str, condition: str) -> str:
    """Describe the values that the variables of a condition in a passage had."""
    names = patterns.VARIABLE.findall(condition)
    words = names or [w for w in patterns.WORD.findall(condition) if f"${w}" in evidence.variables]
    result = " (a random draw)" if patterns.DRAWN.search(condition) else ""
    for name in dict.fromkeys(words):
        entries = list(evidence.variables.get(f"${name}", {}).values())
        only = "only " if len(entries) == 1 else ""
        was = f"was {only}{values_text(entries)}" if entries else "was never set"
        if entries and (passage, f"${name}") in evidence.unset:
            was += ", and had no value on some visits to that passage"
        result += f"; {source.name_of(name)} {was}"
    return result


def _puzzling_share(evidence: Evidence, passage: str) -> float:
    """Return the share of the clicks in a passage that games seldom left; 0 if it is small."""
    pages = evidence.pages
    visits: Counter[str] = Counter()
    for page in pages.values():
        visits[page.passage] += page.visits
    share = visits[passage] / max(1, visits.total())
    if visits[passage] < MIN_VISITS or share < MIN_SHARE:
        return 0.0
    own = [page for page in pages.values() if page.passage == passage]
    after = [
        pages[key].passage for page in own for keys in page.successors.values() for key in keys
    ]
    return share if after and 2 * after.count(passage) >= len(after) else 0.0
