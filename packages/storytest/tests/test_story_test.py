"""`storytest`: findings of small stories, exact and sampled, and their reports."""

import json
import math
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import textgames
from storytest.authored import AuthoredGame
from storytest.formats import add_formats
from storytest.playtest import playtest
from storytest.playtest.budget import Budget, Meter
from storytest.playtest.clicks import ClickPath, read_path, replay_episode, write_path
from storytest.playtest.coverage import Source, broken_links
from storytest.playtest.evidence import Evidence
from storytest.playtest.playtest import StoryTest
from storytest.playtest.report import report as build_report
from storytest.playtest.solve import ShortestPaths
from storytest.search import clock
from tests.commands import main
from tests.source_code import ROOT
from tests.story_formats import write_format
from tests.tiny_engine import tiny_story
from textgames.compiled.compile import compile_game
from textgames.compiled.solve import best, random_play
from textgames.document import to_text
from textgames.errors import InputError
from textgames.wording import percent

TALE = """\
:: Start
<<set $gold = 2>>You stand before a house.

[[Climb.|Wall]]
[[Knock.|Door]]

:: Wall
<<set $gold = $gold - 3>>A wall.

[[Jump.|Pit]]
[[Back.|Start]]

:: Door
<<if random(1, 4) eq 1>>[[Enter.|Hall]]<<else>>[[Wait.|Door]]<<endif>>
<<if $gold gt 9>>[[Bribe.|Cellar]]<<endif>>

:: Pit
[[Dig.|Pit]]

:: Hall
Home.

:: Cellar
[[Down.|Vault]]

:: Vault
Gold.

:: Attic
Nobody comes here.
"""
RULES = 'step_reward = -1\nmax_steps = 60\n[[ending]]\npassage = "Hall"\nreward = 9\n'


def text_of(findings):
    return to_text(build_report(findings, "tale.twee"), width=120)


def report_of(game, clicks=4_000):
    return StoryTest(game, math.inf, clicks=clicks).run()


class Uncompiled:
    """A story that lists no outcomes, so that it must be played."""

    def __init__(self, game):
        self.game = game

    def reset(self, seed=None):
        return self.game.reset(seed)

    def step(self, index):
        return self.game.step(index)

    def __getattr__(self, name):
        listed = "name title rules story engine links left_out problems asked errors state "
        listed += "position_at face_at ending max_steps skipped variable_uses"
        if name not in listed.split():  # above all, its outcomes
            raise AttributeError(name)
        return getattr(self.game, name)


AuthoredGame.register(Uncompiled)


def mean(estimate):
    """Return the mean of an estimate that exists."""
    assert estimate is not None
    return estimate.mean


def actions_of(item):
    """Return the actions of a path that exists."""
    assert item.path is not None
    return item.path.actions


@pytest.mark.parametrize(
    "name", ["long-watch", pytest.param("night-market", marks=pytest.mark.full)]
)
def test_built_in_stories_have_exact_odds(name):
    game = textgames.make(name, shuffle=False)
    compiled = textgames.compile_game(game)
    report = report_of(game, math.inf)
    chance = random_play(compiled)
    assert report.exact and report.top_reward == pytest.approx(best(compiled).score)
    assert report.random is not None
    assert mean(report.random.final_reward) == pytest.approx(chance.final_reward)
    odds = sorted(mean(ending.probability) for ending in report.endings)
    assert odds == pytest.approx(sorted(chance.endings))
    shortest = sorted(map(len, ShortestPaths(compiled).to_endings().values()))
    assert sorted(len(actions_of(ending)) for ending in report.endings) == shortest
    assert report.passages.count == report.passages.total and not report.never_reached
    assert [each.status for each in report.expectations] == ["passed"] * 3


