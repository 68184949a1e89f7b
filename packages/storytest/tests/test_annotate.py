"""`storytest annotate`: the TOML lists every ending of a story, and the game can be played with it."""

from dataclasses import replace

import pytest

import textgames
from storytest.cli.annotate import annotation, explored
from storytest.playtest.findings import ERROR, Problem
from tests.commands import main
from tests.stories import open_story


def test_annotate_lists_both_endings_of_one_passage_in_a_playable_toml(tmp_path):
    path = tmp_path / "tale.twee"
    start = ':: Start\n<<set $é = prompt("?")>>Go.\n\n[[a|E][$w = 1]]\n[[b|E]]\n\n'
    end = ":: E\n<<if $w>>You win this time.<<else>>You lose it all.<<endif>>\n"
    path.write_text(start + end, encoding="utf-8")
    assert main(["annotate", str(path)]) == 0
    text = path.with_suffix(".toml").read_text(encoding="utf-8")
    assert text.count("[[ending]]") == 2
    assert "You win this time." in text and "You lose it all." in text
    assert textgames.make(path.with_suffix(".toml")).reset(0).text == "Go."


def test_numbers_in_a_text_do_not_split_an_ending(tmp_path):
    path = tmp_path / "tale.twee"
    links = "".join(f"[[{n}|Home][$gold = {n}]]\n" for n in (1, 20, 300))
    home = "<<if $gold gt 50>>You are rich: $gold.<<else>>You have <<print $gold>> gold.<<endif>>"
    story = f":: Start\nGo.\n\n{links}[[0|Poor]]\n\n:: Home\n{home}\n\n:: Poor\nYou beg.\n"
    path.write_text(story, encoding="utf-8")
    assert main(["annotate", str(path)]) == 0
    toml = path.with_suffix(".toml")
    assert toml.read_text(encoding="utf-8").count("[[ending]]") == 3  # rich, not rich, poor
    game = open_story(toml)
    assert all(
        textgames.compile_game(game, cache=False).endings[n].rule is not None for n in range(3)
    )


def test_an_ending_whose_text_contains_another_has_its_own_rule(tmp_path):
    folder = tmp_path / "tale"
    folder.mkdir()
    end = "Home again.<<if $w>> You are proud.<<endif>>"
    text = f":: Start\nGo.\n\n[[a|E][$w = 1]]\n[[b|E]]\n\n:: E\n{end}\n"
    (folder / "tale.twee").write_text(text, encoding="utf-8")
    assert main(["annotate", str(folder)]) == 0
    toml = tmp_path / "tale.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace("reward = 0", "reward = 7", 1))
    game = textgames.make(toml, shuffle=False)
    game.reset(0)
    assert game.step(0).reward == 7
    game.reset(0)
    assert game.step(1).reward == 0


def test_an_error_page_is_no_ending(tmp_path, monkeypatch):
    path = tmp_path / "tale.twee"
    path.write_text(":: Start\n[[a|End]]\n[[b|Bad]]\n\n:: End\nHome.\n\n:: Bad\nOops.\n")
    game = open_story(path)
    findings = explored(game, 1_000, 1.0)
    error = Problem(ERROR, "shows an error", "Bad")
    text = annotation(game, replace(findings, dead_ends=[error]), "tale.twee")
    assert text.count("[[ending]]") == 1 and '"Bad"' not in text


def test_annotate_of_machine_of_death_keeps_its_16_rules(shared_games, tmp_path):
    out = tmp_path / "mod.toml"
    story = str(shared_games / "machineofdeath.toml")
    assert main(["annotate", story, "--out", str(out), "--limit", "20000"]) == 0
    assert len(open_story(out, outside=True).rules.endings) == 16


def test_annotate_checks_its_output_before_it_explores(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("storytest.cli.annotate.explored", pytest.fail)
    out = tmp_path / "nowhere" / "a.toml"
    assert main(["annotate", "long-watch", "--out", str(out)]) == 2
    assert f"{out.parent} is not a folder" in capsys.readouterr().err
