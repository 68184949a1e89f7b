"""Dialects: which one a story is written in, parsing, and whether our engine is faithful to it.

A new dialect is a `Dialect` and a line in `DIALECTS`; its `formats` select it. A story that names
no format (most Twee files and all of Twine 1), or an unknown one, is read in the `DEFAULT` dialect,
unless its code is unmistakably that of another format.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from drrn.errors import InputError
from drrn.stories.twine.script import Dialect, Problem, Script, summarise
from drrn.stories.twine.story import Story
from drrn.stories.twine.twine1 import TWINE_1


def _plain(title: str, foreign: str, *, rejects: bool, macros: str = "") -> Dialect:
    """Return the dialect of a Twine 2 format, which is read like Twine 1 if it is plain."""
    name = title.lower()
    dialect = replace(TWINE_1, name=name, formats=(name,), title=title, rejects=rejects)
    return replace(dialect, foreign=re.compile(foreign), macros=frozenset(macros.split()))


# Macros of SugarCube that no known script for Twine 1 defines.
SUGARCUBE = (
    "= - run script capture unset include link linkappend linkprepend linkreplace append prepend "
    "copy switch case default for do redo widget createplaylist playlist audio cacheaudio "
    "masteraudio timed repeat textbox textarea numberbox listbox radiobutton cycle done type "
    "addclass removeclass toggleclass"
)
VARIABLE = r"(?<![\w$])\$[A-Za-z_]\w*"
CHAPBOOK = (
    r"^--$|^\[(?:if|unless|else|after|JavaScript|cont)\b[^\]\n]*\]|"
    r"\{[a-z][\w. ]*(?::[^}\n]*)?\}"
)
DIALECTS = (
    TWINE_1,
    _plain("SugarCube", VARIABLE, rejects=False, macros=SUGARCUBE),
    _plain("Harlowe", rf"\([A-Za-z][\w-]*:|{VARIABLE}|\|\w+>\[", rejects=True),
    _plain("Snowman", r"<%=?.{0,20}", rejects=True),
    _plain("Chapbook", CHAPBOOK, rejects=True),
)
DEFAULT = TWINE_1
TWINE_2 = frozenset(dialect.name for dialect in DIALECTS if dialect is not TWINE_1)
# Code that identifies the format of a story that names none: as Twine 1 it would be text.
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
    """A story in the code of a format that no dialect reads."""


def dialect_of(story: Story) -> Dialect:
    """Return the dialect of the story's format, else of its code, else the default."""
    name = story.format
    if not name:
        texts = [passage.text for passage in story.pages.values()]
        formats = (name for name, code in UNMISTAKABLE.items() if any(map(code.search, texts)))
        name = next(formats, "")
    return next((dialect for dialect in DIALECTS if name.startswith(dialect.formats)), DEFAULT)


def knows_format(story: Story) -> bool:
    """Return whether a dialect exists for the story's format."""
    return any(story.format.startswith(dialect.formats) for dialect in DIALECTS)


def format_by_macros(script: Script) -> str:
    """Return the title of the format whose macros a story without a format uses, or ''."""
    if script.story.format:
        return ""
    titles = (d.title for d in DIALECTS if script.unknown & frozenset(d.macros))
    return next(titles, "")


def read_script(
    story: Story,
    answers: dict[str, str],
    *,
    lenient: bool = False,
    macros: Mapping[str, str] | None = None,
) -> Script:
    """Parse every passage.

    Args:
        story: the story.
        answers: to the story's questions to the player, by variable.
        lenient: leave out what cannot be played instead of raising an error.
        macros: the meanings of macros, by lower-case name.

    Raises:
        InputError: lists everything that cannot be played.
    """
    script = Script(story, dialect_of(story), answers, lenient, macros or {})
    names = frozenset(story.pages)
    if story.start not in names:
        raise ForeignError(
            f'{story.source}: the start "{story.start}" is not a page: give StoryData a "start"'
        )
    _find_foreign_code(script)
    if script.problems and script.dialect.rejects:
        raise ForeignError(
            f"{story.source}: a {script.dialect.title} story, which needs its own engine "
            f"({script.problems[0]})"
        )
    with _no_collection():
        for name in (*story.pages, *({"StoryInit"} & story.passages.keys())):
            script.tags[name] = story.passages[name].tags
            script.nodes[name] = script.dialect.read_passage(script, story.passages[name], names)
    if INCLUDES in story.passages and (files := story.passages[INCLUDES].text.split()):
        what = f"including files ({files[0]}) is not supported: put all passages into one file"
        script.problems.append(Problem(story.passages[INCLUDES].line, INCLUDES, what))
    script.problems = sorted(set(script.problems))
    if script.problems and not lenient:
        raise InputError(complaint(script))
    return script


