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

BAG = "\n:: Bag\nCrumbs in a bag.\n"
SHOP = "@[[In.|Shop]]\n\n:: Shop\n{}\n[[Buy.|Till]]\n\n:: Till\n{}\n[[Back.|Shop]]"
LINK = '<<set $to to "@">>\n<<link "Go."{}>>{}<</link>>'
HARLOWE_LINK = '(set: $to to "@")\n{}'
GOLD = "<<set $gold = 2>>[[In.|Shop]]\n\n:: Shop\n<<set $gold = $gold - {}>>{}<<print $gold>>"
PIT = "[[Down.|Pit]]{end}\n:: Pit\n[[Dig.|Mud]]\n\n:: Mud\n[[Dig.|Pit]]@\n"
LOFT = "[[Up.|Attic]]\n[[In.|@]]{end}" + ATTIC + "\n:: @\nHay.\n[[Down.|End]]\n"
CELL = "[[Steal.|Cell]]{end}\n:: Cell\nBars everywhere.@\n"
DUST = "[[Up.|Attic]]{end}\n:: Attic\nx: @\n--\nDust {x}.\n"
MENU = "A hall.{end}\n:: StoryMenu\n@\n\n:: Bag\nCrumbs. <<return>>\n"
INTERFACE = "A hall.{end}" + BAG + "\n:: StoryInterface\n<div id='passages'></div>@\n"
KEY = "<<set $key to @>>\n<<if $key>>[[Up.|Attic]]<<{}if>>{{end}}" + ATTIC
HARLOWE_KEY = "(set: $key to @)\n(if: $key)[ [[Up.|Attic]] ]{end}" + ATTIC
HATS = {"twine1": "<<set $hats = {}>>", "sugarcube": "<<set $hats to {}>>"}
HATS["harlowe"] = "(set: $hats to {})"
CODE = "void (State.variables.hats)"
REPLACED = '<<linkreplace "Look.">><<include "Bag">><</linkreplace>>'

# Engines (or all), a story without the header of its first page and its {end}, broken, whole.
FAULTS = {
    "broken link": [
        ("all", "A hall.\n[[Go.|@]]", "Edn", "End"),
        ("sugarcube", LINK.format(" $to", ""), "Edn", "End"),
        ("harlowe", HARLOWE_LINK.format('(link-goto: "Go.", $to)'), "Edn", "End"),
        ("chapbook", "{embed passage: '@'}", "Edn", "End"),
    ],
    "error page": [
        ("sugarcube", "<<@ 1>>", "prnit", "print"),
        ("harlowe", "(@: 1)", "prnit", "print"),
        ("harlowe", HARLOWE_LINK.format('(link: "Go.")[(go-to: $to)]'), "Edn", "End"),
        ("chapbook", "gold: 2\n--\n{gold} and {@}.", "hats", "gold"),
    ],
    "thrown error": [
        ("sugarcube", LINK.format("", "<<goto $to>>"), "Edn", "End"),
        ("sugarcube", LINK.format("", "<<run setTimeout(() => { @ })>>"), "gone.away", "1"),
        ("chapbook", DUST, "gone.away", "1"),
    ],
    "trap": [("all", CELL, "", "\n[[Out.|End]]")],
    "loop": [("all", PIT, "", "\n[[Climb.|End]]")],
    "unreachable": [
        ("all", "A hall.@{end}" + ATTIC, "", "\n[[Up.|Attic]]"),
        ("twine1", KEY.format("end"), "false", "true"),
        ("sugarcube", KEY.format("/"), "false", "true"),
        ("harlowe", HARLOWE_KEY, "false", "true"),
        # A side bar: its links are choices, and it displays passages.
        ("sugarcube", MENU, "", "[[Bag]]"),
        ("sugarcube", INTERFACE, "", '<div data-passage="Bag"></div>'),
        # Passages that another one displays.
        ("twine1", "@{end}" + BAG, "", '<<display "Bag">>'),
        ("sugarcube", "@{end}" + BAG, "", '<<include "Bag">>'),
        ("sugarcube", "@{end}" + BAG, "", REPLACED),
        ("harlowe", "@{end}" + BAG, "", '(display: "Bag")'),
        ("chapbook", "@{end}" + BAG, "", "{embed passage: 'Bag'}"),
    ],
    "duplicate passage": [("all", LOFT, "Attic", "Loft")],
    "missing file": [
        ("all", '<img src="pic/@.png" alt="">', "no", "yes"),
        ("twine1", "[img[pic/@.png]]", "no", "yes"),
        ("sugarcube", '<<cacheaudio "a" "@">>', "no.ogg", "https://example.org/no.ogg"),
        ("chapbook", "{embed image: 'pic/@.png'}", "no", "yes"),
    ],
    "unused variable": [
        ("twine1", HATS["twine1"].format(3) + "@", "", "<<print $hats>>"),
        ("sugarcube", HATS["sugarcube"].format(3) + "@", "", "$hats hats."),
        ("sugarcube", HATS["sugarcube"].format(3) + "@", "", f"<<script>>{CODE}<</script>>"),
        ("harlowe", HATS["harlowe"].format(3) + "@", "", "$hats hats."),
        ("chapbook", "gold: 2\n--\n@", "", "{gold} coins."),
        ("snowman", "<% s.gold = 2; %>@", "", "<%= s.gold %>"),
    ],
    # Variables that are never set, or shown before they are set.
    "unset variable": [
        ("twine1", HATS["twine1"].format(3) + "<<print $@ + $hats>>", "hast", "hats"),
        ("sugarcube", HATS["sugarcube"].format(3) + "$@ of $hats hats.", "hast", "hats"),
        ("harlowe", HATS["harlowe"].format(3) + "$@ of $hats hats.", "hast", "hats"),
        ("snowman", "<% s.gold = 2; %><%= @ + s.gold %>", "s.glod", "1"),
        ("sugarcube", "@$name", "", '<<textbox "$name" "Ann">>'),
        *(
            (name, SHOP.format(shown, text.format(1)), "", text.format(0) + "\n")
            for (name, text), shown in zip(
                HATS.items(), ("<<print $hats>> hats.", "$hats hats.", "$hats hats."), strict=True
            )
        ),
        # A condition may ask for a variable that Harlowe does not know yet: it is 0.
        (
            "harlowe",
            SHOP[1:].format("@", "(set: $ring to 1)"),
            "$ring rings.",
            "(if: $ring is 1)[One ring.]",
        ),
    ],
    "number below zero": [
        ("twine1", GOLD.format("@", ""), "3", "2"),
        ("twine1", GOLD.format("3", "@"), "", "<<if $gold lt 0>>A debt: <<endif>>"),
    ],
}


def whole_story(text: str) -> str:
    """The Twee of a first page that has a link to the end, unless other pages follow."""
    has_end = "{end}" in text
    return f":: Start\n{text.replace('{end}', END) if has_end else text + END}"


CASES: list[Case] = [
    (engine, fault, whole_story(text), broken, whole)
    for fault, rows in FAULTS.items()
    for names, text, broken, whole in rows
    for engine in (HEADERS if names == "all" else [names])
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
