"""Which dialect a story is read in, and what belongs to a dialect."""

import ast
import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

import drrn
from drrn.stories.twine import dialects
from drrn.stories.twine.dialects import DEFAULT, DIALECTS, dialect_of
from drrn.stories.twine.script import ExpressionError, Script
from drrn.stories.twine.story import Passage, Story
from drrn.stories.twine.twine1 import TWINE_1

STORIES = Path(dialects.__file__).parent


def story_in(form):
    return Story("tale.twee", {"Start": Passage("Start", "Here.")}, format=form)


@pytest.mark.parametrize(
    ("form", "name"),
    [("sugarcane", "twine1"), ("jonah", "twine1"), ("responsive", "twine1"), ("sugarcube-2.36", "sugarcube"),
     ("harlowe 3.3.5", "harlowe"), ("snowman", "snowman"), ("chapbook", "chapbook")],
)  # fmt: skip
def test_the_format_of_a_story_chooses_its_dialect(form, name):
    assert dialect_of(story_in(form)).name == name


@pytest.mark.parametrize("form", ["", "entirely new", "twine1", "my sugarcube"])
def test_a_story_that_names_no_known_format_is_read_in_the_default_dialect(form):
    assert dialect_of(story_in(form)) is DEFAULT is TWINE_1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("(set: $x to 1)", "harlowe"),
        ("(if: visits > 1)[Again.]", "harlowe"),
        ('(link: "Go")[Gone.]', "harlowe"),
        ("<%= s.name %>", "snowman"),
        ("Tea (black: no milk) or (if: you must) milk? [[Yes|Start]]", "twine1"),
        ("<<if $x>>(set: the table)<<endif>>", "twine1"),
    ],
)
def test_a_story_that_names_no_format_is_known_by_code_that_is_sure_to_be_one(text, name):
    assert dialect_of(Story("tale.twee", {"Start": Passage("Start", text)})).name == name


def test_every_dialect_is_known_by_one_name_and_no_format_chooses_two():
    assert len({dialect.name for dialect in DIALECTS}) == len(DIALECTS)
    formats = [name for dialect in DIALECTS for name in dialect.formats]
    assert all(not one.startswith(other) for one, other in permutations(formats, 2))


SHOUTED = ':: StoryData\n{"format": "Shout"}\n\n:: Start\nhere\n\n:: End\nthere\n'


def test_a_new_dialect_is_one_line_and_reads_passages_and_rules_in_its_own_way(
    monkeypatch, tmp_path
):
    def read_passage(script, passage, names):
        script.facts.written.add("loud")
        return lambda page: page.print(passage.text.upper())

    def parse(source, facts):
        if source != "LOUD":
            raise ExpressionError("it must be said louder")
        return lambda page: True

    shout = replace(
        TWINE_1, name="shout", formats=("shout",), read_passage=read_passage, parse=parse
    )
    monkeypatch.setattr(dialects, "DIALECTS", (*DIALECTS, shout))
    (tmp_path / "tale.twee").write_text(SHOUTED)
    toml = tmp_path / "tale.toml"
    toml.write_text('story = "tale.twee"\n[[ending]]\nwhere = "LOUD"\nreward = 3\n')
    game = drrn.make(toml)
    shown = game.reset(0)
    assert shown.text == "HERE" and game.story.format == "shout" and shown.ended
    toml.write_text('story = "tale.twee"\n[[ending]]\nwhere = "$gold gt 2"\nreward = 3\n')
    with pytest.raises(
        drrn.InputError,
        match=r"\[\[ending\]\] 1: where = '\$gold gt 2' cannot be parsed: it must be",
    ):
        drrn.make(toml)


def test_plain_sugarcube_is_played_and_what_is_not_plain_is_listed(tmp_path):
    head = ':: StoryData\n{"format": "SugarCube"}\n\n:: Start\n'
    path = tmp_path / "tale.twee"
    path.write_text(head + "<<set $x to 2>>Here: <<print $x>>.\n")
    assert drrn.make(path).reset(0).text == "Here: 2."
    path.write_text(head + "Hello $name and $other.\n")
    with pytest.raises(drrn.InputError, match="2 things in this SugarCube story cannot be played"):
        drrn.make(path, engine="native")


def test_nothing_outside_a_dialects_folder_but_the_list_of_dialects_knows_it():
    for path in Path(drrn.__file__).parent.rglob("*.py"):
        imported = {
            name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        }
        if any("twine1" in name.split(".") for name in imported):
            assert path == STORIES / "dialects.py" or path.parent.name == "twine1", path


def test_the_documentation_names_every_function_of_the_dialect():
    text = (STORIES.parents[2] / "docs" / "stories.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", text))
    assert {name for name in TWINE_1.functions if "." not in name} <= named


def test_a_script_remembers_its_dialect():
    assert Script(story_in(""), TWINE_1, {}).dialect is TWINE_1
