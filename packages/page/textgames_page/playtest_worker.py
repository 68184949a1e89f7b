"""The process of a play-test: tests a story, then answers questions about its map.

It reports the JSON of `Findings`: of the story, and of the games that start on one page.
"""

import contextlib
import copy
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from storytest.map.story_map import UNREACHED, UNWRITTEN, Edge, StoryMap, story_map
from storytest.map.svg import legend_html, story_map_svg
from storytest.playtest.checks import require_playable
from storytest.playtest.clicks import ClickPath, follow
from storytest.playtest.coverage import Source
from storytest.playtest.evidence import EndingRecord, Shares, Tally, arrival_of
from storytest.playtest.findings import Findings, Play
from storytest.playtest.playtest import StoryTest, endings_of, inspect_game
from storytest.playtest.report import report_fragment
from storytest.playtest.solve import ShortestPaths, exact_play
from textgames.compiled.chain import Chain, uniform
from textgames.compiled.compile import MOST_STATES, compile_game
from textgames.compiled.game import Compiled, Floats
from textgames.compiled.search import EndingId
from textgames.compiled.solve import best, one_slot
from textgames.errors import InputError
from textgames.game.contract import Game
from textgames.game.episodes import Policy, episode, random_policy
from textgames.openers import GameSpec
from textgames.processes import report
from textgames_page.advice_worker import agent_of
from textgames_page.http import as_json


class PlayTestWorker:
    """A story that is tested, or was tested before."""

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self._next_report = 0.0
        self._agent: tuple[Any, Floats] | None = None  # the last one, and its play

    def test(self, seconds: float) -> dict[str, Any]:
        """Test the story, and report the progress.

        Returns:
            The findings as JSON ("report") and HTML, the map as JSON and SVG ("" if it is too
            large to draw), and the path to each page of a map that was not solved.
        """
        require_playable(self.game)
        test = StoryTest(self.game, seconds, self._progress)
        try:
            findings = test.run()
        except KeyboardInterrupt:
            raise InputError("The play-test was stopped before it had any results.") from None
        if test.solution is not None:
            self.compiled = test.solution.compiled
        drawing = test.story_map(findings)
        svg = ""
        with contextlib.suppress(InputError):
            svg = story_map_svg(drawing, with_style=False, legend=False)
        return {
            "report": _json_of(findings),
            "html": report_fragment(findings),
            "map": as_json(map_data(drawing)),
            "svg": svg,
            "paths": as_json(drawing.paths),
        }

    def _progress(self, text: str) -> None:
        now = time.monotonic()
        if now >= self._next_report:
            self._next_report = now + 0.2
            report(text)

    @cached_property
    def game(self) -> Any:
        """The story as `storytest` opens it: actions in order, without unsupported macros."""
        try:
            return replace(self.spec, shuffle=False, lenient=True).open()
        except InputError:  # a game without these options
            return self.spec.open()

    @cached_property
    def compiled(self) -> Compiled:
        """The compiled story. It is compiled again if it was tested by another process."""
        return compile_game(self.game, limit=MOST_STATES)

    @cached_property
    def map(self) -> StoryMap:
        return story_map(self.compiled)

    @cached_property
    def _plays(self) -> dict[str, Floats]:
        """The probabilities of slots in random play, and in best play if there is one."""
        plays = {"random": uniform(self.compiled)}
        if len({reward for reward in self.map.reward if reward is not None}) > 1:
            with contextlib.suppress(InputError):  # it could not be solved
                plays["best"] = one_slot(self.compiled, best(self.compiled).slot)
        return plays

    @cached_property
    def _visits(self) -> Floats:
        return Chain(self.compiled, self._plays["random"]).visits()

    def inspect(self) -> dict[str, Any]:
        """The findings of `storytest inspect`, except the highest return."""
        return _json_of(inspect_game(self.game, self.compiled, returns=False))

    def page(self, number: int, run: str | None = None, most: int = 5) -> dict[str, Any]:
        """A page of a solved map: its texts, the path to it, and the findings from there.

        Args:
            number: The page.
            run: The folder of the agent to compare.
            most: The number of texts. A passage may have many.
        """
        c = self.compiled
        states = np.flatnonzero(self.map.node_of_state == number)
        visits = self._visits[states]
        weight = np.full(len(states), 1 / len(states))
        if visits.sum() > 0:
            weight = visits / visits.sum()
        frequent = states[np.argsort(-weight, kind="stable")]
        texts = dict.fromkeys(c.texts[text] for text in c.text[frequent].tolist())
        path = ShortestPaths(c).to_any({int(state) for state in states})
        started = copy.copy(c)
        start = np.zeros(len(c))
        start[states] = weight
        started.__dict__["start"] = start  # a cached property
        plays = dict(self._plays)
        if run is not None:
            plays["player"] = self._agent_play(run)
        records = {key: EndingRecord(text=key.text) for key in c.endings}
        results = {name: exact_play(started, play) for name, play in plays.items()}
        findings = replace(_findings(self.game, records, results), exact=True)
        details = {"texts": list(texts)[:most], "path": path, "findings": findings}
        result: dict[str, Any] = as_json(details)
        return result

    def sampled_page(
        self,
        path: Sequence[str],
        run: str | None = None,
        *,
        seconds: float = 4.0,
        games: int = 300,
        least: int = 10,
    ) -> dict[str, Any]:
        """Findings from games that start where a path leads.

        Args:
            path: The actions of the path.
            run: The folder of the agent to compare with random play.
            seconds: The time limit of each policy.
            games: The number of games of each policy.
            least: A policy that played fewer games is left out.
        """
        players: dict[str, Policy] = {"random": random_policy(0)}
        if run is not None:
            players["player"] = agent_of(run).policy("softmax")
        records: dict[EndingId, EndingRecord] = {}
        tallies = {name: Tally() for name in players}
        for name, policy in players.items():
            until = time.monotonic() + seconds
            for seed in range(games):
                clicks = list(follow(self.game, ClickPath(tuple(path)), seed))
                if time.monotonic() > until:
                    break
                if len(clicks) <= len(path):
                    continue  # the game draws other pages with this seed
                pages = [step.page for step in episode(self.game, policy, opening=clicks[-1][0])]
                last = arrival_of(self.game, pages[-1])
                rewards = sum(page.reward for page in pages[1:])
                tallies[name].add(last, rewards, len(pages) - 1)
                if last.ending is not None:
                    records[last.ending] = EndingRecord(text=last.page.text)
        played = {name: tally for name, tally in tallies.items() if tally.games >= least}
        results = {name: (tally.play, tally.shares(records)) for name, tally in played.items()}
        return _json_of(_findings(self.game, records, results))

    def _agent_play(self, run: str) -> Floats:
        """The probability of each slot under the softmax policy, as a mean over replicas."""
        from drrn.playing.compiled_rollouts import CompiledRollouts
        from drrn.playing.policies import policy_of

        agent = agent_of(run)
        if self._agent is None or self._agent[0] is not agent:
            settings = agent.settings
            if settings.run.history or settings.model.rereads or agent.model.sees_menu:
                cause = "This agent's choices depend on more than the page"
                raise InputError(f"{cause}, so its odds are unknown.")
            store = agent.model.store.scratch()
            game = agent.recall.game(self.compiled) if agent.recall else self.compiled
            rollouts = CompiledRollouts(game, agent.model, store)
            policy = policy_of("softmax", agent.alpha)
            self._agent = (agent, np.mean(rollouts.probabilities(policy), axis=0))
        return self._agent[1]


