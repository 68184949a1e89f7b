"""Code of strangers: nothing that a file names is imported, unless the user allowed it."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import drrn
from drrn.cli import PROGRAM, parser
from drrn.experiments import cluster
from drrn.runs.config import CODE_SETTINGS, versions
from drrn.sentences import open_sentences
from drrn.settings import Settings, all_settings
from lab.experiments.job import Job
from tests.commands import main
from tests.runs import SMALL, rehash, train
from textgames import registry
from textgames.command_line import trust_code
from textgames.errors import InputError
from textgames.openers import GameSpec
from textgames.processes import Service
from textgames_page import runs as page_runs
from textgames_page.advice_worker import agent_of
from textgames_page.library import Library
from textgames_page.run_form import settings_from

CANARY = """
from pathlib import Path

from drrn.models.drrn import DRRN

Path(__file__).with_name("ran").touch()

class Own(DRRN):
    pass

def vectors(texts):
    return [[1.0, 2.0]] * len(texts)
"""
NAMES = ("canary:Own", "os:system", "subprocess:getoutput", "builtins:eval", "canary:os.system")
PLACES = {
    "model": {"model"},
    "interaction": {"interaction"},
    "encoder": {"encoder"},
    "action encoder": {"action_encoder"},
    "learner": {"learner"},
    "sentences": {"sentences"},
    "two sentence models": {"sentences"},
    "game": set(),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small run, which no test changes."""
    from tests.stories import FORK, REWARDS

    folder = tmp_path_factory.mktemp("trained")
    (folder / "tale.twee").write_text(FORK)
    (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    assert train(folder / "tale.toml", folder / "run") == 0
    return folder / "run"


@pytest.fixture
def stranger(import_folder, monkeypatch, home):
    """A folder with a module that leaves a file when it is imported; calls of a shell fail."""
    folder = import_folder / "stranger"
    folder.mkdir()
    (folder / "canary.py").write_text(CANARY)

    def refuse(*arguments, **options):
        raise AssertionError(f"a shell was called: {arguments}")

    monkeypatch.setattr(os, "system", refuse)
    monkeypatch.setattr(subprocess, "getoutput", refuse)
    monkeypatch.setenv(registry.TRUSTED, "")
    return folder


@pytest.fixture
def foreign(trained, stranger):
    """Function that copies the run, and makes its config.json name code."""

    def copy(place, name):
        run = stranger / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(trained, run)
        config = json.loads((run / "config.json").read_text())
        config["folder"] = str(stranger)
        config["game"]["folder"] = str(stranger)
        if place == "game":
            config["game"]["source"] = name
        for setting in PLACES[place]:
            config["settings"][setting] = f"{name}+{name}" if place.startswith("two") else name
        if "sentences" in PLACES[place]:
            config["settings"]["encoder"] = "sentence"
            config["sentences"] = {"sha256": "0"}
        (run / "config.json").write_text(json.dumps(config))
        rehash(run)
        return run

    return copy


def commands_of(run, tale):
    """Return commands that open a run: those that need its code, and those that do not."""
    ask = ["ask", run, "--state", "The sea.", "--action", "Go."]
    few = ["--episodes", "2"]
    opening = [
        ["evaluate", run, *few],
        ["evaluate", run, *few, "--exact", "--policy", "softmax"],
        ask,
        ["ask", run, "--examples", "2"],
        ["play", tale, "--agent", run, "--policy", "greedy", *few],
        ["watch", run, "--seconds", "0"],
        ["train", "--resume", run, "--rounds", "4"],
        ["train", tale, "--config", run, "--rounds", "1"],
        ["arena", tale, "--player", f"agent:{run}", "--episodes", "1", "--out", run.parent / "x"],
    ]
    reading = [["runs", run.parent], ["runs", run.parent, "--json"], ["compare", run, run]]
    return opening, reading


def run_command(command, capsys):
    code = main([str(word) for word in command])
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "name"),
    [*((place, "canary:Own") for place in PLACES), *(("model", name) for name in NAMES[1:])],
)
def test_no_command_imports_what_a_run_names(place, name, foreign, stranger, trained, capsys):
    run = foreign(place, name)
    opening, reading = commands_of(run, trained.parent / "tale.toml")
    path = list(sys.path)
    refusals = 0
    for command in opening:
        code, error = run_command(command, capsys)
        refusals += code == 2 and (f"--trust {name}" in error or "standard library" in error)
        assert code in (0, 2) and "Traceback" not in error, (command, error)
        assert error.count("\n") <= 1, error
        assert not (stranger / "ran").exists(), command
    for command in reading:
        code, error = run_command(command, capsys)
        assert code == 0, (command, error)
    assert refusals >= 1
    if place != "learner":
        assert refusals >= 4
    assert not (stranger / "ran").exists() and str(stranger) not in sys.path
    assert [entry for entry in sys.path if entry not in path] in ([], [str(Path.cwd())])


