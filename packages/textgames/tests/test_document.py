"""Documents without a notation, and their writers: text, Markdown, HTML, GitHub."""

import doctest
import re

import pytest

import textgames.document
from tests.tags import Tags
from textgames.document import (
    Block,
    Bullets,
    Cell,
    Code,
    Document,
    Fact,
    Facts,
    Figure,
    Note,
    Paragraph,
    Section,
    Table,
    github_annotations,
    literal,
    markdown_block,
    to_html,
    to_latex,
    to_markdown,
    to_text,
)

ENDINGS = Table(
    "Endings",
    ["Ending", "Reward", "Remark"],
    [
        [Cell("Island", bold=True, page="Island"), "10", "far"],
        ["Sea", Cell("-1.5", mark="†"), "near"],
    ],
    notes=["† by chance"],
)
REPORT = Document(
    "The Cellar",
    [
        Paragraph("**2 endings**.", "headline"),
        Facts([Fact("endings", "2"), Fact("errors", "1", "problem")]),
    ],
    [
        Section("Endings", [ENDINGS, Figure("The map", path="map.svg")]),
        Section(
            "Problems & more",
            [
                Note("no such passage", "problem", title="Well", label="broken link", page="Well"),
                Note("no way out", "warning", title="Pit", steps=["Jump", "Fall"]),
                Bullets(["`drrn test`", "second"], summary="What to do"),
                Code("drrn play cellar.toml"),
            ],
        ),
    ],
)
HOSTILE = "\x1b[2J\u202e<script>alert(1)</script> [a](http://b) `c` **d** | _e_ \\ # &"


def test_the_examples_of_the_documentation_hold():
    result = doctest.testmod(textgames.document)
    assert result.attempted and not result.failed


def test_plain_text():
    assert to_text(REPORT).splitlines() == [
        "The Cellar",
        "",
        "2 endings.",
        "",
        "endings  2",
        "errors   1",
        "",
        "Endings",
        "  Endings",
        "  Ending  Reward  Remark",
        "  Island      10  far",
        "  Sea     -1.5 †  near",
        "  † by chance",
        "",
        "  Figure: The map (map.svg)",
        "",
        "Problems & more",
        "  ✗ Well: no such passage",
        "  ! Pit: no way out",
        "    Actions: Jump → Fall",
        "",
        "  What to do:",
        "  - drrn test",
        "  - second",
        "",
        "      drrn play cellar.toml",
    ]


def test_markdown():
    assert to_markdown(REPORT).splitlines() == [
        "# The Cellar",
        "",
        "**2 endings**.",
        "",
        "- endings: **2**",
        "- errors: **1**",
        "",
        "## Endings",
        "",
        "**Endings**",
        "",
        "| Ending | Reward | Remark |",
        "| --- | ---: | --- |",
        "| **Island** | 10 | far |",
        "| Sea | -1.5 † | near |",
        "",
        "† by chance",
        "",
        "![The map](map.svg)",
        "",
        "The map",
        "",
        "## Problems & more",
        "",
        "- ❌ broken link: **Well**: no such passage",
        "- ⚠️ **Pit**: no way out",
        "  - Actions: Jump → Fall",
        "",
        "What to do:",
        "",
        "- `drrn test`",
        "- second",
        "",
        "```",
        "drrn play cellar.toml",
        "```",
    ]


def test_html_is_a_well_formed_fragment():
    text = to_html(REPORT, contents=True)
    tags = Tags(text)
    assert {"h1", "h2", "nav", "table", "figure", "dl", "details", "pre"} <= set(tags.names)
    assert "html" not in tags.names and "style" not in text
    assert '<p class="headline"><b>2 endings</b>.</p>' in text
    assert '<section id="problems--more">' in text and 'href="#problems--more"' in text
    assert '<td><b><span class="passage" data-passage="Island">Island</span></b></td>' in text
    assert '<td class="words">far</td>' in text and "<td>-1.5<sup>†</sup></td>" in text
    assert '<div class="tile bad"><dt>errors</dt><dd>1</dd></div>' in text
    assert '<span class="tag warn">warning</span>' in text and "<li>Jump</li><li>Fall</li>" in text
    assert "<summary>What to do</summary>" in text and "<code>drrn test</code>" in text


