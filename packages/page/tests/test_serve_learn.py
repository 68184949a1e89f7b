"""Training from the page: the form, runs that outlive the server, and advice of agents."""

import socket
import time

import httpx
import numpy as np
import pytest
from starlette.exceptions import HTTPException

from drrn.cli import main
from drrn.runs.agent import Agent
from drrn.runs.importance import word_importance, word_pages
from drrn.runs.storage import CONFIG
from drrn.settings import all_settings
from tests.browser import PageServer
from textgames.errors import InputError
from textgames.game.contract import Observation
from textgames.openers import GameSpec, make
from textgames_page.advice_worker import AdviceWorker
from textgames_page.library import GameEntry, Library
from textgames_page.run_form import settings_form, settings_from
from textgames_page.runs import RunFolder

pytest.importorskip("starlette")

SMALL = {"hidden": 8, "rounds": 400, "episodes_per_round": 12, "evaluation_episodes": 4}
SMALL |= {"replicas": 2, "updates": 5}


def test_the_form_has_every_setting_but_those_that_name_files():
    form = {field["name"]: field for field in settings_form(make("long-watch"), paper=False)}
    assert set(all_settings()) - set(form) == {"vectors", "sentences"}
    assert form["learner"]["default"] == "returns"  # the strong recipe's
    assert form["rounds"]["kind"] == "int" and form["rounds"]["help"]
    assert "sentence" not in form["encoder"]["choices"]
    assert [name for name, field in form.items() if not field["group"]] == ["rounds"]
    assert form["hidden"]["label"] == "Units per layer"


WRONG = (
    {"vectors": "/etc/passwd"},
    {"model": "os:system"},
    {"encoder": "sentence"},
    {"rounds": 10**9},
    {"rounds": "many"},
    {"replicas": 0},
    {"hidden": 10**6},
    {"no_such": 1},
    {"epochs": None},
)


def test_a_form_cannot_ask_for_files_code_or_more_than_the_limits():
    game = make("long-watch")
    for values in WRONG:
        with pytest.raises(InputError):
            settings_from(game, values, paper=False)


def wait_for(condition):
    """Return the value of a condition once it is true."""
    for _ in range(3_000):
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError("the condition never became true")


@pytest.mark.full
def test_training_outlives_a_killed_server_and_can_be_stopped_and_resumed(tmp_path):
    server = PageServer(tmp_path)
    try:
        request = {"game": "long-watch", "settings": SMALL}
        run = httpx.post(f"{server.link}api/runs", json=request, timeout=60).json()
        assert run["state"] == "starting"
    finally:
        server.kill()
    runs = RunFolder(tmp_path / "runs", Library())  # of another server
    id_ = run["id"]

    def state():
        return runs[id_].as_json()["state"]

    wait_for(lambda: runs[id_].has(CONFIG) and len(runs[id_].rounds()) >= 2)
    assert state() == "running"
    with pytest.raises(HTTPException, match="already running"):
        runs.resume(runs[id_])
    runs.stop(runs[id_])
    wait_for(lambda: state() == "interrupted")
    with pytest.raises(HTTPException, match="not running"):
        runs.stop(runs[id_])
    rounds = len(runs[id_].rounds())
    for too_few in (rounds, 0, "9", True):
        with pytest.raises(HTTPException, match=f"from {rounds + 1} to 10000"):
            runs.resume(runs[id_], too_few)
    runs.resume(runs[id_], rounds + 1)
    assert state() == "running"
    wait_for(lambda: state() == "finished")
    assert len(runs[id_].rounds()) == runs[id_].settings.run.rounds == rounds + 1
    with pytest.raises(HTTPException, match="Add rounds"):
        runs.resume(runs[id_])
    check_details(runs, id_, rounds + 1)
    check_record(runs[id_])
    check_advice(str(runs[id_].folder))
    runs.remove(runs[id_])
    assert runs.ids() == set()


def check_details(runs, id_, rounds):
    data = runs[id_].details()
    assert runs.counts() == {"long-watch": 1}
    assert (data["ready"], data["reference"].best, data["error"]) == (True, 20.0, "")
    assert [point["round"] for point in data["curve"]] == list(range(1, rounds + 1))
    assert data["curve"][-1]["best_final_reward"] == data["scores"]["best"]
    assert len(runs[id_].details(after=rounds - 1)["curve"]) == 1


def check_record(run):
    record = run.learning()
    assert [each["round"] for each in record["rounds"][:2]] == [1, 2]
    assert len(record["rounds"][0]["x"][0]) == len(record["pages"][0]["actions"]) >= 2


def check_advice(folder):
    page = make("long-watch", shuffle=False).reset(0)
    advice = AdviceWorker().advise(folder, "best", [], page, True)
    q = [action["q"] for action in advice["actions"]]
    assert advice["choice"] == q.index(max(q))
    assert sum(action["share"] for action in advice["actions"]) == pytest.approx(1)
    assert all(len(action["replicas"]) == 2 for action in advice["actions"])
    assert q == pytest.approx(Agent.load(folder).ask(page.text, page.actions).mean(axis=0).tolist())
    word = advice["words"]["state"][0]
    assert page.text[word["start"] : word["end"]].lower() == word["word"]


@pytest.mark.full
def test_a_run_that_fails_to_start_has_its_error_without_folders(tmp_path):
    runs = RunFolder(tmp_path, Library())
    job = {"name": "gone", "title": "Gone", "settings": make_settings()}
    entry = GameEntry("gone", "Gone", "given", GameSpec(str(tmp_path / "gone.twee")), "gone")
    run = runs.start(entry, job, "strong")
    assert run.as_json()["state"] == "starting"
    wait_for(lambda: runs[run.id].as_json()["state"] == "failed")
    data = runs[run.id].details()
    assert "gone.twee" in data["error"] and str(tmp_path) not in data["error"]
    assert (data["game"], data["rounds_done"], data["curve"]) == ("Gone", 0, [])


def make_settings():
    return settings_from(make("long-watch"), SMALL, paper=False).flat()


def test_the_importance_of_a_word_is_the_difference_of_q_without_it():
    values = {"gold": 3.0, "door": 1.0, "open": 2.0}

    def q(text):
        return sum(values.get(word, 0.0) for word in text.lower().replace(".", "").split())

    page = Observation("Gold 😀 gold. A door.", ("Open door", "wait"))
    pages = word_pages(page)
    table = np.array([[q(each.text) + q(action) for action in each.actions] for each in pages])
    words = word_importance(page, table)
    state = {(word["start"], word["word"]): word["importance"] for word in words["state"]}
    assert state == {
        (0, "gold"): [3.0, 3.0],
        (8, "gold"): [3.0, 3.0],  # offsets count UTF-16 units, two for the face
        (14, "a"): [0.0, 0.0],
        (16, "door"): [1.0, 1.0],
    }
    assert [word["importance"] for word in words["actions"][0]] == [2.0, 1.0]


def test_a_port_in_use_is_one_sentence(tmp_path, capsys):

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["serve", "--no-browser", "--port", str(port), "--runs", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert f"port {port} is in use" in error and error.count("\n") == 1


@pytest.mark.full
def test_ctrl_c_ends_the_server_quietly(tmp_path):
    server = PageServer(tmp_path)
    assert httpx.get(f"{server.link}api/status").status_code == 200
    server.close()
    assert (server.process.returncode, (tmp_path / "errors").read_text().strip()) == (130, "")
