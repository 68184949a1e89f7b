"""Expectations: check the [[expect]] tables of a story's TOML against its findings.

Exact findings give exact verdicts. Otherwise what was seen is proof (a passage was reached, a
condition was violated), what was not seen in the time fails if it was expected, and probabilities
close to their bound are unsure.
"""

import math
from dataclasses import dataclass

from drrn.compiled.search import EndingId
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.evidence import EndingRecord, Evidence
from drrn.stories.playtest.findings import FAILED, LOOP, PASSED, UNSURE, Check, Findings, share_of
from drrn.stories.playtest.solve import Solution, longer_than
from drrn.stories.twine.rules import Bound, Expectation
from drrn.writing import counted, one_line, percent

CLICKS = "Clicks"
SHORTEST = "Shortest path"
NEARBY = "Clicks to the page that names it"
TOP = "Path to the highest reward"
CLOSE = 2.0  # an estimate within so many standard errors of its bound is unsure

_Verdict = tuple[str, str, ClickPath | None, str]  # status, result, a path, what it shows


@dataclass(frozen=True)
class Checker:
    """Checks expectations against the findings, and the evidence that they were made from."""

    findings: Findings
    evidence: Evidence
    solution: Solution | None

    def check(self, expected: Expectation) -> Check:
        """Return the verdict on one expectation."""
        status, result, path, shows = self._verdict(expected)
        path = None if status == PASSED else path
        return Check(expected.text, status, result, expected.line, path, shows)

    def _verdict(self, expected: Expectation) -> _Verdict:
        if expected.ending is not None:
            endings = self._endings(expected.ending)
            if expected.odds is not None:
                return self._odds(endings, expected.odds)
            path = next((record.path or ClickPath() for record in endings.values()), None)
            return self._reached(expected.ending, path)
        if expected.reachable is not None:
            path = self.evidence.passages.get(expected.reachable)
            return self._reached(expected.reachable, path)
        if expected.never is not None:
            return self._never(expected.never)
        if expected.at_most_steps is not None:
            return self._at_most(expected.at_most_steps)
        return self._best(expected.best) if expected.best is not None else self._always_ends()

    def _endings(self, name: str) -> dict[EndingId, EndingRecord]:
        """Return the endings by a name, or with these words on their last page."""
        words = one_line(name).casefold()
        return {
            key: record
            for key, record in self.evidence.endings.items()
            if key.passage == name or words in one_line(record.text).casefold()
        }

    def _odds(self, endings: dict[EndingId, EndingRecord], bound: Bound) -> _Verdict:
        paths = [record.path for record in endings.values() if record.path is not None]
        path = min(paths, key=len, default=None)
        if self.solution is not None:
            shares = self.solution.shares["random"]
            odds = math.fsum(share.mean for key in endings if (share := shares.get(key)))
            result = f"{percent(odds)} in random play (exact)"
        else:
            tally = self.evidence.random
            share = share_of(sum(len(tally.endings[key]) for key in endings), tally.games)
            if share is None:
                return UNSURE, "no random game ended within the time limit", path, SHORTEST
            odds = share.mean
            result = f"{share.percent} in {tally.games:,} random games"
            if abs(odds - bound.number) <= CLOSE * share.error:
                result += ", too close to decide; allow more --seconds"
                return UNSURE, result, path, SHORTEST
        if bound.holds(odds):
            return PASSED, result, None, CLICKS
        if path is None:
            result += f"; it {'cannot be' if self.findings.exact else 'was not'} reached"
        return FAILED, result, path, SHORTEST

    def _reached(self, name: str, path: ClickPath | None) -> _Verdict:
        """Report whether a passage is reached; if not, the clicks to a page that names it."""
        if path is not None:
            return PASSED, f"reached in {_steps(path)}", None, CLICKS
        issues = [issue for issue in self.findings.never_reached if issue.passage == name]
        why = "".join(f": {issue.what}" for issue in issues if issue.what)
        path = issues[0].path if issues else None
        if self.findings.exact:
            return FAILED, f"it cannot be reached{why}", path, NEARBY
        games = counted(self.evidence.random.games, "random game")
        return FAILED, f"not reached in {games} and a search{why}", path, NEARBY

    def _never(self, condition: str) -> _Verdict:
        path = self.evidence.violations.get(condition)
        if path is not None:
            return FAILED, f"it held after {_steps(path)}", path, CLICKS
        where = "" if self.evidence.complete else " that was visited"
        return PASSED, f"it holds in no state{where}", None, CLICKS

    def _always_ends(self) -> _Verdict:
        loops = self.solution.traps if self.solution else []
        loops = loops or [issue for issue in self.findings.dead_ends if issue.kind == LOOP]
        if loops:
            result = f'no ending is reachable from "{loops[0].passage}"'
            return FAILED, result, loops[0].path, CLICKS
        if self.findings.exact:
            return PASSED, "an ending is reachable from every state", None, CLICKS
        if not self.evidence.endings:
            return FAILED, "no ending was found", self.evidence.longest, CLICKS
        result = "an ending seems reachable from every page"
        tally = self.evidence.random
        if not tally.truncated:
            return PASSED, result, None, CLICKS
        games = f"{tally.truncated:,} of {tally.games:,} random games"
        return UNSURE, f"{result}; {games} reached the step limit", None, CLICKS

    def _at_most(self, limit: int) -> _Verdict:
        if self.solution is None:
            longest = self.evidence.longest
            status = PASSED if len(longest) <= limit else FAILED
            return status, f"the longest game played took {_steps(longest)}", longest, CLICKS
        steps = counted(limit, "step")
        path = longer_than(self.solution.compiled, limit)
        if path is None:
            return PASSED, f"every game ends within {steps}", None, CLICKS
        return FAILED, f"a game can continue after {steps}", path, CLICKS

    def _best(self, bound: Bound) -> _Verdict:
        endings = self.evidence.endings.values()
        if not endings:
            result = "no ending is reachable" if self.solution else "no ending was found"
            return FAILED, result, None, CLICKS
        top = max(endings, key=lambda ending: ending.reward)
        score = top.reward
        result = f"the best ending found pays {score:g}"
        if self.solution is not None:
            score = self.solution.best.final_reward.mean
            result = f"best play pays {score:g} on average (exact)"
        if not bound.holds(score):
            return FAILED, result, top.path, TOP
        is_sure = self.solution is not None or bound.wants_more
        return PASSED, result if is_sure else f"{result}; there may be better ones", None, CLICKS


def _steps(path: ClickPath) -> str:
    return counted(len(path), "step")
