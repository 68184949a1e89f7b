"""A trained agent is watched while it plays."""

import os
import pty
import sys

import pytest

from drrn.cli import main
from drrn.cli.watch import Keys, seconds_to_read
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


def test_without_a_terminal_one_game_is_shown_and_another_game_is_said_to_be_one(run, capsys):
    assert (
        main(["watch", str(run), "--seconds", "0", "--game", "long-watch", "--policy", "softmax"])
        == 0
    )
    out, error = capsys.readouterr()
    assert out.count("The end") + out.count("The game stops here") == 1
    assert "it may play poorly" in error and error.count("\n") == 1


@pytest.mark.parametrize("seconds", ["-1", "nan", "soon"])
def test_seconds_that_are_none_are_one_sentence(run, seconds, capsys):
    assert main(["watch", str(run), "--seconds", seconds]) == 2
    assert "--seconds" in capsys.readouterr().err


def test_a_page_stays_as_long_as_reading_it_takes():
    assert seconds_to_read("Three words only.") == 2 and seconds_to_read("word " * 100) == 25


def test_keys_are_heard_without_enter_and_the_terminal_is_put_back(run, monkeypatch, capsys):
    import termios

    ours, theirs = pty.openpty()
    terminal = os.fdopen(theirs)
    before = termios.tcgetattr(terminal)
    monkeypatch.setattr(sys, "stdin", terminal)
    with Keys() as keys:
        os.write(ours, b"Q")
        assert keys.wait(5) == "q" and keys.wait(0) == ""
    assert termios.tcgetattr(terminal) == before
    os.write(ours, b"q")
    assert main(["watch", str(run), "--seed", "1", "--seconds", "1", "--episodes", "2"]) == 0
    assert "→" not in capsys.readouterr().out
    terminal.close()
    os.close(ours)
