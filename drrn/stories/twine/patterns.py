"""Regular expressions of a TOML (`regex`, `drop`, `restart`), in time linear in the text.

Python's `re` needs exponential time for some patterns, such as `(a+)+$`. It searches patterns that
are safe by a conservative check; RE2 (`google-re2`) searches the others. Without RE2 they are
refused.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from dataclasses import dataclass

# Limits of a pattern that `re` may search:
MOST_REPEATS = 2  # open-ended repeats
MOST_TIMES = 20  # a repeat up to a larger number counts as open-ended
MOST_PATHS = 1_000  # combinations of alternatives
TOKEN = re.compile(
    r"""(?P<escape>\\.)
    | (?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])
    | (?P<open>\((?:\?[:=!]|\?<[=!]|\?P?<\w+>|\?[\w-]*:)?)
    | (?P<close>\))
    | (?P<repeat>[*+?]|\{(?P<least>\d*)(?P<comma>,?)(?P<most>\d*)\})[?+]?
    | (?P<bar>\|)
    | (?P<other>.)""",
    re.X | re.S,
)
GLOBAL_FLAGS = re.compile(r"^\(\?[a-zA-Z]+\)")
WORD = r"\p{L}\p{N}_"
SPACE = r"\s\v\x1c-\x1f\x85\p{Z}"
# Python's classes are Unicode, RE2's are ASCII: outside brackets, and inside them.
OUTSIDE = {
    r"\w": f"[{WORD}]",
    r"\W": f"[^{WORD}]",
    r"\d": r"\p{Nd}",
    r"\D": r"\P{Nd}",
    r"\s": f"[{SPACE}]",
    r"\S": f"[^{SPACE}]",
    r"\Z": r"\z",
}
INSIDE = {r"\w": WORD, r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\s": SPACE}


class Pattern:
    """A pattern that is searched in linear time; raises `re.error` if that is impossible."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self.arguments = (source, flags)
        self.compiled = re.compile(source, flags)
        self._by_re2: re.Pattern[str] | None = None
        if self.compiled.flags & re.VERBOSE or not _is_safe(source):
            self._by_re2 = _compile_by_re2(source, self.compiled.flags)

    def __repr__(self) -> str:
        return repr(self.compiled)  # part of the fingerprints of stories

    def __reduce__(self) -> tuple[type[Pattern], tuple[str, int]]:
        return Pattern, self.arguments  # RE2's objects cannot be copied

    def search(self, text: str) -> bool:
        """Return whether the pattern occurs in the text."""
        if self._by_re2 is None:
            return self.compiled.search(text) is not None
        valid = text.encode("utf-8", "replace").decode()  # without lone surrogates
        return self._by_re2.search(valid) is not None


@dataclass
class _Group:
    """A group of a pattern during the check."""

    branches: int = 1
    has_choice: bool = False  # it contains a repeat or an alternative


def _is_safe(source: str) -> bool:
    """Return whether no repeat contains a repeat or an alternative, and backtracking is limited."""
    groups = [_Group()]
    closed = _Group()  # the group that ends before this token
    open_ended = 0
    paths = 1
    for token in TOKEN.finditer(source):
        kind = token.lastgroup
        if kind == "open":
            groups.append(_Group())
        elif kind == "close" and len(groups) > 1:
            closed = groups.pop()
            paths *= closed.branches
            groups[-1].has_choice |= closed.has_choice
            continue
        elif kind == "bar":
            groups[-1].branches += 1
            groups[-1].has_choice = True
        elif kind == "repeat":
            if closed.has_choice and token["repeat"] != "?":
                return False
            groups[-1].has_choice = True
            least = int(token["least"] or 0)
            most = int(token["most"] or (0 if token["comma"] else least) or 1)
            is_open = token["repeat"] in ("*", "+") or (token["comma"] and not token["most"])
            open_ended += bool(is_open) or most > MOST_TIMES
            paths *= max(1, min(most, MOST_TIMES) - least + 1) if not is_open else 1
        elif kind == "escape" and token.group()[1].isdecimal():  # a back-reference
            open_ended += 1
        closed = _Group()
    return open_ended <= MOST_REPEATS and paths * groups[0].branches <= MOST_PATHS


def _compile_by_re2(source: str, flags: int) -> re.Pattern[str]:
    if importlib.util.find_spec("re2") is None:
        raise re.error(
            "its repeats are nested and could take forever: simplify them, "
            "or pip install 'drrn[twine]'"
        )
    re2 = importlib.import_module("re2")
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not flags & re.IGNORECASE
    letters = {re.MULTILINE: "m", re.DOTALL: "s"}
    prefix = "".join(letter for flag, letter in letters.items() if flags & flag)
    body = GLOBAL_FLAGS.sub("", source)
    try:
        translated = (f"(?{prefix})" if prefix else "") + _translate(body)
        pattern: re.Pattern[str] = re2.compile(translated, options)
    except re2.error as error:
        raise re.error(
            "it could take forever: leave out back-references and look-around, "
            "large numbers in braces, or its nested repeats"
        ) from error
    return pattern


def _translate(source: str) -> str:
    """Replace Python's Unicode classes by their notation in RE2."""
    parts = []
    for token in TOKEN.finditer(source):
        text = token.group()
        if token.lastgroup == "escape":
            text = OUTSIDE.get(text, text)
        elif token.lastgroup == "class":
            text = re.sub(r"\\.", lambda escape: INSIDE.get(escape.group(), escape.group()), text)
        parts.append(text)
    return "".join(parts)
