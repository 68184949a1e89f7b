"""`drrn diagnose` and the experiment diagnostics, with tiny numbers."""

import csv
import re
import signal
from functools import partial
from typing import Any

import pytest

import drrn
from drrn.experiments import diagnose
from drrn.experiments.agents import agent_settings
from drrn.experiments.diagnose import Budget, Trial, sizes
from drrn.experiments.results import TRIALS, to_csv
from lab import reproduce as published
from lab.experiments.plan import Scale
from tests.commands import main
from tests.documentation import ROOT

SET = ["--set", "updates=1"]
TINY = ["--level", "1", "--episodes", "6", "--seeds", "1", "--first-seed", "1000", *SET]
COMMAND = ["diagnose", "order", "memory", "--agent", "default", "random", *TINY]
BAD = ["defualt", "random,hidden=3", "encodr=gru"]  # names of agents
pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, jobs_in_process):
    """Two agents on two games, scored by four episodes, as all agents in this module."""
    out = tmp_path_factory.mktemp("diagnose") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drrn.cli.diagnose.Budget", partial(Budget, evaluation=4))
        patch.setattr(published, "Budget", partial(Budget, evaluation=4))
        assert main([*COMMAND, "--out", str(out)]) == 0
        yield out


def rows_of(folder):
    return list(csv.DictReader((folder / "diagnostics.csv").read_text().splitlines()))


def made_up(agent, share, game="order", **changes):
    key = {"game": game, "level": 2, "variant": "train", "agent": agent, "seed": 0, "share": share}
    return {**dict.fromkeys(TRIALS, "1"), **key, **changes}


def test_rounds():
    counts = [list(sizes(n, surveys=False).values())[:2] for n in (4000, 6, 300)]
    assert counts == [[20, 200], [1, 6], [2, 150]]


@pytest.mark.parametrize(
    ("agent", "budget", "rounds"),
    [("default", 4000, 18), ("default", 1000, 5), ("survey=no", 4000, 20), ("paper", 4000, 20)],
)
def test_the_survey_is_part_of_the_episodes(agent, budget, rounds):
    game = diagnose.open_diagnostic("diagnostic:order/1")
    how = Budget({}, episodes=budget)
    run = diagnose.trial_settings(game, agent_settings(agent), how, range(1)).run
    assert (run.rounds, run.episodes_per_round) == (rounds, 200)
    assert run.survey == (rounds == 18)


def test_every_agent_has_a_row_for_each_game_and_variant(folder):
    rows = rows_of(folder)
    keys = {(row["agent"], row["game"], row["variant"]) for row in rows}
    games = [("memory", "train"), ("order", "train"), ("order", "held-out")]
    assert keys == {(agent, *game) for agent in ("default", "random") for game in games}
    for row in rows:
        low, high, score = (float(row[name]) for name in ("random_score", "optimum", "score"))
        assert float(row["share"]) == pytest.approx((score - low) / (high - low), abs=1e-5)
        assert row["agent"] == "default" or (row["policy"], score) == ("random", low)
        assert (row["seed"], row["level"]) == ("1000", "1")
    assert "order/1" in (folder / "diagnostics.md").read_text()


def test_an_interrupted_command_continues(folder, tmp_path, monkeypatch, capsys):
    run = Trial.run

    def interrupted(trial):
        if trial.game == "memory/1" and trial.agent == "default":
            signal.raise_signal(signal.SIGINT)
        return run(trial)

    monkeypatch.setattr(Trial, "run", interrupted)
    assert main([*COMMAND, "--out", str(tmp_path)]) == 130
    monkeypatch.setattr(Trial, "run", run)
    assert main([*COMMAND, "--out", str(tmp_path)]) == 0
    assert "3 of 4 trials are done" in capsys.readouterr().out
    assert rows_of(tmp_path) == rows_of(folder)
    monkeypatch.setattr(Trial, "run", lambda trial: pytest.fail("computed again"))
    assert main([*COMMAND, "--out", str(tmp_path)]) == 0


