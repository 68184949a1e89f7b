"""Experiments on encoders, parser games and suites, run by the command with tiny numbers."""

import csv
import json

import pytest

import drrn
from drrn.cli import main
from drrn.cli.reproduce import experiment_games, suite_games
from drrn.lab.experiments.job import Job, hashes_of
from drrn.lab.experiments.measure import PLAYED, good_share, save_step_counts
from drrn.lab.experiments.plan import (
    ADDED,
    BAG_VECTORS,
    BEST,
    BOW_DQN,
    DRRN_BAG,
    DRRN_LSTM,
    ENCODERS,
    LSTM,
    ON_REQUEST,
    SUITE_GRU,
    Scale,
    settings_of,
    variants_of,
)
from drrn.lab.experiments.results import Results
from drrn.lab.reports.beyond import encoder_verdicts, nearly_all, on_par
from drrn.lab.reports.result_set import ResultSet
from drrn.runs.run import Run
from tests.experiment_jobs import assert_interrupted_job_matches
from tests.suite_files import game_file

SET = ["rounds=2", "episodes_per_round=6", "evaluation_episodes=4", "epochs=1"]
COMMAND = ["reproduce", "--quick", "--jobs", "1", "--set", *SET]
pytestmark = pytest.mark.usefixtures("jobs_in_process")


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Results of all encoders on a small game."""
    folder = tmp_path_factory.mktemp("encoders")
    vectors = folder / "small.txt"
    vectors.write_text(
        "".join(f"{word} {number}.5 1\n" for number, word in enumerate(("the", "a", "to", "wait")))
    )
    command = [
        *COMMAND,
        "--only",
        "encoders",
        "--games",
        "long-watch",
        "--seeds",
        "2",
        "--vectors",
        str(vectors),
    ]
    assert main([*command, "--out", str(folder / "results")]) == 0
    return folder / "results"


@pytest.fixture(scope="module")
def parsed(tmp_path_factory):
    """Results of the agents in Home World."""
    out = tmp_path_factory.mktemp("parser") / "results"
    assert (
        main(
            [
                *COMMAND,
                "--only",
                "parser",
                "--games",
                "home-world",
                "--seeds",
                "2",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    return out


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def section(results, title):
    return (results / "RESULTS.md").read_text().split(f"## {title}")[1].split("\n## ")[0]


def opened(only, tmp_path, asked=()):
    said = []
    found = [one.source for one in experiment_games(asked, only, {}, said.append)]
    return found, said


# --- the plan


def test_additional_experiments_run_only_on_request():
    jobs = [
        job for name in ON_REQUEST for job in variants_of([name], paraphrases=True) if job != BEST
    ]
    assert set(ON_REQUEST) == {"encoders", *ADDED} and len(jobs) == 4 + 4 + 2
    assert not set(jobs) & set(variants_of([], paraphrases=True))


def test_an_encoder_differs_from_the_papers_drrn_in_the_encoder_alone():
    game = drrn.make("long-watch")
    bag = settings_of("long-watch", BEST, game, Scale()).flat()
    for job in ENCODERS:
        settings = settings_of("long-watch", job, game, Scale(vectors="/words.txt")).flat()
        changed = {name for name, value in settings.items() if value != bag[name]}
        assert changed == ({"encoder", "vectors"} if job == BAG_VECTORS else {"encoder"})


def test_agents_in_a_world_use_its_training_settings_and_five_seeds():
    game = drrn.make("home-world")
    for job in ADDED["parser"]:
        settings = settings_of("home-world", job, game, Scale())
        assert dict(game.training).items() <= settings.flat().items()
        assert settings.run.seeds == [0, 1, 2, 3, 4]


def test_each_experiment_brings_its_own_games(tmp_path, monkeypatch):
    monkeypatch.setenv("DRRN_HOME", str(tmp_path))
    assert opened(["parser"], tmp_path) == (["home-world", "comet-house"], [])
    assert opened(["parser-bow-dqn"], tmp_path)[0] == ["home-world", "comet-house"]
    assert (
        opened(["scores"], tmp_path)[0] == opened([], tmp_path)[0] == ["long-watch", "night-market"]
    )
    assert (
        opened(["encoders"], tmp_path)[0] == []
        and "encoders are left out: " in opened(["encoders"], tmp_path)[1][0]
    )
    assert opened(["parser"], tmp_path, ["long-watch"])[0] == ["long-watch"]


def test_completed_quests_are_episodes_with_the_intended_ending():
    assert good_share({"quest done": 0.25, "out of time": 0.5, "won": 0.125}) == 0.375


# --- encoders


@pytest.mark.slow
def test_encoders_are_compared_with_the_bag_in_a_table_a_verdict_and_curves(read):
    text = section(read, "Encoders")
    for name in (
        "bag of words, the paper's",
        "LSTM",
        "GRU",
        "attention",
        "bag and word vectors, added",
    ):
        assert f"| {name} | " in text
    assert (
        "we did not find LSTMs to give improved performance" in text
        and "figures/encoders.svg" in text
    )
    assert "The Long Watch: LSTM " in text and "Rows are missing" not in text
    assert main(["report", "--out", str(read), "--check"]) == 0


@pytest.mark.slow
def test_the_verdict_on_the_remark_follows_from_the_rows(read):
    results = ResultSet(Results(read))

    def verdict(lstm, bag):
        for job, scores in ((LSTM, lstm), (BEST, bag)):
            final = [
                row
                for row in results.rows("long-watch", job)
                if row["final"] and row["policy"] == "softmax"
            ]
            for row, score in zip(final, scores, strict=True):
                row["exact"] = score
        return encoder_verdicts(results, "long-watch")[0]

    assert "less by 5.0. The remark holds here" in verdict([1.0, 1.1], [6.0, 6.1])
    assert "0.5, within twice the joint deviation. The remark holds" in verdict(
        [6.0, 7.0], [5.5, 6.5]
    )
    assert "more by 5.0. The remark does not hold here." in verdict([6.0, 6.1], [1.0, 1.1])


@pytest.mark.slow
def test_encoders_that_need_vectors_are_skipped_with_a_message(read, capsys):
    assert (
        main(
            [
                *COMMAND,
                "--only",
                "encoders",
                "--games",
                "long-watch",
                "--seeds",
                "2",
                "--out",
                str(read),
            ]
        )
        == 0
    )
    said = capsys.readouterr()
    assert (
        "5 of 5 jobs are done" in said.out
        and f"{BAG_VECTORS.name} is left out: give a file" in said.err
    )


# --- parser games


@pytest.mark.slow
def test_rows_have_the_share_of_completed_quests_and_the_steps_played(parsed):
    rows = rows_of(parsed / "rows/home-world/parser-drrn-bag.quests.csv")
    assert [(row["seed"], row["round"], row["final"], row["policy"]) for row in rows] == [
        ("0", "1", "no", "softmax"), ("1", "1", "no", "softmax"), ("0", "2", "no", "softmax"),
        ("1", "2", "no", "softmax"), ("0", "2", "yes", "softmax"), ("1", "2", "yes", "softmax"),
        ("0", "2", "yes", "greedy"), ("1", "2", "yes", "greedy"),
    ]  # fmt: skip
    assert 0 < int(rows[0]["played"]) < int(rows[2]["played"]) == int(rows[4]["played"]) <= 12 * 20
    assert all(
        0 <= float(row["exact_done"]) <= 1 and float(row["exact_return"]) < 1 for row in rows[4:]
    )


def test_steps_are_counted_if_the_replay_buffer_is_full(tmp_path):
    settings = {
        "rounds": 1,
        "episodes_per_round": 2,
        "evaluation_episodes": 1,
        "replicas": 1,
        "capacity": 3,
    }
    trainer = drrn.trainer("home-world", paper=True, hidden=4, seed=5, **settings)
    list(trainer.train())
    trainer.save(tmp_path / "run")
    save_step_counts(Run(tmp_path / "run"), trainer)
    assert (
        20 < json.loads((tmp_path / "run" / PLAYED).read_text())["1"][0] <= 40
    )  # not 3, of two days of 20


@pytest.mark.slow
def test_worlds_have_a_section_with_random_and_best_play(parsed):
    text = section(parsed, "Parser games")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert lines[2].startswith("| random play | 10.5 % |  | -1.58 |")
    assert (
        lines[3].startswith("| BOW-DQN | ")
        and "about 46 %, inferred" in lines[3]
        and "100 %" in lines[4]
    )
    assert lines[-2].startswith("| most that a bag of words can reach | 97.9 % |  | 0.94 |")
    assert lines[-1].startswith("| best possible | 100.0 % |  | 0.99 |")
    whole = (parsed / "RESULTS.md").read_text()
    assert (
        "Final average reward on Home World" not in whole and "Statistics of the games" not in whole
    )
    assert main(["report", "--out", str(parsed), "--check"]) == 0


@pytest.mark.slow
def test_the_on_par_verdict_follows_from_the_rows(parsed):
    results = ResultSet(Results(parsed))

    def verdict(ours, theirs):
        for job, scores in ((DRRN_BAG, ours), (BOW_DQN, theirs)):
            final = [row for row in results.rows("home-world", job, ".quests") if row["final"]]
            for row, score in zip(
                (row for row in final if row["policy"] == "softmax"), scores, strict=True
            ):
                row["exact_return"] = score
        return on_par(results, "home-world")[0]

    assert "so “on par” holds" in verdict([0.2, 0.3], [0.22, 0.31])
    assert "nearly on par" in verdict([0.2, 0.3], [0.3, 0.4])
    assert "“on par” does not hold: BOW-DQN is ahead" in verdict([0.2, 0.21], [0.9, 0.91])


@pytest.mark.slow
def test_steps_until_nearly_all_quests_are_completed_are_of_the_first_such_round(parsed):
    results = ResultSet(Results(parsed))
    for row in results.rows("home-world", DRRN_LSTM, ".quests"):
        row["done"], row["played"] = (0.99, 2000) if row["round"] == 2 else (0.5, 1000)
    assert "after 2,000 steps per seed" in nearly_all(results, "home-world")[0]
    assert "in no round" in nearly_all(results, "home-world")[1]


def test_an_interrupted_parser_job_ends_with_the_same_rows(tmp_path):
    game = drrn.make("home-world")
    few = {"rounds": 2, "episodes_per_round": 4, "evaluation_episodes": 2, "epochs": 1}

    def work(root):
        found = settings_of("home-world", DRRN_BAG, game, Scale(seeds=1, overrides=few))
        final = {"softmax": 5, "greedy": 5}
        return Job(
            tmp_path / root,
            "home-world",
            "home-world",
            DRRN_BAG,
            found,
            final,
            hashes_of(game),
            "a commit",
        )

    assert_interrupted_job_matches(
        work,
        lambda root: tmp_path / root / "rows/home-world",
        ("parser-drrn-bag.csv", "parser-drrn-bag.quests.csv"),
    )


# --- suites


@pytest.mark.slow
def test_suites_are_played_and_a_failing_one_does_not_stop_the_others(stand_ins, tmp_path, capsys):
    out, tale = tmp_path / "results", game_file(tmp_path)
    games = ["twx:coin?max_steps=5&copies=2", f"textworld:{tale}?max_steps=5&copies=2"]
    assert (
        main(
            [
                "reproduce",
                "--quick",
                "--only",
                "suites",
                "--games",
                *games,
                "--jobs",
                "1",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    text = section(out, "Games of suites")
    assert "| TextWorldExpress: coin" in text and "| TextWorld: tale" in text
    assert "--games 'textworld:tale.z8?max_steps=5&copies=2'" in text and str(tmp_path) not in text
    record = json.loads((out / "rows/twx-coin/suite-gru.json").read_text())
    assert record["wanted"]["encoder"] == "gru" and record["wanted"]["final_softmax"] == 8
    rows = rows_of(out / "rows/twx-coin/suite-gru.quests.csv")
    assert {row["final"] for row in rows} == {"yes", "no"} and int(rows[-1]["played"]) > 0
    assert main(["report", "--out", str(out), "--check"]) == 0


def test_a_suite_that_is_not_installed_is_skipped_with_a_message(tmp_path, monkeypatch):
    monkeypatch.setattr("drrn.suites.catalogue.Suite.installed", False)
    messages = []
    assert list(suite_games({}, messages.append)) == []
    assert len(messages) == 6
    text = "\n".join(messages)
    assert "twx:coin" in text
    assert "TextWorldExpress is not installed: pip install 'drrn[twx]'" in text
    assert "textworld is left out: name the file" in text
    assert "--jericho FILE" in text


def test_games_of_suites_are_played_for_few_episodes(stand_ins):
    game = drrn.make("twx:coin")
    settings = settings_of("twx-coin", SUITE_GRU, game, Scale())
    assert {"replicas": 3, "encoder": "gru", "keep": True}.items() <= settings.flat().items()
    assert set(Scale().final(SUITE_GRU, settings)) == {"softmax", "greedy", "best"}
    quick = settings_of("twx-coin", SUITE_GRU, game, Scale(quick=True))
    assert quick.flat()["episodes_per_round"] == 4
