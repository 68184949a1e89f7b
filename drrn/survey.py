"""What a story holds: the paper's table of statistics, its endings, and what an author should mend."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from drrn.games import StoryGame
from drrn.games.explore import LIMIT, explore
from drrn.games.paraphrases import Distance, distance, read_paraphrases
from drrn.games.teller import Scene
from drrn.text import words


@dataclass(frozen=True)
class Ending:
    passage: str
    reward: float
    rule: int | None  # number of its [[ending]] in the TOML, from 1; None: no rule, so it pays the default
    last_words: str


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
    states: int
    complete: bool
    endings: list[Ending]
    rules_never_reached: list[int]
    unreachable: list[str]  # passages
    problems: list[str]  # what cannot be played: unsupported macros, broken links
    notes: list[str]
    paraphrases: Distance | None


def survey(game: StoryGame, limit: int = LIMIT, progress: Callable[[int], None] | None = None) -> Survey:
    """Explore the story and count."""
    found = explore(game, limit, progress)
    texts = {scene.text for scene in found.scenes}
    actions = {action for scene in found.scenes for action in scene.actions}
    reached = {scene.rule for scene in found.scenes if scene.ended}
    paraphrases = read_paraphrases(game.rules.paraphrases) if game.rules.paraphrases else None
    return Survey(
        name=game.name,
        title=game.title,
        kind=_kind(found.scenes),
        state_vocabulary=len({word for text in texts for word in words(text)}),
        action_vocabulary=len({word for action in actions for word in words(action)}),
        words_per_description=sum(len(words(text)) for text in texts) / len(texts),
        most_actions=max(len(scene.actions) for scene in found.scenes),
        transitions="stochastic" if found.stochastic else "deterministic",
        pages=len(texts),
        actions=len(actions),
        passages=len(game.script.story.pages),
        states=found.states,
        complete=found.complete,
        endings=_endings(game, found.scenes),
        rules_never_reached=[i + 1 for i in range(len(game.rules.endings)) if i not in reached],
        unreachable=[name for name in game.script.story.pages if name not in found.shown],
        problems=[str(problem) for problem in game.script.problems],
        notes=list(game.script.story.notes) + _asked(game),
        paraphrases=distance(paraphrases, actions) if paraphrases else None,
    )


def last_sentence(text: str) -> str:
    """The last sentence of some length, to know a page by ("THE END" tells nothing)."""
    sentences = [s for s in re.split(r"(?<=[.!?])[\"”’)]*\s+|\n+", text) if len(words(s)) > 3]
    return sentences[-1].strip() if sentences else " ".join(text.split())


def _kind(scenes: list[Scene]) -> str:
    choice = any(scene.actions and not scene.hypertext for scene in scenes)
    hypertext = any(scene.hypertext for scene in scenes)
    return "choice & hypertext" if choice and hypertext else "hypertext" if hypertext else "choice"


def _endings(game: StoryGame, scenes: list[Scene]) -> list[Ending]:
    """One for each rule, and one for each page that ended without a rule; best first."""
    found: dict[tuple[int | None, str], Ending] = {}
    for scene in scenes:
        if not scene.ended:
            continue
        rule = game.rules.endings[scene.rule] if scene.rule is not None else None
        passage = (rule.condition.passage if rule else None) or scene.passage
        reward = rule.reward if rule else game.rules.default_reward
        number = scene.rule + 1 if scene.rule is not None else None
        sentence = last_sentence(scene.text)
        key = (number, "" if rule else f"{passage}\0{sentence}")
        found.setdefault(key, Ending(passage, reward, number, sentence))
    return sorted(found.values(), key=lambda ending: (-ending.reward, ending.rule or 0, ending.passage))


def _asked(game: StoryGame) -> list[str]:
    unanswered = sorted(game.script.facts.asked - game.rules.inputs.keys())
    return [f'the story asks for ${name}: answer it under [inputs] with {name} = "…"' for name in unanswered]