def test_an_agent_can_have_other_settings(tmp_path):
    changed = {"paper": True, "model": "max-action", "alpha": 2.0}
    assert agent_settings("max-action,alpha=2") == changed
    command = ["diagnose", "memory", *TINY, "--out", str(tmp_path)]
    assert main([*command, "--agent", "paper,layers=1", "--history", "1", "--hidden", "4"]) == 0
    assert [row["agent"] for row in rows_of(tmp_path)] == ["hidden=4,history=1", "paper,layers=1"]


@pytest.mark.parametrize("words", [*(f"--agent {name}" for name in BAD), "memry", "memory/9"])
def test_bad_input_is_reported(words, tmp_path, capsys):
    assert main(["diagnose", *words.split(), "--out", str(tmp_path)]) == 2
    assert words.split()[-1] in capsys.readouterr().err


def test_the_page_lists_every_game_with_its_scores():
    text = (ROOT / "docs/textgames/diagnostics.md").read_text(encoding="utf-8")
    for game in map(diagnose.open_diagnostic, diagnose.sources_of((), 2)):
        scores = f"| {game.episodes:,} | {game.random_score:.2f} | {game.optimum:.2f} |"
        assert re.search(rf"^\| `{game.key()}` \| .*{re.escape(scores)}$", text, re.M)


def test_the_report_and_the_page_agree_with_the_rows(tmp_path):
    pytest.importorskip("matplotlib")
    (page := tmp_path / "page.md").write_text("<!-- diagnostics -->\n<!-- /diagnostics -->\n")
    scores = [("default", 0.1), ("default", 0.9), ("random", 0.0)]  # the last row of a seed counts
    rows = [made_up(agent, share) for agent, share in scores]
    rows += [made_up("default", 1.0, seed=1), made_up("gru", 1.0, level=3)]
    rows += [made_up("default", 0.5, variant="held-out")]
    (path := tmp_path / "diagnostics.csv").write_text(to_csv(rows, TRIALS))
    command = ["report", "--out", str(tmp_path), "--pages", str(page)]
    assert main(command) == 0
    for line in ("| 95 % | 0 % † |", "| 50 % † | — |", "| 1 of 2 | 0 of 1 |"):
        assert line in page.read_text()
    assert main([*command, "--check"]) == 0
    path.write_text(to_csv(rows[:1], TRIALS))
    assert main([*command, "--check"]) == 1


def test_reproduce_runs_the_published_agents(tmp_path, monkeypatch):
    monkeypatch.setattr(published, "sources_of", lambda *_: ["diagnostic:memory/2"])
    monkeypatch.setattr("lab.reproduce._write_report", lambda results: True)
    command = ["reproduce", "--only", "diagnostics", "--quick", *SET, "rounds=1"]
    assert main([*command, "episodes_per_round=2", "--out", str(tmp_path)]) == 0
    assert {row["agent"] for row in rows_of(tmp_path)} == published.TRIALS.keys()


def test_the_score_is_that_of_a_plain_training_run(folder):
    sizes: dict[str, Any] = {"rounds": 1, "episodes_per_round": 6, "updates": 1, "replicas": 1}
    trainer = drrn.trainer("diagnostic:order/1", seed=1000, **sizes)
    list(trainer.train())
    policy = trainer.agent.policy_name("deployed")
    rows = [row for row in rows_of(folder) if (row["agent"], row["game"]) == ("default", "order")]
    for row, name in zip(rows, ("order/1", "order/1/held-out"), strict=True):
        (played,) = trainer.agent.evaluate(f"diagnostic:{name}", policies=[policy], episodes=4)
        assert (row["policy"], float(row["score"])) == (policy, played.summary.mean_return)


def test_every_published_trial_is_done():
    for experiment in ("diagnostics", "reading"):
        jobs = published.published_trials([experiment], ROOT / "results", Scale(), "cpu")
        assert len(jobs) > 20
        assert [(job.agent, job.game) for job in jobs if not job.done] == []


def test_a_new_setting_does_not_rename_a_trial(monkeypatch):
    game = diagnose.open_diagnostic("diagnostic:order/1")
    settings = diagnose.trial_settings(game, {}, Budget({}, episodes=6), range(1))
    flat = {name: value for name, value in settings.flat().items() if name != "interactions"}
    digest = diagnose.digest_of(game, "default", settings)
    monkeypatch.setattr(type(settings), "flat", lambda self: flat)
    assert diagnose.digest_of(game, "default", settings) == digest
