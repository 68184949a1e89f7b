"""Checks of any game: it plays only outcomes that it lists, and its pages have no markup."""

import random
import re
from itertools import islice

from textgames.game.contract import ContractError, Enumerable

MAX_OUTCOMES = 10_000  # checked at one step


def check_outcomes(game, *, seed=0, episodes=3, max_steps=100):
    """Raise a `ContractError` if a random episode takes a step that the game does not list."""
    is_enumerable = isinstance(game, Enumerable)
    if not is_enumerable:
        raise ContractError("a compilable game has opening(), outcomes(state, index), look(state)")
    choose = random.Random(seed)
    for episode in range(episodes):
        page = game.reset(seed + episode)
        states = _matching(game, game.opening(), page, first=True)
        for _ in range(max_steps):
            if not states:
                raise ContractError(f"the game does not list the outcome {page.text[:80]!r}")
            if page.ended or len(states) > MAX_OUTCOMES:
                break
            action = page.actions[choose.randrange(len(page.actions))]
            page = game.step(page.actions.index(action))
            successors = set()
            for state in states:
                for index, words in enumerate(game.look(state).actions):
                    if words == action:
                        successors |= _matching(game, game.outcomes(state, index), page)
            states = successors


def _matching(game, outcomes, page, first=False):
    """Return the states among the outcomes that show the page."""
    total = 0.0
    states = set()
    for chance, state in islice(outcomes, MAX_OUTCOMES):
        total += chance
        other = game.look(state)
        same = other.text == page.text and sorted(other.actions) == sorted(page.actions)
        if chance > 0 and same and (first or other.reward == page.reward):
            states.add(state)
    if total > 1 + 1e-9:
        raise ContractError(
            f"the probabilities of the outcomes at {page.text[:80]!r} sum to {total:g}, not 1"
        )
    return states


# Markup that must not reach a player: links, macros, entities, and the tags that stories use.
PAIRED_TAGS = (
    "a|b|button|center|div|em|font|h[1-6]|html|i|li|ol|p|script|small|span|strong|style|sup|table|"
    "t[dr]|u"
)
MARKUP = re.compile(
    rf"<<[A-Za-z$/]|\[\[|<(?:br|hr|img|input)(?:\s[^<>]*)?/?>|"
    rf"<(?P<name>{PAIRED_TAGS})(?:\s[^<>]*)?>|&(?:#\d+|#x[\da-f]+|[a-z]+);",
    re.I,
)


def markup_in(text):
    """Return the first markup in a text; a tag without its closing tag is plain text."""
    lower = text.lower()
    for match in MARKUP.finditer(text):
        if match["name"] is None or f"</{match['name'].lower()}>" in lower:
            return match.group()
    return None


def check_markup(game, episodes=5, max_steps=500):
    """Play some random episodes; no text may hold markup."""
    choose = random.Random(0)
    for seed in range(episodes):
        page = game.reset(seed)
        for _ in range(max_steps):
            for text in (page.text, *page.actions):
                assert markup_in(text) is None, text[:80]
            if page.ended:
                break
            page = game.step(choose.randrange(len(page.actions)))
