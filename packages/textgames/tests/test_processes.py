"""Services answer questions from their own processes; locks and temporary folders survive kills."""

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.machine import Machine
from tests.source_code import ROOT
from textgames.errors import InputError
from textgames.processes import Service, ServiceError, locked

HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(99)
"""
# a script without `if __name__ == "__main__":` whose services run when it is killed
SCRIPT = """
import time
from textgames.processes import Service
from tests.machine import Machine
from tests.source_code import ROOT
from tests.machine import Machine
services = [Service(Machine), Service(Machine)]
print(*[service.ask("pid") for service in services], flush=True)
services[1].send("sleep", 99)
time.sleep(99)
"""


@pytest.fixture(scope="module")
def machine():
    """A service that all tests share."""
    with Service(Machine, environment={"TEXTGAMES_TEST": "x"}) as service:
        yield service


@pytest.fixture
def mortal():
    """A service that a test may end."""
    with Service(Machine) as service:
        yield service


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def wait_for_death(*pids):
    for _ in range(500):
        if not any(map(alive, pids)):
            return
        time.sleep(0.02)
    raise AssertionError(f"alive: {[pid for pid in pids if alive(pid)]}")


def test_a_service_answers_in_another_process_with_its_own_environment(machine):
    assert machine.ask("add", 2, 3) == 5
    pid = machine.ask("pid")
    assert pid != os.getpid()
    assert os.getpgid(pid) != os.getpgid(0)  # which a terminal sends Ctrl-C to
    assert machine.ask("variable", "TEXTGAMES_TEST") == "x" and "TEXTGAMES_TEST" not in os.environ


def test_refusals_and_exceptions_leave_the_process_alive(machine):
    pid = machine.ask("pid")
    with pytest.raises(InputError, match="line 3"):
        machine.ask("refuse")
    for method, arguments, message in (
        ("fail", (), "ArithmeticError: of 0"),
        ("leave", (3,), "SystemExit: 3"),
        ("unpicklable", (), "pickle"),
        ("nothing", (), "AttributeError"),
    ):
        with pytest.raises(ServiceError, match=message) as raised:
            machine.ask(method, *arguments)
        assert raised.value.reason == "raised" and "Traceback" in raised.value.details
    assert machine.ask("pid") == pid


def test_errors_while_the_object_is_created():
    with Service(Machine, None, InputError("no such game")) as service:
        with pytest.raises(InputError, match="no such game"):
            service.ask("pid")
        with pytest.raises(ServiceError) as raised:  # the process has ended
            service.ask("pid")
        assert raised.value.reason == "died"


def test_a_process_that_dies_is_reported_each_time(mortal):
    for _ in range(2):
        with pytest.raises(ServiceError, match="code 3") as raised:
            mortal.ask("die", 3)
        assert raised.value.reason == "died"


def test_a_slow_answer_kills_the_process_and_its_children(mortal):
    pid = mortal.ask("pid")
    child = mortal.ask("start_child")
    with pytest.raises(ServiceError, match=r"0\.2 seconds") as raised:
        mortal.ask("sleep", 99, timeout=0.2)
    assert raised.value.reason == "timeout"
    wait_for_death(pid, child)


def test_several_questions_are_answered_in_order_and_abandoned_ones_dropped(machine):
    machine.send("add", 1, 1)
    machine.send("fail")
    assert machine.ask("add", 2, 2) == 4
    numbers = [machine.send("add", i, i) for i in range(5)]
    assert [machine.answer(number) for number in numbers] == [0, 2, 4, 6, 8]


def test_reports_come_before_the_answer(machine):
    machine.ask("pid")
    question = machine.send("count", 3)
    replies = [machine.receive(20) for _ in range(4)]
    assert replies == [*((question, "report", i) for i in range(3)), (question, "answer", "done")]
    heard: list[int] = []
    assert machine.ask("count", 2, on_report=heard.append) == "done"
    assert heard == [0, 1]


def test_an_interrupt_reaches_only_code_that_reports(mortal):
    mortal.open()
    mortal.interrupt()  # nothing is asked
    question = mortal.send("wait")
    later = mortal.send("add", 1, 2)
    assert mortal.receive(20).kind == "report"
    mortal.interrupt()
    assert mortal.answer(question, timeout=20) == "interrupted"
    mortal.interrupt()
    assert mortal.answer(later) == 3


@pytest.mark.parametrize("limit", ["argument", "function"])
def test_a_process_over_its_memory_limit_ends(limit):
    with Service(Machine, memory=300 * 2**20 if limit == "argument" else None) as service:
        assert service.ask("grow", 30, 0) == 30 * 2**20
        if limit == "function":
            service.ask("limit", 100)
        for _ in range(2):
            with pytest.raises(ServiceError) as raised:
                service.ask("grow", 400, 20)
            assert raised.value.reason == "memory"


def test_the_object_is_closed_when_the_service_is_closed_or_collected(tmp_path):
    with Service(Machine, tmp_path / "one") as service:
        pid = service.ask("pid")
        child = service.ask("start_child")
    assert (tmp_path / "one").exists()
    wait_for_death(pid, child)
    service = Service(Machine, tmp_path / "two")
    assert service.ask("add", 1, 1) == 2
    del service
    gc.collect()
    assert (tmp_path / "two").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_services_die_with_their_parent(number):
    root = str(ROOT)
    environment = {**os.environ, "PYTHONPATH": root}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, **pipes)
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2 and all(map(alive, pids))
    parent.send_signal(number)
    parent.communicate()
    wait_for_death(*pids)


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    path = tmp_path / ".lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(InputError, match="busy"), locked(path, "busy"):
        pass
    holder.kill()
    holder.communicate()
    assert path.exists()
    with locked(path, "busy"):
        pass
    assert not path.exists()
