"""What a person types instead of a number: an action's words, or their beginnings; and how long menus are told."""

from __future__ import annotations

from collections.abc import Sequence

LONG_MENU = 20  # actions; longer menus are not numbered on every page
SHORT = {"n": "north", "s": "south", "e": "east", "w": "west", "d": "down"}  # u is undo
WAYS = (*SHORT.values(), "up")


def meant(answer: str, actions: Sequence[str]) -> list[int]:
    """The places of the actions that an answer can mean: that very one (a way alone is gone), those whose words begin
    with what was typed, else those that hold it."""
    typed = answer.lower().split()
    if not typed:
        return []
    said = [action.lower().split() for action in actions]
    way = SHORT.get(typed[0], typed[0])
    for exact in (typed, ["go", way] if way in WAYS and len(typed) == 1 else typed):
        if exact in said:
            return [said.index(exact)]
    begun = [place for place, words in enumerate(said) if _begins(words, typed)]
    return begun or [place for place, action in enumerate(actions) if answer.lower() in action.lower()]


def told_menu(actions: Sequence[str]) -> list[str]:
    """A long menu in a few lines: verbs and objects, where it has every verb with every object; else all of it."""
    pairs = [action.partition(" ")[::2] for action in actions]
    verbs, objects = (sorted(dict.fromkeys(part)) for part in zip(*pairs, strict=True))
    if len(verbs) * len(objects) == len(set(pairs)) and all(objects):
        return [f"verbs: {', '.join(verbs)}", f"objects: {', '.join(objects)}"]
    return [", ".join(sorted(actions))]


def _begins(words: Sequence[str], typed: Sequence[str]) -> bool:
    """Whether each word begins with what was typed for it."""
    return len(words) >= len(typed) and all(word.startswith(start) for word, start in zip(words, typed, strict=False))
