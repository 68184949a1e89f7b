"""Story formats are read without running them, installed in versions, and used to publish Twee."""

import re

import pytest

from storytest.formats import (
    StoryFormat,
    add_formats,
    format_for,
    format_in,
    formats_folder,
    library_formats,
    publish,
    story_data,
    wanted_format,
    with_engine,
)
from storytest.twine.reading import read_story, read_twee, read_twine_html
from tests.commands import main
from tests.story_formats import PAGE, REAL_FORMATS, SHARED_FORMATS, format_js, write_format
from textgames.errors import InputError

TWEE = """\
:: StoryTitle
Salt & "Pepper"

:: StoryData
{"ifid": "AAAA-1", "format": "Harlowe", "format-version": "3.1.0", "start": "Hall"}

:: Looks [stylesheet]
body > p { color: red } /* </style> */

:: Tricks [script]
window.say = "</script>";

:: Tricks Two [script]
window.more = 1 && 2;

:: Kitchen [warm dark]
A <b>pot</b> & a pan. {{STORY_NAME}}

:: Hall
"Hello," she said. (set: $n to 1 < 2)

[[Kitchen]]
"""
pytestmark = pytest.mark.usefixtures("home")


def story_in(format_name="", version="", text="Here."):
    data = f'{{"ifid": "A", "format": "{format_name}", "format-version": "{version}"}}'
    return read_twee(f":: StoryData\n{data}\n\n:: Start\n{text}\n", "tale.twee")


# Reading a format.js


