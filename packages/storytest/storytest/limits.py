"""Limits of the stories that can be read and played."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of a story. Beyond most of them, the author gets an error that names the passage."""

    # Of the files
    passage_characters: int = 1_500_000  # also of a rendered page
    links: int = 100_000  # and macros
    expression_characters: int = 10_000
    brackets: int = 25  # nested in an expression
    operators: int = 10  # signs before a value, or members after it
    blocks: int = 40  # nested in a passage
    # Of a page
    nested: int = 60  # displays, <<if>>s and printed markup
    displays: int = 2_000
    lines: int = 5_000  # of Ink
    line_milliseconds: float = 2_000.0  # to play a line of Ink
    outcomes: int = 2_000  # random outcomes of a click, to be listed
    # Of caches
    printed: int = 1_000  # texts with markup, of one <<print>>
    renderings: int = 200_000  # scenes and questions
    saved_characters: int = 256 * 2**20  # states of engines
    # Of engines
    sessions: int = 5  # one more than games that play; each takes about 30 MB
    rewinds: int = 20  # games in an engine whose scripts may store more than its state
    checked_rewinds: int = 2  # of these, those that are compared with a game in a new engine
    checked_clicks: int = 60  # of such a comparison


LIMITS = Limits()
