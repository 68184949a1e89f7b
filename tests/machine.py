"""An object for a separate process: it does what a test asks for."""

import os
import subprocess
import sys
import time
from pathlib import Path

from textgames.errors import InputError
from textgames.processes import limit_memory, report


class Machine:
    """Does what a test asks for."""

    def __init__(self, closed: Path | None = None, error: Exception | None = None):
        self.closed = closed
        if error is not None:
            raise error

    def add(self, one, other):
        return one + other

    def pid(self):
        return os.getpid()

    def variable(self, name):
        return os.environ.get(name)

    def sleep(self, seconds):
        time.sleep(seconds)

    def start_child(self):
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"]).pid

    def limit(self, megabytes):
        limit_memory(megabytes * 2**20)

    def grow(self, megabytes, seconds):
        data = bytearray(os.urandom(1)) * megabytes * 2**20
        time.sleep(seconds)
        return len(data)

    def refuse(self):
        raise InputError("story.twee, line 3: no such passage")

    def fail(self):
        raise ArithmeticError("of 0")

    def leave(self, code):
        sys.exit(code)

    def die(self, code):
        os._exit(code)

    def unpicklable(self):
        return lambda: None

    def count(self, number):
        for i in range(number):
            report(i)
        return "done"

    def wait(self):
        try:
            while True:
                report("ready")
                time.sleep(0.02)
        except KeyboardInterrupt:
            return "interrupted"

    def close(self):
        if self.closed is not None:
            self.closed.touch()