@pytest.mark.parametrize(
    "text",
    [
        format_js(),
        format_js(image="icon.svg", proofing=False, editor={"a": [1, {"b": "}"}]}),
        format_js().replace('"name"', "name"),
        format_js()[:-3] + ',"setup":function(){ if (x) return /"/.test(y); }, late(a) { } });',
        format_js()[:-3] + ',"setup": function(){ "never closed',
    ],
    ids=["json", "more", "bare name", "code last", "broken code last"],
)
def test_name_version_and_source_are_read_in_every_notation(text):
    assert format_in(text, "format.js") == StoryFormat("Harlowe", "3.3.9", PAGE)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not a story format of Twine 2"),
        ("console.log('storyFormat')", "not a story format of Twine 2"),
        (format_js()[:60], "damaged story format"),
        ("window.storyFormat({a:" + '{"a":' * 500_000, "damaged story format"),
        ("window.storyFormat({})", "damaged story format"),
        (format_js(version="new"), "'Harlowe', version 'new'"),
        (format_js(name="../../etc/passwd"), "'../../etc/passwd', version"),
        (format_js(proofing=True), "Harlowe 3.3.9 is a proofing format"),
        (format_js(source="<html></html>"), "its source lacks {{STORY_DATA}}"),
    ],
)
def test_a_file_that_is_not_a_format_is_rejected_in_one_sentence(text, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        format_in(text, "format.js")
    assert str(error.value).startswith("format.js: ") and "\n" not in str(error.value)


@pytest.mark.skipif(not REAL_FORMATS, reason=f"{SHARED_FORMATS} has no story formats")
def test_the_real_formats_are_read_and_installed():
    assert len(add_formats(SHARED_FORMATS)) == len(REAL_FORMATS)
    for story_format in library_formats():
        assert story_format.source.lstrip().lower().startswith("<!doctype html>")
        assert "{{STORY_NAME}}" in story_format.source
        page = publish(read_twee(TWEE, "tale.twee"), story_format)
        assert read_twine_html(page, "page.html").pages.keys() == {"Kitchen", "Hall"}


# Installation


def test_several_versions_are_installed_and_listed(tmp_path, capsys):
    for version in ("3.3.10", "3.3.9", "2.1.0"):
        assert main(["formats", "add", str(write_format(tmp_path, version=version))]) == 0
    assert "Harlowe 3.3.9: added" in capsys.readouterr().out
    assert main(["formats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["name", "Harlowe", "Harlowe", "Harlowe"]
    assert [line.split()[1] for line in lines] == ["version", "2.1.0", "3.3.9", "3.3.10"]
    assert lines[1].endswith(str(formats_folder() / "harlowe_2.1.0.js"))


def test_a_folder_is_searched_and_a_format_that_cannot_play_is_left_out(tmp_path, capsys):
    write_format(tmp_path / "one" / "er", "SugarCube", "2.37.3")
    write_format(tmp_path / "one", "Paperthin", "1.0.0", proofing=True)
    write_format(tmp_path / "other", "Paperthin", "1.0.0", proofing=True)
    (tmp_path / "none").mkdir()
    assert main(["formats", "add", str(tmp_path / "one")]) == 0
    assert capsys.readouterr().out == "SugarCube 2.37.3: added\n"
    assert main(["formats", "add", str(tmp_path / "other"), str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert "Paperthin 1.0.0 is a proofing format" in error and "no format.js" in error


def test_a_file_replaces_an_earlier_one_of_its_version_or_a_damaged_one(tmp_path, capsys):
    add_formats(write_format(tmp_path / "one"))
    add_formats(write_format(tmp_path / "two", source=f"<p>other</p>{PAGE}"))
    (added,) = library_formats()
    assert added.source.startswith("<p>other</p>")
    added.path.write_text("gone")
    assert library_formats() == []
    add_formats(tmp_path / "one")
    assert [path.name for path in formats_folder().iterdir()] == ["harlowe_3.3.9.js"]
    assert library_formats()[0].source == PAGE


# Choice of a format for a story


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("Harlowe", "3.1.0", "3.1.0"),
        ("Harlowe", "3.2.0", "3.9.0"),
        ("Harlowe", "3.10.1", "3.10.0"),
        ("HARLOWE", "", "3.10.0"),
        ("harlowe-1", "", "1.2.4"),
        ("Harlowe 3.x", "", "3.10.0"),
    ],
)
def test_a_story_gets_its_own_version_or_the_newest_release_of_the_next_minor_one(
    tmp_path, name, version, expected
):
    for installed in ("1.2.4", "3.1.0", "3.9.0", "3.10.0", "3.10.0-beta"):
        add_formats(write_format(tmp_path, version=installed))
    assert format_for(story_in(name, version)).version == expected


def test_an_older_format_is_refused_because_it_would_report_false_errors(tmp_path):
    add_formats(write_format(tmp_path, version="3.1.0"))
    with pytest.raises(InputError, match=r"SugarCube 2\.30\.0, is not installed; .*add sugarcube$"):
        format_for(story_in("SugarCube", "2.30.0"))
    message = r"Harlowe 3\.3\.9, is not installed \(added: 3\.1\.0\); .*add harlowe$"
    with pytest.raises(InputError, match=message):
        format_for(story_in("Harlowe", "3.3.9"))
    assert format_for(story_in("Harlowe", "3.1.5")).version == "3.1.0"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("(set: $a to 1) (link-reveal: 'x')[y]", "harlowe"),
        ("<<set $a to 1>><<link 'x'>><</link>>", "sugarcube"),
        ("<% if (s.a) { %>x<% } %>", "snowman"),
    ],
)
def test_the_format_of_a_story_is_recognised_by_its_code(text, key):
    assert wanted_format(story_in(text=text)) == (key, "")


def test_the_error_for_plain_text_without_a_format_names_story_data():
    with pytest.raises(InputError, match=r"names no story format; .*StoryData"):
        wanted_format(story_in(text="(Well: maybe.) Yes."))


# Publishing


def test_a_published_story_is_read_back_unchanged():
    story = read_twee(TWEE, "tale.twee")
    page = publish(story, StoryFormat("Harlowe", "3.3.9", PAGE))
    back = read_twine_html(page, "page.html")
    assert (back.title, back.start, back.format) == ('Salt & "Pepper"', "Hall", "harlowe")
    pages = {page.name: (page.text, page.tags) for page in back.pages.values()}
    assert pages == {page.name: (page.text, page.tags) for page in story.pages.values()}


def test_the_published_page_has_the_markup_of_twine():
    page = publish(read_twee(TWEE, "tale.twee"), StoryFormat("Harlowe", "3.3.9", PAGE))
    assert "<title>Salt &amp; &quot;Pepper&quot;</title>" in page
    root = re.search("<tw-storydata[^>]*>", page)
    assert root is not None
    for part in ('startnode="2"', 'ifid="AAAA-1"', 'format-version="3.3.9"', 'format="Harlowe"'):
        assert part in root[0]
    assert " hidden" in root[0]
    assert '<tw-passagedata pid="1" name="Kitchen" tags="warm dark">' in page
    assert "A &lt;b&gt;pot&lt;/b&gt; &amp; a pan. {{STORY_NAME}}</tw-passagedata>" in page
    assert (
        'type="text/twine-javascript">window.say = "<\\/script>";\nwindow.more = 1 && 2;</script>'
        in page
    )
    assert 'type="text/twine-css">body > p { color: red } /* <\\/style> */</style>' in page
    assert "StoryData" not in page and page.count("</script>") == page.count("</style>") == 1


def test_an_archive_is_published_and_a_page_with_an_engine_is_unchanged(tmp_path):
    data = story_data(read_twee(TWEE, "tale.twee"), StoryFormat("Harlowe", "3.1.0", PAGE))
    with pytest.raises(InputError, match=r"archive\.html: .*Harlowe 3\.1\.0, is not installed"):
        with_engine(data, "archive.html")
    add_formats(write_format(tmp_path, version="3.3.9", source=f"{PAGE}<script>run()</script>"))
    page = with_engine(f"{data}\n", "archive.html")
    assert page.startswith("<html><head><title>Salt &amp;")
    assert data in page and page.endswith("<script>run()</script>")
    assert with_engine(page, "page.html") == page
    assert with_engine("<p>none</p>", "x.html") == "<p>none</p>"
    archive = data + data.replace("Kitchen", "Cellar")
    assert with_engine(archive, "archive.html") == with_engine(data, "archive.html")


# Folders of files


def test_a_folder_of_twee_files_and_scripts_is_one_story(tmp_path):
    (tmp_path / "b.tw").write_text(':: Hall\nB\n\n:: StoryData\n{"start": "Hall"}\n')
    (tmp_path / "a.twee").write_text(":: Attic\nA\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.twee").write_text(":: Cellar\nC\n")
    (tmp_path / "sub" / "c.js").write_text("var c;")
    (tmp_path / "looks.css").write_text("a::before { }\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "build.js").write_text("var no;")
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "inventory.js").write_text("var bag;")
    story = read_story(tmp_path)
    assert (story.start, story.source) == ("Hall", str(tmp_path))
    names = ["Attic", "Hall", "StoryData", "Cellar", "inventory.js", "looks.css", "c.js"]
    assert list(story.passages) == names
    assert list(story.pages) == ["Attic", "Hall", "Cellar"]
    assert "var c;" in publish(story, StoryFormat("Harlowe", "3.3.9", PAGE))


def test_a_folder_of_two_stories_or_of_none_is_rejected(tmp_path):
    (tmp_path / "a.js").write_text("var a;")
    with pytest.raises(InputError, match="no Twee files"):
        read_story(tmp_path)
    for name in ("one.twee", "two.twee"):
        (tmp_path / name).write_text(":: Start\nHere.\n")
    with pytest.raises(InputError, match=r"one\.twee and two\.twee both have .* \"Start\""):
        read_story(tmp_path)


# Our example stories
