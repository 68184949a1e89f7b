"""Story formats are read without being run, kept side by side, and used to publish Twee."""

import re
from pathlib import Path

import pytest

from drrn.cli import main
from drrn.errors import InputError
from drrn.stories import formats
from drrn.stories.formats import (
    StoryFormat,
    add_formats,
    format_for,
    format_in,
    formats_folder,
    ifid,
    library_formats,
    publish,
    read_format,
    story_data,
    wanted_format,
    with_engine,
)
from drrn.stories.twine.reading import read_story, read_twee, read_twine_html
from drrn.stories.twine.rules import read_rules
from tests.story_formats import PAGE, REAL_FORMATS, SHARED_FORMATS, format_js, write_format

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
OURS = ("lighthouse-garden", "last-tram")
TWEE = """\
:: StoryTitle
Salt & "Pepper"

:: StoryData
{"ifid": "AAAA-1", "format": "Harlowe", "format-version": "3.1.0", "start": "Hall",
 "zoom": 2, "tag-colors": {"a": "red"}}

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


# --- reading a format.js


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
        (format_js(version=3), "damaged story format"),
        ('window.storyFormat({"name": "A", [1]: 2})', "damaged story format"),
        ("window.storyFormat({})", "damaged story format"),
        (format_js(version="new"), "Harlowe has the version 'new'"),
        (format_js(name="../../etc/passwd"), "name of the story format is '../../etc/passwd'"),
        (format_js(proofing=True), "Harlowe 3.3.9 is a proofing format"),
        (format_js(source="<html></html>"), "its source lacks {{STORY_DATA}}"),
    ],
)
def test_a_file_that_is_not_a_format_is_refused_in_one_sentence(text, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        format_in(text, "format.js")
    assert str(error.value).startswith("format.js: ") and "\n" not in str(error.value)


def test_a_huge_or_binary_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "format.js"
    path.write_bytes(b"\xff\xfe\x00\x01" * 10)
    with pytest.raises(InputError, match="is not utf-8"):
        read_format(path)
    with path.open("wb") as file:
        file.truncate(formats.LARGEST_FORMAT + 1)
    with pytest.raises(InputError, match="bytes; the limit is"):
        read_format(path)


def test_a_file_of_endless_brackets_is_refused():
    for part in ("{", "[", '{"a":'):
        with pytest.raises(InputError, match="damaged story format"):
            format_in("window.storyFormat({a:" + part * 500_000, "format.js")


@pytest.mark.skipif(not REAL_FORMATS, reason=f"{SHARED_FORMATS} has no story formats")
def test_the_real_formats_are_read_and_installed():
    additions = add_formats(SHARED_FORMATS)
    assert {addition.what for addition in additions} == {"added"} and len(additions) == len(
        REAL_FORMATS
    )
    for one in library_formats():
        found = one.read()
        assert (
            found.source.lstrip().lower().startswith("<!doctype html>")
            and "{{STORY_NAME}}" in found.source
        )
        page = publish(read_twee(TWEE, "tale.twee"), found)
        assert read_twine_html(page, "page.html").pages.keys() == {"Kitchen", "Hall"}


# --- keeping


def test_several_versions_are_installed_and_listed(tmp_path, capsys):
    for version in ("3.3.10", "3.3.9", "2.1.0"):
        assert main(["formats", "add", str(write_format(tmp_path, version=version))]) == 0
    assert "Harlowe 3.3.9: added" in capsys.readouterr().out
    assert main(["formats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["name", "version"], ["Harlowe", "2.1.0"], ["Harlowe", "3.3.9"], ["Harlowe", "3.3.10"],
    ]  # fmt: skip
    assert lines[1].endswith(str(formats_folder() / "harlowe_2.1.0.js"))


def test_an_empty_list_says_where_twine_has_its_formats(capsys):
    assert main(["formats"]) == 0
    assert "drrn formats add FILE_OR_FOLDER (find format.js files" in capsys.readouterr().out


def test_a_folder_is_searched_and_other_files_are_reported_as_skipped(tmp_path, capsys):
    write_format(tmp_path / "deep" / "er", "SugarCube", "2.37.3")
    write_format(tmp_path, "Paperthin", "1.0.0", proofing=True)
    write_format(tmp_path / ".hidden", "Snowman", "2.0.0")
    assert main(["formats", "add", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert told.out == "SugarCube 2.37.3: added\n"
    assert "skipped:" in told.err and "Paperthin 1.0.0 is a proofing format" in told.err
    assert [one.key for one in library_formats()] == ["sugarcube"]


@pytest.mark.parametrize("proofing", [None, True])
def test_a_folder_without_a_format_to_keep_is_an_error(tmp_path, capsys, proofing):
    if proofing:
        write_format(tmp_path / "in", proofing=proofing)
    (tmp_path / "in").mkdir(exist_ok=True)
    assert main(["formats", "add", str(tmp_path / "in")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"drrn: {tmp_path / 'in'}: ") and (
        "none of its" in last or "no format.js" in last
    )


def test_a_folder_of_very_many_folders_is_not_searched_to_the_end(tmp_path, monkeypatch):
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    monkeypatch.setattr(formats, "MAX_FOLDERS", 2)
    with pytest.raises(InputError, match="more than 2 folders"):
        add_formats(tmp_path)


def test_another_file_of_the_same_version_needs_replace(tmp_path, capsys):
    first = write_format(tmp_path / "one")
    second = write_format(tmp_path / "two", source=f"<p>other</p>{PAGE}")
    assert [addition.what for addition in add_formats(first) + add_formats(first)] == [
        "added",
        "already added",
    ]
    assert main(["formats", "add", str(second)]) == 2
    assert "another file of Harlowe 3.3.9 is installed as" in capsys.readouterr().err
    assert library_formats()[0].read().source == PAGE
    assert main(["formats", "add", str(second), "--replace"]) == 0
    assert library_formats()[0].read().source.startswith("<p>other</p>")
    assert [path.name for path in formats_folder().iterdir()] == ["harlowe_3.3.9.js"]


def test_a_damaged_file_is_reported_and_the_others_are_listed(tmp_path, capsys):
    add_formats(write_format(tmp_path, version="2.0.0"))
    add_formats(write_format(tmp_path, version="3.0.0"))
    (formats_folder() / "harlowe_2.0.0.js").write_text("gone")
    (formats_folder() / "notes.txt").write_text("mine")
    assert main(["formats"]) == 0
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 3 and "cannot be used" in told.err
    (formats_folder() / "harlowe_2.0.0.js").write_text(format_js(version="2.1.0"))
    with pytest.raises(InputError, match=r"contains Harlowe 2\.1\.0, unlike its name"):
        library_formats()[0].read()


# --- which format a story gets


@pytest.mark.parametrize(
    ("named", "version", "found"),
    [
        ("Harlowe", "3.1.0", "3.1.0"),
        ("Harlowe", "3.2.0", "3.10.0"),
        ("HARLOWE", "", "3.10.0"),
        ("harlowe-1", "", "1.2.4"),
        ("Harlowe 3.x", "", "3.10.0"),
    ],
)
def test_a_story_gets_its_own_version_or_the_newest_of_the_same_major_version(
    tmp_path, named, version, found
):
    for kept_version in ("1.2.4", "3.1.0", "3.9.0", "3.10.0", "3.10.0-beta"):
        add_formats(write_format(tmp_path, version=kept_version))
    assert format_for(story_in(named, version)).version == found


def test_the_error_for_a_missing_format_lists_installed_ones_and_the_source(tmp_path):
    with pytest.raises(
        InputError,
        match=r"tale\.twee: its story format, SugarCube 2\.30\.0, is not installed; add it with drrn",
    ):
        format_for(story_in("SugarCube", "2.30.0"))
    add_formats(write_format(tmp_path, "SugarCube", "1.0.35"))
    with pytest.raises(
        InputError, match=r"SugarCube 2\.30\.0, is not installed \(added: 1\.0\.35\)"
    ):
        format_for(story_in("SugarCube", "2.30.0"))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("(set: $a to 1) (link-reveal: 'x')[y]", "harlowe"),
        ("<<set $a to 1>><<link 'x'>><</link>>", "sugarcube"),
        ("<% if (s.a) { %>x<% } %>", "snowman"),
    ],
)
def test_a_story_that_names_no_format_gets_the_one_its_code_looks_like(text, key):
    assert wanted_format(story_in(text=text)) == (key, "")


def test_plain_text_without_a_format_asks_for_one():
    with pytest.raises(InputError, match="names no story format"):
        wanted_format(story_in(text="(Well: maybe.) Yes."))


# --- publishing


def test_a_published_story_is_read_back_as_it_was():
    story = read_twee(TWEE, "tale.twee")
    page = publish(story, StoryFormat("Harlowe", "3.3.9", PAGE))
    back = read_twine_html(page, "page.html")
    assert (back.title, back.start, back.format) == ('Salt & "Pepper"', "Hall", "harlowe")
    assert {p.name: (p.text, p.tags) for p in back.pages.values()} == {
        p.name: (p.text, p.tags) for p in story.pages.values()
    }


def test_the_published_page_has_what_twine_writes():
    page = publish(read_twee(TWEE, "tale.twee"), StoryFormat("Harlowe", "3.3.9", PAGE))
    assert "<title>Salt &amp; &quot;Pepper&quot;</title>" in page
    root = re.search("<tw-storydata[^>]*>", page)[0]
    for part in (
        'startnode="2"',
        'ifid="AAAA-1"',
        'format-version="3.3.9"',
        'format="Harlowe"',
        'zoom="2"',
        " hidden",
    ):
        assert part in root
    assert '<tw-passagedata pid="1" name="Kitchen" tags="warm dark"' in page
    assert "A &lt;b&gt;pot&lt;/b&gt; &amp; a pan. {{STORY_NAME}}</tw-passagedata>" in page
    assert '<tw-tag name="a" color="red"></tw-tag>' in page
    assert (
        'type="text/twine-javascript">window.say = "<\\/script>";\nwindow.more = 1 && 2;</script>'
        in page
    )
    assert 'type="text/twine-css">body > p { color: red } /* <\\/style> */</style>' in page
    assert "StoryData" not in page and page.count("</script>") == page.count("</style>") == 1


def test_a_story_without_an_identifier_gets_the_same_one_each_time():
    one, two = (read_twee(f":: Start\n{text}\n", "tale.twee") for text in ("Here.", "There."))
    assert ifid(one) == ifid(one) != ifid(two) and re.fullmatch(r"[0-9A-F-]{36}", ifid(one))


def test_an_archive_is_published_and_a_page_with_an_engine_stays_as_it_is(tmp_path):
    data = story_data(read_twee(TWEE, "tale.twee"), StoryFormat("Harlowe", "3.1.0", PAGE))
    with pytest.raises(
        InputError, match=r"archive\.html: its story format, Harlowe 3\.1\.0, is not installed"
    ):
        with_engine(data, "archive.html")
    add_formats(write_format(tmp_path, version="3.3.9", source=f"{PAGE}<script>run()</script>"))
    page = with_engine(f"{data}\n", "archive.html")
    assert (
        page.startswith("<html><head><title>Salt &amp;")
        and data in page
        and page.endswith("<script>run()</script>")
    )
    assert (
        with_engine(page, "page.html") == page
        and with_engine("<p>none</p>", "x.html") == "<p>none</p>"
    )
    assert (
        with_engine(data + data.replace("Kitchen", "Cellar"), "archive.html") == page
    )  # of several, the first


# --- a folder of files


def test_a_folder_of_twee_files_and_scripts_is_one_story(tmp_path):
    (tmp_path / "b.tw").write_text(':: Hall\nB\n\n:: StoryData\n{"start": "Hall"}\n')
    (tmp_path / "a.twee").write_text(":: Attic\nA\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.twee").write_text(":: Cellar\nC\n")
    (tmp_path / "sub" / "c.js").write_text("var c;")
    (tmp_path / "looks.css").write_text("a::before { }\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "build.js").write_text("var no;")
    story = read_story(tmp_path)
    assert (story.start, story.source) == ("Hall", str(tmp_path))
    assert list(story.passages) == ["Attic", "Hall", "StoryData", "Cellar", "looks.css", "c.js"]
    assert list(story.pages) == ["Attic", "Hall", "Cellar"]
    assert "var c;" in publish(story, StoryFormat("Harlowe", "3.3.9", PAGE))


def test_a_folder_of_two_stories_is_refused(tmp_path):
    for name in ("one.twee", "two.twee"):
        (tmp_path / name).write_text(":: Start\nHere.\n")
    with pytest.raises(InputError, match=r'one\.twee and two\.twee both have a passage "Start"'):
        read_story(tmp_path)


def test_a_folder_without_twee_is_refused(tmp_path):
    (tmp_path / "a.js").write_text("var a;")
    with pytest.raises(InputError, match=r"no Twee files"):
        read_story(tmp_path)


# --- our own two stories


@pytest.mark.parametrize("name", OURS)
def test_our_stories_have_several_endings_and_a_reward_for_each(name):
    rules = read_rules(EXAMPLES / f"{name}.toml")
    story = read_story(rules.story)
    endings = {passage.name for passage in story.pages.values() if "ending" in passage.tags}
    assert {rule.condition.passage for rule in rules.endings} == endings and len(endings) >= 5
    assert len({rule.reward for rule in rules.endings}) >= 4
    assert all(
        f"${variable}" in "".join(p.text for p in story.passages.values())
        for variable in rules.inputs
    )


@pytest.mark.parametrize("name", OURS)
def test_our_stories_link_only_to_existing_passages(name):
    story = read_story(EXAMPLES / f"{name}.twee")
    linked = set()
    for passage in story.pages.values():
        linked |= {
            target or other
            for target, other in re.findall(
                r"\[\[[^\]]*(?:->|\|)([^\]]*)\]|\[\[([^\]|>]*)\]\]", passage.text
            )
        }
        linked |= set(re.findall(r'(?:goto: |goto |link-goto: "[^"]*", )"([^"]*)"', passage.text))
        linked |= set(re.findall(r'<<(?:link|button) "[^"]*" "([^"]*)">>', passage.text))
    assert linked <= story.pages.keys()
    assert story.pages.keys() - linked <= {"Start", "At dawn", "Hours", "Pocket"}


@pytest.mark.parametrize("name", OURS)
def test_our_stories_are_published_with_the_format_that_they_name(name, tmp_path):
    story = read_story(EXAMPLES / f"{name}.twee")
    key, version = wanted_format(story)
    add_formats(
        write_format(tmp_path, {"harlowe": "Harlowe", "sugarcube": "SugarCube"}[key], version)
    )
    back = read_twine_html(publish(story, format_for(story)), "page.html")
    assert {p.name: p.text for p in back.pages.values()} == {
        p.name: p.text for p in story.pages.values()
    }
