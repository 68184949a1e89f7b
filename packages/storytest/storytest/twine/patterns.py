"""Regular expressions of a TOML (`regex`, `drop`, `restart`), each search limited in time.

The author of a TOML may be a stranger, and some patterns, such as `(a+)+$`, need exponential time.
"""

import re
import warnings

import regex

from textgames.errors import InputError


class Pattern:
    """A pattern whose search ends, or an `re.error` if it is not a regular expression."""

    def __init__(self, source: str, flags: int = 0, seconds: float = 1.0) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of "[[", a bracket in a set
            self.compiled = re.compile(source, flags)
        try:
            self._limited = regex.compile(source, flags)
        except regex.error as error:
            raise re.error(str(error)) from error
        self.seconds = seconds

    def __repr__(self) -> str:
        return repr(self.compiled)  # part of the fingerprints of stories

    def search(self, text: str) -> bool:
        """Whether the pattern occurs in the text.

        Raises:
            InputError: The search takes too long.
        """
        try:
            return self._limited.search(text, timeout=self.seconds) is not None
        except TimeoutError:
            cause = f"the pattern {self.compiled.pattern!r} takes too long"
            raise InputError(f"{cause}; leave out nested repeats") from None
