"""Whether our reading of Twine 1 understands a story whole, where its own engine could play it instead.

A story of Twine 1 is ours unless it hides parts of its pages. One of SugarCube or Harlowe is ours only as far as both
are sure to show the same: a few macros, words and links. Anything else is left to the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from drrn.stories.twine.script import Script
from drrn.stories.twine.story import Passage, Story

HIDES = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content\s*:\s*[\"'a]", re.I
)
AROUND = re.compile(  # what stands around the passages, which is no part of a page
    r"#(?:ui-|menu|sidebar|floater|story-?(?:menu|title|author|subtitle)|title|credits|share|snapback|restart|footer|"
    r"bookmark|logo|init-)|tw-(?:sidebar|icon)|^@|::(?:selection|-webkit)",
    re.I,
)
STYLED_PART = re.compile(
    r"<\w[^<>]*\s(?:hidden|style|class|id|onclick|data-\w+)\b[^<>]*>|@@[^@\n]*;", re.I
)
# Twine 1: what its engines lay out otherwise, or do not know.
TWINE_1_MARKUP = re.compile(
    r"</?(?!(?:b|i|u|s|em|strong|small|big|sup|sub|br|span|font|tt|code|strike|del|ins|cite|mark)\b)[a-z]\w*[^<>]*>|"
    r"\[[<>]*img\[[^\[\]]*\]\[|^>+[^>\n]*\w|"
    r"\[\[[^\[\]|]{0,300}(?:->|<-)[^\[\]|]{0,300}\]",
    re.M | re.I,
)
LINK = re.compile(r"\[\[([^\[\]|]*?)(?:\||->|<-|\]\[|\]\])")
LINKS = re.compile(r"\[\[[^\[\]]*\](?:\[[^\[\]]*\])?\]")
MACRO = re.compile(
    r"<<\s*([^\s<>]*)(?:(?!>>|<<).){0,2000}>>", re.S
)  # bounds: each character is looked at a few times
CALL = re.compile(r"(?<![\w.$])([A-Za-z_][\w.]*)\s*\(")

# SugarCube: what it and Twine 1 have in common.
MACROS = frozenset("set if else elseif endif /if print silently endsilently /silently".split())
CALLS = frozenset(
    "random either visited Math.floor Math.ceil Math.round Math.min Math.max Math.abs".split()
)
WORDS = frozenset("if elseif and or not is to eq neq gt gte lt lte set print".split())
SUGARCUBE_MARKUP = re.compile(
    r"<(?!br ?/?>)|@@|\{\{\{|\"\"\"|~~|\^\^|__|==|\\|/%|/\*|\[|\]|://|(?<!\w)_\w|^[!*#>|]|^[ \t]*-{4}",
    re.M,
)
# A label is evaluated if it can be: what begins with a capital letter, or has two words in a row, cannot.
PLAIN_LABEL = re.compile(
    r"\s*(?:[A-Z]|(?!(?:typeof|void|not|new|delete|await|async)\b)[a-z]\w*\s+[A-Za-z])"
)
SET_FIRST = re.compile(r"<<set\s+\$(\w+)\s*(?:=|to\b)")
SET_ABOUT = "PassageHeader PassageFooter PassageReady PassageDone StoryInterface StoryCaption StoryMenu StoryBanner"
ABOUT = frozenset(SET_ABOUT.split())
HARLOWE_MARKUP = re.compile(
    r"[<>$_*~^`\\{}|#@\[\]&]|''|//|--|==|\([\w-]+:|^[ \t]*(?:[-+•]|\d+\.)(?:\s|$)", re.M
)
STRANGE_TAGS = frozenset(
    "nobr header footer startup widget init debug-header debug-footer debug-startup".split()
)


def beyond_our_reading(story: Story, script: Script) -> str:
    """What the story's engine may show otherwise than we do; nothing where our reading understands the story whole."""
    return next((what for what in _reasons(story, script) if what), "")


def _reasons(story: Story, script: Script) -> Iterator[str]:
    yield _hidden_parts(story)
    check = CHECKS.get(script.dialect.name)
    if check is None:
        yield _twine_1(story, script)
        return
    for name, passage in story.passages.items():
        if found := STRANGE_TAGS & set(passage.tags):
            yield f'passage "{name}" has the tag {min(found)}'
        if name in ABOUT and passage.text.strip():
            yield f'passage "{name}" belongs to every page'
    yield check(story, script)


def _hidden_parts(story: Story) -> str:
    for name, passage in story.passages.items():
        if "stylesheet" in passage.tags:
            for rule in passage.text.split("}"):
                *_, selectors, properties = (
                    ("", *rule.split("{")) if "{" in rule else ("", rule, "")
                )
                if HIDES.search(properties) and any(
                    not AROUND.search(selector.strip()) for selector in selectors.split(",")
                ):
                    return f'the style sheet "{name}" may hide parts of pages'
        elif passage.is_page and (found := STYLED_PART.search(passage.text)):
            return f'passage "{name}" has a part with a style of its own: {found.group()[:40]}'
    return ""


def _twine_1(story: Story, script: Script) -> str:
    for name, passage in story.pages.items():
        if found := TWINE_1_MARKUP.search(MACRO.sub("", passage.text)):
            return f'passage "{name}" has the markup {found.group()[:40]}'
    return ""


def _markdown(story: Story, script: Script) -> str:
    return f"{script.dialect.title} reads Markdown"


def _harlowe(story: Story, script: Script) -> str:
    for name, passage in story.pages.items():
        words = re.sub(r"\[\[|\]\]|->|<-|\|(?=[^\[\]|]*\]\])", "", passage.text)
        if found := HARLOWE_MARKUP.search(words):
            return f'passage "{name}" has the markup {found.group().strip()}'
    return ""


def _sugarcube(story: Story, script: Script) -> str:
    known = {
        name
        for first in ("StoryInit", story.start)
        for name in _set_first(story.passages.get(first))
    }
    if unset := script.facts.read - known:
        return f"${min(unset)} may be read before it is set"
    for name, passage in story.passages.items():
        if (passage.is_page or name == "StoryInit") and (what := _sugarcube_passage(passage.text)):
            return f'passage "{name}" has {what}'
    return ""


def _set_first(passage: Passage | None) -> list[str]:
    """The variables that a passage sets whatever the state."""
    return SET_FIRST.findall(re.split(r"<<if\b", passage.text)[0]) if passage else []


def _sugarcube_passage(text: str) -> str:
    for macro in MACRO.finditer(text):
        if macro[1] not in MACROS or re.match(r"<<\s*else\s+if", macro.group()):
            return f"the macro {macro[1]}"
        if strange := set(CALL.findall(macro.group()[2:])) - CALLS - WORDS:
            return f"the function {min(strange)}"
    for label in LINK.findall(text):
        if not PLAIN_LABEL.match(label):
            return f"a link whose words may be code: {label[:40]}"
    found = SUGARCUBE_MARKUP.search(LINKS.sub("", MACRO.sub("", text)))
    return f"the markup {found.group().strip()}" if found else ""


CHECKS: dict[str, Callable[[Story, Script], str]] = {
    "sugarcube": _sugarcube,
    "harlowe": _harlowe,
    "snowman": _markdown,
    "chapbook": _markdown,
}
