"""Many hosted games in one process: no leak, no hang, and a bad one does not affect others."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

import textgames
from storytest.authored import AuthoredGame
from storytest.hosted import session
from storytest.hosted.engine import OPEN_ISOLATES
from tests.stories import open_hosted
from tests.tiny_engine import tiny_story
from textgames.errors import InputError

WALK = {"Hall": "A hall.<p>[[go on->Cave]]</p>", "Cave": "A cave.<p>[[go back->Hall]]</p>"}
LOOPS = tiny_story(WALK, script="for (;;);")


@pytest.fixture
def open_page(tmp_path, home):
    """Function that opens a page as a game; the games are closed after the test."""
    games = []

    def open_file(page, name):
        (tmp_path / name).write_text(page, encoding="utf-8")
        games.append(open_hosted(tmp_path / name))
        return games[-1]

    yield open_file
    for game in games:
        game.close()


def output_of(program, tmp_path):
    """Run a program in a new process and a folder with two stories; return the printed words."""
    (tmp_path / "tale.html").write_text(tiny_story(WALK), encoding="utf-8")
    (tmp_path / "loop.html").write_text(LOOPS, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


INTERRUPT = """
import os, signal, threading
import textgames
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it for its background jobs
other = textgames.make("tale.html")
other.reset(0)
game = textgames.make("loop.html")
threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    game.reset(0)
except KeyboardInterrupt:
    print("interrupted")
print(other.step(0).actions[0].replace(" ", "_"))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.full
def test_ctrl_c_ends_a_call_and_other_games_continue(tmp_path):
    assert output_of(INTERRUPT, tmp_path) == ["interrupted", "go_back"]


@pytest.mark.parametrize("engine", ["native", "hosted"])
def test_a_deleted_game_is_collected_with_its_story_and_its_engine(tmp_path, engine):
    last = "THE END<p>[[oh->Hall]]</p><p>[[oh->Hall]]</p>"
    page = tiny_story({"Hall": "A hall.<p>[[go on->Last]]</p>", "Last": last})
    (tmp_path / "gone.html").write_text(page, encoding="utf-8")
    gc.collect()
    before = len(OPEN_ISOLATES)
    game = textgames.make(tmp_path / "gone.html", engine=engine)
    assert isinstance(game, AuthoredGame)
    game.reset(0)
    assert game.step(0).ended
    assert len(OPEN_ISOLATES) == before + (engine == "hosted")
    story = weakref.ref(game.story)
    del game
    gc.collect()
    assert story() is None and len(OPEN_ISOLATES) == before


@pytest.mark.full
def test_a_rejected_story_releases_its_engine_and_others_continue(monkeypatch, open_page):
    monkeypatch.setitem(session.Session.__init__.__kwdefaults__, "seconds", 0.5)
    before = len(OPEN_ISOLATES)
    good = open_page(tiny_story(WALK), "good.html")
    good.reset(0)
    for _ in range(3):
        with pytest.raises(InputError, match="it loops"):
            open_page(LOOPS, "bad.html").reset(0)
    assert len(OPEN_ISOLATES) == before + 1
    assert good.step(0).text == "A cave."
