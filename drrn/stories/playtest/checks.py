"""Expectations of a story checked against what its play-test found.

Where the play-test is exact, so is the verdict. Else what was found is proof (a passage reached, a rule broken), what
was not found within the time fails where it was asked for, and odds near their bound are called unsure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from drrn.compiled.game import Compiled
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.coverage import NeverReached
from drrn.stories.playtest.dead_ends import LOOP, DeadEnd
from drrn.stories.playtest.deciding import deciding_step
from drrn.stories.playtest.exact_play import ExactPlay, longer_than, states_of_endings
from drrn.stories.playtest.sampled_games import RandomTally
from drrn.stories.playtest.shares import share, share_error
from drrn.stories.playtest.sightings import EndingKey, Sightings
from drrn.stories.twine.rules import Bound, Expectation
from drrn.writing import counted, one_line

PASSED = "passed"
FAILED = "failed"
UNSURE = "unsure"
CLICKS = "Clicks"
SHORTEST = "Shortest way there"
NEARBY = "Clicks to where it is named"
TOP = "Way to what pays most"
CLOSE = 2.0  # standard errors within which an estimate is too near to its bound to tell


@dataclass(frozen=True)
class Checked:
    """An expectation, whether it holds, what was found, and the clicks that show it, where there are any."""

    said: str
    status: str
    found: str
    line: int  # of the TOML
    path: ClickPath | None = None
    shows: str = CLICKS  # what the path is


@dataclass(frozen=True)
class Evidence:
    """What a play-test found, for its expectations to be checked by."""

    sightings: Sightings
    tally: RandomTally
    dead_ends: list[DeadEnd]
    never_reached: list[NeverReached]
    exact: ExactPlay | None = None
    compiled: Compiled | None = None


def check_expectation(expected: Expectation, evidence: Evidence) -> Checked:
    """The verdict on one expectation."""
    status, found, path, *shows = _check(expected)(expected, evidence)
    return Checked(expected.text, status, found, expected.line, path, *shows)


Finding = tuple[str, str, ClickPath | None] | tuple[str, str, ClickPath | None, str]


def _check(expected: Expectation) -> Callable[[Expectation, Evidence], Finding]:
    if expected.ending is not None:
        return _ending
    if expected.reachable is not None:
        return _reachable
    if expected.never is not None:
        return _never
    if expected.at_most_steps is not None:
        return _at_most_steps
    return _best if expected.best is not None else _always_ends


def _ending(expected: Expectation, evidence: Evidence) -> Finding:
    keys = [
        key for key in evidence.sightings.endings if _is_named(key, expected.ending or "", evidence)
    ]
    if expected.odds is not None:
        return _odds(expected.odds, keys, evidence)
    if keys:
        return PASSED, f"reached in {_steps(evidence.sightings.endings[keys[0]].path)}", None
    return _not_reached(expected.ending or "", evidence)


def _is_named(key: EndingKey, name: str, evidence: Evidence) -> bool:
    text = evidence.sightings.endings[key].text
    return (
        key.name == name or " ".join(name.split()).casefold() in " ".join(text.split()).casefold()
    )


def _odds(bound: Bound, keys: list[EndingKey], evidence: Evidence) -> Finding:
    path = min((evidence.sightings.endings[key].path for key in keys), key=len, default=None)
    if evidence.exact:
        odds = math.fsum(evidence.exact.random_odds.get(key, 0.0) for key in keys)
        found = f"it has {share(odds)} in random play, exactly"
        if bound.holds(odds):
            return PASSED, found, None
        return FAILED, found + _decided(path, keys, bound, evidence), path, SHORTEST
    games = evidence.tally.games
    if not games:
        return UNSURE, "no random game came to an end in the time", path, SHORTEST
    count = sum(evidence.tally.endings[key] for key in keys)
    odds = count / games
    error = share_error(count, games)
    found = f"{share(odds)} ± {share(error)} in {games:,} random games"
    if abs(odds - bound.number) <= CLOSE * error:
        return UNSURE, f"{found}, too near to tell: it needs more seconds", path, SHORTEST
    if bound.holds(odds):
        return PASSED, found, None
    return FAILED, found + _decided(path, keys, bound, evidence), path, SHORTEST


def _decided(
    path: ClickPath | None, keys: list[EndingKey], bound: Bound, evidence: Evidence
) -> str:
    """What to know of an ending that comes too seldom: that nothing leads there, or the step that decides most."""
    if path is None:
        return "; no play reaches it" if evidence.exact else "; no play reached it"
    if not bound.wants_more or evidence.compiled is None:
        return ""
    goal = states_of_endings(evidence.compiled, keys, has_passages=not keys[0].text)
    step = deciding_step(evidence.compiled, path, goal)
    if step is None:
        return ""
    by = "chance" if step.by_chance else "choice"
    odds = f"{share(step.before)} before and {share(step.after)} after"
    at = f'step {step.number}, "{one_line(step.action)}"'
    return f"; on the shortest way, {by} decides most at {at}: random play gets there in {odds}"


def _reachable(expected: Expectation, evidence: Evidence) -> Finding:
    path = evidence.sightings.passages.get(expected.reachable or "")
    if path is not None:
        return PASSED, f"reached in {_steps(path)}", None
    return _not_reached(expected.reachable or "", evidence)


def _steps(path: ClickPath) -> str:
    return counted(len(path), "step")


def _not_reached(name: str, evidence: Evidence) -> Finding:
    """That something is not reached, why, and the clicks to the nearest passage that names it."""
    known = next((never for never in evidence.never_reached if never.passage == name), None)
    why = f": {known.why}" if known and known.why else ""
    path = evidence.sightings.passages.get(known.named_by) if known else None
    if evidence.exact:
        return FAILED, f"no play reaches it{why}", path, NEARBY
    return (
        FAILED,
        f"not reached in {counted(evidence.tally.games, 'random game')} and a search{why}",
        path,
        NEARBY,
    )


def _never(expected: Expectation, evidence: Evidence) -> Finding:
    path = evidence.sightings.broken.get(expected.never or "")
    if path is not None:
        return FAILED, f"it held after {_steps(path)}", path
    proven = evidence.sightings.complete
    return PASSED, "it holds in no state" if proven else "it held in no state that was seen", None


def _always_ends(expected: Expectation, evidence: Evidence) -> Finding:
    stuck = [dead for dead in evidence.dead_ends if dead.kind == LOOP]
    if evidence.exact and not stuck:
        return PASSED, "an ending can be reached from everywhere", None
    if stuck:
        return FAILED, f'from "{stuck[0].passage}" no ending can be reached', stuck[0].path
    if not evidence.sightings.endings:
        return FAILED, "no ending was found", evidence.sightings.longest
    stopped = evidence.tally.stopped
    long = (
        f"; {stopped:,} of {evidence.tally.games:,} random games met the step limit"
        if stopped
        else ""
    )
    return (
        UNSURE if stopped else PASSED,
        f"no place was found from which it does not end{long}",
        None,
    )


def _at_most_steps(expected: Expectation, evidence: Evidence) -> Finding:
    most = expected.at_most_steps or 1
    if evidence.compiled is not None:
        path = longer_than(evidence.compiled, most)
        if path is None:
            return PASSED, f"every play ends within {counted(most, 'step')}", None
        return FAILED, f"a play can go on after {counted(most, 'step')}", path
    longest = evidence.sightings.longest
    return (
        PASSED if len(longest) <= most else FAILED,
        f"the longest game played took {_steps(longest)}",
        (longest if len(longest) > most else None),
    )


def _best(expected: Expectation, evidence: Evidence) -> Finding:
    bound = expected.best
    endings = evidence.sightings.endings.values()
    assert bound is not None
    if not endings:
        return FAILED, "no ending can be reached" if evidence.exact else "no ending was found", None
    top = max(endings, key=lambda ending: ending.reward)
    if evidence.exact:
        score = evidence.exact.best_final_reward
        found = f"best play pays {score:g} on average, exactly"
        sure = True
    else:
        score = top.reward
        found = f"the best ending found pays {score:g}"
        sure = bound.wants_more
    if bound.holds(score):
        return PASSED, found if sure else f"{found}; there may be better", None
    return FAILED, found, top.path, TOP
