"""Tables of hand-written rows; published results without texts of other people's stories."""

import itertools
import json
import re
import subprocess
from functools import cache
from typing import Any

import pytest

import drrn
from drrn.settings import PAPER
from lab.experiments.plan import BEST, EXAMPLES, GRID
from lab.experiments.results import EVALUATIONS, FACTS, KINDS, Results, mark, to_csv
from lab.reports import paper
from lab.reports.report import differences, page_text, read_rows, results_text, settings_table
from lab.reports.result_set import ResultSet, Summary, predictive_r2, squared_correlation
from tests.paper_games import PAPER_GAMES
from tests.source_code import ROOT
from textgames.compiled.compile import compile_game
from textgames.document import markdown_block
from textgames.errors import InputError
from textgames.wording import words

PAGES = ("lab/beyond", "textgames/diagnostics", "drrn/arena")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
SETTINGS = {**PAPER.flat(), "final_softmax": 1000, "final_greedy": 200}
RECORD: dict[str, Any] = {
    "wanted": SETTINGS,
    "commit": "abc",
    "versions": {},
    "seconds": {"whole": 2.0, "learning": 1.0},
}


def store(results, game, variant, scores, exact=None, **files):
    """Store a final row for each score, and other files of a job."""
    job = {"game": game, **vars(variant), "round": 20, "episodes": 1000, "final": True}
    job |= {"policy": "softmax", "paraphrased": False, "exact": exact}
    job |= {"return": 0.0, "steps": 5.0, "stopped": 0.25}
    rows = [{**job, "seed": seed, "final_reward": score} for seed, score in enumerate(scores)]
    results.store(game, variant.name, {"": to_csv(rows, EVALUATIONS), **files}, RECORD)


def store_facts(results, game, **facts):
    """Store statistics of a game."""
    rows = [{"measure": name, "value": value} for name, value in facts.items()]
    results.store(game, "game", {"": to_csv(rows, FACTS)}, RECORD)


@pytest.fixture
def results(tmp_path):
    results = Results(tmp_path)
    facts = {"random_final_reward": -7.0, "best_final_reward": 20.0, "one_step_at_rest": 18.4}
    store_facts(results, "saving-john", **facts)
    for variant in GRID:
        scores = [17.0, 18.0, 19.0] if variant.model == "drrn" else [4.0, 5.0, 6.0]
        store(results, "saving-john", variant, scores)
    return results


def lines(blocks):
    """The lines of tables as Markdown."""
    return [line for block in blocks for line in markdown_block(block).splitlines()]


def scores(results):
    return lines(paper.scores_tables(ResultSet(results)))


def test_a_table_has_the_means_and_deviations_of_its_rows(results):
    cell = "**18.0 (1.0)**"
    ours = f"| DRRN (L = 2) | {cell} | 18.4 (0.1) | {cell} | 18.5 (0.3) | {cell} | 18.7 (0.4) |"
    assert ours in scores(results)
    # All differences from the paper are within 2 √(sd² + sd²), so none is marked.
    cell = "5.0 (1.0)"
    ours = f"| PA DQN (L = 1) | {cell} | 2.0 (1.5) | {cell} | 4.0 (1.4) | {cell} | 4.4 (2.0) |"
    assert ours in scores(results)
    (statistics,) = paper.statistics_table(ResultSet(results))
    assert "| Random play, final reward | -7.00 | about -7 |" in lines([statistics])


def test_differences_above_twice_the_joint_deviation_are_marked(results):
    store(results, "saving-john", BEST, [15.0, 16.0, 17.0])  # 2.7 below 18.7; 2 √(1 + 0.16) = 2.15
    assert any("| 16.0 (1.0) † | 18.7 (0.4) |" in line for line in scores(results))
    store(results, "saving-john", BEST, [1.0])  # one seed has no deviation and no mark
    assert any("| 1.0 | 18.7 (0.4) |" in line for line in scores(results))
    assert Summary(0.0, 3.0).differs(Summary(10.1, 4.0))
    assert not Summary(0.0, 3.0).differs(Summary(9.9, 4.0))


def test_the_gap_table_measures_from_random_to_best_play(results):
    # From -7 to 18 of 20: 25 of 27 is 93 %; a quarter of the episodes was truncated.
    row = "| DRRN (L = 2) | **18.0 (1.0)** | 2.0 | 93 % | 25.0 % | — | — |"
    assert row in lines(paper.gap_tables(ResultSet(results)))


def test_missing_rows_give_a_dash(results):
    (results.root / "rows/saving-john/drrn-2x50.json").unlink()
    (results.root / "rows/saving-john/game.json").unlink()
    assert any("| — | 18.5 (0.3) |" in line for line in scores(results))


