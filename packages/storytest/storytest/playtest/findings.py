"""Findings: everything known about a game, exact or estimated.

`playtest` fills them. The commands and the page show parts of them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from storytest.playtest.clicks import ClickPath
from storytest.twine.rules import PROBLEM_KINDS
from textgames.estimate import Estimate

# Some kinds of problems.
BEHIND = "behind"  # a passage that only unreached passages lead to, which is no problem itself
LEFT_OUT = "left out"  # a passage to which only links lead that are no actions
BROKEN = "broken link"
UNREACHABLE = "unreachable"
THROWN = "thrown error"
TRAP = "trap"  # a page that ends, but is not meant to
ERROR = "error page"
LOOP = "loop"
UNWRITTEN = "empty passage"
# Verdicts.
PASSED = "passed"
FAILED = "failed"
UNSURE = "unsure"

Severity = Literal["error", "warning", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")


def listed(names: Sequence[str], most: int = 6) -> str:
    """Join names with commas, and count those after the first few."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


@dataclass(frozen=True)
class Ending:
    """An ending: its reward, its probabilities, and the shortest path to it."""

    name: str  # in a story, its passage
    reward: float
    rule: int | None  # number of its [[ending]] in the TOML, from 1; None: it has no rule
    last_words: str
    path: ClickPath | None  # shortest path, assuming favourable draws; None if unknown
    probability: Estimate | None  # in random play; None if unknown
    best: Estimate | None = None  # in best play
    player: Estimate | None = None  # in the games of a given policy
    variants: tuple[str, ...] = ()  # last words of its pages, if they differ and it has no rule


@dataclass(frozen=True)
class Play:
    """The scores of a policy: exact, or means of games."""

    final_reward: Estimate  # 0 in a game without an ending
    returns: Estimate | None  # None: unbounded
    steps: Estimate | None  # None: unbounded
    # Exact: probability of a state from which no ending is reachable; else: of the step limit.
    unfinished: Estimate | None = None
    games: int = 0  # 0 if exact


@dataclass(frozen=True)
class Statistics:
    """The size of a compiled game."""

    kind: str  # such as "choice"
    transitions: str  # "deterministic" or "stochastic"
    pages: int  # distinct texts
    actions: int  # distinct texts
    most_actions: int  # on one page


@dataclass(frozen=True)
class Coverage:
    """How many of all passages or links were seen."""

    count: int
    total: int


@dataclass(frozen=True)
class Problem:
    """A fault of the story, in one sentence for its author. An error makes the test fail."""

    kind: str  # one of PROBLEM_KINDS
    text: str  # without the place
    passage: str = ""
    line: int | None = None  # in the story's file; of an expectation, in the TOML
    path: ClickPath | None = None  # the clicks that show it
    severity: Severity = "error"
    targets: tuple[str, ...] = ()  # of links

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text

    @property
    def place(self) -> str:
        """The passage and the line, for the author."""
        line = f"line {self.line}" if self.line else ""
        return f"{self.passage} ({line})" if self.passage and line else self.passage or line

    @property
    def order(self) -> tuple[int, int, int]:
        """Sorts problems: errors first, then by kind and line."""
        return SEVERITIES.index(self.severity), PROBLEM_KINDS.index(self.kind), self.line or 0


@dataclass(frozen=True)
class Values:
    """The values of a variable: a range of numbers, or the first few of a list."""

    variable: str
    count: int
    values: str


@dataclass(frozen=True)
class Spread:
    """The words of a play-through, over random games."""

    games: int
    least: int
    mean: float
    most: int


@dataclass
class VariableUse:
    """The passages that set and read a variable, as the source shows them."""

    set_in: list[str] = field(default_factory=list)
    read_in: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Check:
    """The verdict on an [[expect]] table."""

    expectation: str
    status: str  # PASSED, FAILED or UNSURE
    result: str
    line: int  # in the TOML
    path: ClickPath | None = None


