"""Runs pushed to and pulled from a stand-in for the Hugging Face Hub; no code of them is run."""

import json
import os
import pickle
import sys

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.runs import storage
from tests.hub_server import running_hub
from tests.runs import train
from tests.stories import FORK, REWARDS

huggingface_hub = pytest.importorskip("huggingface_hub")

EVIL = "from pathlib import Path\nPath('ran').write_text('x')\nfrom drrn.models.drrn import DRRN as Evil\ngame = None\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    (folder / "tale.twee").write_text(f":: StoryTitle\nThe *Tale* | [x](y)\n\n{FORK}")
    (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    train(folder / "tale.toml", folder / "run", "--rounds", "1")
    return folder / "run"


@pytest.fixture
def server(monkeypatch, tmp_path):
    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", "hf_of_nobody")
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        monkeypatch.chdir(tmp_path)
        yield hub


@pytest.mark.usefixtures("server")
def test_a_run_after_push_and_pull_plays_as_before(run, tmp_path, capsys, server):
    killed = tmp_path / "runs/.drrn-pull-killed/tale"
    others = tmp_path / "runs/.tale.123"
    for path in (killed, others):
        path.mkdir(parents=True)
    os.utime(killed.parent, (0, 0))
    assert main(["push", str(run), "ann/tale", "--private"]) == 0
    assert capsys.readouterr().out == f"{server.address}/ann/tale\n"
    assert server.private == {"ann/tale": True}
    files = server.repositories["ann/tale"]
    expected = {"README.md", "config.json", "model.safetensors", "hashes.json", "metrics.jsonl"}
    assert expected < set(files)
    assert "checkpoint.safetensors" not in files
    assert all(str(run.parent).encode() not in data for data in files.values())
    assert main(["pull", "ann/tale"]) == 0 and capsys.readouterr().out == "run: runs/tale\n"
    question = ("The sea is grey.", ["Go out.", "Stay in."])
    folder = tmp_path / "runs/tale"
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"tale", others.name}  # cleared
    assert np.array_equal(drrn.load(folder).ask(*question), drrn.load(run).ask(*question))
    game = str(run.parent / "tale.toml")
    assert main(["watch", str(folder), "--game", game, "--seconds", "0", "--seed", "0"]) == 0
    play = ["play", game, "--agent", str(folder), "--policy", "greedy", "--episodes", "2"]
    assert main(play) == 0
    capsys.readouterr()
    assert main(["watch", str(folder), "--seconds", "0"]) == 2
    assert "tale.toml" in capsys.readouterr().err
    assert main(["pull", "ann/tale"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["train", "--resume", str(folder)]) == 2
    assert "cannot be resumed" in capsys.readouterr().err


def test_a_run_pulled_with_its_checkpoint_can_be_resumed(run, tmp_path, monkeypatch, server):
    assert main(["push", str(run), "ann/tale", "--checkpoint"]) == 0
    assert main(["pull", "ann/tale", "--out", "mine"]) == 0
    monkeypatch.chdir(run.parent)  # the folder of its story
    assert main(["train", "--resume", str(tmp_path / "mine"), "--rounds", "2"]) == 0
    assert len((tmp_path / "mine/metrics.jsonl").read_text().splitlines()) == 2


def test_the_card_has_the_fields_that_the_hub_expects(run):
    text = (run / "README.md").read_text()
    card = huggingface_hub.ModelCard(text)
    data = card.data.to_dict()
    assert (data["library_name"], data["pipeline_tag"]) == ("drrn", "reinforcement-learning")
    (result,) = card.data.eval_results
    assert result.dataset_name == "The *Tale* | [x](y)"
    assert result.metric_type == "mean_reward" and "+/-" in result.metric_value
    assert r"# drrn agent for The \*Tale\* \| \[x\](y)" in text and "drrn.load(" in text
    assert json.loads((run / "config.json").read_text())["game"]["sha256"] in text


def test_only_the_files_of_a_run_are_pulled(run, tmp_path, server):
    main(["push", str(run), "ann/tale"])
    evil = {"evil.py": EVIL.encode(), "model.pkl": pickle.dumps(1), "sub/evil.py": EVIL.encode()}
    server.repositories["ann/tale"] |= evil
    assert main(["pull", "ann/tale", "--out", "mine"]) == 0
    pulled = {path.name for path in (tmp_path / "mine").iterdir()}
    assert not pulled & {"evil.py", "model.pkl", "sub", ".cache"}


def test_pulling_a_run_imports_nothing_that_it_names(run, tmp_path, capsys, server):
    main(["push", str(run), "ann/tale"])
    config = json.loads(server.repositories["ann/tale"]["config.json"])
    config["settings"] |= {"sentences": "evil:Evil", "encoder": "sentence"}
    data = json.dumps(config).encode()
    hashes = json.loads(server.repositories["ann/tale"]["hashes.json"])["files"]
    hashes["config.json"] = [storage.hash_of("config.json", data)]
    files = {"config.json": data, "hashes.json": json.dumps({"files": hashes}).encode()}
    server.repositories["ann/tale"] |= files
    (tmp_path / "evil.py").write_text(EVIL)
    capsys.readouterr()
    assert main(["pull", "ann/tale"]) == 0
    assert "it names Python code (evil:Evil)" in capsys.readouterr().err
    assert main(["push", "runs/tale", "ann/other"]) == 0
    assert main(["watch", "runs/tale"]) == 2
    assert "--trust evil:Evil" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda files: files.pop("model.safetensors"), "it has no model.safetensors"),
        (lambda files: files.update({"config.json": b"{}"}), "ann/tale/config.json: damaged"),
    ],
)
def test_an_incomplete_run_is_not_pulled(run, tmp_path, server, change, message, capsys):
    main(["push", str(run), "ann/tale"])
    change(server.repositories["ann/tale"])
    capsys.readouterr()
    assert main(["pull", "ann/tale", "--out", "mine"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and list(tmp_path.iterdir()) == []


def test_errors_of_the_hub_are_one_sentence(run, tmp_path, server, capsys, monkeypatch):
    for command, message in (
        (["pull", "ann/nothing"], "no such repository"),
        (["pull", "no name at all"], "is not a repository name"),
        (["push", str(run), "../up"], "is not a repository name"),
        (["push", str(tmp_path), "ann/tale"], "not a run"),
    ):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert main(["pull", "ann/tale"]) == 2
    assert "pip install huggingface_hub" in capsys.readouterr().err


def test_the_error_for_an_unreachable_hub_is_one_sentence(run, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_TOKEN", "hf_of_nobody")
    for command in (["push", str(run), "ann/tale"], ["pull", "ann/tale"]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert error.startswith("drrn: ann/tale: cannot reach the Hub: ") and error.count("\n") == 1
    assert not [*tmp_path.glob("runs/*")] and not [*tmp_path.glob("runs/.*")]
