"""Which dialect a story is written in, and the one way from a story to a script.

A new dialect is a function `(script, passage, names) -> Node` and a line in `DIALECTS`; it reports what it cannot play
in `script.problems` and never raises for it.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from drrn.errors import InputError
from drrn.games.stories import twine1
from drrn.games.stories.page import Node
from drrn.games.stories.script import Problem, Script
from drrn.games.stories.story import Passage, Story

Dialect = Callable[[Script, Passage, frozenset[str]], Node]

DIALECTS: dict[str, Dialect] = {"twine1": twine1.read_passage}

# Story formats of Twine 2 with code that is not written as <<macros>>: how to see it in a line.
FOREIGN_CODE = {
    "sugarcube": re.compile(r"(?<![\w$])\$[A-Za-z_]\w*"),
    "harlowe": re.compile(r"\([A-Za-z][\w-]*:|(?<![\w$])\$[A-Za-z_]\w*|\|\w+>\["),
    "snowman": re.compile(r"<%=?.{0,20}"),
    "chapbook": re.compile(
        r"^--$|^\[(?:if|unless|else|after|JavaScript|cont)\b[^\]\n]*\]|\{[a-z][\w. ]*(?::[^}\n]*)?\}"
    ),
}
MACROS_AND_LINKS = re.compile(r"<<[^<>]*>>|\[\[[^\[\]]*\]\]")
INCLUDES = "StoryIncludes"


def read_script(story: Story, answers: dict[str, str], *, lenient: bool = False) -> Script:
    """Parse every passage once. What cannot be played is one error that lists it all, or, if lenient, left out."""
    script = Script(story, answers, lenient)
    names = frozenset(story.pages)
    _foreign_code(script)
    if script.problems and not story.format.startswith("sugarcube"):
        first = script.problems[0]
        raise InputError(f"{story.source}: a {story.format} story, which is not supported yet ({first})")
    with _no_collection():
        for name in (*story.pages, *({"StoryInit"} & story.passages.keys())):
            script.tags[name] = story.passages[name].tags
            script.nodes[name] = DIALECTS["twine1"](script, story.passages[name], names)
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
    story = script.story
    pattern = next((code for name, code in FOREIGN_CODE.items() if story.format.startswith(name)), None)
    for name, passage in story.pages.items() if pattern else ():
        for number, line in enumerate(passage.text.split("\n"), passage.line):
            for match in pattern.finditer(MACROS_AND_LINKS.sub("", line)) if pattern else ():
                script.problems.append(Problem(number, name, f"{match.group()} ({story.format} code) is not supported"))
