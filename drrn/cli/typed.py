"""What a person types instead of a number: an action's words, or their beginnings; and how long menus are told."""

from __future__ import annotations

from collections.abc import Sequence

from drrn.writing import words

LONG_MENU = 20  # actions; longer menus are not numbered on every page
SHORT = {"n": "north", "s": "south", "e": "east", "w": "west", "d": "down"}  # u is undo
WAYS = (*SHORT.values(), "up")
ARTICLES = {"a", "an", "the"}
SAME = {
    "get": "take",
    "walk": "go",
}  # verbs of other parser games, where a game has no such verb itself


def meant(answer: str, actions: Sequence[str]) -> list[int]:
    """The places of the actions that an answer can mean: that very one (a way alone is gone), those whose words begin
    with what was typed, else those that have such words. Articles and punctuation do not count."""
    for place, action in enumerate(actions):
        if action.lower().split() == answer.lower().split():
            return [place]
    said = [_told(action) for action in actions]
    typed = _told(answer)
    if not typed:
        return []
    if not any(_begins(known, typed[:1]) for known in said):
        typed = [SAME.get(typed[0], typed[0]), *typed[1:]]
    way = SHORT.get(typed[-1], typed[-1])
    for exact in (typed, ["go", way] if way in WAYS and typed[:-1] in ([], ["go"]) else typed):
        if exact in said:
            return [place for place, known in enumerate(said) if known == exact]
    begun = [place for place, known in enumerate(said) if _begins(known, typed)]
    return begun or [
        place for place, known in enumerate(said) if all(_holds(known, start) for start in typed)
    ]


def told_menu(actions: Sequence[str]) -> list[str]:
    """A long menu in a few lines: verbs and objects, where it has every verb with every object; else all of it."""
    pairs = [action.partition(" ")[::2] for action in actions]
    verbs, objects = (sorted(dict.fromkeys(part)) for part in zip(*pairs, strict=True))
    if len(verbs) * len(objects) == len(set(pairs)) and all(objects):
        return [f"verbs: {', '.join(verbs)}", f"objects: {', '.join(objects)}"]
    return [", ".join(sorted(actions))]


def _told(text: str) -> list[str]:
    """Its words, without articles; of a text that has no others, what stands between its spaces."""
    return [word for word in words(text) if word not in ARTICLES] or text.lower().split()


def _holds(known: Sequence[str], start: str) -> bool:
    return any(word.startswith(start) for word in known)


def _begins(known: Sequence[str], typed: Sequence[str]) -> bool:
    """Whether each word begins with what was typed for it."""
    return len(known) >= len(typed) and all(
        word.startswith(start) for word, start in zip(known, typed, strict=False)
    )