@pytest.mark.parametrize("place", PLACES)
def test_no_process_of_the_page_imports_what_a_run_names(place, foreign, stranger, trained):
    run = foreign(place, "canary:Own")
    if place in ("game", "learner"):  # an agent is loaded without them
        assert agent_of(str(run)).settings.run.replicas == 2
    else:
        with pytest.raises(InputError, match="--trust canary:Own"):
            agent_of(str(run))
    assert not (stranger / "ran").exists()


@pytest.mark.parametrize(
    ("setting", "name"),
    [*((setting, "canary:Own") for setting in CODE_SETTINGS), ("model", "os:system")],
)
def test_the_toml_of_a_story_and_a_file_of_settings_import_nothing(
    setting, name, stranger, tale, capsys, monkeypatch
):
    monkeypatch.chdir(stranger)
    plain = tale.read_text()
    more = '\nencoder = "sentence"' if setting == "sentences" else ""
    tale.write_text(f'{plain}\n[training]\n{setting} = "{name}"{more}\n')
    settings = {setting: name, **({"encoder": "sentence"} if more else {})}
    (stranger / "best.json").write_text(json.dumps({"recipe": "paper", "settings": settings}))
    (stranger / "settings.json").write_text(json.dumps(settings))
    (tale.parent / "plain.toml").write_text(plain)
    small = [*SMALL, "--rounds", "1", "--out", stranger / "out"]
    few = ["--set", "rounds=1", "--jobs", "1", "--paper", "--out", stranger / "out"]
    commands = [
        ["train", tale, *small],
        ["train", tale.parent / "plain.toml", *small, "--config", "best.json"],
        ["train", tale.parent / "plain.toml", *small, "--config", "settings.json"],
        ["sweep", tale, "--vary", "alpha=1", "--seeds", "1", "--report-seeds", "1", *few],
    ]
    for command in commands:
        code, error = run_command(command, capsys)
        assert code == 2 and ("--trust" in error or "standard library" in error), (command, error)
        assert not (stranger / "ran").exists(), command
        shutil.rmtree(stranger / "out", ignore_errors=True)
    game = drrn.make(tale)
    with pytest.raises(InputError, match=r"only on the command line|needs sentence vectors"):
        settings_from(game, {}, paper=True)
    assert not (stranger / "ran").exists()


def test_a_user_allows_a_name_on_the_command_line(foreign, stranger, capsys, monkeypatch):
    run = foreign("model", "canary:Own")
    command = ["ask", run, "--state", "The sea.", "--action", "Go."]
    code, error = run_command([*command, "--trust", "canary:Own"], capsys)
    assert code == 2 and "there is no module canary" in error  # the run's folder is not searched
    monkeypatch.chdir(stranger)
    monkeypatch.setenv(registry.TRUSTED, "")
    assert main([*map(str, command), "--trust", "other:Own"]) == 2
    assert not (stranger / "ran").exists()
    assert main([*map(str, command), "--trust", "canary:Own"]) == 0
    assert (stranger / "ran").exists()


