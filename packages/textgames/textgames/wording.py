"""Words of a text, and characters that must not reach a terminal.

A word is a lower-cased run of letters and digits, each with its combining marks (such as vowel
signs of Hindi); an apostrophe inside a word belongs to it. Scripts without spaces between words are
split into characters: Chinese, Japanese, Thai, Lao, Khmer and Burmese. A letter and its accent are
one character however they are typed (NFC).
"""

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# Latin, Greek, Cyrillic and Armenian letters and common signs: a text of these has no marks
PLAIN = re.compile(
    "[\x00-\u02ff\u0370-\u0482\u048a-\u0590\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2100-\u2bff]*"
)
UNSPACED = (
    "\u0e01-\u0e4f\u0e81-\u0ecf"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17d3"  # Burmese, Khmer
    "\u3005\u3007\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Hiragana, Katakana, repetition signs
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
LENGTHENED = "\u30fc\uff70"  # the sign of a long vowel, which belongs to its syllable
JOINERS = "\u200c\u200d"  # define how letters join, inside a word of Persian or Hindi
LAST_MARK = 0x1E94A  # the last mark before the variation selectors

# Between two sentences: quotes close with the first; "Dr. Who" and "“Why?” he asks" are one.
SENTENCE_END = re.compile(
    r"(?<!\b(?:Dr|Mr|Ms|St))(?<!\bMrs)(?<!\bProf)[.!?…][\"”’')]*\s+(?=[^\sa-z])"
)

# C0 except tabs and line ends, C1, and direction marks: they steer a terminal or deceive a reader;
# and halves of characters, which no terminal or file can store
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Return text without the characters that steer a terminal."""
    return STEERING.sub("", text)


def visible_json(text: str) -> str:
    """Return the same JSON with those characters escaped."""
    return STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    """Return text on one line, without the characters that steer a terminal."""
    return " ".join(visible(text).split())


def counted(number: int, noun: str) -> str:
    """Return a number and its noun: 1 page, 2 pages."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def percent(share: float) -> str:
    """Format a share in per cent; a tiny one is not rounded to 0 %, a large one not to 100 %."""
    if share <= 0:
        return "0 %"
    if share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1 - 1e-12:
        return "> 99.9 %"
    return f"{100 * share:.1f} %" if share < 1 - 1e-12 else "100 %"


def words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    if not text.isascii():
        # in lower case, İ has two characters
        text = unicodedata.normalize("NFC", text).replace("İ", "i")
    text = text.lower().replace("’", "'")
    return WORD.findall(text) if PLAIN.fullmatch(text) else _words_of_any_script(text)


def _words_of_any_script(text: str) -> list[str]:
    unspaced, word = _patterns_of_scripts()
    matches = word.findall(unspaced.sub(r" \g<0> ", text.replace("_", " ")))
    return [match.rstrip(JOINERS) for match in matches]


@functools.cache
def _patterns_of_scripts() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of a character of a script without spaces, and of a word of others, with marks."""
    marks = _marks()
    run = rf"\w[\w{marks}{JOINERS}]*"
    return re.compile(rf"[{UNSPACED}][{marks}{LENGTHENED}]*"), re.compile(rf"{run}(?:'{run})*")


def _marks() -> str:
    """The characters that combine with the letter before, as ranges, without glyph selectors."""
    candidates = (code for code in range(0x300, LAST_MARK + 1) if not 0xFE00 <= code <= 0xFE0F)
    codes = [code for code in candidates if unicodedata.category(chr(code))[0] == "M"]
    firsts = [code for before, code in zip([0, *codes], codes, strict=False) if code != before + 1]
    lasts = [code for code, after in zip(codes, [*codes[1:], 0], strict=True) if after != code + 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))


def last_words(text: str) -> str:
    """The last sentence of a page, with the one before it if it is short.

    Lines such as "THE END" are skipped.
    """
    lines = text.splitlines()
    while lines and " ".join(words(lines[-1])) in ("", "the end", "end", "finis", "fin"):
        lines.pop()
    paragraph = "\n".join(lines).split("\n\n")[-1] or text.strip()
    starts = [0, *(match.end() for match in SENTENCE_END.finditer(paragraph))]
    is_short = len(words(paragraph[starts[-1] :])) < 4
    return paragraph[starts[-2:][0] if is_short else starts[-1] :]


def check_texts(name: str, values: Sequence[Any]) -> None:
    """Raise a ValueError unless all values are texts."""
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f'"{name}" has a value that is not a text')
