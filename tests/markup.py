"""Finds markup in the pages of a game."""

import random
import re

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
