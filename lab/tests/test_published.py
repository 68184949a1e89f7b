"""Statistics over seeds and games, and the protocols of papers."""

import csv
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest

import drrn
from drrn.settings import STRONG
from lab.experiments.measure import facts
from lab.experiments.results import Results
from lab.reports.agents import JOBS, published_blocks, published_scores
from lab.reports.result_set import ResultSet
from tests.commands import main
from tests.source_code import ROOT
from tests.suite_files import open_suite
from textgames.document import Cell, Table
from textgames.game.contract import highest_return_of
from textgames.game.episodes import play_episodes
from textgames.intervals import interval_of_mean, normalised
from textsuites.protocols import protocols, read_protocol

ROWS = ROOT / "results" / "rows"


def test_the_interval_of_two_seeds_is_computed_by_hand():
    """The means of two draws from widened 1 ± 1 · √2 are low, middle and high: 1/4, 1/2, 1/4."""
    low, high = interval_of_mean([0.0, 2.0]) or (0.0, 0.0)
    assert low == pytest.approx(1 - 2**0.5) and high == pytest.approx(1 + 2**0.5)
    assert interval_of_mean([1.0]) is None
    assert interval_of_mean([3.0, 3.0, 3.0]) == (3.0, 3.0)


def test_a_normalised_score_is_0_for_random_play_and_1_for_the_best():
    assert [normalised(score, 2.0, 10.0) for score in (2, 6, 10)] == [0, 0.5, 1]
    assert normalised(3.0, 3.0, 3.0) == 0


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


@pytest.mark.full
def test_published_prints_ours_next_to_theirs(stand_ins, tmp_path, capsys, monkeypatch):
    coin = "published-twx-eacl2023-coin"
    arguments = ["reproduce", "--only", coin, "--quick", "--seeds", "1", "--first-seed", "1000"]
    arguments += ["--jobs", "1"]
    arguments += ["--set", "workers=2", "rounds=9"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    assert f"{coin}: --set does not change its rounds\n" in capsys.readouterr().err
    text = (tmp_path / "out" / "AGENTS.md").read_text()
    section = text.split("## Our budgets on their tasks")[1].split("\n## ")[0]
    assert "EACL 2023" in section and "| at the step limit |" in section
    assert "steps, published DRRN" not in section  # the paper has none for this game
    rows = (tmp_path / "out" / "rows" / "twx-eacl2023-coin" / f"{coin}.progress.csv").read_text()
    assert rows.startswith("seed,round,interactions,episodes,last_return,seconds")
    final = [line for line in rows.splitlines() if line.startswith("1000,2,")]
    assert 100 < int(final[0].split(",")[2]) <= 200


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The published rows of Jericho and ScienceWorld."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "rows").mkdir()
    for pattern in ("jericho-aaai2020-*", "scienceworld-emnlp2022-*"):
        for rows in ROWS.glob(pattern):
            (folder / "rows" / rows.name).symlink_to(rows)
    return ResultSet(Results(folder))


def test_our_score_is_that_of_the_measure_of_the_protocol(results):
    """Computed from the files: the last of ten evaluations, four of 40, and the last episodes."""
    every = {protocol.slug: protocol for protocol in protocols()}

    def read(slug, kind):
        with (ROWS / slug / f"published-{slug}{kind}.csv").open() as file:
            return list(csv.DictReader(file))

    slug = "scienceworld-emnlp2022-find-living-thing"
    rows = [row for row in read(slug, "") if (row["round"], row["final"]) == ("10", "no")]
    returns = [float(row["return"]) / 100 for row in rows if row["policy"] == "softmax"]
    scores = published_scores(results, every[slug], JOBS[slug])
    assert len(scores) == 3 and scores == pytest.approx(returns)
    slug = "scienceworld-emnlp2022-chemistry-mix-paint-secondary-color"
    rows = [row for row in read(slug, "") if row["policy"] == "softmax" and row["final"] == "no"]
    last = [row for row in rows if int(row["round"]) > 36]  # of 40
    means = [fmean(float(r["return"]) / 100 for r in last if r["seed"] == n) for n in "012"]
    assert published_scores(results, every[slug], JOBS[slug]) == pytest.approx(means)
    slug = "jericho-aaai2020-zork1"
    rows = [row for row in read(slug, ".progress") if row["round"] == "20"]
    scores = published_scores(results, every[slug], JOBS[slug])
    assert len(scores) == 3 and scores == [float(row["last_return"]) for row in rows]


def test_rows_of_the_memory_and_of_the_network_are_apart(results):
    jericho, science = published_blocks(results)
    assert isinstance(jericho, Table) and isinstance(science, Table)
    for memory, network in zip(jericho.rows[::2], jericho.rows[1::2], strict=True):
        assert str(memory[1]).startswith("memory") and memory[0]
        assert str(network[1]).startswith("network alone") and not network[0]
    alone = results.scores("jericho-aaai2020-zork1", JOBS["jericho-aaai2020-zork1"], "return")
    score = jericho.rows[1][2]
    assert isinstance(score, Cell) and score.text == f"{fmean(alone):.2f}"
    budgets = dict(zip(jericho.header, jericho.rows[0], strict=True))
    assert budgets["interactions, published"] == "8 × 100,000"
    assert budgets["interactions, ours"] == "39,924"
    # scored on test more than once
    assert all(isinstance(row[2], Cell) and row[2].mark for row in science.rows)
    assert not any(isinstance(row[2], Cell) and row[2].mark for row in jericho.rows)


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
    assert published_scores(results, protocol, JOBS[protocol.slug]) == pytest.approx([score])


def test_random_play_is_of_the_games_that_are_scored(stand_ins, monkeypatch):
    pages = []

    def spy(game, *arguments):
        pages.append(game.reset(0).text)
        return play_episodes(game, *arguments)

    monkeypatch.setattr("lab.experiments.measure.play_episodes", spy)
    source = "twx:coin?text=look&max_steps=3"
    game = open_suite(source)
    assert facts(game, STRONG, source, "twx-eacl2023-coin")["random_episodes"] == 100
    game.close()
    assert "(test)" in pages[0]


@pytest.mark.parametrize("value", ["5", True, float("nan"), float("inf")])
def test_a_highest_return_that_is_not_a_finite_number_is_refused(value):
    game: Any = SimpleNamespace(name="own", highest_return=value)
    with pytest.raises(drrn.InputError, match="own: highest_return must be a finite number"):
        highest_return_of(game)