def complaint(script: Script) -> str:
    """Return one line for each cause of problems, under a sentence that names the remedy."""
    count = len(script.problems)
    title = format_by_macros(script) or script.dialect.title
    kind = f"{title} story" if title else "story"
    head = (
        f"{script.story.source}: {count} thing{'s' * (count > 1)} in this {kind} cannot be played"
    )
    remedy = "lenient play leaves them out"
    if script.unknown:
        remedy += "; [macros] in a TOML can define an unknown macro"
    return "\n  ".join([f"{head} ({remedy}):", *summarise(script.problems)])


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause garbage collection: a big story makes a million closures and no garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _find_foreign_code(script: Script) -> None:
    """Add a problem for each piece of foreign code, which would otherwise be read as text."""
    pattern = script.dialect.foreign
    if pattern is None:
        return
    for name, passage in script.story.pages.items():
        for number, line in enumerate(passage.text.split("\n"), 1):
            for match in pattern.finditer(MACROS_AND_LINKS.sub("", line)):
                what = f"{match.group()} ({script.dialect.title} code) is not supported"
                script.problems.append(Problem(passage.line_in_file(number), name, what, number))


# --- faithfulness: a Twine 1 story is ours unless it hides parts of its pages; one of SugarCube or
# Harlowe only if both are sure to display the same: a few macros, words and links.

HIDES = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content\s*:\s*[\"'a]", re.I
)
# Selectors of elements around the passages, which are not part of a page.
AROUND = re.compile(
    r"#(?:ui-|menu|sidebar|floater|story-?(?:menu|title|author|subtitle)|title|credits|share|"
    r"snapback|restart|footer|bookmark|logo|init-)|tw-(?:sidebar|icon)|^@|::(?:selection|-webkit)",
    re.I,
)
STYLED_PART = re.compile(
    r"<\w[^<>]*\s(?:hidden|style|class|id|onclick|data-\w+)\b[^<>]*>|@@[^@\n]*;", re.I
)
# What Twine 1's engines lay out differently, or do not know.
TWINE_1_MARKUP = re.compile(
    r"</?(?!(?:b|i|u|s|em|strong|small|big|sup|sub|br|span|font|tt|code|strike|del|ins|cite|mark)"
    r"\b)[a-z]\w*[^<>]*>|\[[<>]*img\[[^\[\]]*\]\[|^>+[^>\n]*\w|"
    r"\[\[[^\[\]|]{0,300}(?:->|<-)[^\[\]|]{0,300}\]",
    re.M | re.I,
)
LABEL = re.compile(r"\[\[([^\[\]|]*?)(?:\||->|<-|\]\[|\]\])")
LINKS = re.compile(r"\[\[[^\[\]]*\](?:\[[^\[\]]*\])?\]")
# The bounds keep the search linear.
MACRO = re.compile(r"<<\s*([^\s<>]*)(?:(?!>>|<<).){0,2000}>>", re.S)
CALL = re.compile(r"(?<![\w.$])([A-Za-z_][\w.]*)\s*\(")

