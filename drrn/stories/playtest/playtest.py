"""The play-test of a story, and the inspection of any game: passes that fill `Findings`.

Both are exact if the game can be compiled; otherwise they play as many games as time allows, also
in other processes (`Helpers`).
"""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from drrn.compiled.compile import can_be_compiled, compile_game, is_cached
from drrn.compiled.game import Compiled
from drrn.compiled.search import EndingId
from drrn.errors import InputError, OutOfTime
from drrn.game.contract import Game, close, step_limit_of, title_of
from drrn.game.make import SPEC, GameSpec
from drrn.processes import Service, ServiceError, report, work
from drrn.stories.authored import EXPLORE_LIMIT, INK, AuthoredGame, Explorable
from drrn.stories.formats import UNTITLED
from drrn.stories.hosted.game import HostedGame
from drrn.stories.map.story_map import StoryMap, seen_map, story_map, with_flaws
from drrn.stories.playtest import coverage
from drrn.stories.playtest.checks import Checker
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.coverage import Source
from drrn.stories.playtest.evidence import EndingRecord, Evidence, Pages, Shares, Tally
from drrn.stories.playtest.faults import with_problems
from drrn.stories.playtest.findings import Ending, Estimate, Findings, last_words, mean_of
from drrn.stories.playtest.obstacles import obstacles
from drrn.stories.playtest.play import MAX_OVERTIME, MIN_STATES, RANDOM_SECONDS, Games, TrainPlayer
from drrn.stories.playtest.solve import ShortestPaths, Solution, link_pairs, solve
from drrn.stories.playtest.survey import compiled_statistics, explore, page_statistics
from drrn.stories.playtest.variable_uses import VariableUses
from drrn.stories.search import clock
from drrn.stories.twine.script import summarise

MIN_SECONDS = 1.0  # of play for which a process is worth its start
REPORT_SECONDS = 2.0  # of play until the first report
MAX_GAMES = 20_000  # random ones, of one process
GROWTH = 1.3  # of the time until the next report: a process that dies loses little
MAX_JOBS = 64
LAST_SECONDS = 10.0  # at most, in which a process ends its last game


class Helper:
    """Plays in a separate process; see `Service`."""

    def __init__(self, spec: GameSpec, fingerprint: str, first: int, stride: int) -> None:
        self.game = spec.open()
        if getattr(self.game, "fingerprint", "") != fingerprint:
            raise InputError(f"{spec.source}: the story was changed during the test")
        forbidden = self.game.rules.forbidden if isinstance(self.game, AuthoredGame) else {}
        self.evidence = Evidence(forbidden)
        self.games = Games(self.game, self.evidence, first=first, stride=stride)

    def play(self, seconds: float) -> Evidence:
        """Play for some CPU seconds since the process started; report the evidence meanwhile."""
        start = clock()
        end = start - work() + seconds
        interval = REPORT_SECONDS
        next_report = start + interval
        while clock() < end and self.evidence.random.games < MAX_GAMES:
            self.games.type_words()
            self.games.play_next(start, end)
            if clock() > next_report:
                report(self._parcel())
                interval *= GROWTH
                next_report = clock() + interval
        return self._parcel()

    def _parcel(self) -> Evidence:
        return replace(self.evidence, forbidden={})  # conditions cannot be sent

    def close(self) -> None:
        """Close the engines."""
        close(self.game)


class Helpers:
    """The processes that a play-test started, with the last report of each."""

    def __init__(self, game: Game, jobs: int) -> None:
        spec = getattr(game, SPEC, None)
        can_be_opened = isinstance(spec, GameSpec) and isinstance(game, AuthoredGame)
        self.jobs = min(jobs, MAX_JOBS) if can_be_opened else 1
        self._spec = spec
        self._fingerprint = str(getattr(game, "fingerprint", ""))
        self._services: dict[Service, Evidence | None] = {}
        self._running: set[Service] = set()

    @property
    def games(self) -> int:
        """The random games that were reported so far."""
        return sum(evidence.random.games for evidence in self._services.values() if evidence)

    def start(self, seconds: float) -> None:
        """Start the processes, once, for some CPU seconds each."""
        if self._services or seconds < MIN_SECONDS:
            return
        for number in range(1, self.jobs):
            arguments = (self._spec, self._fingerprint, number, self.jobs)
            service = Service(Helper, *arguments, quiet=True)
            service.send("play", seconds)
            self._services[service] = None
            self._running.add(service)

    def read(self, wait: float = 0.0) -> None:
        """Read the reports that have arrived; one that died or failed plays no longer."""
        for service in list(self._running):
            with contextlib.suppress(OSError):
                if not service.connection.poll(wait):
                    continue
            try:
                reply = service.receive(0.0)
                evidence = reply.result()
            except (InputError, ServiceError):
                self._running.discard(service)
                continue
            if isinstance(evidence, Evidence):
                self._services[service] = evidence
                if reply.kind == "answer":
                    self._running.discard(service)

    def finish(self, *, wait: bool) -> list[Evidence]:
        """Return the last report of each process, and end it; `wait` for its last game."""
        deadline = time.monotonic() + LAST_SECONDS
        while wait and self._running and time.monotonic() < deadline:
            self.read(0.1)
        for service in self._services:
            service.kill()
        reports = [evidence for evidence in self._services.values() if evidence]
        self._services = {}
        return reports


