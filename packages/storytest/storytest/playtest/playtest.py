"""The play-test of a story, and the inspection of a compiled game: passes that fill `Findings`.

A test is exact if the game can be compiled. Otherwise it plays as many games as the budget allows,
also in other processes (`Helpers`).
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

from storytest.authored import INK, AuthoredGame
from storytest.formats import UNTITLED
from storytest.hosted.game import HostedGame
from storytest.map.story_map import StoryMap, seen_map, story_map, with_flaws
from storytest.playtest import coverage
from storytest.playtest.budget import Budget, Meter
from storytest.playtest.checks import Checker
from storytest.playtest.clicks import ClickPath
from storytest.playtest.coverage import Source
from storytest.playtest.evidence import EndingRecord, Evidence, Shares
from storytest.playtest.faults import VariableUses, with_problems
from storytest.playtest.findings import Ending, Findings, Spread
from storytest.playtest.helpers import Helpers
from storytest.playtest.play import Games
from storytest.playtest.solve import ShortestPaths, Solution, link_pairs, solve, statistics_of
from storytest.playtest.states import OVERTIME
from storytest.twine.script import summarise
from textgames.compiled.compile import can_be_compiled, compile_game, is_cached
from textgames.compiled.game import Compiled
from textgames.compiled.search import EndingId
from textgames.errors import InputError, OutOfTime
from textgames.estimate import Estimate
from textgames.game.contract import Game, step_limit_of, title_of
from textgames.wording import last_words

EXTRA = 0.2  # part of a budget, for variables and links once all probabilities are exact

Progress = Callable[[str], None]


class StoryTest:
    """A play-test in progress.

    Args:
        game: The story, with its actions in their own order (`shuffle=False`).
        seconds: How long to play and search, in CPU seconds. The default is 30, or without limit
            if `clicks` are limited.
        progress: Called with a description of what is being done.
        jobs: Processes that play, each with the same budget. Only a game that `make` opened can
            have more than one.
        clicks: How many pages each process may visit. Such a test is repeatable.
        games: How many random games each process may play.
        states: How many states the search may visit.

    Example:
        >>> findings = StoryTest(textgames.make("story.twee", shuffle=False), seconds=10).run()
        >>> findings.endings[0].probability
    """

    __test__ = False  # not a test of pytest

    def __init__(
        self,
        game: Game,
        seconds: float | None = None,
        progress: Progress | None = None,
        jobs: int = 1,
        *,
        clicks: float = math.inf,
        games: int = Budget.games,
        states: int = Budget.states,
    ) -> None:
        if seconds is None:
            seconds = Budget.seconds if clicks == math.inf else math.inf
        self.game = game
        self.meter = Meter(Budget(seconds, clicks, games, states))
        self.helpers = Helpers(game, jobs)
        self.progress = progress or (lambda _: None)
        self.opened = time.monotonic()
        self.evidence = Evidence(forbidden=Source(game).rules.forbidden)
        self.games = Games(game, self.evidence, self.meter)
        self.solution: Solution | None = None
        self.why_not = "it lists no outcomes"
        if can_be_compiled(game):
            self.why_not = "there was no time to search its states"
        self.interrupted = False

    def run(self) -> Findings:
        """Run all passes that the budget allows. Ctrl-C ends them early."""
        self.game.reset(0)  # raises an error if the story cannot start
        # Starting an engine is slow on a busy machine: it does not count.
        self.meter = self.games.meter = Meter(self.meter.budget)
        try:
            self._run_passes()
            if self.solution is not None:  # words, choices and numbers at the end are counted
                part = self.meter.spent + max(0.1, 2.0 / self.meter.budget.seconds)
                self._play(part, part, random_only=True, most=1_000)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            is_solved = self.solution is not None
            patience = 0.0 if is_solved else 10.0
            others = self.helpers.finish(patience, interrupt=self.interrupted)
        for evidence in [] if is_solved else others:
            self.evidence.merge(evidence)
        return self.findings()

    def findings(self) -> Findings:
        """What is known so far."""
        return gather(
            self.game,
            self.evidence,
            self.solution,
            why_not=self.why_not,
            seconds=time.monotonic() - self.opened,
            interrupted=self.interrupted,
        )

    def story_map(self, findings: Findings | None = None) -> StoryMap:
        """The map of all states, or of the pages that were seen, with the problems there."""
        if self.solution is not None:
            drawing = story_map(self.solution.compiled)
        else:
            traps = [issue.passage for issue in coverage.loops(self.evidence)]
            drawing = seen_map(title_of(self.game), self.evidence, traps)
        return drawing if findings is None else with_flaws(drawing, findings, Source(self.game))

    def _run_passes(self) -> None:
        """Play random games first, so that there is always a result, then search all states.

        The numbers are parts of the budget after which a pass must be over. All but exact stories
        spend at least half of it on random games.
        """
        has_engine = isinstance(self.game, HostedGame)
        is_solved = has_engine and is_cached(self.game) and self._compile()
        if not is_solved:
            self._play(0.1, 0.3, random_only=True, most=50)
        if can_be_compiled(self.game):
            if is_solved or (not has_engine and self._compile()):
                soon = min(1.0, self.meter.spent + EXTRA)
                self._search(1.0 if self.evidence.forbidden else soon)
                return
            self.helpers.start(self.meter.rest(1.0))
            self._search(0.4 if has_engine else 0.6)  # others were compiled in vain before
            if has_engine and self.evidence.complete and self._compile():
                self._leave_exactness()
                return
        self.helpers.start(self.meter.rest(1.0))
        self.games.type_words()
        self._play(1.0, 1.0)

    def _search(self, until: float) -> None:
        why_not = self.games.search_states(
            until, lambda number: self.progress(f"{number:,} situations visited")
        )
        if self.solution is None and why_not:
            self.why_not = why_not

    def _leave_exactness(self) -> None:
        """Play games that type words and do not wait for timers, if passages are left.

        If these reach more, the solution is not the whole story.
        """
        solution = self.solution
        assert solution is not None
        left = set(solution.compiled.unreached)
        until = min(1.0, self.meter.spent + EXTRA)
        while left and self.meter.spent < until and not left & self.evidence.passages.keys():
            self.progress("searching for passages behind timers and typed words")
            self.games.search(until, curious=True)
        if left & self.evidence.passages.keys():
            self.solution = None
            self.evidence.complete = False
            self.why_not = (
                "typed words, clicks before a timer ends, or the pointer lead to more passages"
            )
            self.games.type_words()
            self._play(1.0, 1.0)

    def _compile(self) -> bool:
        """Compile and solve the game. False means that the budget does not suffice."""
        meter = self.meter
        if isinstance(self.game, HostedGame):  # all of its states were visited before
            self.game.search_seconds = max(1.0, meter.rest(1.0).seconds)
        until = 0.45
        if self.evidence.complete:
            is_small = self.evidence.states <= meter.budget.least_states
            until = 1.0 + OVERTIME if is_small else 1.0

        def progress(states: int) -> None:
            self.progress(f"following every way: {states:,} situations")
            if max(meter.spent, states / meter.budget.clicks) > until:
                raise OutOfTime

        try:
            compiled = compile_game(self.game, memory=meter.budget.megabytes, progress=progress)
        except InputError as error:
            self.why_not = str(error).partition("cannot be compiled: ")[2] or str(error)
            return False
        except OutOfTime:
            self.why_not = "it has more states than could be searched within the time limit"
            return False
        self.progress("computing the odds")
        self.solution = solve(compiled)
        self.why_not = ""
        return True

    def _play(
        self, part: float, last_part: float, *, random_only: bool = False, most: int | None = None
    ) -> None:
        """Play random and searching games until a part of the budget is spent.

        A game that is not finished by `last_part` is cut short.
        """
        limit = self.meter.budget.games
        for _ in range(limit if most is None else min(most, limit)):
            if self.meter.spent > part:
                return
            self.games.play_next(last_part, random_only=random_only)
            searching = f"{self.evidence.searching_games:,} that look for new pages"
            self.progress(f"{self.evidence.random.games:,} random games, {searching}")


def inspect_game(game: Game, compiled: Compiled, *, returns: bool = True) -> Findings:
    """Inspect a compiled game: its statistics, endings and scores, all of them exact.

    Args:
        game: The game.
        compiled: The compiled game.
        returns: Whether to compute the highest return.
    """
    solution = solve(compiled, returns=returns)
    statistics = statistics_of(game, compiled)
    return gather(game, Evidence(complete=True), solution, statistics=statistics)


def gather(
    game: Game, evidence: Evidence, solution: Solution | None = None, **facts: Any
) -> Findings:
    """Build the findings from the evidence and, if the game was compiled, its solution.

    `facts` are fields of the findings that do not follow from these.
    """
    source = Source(game)
    left_out = [*source.skipped, *summarise(source.unsupported)]
    if solution is not None:
        _add_solution(evidence, source, solution)
    rules = {key.rule for key in evidence.endings}
    findings = Findings(
        game.name,
        title_of(game),
        source=source.story.source,
        exact=solution is not None and not left_out,
        complete=evidence.complete,
        games=evidence.random.games,
        searching_games=evidence.searching_games,
        max_steps=step_limit_of(game),
        unused_rules=[n for n in range(1, len(source.rules.endings) + 1) if n - 1 not in rules],
        **_dead_ends(source, evidence, solution),
        passages=coverage.passages_covered(source, evidence),
        links=coverage.links_covered(source, evidence),
        never_reached=coverage.never_reached(source, evidence),
        broken_links=coverage.broken_links(source, evidence),
        errors=coverage.errors(source, evidence),
        left_out=left_out,
        notes=_notes(game),
        variables=coverage.variable_values(source, evidence),
        uses=dict(sorted(VariableUses(source).by_name.items())),
        words=_spread(evidence.words),
        **_scores(source, evidence, solution),
        **facts,
    )
    checker = Checker(findings, evidence, solution)
    checks = list(map(checker.check, source.rules.expectations))
    return with_problems(source, evidence, replace(findings, expectations=checks))


def _spread(words: list[int]) -> Spread | None:
    return Spread(len(words), min(words), fmean(words), max(words)) if words else None


def _dead_ends(source: Source, evidence: Evidence, solution: Solution | None) -> dict[str, Any]:
    """The dead ends, and the number of those that the TOML allows, by field."""
    issues = coverage.dead_ends(source, evidence)
    issues += solution.traps if solution else coverage.loops(evidence)
    rest = [issue for issue in issues if not source.rules.allows(issue.kind, issue.passage)]
    return {"dead_ends": rest, "allowed": len(issues) - len(rest)}


def _scores(source: Source, evidence: Evidence, solution: Solution | None) -> dict[str, Any]:
    """The scores, endings and numbers of states, by the fields of the findings."""
    if solution is None:
        shares = {"random": evidence.random.shares(evidence.endings)}
        scores = {
            "random": evidence.random.play,
            "top_reward": max((one.reward for one in evidence.endings.values()), default=None),
            "states": evidence.states,
            "states_complete": evidence.complete,
        }
    else:
        shares = solution.shares
        compiled = solution.compiled
        scores = {
            "random": solution.random,
            "best": solution.best,
            "top_reward": solution.best.final_reward.mean,
            "states": max(evidence.states, compiled.raw_states),
            "states_complete": compiled.raw_complete,
            "live_states": compiled.live_states,
            "merged_states": len(compiled),
        }
    endings = endings_of(source, evidence.endings, shares)
    return scores | {"endings": endings}


def _add_solution(evidence: Evidence, source: Source, solution: Solution) -> None:
    """Add everything that a compiled game reaches to the evidence."""
    compiled = solution.compiled
    paths = ShortestPaths(compiled)
    for key, path in paths.to_endings().items():
        record = evidence.endings.setdefault(key, EndingRecord())
        record.path = path
        record.reward = source.reward(key)
        record.text = path.comes_to
    if source.engine in ("", INK):
        return
    passages = paths.to_passages()
    for name in source.story.pages.keys() - set(compiled.unreached):
        path = passages.get(name) or evidence.passages.get(name) or ClickPath()
        evidence.passages[name] = path
    evidence.links |= link_pairs(compiled)


def endings_of(
    source: Source, records: Mapping[EndingId, EndingRecord], shares: Mapping[str, Shares]
) -> list[Ending]:
    """The endings with their probabilities under policies: random, best, player."""
    endings = []
    title = f"\n{source.story.title or UNTITLED}"  # the last line of every page of Chapbook
    for key, record in records.items():
        odds = {policy: share.get(key, Estimate(0.0)) for policy, share in shares.items()}
        endings.append(
            Ending(
                name=key.passage,
                reward=source.reward(key),
                rule=None if key.rule is None else key.rule + 1,
                last_words=last_words(record.text.removesuffix(title)),
                path=record.path,
                probability=odds.get("random"),
                best=odds.get("best"),
                player=odds.get("player"),
                variants=tuple(record.variants),
            )
        )

    def order(ending: Ending) -> tuple[float, float, str]:
        odds = ending.probability.mean if ending.probability else 0.0
        return -ending.reward, -odds, ending.name

    return sorted(endings, key=order)


def _notes(game: Game) -> list[str]:
    if not isinstance(game, AuthoredGame):
        note = getattr(game, "note", "")
        return [str(note)] if note else []
    names = sorted(set(game.asked) - game.rules.inputs.keys())
    return [f'the story asks for ${n}: answer it under [inputs] with {n} = "…"' for n in names]
