"""Actions said in other words: named sets, their two-column files, and how far they stand from the originals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError, did_you_mean, require
from drrn.files import read_text
from drrn.text import words

DEFAULT_SET = "paraphrased"  # what results are measured by; the name of a set that was given none


@dataclass(frozen=True, slots=True)
class Distance:
    """How far paraphrases stand from their originals, as the paper measures it."""

    pairs: int
    oov_rate: float  # share of their words that no original action has
    bleu: (
        float | None
    )  # corpus BLEU-4 against the originals, from 0 to 1; None: sacrebleu is not installed


def paraphrase_file(sets: Mapping[str, Path], asked: bool | str, place: Path) -> Path | None:
    """The file of the set that is asked for by its name; True asks for the default set, or for the only one."""
    if not isinstance(asked, str) and not asked:
        return None
    if not sets:
        raise InputError(
            f'{place}: it has no paraphrases: name a TSV of them with paraphrases = "…" in the TOML'
        )
    name = asked if isinstance(asked, str) else next(iter(sets)) if len(sets) == 1 else DEFAULT_SET
    if name not in sets:
        near = did_you_mean(name, sets)
        raise InputError(
            f'{place}: it has no paraphrases named "{name}".{near} It has: {", ".join(sets)}'
        )
    return sets[name]


def read_paraphrases(path: Path) -> dict[str, str]:
    """Original → paraphrase, from a TSV with the header `original<TAB>paraphrase`."""
    lines = read_text(path).splitlines()
    if not lines or lines[0].split("\t") != ["original", "paraphrase"]:
        raise InputError(f'{path}, line 1: the header must be "original", a tab, "paraphrase"')
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        cells = [cell.strip() for cell in line.split("\t")]
        if not line.strip():
            continue
        if len(cells) != 2 or not all(cells):
            raise InputError(f"{path}, line {number}: expected an original, a tab and a paraphrase")
        if not words(cells[1]):
            raise InputError(f'{path}, line {number}: the paraphrase "{cells[1]}" has no words')
        if cells[0] in pairs:
            raise InputError(f'{path}, line {number}: "{cells[0]}" stands twice')
        pairs[cells[0]] = cells[1]
    return pairs


def distance(pairs: dict[str, str], actions: Collection[str]) -> Distance:
    """OOV rate against the words of all original actions, and BLEU-4 over words alone (no case, no punctuation)."""
    known = {word for action in (*actions, *pairs) for word in words(action)}
    said = [word for paraphrase in pairs.values() for word in words(paraphrase)]
    return Distance(len(pairs), sum(word not in known for word in said) / len(said), _bleu(pairs))


def _bleu(pairs: dict[str, str]) -> float | None:
    try:
        sacrebleu = require("sacrebleu", "paper")
    except InputError:
        return None
    paraphrases, originals = (
        [" ".join(words(text)) for text in side] for side in (pairs.values(), pairs)
    )
    score: float = sacrebleu.corpus_bleu(paraphrases, [originals], tokenize="none").score
    return score / 100
