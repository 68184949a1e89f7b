"""A Twine 1 story as both games: told by our own reading, and by SugarCube, published in memory."""

import re

import drrn
from benchmarks.twins import compare
from drrn.stories.authored import HOSTED, NATIVE

DATA = ':: StoryData\n{"format": "SugarCube", "format-version": "2"}\n\n'
# What SugarCube 2 has under another name.
RENAMED = {"<<else if": "<<elseif", "<<display": "<<include", "<<endsilently": "<</silently"}


def in_sugarcube(twee):
    """The same story as SugarCube 2 writes it."""
    for ours, theirs in RENAMED.items():
        twee = twee.replace(ours, theirs)
    return DATA + re.sub(r":: StoryData\n.*?\n\n", "", twee, flags=re.S)


def twins_of(twee, folder):
    """The story's native and its hosted game, neither of them shuffled."""
    native, hosted = folder / "native" / "tale.twee", folder / "hosted" / "tale.twee"
    for path, text in ((native, twee), (hosted, in_sugarcube(twee))):
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    told = drrn.make(native, shuffle=False, engine=NATIVE)
    return told, drrn.make(hosted, shuffle=False, engine=HOSTED)


def compare_twins(twee, folder, **options):
    """What walks through both games of a story came to."""
    native, hosted = twins_of(twee, folder)
    try:
        return compare(native, hosted, **options)
    finally:
        hosted.close()