def test_findings_of_a_compiled_story_are_exact(story):
    report = report_of(story(TALE, RULES))
    (hall,) = report.endings
    assert report.exact and report.complete
    assert hall.path.actions == ("Knock.", "Enter.") and hall.path.chances == (0.25, 1)
    assert (report.passages.count, report.passages.total) == (5, 8)
    assert (report.links.count, report.links.total) == (7, 9)
    (pit,) = report.dead_ends
    assert (pit.kind, pit.passage, pit.path.actions) == ("loop", "Pit", ("Climb.", "Jump."))
    assert {each.variable: each.values for each in report.variables} == {"$gold": "-1, 2"}
    why = {issue.passage: issue.text for issue in report.never_reached}
    assert why["Attic"] == "no link leads there"
    assert why["Cellar"] == '"Door" names it, if $gold gt 9; $gold was -1, 2'
    assert why["Vault"] == 'only "Cellar" leads there, which was not reached either'


SUGAR = """\
:: StoryData
{"start": "Start"}
:: Start
[[A|$next]] [[B->_next]] [[C|`"Tw" + "o"`]] [[D|previous()]] [[E|setup.place]] [[F|"Tw" + "o"]] [[G|$rooms["hall"] ]]
[[H|https://example.org/x]] {{{ [[I|raw]] }}} <nowiki>[[J|raw]]</nowiki> /* [[K|comment]] */ <<set $m to [[1, 2], [3]]>>
<<link [[L|$next]]>><</link>> <<goto $next>> <<include `"Tw" + "o"`>> <<= "[[M|printed]]">> [[Two][$x to 1]]
<<link "N" "Attic">><</link>> [[Mother's room]]
<<goto "room_3">> [[Tow]]
:: Two
Two.
"""


def test_computed_links_are_not_reported_as_broken(tmp_path):
    (tmp_path / "tale.twee").write_text(SUGAR, encoding="utf-8")
    game = textgames.make(tmp_path / "tale.twee", lenient=True)
    links = broken_links(Source(game), Evidence())
    assert [(link.line, *link.targets) for link in links] == [
        (7, "Attic"),
        (7, "Mother's room"),
        (8, "room_3"),
        (8, "Tow"),
    ]
    assert 'Did you mean "Two"?' in links[3].text


def test_estimates_of_a_sampled_story_are_near_the_exact_numbers(story):
    report = report_of(Uncompiled(story(TALE, RULES)))
    (hall,) = report.endings
    assert not report.exact and report.games > 50 and hall.probability.error > 0
    assert abs(hall.probability.mean - 2 / 3) < 5 * hall.probability.error + 0.02
    assert [dead.passage for dead in report.dead_ends] == ["Pit"]
    assert [issue.passage for issue in report.never_reached] == ["Cellar", "Vault", "Attic"]
    assert "unreachable" not in {problem.kind for problem in report.problems}


def test_searching_games_find_endings_that_random_games_do_not(story):
    """One of four doors leads on, twelve times: a random game gets there once in 16 million."""
    doors = "".join(
        f":: {number}\nA room.\n[[Left.|{number + 1}]]\n"
        + "".join(f"[[Door {i}.|Out]]\n" for i in range(3))
        for number in range(1, 13)
    )
    tale = f":: Start\n[[In.|1]]\n{doors}:: 13\nTreasure.\n:: Out\nOutside.\n"
    report = report_of(Uncompiled(story(tale)))
    assert {ending.name for ending in report.endings} == {"13", "Out"}
    assert report.passages.count == report.passages.total


def test_the_larger_part_of_seconds_and_clicks_is_spent():
    meter = Meter(Budget(seconds=1e6, clicks=10), start=clock() - 2e5)
    assert meter.spent == pytest.approx(0.2, abs=1e-3)
    meter.clicks = 5
    assert meter.spent == 0.5
    rest = meter.rest(0.8)
    assert [rest.clicks, rest.seconds] == pytest.approx([3, 3e5])


def test_a_budget_of_clicks_makes_a_test_repeatable(story):
    tests = [StoryTest(Uncompiled(story(TALE, RULES)), clicks=500) for _ in range(2)]
    reports = [replace(test.run(), seconds=0.0).as_json() for test in tests]
    assert reports[0] == reports[1] and reports[0]["games"] > 2
    assert all(500 < test.meter.clicks <= 500 + 2 for test in tests)