def _json_of(findings: Findings) -> dict[str, Any]:
    data: dict[str, Any] = as_json(findings.as_json())
    data["source"] = Path(data["source"]).name  # its folder is not the page's business
    return data


def map_data(drawing: StoryMap, *, characters: int = 3_000, actions: int = 8) -> dict[str, Any]:
    """The pages of the map for its search, and its links in the author's order.

    Args:
        drawing: The map.
        characters: The length of the text of a page.
        actions: The number of actions of a link.
    """
    pages = []
    for number, label in enumerate(drawing.labels):
        text = drawing.texts[number][:characters]
        is_ending = drawing.reward[number] is not None
        flaw, words = drawing.flaws.get(number, ("", ""))
        page = {"page": number, "label": label, "text": text, "ending": is_ending}
        is_reached = flaw not in (UNREACHED, UNWRITTEN)
        position = drawing.positions.get(number)
        pages.append({**page, "flaw": words, "reached": is_reached, "position": position})
    links = []
    for edge, amounts in sorted(drawing.actions.items(), key=lambda item: _order(drawing, item)):
        frequent = [action for action, _ in Counter(amounts).most_common(actions)]
        links.append({"from": edge[0], "to": edge[1], "actions": frequent})
    names = {"noun": drawing.noun, "legend": legend_html(drawing)}
    return {**names, "pages": pages, "links": links}


def _order(drawing: StoryMap, item: tuple[Edge, Mapping[str, float]]) -> tuple[int, int]:
    """The rank of a link: its page, and its first action in the author's order."""
    (source, _), actions = item
    order = drawing.order.get(source, [])
    return source, min((order.index(a) for a in actions if a in order), default=len(order))


def _findings(
    game: Game,
    records: Mapping[EndingId, EndingRecord],
    results: Mapping[str, tuple[Play | None, Shares]],
) -> Findings:
    """Findings from the results of policies: random, best, agent."""
    plays: dict[str, Any] = {name: play for name, (play, _) in results.items()}
    shares = {name: share for name, (_, share) in results.items()}
    return Findings("", "", endings=endings_of(Source(game), records, shares), **plays)
