"""Tables from hand-written rows; published results without texts of other people's stories."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

import drrn
from drrn.compiled.compile import compile_game
from drrn.document import Document, Section, Table
from drrn.errors import InputError
from drrn.lab.experiments.plan import BEST, EXAMPLES, GRID, Variant
from drrn.lab.experiments.results import EVALUATIONS, FACTS, KINDS, Results, mark, to_csv
from drrn.lab.reports.claims import with_headline
from drrn.lab.reports.report import differences, results_markdown, results_page
from drrn.lab.reports.result_set import ResultSet, Summary, predictive_r2, squared_correlation
from drrn.lab.reports.sections import document
from drrn.settings import PAPER
from drrn.text import words
from tests.paper_games import PAPER_GAMES

QUIETLY = {"capture_output": True, "text": True, "check": False}
ROOT = Path(drrn.__file__).parent.parent
WANTED = {**PAPER.flat(), "final_softmax": 1000, "final_greedy": 200}
RECORD = {
    "wanted": WANTED,
    "commit": "abc",
    "versions": {},
    "seconds": {"whole": 2.0, "learning": 1.0},
}


def store(results, game, variant, scores, exact=None, **more):
    rows = [
        {
            "game": game, **vars(variant), "seed": seed, "round": 20, "episodes": 1000, "final": True,
            "policy": "softmax", "paraphrased": False, "final_reward": score, "return": 0.0, "steps": 5.0,
            "stopped": 0.25, "exact": exact,
        }
        for seed, score in enumerate(scores)
    ]  # fmt: skip
    results.store(game, variant.name, {"": to_csv(rows, EVALUATIONS), **more}, RECORD)


def store_facts(results, game, **facts):
    rows = [{"measure": name, "value": value} for name, value in facts.items()]
    results.store(game, "game", {"": to_csv(rows, FACTS)}, RECORD)


@pytest.fixture
def results(tmp_path):
    results = Results(tmp_path)
    store_facts(
        results,
        "saving-john",
        random_final_reward=-7.0,
        best_final_reward=20.0,
        one_step_at_rest=18.4,
    )
    for variant in GRID:
        store(
            results,
            "saving-john",
            variant,
            [4.0, 5.0, 6.0] if variant.model != "drrn" else [17.0, 18.0, 19.0],
        )
    return results


def table_lines(results):
    return [
        line
        for line in results_markdown(document(ResultSet(results))).splitlines()
        if line.startswith("|")
    ]


def test_a_tables_means_and_deviations_are_those_of_its_rows(results):
    lines = table_lines(results)
    assert (
        "| DRRN (L = 2) | **18.0 (1.0)** | 18.4 (0.1) | **18.0 (1.0)** | 18.5 (0.3) | **18.0 (1.0)** | 18.7 (0.4) |"
        in lines
    )
    # 5 (1) beside 4.4 (0.4) is within 2 √(1 + 0.16); beside 2.0 (1.5), too; 18 (1) beside 17.1 (0.6), too
    assert (
        "| PA DQN (L = 1) | 5.0 (1.0) | 2.0 (1.5) | 5.0 (1.0) | 4.0 (1.4) | 5.0 (1.0) | 4.4 (2.0) |"
        in lines
    )
    assert "| Random play, exact | -7.00 |" in lines


def test_differences_above_twice_the_joint_deviation_are_marked(results):
    store(results, "saving-john", BEST, [15.0, 16.0, 17.0])  # 2.7 below 18.7; 2 √(1 + 0.16) = 2.15
    text = results_markdown(document(ResultSet(results)))
    assert "| 16.0 (1.0) † | 18.7 (0.4) |" in text and "† differs from the paper's" in text
    store(
        results, "saving-john", BEST, [1.0]
    )  # one seed deviates by nobody knows how much: neither shown nor marked
    assert "| 1.0 | 18.7 (0.4) |" in results_markdown(document(ResultSet(results)))
    assert Summary(0.0, 3.0).differs(Summary(10.1, 4.0)) and not Summary(0.0, 3.0).differs(
        Summary(9.9, 4.0)
    )


def test_sentences_report_which_model_is_ahead_and_whether_depth_helps(results):
    text = results_markdown(document(ResultSet(results)))
    assert (
        "DRRN is ahead of every baseline with 20 units (by 13.0), 50 units (by 13.0) and 100 units (by 13.0)."
        in text
    )
    assert "Two layers beat one in 0 of 9 comparisons; not for PA DQN at 20," in text
    assert "(in the paper's table: 8 of 9)." in text
    store(results, "saving-john", Variant("max-action", 2, 50), [19.0, 19.0, 19.0])
    text = results_markdown(document(ResultSet(results)))
    assert (
        "not with 50 units (MA DQN (L = 2) is, by 1.0)." in text and "in 1 of 9 comparisons" in text
    )


def test_the_gap_table_counts_from_random_to_best(results):
    # 18 of 20, from -7: 25 of 27 is 93 %; a quarter was stuck
    assert "| DRRN (L = 2) | **18.0 (1.0)** | 2.0 | 93 % | 25.0 % | — | — |" in table_lines(results)


def test_missing_rows_give_a_dash_and_the_command_that_computes_them(results):
    (results.root / "rows/saving-john/drrn-2x50.json").unlink()
    text = results_markdown(document(ResultSet(results)))
    assert "| — | 18.5 (0.3) |" in text
    assert "Rows are missing: run `drrn reproduce --only scores --games saving-john` with" in text


def test_the_report_names_games_without_statistics(results):
    (results.root / "rows/saving-john/game.json").unlink()
    assert "`drrn reproduce --only statistics --games saving-john`" in results_markdown(
        document(ResultSet(results))
    )


def test_settings_list_the_seeds_of_each_job_if_they_differ(results):
    text = results_markdown(document(ResultSet(results)))
    assert "; seeds 0 to 4; commit abc" in text
    rows = Path(results.root / "rows/saving-john/linear.csv").read_text()
    results.store(
        "saving-john",
        "linear",
        {"": rows},
        {**RECORD, "wanted": {**WANTED, "replicas": 1, "seed": 7}},
    )
    assert (
        "; seed 7 (linear), seeds 0 to 4 (per-action, max-action, drrn); commit abc"
        in results_markdown(document(ResultSet(results)))
    )


def test_a_bar_in_a_title_does_not_break_the_table(tmp_path):
    results = Results(tmp_path)
    store_facts(results, "tale", title="Sea | Sky", random_final_reward=1.0)
    assert "|  | Sea \\| Sky |" in table_lines(results)


def test_columns_of_words_are_left_aligned_and_numbers_right_aligned():
    table = Table("Q", ["Action", "", "Q", "none"], [["good", "Turn.", "5.2 (1.3)", "—"]])
    text = results_page(Document("Results", [], [Section("A", [table], "a")]), {})
    assert '<td>good</td><td class="words">Turn.</td><td>5.2 (1.3)</td><td>—</td>' in text


def test_predictive_r2_counts_a_shift_as_an_error_and_the_correlation_ignores_it():
    pairs = [(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]  # each off by 1: 1 - 3 / 8
    assert predictive_r2(pairs) == pytest.approx(0.625) and squared_correlation(
        pairs
    ) == pytest.approx(1)
    assert (
        predictive_r2([(1.0, 0.0), (1.0, 5.0)])
        == squared_correlation([(1.0, 0.0), (2.0, 0.0)])
        == 0
    )


def test_predictive_r2_is_computed_per_seed(results):
    pairs = [
        ([0.0, 0.0], [0.0, 1.0]),
        ([2.0, 2.0], [2.0, 1.0]),
    ]  # 1 for the first seed, 0 for the second
    rows = [
        {"state": "a", "action": "b", "paraphrase": "c", "q": q, "q_paraphrased": p}
        for q, p in pairs
    ]
    store(results, "saving-john", BEST, [1.0], **{".pairs": to_csv(rows, KINDS[".pairs"])})
    found = ResultSet(results).predictive_r2("saving-john", BEST)
    assert found is not None and (found[0].mean, round(found[0].sd, 3)) == (0.5, 0.707)


def test_the_headline_replaces_only_the_text_between_its_markers(results, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- headline -->\nold\n<!-- /headline -->\nafter\n")
    text = with_headline(readme, ResultSet(results), results.root)
    assert text.startswith("before\n<!-- headline -->") and text.endswith(
        "<!-- /headline -->\nafter\n"
    )
    assert "| Saving John | -7.0 | 18.7 (0.4) | 18.0 (1.0) | 20.0 |" in text and "old" not in text
    assert "| Machine of Death | — | 11.2 (0.6) | — | — |" in text
    readme.write_text("no markers")
    with pytest.raises(InputError, match="must have one <!-- headline -->"):
        with_headline(readme, ResultSet(results), results.root)


def test_a_mark_depends_on_words_alone():
    assert mark("Drop the  ANCHOR!") == mark("drop the anchor") != mark("drop anchor")


# --- other people's stories


@cache
def ours():
    """Return the words of all published results, by file."""
    found = [ROOT / "drrn/lab/experiments/examples.toml"]
    for folder in (ROOT / "results").glob("*") if (ROOT / "results").is_dir() else ():
        if folder.name != "work":
            found += [
                path
                for path in (folder.rglob("*") if folder.is_dir() else [folder])
                if path.is_file()
            ]
    return {
        path: f" {' '.join(words(re.sub(r'<svg.*?</svg>', '', path.read_text(), flags=re.S)))} "
        for path in found
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER_GAMES)
def test_published_files_contain_no_text_of_the_papers_games(game_path, name):
    phrases = phrases_of(compile_game(drrn.make(game_path(name))))
    for path, text in ours().items():
        assert quoted(phrases, text) == [], path


def test_a_published_text_of_a_game_would_be_detected(imitated_games):
    phrases = phrases_of(compile_game(drrn.make(imitated_games / "saving-john.toml")))
    assert quoted(phrases, " and at the gate you think of oil and ") == [
        "at the gate you think of oil"
    ]
    assert quoted(phrases, " at the gate you think ") == []


def phrases_of(compiled):
    """Return texts and actions of at least four words, and sentences of at least six."""
    said = {
        " ".join(words(text))
        for text in (*compiled.texts, *compiled.actions)
        if len(words(text)) >= 4
    }
    sentences = [s for text in compiled.texts for s in re.split(r"[.!?]+\s|\n", text)]
    return said | {" ".join(words(sentence)) for sentence in sentences if len(words(sentence)) >= 6}


def quoted(phrases, text):
    return [phrase for phrase in phrases if f" {phrase} " in text]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("saving-john", "shared_games/savingjohn.toml"),
        ("machine-of-death", "shared_games/machineofdeath.toml"),
        ("long-watch", "long-watch"),
        ("night-market", "night-market"),
    ],
)
def test_the_example_states_are_in_the_games_and_our_actions_are_not(game_path, key, name):
    compiled = compile_game(drrn.make(game_path(name)))
    texts, actions = ({mark(text) for text in side} for side in (compiled.texts, compiled.actions))
    known = {word for action in compiled.actions for word in words(action)}
    mine = [example for example in EXAMPLES if example.game == key]
    assert mine and sum(example.embedding for example in mine) == 1
    for example in mine:
        assert (
            example.state["mark"] in texts
            and {example.good["mark"], example.poor["mark"]} <= actions
        )
        for action in (action for some in example.made_up.values() for action in some):
            assert mark(action) not in actions and set(words(action)) <= known


def test_exact_scores_replace_sampled_ones(results):
    store(results, "saving-john", BEST, [1.0, 2.0], exact=18.5)
    found = ResultSet(results).final("saving-john", BEST)
    assert found is not None and (found.mean, found.sd) == (18.5, 0.0)
    assert ResultSet(results).final("saving-john", BEST, "final_reward").mean == 1.5


def test_the_report_says_so_if_the_control_beats_every_model(results):
    assert "is ahead of every model" not in results_markdown(document(ResultSet(results)))
    store(results, "saving-john", Variant("table"), [19.0, 20.0])
    said = results_markdown(document(ResultSet(results)))
    assert "| Look-up table, a control | 19.5 (0.7) |" in said
    assert "is ahead of every model (of DRRN (L = 1) at 20 by 1.5)" in said


def test_the_papers_q_values_are_in_the_rows_of_its_actions(results):
    example = next(e for e in EXAMPLES if e.game == "saving-john")
    rows = [
        {"seed": 0, "state": example.state["mark"], "kind": kind, "action": action, "q": q}
        for kind, action, q in (
            ("good", example.good["mark"], 17.0),
            ("poor", example.poor["mark"], -9.0),
        )
    ]
    store(results, "saving-john", BEST, [18.0], **{".examples": to_csv(rows, KINDS[".examples"])})
    lines = table_lines(results)
    assert f"| in the game, good | {example.good['gloss']} | 17.0 | 18.0 |" in lines
    assert f"| in the game, poor | {example.poor['gloss']} | -9.0 | -9.0 |" in lines
    assert f"| made up, positive | {example.made_up['positive'][0]} | — |  |" in lines


def test_published_rows_name_commits_of_this_repository():
    rows = ROOT / "results/rows"
    if not rows.is_dir() or not (ROOT / ".git").exists():
        pytest.skip("no results or no repository")
    if (
        subprocess.run(["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, **QUIETLY).stdout
        != "false\n"
    ):
        pytest.skip("the repository is a shallow clone")
    named = {
        c
        for path in rows.glob("*/*.json")
        for c in json.loads(path.read_text())["commit"].split(", ")
    }
    for commit in named:
        found = subprocess.run(
            ["git", "merge-base", "--is-ancestor", commit, "HEAD"], cwd=ROOT, **QUIETLY
        )
        assert found.returncode == 0, f"{commit} is not an ancestor of this commit"


@pytest.mark.slow
def test_published_files_agree_with_their_rows():
    if not (ROOT / "results/rows").is_dir():
        pytest.skip("no results are published yet")
    readme = ROOT / "README.md"
    assert (
        differences(
            Results(ROOT / "results"), readme if "<!-- headline -->" in readme.read_text() else None
        )
        == []
    )
