"""Regular expressions of a TOML (`regex`, `drop`, `restart`), in time linear in the text.

Python's `re` needs exponential time for some patterns, such as `(a+)+$`. It searches patterns that
are safe by a conservative check; RE2 (`google-re2`) searches the others.
"""

import importlib
import re
import warnings

ESCAPE = re.compile(r"\\.", re.S)
CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.S)
BACK_REFERENCE = re.compile(r"\\\d|\(\?P=")
GROUP_OPENING = re.compile(r"\(\?(?:P?<\w+>|<?[=!]|[\w-]*:)?")
REPEATED_GROUP = re.compile(r"\)[*+{]")
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
    """A pattern that is searched in linear time, or an `re.error` if that is impossible."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self.arguments = (source, flags)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of "[[", a bracket in a set
            self.compiled = re.compile(source, flags)
        self._by_re2: re.Pattern[str] | None = None
        if self.compiled.flags & re.VERBOSE or not _is_safe(source):
            self._by_re2 = _compile_by_re2(source, self.compiled.flags)

    def __repr__(self) -> str:
        return repr(self.compiled)  # part of the fingerprints of stories

    def __reduce__(self) -> "tuple[type[Pattern], tuple[str, int]]":
        return Pattern, self.arguments  # RE2's objects cannot be copied

    def search(self, text: str) -> bool:
        """Whether the pattern occurs in the text."""
        if self._by_re2 is None:
            return self.compiled.search(text) is not None
        valid = text.encode("utf-8", "replace").decode()  # without lone surrogates
        return self._by_re2.search(valid) is not None


def _is_safe(source: str, most_repeats: int = 2, most_choices: int = 10) -> bool:
    if BACK_REFERENCE.search(source):
        return False
    signs = GROUP_OPENING.sub("(", ESCAPE.sub("x", CLASS.sub("x", source)))
    repeats = sum(map(signs.count, "*+{"))
    choices = sum(map(signs.count, "|?"))
    is_repeated = REPEATED_GROUP.search(signs) is not None
    return not is_repeated and repeats <= most_repeats and choices <= most_choices


def _compile_by_re2(source: str, flags: int) -> re.Pattern[str]:
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
            "it could take forever; leave out back-references and look-around, "
            "large numbers in braces, or its nested repeats"
        ) from error
    return pattern


def _translate(source: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        text = match.group()
        if text.startswith("["):
            return ESCAPE.sub(lambda escape: INSIDE.get(escape.group(), escape.group()), text)
        return OUTSIDE.get(text, text)

    return re.sub(f"{ESCAPE.pattern}|{CLASS.pattern}", replacement, source, flags=re.S)
