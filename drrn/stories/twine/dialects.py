"""Which dialect a story is written in, and the one way from a story to a script.

A new dialect is a `Dialect` and a line in `DIALECTS`; its `formats` are the story formats that choose it. A story that
names no format (most Twee files and all of Twine 1), or one that no dialect knows, is read in the `DEFAULT` one, unless
its code is sure to be another's.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from drrn.errors import InputError
from drrn.stories.twine.script import Dialect, Problem, Script, grouped
from drrn.stories.twine.story import Story
from drrn.stories.twine.twine1 import TWINE_1


def _plain(title: str, foreign: str, *, refused: bool, macros: str = "") -> Dialect:
    """A format of Twine 2 whose stories are read like those of Twine 1, as long as they hold none of its own code."""
    name = title.lower()
    code = re.compile(foreign)
    known_by = frozenset(macros.split())
    return replace(
        TWINE_1,
        name=name,
        formats=(name,),
        foreign=code,
        refused=refused,
        title=title,
        macros=known_by,
    )


# Macros that SugarCube has and no script for Twine 1 is known to bring.
SUGARCUBE = (
    "= - run script capture unset include link linkappend linkprepend linkreplace append prepend copy switch case "
    "default for do redo widget createplaylist playlist audio cacheaudio masteraudio timed repeat textbox textarea "
    "numberbox listbox radiobutton cycle done type addclass removeclass toggleclass"
)
VARIABLE = r"(?<![\w$])\$[A-Za-z_]\w*"
DIALECTS = (
    TWINE_1,
    _plain("SugarCube", VARIABLE, refused=False, macros=SUGARCUBE),
    _plain("Harlowe", rf"\([A-Za-z][\w-]*:|{VARIABLE}|\|\w+>\[", refused=True),
    _plain("Snowman", r"<%=?.{0,20}", refused=True),
    _plain(
        "Chapbook",
        r"^--$|^\[(?:if|unless|else|after|JavaScript|cont)\b[^\]\n]*\]|\{[a-z][\w. ]*(?::[^}\n]*)?\}",
        refused=True,
    ),
)
DEFAULT = TWINE_1
# Code that is sure to be a format's, by which a story that names none is known: read as Twine 1 it would be text.
UNMISTAKABLE = {
    "harlowe": re.compile(
        r"\((?:set|put)\s*:\s*[$_]\w|\((?:if|unless|else-?if)\s*:[^()\[\]]{0,200}\)\s*\[|"
        r"\((?:link|link-goto|go-?to|print|display)\s*:\s*[\"'$_]",
        re.I,
    ),
    "snowman": re.compile(r"<%[=-]?[^%]{0,500}%>"),
}
MACROS_AND_LINKS = re.compile(r"<<[^<>]*>>|\[\[[^\[\]]*\]\]")
INCLUDES = "StoryIncludes"


class ForeignError(InputError):
    """A story in the code of a format that no dialect here reads."""


def dialect_of(story: Story) -> Dialect:
    """The dialect that the story's format chooses; where it names none, its code; else the default one."""
    named = story.format or _known_by_code(story)
    return next((dialect for dialect in DIALECTS if named.startswith(dialect.formats)), DEFAULT)


def _known_by_code(story: Story) -> str:
    texts = [passage.text for passage in story.pages.values()]
    return next((name for name, code in UNMISTAKABLE.items() if any(map(code.search, texts))), "")


def knows_format(story: Story) -> bool:
    """Whether a dialect is made for the format that the story names."""
    return any(story.format.startswith(dialect.formats) for dialect in DIALECTS)


def read_script(
    story: Story,
    answers: dict[str, str],
    *,
    lenient: bool = False,
    macros: Mapping[str, str] | None = None,
) -> Script:
    """Parse every passage once. What cannot be played is one error that lists it all, or, if lenient, left out.

    `macros` are the meanings that the rules give to macros, by their names in lower case.
    """
    script = Script(story, dialect_of(story), answers, lenient, macros or {})
    names = frozenset(story.pages)
    if story.start not in names:
        raise ForeignError(
            f'{story.source}: "{story.start}", where it starts, is no page: give StoryData a "start"'
        )
    _foreign_code(script)
    if script.problems and script.dialect.refused:
        first = script.problems[0]
        raise ForeignError(
            f"{story.source}: a {script.dialect.title} story, which its own engine plays ({first})"
        )
    with _no_collection():
        for name in (*story.pages, *({"StoryInit"} & story.passages.keys())):
            script.tags[name] = story.passages[name].tags
            script.nodes[name] = script.dialect.read_passage(script, story.passages[name], names)
    if INCLUDES in story.passages and (files := story.passages[INCLUDES].text.split()):
        what = (
            f"including other files ({files[0]}) is not supported: put all passages into one file"
        )
        script.problems.append(Problem(story.passages[INCLUDES].line, INCLUDES, what))
    script.problems = sorted(set(script.problems))
    if script.problems and not lenient:
        raise InputError(complaint(script))
    return script


def complaint(script: Script) -> str:
    """Every problem, those with one cause in one line, under a sentence that names the cure."""
    many = len(script.problems)
    title = known_by_macros(script) or script.dialect.title
    kind = f"{title} story" if title else "story"
    head = f"{script.story.source}: {many} thing{'s' * (many > 1)} in this {kind} cannot be played"
    cure = "lenient play leaves them out"
    if script.unknown:
        cure += "; [macros] in a TOML can say what an unknown macro means"
    return "\n  ".join([f"{head} ({cure}):", *grouped(script.problems)])


def known_by_macros(script: Script) -> str:
    """The format that a story without one seems to be in, by macros that no other has."""
    if script.story.format:
        return ""
    return next(
        (dialect.title for dialect in DIALECTS if script.unknown & frozenset(dialect.macros)), ""
    )


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
    pattern = script.dialect.foreign
    for name, passage in story.pages.items() if pattern else ():
        for number, line in enumerate(passage.text.split("\n"), 1):
            for match in pattern.finditer(MACROS_AND_LINKS.sub("", line)) if pattern else ():
                what = f"{match.group()} ({script.dialect.title} code) is not supported"
                script.problems.append(Problem(passage.line_in_file(number), name, what, number))
