"""What a story holds: the paper's table of statistics, its endings, and what an author should mend."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from drrn.authoring.playtest import EndingOdds, PlayTest, play_test
from drrn.games import Compiled, StoryGame
from drrn.games.stories.explore import LIMIT, explore
from drrn.games.stories.paraphrases import Distance, distance, read_paraphrases
from drrn.text import words

# Between two sentences: quotes close with the first; "Dr. Who" and "“Why?” he asks" are one.
BREAK = re.compile(r"(?<!\b(?:Dr|Mr|Ms|St))(?<!\bMrs)(?<!\bProf)[.!?…][\"”’')]*\s+(?=[^\sa-z])")


@dataclass(frozen=True)
class Ending:
    passage: str
    reward: float
    rule: int | None  # number of its [[ending]] in the TOML, from 1; None: no rule, so it pays the default
    last_words: str
    odds: EndingOdds | None = None  # where the game was compiled


class Shown(Protocol):
    """What a survey must know of each page that differs to a player."""

    @property
    def passage(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def actions(self) -> tuple[str, ...]: ...
    @property
    def rule(self) -> int | None: ...
    @property
    def hypertext(self) -> bool: ...


@dataclass(frozen=True)
class _Page:
    passage: str
    text: str
    actions: tuple[str, ...]
    rule: int | None
    hypertext: bool


@dataclass(frozen=True)
class Survey:
    """Counts are of what was reached; where `complete` is false they are lower bounds."""

    name: str
    title: str
    kind: str
    state_vocabulary: int
    action_vocabulary: int
    words_per_description: float
    most_actions: int
    transitions: str
    pages: int  # distinct texts
    actions: int  # distinct texts
    passages: int
    states: int  # of (page, all variables)
    complete: bool  # every page was seen
    endings: list[Ending]
    rules_never_reached: list[int]
    unreachable: list[str]  # passages
    problems: list[str]  # what cannot be played: unsupported macros, broken links
    notes: list[str]
    paraphrases: Distance | None
    play_test: PlayTest | None = None


def survey(game: StoryGame, limit: int = LIMIT, progress: Callable[[int], None] | None = None) -> Survey:
    """Explore the story and count."""
    found = explore(game, limit, progress)
    return _survey(game, found.scenes, found.shown, found.stochastic, states=found.states, complete=found.complete)


def compiled_survey(game: StoryGame, compiled: Compiled) -> Survey:
    """The survey of a compiled game: complete."""
    shown = set(game.script.story.pages) - set(compiled.unreached)
    stochastic = bool((np.diff(compiled.row_first) > 1).any())
    return _survey(game, _pages(compiled), shown, stochastic, states=compiled.raw_states, complete=True)


def full_survey(game: StoryGame, compiled: Compiled) -> Survey:
    """The same, and play-tested."""
    tested = play_test(compiled)
    found = compiled_survey(game, compiled)
    odds = {
        _ending_key(place.rule, place.passage): tested.endings[number] for number, place in enumerate(compiled.endings)
    }
    endings: dict[Hashable, Ending] = {}  # those without a rule are known by their passage: their odds are
    for e in found.endings:
        key = _ending_key(None if e.rule is None else e.rule - 1, e.passage)
        endings.setdefault(key, replace(e, odds=odds[key]))
    return replace(found, endings=list(endings.values()), play_test=tested)


def _survey(
    game: StoryGame, pages: Sequence[Shown], shown: set[str], stochastic: bool, *, states: int, complete: bool
) -> Survey:
    texts = {page.text for page in pages}
    actions = {action for page in pages for action in page.actions}
    reached = {page.rule for page in pages if not page.actions}
    paraphrases = read_paraphrases(game.rules.paraphrases) if game.rules.paraphrases else None
    return Survey(
        name=game.name,
        title=game.title,
        kind=_kind(pages),
        state_vocabulary=len({word for text in texts for word in words(text)}),
        action_vocabulary=len({word for action in actions for word in words(action)}),
        words_per_description=sum(len(words(text)) for text in texts) / len(texts),
        most_actions=max(len(page.actions) for page in pages),
        transitions="stochastic" if stochastic else "deterministic",
        pages=len(texts),
        actions=len(actions),
        passages=len(game.script.story.pages),
        states=states,
        complete=complete,
        endings=_endings(game, pages),
        rules_never_reached=[i + 1 for i in range(len(game.rules.endings)) if i not in reached],
        unreachable=[name for name in game.script.story.pages if name not in shown],
        problems=[str(problem) for problem in game.script.problems],
        notes=list(game.script.story.notes) + _asked(game),
        paraphrases=distance(paraphrases, actions) if paraphrases else None,
    )


def last_words(text: str) -> str:
    """The last sentence, to know a page by, and the one before where it is short; "THE END" tells nothing."""
    lines = text.splitlines()
    while lines and " ".join(words(lines[-1])) in ("", "the end", "end", "finis", "fin"):
        lines.pop()
    paragraph = "\n".join(lines).split("\n\n")[-1] or text.strip()
    starts = [0, *(match.end() for match in BREAK.finditer(paragraph))]
    short = len(words(paragraph[starts[-1] :])) < 4
    return paragraph[starts[-2:][0] if short else starts[-1] :]


def _pages(compiled: Compiled) -> list[_Page]:
    """One for each page and ending of the compiled game."""
    numbers = np.column_stack([compiled.page, compiled.ending_at])
    found = []
    for state in np.sort(np.unique(numbers, axis=0, return_index=True)[1]):
        page, ending = numbers[state]
        actions = compiled.page_action[compiled.page_first[page] : compiled.page_first[page + 1]]
        found.append(
            _Page(
                passage=compiled.passages[compiled.passage[state]],
                text=compiled.texts[compiled.page_text[page]],
                actions=tuple(compiled.actions[action] for action in actions),
                rule=compiled.endings[ending].rule if ending >= 0 else None,
                hypertext=bool(compiled.page_hypertext[page]),
            )
        )
    return found


def _kind(pages: Sequence[Shown]) -> str:
    choice = any(page.actions and not page.hypertext for page in pages)
    hypertext = any(page.hypertext for page in pages)
    return "choice & hypertext" if choice and hypertext else "hypertext" if hypertext else "choice"


def _endings(game: StoryGame, pages: Sequence[Shown]) -> list[Ending]:
    """One for each rule, and one for each page that ended without a rule; best first."""
    found: dict[Hashable, Ending] = {}
    for page in pages:
        if page.actions:
            continue
        rule = game.rules.endings[page.rule] if page.rule is not None else None
        passage = (rule.condition.passage if rule else None) or page.passage
        reward = rule.reward if rule else game.rules.default_reward
        number = page.rule + 1 if page.rule is not None else None
        sentence = last_words(page.text)
        key = (_ending_key(page.rule, passage), sentence if rule is None else "")
        found.setdefault(key, Ending(passage, reward, number, sentence))
    return sorted(found.values(), key=lambda ending: (-ending.reward, ending.rule or 0, ending.passage))


def _ending_key(rule: int | None, passage: str) -> Hashable:
    return passage if rule is None else rule


def _asked(game: StoryGame) -> list[str]:
    unanswered = sorted(game.script.facts.asked - game.rules.inputs.keys())
    return [f'the story asks for ${name}: answer it under [inputs] with {name} = "…"' for name in unanswered]
