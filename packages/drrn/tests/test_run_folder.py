"""The folder of a run is never overwritten and resumes after any interruption; options of train."""

import csv
import itertools
import json

import pytest
import torch

from drrn.runs.run import Run
from tests.commands import main
from tests.runs import interrupted_saves, results_of, resume_command, same_results, train


def test_training_warns_about_a_story_without_rewards(tale, tmp_path, capsys):
    assert train(tale, tmp_path / "run") == 0
    assert "rewards" not in capsys.readouterr().err
    tale.unlink()
    assert train(tale.with_suffix(".twee"), tmp_path / "without rewards") == 0
    assert "rewards" in capsys.readouterr().err


def test_a_run_writes_settings_rows_weights_words_and_a_curve(tale, tmp_path, capsys):
    assert train(tale, tmp_path / "run") == 0
    out = capsys.readouterr().out
    assert out.count("round ") == 3 and "random play" in out and "curve.svg" in out
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"config.json", "evaluations.csv", "model.safetensors", "vocabulary.json"} <= names
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert config["settings"]["hidden"] == 6 and config["versions"]["torch"] == torch.__version__
    with (tmp_path / "run/evaluations.csv").open() as file:
        rows = list(csv.DictReader(file))
    keys = [(row["round"], row["replica"]) for row in rows]
    assert keys == list(itertools.product("123", "01"))
    assert sum(json.loads(rows[0]["endings"]).values()) <= 1
    assert "policy best" in (tmp_path / "run/curve.svg").read_text()


def test_a_run_is_never_overwritten_and_the_error_names_both_options(tale, tmp_path, capsys):
    train(tale, tmp_path / "run")
    before = results_of(tmp_path / "run")
    capsys.readouterr()
    assert train(tale, tmp_path / "run") == 2
    error = capsys.readouterr().err
    assert "--resume" in error and "--out" in error
    assert same_results(results_of(tmp_path / "run"), before)


@pytest.mark.parametrize(
    "options",
    [["--matches", "--keep"], ["--optimiser", "adam"], ["--model", "table"]],
    ids=" ".join,
)
def test_a_run_interrupted_after_each_round_ends_with_the_same_bytes(
    tale, tmp_path, options, monkeypatch
):
    train(tale, tmp_path / "whole", *options)
    with interrupted_saves(monkeypatch):
        train(tale, tmp_path / "cut", *options)
        for _ in range(2):
            main(resume_command(tmp_path / "cut"))
    assert main(resume_command(tmp_path / "cut")) == 0
    names = {path.name for path in (tmp_path / "whole").iterdir()} - {"progress.csv"}
    for name in names:  # progress.csv has seconds
        one, other = (tmp_path / folder / name for folder in ("cut", "whole"))
        assert one.read_bytes() == other.read_bytes(), name


def test_an_interrupted_run_names_the_command_that_resumes_it(tale, tmp_path, monkeypatch, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "save", stop)
    assert train(tale, tmp_path / "a run") == 130
    assert f"resume with: drrn train --resume '{tmp_path / 'a run'}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["5", '"x"', "null", "[]", '{"settings": 5}', '{"layers": "abc"}', '{"seed": null}']
)
def test_a_config_without_settings_gives_one_sentence(tale, tmp_path, text, capsys):
    (tmp_path / "config.json").write_text(text)
    assert train(tale, tmp_path / "run", "--config", str(tmp_path / "config.json")) == 2
    error = capsys.readouterr().err
    assert "must be" in error and error.count("\n") == 1 and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "name a GAME"),
        (["train", "long-watch", "--hidden", "0"], "hidden is 0"),
        (["train", "long-watch", "--alpha", "-1"], "alpha is -1"),
        (["train", "long-watch", "--model", "drn"], 'Did you mean "drrn"'),
        (["train", "long-watch", "--device", "cuda:9"], "is not available"),
        (["train", "long-watch", "--device", "meta"], "is not available"),
        (
            ["train", "long-watch", "--shared", "--interaction", "network", "--action-hidden", "7"],
            "leave out action_hidden",
        ),
        (["train", "long-watch", "--resume", "nowhere"], "keeps its game; leave out long-watch"),
        (["train", "--resume", "nowhere", "--out", "x"], "leave out --out"),
        (["train", "--resume", "nowhere"], "nowhere: no such folder"),
        (["train", "--resume", "nowhere", "--hidden", "3"], "keeps its settings"),
        (["train", "long-watch", "--config", "nowhere.json"], "no such file"),
        (["ask", "nowhere", "--state", "x", "--action", "y"], "nowhere: no such folder"),
        (["train", "long-watch", "--interaction", "inner", "--action-hidden", "7"], "same size"),
    ],
)
def test_wrong_options_give_one_sentence_and_exit_code_2(
    arguments, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
