"""A place of a story's map in detail: its texts, the ways there and onward, and the odds of what comes after."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from drrn.compiled.chain import Chain, uniform
from drrn.compiled.game import Compiled
from drrn.compiled.graph import Floats, Ints
from drrn.compiled.solve import Score, best, one_slot, policy_score
from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.stories.map.story_map import StoryMap, story_map
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.evidence import Evidence
from drrn.stories.playtest.solve import ShortestPaths
from drrn.text import ranges

MOST_TEXTS = 5  # of one place: a passage may be told in many ways
MOST_SEARCHED = 3_000  # letters of a place that can be searched for words
MOST_WORDS = 8  # actions that lead one way

AgentsPlay = tuple[
    tuple[str, float], Floats
]  # the run and when its weights were written; each slot's probability


def told_map(drawn: StoryMap) -> dict[str, Any]:
    """The map as data."""
    lists = zip(
        drawn.labels,
        drawn.texts,
        drawn.reward,
        drawn.trap,
        drawn.visits,
        drawn.distance,
        strict=True,
    )
    places = [
        {"place": number, "label": label, "text": text[:MOST_SEARCHED], "reward": reward, "ending": reward is not None,
         "trap": trap, "visits": visits, "distance": distance}
        for number, (label, text, reward, trap, visits, distance) in enumerate(lists)
    ]  # fmt: skip
    ways = [
        {
            "from": one,
            "to": other,
            "often": often,
            "words": _likeliest(drawn.actions.get((one, other), {})),
        }
        for (one, other), often in drawn.edges.items()
    ]
    return {"noun": drawn.noun, "places": places, "ways": ways, "seen_only": drawn.partial}


def neighbours(drawn: StoryMap, number: int, side: int) -> list[dict[str, Any]]:
    """The places on the other side of the ways that begin (0) or end (1) at a place, the most gone first."""
    ways = sorted(
        (way for way in drawn.edges if way[side] == number), key=lambda way: -drawn.edges[way]
    )
    return [
        {
            "place": way[1 - side],
            "label": drawn.labels[way[1 - side]],
            "words": _likeliest(drawn.actions.get(way, {})),
        }
        for way in ways
    ]


def _likeliest(words: dict[str, float]) -> list[str]:
    return sorted(words, key=lambda word: -words[word])[:MOST_WORDS]


def seen_places(drawn: StoryMap, sightings: Evidence) -> list[dict[str, Any]]:
    """Every place of a map of what was seen; the odds from there are not known."""
    paths: dict[Hashable, ClickPath] = {}  # in the order in which the map numbers places
    for page in sightings.pages.values():
        paths.setdefault(page.ending or page.passage or page.path.comes_to, page.path)
    ways = list(paths.values())
    return [
        {
            "place": number, "label": label, "texts": [drawn.texts[number]],
            "actions": list(dict.fromkeys(word for way in drawn.edges if way[0] == number
                                          for word in drawn.actions.get(way, ()))),
            "from": neighbours(drawn, number, 1), "to": neighbours(drawn, number, 0),
            "way": {"actions": ways[number].actions, "chances": ways[number].chances},
            "odds": {"random": None, "best": None, "agent": None}, "exact": False,
        }
        for number, label in enumerate(drawn.labels)
    ]  # fmt: skip


@dataclass
class CompiledPlaces:
    """The places of a compiled game."""

    game: Game
    compiled: Compiled
    asked: AgentsPlay | None = None  # the play of the agent that was asked for last

    @cached_property
    def drawn(self) -> StoryMap:
        return story_map(self.compiled)

    @property
    def place(self) -> Ints:
        """The node of the map to which each state belongs."""
        assert self.drawn.node_of_state is not None
        return self.drawn.node_of_state

    @cached_property
    def visits(self) -> Floats:
        """How often random play is expected to come to each state."""
        return Chain(self.compiled, uniform(self.compiled)).visits()

    @property
    def all_pay_alike(self) -> bool:
        """Whether no ending pays more than another, so that there is no best play."""
        return len({reward for reward in self.drawn.reward if reward is not None}) <= 1

    @cached_property
    def best_play(self) -> Floats:
        """The probability of each slot under a best policy."""
        return one_slot(self.compiled, best(self.compiled).slot)

    def told_place(self, number: int, run: str | None) -> dict[str, Any]:
        """One place in detail; `run` is the folder of an agent whose play is asked for, too."""
        if not 0 <= number < len(self.drawn.labels):
            raise InputError("There is no such place on the map.")
        states = np.flatnonzero(self.place == number)
        c = self.compiled
        often = self.visits[states]
        weight = often / often.sum() if often.sum() > 0 else np.full(len(states), 1 / len(states))
        liked = states[np.argsort(-weight, kind="stable")]  # the likeliest first
        slots = ranges(c.first[liked], c.count[liked])
        way = ShortestPaths(c).to_any({int(state) for state in states})
        return {
            "place": number,
            "label": self.drawn.labels[number],
            "texts": list(dict.fromkeys(c.texts[text] for text in c.text[liked].tolist()))[
                :MOST_TEXTS
            ],
            "actions": list(
                dict.fromkeys(c.actions[action] for action in c.action[slots].tolist())
            ),
            "from": neighbours(self.drawn, number, 1),
            "to": neighbours(self.drawn, number, 0),
            "way": None if way is None else {"actions": way.actions, "chances": way.chances},
            "odds": self._odds(states, weight, run),
            "exact": True,
        }

    def _odds(self, states: Ints, weight: Floats, run: str | None) -> dict[str, Any]:
        """What comes after, if play begins in these states; by random play, the best, and an agent."""
        from_here = _Beginning(self.compiled, states, weight)
        found = {"random": from_here.odds(uniform(self.compiled)), "best": None, "agent": None}
        if not self.all_pay_alike:
            with contextlib.suppress(InputError):  # where its return has no bound
                found["best"] = from_here.odds(self.best_play)
        if run is not None:
            found["agent"] = from_here.odds(self._agent_play(run))
        return found

    def _agent_play(self, run: str) -> Floats:
        """The probability of each slot under the softmax policy of a run's replicas, their mean."""
        from drrn.playing.compiled_rollouts import CompiledRollouts
        from drrn.playing.policies import policy_of
        from drrn.runs.agent import Agent
        from drrn.runs.storage import WEIGHTS

        path = Path(run) / WEIGHTS
        key = (run, path.stat().st_mtime if path.exists() else 0.0)
        if self.asked is not None and self.asked[0] == key:
            return self.asked[1]
        agent = Agent.load(Path(run))
        if agent.settings.run.history or agent.model.sees_menu:
            raise InputError(
                "This agent's choice depends on more than the page, so its odds are not known exactly."
            )
        rollouts = CompiledRollouts(self.compiled, agent.model, agent.model.store.scratch())
        shares: Floats = np.mean(
            rollouts.probabilities(policy_of("softmax", agent.settings.exploration.alpha)), axis=0
        )
        self.asked = (key, shares)
        return shares


@dataclass(frozen=True)
class _Beginning:
    """A compiled game that begins in other states than its own."""

    compiled: Compiled
    states: Ints
    weight: Floats

    def odds(self, probabilities: Floats) -> dict[str, Any]:
        """What play under a policy comes to."""
        begun = copy.copy(self.compiled)
        start = np.zeros(len(self.compiled))
        start[self.states] = self.weight
        begun.__dict__["start"] = start  # what is otherwise computed from the opening
        score: Score = policy_score(begun, probabilities)
        endings: list[dict[str, Any]] = [
            {
                "name": place.passage,
                "reward": float(self.compiled.reward[self._first(number)]),
                "odds": float(odds),
            }
            for number, (place, odds) in enumerate(
                zip(self.compiled.endings, score.endings, strict=True)
            )
            if odds > 0
        ]
        endings.sort(key=lambda ending: -ending["odds"])
        return {
            "score": score.final_reward,
            "steps": score.steps,
            "endings": endings,
            "trapped": score.trapped,
        }

    def _first(self, ending: int) -> int:
        return int(np.flatnonzero(self.compiled.ending_at == ending)[0])