def test_problems_and_warnings_with_a_file_become_annotations():
    notes = [
        Note("50 %,\nnow", "problem", file="a:b,c.twee", line=7),
        Note("no way out", "warning", title="Pit", file="x.twee", steps=["Jump", "Fall"]),
        Note("passed", "success", file="x.toml", line=1),
        Note("no file", "problem"),
    ]
    assert list(github_annotations(Document("T", notes[:1], [Section("S", notes[1:])]))) == [
        "::error file=a%3Ab%2Cc.twee,line=7::50 %25, now",
        "::warning file=x.twee,line=1::Pit: no way out. Actions: Jump → Fall",
    ]


def hostile(text):
    table = Table(text, [text], [[Cell(text, remark=text, page=text, mark=text)]], [text])
    note = Note(text, title=text, label=text, steps=[HOSTILE], page=text)
    blocks = [text, Bullets([text], text), table, note, Figure(text, path="a.svg"), Code(HOSTILE)]
    return Document(text, blocks, [Section(text, [Facts([Fact(text, text)])])])


@pytest.mark.parametrize("write", [to_text, to_markdown, to_html])
def test_no_writer_lets_control_characters_through(write):
    text = write(hostile(HOSTILE))
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", text) and "alert(1)" in text


def test_foreign_text_is_never_html():
    tags = Tags(to_html(hostile(literal(HOSTILE))))
    assert "script" not in tags.names and "a" not in tags.names and "code" not in tags.names
    assert "<script>alert(1)</script> [a](http://b) `c` **d** | _e_ \\ # &" in tags.text


def test_foreign_text_is_never_markdown():
    text = to_markdown(Document("T", [literal(HOSTILE)])).splitlines()[-1]
    assert "<script>" not in text
    assert r"\[a\](http://b) \`c\` \*\*d\*\* | \_e\_ \\ # &" in text
    for start in ("# a", "- a", "+ a", "1. a", "23) a", "=== ", "---", "> a"):
        line = to_markdown(Document("", [start])).rstrip("\n")
        assert re.match(r"\d*(\\|&gt;)", line), line
    assert to_markdown(Document("", ["-1.5 points, 1.5 more"])) == "-1.5 points, 1.5 more\n"
    assert to_markdown(Document("", ["&lt; & b"])) == "&amp;lt; & b\n"
    assert "a\\|b" in markdown_block(Table("", ["x"], [["a|b"]]))


def test_long_lines_are_wrapped_and_percentages_stay_whole():
    lines = to_text(Document("", ["word " * 30 + "< 33.3 % of all"]), width=40).splitlines()
    assert max(map(len, lines)) <= 40 and any("< 33.3 %" in line for line in lines)
    command = f"`drrn test {'x' * 60}`"
    assert "x" * 60 in to_text(Document("", [command]), width=40)


def test_items_beyond_the_limit_are_counted():
    rows = [[str(i)] for i in range(5)]
    notes = [Note(letter) for letter in "abcde"]
    blocks: list[Block] = [Bullets(list("abcde")), Table("", ["n"], rows), *notes]
    for write in (to_text, to_html):
        text = write(Document("", blocks), limit=3, hint="all: --format json")
        assert text.count("… and 2 more (all: --format json)") == 3, text
    assert to_markdown(Document("", blocks), limit=3).count("… and 2 more") == 3


def test_columns_are_aligned_by_their_content_or_by_letters():
    rows = [["a", "1", "—", "yes"], ["b", "x 2", "", "3"], ["c", "", "4", "no"]]
    table = Table("", ["", "n", "m", "w"], rows)
    assert table.alignment == "lrrl"
    assert Table("", ["", "n"], [["a", "b"]], align="rr").alignment == "rr"


def test_a_figure_has_words_for_screen_readers_and_no_heading_is_empty():
    figure = Figure('Scores of "all" players.', svg='<svg role="img" width="9"></svg>')
    table = Table("", ["", "score"], [["random", "1"]])
    text = to_html(Document("", [figure, table]))
    assert '<svg role="img" aria-label="Scores of &quot;all&quot; players." width="9">' in text
    assert text.count('<th scope="col"') == 1


def test_latex_escapes_its_signs_and_rules_the_table():
    pytest.importorskip("pandas")
    table = Table("50 % & more", ["a_b", "score"], [["x **y**", Cell("50 %", bold=True)]])
    text = to_latex(table)
    assert r"\caption{50 \% \& more}" in text and r"\begin{tabular}{lr}" in text
    assert "a\\_b & score \\\\\n\\midrule\nx y & 50 \\% \\\\\n\\bottomrule" in text
