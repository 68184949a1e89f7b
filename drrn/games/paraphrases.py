"""Actions said in other words: the two-column file, and how far it stands from the originals."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError, require
from drrn.text import words


@dataclass(frozen=True, slots=True)
class Distance:
    """How far paraphrases stand from their originals, as the paper measures it."""

    pairs: int
    oov_rate: float  # share of their words that no original action has
    bleu: float  # corpus BLEU-4 against the originals, from 0 to 1


def read_paraphrases(path: Path) -> dict[str, str]:
    """Original → paraphrase, from a TSV with the header `original<TAB>paraphrase`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0].split("\t") != ["original", "paraphrase"]:
        raise InputError(f'{path}, line 1: the header must be "original", a tab, "paraphrase"')
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        cells = [cell.strip() for cell in line.split("\t")]
        if not line.strip():
            continue
        if len(cells) != 2 or not all(cells):
            raise InputError(f"{path}, line {number}: expected an original, a tab and a paraphrase")
        if cells[0] in pairs:
            raise InputError(f'{path}, line {number}: "{cells[0]}" stands twice')
        pairs[cells[0]] = cells[1]
    return pairs


def distance(pairs: dict[str, str], actions: Collection[str]) -> Distance:
    """OOV rate against the words of all original actions, and BLEU-4 over words alone (no case, no punctuation)."""
    sacrebleu = require("sacrebleu", "paper")
    known = {word for action in (*actions, *pairs) for word in words(action)}
    said = [word for paraphrase in pairs.values() for word in words(paraphrase)]
    paraphrases, originals = ([" ".join(words(text)) for text in side] for side in (pairs.values(), pairs))
    score = sacrebleu.corpus_bleu(paraphrases, [originals], tokenize="none")
    return Distance(len(pairs), sum(word not in known for word in said) / len(said), score.score / 100)
