"""What a passage's text does with variables: which it reads, which it sets from which, and which it sets before all.

The text is read by patterns, not run; whatever no pattern knows counts as read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
HARLOWE_SET = re.compile(r"\((?:set|put)\s*:\s*", re.I)
SUGARCUBE_SET = re.compile(r"<<set\s+|\]\[(?=[^\[\]]*\]\])")
TARGET = re.compile(r"\s*\$([A-Za-z_]\w*)\s*(to\b|[-+*/%]?=(?![=>])|\+\+|--)(.*)", re.S)
INTO = re.compile(r"(.*)\binto\s+\$([A-Za-z_]\w*)\s*", re.S)
# Macros that are done with once the page stands; any other may run when something is pressed.
AT_ONCE = (
    r"set|put|if|unless|elseif|else-if|else|print|goto|go-to|link-goto|either|random|display|include|silently|nobr|"
    r"unset|switch|case|default|for|break|continue|text-style|text-colou?r|colou?r|font|align|transition|t8n|box|css|"
    r"background|text-rotate|a|array|dm|datamap|ds|dataset|history|visited|num|str|text|round|min|max|script|audio|"
    r"cacheaudio|playlist|stop-track|track"
)
LATER = re.compile(
    rf"\((?!(?:{AT_ONCE})\s*:)[\w-]+\s*:|<<(?!/|=|-|(?:{AT_ONCE})\b)|\]\[|data-setter|\bon\w+\s*=",
    re.I,
)
BLOCK = re.compile(
    r"(?<!\[)\[(?!\[)|<<(?!set\b|print\b|=|-|nobr\b|/nobr|silently\b)|\((?:display|go-?to|redirect)\s*:",
    re.I,
)
QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|(?<!\w)'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`", re.S)
# Values that run when they are used: Harlowe's hooks, macros, lambdas and bound variables, JavaScript's functions.
RUN_LATER = re.compile(
    r"\bmacro\s*:|\b(?:where|via|making|when|each|2?bind)\b|=>|\bfunction\b", re.I
)


@dataclass(frozen=True)
class VariableUses:
    """What one passage does with variables."""

    read: frozenset[str]  # outside of settings
    settings: tuple[
        tuple[str, frozenset[str]], ...
    ]  # a variable that is set, and the others it is worked out from
    overwritten: frozenset[str]  # set before anything else, whatever happens, and from others
    later: bool  # whether something may run when the page stands already
    kept: frozenset[str] = (
        frozenset()
    )  # named in texts, hooks or lambdas that are put into variables, and run anywhere

    def needs(self, wanted: frozenset[str]) -> set[str]:
        """The variables among those wanted that this passage reads, or works one of them out from."""
        sources = (names for target, names in self.settings if target in wanted)
        return set(self.read.union(*sources) & wanted)


def variable_uses(text: str) -> VariableUses:
    """What the text of a passage in Harlowe or SugarCube does with variables."""
    settings: list[tuple[str, frozenset[str]]] = []
    overwritten: set[str] = set()
    mentioned: set[str] = set()  # so far
    kept: set[str] = set()
    rest = []
    done = 0
    straight = _straight(text)
    for start, end, parts in _set_macros(text):
        between = text[done:start]
        rest.append(between)
        mentioned.update(VARIABLE.findall(between))
        for part in parts:
            target, source = _setting(part)
            kept |= named_in_values(source, hooks=text[start] == "(")
            names = frozenset(VARIABLE.findall(source if target else part))
            if target is None:
                rest.append(part)
            elif target not in names | mentioned and end <= straight and not _updates(part):
                overwritten.add(target)
            if target is not None:
                settings.append((target, names - {target}))
            mentioned |= names | ({target} if target else set())
        done = end
    rest.append(text[done:])
    read = frozenset(name for piece in rest for name in VARIABLE.findall(piece))
    return VariableUses(
        read,
        tuple(settings),
        frozenset(overwritten),
        LATER.search(text) is not None,
        frozenset(kept),
    )


def named_in_values(source: str, *, hooks: bool) -> set[str]:
    """The variables in texts and code that are a value, and so may be read wherever that is shown or run.

    `hooks`: square brackets hold text of the story, as in Harlowe; else they are lists.
    """
    if RUN_LATER.search(source) or (hooks and "[" in source):
        return set(VARIABLE.findall(source))
    return {name for quoted in QUOTED.findall(source) for name in VARIABLE.findall(quoted)}


def settings_in(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The text without its plain settings; and of each the variable, and what is done to it, operator and all."""
    rest = []
    done = 0
    found = []
    for start, end, parts in _set_macros(text):
        rest.append(text[done:start])
        for part in parts:
            setting = TARGET.fullmatch(part)
            if setting:
                found.append((setting[1], setting[2] + setting[3]))
            else:
                rest.append(part)
        done = end
    return "\n".join([*rest, text[done:]]), found


def _straight(text: str) -> int:
    """How far the text runs before its first hook or block, which may be left out."""
    found = BLOCK.search(text)
    return found.start() if found else len(text)


def _updates(part: str) -> bool:
    """Whether a setting works the new value out from the old: `it`, +=, ++."""
    found = TARGET.fullmatch(part)
    return bool(re.search(r"\bit\b", part)) or (found is not None and found[2] not in ("to", "="))


def _setting(part: str) -> tuple[str | None, str]:
    """The variable that a part of a set macro sets, None where it is not that plain; and what it is set to."""
    if found := TARGET.fullmatch(part):
        return found[1], found[3]
    found = INTO.fullmatch(part)
    return (found[2], found[1]) if found else (None, part)


def _set_macros(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Where each set macro begins and ends, and its parts, one for each variable."""
    done = 0
    openings = sorted(
        [*HARLOWE_SET.finditer(text), *SUGARCUBE_SET.finditer(text)],
        key=lambda found: found.start(),
    )
    for opening in openings:
        if opening.start() < done:
            continue
        closing = (
            ")" if opening[0].startswith("(") else ">>" if opening[0].startswith("<<") else "]]"
        )
        end, parts = _parts(text, opening.end(), closing)
        if end > opening.end():
            done = end
            yield opening.start(), end, parts


def _parts(text: str, start: int, closing: str) -> tuple[int, list[str]]:
    """The end of a macro and its parts, cut at commas and semicolons outside of brackets and quotes."""
    parts: list[str] = []
    begun = start
    place = start
    depth = 0
    quote = ""
    while place < len(text):
        letter = text[place]
        if quote:
            place += letter == "\\"
            quote = "" if letter == quote else quote
        elif depth == 0 and text.startswith(closing, place):
            return place + len(closing), [*parts, text[begun:place]]
        elif letter in "\"'`":
            quote = (
                "" if letter == "'" and place and text[place - 1].isalnum() else letter
            )  # Harlowe's possessive
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter in ",;" and depth == 0:
            parts.append(text[begun:place])
            begun = place + 1
        place += 1
    return start, []
