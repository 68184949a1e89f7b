"""`drrn watch`: pages and options."""

import os
import pty
import sys

import pytest

from drrn.cli import main
from drrn.cli.watch import seconds_to_read
from tests.runs import train
from tests.stories import FORK, REWARDS


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    (folder / "tale.twee").write_text(FORK.replace("grey", "gr\x1b[2Jey"))
    (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    train(folder / "tale.toml", folder / "run", "--rounds", "1", "--history", "1")
    return folder / "run"


def test_the_agent_plays_page_by_page_to_the_end(run, capsys):
    assert main(["watch", str(run), "--seconds", "0", "--seed", "1", "--episodes", "2"]) == 0
    out, error = capsys.readouterr()
    assert out.count("The end") == 2 and out.count("Final reward") == 2 and "→ " in out
    assert "%" in out and "tale" in out and "\x1b[2J" not in out and error == ""
    assert main(["watch", str(run), "--seconds", "0", "--seed", "1", "--episodes", "2"]) == 0
    assert capsys.readouterr().out == out


def test_without_a_terminal_one_game_is_played_and_another_game_gives_a_warning(run, capsys):
    options = ["--game", "long-watch", "--policy", "softmax"]  # and no pause
    assert main(["watch", str(run), *options]) == 0
    out, error = capsys.readouterr()
    assert out.count("The end") + out.count("The game stops here") == 1
    assert "it may play poorly" in error and error.count("\n") == 1


@pytest.mark.parametrize("seconds", ["-1", "nan", "soon"])
def test_invalid_seconds_are_rejected(run, seconds, capsys):
    assert main(["watch", str(run), "--seconds", seconds]) == 2
    assert "--seconds" in capsys.readouterr().err


def test_seconds_to_read_grow_with_the_text():
    assert seconds_to_read("Three words only.") == 2 and seconds_to_read("word " * 100) == 25


def test_enter_shows_the_next_page_at_once(run, monkeypatch, capsys):
    master, slave = pty.openpty()
    with os.fdopen(slave) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        os.write(master, b"\n" * 20)
        assert main(["watch", str(run), "--seed", "1", "--seconds", "600", "--episodes", "2"]) == 0
    assert capsys.readouterr().out.count("The end") == 2
    os.close(master)
