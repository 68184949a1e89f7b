"""Expectations: check the [[expect]] tables of a story's TOML against its findings.

Exact findings give exact verdicts. Otherwise what was seen is proof (a passage was reached, a
condition was violated), what was not seen in the time fails if it was expected, and probabilities
close to their bound are unsure.
"""

import math
from dataclasses import dataclass

from storytest.authored import Explorable
from storytest.playtest.clicks import ClickPath
from storytest.playtest.coverage import Source
from storytest.playtest.evidence import EndingRecord, Evidence
from storytest.playtest.findings import FAILED, LOOP, PASSED, TRAP, UNSURE, Check, Findings
from storytest.playtest.solve import Solution, longer_than
from storytest.twine import native
from storytest.twine.rules import Bound, Expectation
from textgames.compiled.search import EndingId
from textgames.errors import InputError
from textgames.game.contract import Game
from textgames.wording import counted, one_line, percent

_Verdict = tuple[str, str, ClickPath | None]  # status, result, a path


@dataclass(frozen=True)
class Checker:
    """Checks expectations against the findings, and the evidence that they were made from."""

    findings: Findings
    evidence: Evidence
    solution: Solution | None
    close: float = 2.0  # standard errors from its bound within which an estimate is unsure

    def check(self, expected: Expectation) -> Check:
        """The verdict on one expectation."""
        status, result, path = self._verdict(expected)
        path = None if status == PASSED else path
        return Check(expected.text, status, result, expected.line, path)

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

    @property
    def _exactly(self) -> str:
        return " (exact)" if self.findings.exact else ""

    def _endings(self, name: str) -> dict[EndingId, EndingRecord]:
        """The endings by a name, or with these words on their last page."""
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
            result = f"{percent(odds)} of random games reach it{self._exactly}"
        else:
            tally = self.evidence.random
            share = tally.share(endings)
            if share is None:
                return UNSURE, "no random game ended within the time limit", path
            odds = share.mean
            result = f"{share.percent} of {tally.games:,} random games reach it"
            if abs(odds - bound.number) <= self.close * share.error:
                result += ", too close to decide; allow more --seconds"
                return UNSURE, result, path
        if bound.holds(odds):
            return PASSED, result, None
        if path is None:
            result += f"; it {'cannot be' if self.findings.exact else 'was not'} reached"
        return FAILED, result, path

    def _reached(self, name: str, path: ClickPath | None) -> _Verdict:
        """Whether a passage is reached. If not, the path leads to a page that names it."""
        if path is not None:
            return PASSED, f"reached in {_clicks(path)}", None
        issues = [issue for issue in self.findings.never_reached if issue.passage == name]
        why = "".join(f": {issue.text}" for issue in issues)
        path = issues[0].path if issues else None
        if self.findings.exact:
            return FAILED, f"it cannot be reached{why}", path
        games = counted(self.evidence.random.games, "random game")
        return FAILED, f"not reached in {games} and a search{why}", path

    def _never(self, condition: str) -> _Verdict:
        path = self.evidence.violations.get(condition)
        if path is not None:
            return FAILED, f"it happened after {_clicks(path)}", path
        where = "" if self.evidence.complete else " on the pages that were seen"
        return PASSED, f"it never happened{where}", None

    def _always_ends(self) -> _Verdict:
        for issue in self.findings.dead_ends:
            if issue.kind in (LOOP, TRAP):
                return FAILED, f'"{issue.passage}" is no ending; {issue.text}', issue.path
        if not self.evidence.endings:
            return FAILED, "no ending was found", self.evidence.longest
        if self.findings.exact:
            return PASSED, "an ending can be reached from every page", None
        result = "an ending can be reached from every page that was seen"
        tally = self.evidence.random
        if not tally.truncated:
            return PASSED, result, None
        games = f"{tally.truncated:,} of {tally.games:,} random games"
        limit = counted(self.findings.max_steps, "click")
        return UNSURE, f"{result}; {games} had no ending after {limit}", None

    def _at_most(self, limit: int) -> _Verdict:
        if self.solution is None:
            longest = self.evidence.longest
            status = PASSED if len(longest) <= limit else FAILED
            return status, f"the longest game played took {_clicks(longest)}", longest
        clicks = counted(limit, "click")
        path = longer_than(self.solution.compiled, limit)
        if path is None:
            return PASSED, f"every game ends within {clicks}", None
        return FAILED, f"a game can go on after {clicks}", path

    def _best(self, bound: Bound) -> _Verdict:
        endings = self.evidence.endings.values()
        if not endings:
            result = "no ending can be reached" if self.solution else "no ending was found"
            return FAILED, result, None
        top = max(endings, key=lambda ending: ending.reward)
        score = top.reward
        result = f"the best ending found is worth {score:g}"
        if self.solution is not None:
            score = self.solution.best.final_reward.mean
            result = f"best play is worth {score:g} on average{self._exactly}"
        if not bound.holds(score):
            return FAILED, result, top.path
        is_sure = self.solution is not None or bound.wants_more
        return PASSED, result if is_sure else f"{result}; there may be better ones", None


def _clicks(path: ClickPath) -> str:
    return counted(len(path), "click")


def require_playable(game: Game) -> None:
    """Refuse a story of which most would have to be left out: its report would be wrong."""
    source = Source(game)
    passages = {problem.passage for problem in source.unsupported}
    is_sugarcube = isinstance(game, Explorable) and native.is_sugarcube(game.script)
    if not passages or (not is_sugarcube and 2 * len(passages) <= len(source.pages)):
        return
    cure = "publish it as .html and test that"
    if is_sugarcube:
        cure = "add it with storytest formats add sugarcube"
    what = f"{len(passages):,} of {counted(len(source.pages), 'passage')} cannot be played"
    raise InputError(
        f"{source.story.source}: {what} without the story's own format; {cure}, or test the rest "
        f"with --lenient (first: {source.unsupported[0]})"
    )
