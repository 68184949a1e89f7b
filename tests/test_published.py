"""Statistics over seeds and games, LaTeX tables, and the protocols of papers."""

import csv
import json
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.document import Document, Table, to_latex
from drrn.game.contract import highest_return_of
from drrn.game.episodes import play_episodes
from drrn.lab.experiments import plan
from drrn.lab.experiments.measure import facts
from drrn.lab.experiments.results import Results
from drrn.lab.reports.published import published_scores
from drrn.lab.reports.result_set import ResultSet
from drrn.runs.intervals import (
    interquartile_interval,
    interquartile_mean,
    interval_of_mean,
    normalised,
)
from drrn.runs.run import Run
from drrn.settings import STRONG, all_settings
from drrn.suites.protocols import protocols, read_protocol
from tests.suite_files import open_suite

ROWS = Path(__file__).parents[1] / "results" / "rows"


def test_the_interquartile_mean_is_that_of_the_middle_half():
    assert interquartile_mean(np.array([100.0, 1, 2, 3, 4, 5, 6, -50])) == (2 + 3 + 4 + 5) / 4
    assert interquartile_mean(np.array([1.0, 2, 9])) == 4  # too few to cut a quarter


def test_the_interval_of_two_seeds_is_computed_by_hand():
    """The means of two draws from widened 1 ± 1 · √2 are low, middle and high: 1/4, 1/2, 1/4."""
    low, high = interval_of_mean([0.0, 2.0]) or (0.0, 0.0)
    assert low == pytest.approx(1 - 2**0.5) and high == pytest.approx(1 + 2**0.5)
    assert interval_of_mean([1.0]) is None
    assert interval_of_mean([3.0, 3.0, 3.0]) == (3.0, 3.0)


def test_seeds_are_resampled_within_their_game():
    value, (low, high) = interquartile_interval([[0.0, 0.0], [1.0, 1.0]])
    assert (value, low, high) == (0.5, 0.5, 0.5)  # whatever is drawn, each game keeps its scores


def test_a_normalised_score_is_0_for_random_play_and_1_for_the_best():
    assert [normalised(score, 2.0, 10.0) for score in (2, 6, 10)] == [0, 0.5, 1]
    assert normalised(3.0, 3.0, 3.0) == 0


def test_latex_escapes_its_signs_and_rules_the_table():
    table = Table("50 % & more", ["a_b", "score"], [["x^2 \\ **y**", "1"]])
    text = to_latex(Document("", [table]))
    assert "\\caption{50 \\% \\& more}" in text
    assert "a\\_b & score \\\\\n\\midrule" in text
    assert "x\\textasciicircum{}2 \\textbackslash{} \\textbf{y} & 1 \\\\\n\\bottomrule" in text


def test_every_protocol_has_valid_settings_and_a_job():
    jobs = {job.games[0] for job in plan.PUBLISHED}
    for protocol in protocols():
        assert set(protocol.training) <= set(all_settings())
        assert protocol.slug in jobs and protocol.source
        assert protocol.interactions >= protocol.max_steps * protocol.settings["rounds"]


def test_a_protocol_is_named_by_paper_and_game(tmp_path):
    protocol, name = read_protocol("protocol:twx-eacl2023/twc")
    assert protocol.published["DRRN"] == 0.57
    assert name.startswith("twx:twc?") and name.endswith("max_steps=50")
    test_game = protocol.test_game(name)
    assert test_game is not None and "fold=test&draw=in-order" in test_game
    _, name = read_protocol(f"protocol:jericho-aaai2020/{tmp_path}/zork1.z5")
    options = "copies=2&text=feedback,look,inventory,score&max_steps=100"
    assert name == f"jericho:{tmp_path}/zork1.z5?{options}"
    mapreader, _ = read_protocol("protocol:twx-eacl2023/mapreader")
    assert mapreader.training["alpha_start"] is None
    assert mapreader.training["interactions"] != protocol.training["interactions"]
    assert protocol.settings["listwise"] and not mapreader.settings["listwise"]
    with pytest.raises(drrn.InputError, match="needs the file"):
        read_protocol("protocol:jericho-aaai2020/zork1")
    with pytest.raises(drrn.InputError, match=r"Known: .*/FOLDER/zork1\.z5"):
        read_protocol("protocol:twx-eacl2023/folder/twc.z5")
    with pytest.raises(drrn.InputError, match="A protocol has no options"):
        read_protocol("protocol:twx-eacl2023/twc?seed=3")
    with pytest.raises(drrn.InputError, match='Did you mean "protocol:twx-eacl2023/twc"'):
        drrn.make("protocol:twx-eacl2023/twcc")


