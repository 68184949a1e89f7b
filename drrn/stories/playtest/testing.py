"""The play-test of a story: exact where it can be compiled, else by as many games as there is time for."""

from __future__ import annotations

import time
from collections.abc import Callable

from drrn.compiled.compile import can_be_compiled, compile_game
from drrn.compiled.game import Compiled
from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.optional import title_of
from drrn.stories.map.story_map import StoryMap, seen_map, story_map
from drrn.stories.playtest.agent_games import AgentPlay, agent_play
from drrn.stories.playtest.broken_links import broken_links
from drrn.stories.playtest.checks import Evidence, check_expectation
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.coverage import (
    engine_advice,
    left_out,
    links_covered,
    links_left_out,
    links_of,
    links_untaken,
    never_reached,
    passages_covered,
    rules_without_effect,
    story_behind,
)
from drrn.stories.playtest.dead_ends import LOOP, DeadEnd, advice, dead_ends, loops_seen
from drrn.stories.playtest.exact_play import (
    ExactPlay,
    exact_play,
    links_taken,
    place_key,
    ways_to_endings,
    ways_to_passages,
)
from drrn.stories.playtest.exhaustive import search_exhaustively
from drrn.stories.playtest.sampled import SampledValue, mean_of, share_of
from drrn.stories.playtest.sampled_games import SampledGames
from drrn.stories.playtest.sightings import EndingKey, EndingSeen, Sightings, rules_of
from drrn.stories.playtest.story_report import EndingTold, StoryReport, Thrown
from drrn.stories.playtest.survey import last_words
from drrn.stories.playtest.values_taken import values_taken

# Parts of the time after which something is over.
# random games before all else; the last of them may take so long
FIRST_LOOK = 0.1
FIRST_GAME = 0.3
SEARCHING = 0.65  # the search of all states
PLAYING = 0.75  # random games and searching ones, where an agent plays after them
AGENT_SECONDS = 4.0  # less is not worth an agent's while
COMPILING = 0.55  # the attempt to compile
MOST_GAMES = 20_000
ADDED_SECONDS = 6.0  # for variables and links, where odds are exact already
MEMORY = 1_000  # MB

Progress = Callable[[str], None]


class _NoTimeLeft(Exception):  # noqa: N818 - it is no error
    """The time for the attempt to compile is over."""