@pytest.mark.parametrize("name", ["os:system", "canary:os.popen", "builtins:eval"])
def test_no_user_can_allow_the_standard_library(name, foreign, stranger, capsys, monkeypatch):
    (stranger / "canary.py").write_text("import os\n")
    monkeypatch.chdir(stranger)
    run = foreign("sentences", name)
    code, error = run_command(["evaluate", run, "--trust", name], capsys)
    assert code == 2 and "standard library" in error


def test_a_run_that_was_started_here_is_trusted(stranger, tale, capsys, monkeypatch):
    monkeypatch.chdir(stranger)
    assert train(tale, stranger / "mine", "--model", "canary:Own") == 0
    monkeypatch.setenv(registry.TRUSTED, "")
    assert "canary:Own" not in os.environ[registry.TRUSTED]
    monkeypatch.chdir(tale.parent)
    for command in (["watch", stranger / "mine"], ["train", "--resume", stranger / "mine"]):
        monkeypatch.setenv(registry.TRUSTED, "")
        assert main([str(word) for word in command]) == 0
    config = stranger / "mine/config.json"
    changed = config.read_text().replace(f'"folder": "{stranger}"', '"folder": "/elsewhere"')
    config.write_text(changed)
    rehash(stranger / "mine")
    monkeypatch.setenv(registry.TRUSTED, "")
    code, error = run_command(["watch", stranger / "mine"], capsys)
    assert code == 2 and "--trust canary:Own" in error


def test_what_a_python_call_names_is_trusted(stranger, tale, monkeypatch):
    monkeypatch.chdir(stranger)
    trainer = drrn.trainer(tale, model="canary:Own", paper=True, rounds=1, replicas=1)
    assert type(trainer.model).__name__ == "Own"
    monkeypatch.setenv(registry.TRUSTED, "")
    with pytest.raises(InputError, match="--trust canary:vectors"):
        open_sentences("canary:vectors")
    drrn.trust("canary:vectors")
    assert open_sentences("canary:vectors").dimensions == 2


class Opener:
    """Opens games in another process."""

    def name_of(self, spec):
        return spec.open().name


def test_a_process_trusts_what_its_parent_trusts(stranger):
    spec = GameSpec("tests.sample_games:Doors")
    with pytest.raises(InputError, match="--trust"):
        spec.open()
    drrn.trust(spec.source)
    with Service(Opener) as service:
        assert service.ask("name_of", spec, timeout=60) == "doors"


def test_a_job_of_a_cluster_imports_what_its_command_named(stranger, monkeypatch):
    source = "tests.sample_games:Doors"
    job = Job(stranger, source, "doors", None, Settings(), {}, {"sha256": "0"}, "")
    for names, message in (([], "--trust tests.sample_games:Doors"), ([source], "has changed")):
        monkeypatch.setenv(registry.TRUSTED, "")
        *_, event = cluster.run_job(job, versions(), stranger, names)
        assert event.kind == "failed" and message in event.why, event