# --- the play-test

# Parts of the time after which a pass must be over. All but exact stories spend at least half of
# it, or of what an agent leaves, on random games (`Games.play_next`).
FIRST_GAMES = 0.1  # random games before all other passes
FIRST_GAME_END = 0.3  # the last of them
COMPILING = 0.45
SEARCHING = 0.4
LATE_SEARCHING = 0.6  # of a story that was compiled in vain before
PLAYING = 0.75  # random and searching games, if an agent plays after them
MIN_AGENT_SECONDS = 4.0
EXTRA_SECONDS = 6.0  # for variables and links, if probabilities are exact already
COUNTED_GAMES = 1_000  # at most, if probabilities are exact already
COUNTING_SECONDS = 2.0
MEMORY = 1_000  # MB

Progress = Callable[[str], None]


class StoryTest:
    """A play-test in progress.

    Args:
        game: The story, with its actions in their own order (`shuffle=False`).
        seconds: How long to play and search, in CPU seconds.
        progress: Called with a description of what is being done.
        train: Trains an agent on the story; without it, no agent plays.
        jobs: Processes that play, each for the same time; only a game that `make` opened can have
            more than one.

    Example:
        >>> findings = StoryTest(drrn.make("story.twee", shuffle=False), seconds=10).run()
        >>> findings.endings[0].probability
    """

    __test__ = False  # not a test of pytest

    def __init__(
        self,
        game: Game,
        seconds: float,
        progress: Progress | None = None,
        train: TrainPlayer | None = None,
        jobs: int = 1,
    ) -> None:
        self.game = game
        self.seconds = seconds
        self.helpers = Helpers(game, jobs)
        self._show = progress or (lambda _: None)
        self.train = train
        self.start = clock()
        self.opened = time.monotonic()
        self.evidence = Evidence(forbidden=Source(game).rules.forbidden)
        self.games = Games(game, self.evidence)
        self.solution: Solution | None = None
        self.why_not = "it lists no outcomes"
        if can_be_compiled(game):
            self.why_not = "there was no time to search its states"
        self.interrupted = False

    def run(self) -> Findings:
        """Run all passes that there is time for; Ctrl-C ends them early."""
        self.game.reset(0)  # raises an error if the story cannot start
        self.start = clock()  # starting an engine is slow on a busy machine: it does not count
        try:
            self._run_passes()
            if self.solution is not None:  # words, choices and numbers at the end are counted
                part = (clock() - self.start + COUNTING_SECONDS) / self.seconds
                self._play(part, part, random_only=True, most=min(MAX_GAMES, COUNTED_GAMES))
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self._merge()
        return self.findings()

    def progress(self, text: str) -> None:
        """Show what is being done, and read what other processes report."""
        self.helpers.read()
        self._show(text)

    def _merge(self) -> None:
        """Add what other processes observed, unless the story was solved without them."""
        is_wanted = self.solution is None
        for evidence in self.helpers.finish(wait=is_wanted and not self.interrupted):
            if is_wanted:
                self.evidence.merge(evidence)

    def findings(self) -> Findings:
        """Return what is known so far."""
        seconds = time.monotonic() - self.opened
        facts = {"why_not": self.why_not, "seconds": seconds, "time_limit": self.seconds}
        facts["interrupted"] = self.interrupted
        return gather(self.game, self.evidence, self.solution, **facts)

    def story_map(self, findings: Findings | None = None) -> StoryMap:
        """Return the map of all states or of the pages that were seen, with the problems there."""
        if self.solution is not None:
            drawing = story_map(self.solution.compiled)
        else:
            traps = [issue.passage for issue in coverage.loops(self.evidence)]
            drawing = seen_map(title_of(self.game), self.evidence, traps)
        return drawing if findings is None else with_flaws(drawing, findings, Source(self.game))

    def _run_passes(self) -> None:
        """Play random games first, so that there is always a result; then search all states."""
        has_engine = isinstance(self.game, HostedGame)
        is_solved = has_engine and is_cached(self.game) and self._compile()
        if not is_solved:
            self._play(FIRST_GAMES, FIRST_GAME_END, random_only=True, most=50)
        if can_be_compiled(self.game):
            if is_solved or (not has_engine and self._compile()):
                soon = min(self._at(1), clock() + EXTRA_SECONDS)
                self._search(self._at(1) if self.evidence.forbidden else soon)
                return
            self.helpers.start(self._at(1) - clock())
            self._search(self._at(SEARCHING if has_engine else LATE_SEARCHING))
            if has_engine and self.evidence.complete and self._compile():
                self._leave_exactness()
                return
        rewards = {ending.reward for ending in self.evidence.endings.values()}
        train = self.train if len(rewards) > 1 else None
        part = 1.0
        if train and (1 - PLAYING) * self.seconds > MIN_AGENT_SECONDS:
            part = PLAYING
        self.helpers.start(self._at(part) - clock())
        self.games.type_words()
        self._play(part, part)
        seconds = self._at(1) - clock()
        if train and seconds > MIN_AGENT_SECONDS:
            self.progress("training an agent, which then plays")
            self.games.play_agent(train, seconds)

    def _search(self, until: float) -> None:
        why_not = self.games.search_states(until, _count("situations visited", self.progress))
        if self.solution is None and why_not:
            self.why_not = why_not

    def _leave_exactness(self) -> None:
        """Play games that type words and do not wait for timers, if passages are left.

        If these reach more, the solution is not the whole story.
        """
        solution = self.solution
        assert solution is not None
        left = set(solution.compiled.unreached)
        until = min(self._at(1), clock() + EXTRA_SECONDS)
        while left and clock() < until and not left & self.evidence.passages.keys():
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
        """Compile and solve the game; return False if that is impossible in the time."""
        if isinstance(self.game, HostedGame):  # all of its states were visited before
            self.game.search_seconds = max(1.0, self._at(1) - clock())
        until = self._at(COMPILING)
        if self.evidence.complete:
            is_small = self.evidence.states <= MIN_STATES
            until = self._at(1 + MAX_OVERTIME if is_small else 1)

        def progress(states: int) -> None:
            self.progress(f"following every way: {states:,} situations")
            if clock() > until:
                raise OutOfTime

        try:
            compiled = compile_game(self.game, memory=MEMORY, progress=progress)
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
        self, part: float, last_part: float, random_only: bool = False, most: int = 0
    ) -> None:
        """Play random and searching games until a part of the time is over.

        Random games get their share of all the time so far. A game that is not finished by
        `last_part` is cut short.
        """
        for _ in range(most or MAX_GAMES):
            if clock() > self._at(part):
                return
            self.games.play_next(self.start, self._at(last_part), random_only=random_only)
            games = self.evidence.random.games + self.helpers.games
            searching = f"{self.evidence.searching_games:,} that look for new pages"
            self.progress(f"{games:,} random games, {searching}")

    def _at(self, part: float) -> float:
        return self.start + part * self.seconds