@pytest.mark.parametrize(
    ("states", "part", "is_solved"),
    [(60, 2, True), (60, 5, False), (61, 0.9, True), (61, 2, False)],
)
def test_compiling_after_a_complete_search_has_a_time_limit(
    story, monkeypatch, states, part, is_solved
):
    def compile_slowly(game, memory, progress):
        monkeypatch.setattr(Meter, "spent", part)
        progress(1)
        return compile_game(game, cache=False)

    monkeypatch.setattr(playtest, "compile_game", compile_slowly)
    test = StoryTest(story(TALE, RULES))
    test.evidence.complete = True
    test.evidence.states = states
    assert test._compile() is is_solved


CHECKS = """
[[expect]]
ending = "Hall"
odds = ">= 60 %"
[[expect]]
ending = "Hall"
odds = "< 50 %"
[[expect]]
reachable = "Cellar"
[[expect]]
never = "$gold < 0"
[[expect]]
never = "$gold > 5"
[[expect]]
always_ends = true
[[expect]]
at_most_steps = 30
[[expect]]
best = ">= 9"
[[expect]]
ending = "home"
"""


SHELLS = """\
:: Start
Three shells. [[Left.|Pea]] [[Middle.|Empty]] [[Right.|Empty]] [[Ask.|Hint]]
:: Hint
<<set $say = either("left", "middle", "right", "right")>>She says $say. [[Left.|Pea]] [[Home.|Empty]]
:: Pea
A pea. [[Bow.|Won]]
:: Won
Won.
:: Empty
Nothing. <<if $say is "up">>[[Sky.|Sky]]<<endif>>
:: Sky
Sky.
"""


def test_odds_that_fail_show_the_shortest_path(story):
    odds_of_won = "ending = 'Won'\nodds = '>= 90 %'"  # a few games decide
    odds_of_sky = "ending = 'Sky'\nodds = '> 10 %'"
    reachable = "reachable = 'Sky'"
    checks = "".join(f"[[expect]]\n{check}\n" for check in (odds_of_won, odds_of_sky, reachable))
    odds, lost, unmet = report_of(story(SHELLS, checks)).expectations
    assert odds.path.actions == ("Left.", "Bow.")
    assert "37.5 % of random games" in odds.result
    assert lost.path is None and "cannot be reached" in lost.result
    assert unmet.path.actions == ("Middle.",) and '"Empty" names it' in unmet.result
    odds, lost, _ = report_of(Uncompiled(story(SHELLS, checks))).expectations
    assert odds.path.actions == ("Left.", "Bow.") and "was not reached" in lost.result


def test_every_path_of_a_report_can_be_replayed(story, tmp_path):
    games: list[Any] = [story(TALE, RULES + CHECKS), Uncompiled(story(TALE, RULES + CHECKS))]
    for game in games:
        report = report_of(game)
        paths = [e.path for e in (*report.endings, *report.dead_ends)]
        paths += [each.path for each in report.expectations if each.path]
        for number, path in enumerate(paths):
            write_path(path, tmp_path / f"{number}.json", "tale", "")
            _, pages = replay_episode(game, read_path(tmp_path / f"{number}.json"))
            assert pages[-1][0].text == path.comes_to and len(pages) == len(path) + 1


def test_errors_of_a_hosted_story_have_their_clicks(tmp_path):
    passages = {
        "Start": "{{(s.gold = 3, '')}}Hi.<p>[[On->Two]]</p><p>[[Off->Three]]</p>",
        "Two": "{{missing.thing}}Two.<p>[[Back->Start]]</p><p>[[Lost->Nowhere]]</p>",
        "Three": "The end of it.",
    }
    path = tmp_path / "tale.html"
    path.write_text(tiny_story(passages), encoding="utf-8")
    report = report_of(textgames.make(path, shuffle=False), 200)
    (error,) = report.errors
    assert error.passage == "Two" and "missing" in error.text and error.path.actions == ("On",)
    assert [ending.name for ending in report.endings] == ["Three"]
    assert [problem.kind for problem in report.problems] == ["broken link", "thrown error"]
    assert any("Nowhere" in broken.text for broken in report.broken_links)