def test_a_training_of_the_page_imports_nothing_from_the_current_folder(tmp_path, monkeypatch):
    for module in ("json", "torch", "numpy", "drrn"):
        (tmp_path / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    run = page_runs.PageRun(tmp_path / "runs" / "mine")
    run.side.mkdir(parents=True)
    processes = []

    def start(*arguments, **options):
        processes.append(subprocess_popen(*arguments, **options))
        return processes[0]

    subprocess_popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    page_runs.RunFolder(tmp_path / "runs", Library([]))._launch(run)
    assert processes[0].wait(120) == 1 and not (tmp_path / "ran").exists()
    assert "no such folder" in run.error_file.read_text()  # our worker ran, without a request


MODEL = {"modules.json": [{"type": "sentence_transformers.models.Transformer"}]}
HOSTILE: dict[str, dict[str, Any]] = {
    "a module that imports others": {"modules.json": [{"type": "sentence_transformers.Router"}]},
    "another package": {"modules.json": [{"type": "canary.Own", "path": ""}]},
    "a layer with an activation": {
        "modules.json": [*MODEL["modules.json"], {"type": "sentence_transformers.models.Dense"}],
        "2_Dense/config.json": {"activation_function": "os.abort"},
    },
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_sentence_model_calls_no_code_that_its_files_name(what, tmp_path, monkeypatch):
    fake = mock.Mock()
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    for name, content in {**HOSTILE[what], "model.safetensors": 0}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"names code outside|no \.safetensors"):
        open_sentences(str(tmp_path))
    assert not fake.mock_calls


def test_every_setting_that_can_name_code_is_tried():
    own = {name for name, each in all_settings().items() if each.own}
    assert own | {"sentences"} == set(CODE_SETTINGS) == set().union(*PLACES.values())


# --- permission comes from options that take code, and from no other word


def option_texts():
    """Yield every command with each of its options that takes a text."""
    for command in parser(full=True).commands.values():
        for action in command.all_actions():
            takes_text = action.nargs != 0 and not action.choices and hasattr(action, "code")
            if takes_text and action.dest != "trust":
                yield command, action


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("canary:Own", {"name", "player"}),
        ("x=canary:Own", {"player"}),
        ("encoder=bag,canary:Own", {"settings"}),
        ("a=b=canary:Own", set()),
        ("agent:Own", set()),
        ("diagnostic:order", set()),
    ],
)
def test_only_options_that_take_code_allow_it(name, kinds, monkeypatch):
    for command, action in option_texts():
        monkeypatch.setenv(registry.TRUSTED, "")
        values = [name] if action.nargs in ("*", "+") else name
        trust_code(PROGRAM, command, argparse.Namespace(**{action.dest: values}))
        expected = ["canary:Own"] if action.code in kinds else []
        assert registry.trusted() == expected, (command.prog, action.dest)


def test_options_that_take_code():
    taken = {
        (name, action.dest)
        for name, command in parser(full=True).commands.items()
        for action in command.all_actions()
        if getattr(action, "code", "")
    }
    settings = {("train", name) for name in CODE_SETTINGS} | {
        ("diagnose", n) for n in CODE_SETTINGS
    }
    lists = {("diagnose", "agent"), ("diagnose", "set"), ("sweep", "set")}
    agents = {(name, "sentences") for name in ("play", "evaluate", "ask", "watch")}
    assert taken == settings | lists | agents | {("sweep", "vary"), ("arena", "player")}


@pytest.mark.parametrize("name", ["agent:Own", "diagnostic:order", "protocol:Own", "twx:Own"])
def test_a_scheme_of_drrn_is_not_a_module(name, foreign, stranger, monkeypatch, capsys):
    module = name.partition(":")[0]
    (stranger / f"{module}.py").write_text(CANARY)
    monkeypatch.chdir(stranger)
    run = foreign("model", name)
    drrn.trust(name)
    for command in (
        ["arena", "long-watch", "--player", f"agent:{run}", name, "--episodes", "1"],
        ["evaluate", run, "--game", name, "--episodes", "1"],
        ["ask", run, "--state", name, "--action", name],
        ["ask", run, "--state", "x", "--action", "y", "--sentences", name],
    ):
        code, error = run_command(command, capsys)
        assert code == 2 and not (stranger / "ran").exists(), (command, error)


def test_a_game_may_be_code_but_the_name_of_a_file_is_not(import_folder, monkeypatch):
    monkeypatch.setenv(registry.TRUSTED, "")
    (import_folder / "canary:Own").touch()
    main(["inspect", "canary:Own"])
    main(["runs", "canary:Own"])  # as the shell expands `drrn runs *`
    main(["arena", "long-watch", "--player", "canary:Own", "--episodes", "1"])
    assert registry.trusted() == []
    (import_folder / "canary:Own").unlink()
    main(["inspect", "canary:Own"])
    assert registry.trusted() == ["canary:Own"]


def test_schemes_of_games_and_players_are_no_modules():
    games = {"twx", "textworld", "jericho", "scienceworld", "diagnostic", "protocol"}
    assert registry.schemes() == games | {"agent", "llm"}