def inspect_game(
    game: Game,
    compiled: Compiled | None,
    why_not: str = "",
    *,
    limit: int = EXPLORE_LIMIT,
    seconds: float = RANDOM_SECONDS,
    returns: bool = True,
    progress: Progress | None = None,
) -> Findings:
    """Inspect a game: its statistics, endings and scores; exact ones if it is compiled.

    Otherwise, `limit` is the number of states to visit, and `seconds` the time to play. By
    `returns`, the highest return and the best memoryless policy are computed, too.
    """
    evidence = Evidence(complete=compiled is not None)
    start = time.monotonic()
    interrupted = False
    solution = None
    count = _count("random games", progress)
    if compiled is not None:
        solution = solve(compiled, returns=returns)
        statistics = compiled_statistics(game, compiled)
    elif isinstance(game, Explorable):
        statistics = explore(game, evidence, limit, _count("states", progress))
        Games(game, evidence).play_many(seconds, progress=count)
    else:
        pages: Pages = Counter()
        games = Games(game, evidence, pages, strict=True)
        try:
            games.play_many(seconds, finish=False, progress=count)
        except KeyboardInterrupt:
            interrupted = True
            if not pages:
                raise
        statistics = page_statistics(game, pages)
    facts = {"why_not": why_not, "seconds": time.monotonic() - start, "interrupted": interrupted}
    return gather(game, evidence, solution, statistics=statistics, **facts)


def _count(noun: str, progress: Progress | None) -> Callable[[int], None]:
    return lambda number: progress(f"{number:,} {noun}") if progress else None


