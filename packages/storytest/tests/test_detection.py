"""Every fault that a play-test claims to find: a story that has it, and the same story repaired."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import textgames
from storytest.formats import add_formats
from storytest.playtest.findings import Findings
from storytest.playtest.playtest import StoryTest
from tests.ink_stories import STALL
from tests.story_formats import REAL_FORMATS, SHARED_FORMATS

HEADER = """\
:: StoryData
{{"ifid": "0C31A3C2-BFA7-4333-91F9-C259DAB24B98", "format": "{}", "format-version": "{}"}}

"""
HEADERS = {
    "twine1": "",
    "sugarcube": HEADER.format("SugarCube", "2.37.3"),
    "harlowe": HEADER.format("Harlowe", "3.3.9"),
    "chapbook": HEADER.format("Chapbook", "2.3.1"),
}
SNOWMAN = HEADER.format("Snowman", "2.1.1")
END = "\n[[Leave.|End]]\n\n:: End\nThe end.\n"
ATTIC = "\n:: Attic\nDust.\n[[Down.|End]]\n"
LISTED = '[[ending]]\npassage = "End"\nreward = 1\n'

# Engine and fault, a story with a gap (@), what breaks it, and what repairs it.
Case = tuple[str, str, str, str, str]


def cases(fault: str, story: str, *variants: tuple[str, str, str]) -> list[Case]:
    """The cases of a story, for each engine (or all of them) with its gap."""
    return [
        (engine, fault, story, broken, whole)
        for names, broken, whole in variants
        for engine in (HEADERS if names == "all" else names.split())
    ]


BAG = END + "\n:: Bag\nCrumbs in a bag.\n"
SHOP = ":: Start\n@[[In.|Shop]]\n\n:: Shop\n{}\n[[Buy.|Till]]\n\n:: Till\n{}\n[[Back.|Shop]]" + END
LINK = ':: Start\n<<set $to to "@">>\n<<link "Go."{}>><</link>>' + END
HARLOWE_LINK = ':: Start\n(set: $to to "@")\n{}' + END
GOLD = ":: Start\n<<set $gold {} 2>>[[In.|Shop]]\n\n:: Shop\n{}" + END
HATS = {
    "twine1": "<<set $hats = 3>>",
    "sugarcube": "<<set $hats to 3>>",
    "harlowe": "(set: $hats to 3)",
}
PIT = ":: Start\n[[Down.|Pit]]" + END + "\n:: Pit\n[[Dig.|Mud]]\n\n:: Mud\n[[Dig.|Pit]]@\n"
LOFT = ":: Start\n[[Up.|Attic]]\n[[In.|@]]" + END + ATTIC + "\n:: @\nHay.\n[[Down.|End]]\n"
CELL = ":: Start\n[[Steal.|Cell]]" + END + "\n:: Cell\nBars everywhere.@\n"
KEY = {
    "twine1": "<<set $key = @>>\n<<if $key>>[[Up.|Attic]]<<endif>>",
    "sugarcube": "<<set $key to @>>\n<<if $key>>[[Up.|Attic]]<</if>>",
    "harlowe": "(set: $key to @)\n(if: $key)[ [[Up.|Attic]] ]",
}
FALSE = ("false", "true")
EMPTY = "unreachable"
CASES: list[Case] = [
    *cases("broken link", ":: Start\nA hall.\n[[Go.|@]]" + END, ("all", "Edn", "End")),
    *cases(EMPTY, ":: Start\nA hall.@" + END + ATTIC, ("all", "", "\n[[Up.|Attic]]")),
    *cases("trap", CELL, ("all", "", "\n[[Out.|End]]")),
    *cases("loop", PIT, ("all", "", "\n[[Climb.|End]]")),
    *cases("duplicate passage", LOFT, ("all", "Attic", "Loft")),
    *cases("missing file", ':: Start\n<img src="pic/@.png" alt="">' + END, ("all", "no", "yes")),
    *cases("missing file", ":: Start\n[img[pic/@.png]]" + END, ("twine1", "no", "yes")),
    *cases(
        "missing file",
        ':: Start\n<<cacheaudio "a" "@">>' + END,
        ("sugarcube", "no.ogg", "https://example.org/no.ogg"),
    ),
    *cases("missing file", ":: Start\n{embed image: 'pic/@.png'}" + END, ("chapbook", "no", "yes")),
    # A condition that never holds.
    *(
        case
        for name in KEY
        for case in cases("unreachable", f":: Start\n{KEY[name]}{END}{ATTIC}", (name, *FALSE))
    ),
    # A link whose target is computed.
    *cases("broken link", LINK.format(" $to"), ("sugarcube", "Edn", "End")),
    *cases(
        "broken link", HARLOWE_LINK.format('(link-goto: "Go.", $to)'), ("harlowe", "Edn", "End")
    ),
    *cases(
        "thrown error",
        LINK.replace("<</link>>", "<<goto $to>><</link>>").format(""),
        ("sugarcube", "Edn", "End"),
    ),
    *cases(
        "error page", HARLOWE_LINK.format('(link: "Go.")[(go-to: $to)]'), ("harlowe", "Edn", "End")
    ),
    *cases("broken link", ":: Start\n{embed passage: '@'}" + END, ("chapbook", "Edn", "End")),
    # Pages that show an error, with and without links. Errors that are thrown.
    *cases("error page", ":: Start\n<<@ 1>>" + END, ("sugarcube", "prnit", "print")),
    *cases("error page", ":: Start\n(@: 1)" + END, ("harlowe", "prnit", "print")),
    *cases(
        "error page", ":: Start\ngold: 2\n--\n{gold} and {@}." + END, ("chapbook", "hats", "gold")
    ),
    *cases(
        "thrown error",
        ':: Start\n<<link "Hm.">><<run setTimeout(() => { @ })>><</link>>' + END,
        ("sugarcube", "gone.away", "1"),
    ),
    *cases(
        "thrown error",
        ":: Start\n[[Up.|Attic]]" + END + "\n:: Attic\nx: @\n--\nDust {x}.\n",
        ("chapbook", "gone.away", "1"),
    ),
    # Variables that are set and never used.
    *cases(
        "unused variable", f":: Start\n{HATS['twine1']}@{END}", ("twine1", "", "<<print $hats>>")
    ),
    *cases(
        "unused variable",
        f":: Start\n{HATS['sugarcube']}@{END}",
        ("sugarcube", "", "$hats hats."),
        ("sugarcube", "", "<<script>>void (State.variables.hats)<</script>>"),
    ),
    *cases("unused variable", f":: Start\n{HATS['harlowe']}@{END}", ("harlowe", "", "$hats hats.")),
    *cases("unused variable", ":: Start\ngold: 2\n--\n@" + END, ("chapbook", "", "{gold} coins.")),
    *cases(
        "unused variable", ":: Start\n<% s.gold = 2; %>@" + END, ("snowman", "", "<%= s.gold %>")
    ),
    # Variables that are never set, or shown before they are set.
    *cases(
        "unset variable",
        f":: Start\n{HATS['twine1']}<<print $@ + $hats>>{END}",
        ("twine1", "hast", "hats"),
    ),
    *(
        case
        for name in ("sugarcube", "harlowe")
        for case in cases(
            "unset variable",
            f":: Start\n{HATS[name]}$@ of $hats hats.{END}",
            (name, "hast", "hats"),
        )
    ),
    *cases(
        "unset variable",
        ":: Start\n<% s.gold = 2; %><%= @ + s.gold %>" + END,
        ("snowman", "s.glod", "1"),
    ),
    *cases(
        "unset variable", ":: Start\n@$name" + END, ("sugarcube", "", '<<textbox "$name" "Ann">>')
    ),
    *cases(
        "unset variable",
        SHOP.format("<<print $hats>> hats.", "<<set $hats = 1>>"),
        ("twine1", "", "<<set $hats = 0>>\n"),
    ),
    *cases(
        "unset variable",
        SHOP.format("$hats hats.", "<<set $hats to 1>>"),
        ("sugarcube", "", "<<set $hats to 0>>\n"),
    ),
    *cases(
        "unset variable",
        SHOP.format("$hats hats.", "(set: $hats to 1)"),
        ("harlowe", "", "(set: $hats to 0)\n"),
    ),
    # A condition may ask for a variable that Harlowe does not know yet: it is 0.
    *cases(
        "unset variable",
        SHOP.replace("@", "").format("@", "(set: $ring to 1)"),
        ("harlowe", "$ring rings.", "(if: $ring is 1)[One ring.]"),
    ),
    # Numbers.
    *cases(
        "number below zero",
        GOLD.format("=", "<<set $gold = $gold - @>><<print $gold>>"),
        ("twine1", "3", "2"),
    ),
    *cases(
        "number below zero",
        GOLD.format("=", "<<set $gold = $gold - 3>>@<<print $gold>>"),
        ("twine1", "", "<<if $gold lt 0>>A debt: <<endif>>"),
    ),
    # A side bar: its links are choices, and it displays passages.
    *cases(
        EMPTY,
        ":: Start\nA hall." + END + "\n:: StoryMenu\n@\n\n:: Bag\nCrumbs. <<return>>\n",
        ("sugarcube", "", "[[Bag]]"),
    ),
    *cases(
        EMPTY,
        ":: Start\nA hall." + BAG + "\n:: StoryInterface\n<div id='passages'></div>@\n",
        ("sugarcube", "", '<div data-passage="Bag"></div>'),
    ),
    # Passages that another one displays.
    *cases(
        EMPTY,
        ":: Start\n@" + BAG,
        ("twine1", "", '<<display "Bag">>'),
        ("sugarcube", "", '<<include "Bag">>'),
        ("sugarcube", "", '<<linkreplace "Look.">><<include "Bag">><</linkreplace>>'),
        ("harlowe", "", '(display: "Bag")'),
        ("chapbook", "", "{embed passage: 'Bag'}"),
    ),
]
NAMES = [
    ("sugarcube", '<<if visited("Attic") gt 9>>Dust.<</if>><<if $no>><<goto "Attic">><</if>>'),
    ("harlowe", '(if: (history:) contains "Attic")[Dust.](display: "Note")'),
    ("chapbook", "[if passage.from === 'Attic']\nDust.\n\n[continued]\nQuiet."),
]
NEEDS_ENGINE = pytest.mark.skipif(
    not REAL_FORMATS, reason="needs the story formats (../shared/formats)"
)
# Kinds without a case in Twine 1, of which the first is always tried in its engine.
ENGINE_ONLY = [
    next(case for case in CASES if case[1] == kind) for kind in ("error page", "thrown error")
]


def marks_of(case: Case) -> list[pytest.MarkDecorator]:
    if case[0] == "twine1":
        return []
    return [NEEDS_ENGINE] if case in ENGINE_ONLY else [NEEDS_ENGINE, pytest.mark.full]


PARAMETERS = [pytest.param(*case, marks=marks_of(case)) for case in CASES]


@pytest.fixture(scope="module")
def formats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install the story formats for these tests alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEXTGAMES_HOME", str(tmp_path_factory.mktemp("home")))
        if REAL_FORMATS:
            add_formats(SHARED_FORMATS)
        yield


def findings_of(path: Path, clicks: int = 1_000, **options: Any) -> Findings:
    game = textgames.make(path, **{"shuffle": False, **options})
    try:
        return StoryTest(game, clicks=clicks).run()
    finally:
        getattr(game, "close", lambda: None)()


def kinds(findings: Findings) -> list[str]:
    return [problem.kind for problem in findings.problems]


@pytest.mark.parametrize(("engine", "fault", "story", "broken", "whole"), PARAMETERS)
def test_a_fault_is_reported_and_its_repair_is_not(
    engine: str, fault: str, story: str, broken: str, whole: str, tmp_path: Path, formats: None
):
    (tmp_path / "pic").mkdir()
    (tmp_path / "pic" / "yes.png").write_bytes(b"")
    path = tmp_path / "tale.twee"
    if fault == "trap":
        (tmp_path / "tale.toml").write_text(f'story = "tale.twee"\n{LISTED}', encoding="utf-8")
    results = []
    for text in (broken, whole):
        path.write_text(
            {**HEADERS, "snowman": SNOWMAN}[engine] + story.replace("@", text), encoding="utf-8"
        )
        opened = path.with_suffix(".toml") if fault == "trap" else path
        results.append(findings_of(opened, lenient=True))
    assert kinds(results[0]) == [fault], results[0].problems
    assert kinds(results[1]) == [], results[1].problems


@pytest.mark.full
@NEEDS_ENGINE
@pytest.mark.parametrize(("engine", "text"), NAMES)
def test_a_page_that_names_a_passage_without_a_link_is_an_ending(
    engine: str, text: str, tmp_path: Path, formats: None
):
    path = tmp_path / "tale.twee"
    start = ":: Start\n[[Up.->Attic]]\n[[Out.->Out]]" + END + ATTIC + "\n:: Note\nA note.\n"
    path.write_text(f"{HEADERS[engine]}{start}\n:: Out\n{text}\nNight falls.\n", encoding="utf-8")
    findings = findings_of(path)
    assert not {"trap", "loop"} & set(kinds(findings)), findings.problems
    assert findings.intended_endings == 2
    words = sorted(ending.last_words[-7:] for ending in findings.endings)
    assert words == [" falls.", "he end."]


@pytest.mark.full
@NEEDS_ENGINE
def test_an_error_of_a_header_is_reported_once(tmp_path: Path, formats: None):
    story = ":: PassageHeader\n<<prnit 1>>\n\n:: Start\n[[Up.|Attic]]" + END + ATTIC
    path = tmp_path / "tale.twee"
    path.write_text(HEADERS["sugarcube"] + story, encoding="utf-8")
    problem, *rest = findings_of(path).problems
    assert not rest
    assert problem.passage == "Start" and problem.text.endswith("(also in Attic, End)")


CLICKS = """\
:: Script [script]
$(document).ready(() => $("html").on("click", (event) => {
  if ($(event.target).closest("a").length) return;
  $(".passage .hide").first().removeClass("hide");
  State.variables.clicks = (State.variables.clicks || 0) + 1;
}));