def test_jobs_with_equal_settings_share_a_row(results):
    rows = (results.root / "rows/saving-john/linear.csv").read_text()
    record = {**RECORD, "wanted": {**SETTINGS, "replicas": 1, "seed": 7}, "device": "cuda"}
    results.store("saving-john", "linear", {"": rows}, record)
    table = settings_table(ResultSet(results))
    grid, linear = sorted(table.rows, key=lambda row: row[1] == "linear")
    assert [row[0] for row in table.rows] == ["Saving John"] * 2
    assert str(grid[1]).startswith("drrn (1x100, 1x20, ") and "per-action (" in str(grid[1])
    assert linear[-3:] == ["7", "cuda", "abc"] and grid[-3:] == ["0 to 4", "cpu", "abc"]
    cells = dict(zip(table.header, grid, strict=True))
    assert cells["episodes per round"] == "200" and cells["interactions"] == "—"


def test_a_bar_in_a_title_does_not_break_the_table(tmp_path):
    results = Results(tmp_path)
    store_facts(results, "tale", title="Sea | Sky", random_final_reward=1.0)
    assert "|  | Sea \\| Sky |" in lines(paper.statistics_table(ResultSet(results)))


def test_sections_without_rows_are_left_out_and_findings_end_theirs(results):
    (results.root / "findings.md").write_text(
        "About.\n\n## Final rewards\n\nOurs.\n\n## Encoders\n\nNo.\n"
    )
    _, content = read_rows(results)
    text = results_text(content, results.root / "findings.md")
    sections = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    assert {"Final rewards", "Settings"} < sections.keys() and "Encoders" not in sections
    assert sections["Final rewards"].rstrip().endswith("|\n\nOurs.")
    assert "About." not in text and "{{" not in text


def test_predictive_r2_counts_a_shift_as_an_error_and_the_correlation_ignores_it():
    pairs = [(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]  # each off by 1: 1 - 3 / 8
    assert predictive_r2(pairs) == pytest.approx(0.625)
    assert squared_correlation(pairs) == pytest.approx(1)
    assert predictive_r2([(1.0, 0.0), (1.0, 5.0)]) == 0
    assert squared_correlation([(1.0, 0.0), (2.0, 0.0)]) == 0


def test_predictive_r2_is_computed_per_seed(results):
    # 1 for the first seed, 0 for the second
    texts = {"state": "a", "action": "b", "paraphrase": "c"}
    rows = [
        {**texts, "q": [0.0, 0.0], "q_paraphrased": [0.0, 1.0]},
        {**texts, "q": [2.0, 2.0], "q_paraphrased": [2.0, 1.0]},
    ]
    store(results, "saving-john", BEST, [1.0], **{".pairs": to_csv(rows, KINDS[".pairs"])})
    scores = ResultSet(results).predictive_r2("saving-john", BEST)
    assert scores is not None and scores[0] is not None
    assert scores[0].mean == 0.5 and scores[0].sd == pytest.approx(0.5**0.5)


def test_only_the_text_between_markers_is_replaced(results, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- headline -->\nold\n<!-- /headline -->\nafter\n")
    _, content = read_rows(results)
    text = page_text(readme, content, results.root)
    assert text.startswith("before\n<!-- headline -->")
    assert text.endswith("<!-- /headline -->\nafter\n")
    assert "| Saving John | -7.0 | 18.7 (0.4) | 18.0 (1.0) | — | 20.0 |" in text
    assert "| Machine of Death | — | 11.2 (0.6) | — | — | — |" in text and "old" not in text
    for broken in ("no markers", text.replace("<!-- /headline -->", "")):
        readme.write_text(broken)
        with pytest.raises(InputError, match=r"README\.md"):
            page_text(readme, content, results.root)


def test_a_mark_depends_only_on_words():
    assert mark("Drop the  ANCHOR!") == mark("drop the anchor") != mark("drop anchor")


# Texts of other people's stories


@cache
def published_words():
    """Return the words of all published results by file, separated by spaces."""
    paths = [ROOT / "lab/experiments/examples.toml"]
    for path in (ROOT / "results").rglob("*"):
        if path.is_file() and path.relative_to(ROOT / "results").parts[0] != "work":
            paths.append(path)
    result = {}
    for path in paths:
        text = re.sub(r"<svg.*?</svg>", "", path.read_text(), flags=re.S)
        result[path] = f" {' '.join(words(text))} "
    return result


@pytest.mark.parametrize("name", PAPER_GAMES)
def test_published_files_contain_no_text_of_the_papers_games(game_path, name):
    phrases = phrases_of(compile_game(drrn.make(game_path(name))))
    for path, text in published_words().items():
        assert quotes(phrases, text) == [], path


def test_a_published_text_of_a_game_would_be_detected(imitated_games):
    phrases = phrases_of(compile_game(drrn.make(imitated_games / "saving-john.toml")))
    text = " and at the gate you think of oil and "
    assert quotes(phrases, text) == ["at the gate you think of oil"]
    assert quotes(phrases, " at the gate you think ") == []


def phrases_of(compiled):
    """Return texts and actions of at least four words, and sentences of at least six."""
    texts = [words(text) for text in (*compiled.texts, *compiled.actions)]
    phrases = {" ".join(text) for text in texts if len(text) >= 4}
    for text in compiled.texts:
        sentences = [words(sentence) for sentence in re.split(r"[.!?]+\s|\n", text)]
        phrases |= {" ".join(sentence) for sentence in sentences if len(sentence) >= 6}
    return phrases


def quotes(phrases, text):
    """Return the phrases that occur in a text."""
    vocabulary = set(text.split())
    candidates = [phrase for phrase in phrases if vocabulary.issuperset(phrase.split())]
    return [phrase for phrase in candidates if f" {phrase} " in text]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("saving-john", "shared_games/savingjohn.toml"),
        ("machine-of-death", "shared_games/machineofdeath.toml"),
        ("long-watch", "long-watch"),
        pytest.param("night-market", "night-market", marks=pytest.mark.full),
    ],
)
def test_example_states_are_in_the_games_and_invented_actions_are_not(game_path, key, name):
    compiled = compile_game(drrn.make(game_path(name)))
    texts = {mark(text) for text in compiled.texts}
    actions = {mark(action) for action in compiled.actions}
    vocabulary = {word for action in compiled.actions for word in words(action)}
    examples = [example for example in EXAMPLES if example.game == key]
    assert examples and sum(example.embedding for example in examples) == 1
    for example in examples:
        assert example.state["mark"] in texts
        assert {example.good["mark"], example.poor["mark"]} <= actions
        for action in itertools.chain(*example.made_up.values()):
            assert mark(action) not in actions and set(words(action)) <= vocabulary