# What SugarCube and Twine 1 have in common.
MACROS = frozenset("set if else elseif endif /if print silently endsilently /silently".split())
CALLS = frozenset(
    "random either visited Math.floor Math.ceil Math.round Math.min Math.max Math.abs "
    "if elseif and or not is to eq neq gt gte lt lte set print".split()
)
SUGARCUBE_MARKUP = re.compile(
    r"<(?!br ?/?>)|@@|\{\{\{|\"\"\"|~~|\^\^|__|==|\\|/%|/\*|\[|\]|://|(?<!\w)_\w|"
    r"^[!*#>|]|^[ \t]*-{4}",
    re.M,
)
# SugarCube evaluates a label if it can; it cannot if a capital or two words start it.
PLAIN_LABEL = re.compile(
    r"\s*(?:[A-Z]|(?!(?:typeof|void|not|new|delete|await|async)\b)[a-z]\w*\s+[A-Za-z])"
)
FIRST_SET = re.compile(r"<<set\s+\$(\w+)\s*(?:=|to\b)")
ON_EVERY_PAGE = frozenset(
    "PassageHeader PassageFooter PassageReady PassageDone StoryInterface StoryCaption StoryMenu "
    "StoryBanner".split()
)
HARLOWE_LINK = re.compile(r"\[\[|\]\]|->|<-|\|(?=[^\[\]|]*\]\])")
HARLOWE_MARKUP = re.compile(
    r"[<>$_*~^`\\{}|#@\[\]&]|''|//|--|==|\([\w-]+:|^[ \t]*(?:[-+•]|\d+\.)(?:\s|$)", re.M
)
SPECIAL_TAGS = frozenset(
    "nobr header footer startup widget init debug-header debug-footer debug-startup".split()
)


def engine_difference(story: Story, script: Script) -> str:
    """Return something that the story's own engine may display differently, or ''."""
    return next(_differences(story, script), "")


def _differences(story: Story, script: Script) -> Iterator[str]:
    yield from _hidden_parts(story)
    dialect = script.dialect
    if dialect.name not in TWINE_2:
        for name, passage in story.pages.items():
            if match := TWINE_1_MARKUP.search(MACRO.sub("", passage.text)):
                yield f'passage "{name}" has the markup {match.group()[:40]}'
        return
    for name, passage in story.passages.items():
        if tags := SPECIAL_TAGS & set(passage.tags):
            yield f'passage "{name}" has the tag {min(tags)}'
        if name in ON_EVERY_PAGE and passage.text.strip():
            yield f'passage "{name}" is part of every page'
    if dialect.name == "sugarcube":
        yield from _sugarcube_differences(story, script)
    elif dialect.name == "harlowe":
        for name, passage in story.pages.items():
            if match := HARLOWE_MARKUP.search(HARLOWE_LINK.sub("", passage.text)):
                yield f'passage "{name}" has the markup {match.group().strip()}'
    else:
        yield f"{dialect.title} reads Markdown"


def _hidden_parts(story: Story) -> Iterator[str]:
    for name, passage in story.passages.items():
        if "stylesheet" in passage.tags:
            for rule in passage.text.split("}"):
                *_, selectors, properties = ["", *rule.split("{")] if "{" in rule else [rule, ""]
                inside = any(not AROUND.search(part.strip()) for part in selectors.split(","))
                if inside and HIDES.search(properties):
                    yield f'the style sheet "{name}" may hide parts of pages'
        elif passage.is_page and (match := STYLED_PART.search(passage.text)):
            yield f'passage "{name}" has a part with its own style: {match.group()[:40]}'


def _sugarcube_differences(story: Story, script: Script) -> Iterator[str]:
    initial: set[str] = set()  # variables that are set first in every state
    for first in {"StoryInit", story.start} & story.passages.keys():
        unconditional = re.split(r"<<if\b", story.passages[first].text)[0]
        initial.update(FIRST_SET.findall(unconditional))
    if unset := script.facts.read - initial:
        yield f"${min(unset)} may be read before it is set"
    for name, passage in story.passages.items():
        if passage.is_page or name == "StoryInit":
            for what in _sugarcube_code(passage.text):
                yield f'passage "{name}" has {what}'


def _sugarcube_code(text: str) -> Iterator[str]:
    for macro in MACRO.finditer(text):
        if macro[1] not in MACROS or re.match(r"<<\s*else\s+if", macro.group()):
            yield f"the macro {macro[1]}"
        if functions := set(CALL.findall(macro.group()[2:])) - CALLS:
            yield f"the function {min(functions)}"
    for label in LABEL.findall(text):
        if not PLAIN_LABEL.match(label):
            yield f"a link whose words may be code: {label[:40]}"
    if markup := SUGARCUBE_MARKUP.search(LINKS.sub("", MACRO.sub("", text))):
        yield f"the markup {markup.group().strip()}"
