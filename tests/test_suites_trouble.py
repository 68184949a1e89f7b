"""What goes wrong in a suite costs an episode and nothing else; environments are few, and none is left behind."""

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

import drrn
from drrn.suites.game import MAX_FAILURES
from tests.suite_files import child_processes, is_running
from tests.trainings import SMALL

pytestmark = pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="processes are looked for in /proc"
)


@pytest.fixture
def environments():
    """Asks for the environments that this test has started; one that another test still holds is not counted."""
    earlier = set(child_processes())
    return lambda: [pid for pid in child_processes() if pid not in earlier]


@pytest.fixture
def trouble(environments, stand_ins):
    game = drrn.make("twx:trouble?seed=0&seconds=1&copies=2")
    yield game
    game.close()


def does(game, words, seed=None):
    """The page after an action from the first page."""
    return game.step(game.reset(seed).actions.index(words))


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        ("hang", 'the step "hang" did not finish in 1 seconds (allow more with seconds=2'),
        ("die", 'the process was killed by SIGKILL, at the step "die"'),
        ("fail", 'the step "fail" failed: RuntimeError: the simulator is confused'),
    ],
)
def test_a_failed_step_truncates_its_episode_and_the_next_one_is_played(
    trouble, caplog, action, sentence
):
    first = trouble.reset(0)
    page = does(trouble, action, seed=0)
    assert trouble.stopped and (page.actions, page.text, page.reward) == (
        first.actions,
        first.text,
        0,
    )  # no ending
    assert sentence in caplog.text and "\n" not in caplog.messages[0]
    with pytest.raises(RuntimeError, match="was truncated"):
        trouble.step(0)
    assert trouble.reset(0) == first and not trouble.stopped
    assert trouble.step(first.actions.index("take coin")).reward == 1


def test_what_goes_wrong_every_time_is_refused(trouble):
    for _ in range(MAX_FAILURES - 1):
        does(trouble, "die")
    with pytest.raises(
        drrn.InputError, match=f"{MAX_FAILURES} times in a row: the process was killed"
    ):
        does(trouble, "die")


@pytest.mark.slow
def test_a_run_continues_when_environments_die(stand_ins, caplog):
    settings = {**SMALL, "rounds": 1, "episodes_per_round": 8, "replicas": 1}
    game = Careless(drrn.make("twx:trouble?seed=0&seconds=2&max_steps=3&copies=1"))
    trainer = drrn.trainer(game, paper=True, **settings)
    (finished,) = trainer.train()
    game.game.close()
    assert finished.transitions > 0 and "the next one gets a new environment" in caplog.text


class Careless:
    """A game with an action fewer: all but the one that hangs; every seventh step dies, whatever was chosen."""

    name = "careless"
    max_steps = 3

    def __init__(self, game):
        self.game = game
        self.steps = 0

    @property
    def stopped(self):
        return self.game.stopped

    def reset(self, seed=None):
        self.page = self.game.reset(seed)
        return self._shown()

    def step(self, index):
        self.steps += 1
        words = "die" if self.steps % 7 == 0 else self._shown().actions[index]
        self.page = self.game.step(self.page.actions.index(words))
        return self._shown()

    def _shown(self):
        kept = tuple(
            action for action in self.page.actions if action not in ("hang", "die", "fail")
        )
        return drrn.Observation(self.page.text, kept, self.page.reward)


def test_an_environment_that_was_killed_between_two_episodes_is_replaced(
    trouble, environments, caplog
):
    first = trouble.reset(0)
    for pid in environments():
        os.killpg(pid, signal.SIGKILL)
    assert trouble.reset(0) == first
    assert "the episode starts in a new environment" in caplog.text


def test_where_a_suite_lists_no_actions_looking_remains(stand_ins, caplog):
    game = drrn.make("twx:quiet?seed=0")
    page = does(game, "move east", seed=0)
    game.close()
    assert page.actions == ("look around",) and not game.stopped
    assert "the suite lists no action at" in caplog.text


def test_copies_share_a_bounded_number_of_environments(trouble, environments):
    games = [trouble, *(trouble.another() for _ in range(4))]
    pages = [game.reset(seed) for seed, game in enumerate(games)]
    assert len(environments()) == 2
    assert games[-1].step(pages[-1].actions.index("take coin")).ended
    with pytest.raises(
        drrn.InputError, match=r"more than 2 episodes are played at once.* copies=4 in the name"
    ):
        games[0].step(0)
    assert games[0].reset(0) == pages[0]


def test_an_episode_that_has_ended_needs_no_environment(trouble, environments):
    games = [trouble.another() for _ in range(6)]
    for game in games:
        assert does(game, "take coin", seed=0).ended
    assert len(environments()) == 1


@pytest.mark.slow
def test_no_process_remains_when_a_game_is_closed_or_collected(environments, stand_ins):
    game = drrn.make("twx:coin")
    copies = [game.another() for _ in range(3)]
    for copy in copies:
        copy.reset(0)
    pids = environments()
    assert len(pids) == 3
    game.close()
    assert not any(map(is_running, pids))
    game = drrn.make("twx:coin")
    game.reset(0)
    pids = environments()
    del game, copies, copy
    gc.collect()
    assert pids and not any(map(is_running, pids))


SCRIPT = """
import os, signal
import drrn
from tests.suite_files import child_processes
game = drrn.make("twx:trouble?seconds=30")  # at the top of a script, without a guard
page = game.reset(0)
print(game.choice.name, *child_processes(), flush=True)
"""


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "raise SystemExit(3)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "game.step(page.actions.index('hang'))",
    ],
)
@pytest.mark.slow
def test_no_process_remains_when_the_program_ends(stand_ins, ending):
    program = subprocess.Popen([sys.executable, "-c", SCRIPT + ending], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    name, *pids = program.stdout.readline().split()
    if "hang" in ending:
        program.kill()
    program.wait()
    program.stdout.close()
    assert name == "twx:trouble?seconds=30" and len(pids) == 1
    wait_until(lambda: not is_running(int(pids[0])))


def wait_until(holds):
    """Wait for what takes a moment; a minute is not one."""
    for _ in range(600):
        if holds():
            return
        Event().wait(0.1)
    raise AssertionError("it took more than a minute")
