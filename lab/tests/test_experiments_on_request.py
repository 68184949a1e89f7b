"""Experiments on encoders, parser games and suites, run by the command with tiny numbers."""

import csv

import pytest

import drrn
from drrn.playing.survey import PARSER_GAME
from drrn.runs.config import settings_for_game
from lab.experiments.job import Job, hashes_of
from lab.experiments.plan import ADDED, BEST, ENCODERS, VARIANTS, Scale, settings_of, variants_of
from lab.reproduce import experiment_games, published_games
from tests.commands import main
from tests.suite_files import game_file
from textgames.game.contract import close, training_of

SET = ["rounds=2", "episodes_per_round=6", "evaluation_episodes=4", "epochs=1"]
COMMAND = ["reproduce", "--quick", "--jobs", "1", "--set", *SET]
ENCODER_COMMAND = [*COMMAND, "--only", "encoders", "--games", "long-watch", "--seeds", "2"]
PARSER_COMMAND = [*COMMAND, "--only", "parser", "--games", "home-world", "--seeds", "2"]
PARSER_BAG = VARIANTS["parser-drrn-bag"]
pytestmark = pytest.mark.usefixtures("jobs_in_process")


@pytest.fixture(scope="module")
def encoder_results(tmp_path_factory):
    """Results of all encoders on a small game."""
    folder = tmp_path_factory.mktemp("encoders")
    vectors = folder / "small.txt"
    vectors.write_text("the 0.5 1\na 1.5 1\nto 2.5 1\nwait 3.5 1\n")
    out = folder / "results"
    assert main([*ENCODER_COMMAND, "--vectors", str(vectors), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def parser_results(tmp_path_factory):
    """Results of the agents in Home World."""
    out = tmp_path_factory.mktemp("parser") / "results"
    assert main([*PARSER_COMMAND, "--out", str(out)]) == 0
    return out


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def final_rows(results, game, job, kind=""):
    rows = results.rows(game, job, kind)
    return [row for row in rows if row["final"] and row["policy"] == "softmax"]


def section(results, title):
    return (results / "AGENTS.md").read_text().split(f"## {title}")[1].split("\n## ")[0]


def games_of(only, names=()):
    """Return the sources of the games of experiments, and the messages."""
    messages: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lab.reproduce.warn", messages.append)
        return [game.source for game in experiment_games(names, only)], messages


# The plan


def test_additional_experiments_run_only_on_request():
    usual = set(variants_of([], paraphrases=True))
    for name in ADDED:
        assert not {*variants_of([name], paraphrases=True)} - {BEST} & usual
    paper = variants_of(["paper"], paraphrases=True, game="saving-john")
    assert {variant.group for variant in paper} == {"paper", "choices", "updates"}


def test_an_encoder_job_differs_from_the_drrn_of_the_paper_only_in_the_encoder():
    game = drrn.make("long-watch")
    bag = settings_of("long-watch", BEST, game, Scale()).flat()
    for job in ENCODERS:
        settings = settings_of("long-watch", job, game, Scale(vectors="/words.txt")).flat()
        changes = {name for name, value in settings.items() if value != bag[name]}
        assert changes == ({"encoder", "vectors"} if job.vectors else {"encoder"})


def test_agents_in_a_world_use_its_training_settings_and_five_seeds():
    game = drrn.make("home-world")
    for job in ADDED["parser"]:
        settings = settings_of("home-world", job, game, Scale())
        assert job.strong or training_of(game).items() <= settings.flat().items()
        assert settings.run.seeds == [0, 1, 2, 3, 4]


def test_each_experiment_has_its_games(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path))
    assert games_of(["parser"]) == (["home-world", "comet-house"], [])
    assert games_of(["parser-bow-dqn"])[0] == ["home-world", "comet-house"]
    assert games_of(["scores"])[0] == ["long-watch", "night-market"]
    assert games_of([])[0] == ["long-watch", "night-market"]
    games, messages = games_of(["encoders"])
    assert games == [] and "only other games are used: " in messages[0]
    assert games_of(["parser"], ["long-watch"])[0] == ["long-watch"]


# Encoders


@pytest.mark.full
def test_encoders_are_compared_with_the_bag_in_a_table_and_curves(encoder_results):
    text = section(encoder_results, "Encoders")
    bags = ("bag of words, the paper's", "bag and word vectors, added")
    for name in (*bags, "LSTM", "GRU", "attention"):
        assert f"| {name} | " in text
    assert "](figures/encoders.svg)" in text
    assert main(["report", "--out", str(encoder_results), "--check"]) == 0


# Parser games


@pytest.mark.full
def test_rows_have_the_share_of_completed_quests_and_the_steps_played(parser_results):
    rows = rows_of(parser_results / "rows/home-world/parser-drrn-bag.quests.csv")
    keys = [(row["round"], row["final"], row["policy"], row["seed"]) for row in rows]
    expected = []
    for key in (
        ("1", "no", "softmax"),
        ("2", "no", "softmax"),
        ("2", "yes", "softmax"),
        ("2", "yes", "greedy"),
    ):
        expected += [(*key, "0"), (*key, "1")]
    assert keys == expected
    assert 0 < int(rows[0]["played"]) < int(rows[2]["played"]) == int(rows[4]["played"]) <= 12 * 20
    for row in rows[4:]:
        assert 0 <= float(row["exact_done"]) <= 1 and float(row["exact_return"]) < 1


@pytest.mark.full
def test_worlds_have_a_section_with_random_and_best_play(parser_results):
    text = section(parser_results, "Parser games")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert lines[2].startswith("| random play | 10.5 % |  | -1.58 |")
    assert lines[3].startswith("| BOW-DQN | ") and "about 46 %, inferred" in lines[3]
    assert "100 %" in lines[4]
    assert lines[-2].startswith("| most that a bag of words can reach | 97.9 % |  | 0.94 |")
    assert lines[-1].startswith("| best possible | 100.0 % |  | 0.99 |")
    assert not (parser_results / "STORIES.md").exists()
    assert main(["report", "--out", str(parser_results), "--check"]) == 0


@pytest.mark.parametrize("name", ["home-world", "comet-house"])
def test_the_default_agent_of_parser_games_has_the_settings_of_the_survey(name):
    game = drrn.make(name)
    defaults = [job for job in ADDED["parser"] if job.strong]
    whole, bag = (settings_of(name, job, game, Scale(seeds=1)).flat() for job in defaults)
    sizes = {"rounds": 40, "episodes_per_round": 100, "replicas": 1, "seed": 0, "survey": False}
    usual = settings_for_game(game, {**PARSER_GAME, **sizes}, paper=False).flat()
    assert whole == usual
    assert bag == {**usual, "phrases": False}


def test_an_interrupted_parser_job_ends_with_the_same_rows(tmp_path):
    game = drrn.make("home-world")
    few = {"rounds": 2, "episodes_per_round": 4, "evaluation_episodes": 2, "epochs": 1}

    def job(root):
        settings = settings_of("home-world", PARSER_BAG, game, Scale(seeds=1, overrides=few))
        names = ("home-world", "home-world", PARSER_BAG)
        final = {"softmax": 5, "greedy": 5}
        return Job(tmp_path / root, *names, settings, final, hashes_of(game), "a commit")

    list(job("whole").run())
    next(job("interrupted").run())
    list(job("interrupted").run())
    for name in ("parser-drrn-bag.csv", "parser-drrn-bag.quests.csv"):
        whole, interrupted = (
            tmp_path / r / "rows/home-world" / name for r in ("whole", "interrupted")
        )
        assert interrupted.read_text() == whole.read_text()


def test_the_file_of_a_protocol_is_found_in_a_folder_whatever_its_case(stand_ins, tmp_path, capsys):
    job = "published-jericho-aaai2020-detective"
    assert list(published_games([job], None)) == []
    game_file(tmp_path, "Detective.Z5")
    (tmp_path / "detective.txt").write_text("notes")
    for path in (tmp_path, tmp_path / "Detective.Z5"):
        (game,) = published_games([job], path)
        assert game.source.startswith(f"jericho:{tmp_path}/Detective.Z5?")
        close(game.game)
    assert list(published_games(["published-jericho-aaai2020-zork1"], path)) == []
    text = capsys.readouterr().err
    assert text.count("is skipped: it needs") == 2
    assert "zork1 is skipped: it needs zork1.z3, .z5 or .z8 (--jericho FOLDER)" in text
