"""Resumed runs: more rounds, from Python, and agents that are saved without their run."""

import json

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.runs.trainer import rescheduled
from drrn.settings import Settings
from tests.runs import FEW, resume_command, train

MADE = (
    "evaluations.csv",
    "metrics.jsonl",
    "model.safetensors",
    "vocabulary.json",
    "checkpoint.safetensors",
    "config.json",
    "hashes.json",
    "README.md",
    "reference_scores.json",
    "curve.png",
)


@pytest.mark.usefixtures("real_curves")
def test_a_finished_run_that_goes_on_has_every_byte_of_one_that_was_told_so_many_rounds_at_once(
    tale, tmp_path, capsys
):
    train(tale, tmp_path / "whole", "--rounds", "4")
    train(tale, tmp_path / "run", "--rounds", "2")
    assert main([*resume_command(tmp_path / "run"), "--rounds", "4"]) == 0
    assert capsys.readouterr().err == ""
    for name in MADE:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), (
            name
        )
    assert main([*resume_command(tmp_path / "run"), "--rounds", "3"]) == 2
    assert "the run has 4 rounds" in capsys.readouterr().err


def test_more_rounds_are_kept_at_once_so_that_a_kill_does_not_undo_them(
    tale, tmp_path, monkeypatch
):
    from drrn.runs.run import Run

    def die(*_):
        raise KeyboardInterrupt

    train(tale, tmp_path / "run", "--rounds", "1")
    with monkeypatch.context() as patch:
        patch.setattr(Run, "save", die)
        assert main([*resume_command(tmp_path / "run"), "--rounds", "2"]) == 130
    assert main(resume_command(tmp_path / "run")) == 0
    assert [
        json.loads(line)["round"]
        for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()
    ] == [1, 2]


def test_schedules_that_follow_the_number_of_rounds_are_named(tale, tmp_path, caplog):
    strong = [
        "train",
        str(tale),
        "--out",
        str(tmp_path / "run"),
        "--updates",
        "2",
        "--batch-size",
        "4",
        *FEW,
    ]
    assert main(strong) == 0
    assert main([*resume_command(tmp_path / "run"), "--rounds", "6"]) == 0
    (said,) = [record.getMessage() for record in caplog.records]
    assert "started with 3 rounds, which determine alpha_start, rate_end, optimism_share" in said
    assert "started with 6 rounds" in said


def test_a_schedule_counts_only_where_it_was_another_in_a_round_that_is_done():
    short, long = (
        Settings.from_flat(rounds=rounds, exploration="optimism", optimism_share=0.5)
        for rounds in (4, 8)
    )
    assert rescheduled(short, long, done=2) == [] and rescheduled(short, long, done=3) == [
        "optimism_share"
    ]
    assert rescheduled(Settings.from_flat(rounds=4), Settings.from_flat(rounds=8), done=4) == []


def test_a_run_saved_from_python_is_gone_on_with_from_python(tale, tmp_path):
    settings = {
        "paper": True,
        "hidden": 6,
        "episodes_per_round": 8,
        "evaluation_episodes": 4,
        "replicas": 2,
    }
    trainer = drrn.trainer(str(tale), rounds=1, **settings)
    list(trainer.train())
    trainer.save(tmp_path / "run")
    longer = drrn.resume(tmp_path / "run", rounds=2)
    list(longer.train())
    longer.save(tmp_path / "run")
    whole = drrn.trainer(str(tale), rounds=2, **settings)
    list(whole.train())
    whole.save(tmp_path / "whole")
    for name in ("evaluations.csv", "metrics.jsonl", "checkpoint.safetensors", "README.md"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), (
            name
        )
    with pytest.raises(drrn.InputError, match="the run has 2 rounds"):
        drrn.resume(tmp_path / "run", rounds=1)


@pytest.mark.parametrize("more", [{}, {"model": "table"}, {"alpha_relative": True}], ids=str)
def test_an_agent_that_was_saved_answers_as_before_and_is_no_run(tale, tmp_path, more, capsys):
    size = {} if "model" in more else {"hidden": 6}
    trainer = drrn.trainer(
        str(tale),
        paper=True,
        rounds=1,
        episodes_per_round=8,
        evaluation_episodes=4,
        replicas=2,
        **size,
        **more,
    )
    list(trainer.train())
    question = ("The sea is grey.", ["Go out.", "Stay in."])
    trainer.agent.save(tmp_path / "agent")
    loaded = drrn.load(tmp_path / "agent")
    assert np.array_equal(loaded.ask(*question), trainer.agent.ask(*question))
    loaded.save(tmp_path / "again")
    names = ("config.json", "model.safetensors", "vocabulary.json", "hashes.json")
    assert all(
        (tmp_path / "again" / n).read_bytes() == (tmp_path / "agent" / n).read_bytes()
        for n in names
    )
    with pytest.raises(drrn.InputError, match="already exists"):
        loaded.save(tmp_path / "agent")
    assert main(resume_command(tmp_path / "agent")) == 2
    assert "an agent saved without its run" in capsys.readouterr().err


def test_each_round_is_a_line_of_json_as_the_metrics_have_it(tale, tmp_path, capsys):
    assert train(tale, tmp_path / "run", "--json") == 0
    out, _ = capsys.readouterr()
    told = [json.loads(line) for line in out.splitlines()]
    kept = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [{**line, **metrics} for line, metrics in zip(told, kept, strict=True)] == told
    assert [line["round"] for line in told] == [1, 2, 3] and told[0]["transitions"] > 0
    first, replicas = kept[0], kept[0]["replicas"]
    assert first["episodes_played"] == 8 and [replica["seed"] for replica in replicas] == [0, 1]
    scores = [replica["softmax_final_reward"] for replica in replicas]
    assert first["softmax_final_reward"] == pytest.approx(sum(scores) / 2, abs=1e-6)


def test_metrics_that_were_damaged_are_made_anew_by_going_on(tale, tmp_path):
    train(tale, tmp_path / "run", "--rounds", "1")
    path = tmp_path / "run/metrics.jsonl"
    before = path.read_bytes()
    path.write_bytes(b"{}\n")
    assert main(resume_command(tmp_path / "run")) == 0 and path.read_bytes() == before


def test_a_card_that_a_person_has_written_is_left_as_it_is(tale, tmp_path):
    train(tale, tmp_path / "run", "--rounds", "1")
    card = tmp_path / "run/README.md"
    assert (
        "library_name: drrn" in card.read_text() and "After round 1 (8 episodes" in card.read_text()
    )
    assert (
        main([*resume_command(tmp_path / "run"), "--rounds", "2"]) == 0
        and "After round 2" in card.read_text()
    )
    card.write_text("Mine.")
    assert (
        main([*resume_command(tmp_path / "run"), "--rounds", "3"]) == 0
        and card.read_text() == "Mine."
    )
