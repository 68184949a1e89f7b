"""The commands of storytest, with small numbers."""

import json
import re
import sys

import pytest

from storytest.cli import main
from tests.stories import UP_AND_DOWN

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def tale(tmp_path):
    path = tmp_path / "tale.twee"
    path.write_text(UP_AND_DOWN, encoding="utf-8")
    return path


def test_annotate_writes_a_toml_that_lists_every_ending_and_never_overwrites(capsys, tale):
    assert main(["annotate", str(tale)]) == 0
    toml = tale.with_suffix(".toml")
    text = toml.read_text(encoding="utf-8")
    assert "# … The sky is yours now." in text and "# … You stay there for good." in text
    assert '"n" = "Alex"' in text
    toml.write_text(text.replace("reward = 0", "reward = 4"), encoding="utf-8")
    assert main(["annotate", str(tale)]) == 2
    assert "not overwritten" in capsys.readouterr().err
    assert main(["inspect", str(toml), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["best"]["final_reward"]["mean"] == 4


def test_inspect_prints_statistics_and_the_number_of_problems(capsys, tale):
    tale.write_text(UP_AND_DOWN + "\n:: Cellar\n[[Out.|Nowhere]] <<wobble>>\n", encoding="utf-8")
    assert main(["inspect", str(tale)]) == 0
    out = capsys.readouterr().out
    for part in ("choice", "deterministic", "the story asks for $n"):
        assert part in out
    assert main(["test", str(tale)]) == 1
    output = capsys.readouterr().out
    for part in ("Attic", '"Nowhere"', "<<wobble>>"):
        assert part in output
    assert main(["inspect", str(tale), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert (findings["statistics"]["pages"], findings["statistics"]["most_actions"]) == (3, 2)
    assert findings["complete"]
    assert [issue["passage"] for issue in findings["never_reached"]] == ["Attic", "Cellar"]
    assert [ending["rule"] for ending in findings["endings"]] == [None, None]


def test_inspect_gives_the_reason_why_a_game_cannot_be_compiled(capsys, tmp_path):
    path = tmp_path / "mine.twee"
    path.write_text(
        ":: Start\n<<set $gold += 1>><<$gold>>\n\n[[Dig.|Start]]\n[[Go.|End]]\n\n:: End\nOver.\n"
    )
    for option in ([], ["--json"], ["--walkthrough"]):
        assert main(["inspect", str(path), "--limit", "300", *option]) == 2
        error = capsys.readouterr().err
        assert "mine cannot be compiled: it has more than 300 states" in error
        assert "$gold alone" in error


def test_walkthrough_prints_the_best_play(capsys, tale):
    toml = tale.with_suffix(".toml")
    toml.write_text('story = "tale.twee"\n[[ending]]\npassage = "Up"\nreward = 4\n')
    assert main(["inspect", str(toml), "--walkthrough"]) == 0
    out = capsys.readouterr().out
    for part in ("→ Up.", "The sky is yours now.", "final reward 4 after 1 step\n"):
        assert part in out
    assert main(["inspect", str(toml), "--walkthrough", "--json"]) == 0
    assert [step["action"] for step in json.loads(capsys.readouterr().out)] == ["Up.", None]


@pytest.mark.parametrize(
    "line",
    [
        "trian",
        "missing.twee",
        "inspect missing.twee",
        "inspect long-watch --limit 0",
        "inspect long-watch --limit many",
        "annotate missing.html",
        "play long-watch --path clicks.txt",
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, line):
    assert main(line.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("storytest: ") and error.count("\n") == 1


def test_the_error_for_a_missing_package_names_the_installation(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert main(["play", "long-watch"]) == 2
    assert "pip install rich" in capsys.readouterr().err


def test_reports_and_maps_are_written_to_files_that_do_not_exist(capsys, tale, tmp_path):
    map_file = tmp_path / "map.svg"
    assert main([str(tale), "--out", str(tmp_path / "a.html"), "--map", str(map_file)]) == 0
    out, error = capsys.readouterr()
    assert "2 endings" in out and "report: " in error and "<svg" in map_file.read_text("utf-8")
    for name, part in {"a.html": "<svg", "b.md": "# tale", "c.json": '"endings"'}.items():
        assert main(["test", str(tale), "--out", str(tmp_path / name)]) == 0
        assert part in (tmp_path / name).read_text(encoding="utf-8")
    capsys.readouterr()
    for option in ("--out tale.twee", "--out report.pdf", "--map map.png", "--map map.svg"):
        name, file = option.split()
        assert main(["test", str(tale), name, str(tmp_path / file)]) == 2
        out, error = capsys.readouterr()
        assert out == "" and error.count("\n") == 1 and file in error
    assert tale.read_text(encoding="utf-8") == UP_AND_DOWN


def test_inspect_prints_random_scores_and_the_odds_of_each_ending(capsys, tale):
    last_words = "The sky is yours" + " and yours" * 9
    tale.write_text(UP_AND_DOWN.replace("The sky is yours now.", last_words), encoding="utf-8")
    assert main(["inspect", str(tale), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert findings["merged_states"] == 3 and findings["best"]["final_reward"]["mean"] == 0
    assert [ending["probability"]["mean"] for ending in findings["endings"]] == [0.5, 0.5]
    paths = sorted(ending["path"]["actions"] for ending in findings["endings"])
    assert paths == [["Down."], ["Up."]]
    assert main(["inspect", str(tale)]) == 0
    out = capsys.readouterr().out
    assert "random play" in out and "50.0 %" in out and re.search(r"The sky is.*… ", out)
    assert "best play" not in out  # all endings pay the same
