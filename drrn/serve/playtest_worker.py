"""The process of a play-test: tests a story, then answers questions about its map."""

from __future__ import annotations

import contextlib
import copy
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from drrn.compiled.chain import Chain, uniform
from drrn.compiled.compile import MOST_STATES, compile_game
from drrn.compiled.game import Compiled
from drrn.compiled.graph import Floats, Ints
from drrn.compiled.solve import best, one_slot, policy_score, random_play
from drrn.errors import InputError
from drrn.game.contract import Game, Observation
from drrn.game.episodes import Policy, episode, outcome_of, random_policy
from drrn.game.make import GameSpec
from drrn.game.optional import is_stopped
from drrn.processes import interruptible, report
from drrn.runs.quick_player import quick_player
from drrn.serve.http import as_json
from drrn.stories.map.story_map import StoryMap, story_map
from drrn.stories.map.svg import story_map_svg
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.evidence import Evidence
from drrn.stories.playtest.findings import mean_of
from drrn.stories.playtest.playtest import StoryTest
from drrn.stories.playtest.report import report_fragment
from drrn.stories.playtest.solve import ShortestPaths
from drrn.text import ranges

REPORT_SECONDS = 0.2  # between reports of progress
MAX_TEXTS = 5  # of a page of the map: a passage may have many
MAX_SEARCHED = 3_000  # characters of a page that the search of the map finds
MAX_ACTIONS = 8  # of a link of the map
MAX_GAMES = 300  # played from a page that cannot be solved
MIN_GAMES = 10  # fewer say nothing
GAMES_SECONDS = 3.0  # twice that until there are MIN_GAMES
MAX_MISSED = 100  # games after which a page that chance seldom leads to is given up


class EndingOdds(TypedDict):
    """An ending and its probability."""

    name: str
    reward: float
    odds: float


class Odds(TypedDict):
    """How games end from a page, under one policy."""

    score: float  # mean final reward
    error: float  # its standard error; 0 if exact
    steps: float
    endings: list[EndingOdds]
    unfinished: float  # probability that the game never ends
    games: int  # 0 if exact


class PageOdds(TypedDict):
    """Odds under random play, best play and the policy of an agent."""

    random: Odds | None
    best: Odds | None
    agent: Odds | None


class Facts(TypedDict):
    """A compiled game in a few numbers."""

    pages: int
    states: int
    endings: list[EndingOdds]
    random: float
    best: float


class MapPage(TypedDict):
    """A page of the map."""

    page: int
    label: str
    text: str
    reward: float | None
    ending: bool
    trap: bool
    visits: float
    distance: int


class MapPayload(TypedDict):
    """The map as data, for the search."""

    noun: str  # passage or page
    pages: list[MapPage]
    partial: bool


class Neighbour(TypedDict):
    """A page that a link leads to, or comes from."""

    page: int
    label: str
    actions: list[str]


class ActionPath(TypedDict):
    """The actions of a shortest path, and the draws that it needs."""

    actions: Sequence[str]
    chances: Any


class PageDetails(TypedDict):
    """A page of the map in detail."""

    page: int
    label: str
    texts: list[str]
    actions: list[str]
    before: list[Neighbour]
    after: list[Neighbour]
    path: ActionPath | None
    odds: PageOdds
    exact: bool


class TestResult(TypedDict):
    """The result of a play-test; it is also what is saved of it."""

    report: dict[str, Any]
    html: str  # of the report
    map: MapPayload
    svg: str
    pages: list[PageDetails] | None  # of a story that could not be solved


