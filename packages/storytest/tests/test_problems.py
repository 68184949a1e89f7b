"""Problems of a story: each once, where it is, the clicks that show it, and what allows it."""

import json
import math

import pytest

from storytest.playtest.evidence import Evidence
from storytest.playtest.play import Games, Trace
from storytest.playtest.playtest import StoryTest
from tests.commands import main


def findings_of(game):
    return StoryTest(game, clicks=1_000).run()


def problems_of(game):
    """The problems of a story as (kind, passage, line, clicks)."""
    problems = findings_of(game).problems
    clicks = [problem.path.actions if problem.path else None for problem in problems]
    rows = zip(problems, clicks, strict=True)
    return [(problem.kind, problem.passage, problem.line, path) for problem, path in rows]


ISLAND = """\
:: Start
[[On.|Home]]
:: Home
Done.
:: Attic
[[Down.|Loft]]
:: Loft
[[Up.|Attic]]
:: Shed
[[Behind.|Yard]]
:: Yard
A yard.
"""


def test_passages_behind_an_unreachable_one_are_no_problems_of_their_own(story):
    problems = problems_of(story(ISLAND))
    assert problems == [("unreachable", "Attic", 6, None), ("unreachable", "Shed", 10, None)]


CELL = """\
:: Start
[[To the cell.|Cell]]
[[Home.|Home]]
:: Cell
A cell. <<if 1 is 2>>[[Out.|Start]]<<endif>>
:: Home
At home.
"""
HOME = '[[ending]]\npassage = "Home"\nreward = 1\n'
ALWAYS = "[[expect]]\nalways_ends = true\n"


GATE = "<<if 1 is 2>>[[Out.|Start]]<<endif>>"
TRAP = [("trap", "Cell", 5, ("To the cell.",))]


@pytest.mark.parametrize(
    ("gate", "rules", "problems"),
    [
        (GATE, HOME, TRAP),
        ("", HOME, TRAP),  # not listed
        ("", None, []),  # none are listed: a page without links is an ending
        (GATE, None, TRAP),  # a link to the start is no excuse
        ("THE END [[Play again.|Start]]", None, []),
        # A passage behind the link that a trap names is no problem of its own.
        ("<<if 1 is 2>>[[Out.|Yard]]<<endif>>\n:: Yard\nFree.", None, TRAP),
    ],
)
def test_a_page_that_ends_is_a_trap_if_it_is_not_meant_to(story, gate, rules, problems):
    assert problems_of(story(CELL.replace(GATE, gate), rules)) == problems


CIRCLE = """\
:: Start
[[In.|Ring]]
[[Round.|Path]]
:: Ring
[[On.|Rim]]
:: Rim
[[On.|Ring]]
:: Path
[[Back.|Start]]
"""


def test_a_loop_is_reported_in_a_story_without_an_ending_unless_it_leads_to_the_start(story):
    assert problems_of(story(CIRCLE)) == [("loop", "Ring", 5, ("In.",))]
    assert problems_of(story(CIRCLE.replace(":: Rim\n", ":: Rim\n[[Out.|Start]]\n"))) == []
    kinds = [problem.kind for problem in findings_of(story(CIRCLE, ALWAYS)).problems]
    assert kinds == ["expectation", "loop"]


def test_a_story_with_a_trap_does_not_always_end_unless_it_is_allowed(story):
    problem, trap = findings_of(story(CELL, HOME + ALWAYS)).problems
    assert problem.kind == "expectation" and "expected: the story always ends" in problem.text
    assert (trap.kind, trap.passage, trap.severity) == ("trap", "Cell", "warning")
    findings = findings_of(story(CELL, f'allow = ["trap"]\n{HOME}{ALWAYS}'))
    assert findings.problems == () and findings.intended_endings == 2
    assert [check.status for check in findings.expectations] == ["passed"]


MENTION = """\
:: Start
[[To the gate.|Gate]]
[[Home.|Home]]
:: Gate
<<if visited("Home") gt 5>><<display "Home">><<endif>>The gate is shut.
:: Home
At home.
"""


def test_a_page_that_only_names_or_displays_a_passage_is_an_ending(story):
    assert problems_of(story(MENTION)) == []


BROKEN = ":: Start\n[[Feed it.|Goat]]\n[[Home.|Home]]\n:: Home\nAt home.\n"


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Write a story with a broken link into the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tale.twee").write_text(BROKEN, encoding="utf-8")
    return tmp_path / "tale.toml"


def test_a_broken_link_fails_the_test_and_is_the_first_line_of_the_report(broken, capsys):
    assert main(["test", "tale.twee"]) == 1
    title, headline, problem, *_ = filter(None, capsys.readouterr().out.splitlines())
    assert (title, headline) == ("tale", "1 problem. 1 ending, 2 of 2 passages seen.")
    assert problem.startswith("✗ Start (line 2): ") and '"Goat", which is not' in problem
    main(["test", "tale.twee", "--format", "json"])
    findings = json.loads(capsys.readouterr().out)
    assert list(findings)[:3] == ["name", "title", "problems"]
    assert [problem["passage"] for problem in findings["problems"]] == ["Start"]


@pytest.mark.parametrize(
    ("allow", "code"),
    [
        ('allow = ["broken link"]', 0),
        ('[allow]\n"broken link" = ["Start"]', 0),
        ('[allow]\n"broken link" = ["Home"]', 1),
        ('allow = ["broken links"]', 2),
        ('[allow]\n"broken link" = "Start"', 2),
    ],
)
def test_the_toml_allows_problems(broken, capsys, allow, code):
    broken.write_text(f'story = "tale.twee"\n{allow}\n', encoding="utf-8")
    assert main(["test", "tale.toml"]) == code
    out, error = capsys.readouterr()
    assert ("The TOML allows 1 problem more." in out) == (code == 0)
    assert ("broken link" in error) == (code == 2)


def test_a_story_of_which_most_is_left_out_is_refused_with_the_cure(tmp_path, capsys):
    file = tmp_path / "tale.twee"
    file.write_text(":: Start\n<<link 'On' 'Two'>><</link>>\n:: Two\nDone.\n", encoding="utf-8")
    assert main(["test", str(file)]) == 2
    out, error = capsys.readouterr()
    assert not out and "storytest formats add sugarcube" in error and "line 2" in error
    assert main(["test", str(file), "--lenient", "--seconds", "1"]) != 2


DEBT = """\
:: Start
<<set $gold to 3>>[[Shop.|Shop]]
:: Shop
<<set $gold to $gold - 1>>[[Again.|Shop]]
[[Pay all.|Poor]]
:: Poor
<<set $gold to $gold - 9>>Poor.
"""


def policy_of(choices):
    """Return a policy that makes these choices."""
    rest = iter(choices)
    return lambda _: next(rest)


def test_a_number_below_zero_is_shown_by_the_fewest_clicks_that_are_known(story):
    evidence = Evidence()
    game = story(DEBT)
    games = Games(game, evidence)
    for choices in ((0, 0, 0, 0, 1), (0, 1)):
        trace = Trace(game, evidence, 0)
        games._play(trace, policy_of(choices), math.inf, lambda _: True)
    assert evidence.below_zero["$gold"].actions == ("Shop.", "Pay all.")