@pytest.mark.slow
def test_published_prints_ours_next_to_theirs(stand_ins, tmp_path, capsys, monkeypatch):
    coin = "published-twx-eacl2023-coin"
    arguments = ["reproduce", "--only", coin, "--quick", "--first-seed", "1000", "--jobs", "1"]
    arguments += ["--set", "workers=2", "rounds=9"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    assert f"{coin}: --set does not change its rounds\n" in capsys.readouterr().err
    text = (tmp_path / "out" / "RESULTS.md").read_text()
    assert "TextWorldExpress: ours and published" in text and "EACL 2023" in text
    assert "at the step limit" in text
    assert "steps, published DRRN" not in text  # the paper has none for this game
    rows = (tmp_path / "out" / "rows" / "twx-eacl2023-coin" / f"{coin}.progress.csv").read_text()
    assert rows.startswith("seed,round,interactions,episodes,last_return,seconds")
    final = [line for line in rows.splitlines() if line.startswith("1000,2,")]
    assert 100 < int(final[0].split(",")[2]) <= 200


def test_our_score_is_that_of_the_measure_of_the_protocol():
    """Computed from the files: the last of ten evaluations, four of 40, and the last episodes."""
    results = ResultSet(Results(ROWS.parent))
    jobs = {job.games[0]: job for job in plan.PUBLISHED}
    every = {protocol.slug: protocol for protocol in protocols()}

    def read(slug, kind):
        with (ROWS / slug / f"published-{slug}{kind}.csv").open() as file:
            return list(csv.DictReader(file))

    slug = "scienceworld-emnlp2022-find-living-thing"
    rows = [row for row in read(slug, "") if (row["round"], row["final"]) == ("10", "no")]
    returns = [float(row["return"]) / 100 for row in rows if row["policy"] == "softmax"]
    scores = published_scores(results, every[slug], jobs[slug])
    assert len(scores) == 3 and scores == pytest.approx(returns)
    slug = "scienceworld-emnlp2022-chemistry-mix-paint-secondary-color"
    rows = [row for row in read(slug, "") if row["policy"] == "softmax" and row["final"] == "no"]
    last = [row for row in rows if int(row["round"]) > 36]  # of 40
    means = [fmean(float(r["return"]) / 100 for r in last if r["seed"] == n) for n in "012"]
    assert published_scores(results, every[slug], jobs[slug]) == pytest.approx(means)
    slug = "jericho-aaai2020-zork1"
    rows = [row for row in read(slug, ".progress") if row["round"] == "20"]
    scores = published_scores(results, every[slug], jobs[slug])
    assert len(scores) == 3 and scores == [float(row["last_return"]) for row in rows]


@pytest.mark.parametrize(
    ("rounds", "score"),
    [(5, 0.05), (19, 0.19), (20, 0.195), (40, 0.385)],  # of 20 the last two, of 40 the last four
)
def test_the_last_tenth_is_the_mean_of_the_last_evaluations(rounds, score):
    """The return of round n is n, of a highest score of 100."""
    every = {protocol.slug: protocol for protocol in protocols()}
    protocol = every["scienceworld-emnlp2022-find-living-thing"]
    rows = [
        {"seed": 0, "round": n, "final": False, "policy": policy, "return": value}
        for n in range(1, rounds + 1)
        for policy, value in (("softmax", float(n)), ("greedy", -1.0))
    ]
    rows.append({"seed": 0, "round": rounds, "final": True, "policy": "softmax", "return": -1.0})
    results: Any = SimpleNamespace(rows=lambda game, job: rows)
    (job,) = [job for job in plan.PUBLISHED if job.games[0] == protocol.slug]
    assert published_scores(results, protocol, job) == pytest.approx([score])


@pytest.mark.parametrize(("name", "fold"), [("twx-eacl2023-coin", "test"), ("twx-coin", "train")])
def test_random_play_is_of_the_games_that_are_scored(stand_ins, monkeypatch, name, fold):
    pages = []

    def spy(game, *arguments):
        pages.append(game.reset(0).text)
        return play_episodes(game, *arguments)

    monkeypatch.setattr("drrn.lab.experiments.measure.play_episodes", spy)
    source = "twx:coin?text=look&max_steps=3"
    game = open_suite(source)
    assert facts(game, STRONG, source, name)["random_episodes"] == 100
    game.close()
    assert f"({fold})" in pages[0]


def test_suites_are_compared_by_normalised_returns(stand_ins, tmp_path, capsys):
    small = {"rounds": 1, "replicas": 2, "episodes_per_round": 4, "evaluation_episodes": 4}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in small.items()]
    for name in ("twx:coin?max_steps=9", "twx:coin?max_steps=8"):
        out = str(tmp_path / name[-1])
        assert main(["train", name, "--paper", "--hidden=8", *options, "--out", out]) == 0
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "8"), str(tmp_path / "9"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["measure"] == "softmax_return" and result["interquartile_mean"]
    for run in result["runs"]:
        reference = json.loads((Path(run["run"]) / "reference_scores.json").read_text())
        random, best = reference["random_return"], reference["best_return"]
        assert best == 1 and run["normalised"] == pytest.approx(
            [
                (float(row["softmax_return"]) - random) / (1 - random)
                for row in Run(run["run"]).rows()
            ]
        )
    assert main(["runs", str(tmp_path), "--csv"]) == 0
    header, row, _ = capsys.readouterr().out.splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert cells["measure"] == "return" and cells["seed"] == "0" and "best" in cells


@pytest.mark.slow
def test_compare_needs_no_order_of_suites_and_stories(stand_ins, tmp_path, capsys):
    """One game of a suite: all scores are returns; a run that is given twice counts once."""
    small = {"rounds": 1, "replicas": 2, "episodes_per_round": 4, "evaluation_episodes": 4}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in small.items()]
    runs = {name: str(tmp_path / name) for name in ("story", "first", "second")}
    for (name, out), seed in zip(runs.items(), (0, 0, 7), strict=True):
        game = "long-watch" if name == "story" else "twx:coin?max_steps=9"
        words = ["train", game, "--paper", "--hidden=8", *options, f"--seed={seed}", "--out", out]
        assert main(words) == 0
    summaries = []
    for order in ("story first second first", "first first second story"):
        capsys.readouterr()
        assert main(["compare", *(runs[name] for name in order.split()), "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["measure"] == "softmax_return" and len(result["runs"]) == 3
        summaries += result["interquartile_mean"].values()
    assert summaries[0]["mean"] == summaries[1]["mean"]
    assert main(["compare", *runs.values()]) == 0
    out, error = capsys.readouterr()
    assert out.startswith("Mean return, policy softmax\n") and "2 games" in out
    assert "pooled" not in error  # the seeds alone differ


@pytest.mark.slow
def test_compare_prints_runs_of_several_games(tmp_path, capsys):
    small = {"rounds": 1, "replicas": 2, "episodes_per_round": 10, "evaluation_episodes": 5}
    for game in ("long-watch", "night-market"):
        options = [f"--{name.replace('_', '-')}={value}" for name, value in small.items()]
        out = str(tmp_path / game)
        assert main(["train", game, "--paper", "--hidden=8", *options, "--out", out]) == 0
    capsys.readouterr()
    folders = [str(tmp_path / game) for game in ("long-watch", "night-market")]
    assert main(["compare", *folders, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    (summary,) = result["interquartile_mean"].values()
    shares = [share for run in result["runs"] for share in run["normalised"]]
    assert summary["mean"] == pytest.approx(sorted(shares)[1] / 2 + sorted(shares)[2] / 2)
    assert main(["compare", *folders, "--latex"]) == 0
    assert "\\begin{tabular}" in capsys.readouterr().out
    assert main(["runs", str(tmp_path), "--csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize("value", ["5", True, float("nan"), float("inf")])
def test_a_highest_return_that_is_not_a_finite_number_is_refused(value):
    game: Any = SimpleNamespace(name="own", highest_return=value)
    with pytest.raises(drrn.InputError, match="own: highest_return must be a finite number"):
        highest_return_of(game)


def test_a_highest_return_may_be_any_number_or_be_unknown():
    games: list[Any] = [SimpleNamespace(name="own", highest_return=np.float32(2))]
    games += [SimpleNamespace(name="own")]
    assert [highest_return_of(game) for game in games] == [2.0, None]
