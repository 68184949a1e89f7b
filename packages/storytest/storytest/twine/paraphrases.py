"""Paraphrases of a story: other words of its actions (a TSV), or retold passages (Twee)."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from storytest.twine.reading import twee_passages
from storytest.twine.story import Story, split_link
from textgames.errors import InputError, did_you_mean
from textgames.files import read_text
from textgames.wording import words

DEFAULT_SET = "paraphrased"  # the name of a set without a name
SCRIPT = re.compile(r"<<.*?>>|\[\[(.*?)\]\]", re.S)


def is_retelling(path: Path) -> bool:
    """Whether a set of paraphrases is Twee, which retells passages, and not a TSV of actions."""
    return path.suffix.lower() == ".twee"


def choose_paraphrases(
    sets: Mapping[str, Path], choice: bool | str, path: Path
) -> dict[str, str] | Path | None:
    """The chosen set, or its file if that is a retelling. True is the default or only set."""
    if choice is False:
        return None
    if not sets:
        raise InputError(f'{path}: no paraphrases; add paraphrases = "FILE.tsv" to the TOML')
    of_actions = [name for name, file in sets.items() if not is_retelling(file)]
    default = of_actions[0] if len(of_actions) == 1 else DEFAULT_SET
    name = choice if isinstance(choice, str) else default
    if name not in sets:
        near = did_you_mean(name, sets)
        raise InputError(f'{path}: no paraphrases named "{name}".{near} Known: {", ".join(sets)}')
    return sets[name] if is_retelling(sets[name]) else read_paraphrases(sets[name])


def read_paraphrases(path: Path) -> dict[str, str]:
    """Read original → paraphrase from a TSV with the header `original<TAB>paraphrase`."""
    lines = read_text(path).splitlines()
    if not lines or lines[0].split("\t") != ["original", "paraphrase"]:
        raise InputError(f'{path}, line 1: the header must be "original", a tab, "paraphrase"')
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 2 or not cells[0] or not words(cells[1]):
            expected = "an original, a tab and a paraphrase that has words"
            raise InputError(f"{path}, line {number}: expected {expected}")
        if cells[0] in pairs:
            raise InputError(f'{path}, line {number}: "{cells[0]}" occurs twice')
        pairs[cells[0]] = cells[1]
    return pairs


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


def _script(text: str) -> list[str]:
    parts = SCRIPT.finditer(text)
    return [part[0] if part[1] is None else split_link(part[1])[1] for part in parts]
