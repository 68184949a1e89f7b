"""The experiment arena: agents are trained, players compete, and the report agrees with the rows."""

import pytest

from lab.experiments.plan import PAPER, PLAN
from tests.commands import main
from tests.source_code import ROOT
from textgames_arena.tournament import read_all

FEW = ["rounds=2", "episodes_per_round=10", "evaluation_episodes=5"]


@pytest.mark.full
def test_reproduce_trains_agents_plays_and_reports(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(PLAN["arena"], "packages", ["no_such_package"])
    out = tmp_path / "results"
    command = ["reproduce", "--only", "arena", "--quick", "--games", "diagnostic:memory/1"]
    command += ["--jobs", "1", "--out", str(out), "--set", *FEW]
    assert main(command) == 0
    assert "is left out" in capsys.readouterr().err  # the language model
    rows = {each.player: each for each in read_all(out / "arena")}
    assert rows.keys() == {"random", "best", "paper", "strong"}
    before = {path: path.read_bytes() for path in (out / "arena").rglob("*.jsonl")}
    assert main(command) == 0  # nothing is trained or played again
    assert {path: path.read_bytes() for path in before} == before
    (page := tmp_path / "page.md").write_text("<!-- arena -->\n<!-- /arena -->\n")
    report = ["report", "--out", str(out), "--pages", str(page)]
    assert main(report) == 0
    assert (
        "| memory/1 |" in page.read_text() and "2 (random, paper, strong, best)" in page.read_text()
    )
    assert main([*report, "--check"]) == 0
    page.write_text(page.read_text().replace("| 100 |", "| 99 |"))
    assert main([*report, "--check"]) == 1
    assert main([*command, "rounds=3"]) == 2  # trained with other settings
    assert "rounds" in capsys.readouterr().err


def test_the_published_results_agree_with_their_rows():
    results = ROOT / "results"
    rows = read_all(results / "arena")
    games = {each.game for each in rows}
    assert games == {name.replace("diagnostic:", "") for name in PLAN["arena"]["games"]}
    assert len(rows) == 5 * len(games)
    for each in rows:
        assert each.player != "best" or all(result.regret == 0 for result in each.results)
        if each.game in PAPER:
            assert all(len(text) == 12 and " " not in text for text in each.texts)
