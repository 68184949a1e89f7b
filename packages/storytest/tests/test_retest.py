"""`storytest --watch`: the story is tested at each save, and changes are printed."""

import os

import pytest

from storytest.playtest.playtest import StoryTest
from tests.commands import main

STORY = ":: Start\nA fork.\n\n[[Left]]\n[[Right|{target}]]\n\n:: Left\nA wall. THE END\n"
FIXED = ":: Start\nA fork.\n\n[[Left]]\n\n:: Left\nA wall. THE END\n"


@pytest.fixture
def watched(tmp_path, monkeypatch, home):
    """Function that watches a story while it is saved with these texts, and then ends by Ctrl-C."""

    def watch(*texts, name="fork.twee", given=None):
        path = tmp_path / name
        saves = iter(enumerate(texts[1:], 1))
        path.write_text(texts[0])

        def wait(_):
            number, text = next(saves, (0, None))
            if text is None:
                raise KeyboardInterrupt
            path.write_text(text)
            os.utime(path, (number, number))

        monkeypatch.setattr("storytest.cli.test.time.sleep", wait)
        return main(["test", str(given or path), "--watch", "--seconds", "3"])

    return watch


def test_each_save_prints_what_was_fixed_and_what_is_new(watched, capsys):
    code = watched(STORY.format(target="Rigth"), FIXED, STORY.format(target="Wright"))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert code == 1
    changes = [line for line in lines if line.startswith(("new: ", "fixed: "))]
    assert [line.partition(": ")[0] for line in changes] == ["new", "fixed", "new"]
    assert "Start (line 5)" in changes[0] and '"Rigth"' in changes[0] and '"Rigth"' in changes[1]
    assert '"Wright"' in changes[2]
    assert sum("No problems." in line for line in lines) == 1


def test_a_story_that_cannot_be_read_is_reported_and_tested_again_after_the_next_save(
    watched, capsys
):
    assert watched(FIXED, ":: \n", FIXED) == 0
    output = capsys.readouterr()
    assert "a passage has no name" in output.err
    assert output.out.count("No problems.") == 2


def test_the_toml_and_the_story_that_it_names_are_watched(watched, tmp_path, capsys):
    toml = tmp_path / "rules.toml"
    toml.write_text('story = "fork.twee"\n')
    assert watched(FIXED, STORY.format(target="Nowhere"), given=toml) == 1
    assert '"Nowhere"' in capsys.readouterr().out


def test_a_save_during_a_test_starts_it_again(watched, tmp_path, monkeypatch, capsys):
    tests = []

    class Slow(StoryTest):
        def run(self):
            tests.append(self)
            if len(tests) == 1:
                (tmp_path / "fork.twee").write_text(FIXED)
                self.progress("playing")
            return super().run()

    monkeypatch.setattr("storytest.cli.test.StoryTest", Slow)
    assert watched(STORY.format(target="Nowhere")) == 0
    assert "Nowhere" not in capsys.readouterr().out


def test_other_outputs_are_refused(tmp_path, capsys):
    assert main(["test", "long-watch", "--watch", "--format", "json"]) == 2
    assert "--watch prints problems only" in capsys.readouterr().err
