"""Expectations of a story checked against what its play-test found.

Where the play-test is exact, so is the verdict. Else what was found is proof (a passage reached, a rule broken), what
was not found within the time fails where it was asked for, and odds near their bound are called unsure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from drrn.authoring.clicks import ClickPath
from drrn.authoring.dead_ends import LOOP, DeadEnd
from drrn.authoring.exact_play import ExactPlay, longer_than
from drrn.authoring.sampled_games import RandomTally
from drrn.authoring.shares import share, share_error
from drrn.authoring.sightings import EndingKey, Sightings
from drrn.games import Compiled
from drrn.games.stories.expectations import Bound, Expectation
from drrn.writing import counted

PASSED, FAILED, UNSURE = "passed", "failed", "unsure"
CLOSE = 2.0  # standard errors within which an estimate is too near to its bound to tell


@dataclass(frozen=True)
class Checked:
    """An expectation, whether it holds, what was found, and the clicks that show it, where there are any."""

    said: str
    status: str
    found: str
    line: int  # of the TOML
    path: ClickPath | None = None


@dataclass(frozen=True)
class Evidence:
    """What a play-test found, for its expectations to be checked by."""

    sightings: Sightings
    tally: RandomTally
    dead_ends: list[DeadEnd]
    exact: ExactPlay | None = None
    compiled: Compiled | None = None


def check_expectation(expected: Expectation, evidence: Evidence) -> Checked:
    """The verdict on one expectation."""
    status, found, path = _check(expected)(expected, evidence)
    return Checked(expected.said, status, found, expected.line, path)


Finding = tuple[str, str, ClickPath | None]


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
    keys = [key for key in evidence.sightings.endings if _is_named(key, expected.ending or "", evidence)]
    if expected.odds is not None:
        return _odds(expected.odds, keys, evidence)
    if keys:
        return PASSED, f"reached in {_steps(evidence.sightings.endings[keys[0]].path)}", None
    return FAILED, _not_reached(evidence), None


def _is_named(key: EndingKey, name: str, evidence: Evidence) -> bool:
    text = evidence.sightings.endings[key].text
    return key.name == name or " ".join(name.split()).casefold() in " ".join(text.split()).casefold()


def _odds(bound: Bound, keys: list[EndingKey], evidence: Evidence) -> Finding:
    path = evidence.sightings.endings[keys[0]].path if keys and not bound.wants_more else None
    if evidence.exact:
        odds = math.fsum(evidence.exact.random_odds.get(key, 0.0) for key in keys)
        return PASSED if bound.holds(odds) else FAILED, f"it has {share(odds)} in random play, exactly", path
    games = evidence.tally.games
    if not games:
        return UNSURE, "no random game came to an end in the time", None
    count = sum(evidence.tally.endings[key] for key in keys)
    odds, error = count / games, share_error(count, games)
    found = f"{share(odds)} ± {share(error)} in {games:,} random games"
    if abs(odds - bound.number) <= CLOSE * error:
        return UNSURE, f"{found}, too near to tell: play longer by --seconds", path
    return PASSED if bound.holds(odds) else FAILED, found, path


def _reachable(expected: Expectation, evidence: Evidence) -> Finding:
    path = evidence.sightings.passages.get(expected.reachable or "")
    if path is not None:
        return PASSED, f"reached in {_steps(path)}", None
    return FAILED, _not_reached(evidence), None


def _steps(path: ClickPath) -> str:
    return counted(len(path), "step")


def _not_reached(evidence: Evidence) -> str:
    if evidence.exact:
        return "no play reaches it"
    return f"not reached in {evidence.tally.games:,} random games and a search: play longer by --seconds"


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
    long = f"; {stopped:,} of {evidence.tally.games:,} random games met the step limit" if stopped else ""
    return UNSURE if stopped else PASSED, f"no place was found from which it does not end{long}", None


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
    assert bound is not None
    endings = evidence.sightings.endings.values()
    if evidence.exact:
        score = evidence.exact.best_final_reward
        shown = max(endings, key=lambda ending: ending.reward).path if endings and not bound.wants_more else None
        return PASSED if bound.holds(score) else FAILED, f"best play pays {score:g} on average, exactly", shown
    if not endings:
        return FAILED, "no ending was found", None
    top = max(endings, key=lambda ending: ending.reward)
    found = f"the best ending found pays {top.reward:g}"
    if bound.wants_more or not bound.holds(top.reward):
        return PASSED if bound.holds(top.reward) else FAILED, found, None if bound.wants_more else top.path
    return PASSED, f"{found}; there may be better", None
