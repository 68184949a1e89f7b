"""Ends a process in which a method of a user's game does not return."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from textgames.game.contract import looks_like_a_game
from textgames.game.gymnasium_game import is_environment
from textgames.openers import users_call

SECONDS = "TEXTGAMES_STEP_SECONDS"  # environment variable for the processes of a command


@contextmanager
def watched(fail: Callable[[str], None]) -> Iterator[None]:
    """End this process with exit code 2 if a call of a game in this thread takes too long.

    Does nothing without the environment variable. A call that never lets other threads run, such
    as a loop in C, is not noticed.

    Args:
        fail: Called with a sentence before the end.
    """
    seconds = float(os.environ.get(SECONDS) or 0)
    is_over = threading.Event()
    arguments = (threading.get_ident(), seconds, is_over, fail)
    thread = threading.Thread(target=_watch, args=arguments, daemon=True)
    if seconds:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if seconds:
            thread.join()


def _watch(
    thread: int, seconds: float, is_over: threading.Event, fail: Callable[[str], None]
) -> None:
    last = None
    since = 0.0
    while not is_over.wait(min(1.0, seconds / 5)):
        frame = sys._current_frames().get(thread)
        frames = []
        while frame is not None:
            frames.append((frame, frame.f_lineno))
            frame = frame.f_back
        call, where = users_call(reversed(frames), _is_game)
        if call is not last:
            last = call  # the frame stays, so that no later call has its identity
            since = time.monotonic()
        elif call is not None and time.monotonic() - since > seconds:
            fail(f"{where} did not return within {seconds:g} seconds (see --step-seconds)")
            os._exit(2)


def _is_game(owner: object) -> bool:
    return looks_like_a_game(owner) or is_environment(owner)