@dataclass(frozen=True)
class Findings:
    """What is known about a game.

    If `exact` is false, nothing is proved, and counts of what was seen are lower bounds.
    """

    name: str
    title: str
    problems: tuple[Problem, ...] = ()  # errors first, each once
    allowed: int = 0  # problems that the TOML allows
    source: str = ""  # the story's file, if there is one
    exact: bool = False  # every path was followed, and nothing was skipped
    why_not: str = ""  # why it is not exact
    complete: bool = False  # every state was visited
    interrupted: bool = False
    seconds: float = 0.0
    games: int = 0  # random games that were finished
    searching_games: int = 0
    max_steps: int = 0
    endings: list[Ending] = field(default_factory=list)
    random: Play | None = None
    best: Play | None = None  # of exact findings
    player: Play | None = None
    top_reward: float | None = None  # score of best play, else reward of the best ending found
    passages: Coverage = Coverage(0, 0)
    links: Coverage = Coverage(0, 0)
    never_reached: list[Problem] = field(default_factory=list)
    unused_rules: list[int] = field(default_factory=list)  # [[ending]] tables without an ending
    dead_ends: list[Problem] = field(default_factory=list)
    broken_links: list[Problem] = field(default_factory=list)
    errors: list[Problem] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # parts of the story that were skipped
    notes: list[str] = field(default_factory=list)
    variables: list[Values] = field(default_factory=list)
    uses: dict[str, VariableUse] = field(default_factory=dict)  # by variable
    words: Spread | None = None  # read in random games that reach an ending
    expectations: list[Check] = field(default_factory=list)
    statistics: Statistics | None = None
    states: int = 0  # of (page, all variables)
    states_complete: bool = True  # whether `states` counts all of them
    live_states: int = 0  # of (page, variables that may still matter), if compiled
    merged_states: int = 0  # after merging equivalent states, if compiled

    def __repr__(self) -> str:
        return f"<Findings on {self.name!r}: {len(self.problems)} problems>"

    def as_json(self) -> dict[str, Any]:
        """The findings as plain dictionaries, lists, strings and numbers.

        Problems are not repeated, and endings that are problems are left out.
        """
        data = asdict(self)
        for name in ("dead_ends", "broken_links", "errors"):
            del data[name]
        data["endings"] = [asdict(one) for one in self.endings if not self.is_dead_end(one)]
        return data

    @property
    def has_lines(self) -> bool:
        """Whether lines of the story's file mean something to its author."""
        is_page = self.source.lower().endswith((".html", ".htm", ".json", ".js"))
        return bool(self.source) and not is_page

    @property
    def is_solved(self) -> bool:
        """Whether odds are computed, not estimated."""
        return self.exact or self.best is not None

    @property
    def equal_rewards(self) -> bool:
        """Whether no ending pays more than another, so that there is no best play."""
        return len({ending.reward for ending in self.endings}) <= 1

    @property
    def intended_endings(self) -> int:
        """Number of endings that are not dead ends."""
        return sum(not self.is_dead_end(ending) for ending in self.endings)

    @property
    def failed(self) -> bool:
        """Whether one of the problems is an error."""
        return any(problem.severity == "error" for problem in self.problems)

    def is_dead_end(self, ending: Ending) -> bool:
        """Whether an ending is also listed as a dead end."""
        return ending.rule is None and any(dead.passage == ending.name for dead in self.dead_ends)

    def is_broken_link(self, issue: Problem) -> bool:
        """Whether a page shows the error of a link whose target does not exist."""
        targets = {link.targets[0] for link in self.broken_links if link.targets}
        return issue.passage in targets or any(f'"{target}"' in issue.text for target in targets)

    def follows_error(self, issue: Problem) -> bool:
        """Whether the clicks to a page pass an error."""
        paths = [error.path.actions for error in self.errors if error.path]
        return any(issue.path and issue.path.actions[: len(path)] == path for path in paths)
