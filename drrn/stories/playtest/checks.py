"""Expectations: check the [[expect]] tables of a story's TOML against its findings.

Exact findings give exact verdicts. Otherwise what was seen is proof (a passage was reached, a
condition was violated), what was not seen in the time fails if it was expected, and probabilities
close to their bound are unsure.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from drrn.compiled.search import EndingId
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.coverage import LOOP
from drrn.stories.playtest.evidence import Evidence
from drrn.stories.playtest.findings import FAILED, PASSED, UNSURE, Check, Findings, share_of
from drrn.stories.playtest.solve import Solution, deciding_step, longer_than
from drrn.stories.twine.rules import Bound, Expectation
from drrn.writing import counted, one_line, percent

CLICKS = "Clicks"
SHORTEST = "Shortest path"
NEARBY = "Clicks to the page that names it"
TOP = "Path to the highest reward"
CLOSE = 2.0  # an estimate within so many standard errors of its bound is unsure


def check_expectation(
    expected: Expectation, findings: Findings, evidence: Evidence, solution: Solution | None
) -> Check:
    """Check one expectation against the findings, and the evidence that they were made from."""
    return _Checker(expected, findings, evidence, solution).rule()()


class _Checker:
    def __init__(
        self,
        expected: Expectation,
        findings: Findings,
        evidence: Evidence,
        solution: Solution | None,
    ) -> None:
        self.expected = expected
        self.findings = findings
        self.evidence = evidence
        self.solution = solution

    def verdict(
        self, status: str, result: str, path: ClickPath | None = None, shows: str = CLICKS
    ) -> Check:
        return Check(self.expected.text, status, result, self.expected.line, path, shows)

    def rule(self) -> Callable[[], Check]:
        expected = self.expected
        if expected.ending is not None:
            return self.ending if expected.odds is None else self.odds
        if expected.reachable is not None:
            return self.reachable
        if expected.never is not None:
            return self.never
        if expected.at_most_steps is not None:
            return self.at_most_steps
        return self.best if expected.best is not None else self.always_ends

    def ending(self) -> Check:
        keys = self._endings()
        if keys:
            return self.verdict(PASSED, f"reached in {_steps(self.evidence.endings[keys[0]].path)}")
        return self._not_reached(self.expected.ending or "")

    def _endings(self) -> list[EndingId]:
        """Return the endings by a name, or with these words on their last page."""
        name = self.expected.ending or ""
        words = one_line(name).casefold()
        return [
            key
            for key, ending in self.evidence.endings.items()
            if key.passage == name or words in one_line(ending.text).casefold()
        ]

    def odds(self) -> Check:
        bound = self.expected.odds
        assert bound is not None
        keys = self._endings()
        paths = [path for key in keys if (path := self.evidence.endings[key].path) is not None]
        path = min(paths, key=len, default=None)
        if self.solution is not None:
            odds = math.fsum(self.solution.random_endings.get(key, 0.0) for key in keys)
            result = f"it has {percent(odds)} in random play, exactly"
        else:
            tally = self.evidence.random
            share = share_of(sum(tally.endings[key] for key in keys), tally.games)
            if share is None:
                return self.verdict(UNSURE, "no random game ended in the time", path, SHORTEST)
            odds = share.mean
            result = f"{percent(odds)} ± {percent(share.error)} in {tally.games:,} random games"
            if abs(odds - bound.number) <= CLOSE * share.error:
                result += ", too close to tell: it needs more seconds"
                return self.verdict(UNSURE, result, path, SHORTEST)
        if bound.holds(odds):
            return self.verdict(PASSED, result)
        return self.verdict(FAILED, result + self._decision(path, keys, bound), path, SHORTEST)

    def _decision(self, path: ClickPath | None, keys: list[EndingId], bound: Bound) -> str:
        """Explain an ending that is too rare: nothing leads there, or one step decides most."""
        if path is None:
            return "; no play reaches it" if self.findings.exact else "; no play reached it"
        if not bound.wants_more or self.solution is None:
            return ""
        step = deciding_step(self.solution.compiled, path, keys)
        if step is None:
            return ""
        cause = "chance" if step.by_chance else "choice"
        odds = f"{percent(step.before)} before and {percent(step.after)} after"
        where = f'step {step.number}, "{one_line(step.action)}"'
        return (
            f"; on the shortest path, {cause} decides most at {where}: "
            f"random play gets there in {odds}"
        )

    def reachable(self) -> Check:
        path = self.evidence.passages.get(self.expected.reachable or "")
        if path is not None:
            return self.verdict(PASSED, f"reached in {_steps(path)}")
        return self._not_reached(self.expected.reachable or "")

    def _not_reached(self, name: str) -> Check:
        """Report why a passage is not reached, and the clicks to a page that names it."""
        issues = [issue for issue in self.findings.never_reached if issue.passage == name]
        why = "".join(f": {issue.what}" for issue in issues if issue.what)
        path = issues[0].path if issues else None
        result = f"no play reaches it{why}"
        if not self.findings.exact:
            games = counted(self.evidence.random.games, "random game")
            result = f"not reached in {games} and a search{why}"
        return self.verdict(FAILED, result, path, NEARBY)

    def never(self) -> Check:
        path = self.evidence.violations.get(self.expected.never or "")
        if path is not None:
            return self.verdict(FAILED, f"it held after {_steps(path)}", path)
        where = "" if self.evidence.complete else " that was visited"
        return self.verdict(PASSED, f"it holds in no state{where}")

    def always_ends(self) -> Check:
        loops = [issue for issue in self.findings.dead_ends if issue.kind == LOOP]
        if loops:
            result = f'no ending is reachable from "{loops[0].passage}"'
            return self.verdict(FAILED, result, loops[0].path)
        if self.findings.exact:
            return self.verdict(PASSED, "an ending is reachable from every state")
        if not self.evidence.endings:
            return self.verdict(FAILED, "no ending was found", self.evidence.longest)
        result = "no page was found from which it does not end"
        tally = self.evidence.random
        if not tally.truncated:
            return self.verdict(PASSED, result)
        games = f"{tally.truncated:,} of {tally.games:,} random games"
        return self.verdict(UNSURE, f"{result}; {games} reached the step limit")

    def at_most_steps(self) -> Check:
        limit = self.expected.at_most_steps or 1
        steps = counted(limit, "step")
        if self.solution is not None:
            path = longer_than(self.solution.compiled, limit)
            if path is None:
                return self.verdict(PASSED, f"every game ends within {steps}")
            return self.verdict(FAILED, f"a game can continue after {steps}", path)
        longest = self.evidence.longest
        result = f"the longest game played took {_steps(longest)}"
        if len(longest) <= limit:
            return self.verdict(PASSED, result)
        return self.verdict(FAILED, result, longest)

    def best(self) -> Check:
        bound = self.expected.best
        assert bound is not None
        endings = self.evidence.endings.values()
        if not endings:
            result = "no ending is reachable" if self.solution else "no ending was found"
            return self.verdict(FAILED, result)
        top = max(endings, key=lambda ending: ending.reward)
        score = top.reward
        result = f"the best ending found pays {score:g}"
        is_sure = bound.wants_more
        if self.solution is not None:
            score = self.solution.best.final_reward.mean
            result = f"best play pays {score:g} on average, exactly"
            is_sure = True
        if bound.holds(score):
            return self.verdict(
                PASSED, result if is_sure else f"{result}; there may be better ones"
            )
        return self.verdict(FAILED, result, top.path, TOP)


def _steps(path: ClickPath | None) -> str:
    return counted(len(path or ()), "step")
