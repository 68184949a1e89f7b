"""Tables of hand-written rows; published results without texts of other people's stories."""

import itertools
import json
import re
import subprocess
from functools import cache
from typing import Any

import pytest

import drrn
from drrn.experiments.results import to_csv
from drrn.settings import PAPER
from lab.experiments.measure import read_questions
from lab.experiments.plan import BEST, COMPARED, EXAMPLES, GRID, MEMORY, UPDATES
from lab.experiments.results import EVALUATIONS, FACTS, KINDS, Results, mark
from lab.reports import paper
from lab.reports.claims import CHECKS, CLAIMS, claims_table
from lab.reports.report import READERS, Report, block_text, differences
from lab.reports.result_set import ResultSet, Summary, clearly_best, holm, t_quantile, t_test, welch
from tests.paper_games import PAPER_GAMES
from tests.source_code import ROOT
from textgames.compiled.compile import compile_game
from textgames.document import markdown_block
from textgames.errors import InputError
from textgames.wording import words

SETTINGS = {**PAPER.flat(), "final_softmax": 1000, "final_greedy": 200}
SCORED = ("drrn_ahead", "two_layers", "people_ahead", "lower_variance")
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
    return lines(paper.scores_tables(ResultSet(results), ["saving-john"]))


def test_welch_and_holm_agree_with_published_tables():
    """Student's t for 4 and 9 degrees, and an example of Welch's test worked out by hand."""
    assert t_quantile(0.05, 4) == pytest.approx(2.7764, abs=1e-4)
    assert t_quantile(0.05, 9) == pytest.approx(2.2622, abs=1e-4)
    assert t_test(1.0, 1.0) == pytest.approx(0.5)  # Cauchy
    # t = 2 / √(1/5 + 4/10), with (0.6)² / (0.04/4 + 0.16/9) = 12.96 degrees
    p = welch(Summary(3.0, 1.0, 5), Summary(5.0, 2.0, 10))
    assert (
        p == pytest.approx(t_test(2 / 0.6**0.5, 12.96), abs=1e-6) == pytest.approx(0.0227, abs=1e-3)
    )
    assert welch(Summary(1.0, None, 1), Summary(2.0, 1.0, 5)) is None
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])
    scores = [Summary(9.0, 1.0, 5), Summary(5.0, 1.0, 5), None]
    assert clearly_best(scores) == 0 and clearly_best([scores[0], Summary(8.9, 1.0, 5)]) is None


def test_a_table_has_means_and_intervals_and_marks_what_differs(results):
    """Three seeds with sd 1: ± 4.303 / √3 = 2.5. Nothing differs at 5 % after the adjustment."""
    row = "| DRRN (L = 2) | 18.0 ± 2.5 | 24.0 | 18.4 (0.1) | 18.0 ± 2.5 | 24.0 | 18.5 (0.3) |"
    assert any(line.startswith(row) for line in scores(results))
    store(results, "saving-john", BEST, [15.0, 15.1, 15.2, 15.0, 15.1])
    assert any("| 15.1 ± 0.1 † | 20.1 | 18.7 (0.4) |" in line for line in scores(results))
    store(results, "saving-john", BEST, [1.0])  # one seed has no interval and no mark
    assert any("| 1.0 | 1.3 | 18.7 (0.4) |" in line for line in scores(results))
    (results.root / "rows/saving-john/drrn-2x100.json").unlink()
    assert any("| — | — | 18.7 (0.4) |" in line for line in scores(results))


def test_finished_games_leave_out_those_that_the_limit_stopped(results):
    """A quarter of the episodes was stopped: 18 / 0.75 = 24."""
    finished = ResultSet(results).finished("saving-john", BEST)
    assert finished is not None and finished.mean == 24.0
    row = "| DRRN (L = 2) | 18.0 ± 2.5 | 24.0 ± 3.3 | 2.0 | 25.0 % | — | — |"
    assert row in lines(paper.gap_tables(ResultSet(results), ["saving-john"]))


def test_the_number_of_epochs_is_the_one_closest_to_the_papers_scores(results):
    """The paper's seven scores are 4.4 and 4.4, 7.9, 5.9, 7.1, 18.2, 18.7."""
    theirs = dict(zip(COMPARED, (4.4, 4.4, 7.9, 5.9, 7.1, 18.2, 18.7), strict=True))
    for job in UPDATES:
        model = next(each for each in COMPARED if job.name.endswith(f"-{each.name}"))
        value = theirs[model] + (job.changes["epochs"] - 2)
        store(results, "saving-john", job, [value] * 3)
    distances = paper.epoch_distances(ResultSet(results), "saving-john")
    assert distances == pytest.approx({1: 1, 2: 0, 3: 1, 5: 3})
    text = "\n".join(lines(paper.updates_blocks(ResultSet(results), ["saving-john"])))
    assert "| mean distance from the paper | 1.00 | **0.00** | 1.00 | 3.00 |" in text


