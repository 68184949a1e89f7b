"""Single keys of a terminal, waited for so many seconds; where no person sits, the seconds alone."""

from __future__ import annotations

import os
import select
import sys
import time
from types import TracebackType
from typing import Any


class Keys:
    """Keys as they are pressed, without Enter; the terminal is put back as it was."""

    def __init__(self) -> None:
        self.before: list[Any] | None = None

    def __enter__(self) -> Keys:
        if sys.stdin is not None and sys.stdin.isatty():
            try:
                import termios
                import tty
            except ImportError:  # no such terminal on this system
                return self
            self.before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin, termios.TCSADRAIN)  # what was typed already counts
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        if self.before is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.before)

    def wait(self, seconds: float | None) -> str:
        """The key that was pressed within so many seconds, or nothing; None waits for a key."""
        if self.before is None:
            time.sleep(seconds or 0.0)
            return ""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        pressed = os.read(sys.stdin.fileno(), 64) if ready else b""  # an arrow is several bytes
        return pressed.decode(errors="replace")[:1].lower()
