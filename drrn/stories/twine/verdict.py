"""What a page comes to under the rules: text and actions, whether it ends the game, and what arriving there pays."""

from __future__ import annotations

from dataclasses import dataclass

from drrn.stories.twine.beginnings import Beginnings
from drrn.stories.twine.layout import lay_out
from drrn.stories.twine.page import Link, Page
from drrn.stories.twine.rules import Rules

BEGINS_AGAIN = "it begins the story again, which is no action"
ENDS_THERE = "the story ends there by its rules"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A page as the player gets it; the game goes on while there are links."""

    text: str
    links: tuple[tuple[str, Link], ...]  # the words of each action, and what it does
    hypertext: bool
    rule: int | None  # the ending rule that matched
    reward: float


def verdict(rules: Rules, beginnings: Beginnings, page: Page, *, opening: bool) -> Verdict:
    """Apply the rules to a page; the opening comes before any step, and pays nothing on the way."""
    text, laid_out, hypertext = lay_out(page.pieces)
    links = [shown for shown in laid_out if rules.is_action(shown[0])]
    if rules.restart is None and not opening:
        links = [shown for shown in links if not beginnings.begins_again(page, text, *shown)]
    kept = {id(shown) for shown in links}  # a page may hold thousands
    for shown in laid_out:
        if id(shown) not in kept:
            beginnings.note(page, *shown, BEGINS_AGAIN)
    if links and rules.stops(page, text):
        for label, link in links:
            beginnings.note(page, label, link, ENDS_THERE)
        links = []
    rule = None if links else rules.ending(page, text)
    if links:
        reward = 0.0 if opening else rules.step_reward
    else:
        reward = rules.default_reward if rule is None else rules.endings[rule].reward
    if not opening:
        reward += rules.event_reward(page, text)
    return Verdict(text, tuple(links), hypertext, rule, reward)
