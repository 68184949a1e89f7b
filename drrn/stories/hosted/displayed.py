"""Which passages a page of a hosted story displays in addition to its own.

Engines do not report it. A passage that another one names, as `<<include>>` does, is displayed if
the page has some of its text, or if it has no text to look for.
"""

import re
from functools import cached_property

from drrn.compiled.search import Face
from drrn.stories.hosted import patterns
from drrn.stories.hosted.variables import is_shared
from drrn.stories.twine.story import Passage, Story, letters_of

CODE = re.compile(  # pictures, macros, tags and variables
    r"\[[<>]?img\[[^\n]*?\]\]|<<[^<>]*>>|<[^<>]*>|\([\w-]+:[^()\n]*\)|\{[^{}\n]*\}"
    r"|(?:\$|\b_)[A-Za-z]\w*(?:\.[a-z]\w*)*"
)
MARKUP = re.compile(r"[\[\]<>(){}$|*/_~\n\"'`@#^=\\]+")


class DisplayedPassages:
    """The passages that each passage of a story can display."""

    def __init__(self, story: Story, scripts: str = "") -> None:
        """`scripts` of the author may display any passage, if they read the source of one."""
        self.story = story
        self._is_scripted = patterns.READS_SOURCE.search(scripts) is not None
        self._candidates: dict[str, list[tuple[str, tuple[str, ...]]]] = {}

    def on_page(self, passage: str, face: Face) -> tuple[str, ...]:
        """The passages on a page: its own first, then those that it displays."""
        text = "\n".join((face.text, *face.actions)) if self._is_scripted else face.text
        shown = dict.fromkeys((passage, *self._everywhere))
        queue = [passage] if passage in self.story.passages else []
        letters = ""
        for name in queue:
            for other, pieces in self._named_in(name):
                letters = letters or letters_of(text)
                is_displayed = not pieces or any(piece in letters for piece in pieces)
                if other not in shown and is_displayed:
                    shown[other] = None
                    queue.append(other)
        return tuple(shown)

    def _named_in(self, name: str) -> list[tuple[str, tuple[str, ...]]]:
        if name not in self._candidates:
            passage = self.story.passages[name]
            displayed = _displayed_by(passage)
            anywhere = self.story.pages.keys() if self._is_scripted else set()
            text = patterns.COMMENT.sub("", passage.text)
            quoted = {one or other for one, other in patterns.QUOTED_TEXT.findall(text)}
            names = displayed | quoted | anywhere
            own = letters_of(text)
            candidates = []
            for other in sorted(names & self.story.pages.keys() - {name}):
                pieces = _pieces(self.story.pages[other])
                new_pieces = tuple(piece for piece in pieces if piece not in own)
                if new_pieces or (not pieces and other in displayed):
                    candidates.append((other, new_pieces))
            self._candidates[name] = candidates
        return self._candidates[name]

    @cached_property
    def _everywhere(self) -> tuple[str, ...]:
        """The passages that headers, footers and side bars display."""
        shared = filter(is_shared, self.story.passages.values())
        names = set[str]().union(*map(_displayed_by, shared))
        return tuple(sorted(names & self.story.pages.keys()))


def _displayed_by(passage: Passage) -> set[str]:
    text = patterns.COMMENT.sub("", passage.text)
    return {next(filter(None, names)) for names in patterns.DISPLAY_MACRO.findall(text)}


def _pieces(passage: Passage, least: int = 12) -> tuple[str, ...]:
    text = CODE.sub("\n", patterns.NOT_DISPLAYED.sub("\n", passage.text))
    pieces = map(letters_of, MARKUP.split(text))
    return tuple(piece for piece in pieces if len(piece) >= least)
