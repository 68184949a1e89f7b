"""Beyond the paper: jobs of the strong recipe, their rows, and what the report says of them."""

import csv
import json
import shutil
from pathlib import Path

import pytest

import drrn
from drrn.cli import main
from drrn.lab.experiments.job import Job, hashes_of
from drrn.lab.experiments.plan import (
    ABLATIONS,
    BEST,
    BEYOND,
    LONG,
    STRONG_JOB,
    VECTORS,
    Scale,
    settings_of,
    variants_of,
)
from drrn.lab.experiments.results import EVALUATIONS, Results
from drrn.lab.reports.claims import headline
from drrn.lab.reports.report import differences
from drrn.lab.reports.result_set import ResultSet
from drrn.settings import STRONG_CHANGES
from tests.experiment_jobs import assert_interrupted_job_matches

ROOT = Path(drrn.__file__).parent.parent
TINY = {"rounds": 2, "episodes_per_round": 20, "evaluation_episodes": 5, "updates": 3, "hidden": 8}
SET = [f"{name}={value}" for name, value in TINY.items() if name != "hidden"]
COMMAND = ["reproduce", "--quick", "--jobs", "1", "--set", *SET, "--games", "long-watch"]
pytestmark = pytest.mark.usefixtures("jobs_in_process")


def settings(variant, game="night-market", **options):
    return settings_of(game, variant, drrn.make(game), Scale(**options))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "small.txt"
    words = ("the", "a", "to", "of", "her", "wait", "ask", "tell", "go", "light")
    path.write_text(
        "".join(f"{word} {number}.5 {10 - number} 1\n" for number, word in enumerate(words))
    )
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory, vectors):
    """A folder of results, made by the real command."""
    out = tmp_path_factory.mktemp("made") / "results"
    command = [
        *COMMAND,
        "--only",
        "beyond",
        "drrn-2x100",
        "--seeds",
        "2",
        "--vectors",
        str(vectors),
    ]
    assert main([*command, "--out", str(out)]) == 0
    return out


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


# --- the plan


def test_a_strong_job_has_the_recipe_as_it_is_and_ten_seeds_that_none_was_tuned_on():
    found = settings(STRONG_JOB).flat()
    assert {name: found[name] for name in STRONG_CHANGES} == STRONG_CHANGES
    assert settings(STRONG_JOB).run.seeds == list(range(10))
    assert settings(STRONG_JOB).run.rounds * settings(STRONG_JOB).run.episodes_per_round == 4_000
    assert settings(LONG).run.rounds * settings(LONG).run.episodes_per_round == 20_000


def test_each_ablation_changes_what_it_names_and_nothing_else():
    whole = settings(STRONG_JOB).flat()
    for variant in ABLATIONS:
        apart = {
            name: value for name, value in settings(variant).flat().items() if value != whole[name]
        }
        assert apart and apart == {
            name: variant.settings[name]
            for name in variant.changes
            if variant.settings[name] != whole[name]
        }, variant.name
    assert len(
        {variant.name for variant in BEYOND} | {variant.label for variant in BEYOND}
    ) == 2 * len(BEYOND)


def test_parts_are_taken_out_where_they_count_and_vectors_read_only_where_there_are_some():
    def names(game, read):
        found = variants_of(["beyond"], paraphrases=True, game=game, vectors=read)
        return {variant.name for variant in found}

    assert names("long-watch", False) == {"strong"} and names("tale", True) == {
        "strong",
        "strong-vectors",
    }
    assert len(names("machine-of-death", False)) == 1 + len(ABLATIONS)
    explored = {"strong-optimism", "strong-means"}
    assert names("night-market", True) == {"strong", "strong-20000", "strong-vectors", *explored}


def test_what_is_asked_of_all_jobs_gives_way_to_what_a_job_takes_out():
    gamma = next(variant for variant in ABLATIONS if variant.name == "strong-gamma")
    overrides = {"discount": 0.5, "rounds": 3, "epochs": 1}
    assert (
        settings(gamma, overrides=overrides).learner.discount == 0.9
        and settings(STRONG_JOB, overrides=overrides).learner.discount == 0.5
    )
    assert settings(LONG, overrides=overrides).run.rounds == 3
    assert (
        settings(BEST, overrides={"updates": 3}).learner.updates == 3
    )  # of no use there, and not refused


def test_rows_of_the_papers_jobs_are_wanted_as_they_were():
    game = drrn.make("night-market")
    assert Scale().final(BEST, settings(BEST)) == {"softmax": 1000, "greedy": 200}
    assert "best" in Scale().final(STRONG_JOB, settings(STRONG_JOB))
    assert (
        set(hashes_of(game, BEST)) == {"sha256", "paraphrases"}
        and hashes_of(game, STRONG_JOB)["reworded"]
    )


# --- the command


def test_a_strong_job_leaves_rows_by_best_too_and_in_other_words_altogether(made):
    rows = rows_of(made / "rows/long-watch/strong.csv")
    assert list(rows[0]) == list(EVALUATIONS) and rows[0]["hidden"] == str(
        settings(STRONG_JOB).model.hidden
    )
    rounds = [(row["seed"], row["round"], row["policy"]) for row in rows if row["final"] == "no"]
    assert sorted(rounds) == [(s, n, p) for s in "01" for n in "12" for p in ("best", "softmax")]
    final = [row for row in rows if row["final"] == "yes"]
    assert {(row["policy"], row["episodes"], bool(row["exact"])) for row in final} == {
        ("softmax", "100", True), ("greedy", "50", True), ("best", "50", False),
    }  # fmt: skip
    reworded = rows_of(made / "rows/long-watch/strong.reworded.csv")
    assert len(reworded) == 6 and all(row["paraphrased"] == "yes" for row in reworded)
    assert [row["exact"] for row in reworded] != [row["exact"] for row in final]


