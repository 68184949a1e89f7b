"""A Twine 1 story as two games: by the native interpreter, and by SugarCube."""

import re

import textgames
from benchmarks.twins import compare
from storytest.authored import HOSTED, NATIVE

DATA = ':: StoryData\n{"format": "SugarCube", "format-version": "2"}\n\n'
# Macros that have other names in SugarCube 2.
RENAMED = {"<<else if": "<<elseif", "<<display": "<<include", "<<endsilently": "<</silently"}


def in_sugarcube(twee):
    """Return the story in SugarCube 2."""
    for native, sugarcube in RENAMED.items():
        twee = twee.replace(native, sugarcube)
    return DATA + re.sub(r":: StoryData\n.*?\n\n", "", twee, flags=re.S)


def twins_of(twee, folder):
    """Return the native and the hosted game of a story, both unshuffled."""
    native = folder / "native" / "tale.twee"
    hosted = folder / "hosted" / "tale.twee"
    for path, text in ((native, twee), (hosted, in_sugarcube(twee))):
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    native_game = textgames.make(native, shuffle=False, engine=NATIVE)
    return native_game, textgames.make(hosted, shuffle=False, engine=HOSTED)


def compare_twins(twee, folder, **options):
    """Play both games of a story side by side; return the comparison."""
    native, hosted = twins_of(twee, folder)
    try:
        return compare(native, hosted, **options)
    finally:
        hosted.close()