def test_exact_scores_replace_sampled_ones(results):
    store(results, "saving-john", BEST, [1.0, 2.0], exact=18.5)
    exact = ResultSet(results).final("saving-john", BEST)
    assert exact is not None and (exact.mean, exact.sd) == (18.5, 0.0)
    sampled = ResultSet(results).final("saving-john", BEST, "final_reward")
    assert sampled is not None and sampled.mean == 1.5


def test_the_table_of_examples_has_the_q_values_of_the_paper(results):
    example = next(example for example in EXAMPLES if example.game == "saving-john")
    page = {"seed": 0, "state": example.state["mark"]}
    rows = [
        {**page, "kind": "good", "action": example.good["mark"], "q": 17.0},
        {**page, "kind": "poor", "action": example.poor["mark"], "q": -9.0},
    ]
    store(results, "saving-john", BEST, [18.0], **{".examples": to_csv(rows, KINDS[".examples"])})
    table = lines(paper.examples_tables(ResultSet(results)))
    assert f"| in the game, good | {example.good['gloss']} | 17.0 | 18.0 |" in table
    assert f"| in the game, poor | {example.poor['gloss']} | -9.0 | -9.0 |" in table
    assert f"| made up, positive | {example.made_up['positive'][0]} | — |  |" in table


def test_published_rows_name_commits_of_this_repository():
    rows = ROOT / "results/rows"
    if not rows.is_dir() or not (ROOT / ".git").exists():
        pytest.skip("no results or no repository")
    if git("rev-parse", "--is-shallow-repository").stdout != "false\n":
        pytest.skip("the repository is a shallow clone")
    commits = set()
    for path in rows.glob("*/*.json"):
        commits |= set(json.loads(path.read_text())["commit"].split(", "))
    assert commits
    for commit in commits:
        result = git("merge-base", "--is-ancestor", commit, "HEAD")
        assert result.returncode == 0, f"{commit} is not an ancestor of this commit"


def git(*arguments):
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def published():
    if not (ROOT / "results/rows").is_dir():
        pytest.skip("no results are published yet")
    return Results(ROOT / "results")


def test_published_files_agree_with_their_rows(published):
    pages = [ROOT / "README.md", *(ROOT / f"docs/{name}.md" for name in PAGES)]
    assert differences(published, pages) == []


def test_numbers_of_findings_are_in_a_table_of_their_section(published):
    findings = (published.root / "findings.md").read_text()
    report = (published.root / "RESULTS.md").read_text()
    for part in findings.split("\n## ")[1:]:
        title, text = part.split("\n", 1)
        section = report.split(f"\n## {title}\n")[1].split("\n## ")[0]
        rows = "".join(line for line in section.splitlines() if line.startswith("|"))
        numbers = set(NUMBER.findall(text))
        assert numbers <= set(NUMBER.findall(rows)), title
