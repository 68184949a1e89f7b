"""Slips that a reader found, each mended and kept from coming back."""

import gc

import pytest

import drrn
from drrn.errors import InputError


def test_going_back_keeps_what_the_link_to_that_page_set(story):
    twee = ":: StoryInit\n<<set $g = 7>>\n\n:: Start\ng is <<$g>>.\n\n[[Go|A][$x = 5]]\n\n"
    twee += (
        ":: A\nx is <<$x>>.\n\n[[On|C][$x = 9]]\n<<back>>\n\n:: C\nHere x is <<$x>>.\n\n<<back>>\n"
    )
    game = story(twee)
    game.reset(0)
    game.step(0)
    assert game.step(0).text == "Here x is 9."
    assert game.step(0).text == "x is 5."
    assert game.step(1).text == "g is 7."


@pytest.mark.parametrize(
    "draws", ["random(1, 100000000)", "random(1, 1000) * random(1, 1000) * random(1, 1000)"]
)
def test_a_huge_chance_stops_at_the_limit(story, draws):
    game = story(f":: Start\n<<set $x = {draws}>>Lot <<$x>>.\n\n[[Again|Start]]\n")
    found = game.explore(limit=10)
    assert not found.complete and found.states < 30


def test_where_may_ask_for_visits_and_may_not_set(story):
    twee = ":: Start\nGo.\n\n[[a|A]]\n[[b|B]]\n\n:: A\nA.\n\n[[b|B]]\n\n:: B\nB.\n"
    game = story(twee, "[[ending]]\nwhere = 'visited(\"A\") gt 0'\nreward = 3\n")
    game.reset(0)
    assert game.step(1).reward == 0
    game.reset(0)
    game.step(0)
    assert game.step(0).reward == 3
    for where in ("$x = 5", "random(0, 1)"):
        with pytest.raises(InputError, match="may only compare"):
            story(twee, f"[[ending]]\nwhere = '{where}'\nreward = 3\n")


def test_a_rule_may_name_decoded_words_and_answers(story):
    twee = ':: Start\n<<set $n = prompt("?")>>caf&eacute;\n\n[[on]]\n\n:: on\nWell done, <<$n>>.\n'
    story(twee, '[inputs]\nn = "Ines"\n[[ending]]\ncontains = "Well done, Ines"\nreward = 1\n')
    story(twee, '[[ending]]\ncontains = "café"\nreward = 1\n')


def test_unseeded_games_differ(story):
    game = story(":: Start\n<<set $x = random(1, 1000000)>>Lot <<$x>>.\n")
    assert len({game.another().reset().text for _ in range(5)}) > 1


def test_a_computed_target_that_is_no_passage_is_words_in_lenient_play(story):
    twee = ":: Start\nGo [[on|$w]] now.\n"
    with pytest.raises(InputError, match="leads to no passage"):
        story(twee).reset(0)
    assert story(twee, lenient=True).reset(0).text == "Go on now."


def test_an_event_on_the_first_page_pays_nothing_until_it_is_reached_by_a_step(story):
    game = story(
        ":: Start\nHere.\n\n[[Round.|Start]]\n", "[[event]]\npassage = 'Start'\nreward = 5\n"
    )
    assert game.reset(0).reward == 0 and game.step(0).reward == 5 and game.step(0).reward == 0


def test_a_passages_name_may_end_in_a_colon(story):
    assert story(":: Start\n[[Chapter 1:]]\n\n:: Chapter 1:\nIt begins.\n").reset(0).actions == (
        "Chapter 1:",
    )


@pytest.mark.parametrize(
    "toml",
    [
        "step_reward = nan\n",
        "default_reward = inf\n",
        "step_reward = 1" + "0" * 400 + "\n",
        "x = " + "[" * 3000 + "\n",
    ],
    ids=["nan", "inf", "long", "deep"],
)
def test_numbers_that_are_none_and_tables_too_deep_are_one_sentence(story, toml):
    with pytest.raises(InputError):
        story(":: Start\nHi.\n", toml)


def observations_alive():
    gc.collect()
    return sum(type(thing) is drrn.Observation for thing in gc.get_objects())


def test_pages_that_never_repeat_do_not_fill_the_memory(story, monkeypatch):
    monkeypatch.setattr("drrn.stories.twine.story_game.MOST_VIEWS", 50)
    game = story(":: Start\n<<set $n += 1>>Turn <<$n>>.\n\n[[On.|Start]]\n")
    game.reset(0)
    before = observations_alive()
    for _ in range(300):
        game.step(0)
    assert observations_alive() - before <= 52


def test_the_readme_is_filled_in():
    readme = (drrn_root() / "README.md").read_text(encoding="utf-8")
    assert "_OUTPUT" not in readme


def test_the_readmes_scores_are_those_that_the_stories_have():
    from drrn.compiled.solve import best, random_play

    readme = (drrn_root() / "README.md").read_text(encoding="utf-8")
    rows = {
        line.split("|")[1].strip(): line.split("|")[2:4]
        for line in readme.splitlines()
        if line.count("|") == 4
    }
    for column, name in enumerate(("long-watch", "night-market")):
        compiled = drrn.compile_game(drrn.make(name), cache=False)
        scores = random_play(compiled)
        assert (
            rows["random play: final reward, return"][column].strip()
            == f"{scores.final_reward:.2f}, {scores.total:.2f}"
        )
        score = f"{best(compiled).score:.2f}, {best(compiled, 1.0).score:.2f}"
        assert rows["best possible: final reward, return"][column].strip() == score


def drrn_root():
    from pathlib import Path

    return Path(drrn.__file__).parent.parent