class StoryTest:
    """A play-test under way."""

    __test__ = False  # what pytest would otherwise take for a test

    def __init__(self, game: Game, seconds: float, progress: Progress | None = None) -> None:
        self.game = game
        self.seconds = seconds
        self.progress = progress
        self.begun = time.monotonic()
        self.sightings = Sightings(forbidden=rules_of(game).forbidden)
        self.played = SampledGames(game, self.sightings)
        self.exact: ExactPlay | None = None
        self.compiled: Compiled | None = None
        self.why_not = (
            "its states are too many for the time"
            if can_be_compiled(game)
            else "it lists no outcomes"
        )
        self.agent: AgentPlay | None = None
        self.interrupted = False
        self._spent = {
            True: 0.0,
            False: 0.0,
        }  # seconds on random games, and on those that seek what is new

    def run(self) -> StoryReport:
        """Find out what there is time for; Ctrl-C ends the search, and what was found is told."""
        self.game.reset(0)  # a story that cannot begin is no story to test: it says why
        try:
            self._look()
        except KeyboardInterrupt:
            self.interrupted = True
            self.why_not = self.why_not if self.exact is None else ""
        return self.report()

    def story_map(self) -> StoryMap:
        """The map of what was found: of all states where it is exact, else of what was seen."""
        if self.compiled is not None:
            return story_map(self.compiled)
        traps = [dead.passage for dead in self._stuck()]
        return seen_map(title_of(self.game), self.sightings, self.played.tally.games, traps)

    def _look(self) -> None:
        """Random games first, so that there is always something to tell; then all states; then games till the end."""
        self._play(self._at(FIRST_LOOK), self._at(FIRST_GAME), random_only=True, most=50)
        if can_be_compiled(self.game):
            played_by_engine = hasattr(self.game, "search_seconds")
            if not played_by_engine and self._compile():
                self._search_all(self._at(1) if self.sightings.forbidden else self._soon())
                self._seek_uncovered_links(self._soon())
                return
            self._search_all(self._at(SEARCHING))
            if played_by_engine and self.sightings.complete and self._compile():
                return
        pays = self._endings_pay_differently() and (1 - PLAYING) * self.seconds > AGENT_SECONDS
        self._play(self._at(PLAYING if pays else 1), self._at(PLAYING if pays else 1))
        left = self._at(1) - time.monotonic()
        if self._endings_pay_differently() and left > AGENT_SECONDS:
            self._say("an agent learns, and plays")
            self.agent = agent_play(self.game, self.sightings, left)

    def _endings_pay_differently(self) -> bool:
        """Whether there is anything for an agent to learn."""
        return len({ending.reward for ending in self.sightings.endings.values()}) > 1

    def _search_all(self, until: float) -> None:
        search_exhaustively(
            self.game,
            self.sightings,
            until,
            lambda states: self._say(f"{states:,} states searched"),
        )

    def _soon(self) -> float:
        """When a search must be over that only adds to what is exact already."""
        return min(self._at(1), time.monotonic() + ADDED_SECONDS)

    def _seek_uncovered_links(self, until: float) -> None:
        """Games that seek what is new, for links on pages that the search had no time to come to in every state."""
        links = links_of(self.game)
        every = {(name, target) for name, targets in links.items() for target in targets}
        while (
            not self.sightings.complete
            and time.monotonic() < until
            and not every <= self.sightings.links
        ):
            self.played.search(until)
            self._say(f"{self.played.searched:,} games that seek what is new")

    def _compile(self) -> bool:
        """Compile and solve the game, if there is time."""
        if hasattr(self.game, "search_seconds"):
            self.game.search_seconds = max(
                1.0, self._at(1) - time.monotonic()
            )  # all its states were met already
        until = self._at(1 if self.sightings.complete else COMPILING)

        def progress(states: int) -> None:
            self._say(f"compiling: {states:,} states")
            if time.monotonic() > until:
                raise _NoTimeLeft

        try:
            compiled = compile_game(self.game, memory=MEMORY, progress=progress)
        except InputError as error:
            self.why_not = str(error).partition("cannot be compiled: ")[2] or str(error)
            return False
        except _NoTimeLeft:
            self.why_not = "it has more states than could be searched in the time"
            return False
        self._say("solving")
        self.exact = exact_play(compiled, has_passages=story_behind(self.game) is not None)
        self.compiled = compiled
        self.why_not = ""
        return True

    def _play(
        self, until: float, at_latest: float, random_only: bool = False, most: int | None = None
    ) -> None:
        """Random games and searching ones, each for half of the time that went on both."""
        spent = self._spent
        for _ in range(MOST_GAMES if most is None else most):
            begun = time.monotonic()
            if begun > until:
                return
            randomly = random_only or spent[True] <= spent[False]
            (self.played.play_randomly if randomly else self.played.search)(at_latest)
            spent[randomly] += time.monotonic() - begun
            self._say(
                f"{self.played.tally.games:,} random games, {self.played.searched:,} that seek what is new"
            )

    def _at(self, part: float) -> float:
        return self.begun + part * self.seconds

    def _say(self, what: str) -> None:
        if self.progress:
            self.progress(what)

    def report(self) -> StoryReport:
        """What was found so far, put together."""
        game = self.game
        sightings = self.sightings
        tally = self.played.tally
        self._add_what_was_compiled()
        links = links_of(game)
        story = story_behind(game)
        stuck = self._stuck()
        ends = [*dead_ends(game, links, sightings), *stuck]
        never = never_reached(
            game, links, sightings, exact=self.exact is not None, games=tally.games
        )
        evidence = Evidence(sightings, tally, ends, never, self.exact, self.compiled)
        exact = self.exact
        agent = self.agent.tally if self.agent else None
        return StoryReport(
            name=game.name,
            title=title_of(game),
            source=story.source if story else "",
            exact=exact is not None,
            why_not=self.why_not,
            complete=sightings.complete,
            interrupted=self.interrupted,
            seconds=time.monotonic() - self.begun,
            games=tally.games,
            cut_short=tally.cut_short,
            searched=self.played.searched,
            agent_games=agent.games if agent else 0,
            agent_learned_from=self.agent.learned_from if self.agent else 0,
            states=max(sightings.states, self.compiled.raw_states if self.compiled else 0),
            passages=passages_covered(game, sightings.passages),
            links=links_covered(links, sightings.links, links_left_out(game)),
            never_reached=never,
            # Where all but the links is exact already, a list of those that there was no time for would mislead.
            links_untaken=[]
            if exact and not sightings.complete
            else links_untaken(game, links, sightings),
            endings=self._endings(),
            random_final_reward=SampledValue(exact.random_final_reward, 0.0)
            if exact
            else mean_of(tally.rewards),
            random_steps=_steps(exact) if exact else mean_of(tally.steps),
            agent_final_reward=mean_of(agent.rewards) if agent else None,
            best_final_reward=exact.best_final_reward if exact else self._best_found(),
            stopped=SampledValue(exact.trapped, 0.0)
            if exact
            else share_of(tally.stopped, tally.games),
            dead_ends=[
                end for end in ends if sightings.endings or end.kind != LOOP
            ],  # where nothing ends, all do
            advice=[*engine_advice(game), *rules_without_effect(game), *advice(game, sightings)],
            variables=values_taken(sightings),
            broken_links=broken_links(game),
            errors=self._errors(),
            left_out=left_out(game),
            expectations=[
                check_expectation(expected, evidence) for expected in rules_of(game).expectations
            ],
        )

    def _add_what_was_compiled(self) -> None:
        """A compiled game saw everything, though the search of all its variables may have had no time."""
        compiled = self.compiled
        if compiled is None:
            return
        story = story_behind(self.game)
        told = {place_key(place, story is not None): place.reward for place in compiled.endings}
        for key, path in ways_to_endings(compiled, has_passages=story is not None).items():
            reward = self._pays(key) if story else told[key]
            self.sightings.endings[key] = EndingSeen(path, reward, path.comes_to)
        if story and not hasattr(self.game, "ink"):
            ways = ways_to_passages(compiled)
            for name in story.pages.keys() - set(compiled.unreached):
                known = self.sightings.passages.get(name)
                self.sightings.passages[name] = ways.get(name) or known or ClickPath()
            self.sightings.links |= links_taken(compiled)

    def _pays(self, key: EndingKey) -> float:
        rules = rules_of(self.game)
        return rules.default_reward if key.rule is None else rules.endings[key.rule].reward

    def _stuck(self) -> list[DeadEnd]:
        if self.exact is None:
            return loops_seen(self.sightings)
        what = "a loop that no one leaves: no ending can be reached from here"
        return [DeadEnd(LOOP, name, what, path) for name, path in self.exact.traps.items()]

    def _endings(self) -> list[EndingTold]:
        told = [self._told(key, seen) for key, seen in self.sightings.endings.items()]
        return sorted(
            told, key=lambda e: (-e.reward, -(e.random.mean if e.random else 0.0), e.name)
        )

    def _told(self, key: EndingKey, seen: EndingSeen) -> EndingTold:
        tally = self.played.tally
        exact = self.exact
        random = (
            SampledValue(exact.random_odds.get(key, 0.0), 0.0)
            if exact
            else share_of(tally.endings[key], tally.games)
        )
        best = exact.best_odds.get(key, 0.0) if exact else None
        agent = (
            share_of(self.agent.tally.endings[key], self.agent.tally.games) if self.agent else None
        )
        reward = self._pays(key) if story_behind(self.game) else seen.reward
        rule = None if key.rule is None else key.rule + 1
        return EndingTold(
            key.name, reward, rule, random, best, agent, last_words(seen.text), seen.path
        )

    def _best_found(self) -> float | None:
        return max((ending.reward for ending in self.sightings.endings.values()), default=None)

    def _errors(self) -> list[Thrown]:
        story = story_behind(self.game)
        found = []
        for error, path in self.sightings.errors.items():
            passage, _, what = error.partition(": ")
            known = story.passages.get(passage) if story else None
            found.append(Thrown(passage, what, known.line if known else 1, path))
        return found


def _steps(exact: ExactPlay) -> SampledValue | None:
    return None if exact.random_steps is None else SampledValue(exact.random_steps, 0.0)