AGAIN = """\
:: Start
[[Enter.|Hall]]

:: Hall
THE END

[[Play again?|Title]]

:: Title
A title. [[Begin.|Start]]
"""


def test_rules_that_end_the_story_are_named_as_the_reason(story):
    tale = AGAIN.replace("THE END", "A hall.").replace("Play again?", "On.")
    report = report_of(story(tale, 'ends = { passage = "Hall" }'))
    what = report.never_reached[0].text
    assert report.exact and report.problems == ()  # a player may follow the link
    assert (report.links.count, report.links.total) == (1, 2)
    assert what.startswith('"Hall" names it') and "rules" in what


class Interrupted(Uncompiled):
    """A story in which Ctrl-C is pressed at the 301st step."""

    steps = 0

    def step(self, index):
        self.steps += 1
        if self.steps > 300:
            raise KeyboardInterrupt
        return super().step(index)


def test_ctrl_c_returns_the_findings_so_far(story):
    report = report_of(Interrupted(story(TALE, RULES)))
    assert report.interrupted and report.endings and report.games > 5


def test_small_shares_are_not_rounded_to_zero():
    shares = (0, 0.0004, 0.0006, 0.5, 0.99999, 1)
    texts = ["0 %", "< 0.1 %", "0.1 %", "50.0 %", "> 99.9 %", "100 %"]
    assert list(map(percent, shares)) == texts


@pytest.fixture
def file(tmp_path):
    (tmp_path / "tale.twee").write_text(TALE, encoding="utf-8")
    path = tmp_path / "tale.toml"
    path.write_text('story = "tale.twee"\n' + RULES + CHECKS, encoding="utf-8")
    return path


def run_test(file, *options):
    return main(["test", str(file), "--seconds", "1", *options])


BUILT_IN = [
    Path(f"packages/storytest/storytest/twine/built_in/{name}.toml")
    for name in ("long-watch", "night-market")
]