:: Style [stylesheet]
.hide { display: none; }

:: Start
The tide is <<print either("low", "high")>>. @@.hide;A boat comes.@@ @@.hide;[[Board it.|Boat]]@@

:: Boat
You row. @@.hide;You arrive after $clicks clicks.@@
"""


@pytest.mark.full
@NEEDS_ENGINE
def test_a_story_that_goes_on_with_a_click_anywhere_is_played_to_its_end(
    tmp_path: Path, formats: None
):
    path = tmp_path / "tale.twee"
    path.write_text(HEADERS["sugarcube"] + CLICKS, encoding="utf-8")
    findings = findings_of(path)
    (ending,) = findings.endings
    assert findings.exact, findings.why_not
    assert not findings.problems
    assert ending.path is not None
    assert list(ending.path.actions) == ["Continue", "Continue", "Board it.", "Continue"]
    # The trial clicks, which were taken back, are not counted.
    assert ending.last_words.endswith("You arrive after 2 clicks.")


@pytest.mark.full
@NEEDS_ENGINE
def test_a_last_passage_that_reveals_more_is_an_ending(tmp_path: Path, formats: None):
    story = ':: Start\n[[Go.|Room]]\n\n:: Room\nA chest. (link: "Open it")[It is empty.]\n'
    path = tmp_path / "tale.twee"
    path.write_text(HEADERS["harlowe"] + story.replace("|", "->"), encoding="utf-8")
    findings = findings_of(path)
    assert not findings.problems
    assert [ending.name for ending in findings.endings] == ["Room"]


@pytest.mark.full
@NEEDS_ENGINE
def test_a_script_that_fails_before_the_first_page_is_an_error(tmp_path: Path, formats: None):
    story = ":: Script [script]\nState.noSuchThing();\n\n:: Start\n[[Go.|End]]" + END
    path = tmp_path / "tale.twee"
    path.write_text(HEADERS["sugarcube"] + story, encoding="utf-8")
    (problem,) = findings_of(path).problems
    assert (problem.kind, problem.passage) == ("thrown error", "")
    assert "State.noSuchThing is not a function" in problem.text


INK = json.dumps(STALL)
INK_CASES: list[Any] = [
    ("unused variable", '"ev",2,{"VAR=": "coins"}', '"ev",2,{"VAR=": "coins"},0,{"VAR=": "hats"}'),
    ("missing file", '{"#": "stall"}', '{"#": "IMAGE: pic/no.png"}'),
    ("number below zero", '{"VAR?": "coins"}, 1, "-"', '{"VAR?": "coins"}, 3, "-"'),
    ("thrown error", '"^The attic stays shut.", "\\n", "end"', '"^The attic stays shut.", "\\n"'),
]


@pytest.mark.parametrize(("fault", "whole", "broken"), INK_CASES)
def test_a_fault_of_an_ink_story_is_reported(fault: str, whole: str, broken: str, tmp_path: Path):
    spaced = whole.replace('"ev",2,', '"ev", 2, ')
    assert spaced in INK
    path = tmp_path / "stall.json"
    path.write_text(INK.replace(spaced, broken), encoding="utf-8")
    assert fault in kinds(findings_of(path))
    correct = INK.replace('{"#": "stall"}', '{"#": "IMAGE: https://example.org/a.png"}')
    path.write_text(correct, encoding="utf-8")
    assert kinds(findings_of(path)) == []
