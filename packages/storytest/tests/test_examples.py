"""The example stories run as documented, as pages and as source."""

import re

import pytest

from storytest.ink import open_ink
from storytest.playtest.playtest import StoryTest
from tests.commands import main
from tests.source_code import ROOT
from tests.story_formats import INK_COMPILER

EXAMPLES = ROOT / "examples"


def test_every_example_that_the_documentation_names_exists():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    names = {
        name for page in pages for name in re.findall(r"examples/[\w./-]+\w", page.read_text())
    }
    assert len(names) > 4
    written = {"examples/cellar.toml"}  # by the reader of the tutorial
    assert [name for name in sorted(names - written) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("kind", ["html", "twee"])
def test_the_cellar_needs_no_format_and_its_four_faults_come_first(kind, home, capsys):
    assert main(["test", str(EXAMPLES / f"cellar.{kind}"), "--seconds", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("4 problems")
    problems = [line for line in lines[3:12] if line.startswith(("✗", "!"))]
    assert [line.split()[1].strip(":") for line in problems] == ["Shelf", "Door", "Attic", "Door"]


@pytest.mark.parametrize(
    ("story", "command"),
    [
        ("lighthouse-garden.toml", "storytest formats add harlowe"),
        ("last-tram.toml", "storytest formats add sugarcube"),
        ("toll-bridge.ink", "storytest formats add ink"),
    ],
)
def test_the_error_of_an_example_in_source_names_the_documented_command(
    story, command, home, capsys
):
    assert main(["test", str(EXAMPLES / story)]) == 2
    error = capsys.readouterr().err
    assert error.endswith(f"add it with {command}\n")
    pages = [ROOT / "README.md", *(ROOT / "docs/storytest").glob("*.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    documented = [line for text in texts for line in re.findall("storytest formats add (.*)", text)]
    assert any(command.split()[-1] in re.findall(r"\w+", line) for line in documented)


@pytest.mark.skipif(not INK_COMPILER.exists(), reason="needs storytest formats add ink")
def test_the_ink_example_is_solved_and_has_no_problems(home):
    pytest.importorskip("bink", reason="needs bink")
    pytest.importorskip("py_mini_racer", reason="needs mini-racer")
    target = home / "formats" / INK_COMPILER.name
    target.parent.mkdir(parents=True)
    target.write_bytes(INK_COMPILER.read_bytes())
    findings = StoryTest(open_ink(EXAMPLES / "toll-bridge.ink", shuffle=False)).run()
    assert findings.exact and findings.problems == ()
    assert {ending.name for ending in findings.endings} == {"over", "river"}
