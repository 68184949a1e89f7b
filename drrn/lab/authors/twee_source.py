"""Writing Twee: links at the words they bear or on lines of their own, passages with their names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

EDGE = (
    "/%%/"  # an empty comment: keeps a break at a passage's edge, which readers of Twee would trim
)
MARKUP = re.compile(r"\[\[([^|\]]*)\|[^\]]*\]\]|<<.*?>>")


def in_text(texts: Sequence[str], links: Sequence[tuple[str, str]]) -> list[str] | None:
    """The texts with each link at its words, in the order of the links; None where the words of one are missing."""
    left = "\0".join(texts)
    told = ""
    for label, target in links:
        found = re.search(rf"(?<!\w){re.escape(label)}(?!\w)", left)
        if found is None:
            return None
        told += f"{left[: found.start()]}[[{label}|{target}]]"
        left = left[found.end() :]
    return (told + left).split("\0") if links else None


def on_lines(links: Sequence[tuple[str, str]]) -> str:
    """Each link on a line of its own: a choice."""
    return "".join(f"\n[[{label}|{target}]]" for label, target in links) + ("\n" if links else "")


@dataclass(frozen=True)
class Told:
    """A story in Twee: passages by name."""

    passages: Mapping[str, str]
    start: str
    shown: Set[str] = frozenset()  # passages that others show: they keep the breaks at their edges

    @property
    def twee(self) -> str:
        data = f":: StoryData\n{json.dumps({'start': self.start}, ensure_ascii=False)}"
        bodies = (
            f":: {_header(name)}\n{_body(text, name in self.shown)}"
            for name, text in self.passages.items()
        )
        return "\n\n\n".join((data, *bodies)) + "\n"

    def saying(self, words: str) -> list[tuple[str, str]]:
        """The passages in which the words stand, and the words as each has them: its apostrophes may be curly."""
        found = []
        for name, text in self.passages.items():
            plain = MARKUP.sub(r"\1", text)
            start = plain.replace("’", "'").find(words.replace("’", "'"))
            if start >= 0:
                found.append((name, plain[start : start + len(words)]))
        return found


def is_plain(name: str) -> bool:
    """Whether a passage can bear the name in a header, a link and a macro."""
    return is_label(name) and name == name.strip(": ") and not {'"', "'"} <= {*name}


def is_label(words: str) -> bool:
    """Whether a link can bear the words."""
    return bool(words.strip()) and not re.search(r"[\n\[\]|<>]", words)


def is_text(words: str) -> bool:
    """Whether a passage can say the words: they hold no macros and links of their own."""
    return not re.search(r"<<|>>|\[\[|\]\]", words)


def _header(name: str) -> str:
    return re.sub(r"([\\{}])", r"\\\1", name)


def _body(text: str, shown: bool) -> str:
    if shown:
        text = EDGE * text.startswith("\n") + text + EDGE * (text != text.rstrip())
    return re.sub(r"^::", r"\\::", text.strip("\n"), flags=re.M)
