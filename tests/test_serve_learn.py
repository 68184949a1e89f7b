"""Training from the page: the form, runs that outlive the server, stop and go on; what an agent thinks of a page."""

import os
import signal
import subprocess
import sys
import time

import httpx
import pytest

from drrn.errors import InputError
from drrn.game.make import make
from drrn.serve.advice_worker import AdviceWorker, word_importance
from drrn.serve.embeddings import read_embeddings
from drrn.serve.forms import settings_form, settings_from
from drrn.serve.http import RequestError
from drrn.serve.library import Library
from drrn.serve.runs import RunFolder
from drrn.settings import all_settings

pytest.importorskip("starlette")

SMALL = {
    "hidden": 8,
    "rounds": 400,
    "episodes_per_round": 12,
    "evaluation_episodes": 4,
    "replicas": 2,
    "updates": 5,
}


def test_the_form_has_every_setting_but_those_that_name_files():
    form = {field["name"]: field for field in settings_form(make("long-watch"), paper=False)}
    assert set(all_settings()) - set(form) == {"vectors", "sentences"}
    assert form["learner"]["default"] == "returns"  # the strong recipe's
    assert form["rounds"]["kind"] == "int" and form["rounds"]["help"]
    assert "sentence" not in form["encoder"]["choices"]


@pytest.mark.parametrize(
    "given",
    [
        {"vectors": "/etc/passwd"},
        {"model": "os:system"},
        {"encoder": "sentence"},
        {"rounds": 10**9},
        {"rounds": "many"},
        {"replicas": 0},
        {"hidden": 10**6},
        {"no_such": 1},
        {"epochs": None},
    ],
)
def test_a_form_cannot_ask_for_files_code_or_more_than_there_is(given):
    with pytest.raises(InputError):
        settings_from(make("long-watch"), given, paper=False)


def until(holds):
    """Look again and again until something holds; what it is then."""
    for _ in range(3_000):
        if found := holds():
            return found
        time.sleep(0.1)
    raise AssertionError("it never came to hold")


def begun_server(folder):
    """A server in a process of its own: the process, and its link."""
    arguments = ["serve", "--no-browser", "--port", "0", "--runs", str(folder)]
    server = subprocess.Popen(
        [sys.executable, "-m", "drrn", *arguments], stdout=subprocess.PIPE, text=True
    )
    return server, server.stdout.readline().strip()


def test_training_goes_on_when_the_server_is_killed_and_can_be_stopped_and_resumed(tmp_path):
    server, link = begun_server(tmp_path)
    try:
        asked = {"game": "long-watch", "settings": SMALL}
        run = httpx.post(f"{link}api/runs", json=asked, timeout=60).json()
        assert run["status"] == "starting"
    finally:
        os.kill(server.pid, signal.SIGKILL)
        server.communicate()
    runs = RunFolder(tmp_path, Library())  # of another server
    id_ = run["id"]
    until(lambda: len(runs[id_].rounds) >= 2)
    assert runs.as_json(runs[id_])["status"] == "running"
    runs.stop(runs[id_])
    until(lambda: runs.as_json(runs[id_])["status"] == "stopped")
    rounds = len(runs[id_].rounds)
    for too_few in (rounds, 0, "9", True):
        with pytest.raises(RequestError, match=f"an integer from {rounds + 1} to 10000"):
            runs.resume(runs[id_], too_few)
    runs.resume(runs[id_], rounds + 1)
    assert runs.as_json(runs[id_])["status"] in ("starting", "running")
    until(lambda: runs.as_json(runs[id_])["status"] == "finished")
    assert len(runs[id_].rounds) == runs[id_].settings["rounds"] == rounds + 1
    assert f"After round {rounds + 1} (" in (runs[id_].folder / "README.md").read_text()
    with pytest.raises(RequestError, match="only with more rounds"):
        runs.resume(runs[id_])
    whole = runs.details(runs[id_])
    assert (whole["game"], whole["ready"], whole["reference"]["best"]) == ("long-watch", True, 20.0)
    check_embeddings(runs[id_])
    check_advice(str(runs[id_].folder))
    runs.remove(runs[id_])
    assert runs.ids() == set()


def check_embeddings(run):
    told = read_embeddings(run.files.side, 0)
    assert [one["round"] for one in told["rounds"][:2]] == [1, 2]
    assert len(told["rounds"][0]["actions"]) == len(told["actions"]) >= 2


def check_advice(folder):
    page = make("long-watch", shuffle=False).reset(0)
    thought = AdviceWorker().advise(folder, "best", [], page.text, page.actions, False, True)
    assert thought["choice"] == max(
        range(len(page.actions)), key=lambda i: thought["actions"][i]["q"]
    )
    assert sum(action["share"] for action in thought["actions"]) == pytest.approx(1)
    assert all(len(action["replicas"]) == 2 for action in thought["actions"])
    word = thought["words"]["state"][0]
    assert page.text[word["start"] : word["end"]].lower() == word["word"]


def test_a_words_importance_is_what_q_loses_without_it():
    worth = {"gold": 3.0, "door": 1.0, "open": 2.0}

    def ask(pages):
        import numpy as np

        def q(text):
            return sum(worth.get(word, 0.0) for word in text.lower().replace(".", "").split())

        return np.array([[q(state) + q(action) for action in menu] for state, menu in pages])

    found = word_importance("Gold 😀 gold. A door.", ["Open door", "wait"], ask)
    state = {(one["start"], one["word"]): one["importance"] for one in found["state"]}
    assert state == {
        (0, "gold"): [3.0, 3.0],
        (8, "gold"): [3.0, 3.0],  # offsets count as a browser does: the face takes two
        (14, "a"): [0.0, 0.0],
        (16, "door"): [1.0, 1.0],
    }
    assert [one["importance"] for one in found["actions"][0]] == [2.0, 1.0]


def test_a_port_in_use_is_one_sentence(tmp_path, capsys):
    import socket

    from drrn.cli import main

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", "--no-browser", "--port", str(port), "--runs", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"port {port} is in use" in said and said.count("\n") == 1


def test_ctrl_c_ends_the_server_quietly(tmp_path):
    arguments = ["serve", "--no-browser", "--port", "0", "--runs", str(tmp_path)]
    server = subprocess.Popen(
        [sys.executable, "-m", "drrn", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )  # fmt: skip
    link = server.stdout.readline().strip()
    assert httpx.get(f"{link}api/status").status_code == 200
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=30)
    assert (server.returncode, said.strip()) == (130, "")