def test_the_word_vectors_are_recorded_by_name_and_digest_and_not_by_their_place(made, vectors):
    record = json.loads((made / "rows/long-watch/strong-vectors.json").read_text())
    digest = drrn.vectors.open_vectors(vectors).digest
    assert (record["vectors"], record["wanted"]["vectors"]) == ("small.txt", digest)
    assert str(vectors.parent) not in json.dumps(record)
    assert (
        f"vectors none (strong), small.txt with sha256 {digest[:12]} (strong-vectors)"
        in (made / "RESULTS.md").read_text()
    )


def test_vectors_elsewhere_are_the_same_and_other_ones_are_refused(made, vectors, tmp_path, capsys):
    command = [*COMMAND, "--only", VECTORS.name, "--seeds", "2", "--out", str(made), "--vectors"]
    moved = shutil.copy(vectors, tmp_path / "moved.txt")
    assert main([*command, str(moved)]) == 0 and "2 of 2 jobs are done" in capsys.readouterr().out
    Path(moved).write_text(vectors.read_text() + "oar 1 2 3\n")
    assert main([*command, str(moved)]) == 2
    assert "strong-vectors.csv: it has other settings (vectors is" in capsys.readouterr().err


def test_without_vectors_a_sentence_says_what_is_left_out(made, capsys):
    assert main([*COMMAND, "--only", "beyond", "--seeds", "2", "--out", str(made)]) == 0
    said = capsys.readouterr()
    assert (
        "2 of 2 jobs are done" in said.out and "strong-vectors is left out: give a file" in said.err
    )


def test_a_strong_job_cut_after_a_round_ends_with_the_same_rows(tmp_path, vectors):
    game = drrn.make("long-watch")

    def work(root):
        found = settings_of(
            "long-watch", VECTORS, game, Scale(seeds=1, overrides=TINY, vectors=str(vectors))
        )
        final = {"softmax": 20, "greedy": 5, "best": 5}
        hashes = hashes_of(game, VECTORS)
        return Job(
            tmp_path / root,
            "long-watch",
            "long-watch",
            VECTORS,
            found,
            final,
            hashes,
            "a commit",
            vectors="d",
        )

    assert_interrupted_job_matches(
        work,
        lambda root: tmp_path / root / "rows/long-watch",
        ("strong-vectors.csv", "strong-vectors.reworded.csv"),
    )


# --- the report


def test_the_report_has_the_strong_agent_beside_the_papers_recipe_and_its_curves(made):
    text, results = (made / "RESULTS.md").read_text(), ResultSet(Results(made))
    assert "## Beyond the paper" in text and (made / "figures/beyond.svg").exists()
    scores = results.scores("long-watch", STRONG_JOB, policy="best")
    mean, lowest = sum(scores) / 2, min(scores)
    line = next(
        line
        for line in text.split("## Beyond")[1].splitlines()
        if line.startswith("| The Long Watch |")
    )
    assert (
        f"| {mean:.2f} (" in line and f" | {lowest:.2f} | " in line and line.endswith("| 20.00 |")
    )
    assert "the mean of 50 games per seed" in text
    assert main(["report", "--out", str(made), "--check"]) == 0


def test_check_names_the_figure_of_what_is_beyond_when_it_shows_other_rows(made, tmp_path, capsys):
    shutil.copytree(made, tmp_path / "results")
    path = tmp_path / "results/figures/beyond.svg"
    path.write_text(path.read_text().replace('data-rows="', 'data-rows="0'))
    assert main(["report", "--out", str(tmp_path / "results"), "--check"]) == 1
    assert "beyond.svg: it shows other rows" in capsys.readouterr().err


def test_the_headline_gains_columns_where_there_are_rows_of_the_strong_agent(made):
    results = ResultSet(Results(made))
    text = headline(results, "figures")
    assert "| ours | the strong agent | … by `best` | best possible |" in text
    assert "| Saving John | — | 18.7 (0.4) | — | — | — | — |" in text
    assert "| The Long Watch | -7.1 |  | " in text
    for game, name in list(results.jobs):
        if isinstance(name, str) and name.startswith("strong"):
            del results.jobs[game, name]
    assert "| ours | best possible |" in headline(results, "figures")


def test_the_page_has_a_table_of_parts_between_its_markers(made, tmp_path, capsys):
    shutil.copytree(made, tmp_path / "results")
    rows = tmp_path / "results/rows"
    page = tmp_path / "beyond.md"
    page.write_text("before\n<!-- parts -->\n<!-- /parts -->\nafter\n")
    command = ["report", "--out", str(tmp_path / "results"), "--beyond", str(page)]
    assert main(command) == 0 and "No rows yet" in page.read_text()
    part, results = (
        next(each for each in ABLATIONS if each.name == "strong-optimism"),
        Results(tmp_path / "results"),
    )
    files = {
        ending: (rows / f"long-watch/strong{ending}.csv").read_text()
        for ending in ("", ".reworded")
    }
    record = results.record("long-watch", "strong")
    results.store(
        "night-market", part.name, files, {**record, "game": "night-market", "job": part.name}
    )
    assert main([*command, "--check"]) == 1 and f"{page}, line " in capsys.readouterr().err
    assert main(command) == 0 and main([*command, "--check"]) == 0
    told = page.read_text()
    assert f"| {part.label} | " in told and told.startswith("before\n<!-- parts -->")
    assert (
        "| … reworded entirely, with word vectors | " in told
    )  # what was missed stands there, too


def test_the_published_page_is_what_the_rows_say():
    if not (ROOT / "results/rows").is_dir():
        pytest.skip("no results are published yet")
    assert differences(Results(ROOT / "results"), None, ROOT / "docs/beyond.md") == []
