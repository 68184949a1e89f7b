"""Hosted stories as games: opening, rules, compilation, training and commands."""

import json

import pytest

import textgames
from storytest.hosted.game import HostedGame
from storytest.playtest.playtest import StoryTest
from tests.commands import main
from tests.game_checks import check_markup
from tests.stories import open_hosted
from tests.tiny_engine import tiny_story
from textgames.compiled.solve import best, random_play
from textgames.errors import InputError

FORK = {
    "Start": "{{(s.gold = 0, '')}}A fork.<p>[[Climb the hill->Hill]]</p><p>[[Go down to the lake->Lake]]</p>",
    "Hill": "{{(s.gold = 5, '')}}Wind, and a purse of gold.<p>[[Go on->Gate]]</p>",
    "Lake": "Water.<p>[[Go on->Gate]]</p><p>[[Turn back->Start]]</p>",
    "Gate": "{{s.gold >= 5 ? 'The gate opens.' : 'The gate stays shut.'}}",
}
ENGINE = "</tw-storydata><script>1</script>"
RULES = """
story = "fork.html"
step_reward = -0.1

[[ending]]
passage = "Gate"
where = "$gold gte 5"
reward = 10

[[ending]]
passage = "Gate"
reward = -10
"""


@pytest.fixture
def fork(tmp_path):
    (tmp_path / "fork.html").write_text(tiny_story(FORK), encoding="utf-8")
    (tmp_path / "fork.toml").write_text(RULES, encoding="utf-8")
    return tmp_path / "fork.toml"


@pytest.fixture
def game(fork):
    hosted = open_hosted(fork)
    yield hosted
    hosted.close()


def play(game, *actions):
    """Play these actions; return the last page."""
    page = game.reset(0)
    for action in actions:
        page = game.step(page.actions.index(action))
    return page


def test_a_page_with_an_engine_is_hosted_and_keeps_the_contract(game):
    assert isinstance(game, HostedGame)
    textgames.check_game(game)
    check_markup(game)


def test_rules_use_passages_and_variables_of_the_engine(game):
    assert play(game, "Climb the hill", "Go on") == textgames.Observation(
        "The gate opens.", (), 10.0
    )
    assert game.ending == "Gate"
    last = play(game, "Go down to the lake", "Go on")
    assert last == textgames.Observation("The gate stays shut.", (), -10.0)
    assert play(game, "Go down to the lake").reward == -0.1


def test_a_hosted_story_is_compiled_and_solved(game):
    compiled = textgames.compile_game(game, cache=False)
    assert best(compiled).score == 10.0
    # p = 1/2 (the hill) + 1/2 (the lake) · 1/2 (back to the fork) · p.
    assert random_play(compiled).final_reward == pytest.approx(10 * (2 / 3) - 10 * (1 / 3))


def test_a_search_that_ran_out_of_time_is_not_repeated(tmp_path, monkeypatch):
    endless = {
        "Start": "{{(s.n = (s.n || 0) + 1, s.n)}} steps.<p>[[Walk on->Start]]</p><p>[[Stop->End]]</p>",
        "End": "Done.",
    }
    (tmp_path / "walk.html").write_text(tiny_story(endless), encoding="utf-8")
    game = open_hosted(tmp_path / "walk.html")
    game.search_seconds = 0.5
    with pytest.raises(InputError, match="search longer with --seconds"):
        textgames.compile_game(game, cache=tmp_path / "cache")
    game.close()
    monkeypatch.setattr("storytest.hosted.session.Isolate", None)
    again = open_hosted(tmp_path / "walk.html")
    again.search_seconds = 0.5
    with pytest.raises(InputError, match="search longer with --seconds"):
        textgames.compile_game(again, cache=tmp_path / "cache")


def test_a_link_that_reloads_the_page_leads_to_the_opening(tmp_path):
    again = '<p><button onclick="location.reload()">Once round</button></p>'
    page = tiny_story(
        {
            "Start": "Here.<p>[[On->Next]]</p>",
            "Next": "There." + again + "<p>[[End->End]]</p>",
            "End": "Out.",
        }
    )
    (tmp_path / "tale.html").write_text(page, encoding="utf-8")
    game = open_hosted(tmp_path / "tale.html")
    assert play(game, "On", "Once round", "On", "End").text == "Out."
    assert len(textgames.compile_game(game, cache=False).texts) == 3
    game.close()


def test_a_story_in_a_format_of_twine_2_is_played_by_its_engine(tmp_path):
    page = '<tw-storydata format="SugarCube" startnode="1"><tw-passagedata pid="1" name="Start">{}</tw-passagedata>'
    (tmp_path / "plain.html").write_text(page.format("Here.") + ENGINE, encoding="utf-8")
    (tmp_path / "odd.html").write_text(
        page.format("&lt;&lt;wobble&gt;&gt;") + ENGINE, encoding="utf-8"
    )
    assert isinstance(textgames.make(tmp_path / "plain.html"), HostedGame)
    assert isinstance(textgames.make(tmp_path / "odd.html"), HostedGame)
    with pytest.raises(InputError, match="needs its own engine"):
        textgames.make(tmp_path / "odd.html", engine="native")
    with pytest.raises(InputError, match="one of native, hosted"):
        textgames.make(tmp_path / "odd.html", engine="chromium")


def test_a_where_may_only_use_variables(fork):
    fork.write_text(RULES.replace("$gold gte 5", "visited('Hill') gte 1"), encoding="utf-8")
    with pytest.raises(InputError, match="leave out visited"):
        textgames.make(fork)


def test_commands_work_on_a_hosted_story(fork, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path / "home"))
    main(["inspect", str(fork), "--json"])
    findings = json.loads(capsys.readouterr().out)
    assert findings["top_reward"] == 10.0 and findings["statistics"]["pages"] == 5
    run = str(tmp_path / "run")
    small = "--rounds 1 --episodes-per-round 20 --replicas 2".split()
    main(["train", str(fork), *small, "--out", run])
    main(["evaluate", run, "--episodes", "20"])
    assert "final reward" in capsys.readouterr().out
    (tmp_path / "fork.toml").unlink()
    main(["annotate", str(tmp_path / "fork.html")])
    assert 'passage = "Gate"' in (tmp_path / "fork.toml").read_text(encoding="utf-8")


def test_a_play_test_uses_the_solution_in_the_cache(fork, home):
    game = open_hosted(fork, shuffle=False)
    textgames.compile_game(game)
    findings = StoryTest(game, 1e-6).run()
    game.close()
    assert findings.exact and findings.random and findings.random.final_reward.error == 0


def test_the_reason_for_estimates_is_the_true_one(tmp_path, home):
    noise = {
        "Start": "{{Math.random()}} drops.<p>[[Wait->Start]]</p><p>[[Leave->End]]</p>",
        "End": ".",
    }
    (tmp_path / "noise.html").write_text(tiny_story(noise), encoding="utf-8")
    game = open_hosted(tmp_path / "noise.html", shuffle=False)
    findings = StoryTest(game, 1.5).run()
    game.close()
    assert not findings.exact and "outcomes cannot be listed" in findings.why_not