def test_claims_are_judged_by_the_rows_and_untested_without_them(results):
    """DRRN has 17, 18 and 19 and each baseline 4, 5 and 6 in Saving John; the other game no rows."""
    verdicts = {str(row[2]): row[4:] for row in claims_table(ResultSet(results)).rows}
    assert verdicts["DRRN in Saving John: 17.1 to 18.7"][0] == "held"
    assert verdicts["DRRN in Machine of Death: 7.2 to 11.2"] == ["untested", "there are no rows"]
    assert {claim["check"] for claim in CLAIMS if "check" in claim} == CHECKS.keys()
    for variant in GRID:
        model_scores = [16.0, 17.0, 18.0] if variant.layers == 2 else [10.0, 10.2, 10.4]
        store(results, "machine-of-death", variant, model_scores)
    rows = {name: check(ResultSet(results)) for name, check in CHECKS.items() if name in SCORED}
    assert rows["drrn_ahead"] == (
        "partly",
        "Saving John: clearly ahead in 3 of 3 columns; "
        "Machine of Death: clearly ahead in 0 of 3 columns",
    )
    assert rows["two_layers"][0] == "partly"  # 9 of 18: equal in one game, always in the other
    assert rows["people_ahead"] == ("not held", "people 16.0, our best cell 17.0")
    assert rows["lower_variance"][0] == "not held"  # the deviations are equal, or larger


def test_sections_without_rows_are_left_out_and_findings_end_theirs(results):
    (results.root / "findings.md").write_text(
        "About.\n\n## Final rewards\n\nOurs.\n\n## Learning curves\n\nNo.\n"
    )
    texts = Report(results).texts()
    assert [path.name for path in texts] == ["RESULTS.md"]
    (text,) = texts.values()
    sections = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    assert {"Final rewards", "Jobs"} < sections.keys() and "Learning curves" not in sections
    assert sections["Final rewards"].rstrip().endswith("|\n\nOurs.")
    assert "About." not in text and "{{" not in text


def test_the_table_of_examples_has_the_q_values_of_the_paper_by_label(results):
    example = next(example for example in EXAMPLES if example.printed)
    page = {"seed": 0, "state": example.state["mark"], "action": "0"}
    good = {**page, "kind": "good", "action": example.role("good")["mark"], "q": 17.0}
    for job, q in ((BEST, 6.0), (MEMORY, -18.0)):
        rows = [good, {**page, "kind": "negative 1", "q": q}]
        files = {".examples": to_csv(rows, KINDS[".examples"])}
        store(results, "machine-of-death", job, [18.0], **files)
    table = lines(paper.examples_tables(ResultSet(results), ["machine-of-death"]))
    gloss = example.role("good")["gloss"]
    assert f"| good | {gloss} | 17.0 | 17.0 | 16.6 |" in table
    assert "| negative 1 | made up by the paper's authors | 6.0 | -18.0 | -17.4 |" in table


def test_the_papers_own_actions_are_read_from_its_source(tmp_path):
    kinds = ("Positive", "Negative", "Irrelevant")
    rows = [rf"{k} actions (not original) & Do it. (2.8) {k} it. (-2.0) \\ \hline" for k in kinds]
    (tmp_path / "paper.tex").write_text("\n".join(rows))
    questions = read_questions(tmp_path / "paper.tex")
    assert questions["negative 1"] == "Do it." and questions["irrelevant 2"] == "Irrelevant it."
    (tmp_path / "paper.tex").write_text(rows[0])
    with pytest.raises(InputError, match="negative"):
        read_questions(tmp_path / "paper.tex")


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
    content = Report(results).blocks
    text = block_text(readme, content, results.root)
    assert text.startswith("before\n<!-- headline -->")
    assert text.endswith("<!-- /headline -->\nafter\n")
    assert "| Saving John | -7.0 | 18.7 (0.4) | 18.0 (1.0) | — | 20.0 |" in text
    assert "| Machine of Death | — | 11.2 (0.6) | — | — | — |" in text and "old" not in text
    for broken in ("no markers", text.replace("<!-- /headline -->", "")):
        readme.write_text(broken)
        with pytest.raises(InputError, match=r"README\.md"):
            block_text(readme, content, results.root)


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
        assert {action["mark"] for action in example.actions} <= actions
        for action in itertools.chain(*example.made_up.values()):
            assert mark(action) not in actions and set(words(action)) <= vocabulary


def test_exact_scores_replace_sampled_ones(results):
    store(results, "saving-john", BEST, [1.0, 2.0], exact=18.5)
    exact = ResultSet(results).final("saving-john", BEST)
    assert exact is not None and (exact.mean, exact.sd) == (18.5, 0.0)
    sampled = ResultSet(results).final("saving-john", BEST, "final_reward")
    assert sampled is not None and sampled.mean == 1.5


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
    assert differences(published, [ROOT / page for page in READERS]) == []
