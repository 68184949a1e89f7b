"""The report of a play-test as data: what was covered, the endings, dead ends, errors and expectations."""

from __future__ import annotations

from dataclasses import dataclass, field

from drrn.stories.playtest.broken_links import BrokenLink
from drrn.stories.playtest.checks import Checked
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.coverage import Covered, LinksUntaken, NeverReached
from drrn.stories.playtest.dead_ends import DeadEnd
from drrn.stories.playtest.sampled import SampledValue
from drrn.stories.playtest.values_taken import ValuesTaken


@dataclass(frozen=True)
class EndingTold:
    """An ending: what it pays, its odds, and a shortest way to it."""

    name: str
    reward: float
    rule: int | None  # number of its [[ending]], from 1
    random: (
        SampledValue | None
    )  # the share of random games that end so; without error where it is exact
    best: float | None  # how likely the best play ends so; None where that is not known
    agent: (
        SampledValue | None
    )  # the share of an agent's games that end so; None where none were played
    last_words: str
    path: ClickPath


@dataclass(frozen=True)
class Thrown:
    """An error that the story threw, and the clicks that lead there."""

    passage: str
    what: str
    line: int  # of the passage in the file
    path: ClickPath


@dataclass(frozen=True)
class StoryReport:
    """What a play-test found. Where it is not exact, shares are estimates and counts are lower bounds."""

    name: str
    title: str
    source: str  # the story's file, "" where there is none
    exact: bool
    why_not: str  # why it is not exact
    complete: bool  # every state was seen with all its variables
    interrupted: bool
    seconds: float
    games: int  # random ones
    cut_short: int  # random games that the clock ended, which count nowhere
    searched: int  # games that sought what is new
    agent_games: int  # that an agent played after it had learned; 0 where the report is exact, or endings pay alike
    agent_learned_from: int  # games
    states: int
    passages: Covered
    links: Covered
    never_reached: list[NeverReached]
    links_untaken: list[LinksUntaken]
    endings: list[EndingTold]
    random_final_reward: SampledValue | None
    random_steps: SampledValue | None  # None: endless, or not known
    agent_final_reward: SampledValue | None
    best_final_reward: float | None  # where it is not exact: of the best ending found
    stopped: (
        SampledValue | None
    )  # the share of random games that met no end; exact: that can come to none
    dead_ends: list[DeadEnd]
    advice: list[str]
    variables: list[ValuesTaken]
    broken_links: list[BrokenLink]
    errors: list[Thrown]
    left_out: list[str]  # what our reading of the story does not know, and played without
    expectations: list[Checked] = field(default_factory=list)

    @property
    def all_pay_alike(self) -> bool:
        """Whether no ending pays more than another, so that there is no best play."""
        return len({ending.reward for ending in self.endings}) <= 1

    def is_dead_end(self, ending: EndingTold) -> bool:
        """Whether an ending was hardly meant as one: it stands among the dead ends, too."""
        return ending.rule is None and any(dead.passage == ending.name for dead in self.dead_ends)

    @property
    def endings_meant(self) -> int:
        """How many endings are no dead ends."""
        return sum(not self.is_dead_end(ending) for ending in self.endings)

    @property
    def failed(self) -> bool:
        return any(checked.status == "failed" for checked in self.expectations)
