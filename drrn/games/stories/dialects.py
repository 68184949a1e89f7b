"""Which dialect a story is written in, and the one way from a story to a script.

A new dialect is a `Dialect` and a line in `DIALECTS`; its `formats` are the story formats that choose it. A story that
names no format (most Twee files and all of Twine 1), or one that no dialect knows, is read in the `DEFAULT` one.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from drrn.errors import InputError
from drrn.games.stories.script import Dialect, Problem, Script
from drrn.games.stories.story import Story
from drrn.games.stories.twine1 import TWINE_1


def _plain(name: str, foreign: str, *, refused: bool) -> Dialect:
    """A format of Twine 2 whose stories are read like those of Twine 1, as long as they hold none of its own code."""
    return replace(TWINE_1, name=name, formats=(name,), foreign=re.compile(foreign), refused=refused)


VARIABLE = r"(?<![\w$])\$[A-Za-z_]\w*"
DIALECTS = (
    TWINE_1,
    _plain("sugarcube", VARIABLE, refused=False),
    _plain("harlowe", rf"\([A-Za-z][\w-]*:|{VARIABLE}|\|\w+>\[", refused=True),
    _plain("snowman", r"<%=?.{0,20}", refused=True),
    _plain(
        "chapbook",
        r"^--$|^\[(?:if|unless|else|after|JavaScript|cont)\b[^\]\n]*\]|\{[a-z][\w. ]*(?::[^}\n]*)?\}",
        refused=True,
    ),
)
DEFAULT = TWINE_1
MACROS_AND_LINKS = re.compile(r"<<[^<>]*>>|\[\[[^\[\]]*\]\]")
INCLUDES = "StoryIncludes"


def dialect_of(story: Story) -> Dialect:
    """The dialect that the story's format chooses; the default one where it names none, or none that is known."""
    return next((dialect for dialect in DIALECTS if story.format.startswith(dialect.formats)), DEFAULT)


def read_script(story: Story, answers: dict[str, str], *, lenient: bool = False) -> Script:
    """Parse every passage once. What cannot be played is one error that lists it all, or, if lenient, left out."""
    script = Script(story, dialect_of(story), answers, lenient)
    names = frozenset(story.pages)
    _foreign_code(script)
    if script.problems and script.dialect.refused:
        first = script.problems[0]
        raise InputError(f"{story.source}: a {story.format} story, which is not supported yet ({first})")
    with _no_collection():
        for name in (*story.pages, *({"StoryInit"} & story.passages.keys())):
            script.tags[name] = story.passages[name].tags
            script.nodes[name] = script.dialect.read_passage(script, story.passages[name], names)
    if INCLUDES in story.passages and (files := story.passages[INCLUDES].text.split()):
        what = f"including other files ({files[0]}) is not supported: put all passages into one file"
        script.problems.append(Problem(story.passages[INCLUDES].line, INCLUDES, what))
    script.problems = sorted(set(script.problems))
    if script.problems and not lenient:
        raise InputError(complaint(script))
    return script


def complaint(script: Script) -> str:
    """Every problem, one a line, under a sentence that names the cure."""
    many = len(script.problems)
    head = f"{script.story.source}: {many} thing{'s' * (many > 1)} in this story cannot be played"
    return "\n  ".join([f"{head} (lenient play leaves them out):", *map(str, script.problems)])


@contextmanager
def _no_collection() -> Iterator[None]:
    """A big story makes a million closures and no garbage: looking for some meanwhile takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _foreign_code(script: Script) -> None:
    """Code of a format that we do not speak would otherwise be read aloud as text."""
    story, pattern = script.story, script.dialect.foreign
    for name, passage in story.pages.items() if pattern else ():
        for number, line in enumerate(passage.text.split("\n"), passage.line):
            for match in pattern.finditer(MACROS_AND_LINKS.sub("", line)) if pattern else ():
                script.problems.append(Problem(number, name, f"{match.group()} ({story.format} code) is not supported"))