class PlayTestWorker:
    """A story that is tested, or was tested before."""

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self.compiled: Compiled | None = None
        self._reported = 0.0
        self._agent: tuple[tuple[str, float], Floats] | None = None  # the last one, and its play

    def test(self, seconds: float) -> TestResult:
        """Test the story; report the progress."""
        test = StoryTest(self.game, seconds, self._progress, quick_player)
        try:
            with interruptible():
                findings = test.run()
        except KeyboardInterrupt:
            raise InputError("The play-test was stopped before it had any results.") from None
        self.compiled = test.compiled
        drawing = test.story_map()
        data = as_json(findings)
        data["source"] = Path(data["source"]).name  # its folder is not the page's business
        pages = None
        if self.compiled is None:
            pages = as_json(seen_pages(drawing, test.evidence))
        return {
            "report": data,
            "html": report_fragment(findings),
            "map": map_payload(drawing),
            "svg": story_map_svg(drawing, with_style=False),
            "pages": pages,
        }

    def _progress(self, text: str) -> None:
        now = time.monotonic()
        if now >= self._reported + REPORT_SECONDS:
            self._reported = now
            report(text)

    @cached_property
    def game(self) -> Any:
        """The story as `drrn test` opens it: actions in order, without unsupported macros."""
        try:
            return replace(self.spec, shuffle=False, lenient=True).open()
        except InputError:  # a game without these options
            return self.spec.open()

    @cached_property
    def solved(self) -> SolvedMap:
        """The map of the compiled game, which is compiled again if it was tested before."""
        if self.compiled is None:
            self.compiled = compile_game(self.game, limit=MOST_STATES)
        return SolvedMap(self.compiled)

    def page(self, number: int, run: str | None) -> PageDetails:
        """Return a page of a solved map; `run` is the folder of the agent to compare."""
        agent = None if run is None else self._agent_play(run)
        return self.solved.page(number, agent)

    def sampled_odds(self, path: Sequence[str], run: str | None) -> PageOdds:
        """Play games from where a path leads, at random and by the agent of a run."""
        odds: PageOdds = {
            "random": sampled_odds(self.game, path, random_policy(0)),
            "best": None,
            "agent": None,
        }
        if run is not None:
            from drrn.runs.agent import Agent

            player = Agent.load(run).policy("softmax")
            odds["agent"] = sampled_odds(self.game, path, player)
        return odds

    def facts(self) -> Facts:
        """Describe a compiled story in a few numbers."""
        compiled = self.solved.compiled
        chance = random_play(compiled)
        return {
            "pages": len(compiled.texts),
            "states": len(compiled),
            "endings": _endings(compiled, chance.endings),
            "random": chance.final_reward,
            "best": best(compiled).score,
        }

    def _agent_play(self, run: str) -> Floats:
        """Return the probability of each slot under the softmax policy, as a mean over replicas."""
        from drrn.playing.compiled_rollouts import CompiledRollouts
        from drrn.playing.policies import policy_of
        from drrn.runs.agent import Agent
        from drrn.runs.storage import WEIGHTS

        path = Path(run) / WEIGHTS
        key = (run, path.stat().st_mtime if path.exists() else 0.0)
        if self._agent is not None and self._agent[0] == key:
            return self._agent[1]
        agent = Agent.load(run)
        if agent.settings.run.history or agent.model.sees_menu:
            raise InputError(
                "This agent's choices depend on more than the page, so its odds cannot be computed."
            )
        store = agent.model.store.scratch()
        rollouts = CompiledRollouts(self.solved.compiled, agent.model, store)
        policy = policy_of("softmax", agent.settings.exploration.alpha)
        play: Floats = np.mean(rollouts.probabilities(policy), axis=0)
        self._agent = (key, play)
        return play


class SolvedMap:
    """The map of a compiled game, with exact odds from every page."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled

    @cached_property
    def drawing(self) -> StoryMap:
        return story_map(self.compiled)

    @cached_property
    def _random_play(self) -> Floats:
        return uniform(self.compiled)

    @cached_property
    def _visits(self) -> Floats:
        return Chain(self.compiled, self._random_play).visits()

    @cached_property
    def _best_play(self) -> Floats | None:
        """The probability of each slot in best play; None if there is no best play."""
        rewards = {reward for reward in self.drawing.reward if reward is not None}
        if len(rewards) <= 1:
            return None
        return one_slot(self.compiled, best(self.compiled).slot)

    def page(self, number: int, agent: Floats | None = None) -> PageDetails:
        """Return a page in detail; `agent` is the probability of each slot in an agent's play."""
        if not 0 <= number < len(self.drawing.labels):
            raise InputError("There is no such page on the map.")
        c = self.compiled
        states = np.flatnonzero(self.drawing.node_of_state == number)
        visits = self._visits[states]
        weight = np.full(len(states), 1 / len(states))
        if visits.sum() > 0:
            weight = visits / visits.sum()
        frequent = states[np.argsort(-weight, kind="stable")]
        slots = ranges(c.first[frequent], c.count[frequent])
        texts = dict.fromkeys(c.texts[text] for text in c.text[frequent].tolist())
        path = ShortestPaths(c).to_any({int(state) for state in states})
        odds: PageOdds = {
            "random": self._odds(states, weight, self._random_play),
            "best": None,
            "agent": None,
        }
        with contextlib.suppress(InputError):  # its return is unbounded
            if self._best_play is not None:
                odds["best"] = self._odds(states, weight, self._best_play)
        if agent is not None:
            odds["agent"] = self._odds(states, weight, agent)
        return {
            "page": number,
            "label": self.drawing.labels[number],
            "texts": list(texts)[:MAX_TEXTS],
            "actions": list(dict.fromkeys(c.actions[a] for a in c.action[slots].tolist())),
            "before": _neighbours(self.drawing, number, 1),
            "after": _neighbours(self.drawing, number, 0),
            "path": None if path is None else _path(path),
            "odds": odds,
            "exact": True,
        }

    def _odds(self, states: Ints, weight: Floats, play: Floats) -> Odds:
        """Return the odds if the game starts in one of these states."""
        started = copy.copy(self.compiled)
        start = np.zeros(len(self.compiled))
        start[states] = weight
        started.__dict__["start"] = start  # a cached property
        score = policy_score(started, play)
        endings = _endings(self.compiled, score.endings)
        return {
            "score": score.final_reward,
            "error": 0.0,
            "steps": score.steps,
            "endings": [ending for ending in endings if ending["odds"] > 0],
            "unfinished": score.trapped,
            "games": 0,
        }


