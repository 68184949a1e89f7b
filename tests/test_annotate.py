"""`drrn annotate`: the TOML lists every ending of a story, and the game can be played with it."""

import pytest

import drrn
from drrn.cli import main


@pytest.mark.parametrize("name", ["<<if $w>>You win this time.<<else>>You lose it all.<<endif>>"])
def test_annotate_lists_both_endings_of_one_passage_and_what_it_writes_can_be_played(
    tmp_path, name, capsys
):
    path = tmp_path / "tale.twee"
    path.write_text(
        f':: Start\n<<set $é = prompt("?")>>Go.\n\n[[a|E][$w = 1]]\n[[b|E]]\n\n:: E\n{name}\n',
        encoding="utf-8",
    )
    assert main(["annotate", str(path)]) == 0
    text = path.with_suffix(".toml").read_text(encoding="utf-8")
    assert (
        text.count("[[ending]]") == 2
        and "You win this time." in text
        and "You lose it all." in text
    )
    assert drrn.make(path.with_suffix(".toml")).reset(0).text == "Go."


def test_an_ending_told_in_short_lines_is_annotated_whole_and_its_rule_holds(tmp_path, capsys):
    path = tmp_path / "tale.twee"
    ends = "<<if $w>>You come\nhome at last.<<else>>You are\nlost for good.<<endif>>"
    path.write_text(
        f":: Start\nGo.\n\n[[a|E][$w = 1]]\n[[b|E]]\n\n:: E\n{ends}\n", encoding="utf-8"
    )
    assert main(["annotate", str(path)]) == 0
    toml = path.with_suffix(".toml")
    text = toml.read_text(encoding="utf-8")
    assert "# … You come home at last.\n" in text
    toml.write_text(text.replace("reward = 0", "reward = 7"), encoding="utf-8")
    game = drrn.make(toml)
    game.reset(0)
    assert game.step(0).reward == 7


def test_annotate_of_machine_of_death_keeps_its_16_rules(shared_games, tmp_path):
    out = tmp_path / "mod.toml"
    assert (
        main(
            [
                "annotate",
                str(shared_games / "machineofdeath.toml"),
                "--out",
                str(out),
                "--limit",
                "20000",
            ]
        )
        == 0
    )
    assert len(drrn.make(out, outside=True).rules.endings) == 16
