"""Windows, imitated: the modules that it lacks are missing, and its branches are taken."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="imitates Windows elsewhere")

# The standard library and other packages are imported before the platform changes.
IMITATE = """
import asyncio, ctypes, multiprocessing.connection, pathlib, shutil, signal, subprocess, sys, tempfile
import types, webbrowser
import numpy, starlette.applications, starlette.testclient, uvicorn
from uvicorn.protocols.http import h11_impl
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
locking = types.SimpleNamespace(LK_NBLCK=0, locking=lambda *arguments: None)
sys.modules["msvcrt"] = locking
signal.CTRL_BREAK_EVENT = signal.SIGBREAK = signal.SIGINT
sys.platform = "win32"
"""


def run(code, folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["TEXTGAMES_HOME"] = str(folder / "home")
    words = [sys.executable, "-c", IMITATE + code]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)


def test_the_page_and_the_engines_of_stories_import_without_modules_of_unix(tmp_path):
    pytest.importorskip("uvicorn")
    code = """
import textgames_page.command, storytest.cli.test, textgames_page.app, textgames_page.playtest_worker, storytest.ink
from textgames.processes import memory
assert memory() == 0
"""
    result = run(code, tmp_path)
    assert result.returncode == 0, result.stderr
