"""The survey of a game: the paper's table of statistics, its endings, and what an author should mend."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from drrn.compiled.game import Compiled
from drrn.compiled.graph import EndingId, Face
from drrn.game.contract import Game
from drrn.game.optional import title_of
from drrn.stories.authored import EXPLORE_LIMIT as LIMIT
from drrn.stories.authored import Explorable, explorable, paraphrases_of
from drrn.stories.playtest.coverage import rules_without_effect
from drrn.stories.playtest.playtest import EndingOdds, PlayTest, play_test
from drrn.stories.playtest.sampled import SampledValue
from drrn.stories.playtest.sampled_games import SampledPlay, sampled_play
from drrn.stories.twine.rules import DEFAULT_SET, Distance, distance
from drrn.text import words

# Between two sentences: quotes close with the first; "Dr. Who" and "“Why?” he asks" are one.
BREAK = re.compile(r"(?<!\b(?:Dr|Mr|Ms|St))(?<!\bMrs)(?<!\bProf)[.!?…][\"”’')]*\s+(?=[^\sa-z])")


@dataclass(frozen=True)
class Ending:
    """An ending that can be reached, and what it pays."""

    passage: str  # or the name of the ending, in a game without passages
    reward: float
    rule: (
        int | None
    )  # number of its [[ending]] in the TOML, from 1; None: no rule, so it pays the default
    last_words: str
    odds: EndingOdds | None = None  # where the game was compiled
    sampled: SampledValue | None = (
        None  # else, where it was played: the share of random games that end so
    )


@dataclass(frozen=True)
class Survey:
    """A survey: counts of what was reached; where `complete` is false they are lower bounds."""

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
    rules_never_reached: list[int]  # this and what follows: of games that were read from a story
    unreachable: list[str]  # passages
    problems: list[str]  # what cannot be played: unsupported macros, broken links
    notes: list[str]
    paraphrases: Distance | None  # of the default set
    paraphrase_sets: dict[str, Distance]  # of every set, by its name
    play_test: PlayTest | None = None
    sampled_play: SampledPlay | None = None  # of what could not be compiled


def sampled_survey(
    found: Survey, game: Game, progress: Callable[[int], None] | None = None
) -> Survey:
    """The survey of what could not be compiled, with random play sampled."""
    play = sampled_play(game, progress=progress)
    endings: dict[
        tuple[str, int | None], Ending
    ] = {}  # one for each share, though its last words may differ
    played = {(e.passage, e.rule): e for e in endings_played(game, play)}
    never = SampledValue(0.0, 0.0)
    for ending in found.endings:
        key = (ending.passage, ending.rule)
        endings.setdefault(
            key, replace(ending, sampled=played[key].sampled if key in played else never)
        )
    endings = {**played, **endings}  # random play may go further than exploring did
    best_first = sorted(
        endings.values(), key=lambda ending: (-ending.reward, ending.rule or 0, ending.passage)
    )
    reached = {rule for _, rule in endings}
    never_reached = [rule for rule in found.rules_never_reached if rule not in reached]
    told = replace(play, endings={}, texts={})
    return replace(found, endings=best_first, rules_never_reached=never_reached, sampled_play=told)


def endings_played(game: Game, play: SampledPlay) -> list[Ending]:
    """The endings that random games came to."""
    found = []
    for key, share in play.endings.items():
        rule = None if key.rule is None else key.rule + 1
        found.append(
            Ending(
                key.name, _rule_pays(game, rule), rule, last_words(play.texts[key]), sampled=share
            )
        )
    return found


def _rule_pays(game: Game, rule: int | None) -> float:
    """What an ending pays by the number of its rule, from 1."""
    if not isinstance(game, Explorable):
        return 0.0
    return game.rules.default_reward if rule is None else game.rules.endings[rule - 1].reward


def survey(game: Game, limit: int = LIMIT, progress: Callable[[int], None] | None = None) -> Survey:
    """Explore a story and count, up to so many states."""
    told = explorable(game, "a survey of what cannot be compiled")
    found = told.explore(limit, progress)
    return _survey(
        told,
        found.faces,
        found.shown,
        found.stochastic,
        states=found.states,
        complete=found.complete,
    )


def compiled_survey(game: Game, compiled: Compiled) -> Survey:
    """The survey of a compiled game; it is complete."""
    shown = (
        set(game.story.pages) - set(compiled.unreached) if isinstance(game, Explorable) else set()
    )
    stochastic = bool((np.diff(compiled.row_first) > 1).any())
    return _survey(
        game, _pages(compiled), shown, stochastic, states=compiled.raw_states, complete=True
    )


def full_survey(game: Game, compiled: Compiled) -> Survey:
    """The survey of a compiled game with its play-test."""
    tested = play_test(compiled)
    found = compiled_survey(game, compiled)
    odds = {
        _ending_key(place): tested.endings[number] for number, place in enumerate(compiled.endings)
    }
    endings: dict[
        Hashable, Ending
    ] = {}  # those without a rule are known by their passage: their odds are
    for key, e in _endings(game, _pages(compiled)):
        endings.setdefault(key, replace(e, odds=odds[key]))
    return replace(found, endings=list(endings.values()), play_test=tested)


def _survey(
    game: Game,
    pages: Sequence[Face],
    shown: set[str],
    stochastic: bool,
    *,
    states: int,
    complete: bool,
) -> Survey:
    texts = {page.text for page in pages}
    actions = {action for page in pages for action in page.actions}
    story = game if isinstance(game, Explorable) else None
    sets = _distances(story, actions) if story else {}
    return Survey(
        name=game.name,
        title=title_of(game),
        kind=str(getattr(game, "kind", None) or _kind(pages)),
        state_vocabulary=len({word for text in texts for word in words(text)}),
        action_vocabulary=len({word for action in actions for word in words(action)}),
        words_per_description=sum(len(words(text)) for text in texts) / len(texts),
        most_actions=max(len(page.actions) for page in pages),
        transitions="stochastic" if stochastic else "deterministic",
        pages=len(texts),
        actions=len(actions),
        passages=len(story.story.pages) if story else 0,
        states=states,
        complete=complete,
        endings=[ending for _, ending in _endings(game, pages)],
        rules_never_reached=_rules_never_reached(story, pages) if story else [],
        unreachable=[name for name in story.story.pages if name not in shown] if story else [],
        problems=[str(problem) for problem in story.problems] if story else [],
        notes=[*story.story.notes, *_unanswered(story), *rules_without_effect(story)]
        if story
        else [],
        paraphrases=sets.get(DEFAULT_SET),
        paraphrase_sets=sets,
    )


def _distances(story: Explorable, actions: set[str]) -> dict[str, Distance]:
    """How far each set of paraphrases stands from the originals; a file without pairs has no distance."""
    sets = {name: paraphrases_of(story, name) for name in story.rules.paraphrases}
    return {name: distance(dict(said), actions) for name, said in sets.items() if said}


def last_words(text: str) -> str:
    """The last sentence, to know a page by, and the one before where it is short; "THE END" tells nothing."""
    lines = text.splitlines()
    while lines and " ".join(words(lines[-1])) in ("", "the end", "end", "finis", "fin"):
        lines.pop()
    paragraph = "\n".join(lines).split("\n\n")[-1] or text.strip()
    starts = [0, *(match.end() for match in BREAK.finditer(paragraph))]
    short = len(words(paragraph[starts[-1] :])) < 4
    return paragraph[starts[-2:][0] if short else starts[-1] :]


def _pages(compiled: Compiled) -> list[Face]:
    """One for each page and ending of the compiled game."""
    numbers = np.column_stack([compiled.page, compiled.ending_at])
    found = []
    for state in np.sort(np.unique(numbers, axis=0, return_index=True)[1]):
        page, ending = numbers[state]
        actions = compiled.page_action[compiled.page_first[page] : compiled.page_first[page + 1]]
        found.append(
            Face(
                text=compiled.texts[compiled.page_text[page]],
                actions=tuple(compiled.actions[action] for action in actions),
                reward=float(compiled.reward[state]),
                passage=compiled.passages[compiled.passage[state]],
                ending=compiled.endings[ending] if ending >= 0 else None,
                hypertext=bool(compiled.page_hypertext[page]),
            )
        )
    return found


def _kind(pages: Sequence[Face]) -> str:
    choice = any(page.actions and not page.hypertext for page in pages)
    hypertext = any(page.hypertext for page in pages)
    return "choice & hypertext" if choice and hypertext else "hypertext" if hypertext else "choice"


def _endings(game: Game, pages: Sequence[Face]) -> list[tuple[Hashable, Ending]]:
    """One for each rule, and one for each page that ended without a rule, under the ending's key; best first."""
    found: dict[Hashable, tuple[Hashable, Ending]] = {}
    for page in pages:
        if page.ending is None:
            continue
        rule = page.ending.rule
        key = _ending_key(page.ending)
        sentence = last_words(page.text)
        ending = Ending(
            page.ending.passage,
            _pays(game, page, rule),
            None if rule is None else rule + 1,
            sentence,
        )
        found.setdefault((key, sentence if rule is None else ""), (key, ending))
    return sorted(
        found.values(), key=lambda pair: (-pair[1].reward, pair[1].rule or 0, pair[1].passage)
    )


def _pays(game: Game, page: Face, rule: int | None) -> float:
    """What an ending itself pays: in a story as its rule says, without what events on the last page add to it."""
    if not isinstance(game, Explorable):
        return page.reward
    return game.rules.default_reward if rule is None else game.rules.endings[rule].reward


def _ending_key(place: EndingId) -> Hashable:
    return (place.passage, place.text, place.reward) if place.rule is None else place.rule


def _rules_never_reached(story: Explorable, pages: Sequence[Face]) -> list[int]:
    reached = {page.ending.rule for page in pages if page.ending is not None}
    return [number + 1 for number in range(len(story.rules.endings)) if number not in reached]


def _unanswered(story: Explorable) -> list[str]:
    names = sorted(set(story.asked) - story.rules.inputs.keys())
    return [
        f'the story asks for ${name}: answer it under [inputs] with {name} = "…"' for name in names
    ]
