"""Retellings: passages of a story in other prose, with the same macros and links."""

import re
from dataclasses import replace
from pathlib import Path

from storytest.twine.reading import read_story, twee_passages
from storytest.twine.story import Story, split_link
from textgames.errors import InputError
from textgames.files import read_text

SCRIPT = re.compile(r"<<.*?>>|\[\[(.*?)\]\]", re.S)


def is_retelling(path: Path) -> bool:
    """Whether a set of paraphrases is Twee, which retells passages, and not a TSV of actions."""
    return path.suffix.lower() == ".twee"


def retell(story: Story, path: Path) -> Story:
    """The story with the passages of a Twee file, of which only prose and labels may differ."""
    passages = dict(story.passages)
    for new in twee_passages(read_text(path), str(path)):
        old = passages.get(new.name)
        if old is None or _script(old.text) != _script(new.text):
            cause = f'the story has no passage "{new.name}" with these macros and link targets'
            raise InputError(f"{path}, line {new.line}: {cause}; change only prose and labels")
        passages[new.name] = replace(old, text=new.text, line=new.line)
    return replace(story, passages=passages)


def retold_prose(file: Path, path: Path) -> dict[str, str]:
    """Original → other prose of the passages that a Twee file retells, without macros."""
    story = read_story(file)
    new = retell(story, path).passages
    changed = {name for name, old in story.passages.items() if old.text != new[name].text}
    return {_prose(story.passages[name].text): _prose(new[name].text) for name in sorted(changed)}


def _script(text: str) -> list[str]:
    parts = SCRIPT.finditer(text)
    return [part[0] if part[1] is None else split_link(part[1])[1] for part in parts]


def _prose(text: str) -> str:
    return SCRIPT.sub(lambda part: split_link(part[1] or "")[0], text)
