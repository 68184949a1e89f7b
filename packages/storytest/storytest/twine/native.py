"""Which stories our interpreter plays, their scripts, and where the engines of Twine 1 differ.

A story is read as Twine 1 if it names no format (most Twee files and all of Twine 1) or an unknown
one, unless its code is unmistakably that of another format.
"""

import gc

from storytest.twine.script import Problem, Script, summarise
from storytest.twine.story import RECOGNITION, Passage, Story, patterns
from storytest.twine.twine1.macros import Reader

TWINE_2 = ("SugarCube", "Harlowe", "Snowman", "Chapbook")
UNMISTAKABLE = patterns("unmistakable")
DIFFERENCES = patterns("differences")
SUGARCUBE_MACROS = frozenset(RECOGNITION["sugarcube_macros"].split())
INCLUDES = "StoryIncludes"


def twine_2_format(story: Story) -> str:
    """The title of a story's format if it is one of Twine 2's, by name or code, or ''."""
    if story.format:
        return next((title for title in TWINE_2 if story.format.startswith(title.lower())), "")
    texts = [passage.text for passage in story.pages.values()]
    titles = (title for title, code in UNMISTAKABLE.items() if any(map(code.search, texts)))
    return next(titles, "")


def foreign(story: Story) -> str:
    """Why only its own engine can play a story, or ''."""
    if title := twine_2_format(story):
        return f"it is a {title} story"
    if story.start not in story.pages:
        return f'the start "{story.start}" is not a page (give StoryData another)'
    return ""


def read_script(story: Story, answers: dict[str, str]) -> Script:
    """Parse a story of Twine 1. The script's `problems` are what cannot be played."""
    script = Script(story, answers)
    names = frozenset(story.pages)
    collecting = gc.isenabled()
    gc.disable()  # a big story makes a million closures and no garbage
    try:
        for name in (*story.pages, *({"StoryInit"} & story.passages.keys())):
            passage = story.passages[name]
            script.tags[name] = passage.tags
            script.nodes[name] = Reader(script, passage, names).read(passage.text)
    finally:
        if collecting:
            gc.enable()
    if INCLUDES in story.passages and (files := story.passages[INCLUDES].text.split()):
        what = f"including files ({files[0]}) is not supported: put all passages into one file"
        script.problems.append(Problem(story.passages[INCLUDES].line, INCLUDES, what))
    script.problems = sorted(set(script.problems))
    return script


def is_sugarcube(script: Script) -> bool:
    """Whether a story that names no format has macros of SugarCube."""
    return not script.story.format and not script.unknown.isdisjoint(SUGARCUBE_MACROS)


def complaint(script: Script) -> str:
    """One line for each cause of problems, under a sentence that names the remedy."""
    count = len(script.problems)
    kind = "SugarCube story" if is_sugarcube(script) else "story"
    things = f"{count} thing{'s' * (count > 1)} in this {kind}"
    head = f"{script.story.source}: {things} cannot be played (skip with --lenient):"
    return "\n  ".join([head, *summarise(script.problems)])


def engines_differ(passage: Passage) -> bool:
    """Whether an engine of Twine 1 may display a passage in another way."""
    if "stylesheet" in passage.tags:
        return any(map(_may_hide, passage.text.split("}")))
    markup = DIFFERENCES["macro"].sub("", passage.text)
    has_style = DIFFERENCES["styled_part"].search(passage.text)
    return passage.is_page and bool(has_style or DIFFERENCES["markup"].search(markup))


def _may_hide(rule: str) -> bool:
    """Whether a CSS rule hides, or adds to, something inside the page."""
    *_, selectors, properties = rule.split("{") if "{" in rule else ("", "")
    inside = any(not DIFFERENCES["around"].search(part.strip()) for part in selectors.split(","))
    return inside and DIFFERENCES["hides"].search(properties) is not None