@pytest.mark.full
def test_the_example_workflow_runs_on_built_in_stories(capsys, tmp_path, monkeypatch):
    yaml = pytest.importorskip("yaml")
    monkeypatch.chdir(ROOT)
    workflow = yaml.safe_load(Path("examples/ci/story-test.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["test"]
    installation, *commands = [step["run"] for step in job["steps"] if "run" in step]
    folders = re.findall(r"drrn/(packages/\w+)", installation)
    assert folders and all((ROOT / folder / "pyproject.toml").exists() for folder in folders)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    for story in BUILT_IN:
        words = commands[0].replace("my-story.html", str(story))
        words = words.replace("found", str(tmp_path / story.stem))
        program, *arguments = shlex.split(words)
        assert program == "storytest" and main(arguments) == 0, capsys.readouterr().out
        assert any((tmp_path / story.stem).iterdir())
    artifact = next(
        step["with"]["path"] for step in job["steps"] if "upload-artifact" in step.get("uses", "")
    )
    assert artifact in shlex.split(commands[0]) and "::error" not in capsys.readouterr().out
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").count("## ") >= len(BUILT_IN)


@pytest.mark.parametrize(
    ("wrap", "statuses"), [(lambda game: game, "pfffpffpp"), (Uncompiled, "pfffpffpp")]
)
def test_expectations_are_checked_exactly_or_against_games(story, wrap, statuses):
    checks = report_of(wrap(story(TALE, RULES + CHECKS))).expectations
    assert "".join(check.status[0] for check in checks[1:]) == statuses[1:]
    assert checks[3].path.actions[-1] == "Climb." and len(checks[6].path) >= 30
    if wrap is not Uncompiled:
        assert checks[0].status == "passed" and "66.7 % of random games" in checks[0].result
        assert checks[5].path.actions == ("Climb.", "Jump.") and len(checks[6].path) == 30


def test_a_path_is_written_as_numbers_of_choices(story):
    game = story(TALE, RULES)
    path = ClickPath(("Climb.", "Back.", "Knock."), (0, 1, 1), 7)
    assert path.numbers == "1,2,2@7"
    _, clicks = replay_episode(game, read_path(Path(path.numbers)))
    assert [page.actions[index] for page, index in clicks if index is not None] == [*path.actions]
    assert ClickPath(("Knock.", "Enter."), (1, 0), None, (1.0, 0.25)).numbers == ""  # by chance
    with pytest.raises(InputError, match="choice 9"):
        replay_episode(game, read_path(Path("1,9")))
    with pytest.raises(InputError, match=r'action 2 of the path, "Fly\."'):
        replay_episode(game, ClickPath(("Climb.", "Fly.")))


TURN = ":: Start\n[[Look.|Nook]]\n[[Leave.|Home]]\n:: Nook\n<<if visited() is 1>>[[Turn.|Start]]<<endif>>\n:: Home\nDone.\n"
NEW = ":: Start\n[[On.|Two]]\n[[Off.|Home]]\n:: Two\n{}\n:: Home\nAt home.\n"


@pytest.mark.parametrize(
    ("tale", "rules", "dead_end"),
    [
        (TURN, 'max_steps = 9\n[[ending]]\npassage = "Home"\nreward = 1\n', ("trap", "Nook")),
        (NEW.format("Double-click this passage to edit it."), None, ("empty passage", "Two")),
        (NEW.format(""), None, ("empty passage", "Two")),
    ],
)
def test_a_page_that_was_not_meant_to_end_the_story_is_no_ending(story, tale, rules, dead_end):
    report = report_of(story(tale, rules))
    assert [(dead.kind, dead.passage) for dead in report.dead_ends] == [dead_end]
    assert "Endings (1)" in text_of(report)


def test_a_story_without_an_ending_gets_advice(story):
    report = report_of(story(":: Start\n[[On.|Last]]\n:: Last\n[[Once more, friend.|Start]]\n"))
    text = text_of(report)
    assert not report.endings and "ends = {" in text and "restart = [" in text


SKIPPED = ":: Start\n<<wobble>>[[On.|Home]]\n:: Home\nDone.\n:: Attic\nDust.\n"


@pytest.mark.parametrize("name", ["3.3.8", "3.3.9", ""])
def test_nothing_is_proved_if_another_version_or_a_part_of_the_scripts_plays(tmp_path, home, name):
    page = tiny_story({"Start": "[[On->Home]]", "Home": "Done.", "Attic": "Dust."})
    outside = "" if name else '<script src="https://example.org/a.js"></script>'
    path = tmp_path / "tale.html"
    path.write_text(page.replace("</head>", f"{outside}</head>"), encoding="utf-8")
    if name:
        source = re.sub("<tw-storydata.*</tw-storydata>", "{{STORY_DATA}}", page)
        source = source.replace(
            'getAttribute("start")', 'querySelector("tw-passagedata").getAttribute("name")'
        )
        add_formats(write_format(tmp_path, name="Tiny", version="3.3.9", source=source))
        path = tmp_path / "tale.twee"
        data = json.dumps({"format": "Tiny", "format-version": name})
        path.write_text(
            f":: StoryData\n{data}\n:: Start\n[[On->Home]]\n:: Home\nDone.\n:: Attic\nDust.\n"
        )
    report = report_of(textgames.make(path, shuffle=False), 200)
    is_whole = name == "3.3.9"
    assert report.is_solved and report.exact is is_whole and bool(report.left_out) is not is_whole
    assert [problem.kind for problem in report.problems] == ["unreachable"] * is_whole


def test_nothing_is_proved_if_a_part_of_the_story_was_skipped(story):
    report = report_of(story(SKIPPED, lenient=True))
    assert report.is_solved and not report.exact and not report.problems
    lines = text_of(report).splitlines()
    assert any("Nothing is proved" in line and "wobble" in line for line in lines[:6])
    assert not any("Exact" in line for line in lines)
    whole = report_of(story(SKIPPED.replace("<<wobble>>", ""), lenient=True))
    assert whole.exact and [problem.kind for problem in whole.problems] == ["unreachable"]
    assert "there may be more" in text_of(replace(whole, complete=False))


# --- the command


def test_the_command_reports_expectations_that_fail(file, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    assert run_test(file) == 1
    out = capsys.readouterr().out
    assert 'expected: passage "Cellar" can be reached; it cannot' in " ".join(out.split())
    assert "5 of 8\n" in out and "7 of 9\n" in out
    assert "Knock. [by chance, 25.0 %] → Enter." in out
    widest = max(len(line) for line in out.splitlines() if "▶" not in line)
    assert widest <= 70 + len(str(file))  # a path is not wrapped, nor a command to copy
    main(["inspect", str(file)])
    tables = []
    for text in (out, capsys.readouterr().out):
        lines = [*text.splitlines(), ""]
        start = lines.index(next(line for line in lines if line.startswith("Endings (")))
        tables.append(lines[start + 1 : lines.index("", start)])
    assert tables[0] == tables[1] and len(tables[0]) > 1


def test_every_format_of_the_report(file, capsys, tmp_path, monkeypatch):
    assert run_test(file, "--format", "json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["exact"] and report["endings"][0]["path"]["actions"] == ["Knock.", "Enter."]
    assert report["expectations"][1]["status"] == "failed"
    assert run_test(file, "--format", "html") == 1
    page = capsys.readouterr().out
    assert "▶ play it" in page and f"storytest play {file} --path 1" in page
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run_test(file, "--format", "github") == 1
    out = capsys.readouterr().out
    assert f"::error file={file},line=11::" in out and "66.7 %25 of random games" in out
    text = summary.read_text(encoding="utf-8")
    assert "- ❌ expectation" in text and "passages covered: **5 of 8**" in text
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    run_test(file, "--format", "github")
    assert capsys.readouterr().out.startswith("## tale")


def test_bad_files_are_refused_before_the_test(file, capsys, monkeypatch):
    monkeypatch.setattr(StoryTest, "run", lambda _: pytest.fail("it was tested first"))
    for folder in (str(file.parent), str(file), os.devnull):
        assert run_test(file, "--paths", folder) == 2
        assert f"{folder}: not an empty folder" in capsys.readouterr().err
    assert main(["test", str(file), "--seconds", "0"]) == 2
    assert run_test("nosuch.twee") == 2
    for name, command in (("clicks.txt", "play long-watch --path"), ("tale.toml", "test")):
        damaged = file.with_name(name)
        damaged.write_bytes(b"caf\xe9")
        capsys.readouterr()
        assert main([*command.split(), str(damaged)]) == 2
        message = capsys.readouterr().err
        assert "line 1: byte 0xe9 is not utf-8;" in message and "encoding" not in message


def test_the_report_is_printed_even_if_the_map_fails(file, capsys, tmp_path, monkeypatch):
    def fail(*_):
        raise InputError("too many pages to draw")

    monkeypatch.setattr(StoryTest, "story_map", fail)
    assert run_test(file, "--map", str(tmp_path / "map.svg")) == 2
    out, error = capsys.readouterr()
    assert "Endings" in out and "too many pages to draw" in error


def test_paths_are_saved_and_replayed(file, capsys, tmp_path):
    folder = tmp_path / "paths"
    run_test(file, "--paths", str(folder))
    ending = next(path for path in folder.iterdir() if "ending-Hall" in path.name)
    plain = tmp_path / "clicks.txt"
    plain.write_text("Climb.\nJump.\n", encoding="utf-8")
    for path, end in ((ending, "Home."), (plain, "→ Jump.")):
        capsys.readouterr()
        assert main(["play", str(file), "--path", str(path)]) == 0
        assert end in capsys.readouterr().out


@pytest.mark.parametrize(
    ("game", "words"), [("tests.sample_games:Doors", "4 endings."), ("twx:coin", "Estimated in")]
)
def test_the_command_tests_a_game_that_is_no_story(capsys, stand_ins, game, words):
    assert run_test(game) == 0
    assert words in capsys.readouterr().out