def gather(
    game: Game, evidence: Evidence, solution: Solution | None = None, **facts: Any
) -> Findings:
    """Build the findings from the evidence and, if the game was compiled, its solution.

    `facts` are fields of the findings that do not follow from these.
    """
    source = Source(game)
    exact = solution is not None
    if solution is not None:
        _add_solution(evidence, source, solution)
    rules = {key.rule for key in evidence.endings}
    findings = Findings(
        game.name,
        title_of(game),
        source=source.story.source,
        exact=exact,
        complete=evidence.complete,
        games=evidence.random.games,
        cut_short=evidence.random.cut_short,
        searching_games=evidence.searching_games,
        agent_lessons=evidence.agent_lessons if evidence.agent.games else 0,
        max_steps=step_limit_of(game),
        passages=coverage.passages_covered(source, evidence),
        links=coverage.links_covered(source, evidence),
        never_reached=coverage.never_reached(source, evidence, exact=exact),
        untaken_links=coverage.untaken_links(source, evidence, exact=exact),
        unused_rules=[n for n in range(1, len(source.rules.endings) + 1) if n - 1 not in rules],
        **_dead_ends(source, evidence, solution),
        broken_links=coverage.broken_links(source),
        errors=coverage.errors(source, evidence),
        unplayable=[str(problem) for problem in source.problems],
        left_out=summarise(source.unsupported),
        advice=coverage.advice(source, evidence),
        obstacles=obstacles(source, evidence, exact=exact, limit=facts.get("time_limit", 0.0)),
        notes=_notes(game),
        variables=coverage.variable_values(source, evidence),
        **VariableUses(source).fields,
        **evidence.counts.fields(source.name_of),
        **_scores(source, evidence, solution),
        **facts,
    )
    checker = Checker(findings, evidence, solution)
    checks = list(map(checker.check, source.rules.expectations))
    return with_problems(source, evidence, replace(findings, expectations=checks))


def _dead_ends(source: Source, evidence: Evidence, solution: Solution | None) -> dict[str, Any]:
    """Return the dead ends, and the number of those that the TOML allows, by field."""
    issues = coverage.dead_ends(source, evidence)
    issues += solution.traps if solution else coverage.loops(evidence)
    rest = [issue for issue in issues if not source.rules.allows(issue.kind, issue.passage)]
    return {"dead_ends": rest, "allowed": len(issues) - len(rest)}


def _scores(source: Source, evidence: Evidence, solution: Solution | None) -> dict[str, Any]:
    """Return the scores, endings and numbers of states, by the fields of the findings."""
    shares: dict[str, Shares] = {}
    scores: dict[str, Any] = {}
    for name, tally in (("random", evidence.random), ("agent", evidence.agent)):
        shares[name] = tally.shares(evidence.endings)
        scores[name] = tally.play
    if solution is None:
        scores |= {
            "top_reward": max((one.reward for one in evidence.endings.values()), default=None),
            "states": evidence.states,
            "states_complete": evidence.complete,
        }
    else:
        shares |= solution.shares
        compiled = solution.compiled
        scores |= {
            "random": solution.random,
            "best": solution.best,
            "memoryless": solution.memoryless,
            "top_reward": solution.best.final_reward.mean,
            "states": max(evidence.states, compiled.raw_states),
            "states_complete": compiled.raw_complete,
            "live_states": compiled.live_states,
            "merged_states": len(compiled),
            "trap_states": solution.trap_states,
        }
    bounds = evidence.least_odds if solution is None else {}
    endings = endings_of(source, evidence.endings, shares, evidence.random, bounds)
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
    source: Source,
    records: Mapping[EndingId, EndingRecord],
    shares: Mapping[str, Shares],
    random_games: Tally | None = None,
    least_odds: Mapping[EndingId, float] | None = None,
) -> list[Ending]:
    """Return the endings with their probabilities under policies: random, best, agent."""
    endings = []
    title = f"\n{source.story.title or UNTITLED}"  # the last line of every page of Chapbook
    for key, record in records.items():
        odds = {policy: share.get(key, Estimate(0.0)) for policy, share in shares.items()}
        returns = random_games.endings[key] if random_games else []
        ending = Ending(
            name=key.passage,
            reward=source.reward(key),
            rule=None if key.rule is None else key.rule + 1,
            last_words=last_words(record.text.removesuffix(title)),
            path=record.path,
            probability=odds.get("random"),
            best=odds.get("best"),
            agent=odds.get("agent"),
            returns=mean_of(returns),
            variants=tuple(record.variants),
        )
        if least_odds:
            least = least_odds.get(key, 0.0)
            most = min(1.0, 1.0 - sum(least_odds.values()) + least)
            ending = replace(ending, least=least, most=most)
        endings.append(ending)

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