def _endings(compiled: Compiled, probabilities: Any) -> list[EndingOdds]:
    endings: list[EndingOdds] = []
    for number, (ending, odds) in enumerate(zip(compiled.endings, probabilities, strict=True)):
        reward = float(compiled.reward[compiled.ending_at == number][0])
        endings.append({"name": ending.passage, "reward": reward, "odds": float(odds)})
    return sorted(endings, key=lambda ending: -ending["odds"])


def map_payload(drawing: StoryMap) -> MapPayload:
    """Return the map as data."""
    pages: list[MapPage] = [
        {
            "page": i,
            "label": label,
            "text": drawing.texts[i][:MAX_SEARCHED],
            "reward": drawing.reward[i],
            "ending": drawing.reward[i] is not None,
            "trap": drawing.trap[i],
            "visits": drawing.visits[i],
            "distance": drawing.distance[i],
        }
        for i, label in enumerate(drawing.labels)
    ]
    return {"noun": drawing.noun, "pages": pages, "partial": drawing.partial}


def _neighbours(drawing: StoryMap, number: int, end: int) -> list[Neighbour]:
    """Return the other ends of the links that start (0) or end (1) at a page, most used first."""
    links = [link for link in drawing.edges if link[end] == number]
    links.sort(key=lambda link: -drawing.edges[link])
    neighbours: list[Neighbour] = []
    for link in links:
        words = drawing.actions.get(link, {})
        actions = sorted(words, key=lambda action: -words[action])[:MAX_ACTIONS]
        other = link[1 - end]
        neighbours.append({"page": other, "label": drawing.labels[other], "actions": actions})
    return neighbours


def _path(path: ClickPath) -> ActionPath:
    return {"actions": path.actions, "chances": path.chances}


def seen_pages(drawing: StoryMap, evidence: Evidence) -> list[PageDetails]:
    """Return every page of a map of what was seen; the odds are sampled on request."""
    paths: dict[Any, ClickPath] = {}  # in the order of the map's pages
    for page in evidence.pages.values():
        paths.setdefault(page.ending or page.passage or page.path.comes_to, page.path)
    pages: list[PageDetails] = []
    for number, path in enumerate(paths.values()):
        links = [link for link in drawing.edges if link[0] == number]
        actions = [action for link in links for action in drawing.actions.get(link, ())]
        pages.append(
            {
                "page": number,
                "label": drawing.labels[number],
                "texts": [drawing.texts[number]],
                "actions": list(dict.fromkeys(actions)),
                "before": _neighbours(drawing, number, 1),
                "after": _neighbours(drawing, number, 0),
                "path": _path(path),
                "odds": {"random": None, "best": None, "agent": None},
                "exact": False,
            }
        )
    return pages


def sampled_odds(
    game: Game, path: Sequence[str], policy: Policy, seconds: float = GAMES_SECONDS
) -> Odds | None:
    """Play games from where a path leads.

    Returns:
        Means over the games; None if chance seldom leads there, or the games take too long.
    """
    until = time.monotonic() + seconds
    rewards: list[float] = []
    steps: list[float] = []
    endings: Counter[tuple[str, float]] = Counter()
    begin = getattr(policy, "begin", None)  # of a policy with memory
    for seed in range(MAX_GAMES):
        needs_more = len(rewards) < MIN_GAMES and seed < MAX_MISSED
        if time.monotonic() > until + (seconds if needs_more else 0):
            break
        page = _follow(game, path, seed)
        if page is None:
            continue
        if begin is not None:
            begin()
        outcome = outcome_of(game, episode(game, policy, opening=page))
        rewards.append(outcome.final_reward)
        steps.append(outcome.steps)
        if outcome.ending is not None:
            endings[outcome.ending, outcome.final_reward] += 1
    score = mean_of(rewards)
    mean_steps = mean_of(steps)
    games = len(rewards)
    if games < MIN_GAMES or score is None or mean_steps is None:
        return None
    return {
        "score": score.mean,
        "error": score.error,
        "steps": mean_steps.mean,
        "endings": [
            {"name": name, "reward": reward, "odds": count / games}
            for (name, reward), count in endings.most_common()
        ],
        "unfinished": 1 - sum(endings.values()) / games,
        "games": games,
    }


def _follow(game: Game, path: Sequence[str], seed: int) -> Observation | None:
    """Return the page that the actions lead to; None if one of them is not offered."""
    page = game.reset(seed)
    for action in path:
        if action not in page.actions or is_stopped(game):
            return None
        page = game.step(page.actions.index(action))
    return page
