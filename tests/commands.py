"""The commands of all programs by their first word, as tests run them."""

import importlib
import sys
from collections.abc import Sequence

OF_STORYTEST = {"test", "inspect", "annotate", "formats"}
OF_LAB = {"reproduce", "report"}


def main(words: Sequence[str]) -> int:
    """Run a command of the program that has it, and return its exit code."""
    program, words = _program_of(words)
    module = importlib.import_module("lab.__main__" if program == "lab" else f"{program}.cli")
    code: int = module.main(words)
    return code


def process(words: Sequence[str]) -> list[str]:
    """Return the command line that runs a command in a process."""
    program, words = _program_of(words)
    return [sys.executable, "-m", program, *words]


def _program_of(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the package that has a command, and the words that it takes."""
    if tuple(words[:2]) == ("games", "add"):
        return "lab", ["games", *words[2:]]
    if words[0] in OF_LAB:
        return "lab", list(words)
    if words[0] in OF_STORYTEST or (words[0] == "play" and "--path" in words):
        return "storytest", list(words)
    return "drrn", list(words)
