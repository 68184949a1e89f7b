"""A failure in a suite truncates one episode; environments are bounded in number, and all end."""

import gc
import os
import signal
from pathlib import Path

import pytest

import textgames
from tests.suite_files import is_running, open_suite
from textgames.processes import ServiceError
from textsuites.catalogue import read_choice
from textsuites.game import LimitedEnvironment

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="/proc is needed")


@pytest.fixture
def trouble(environments, stand_ins, monkeypatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dname=value")
    game = open_suite("twx:trouble?seed=0&seconds=1&copies=2")
    yield game
    game.close()


def first_step(game, action, seed=None):
    """Return the page after this action on the first page."""
    return game.step(game.reset(seed).actions.index(action))


FAILURES = {
    "hang": "no answer within 1 seconds (allow more with seconds=2",
    "die": 'the step "die" failed: ',  # Java was killed
    "fail": "RuntimeError: the simulator is confused",
}


def test_a_failed_step_truncates_its_episode_and_the_next_one_is_played(trouble, caplog):
    first = trouble.reset(0)
    for action, message in FAILURES.items():
        caplog.clear()
        page = first_step(trouble, action, seed=0)
        assert trouble.stopped
        assert (page.actions, page.text, page.reward) == (first.actions, first.text, 0)
        assert message in caplog.text and "\n" not in caplog.messages[0]
        with pytest.raises(RuntimeError, match="was truncated"):
            trouble.step(0)
        assert trouble.reset(0) == first and not trouble.stopped
        assert trouble.step(first.actions.index("take coin")).reward == 1


def test_a_game_that_fails_every_time_is_rejected(trouble):
    for _ in range(2):
        first_step(trouble, "die")
    with pytest.raises(textgames.InputError, match=r'3 times in a row.*"die" failed'):
        first_step(trouble, "die")


def test_an_environment_killed_between_two_episodes_is_replaced(trouble, environments, caplog):
    first = trouble.reset(0)
    for pid in environments():
        os.killpg(pid, signal.SIGKILL)
    assert trouble.reset(0) == first
    assert "new environment" in caplog.text


def test_without_actions_of_the_suite_looking_around_remains(stand_ins, caplog):
    game = open_suite("twx:quiet?seed=0")
    page = first_step(game, "move east", seed=0)
    game.close()
    assert page.actions == ("look around",) and not game.stopped
    assert "the suite lists no action at" in caplog.text


def test_copies_share_a_bounded_number_of_environments(trouble, environments):
    games = [trouble.another() for _ in range(4)]
    for game in games:
        assert first_step(game, "take coin", seed=0).ended
    (process,) = environments()  # an ended episode releases its environment
    variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    options = [each for each in variables if each.startswith(b"JAVA_TOOL_OPTIONS=")]
    assert options[0].startswith(b"JAVA_TOOL_OPTIONS=-Dname=value -XX:")  # the user's, and ours
    games = [trouble, *games]
    pages = [game.reset(seed) for seed, game in enumerate(games)]
    assert len(environments()) == 2
    assert games[-1].step(pages[-1].actions.index("take coin")).ended
    with pytest.raises(textgames.InputError, match=r"more than 2 episodes .* copies=4"):
        games[0].step(0)
    assert games[0].reset(0) == pages[0]


@pytest.mark.full
def test_no_process_remains_when_a_game_is_closed_or_collected(environments, stand_ins):
    game = open_suite("twx:coin")
    copies = [game.another() for _ in range(3)]
    for copy in copies:
        copy.reset(0)
    pids = environments()
    assert len(pids) == 3
    game.close()
    assert not any(map(is_running, pids))
    game = open_suite("twx:coin")
    game.reset(0)
    pids = environments()
    del game, copies, copy
    gc.collect()
    assert pids and not any(map(is_running, pids))


def test_no_process_remains_when_a_game_cannot_be_opened(environments, stand_ins):
    with pytest.raises(ServiceError, match="opening failed: no answer within 2 seconds"):
        LimitedEnvironment(read_choice("twx:stuck?seconds=1"), opening=2)
    with pytest.raises(textgames.InputError, match="has no game"):
        open_suite("twx:coins")
    assert not environments()
