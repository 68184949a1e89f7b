"""The commands of all programs by their first word, as tests run them."""

from collections.abc import Sequence

OF_STORYTEST = {"test", "inspect", "annotate", "formats"}
OF_LAB = {"reproduce", "report"}


def main(words: Sequence[str]) -> int:
    """Run a command of the program that has it, and return its exit code."""
    if words[0] in OF_STORYTEST or (words[0] == "play" and "--path" in words):
        from storytest.cli import main
    elif words[0] in OF_LAB or tuple(words[:2]) == ("games", "add"):
        from lab.__main__ import main

        words = ["games", *words[2:]] if words[0] == "games" else words
    else:
        from drrn.cli import main
    return main(list(words))
