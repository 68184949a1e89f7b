"""States of hosted stories: what distinguishes them, exact odds, and errors of unlisted draws."""

from __future__ import annotations

import numpy as np
import pytest

import textgames
from storytest.hosted.game import HostedGame
from storytest.hosted.identity import Identity
from storytest.hosted.variables import Lookahead, variable_uses
from storytest.twine.story import Passage, Story
from tests.commands import main
from tests.game_checks import check_outcomes
from tests.source_code import ROOT
from tests.stories import open_hosted
from tests.story_formats import SHARED_FORMATS, needs_formats, open_twee
from tests.tiny_engine import tiny_story
from textgames.compiled.solve import random_play
from textgames.errors import InputError

# One throw of a die: 1 wins, 2 and 3 throw again, the rest loses.
DICE = {
    "harlowe": (
        "3.3.9",
        "(set: $die to (random: 1, 6))",
        "(if: $die is 1)[[[Go->Win]]](else-if: $die < 4)[[[Go->Throw]]](else:)[[[Go->Lose]]]",
    ),
    "sugarcube": (
        "2.37.3",
        "<<set $die to random(1, 6)>>",
        "<<if $die is 1>>[[Go->Win]]<<elseif $die lt 4>>[[Go->Throw]]<<else>>[[Go->Lose]]<</if>>",
    ),
}


@pytest.fixture
def open_story(tmp_path):
    """Function that opens a story of the tiny engine; the games are closed after the test."""
    games: list[HostedGame] = []

    def open_passages(passages, **parts):
        path = tmp_path / f"story{len(games)}.html"
        path.write_text(tiny_story(passages, **parts), encoding="utf-8")
        games.append(open_hosted(path, engine="hosted"))
        return games[-1]

    yield open_passages
    for game in games:
        game.close()


def odds(game):
    """Return the exact odds of each ending in random play."""
    compiled = textgames.compile_game(game, cache=False)
    names = [ending.passage for ending in compiled.endings]
    return dict(zip(names, random_play(compiled).endings, strict=True))


def last_texts(compiled):
    """Return the sorted texts of the endings."""
    return sorted(compiled.texts[compiled.text[state]] for state in np.flatnonzero(compiled.ended))


def story(passages, form="sugarcube"):
    pages = {name: Passage(name, text) for name, text in passages.items()}
    return Story("test", pages, format=form)


def test_random_whole_numbers_have_exact_odds(open_story):
    game = open_story(
        {
            "Start": "{{Math.floor(Math.random() * 4) ? '[[throw->Throw]]' : '[[stay->Stay]]'}}",
            "Stay": "You stay.",
            "Throw": "{{(s.die = 1 + Math.floor(Math.random() * 6), '')}}"
            "{{s.die == 1 ? '[[go->Win]]' : s.die < 4 ? '[[go->Again]]' : '[[go->Lose]]'}}",
            "Again": "Once more. [[throw->Throw]]",
            "Win": "Won.",
            "Lose": "Lost.",
        }
    )
    # A throw wins with p = 1/6 + p/3.
    chances = {"Stay": 1 / 4, "Win": 3 / 4 * 1 / 4, "Lose": 3 / 4 * 3 / 4}
    assert odds(game) == pytest.approx(chances)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("{{Math.random() < 0.3 ? 'low' : 'high'}}", r'"Dice" uses Math\.random\(\)'),
        ("<<back>>", "undo"),
    ],
)
def test_the_error_for_a_story_that_cannot_be_enumerated_has_the_reason(open_story, start, message):
    game = open_story({"Start": "[[go->Dice]]", "Dice": f"{start} [[on->End]]", "End": "End."})
    with pytest.raises(InputError, match=message):
        textgames.compile_game(game, cache=False)


def test_global_variables_of_scripts_distinguish_states(open_story):
    game = open_story(
        {
            "A": "A hall. [[on->B]] [[leave->End]]",
            "B": "{{(window.times = Math.min(2, window.times + 1), '')}}A room. [[back->A]]",
            "End": "{{window.times == 2 ? 'late' : 'early'}}",
        },
        script="window.times = 0;",
    )
    assert last_texts(textgames.compile_game(game, cache=False)) == ["early", "late"]


def test_inspect_names_the_reason_if_a_story_is_not_compiled(open_story, tmp_path, capsys):
    open_story(
        {"Start": "[[go->Dice]]", "Dice": "{{Math.random()}} [[on->End]]", "End": "The end of it."}
    )
    story = str(tmp_path / "story0.html")
    assert main(["inspect", story, "--engine", "hosted", "--seconds", "1"]) == 2
    error = capsys.readouterr().err
    assert "uses Math.random()" in error and f"storytest {story} estimates" in error


@needs_formats
@pytest.mark.parametrize("kind", DICE)
def test_random_functions_of_a_format_have_exact_odds(kind, tmp_path, home):
    version, throw, links = DICE[kind]
    passages = {"Start": "[[Go->Throw]]", "Throw": f"{throw}{links}", "Win": "OK", "Lose": "No."}
    game = open_twee(passages, kind, version, tmp_path)
    assert odds(game) == {"Win": pytest.approx(1 / 4), "Lose": pytest.approx(3 / 4)}
    game.close()


# Code that shows the gold two pages later without its name: first, when it is taken, at the end.
SUGARCUBE = {
    "text": ('<<set $desc to "$gold coins.">>', "<<set $gold to {}>>", "<<print $desc>>"),
    "function": (
        '<<set setup.f to () => $gold + " coins.">>',
        "<<set $gold to {}>>",
        "<<= setup.f()>>",
    ),
    "storage": ("", '<<run memorize("gold", {})>>', '<<= recall("gold", 0)>> coins.'),
}
HARLOWE = {
    "macro": ("(set: $purse to (macro: [(output:)[$gold coins.]]))", "($purse:)"),
    "lambda": (
        "(set: $few to each _n where _n <= $gold)",
        "(print: (find: $few, 2, 7)'s last) coins.",
    ),
}
STORED = {}
for name, (first, take, last) in SUGARCUBE.items():
    links = (f'<<link "{gold}" "Road">>{take.format(gold)}<</link>>' for gold in (7, 2))
    STORED[name] = ("<<set $gold to 0>>" + first, *links, last)
for name, (first, last) in HARLOWE.items():
    links = (f'(link-reveal-goto: "{gold}", "Road")[(set: $gold to {gold})]' for gold in (7, 2))
    STORED[name] = ("(set: $gold to 0)" + first, *links, last)


@pytest.mark.full
@needs_formats
@pytest.mark.parametrize("name", STORED)
def test_stored_texts_and_code_distinguish_states(name, tmp_path, home):
    first, much, little, last = STORED[name]
    road = "A long road.\n\n[[Go on->End]]"
    passages = {"Start": f"{first}Hello.\n\n{much}\n{little}", "Road": road, "End": last}
    is_sugarcube = name in SUGARCUBE
    kind, version = ("sugarcube", "2.36.1") if is_sugarcube else ("harlowe", "3.3.9")
    game = open_twee(passages, kind, version, tmp_path)
    compiled = textgames.compile_game(game, cache=False)
    assert last_texts(compiled) == ["2 coins.", "7 coins."] and len(compiled) == 5
    game.close()


@needs_formats
def test_the_storage_of_a_state_is_restored(tmp_path, home):
    passages = {
        "Start": "[[A]] [[B]]",
        "A": '<<run memorize("n", recall("n", 0) + 1)>>Here. [[A2]] [[Gate]]',
        "A2": '<<run memorize("n", recall("n", 0) + 1)>>There. [[Gate]]',
        "B": "Elsewhere. [[Gate]]",
        "Gate": "A gate. [[End]]",
        "End": '<<= recall("n", 0)>>',
    }
    game = open_twee(passages, "sugarcube", "2.36.1", tmp_path)
    assert last_texts(textgames.compile_game(game, cache=False)) == ["0", "1", "2"]
    game.close()


@needs_formats
@pytest.mark.parametrize(
    "name", ["last-tram", pytest.param("lighthouse-garden", marks=pytest.mark.full)]
)
def test_every_step_of_our_examples_is_a_listed_outcome(name, home):
    main(["formats", "add", str(SHARED_FORMATS)])
    game = open_hosted(ROOT / "examples" / f"{name}.twee", engine="hosted")
    check_outcomes(game, episodes=2, max_steps=12)
    game.close()


def test_a_variable_matters_until_its_last_reader():
    passages = {
        "A": "<<set $x to 1>>[[B]]",
        "B": "<<if $x is 1>>yes<</if>>[[C]]",
        "C": "[[D]]",
        "D": "End.",
    }
    ahead = Lookahead(story(passages), True)
    assert ahead.may_be_read("A", "x")
    assert not ahead.may_be_read("B", "x") and not ahead.may_be_read("C", "x")


def test_a_variable_that_only_sets_itself_never_matters():
    ahead = Lookahead(story({"A": "<<set $n += 1>>[[B]]", "B": "<<set $n to $n + 1>>[[A]]"}), True)
    assert not ahead.may_be_read("A", "n")
    ahead.always_read = {"n"}
    assert ahead.may_be_read("A", "n")  # a rule reads it


def test_a_variable_that_is_set_before_it_is_read_does_not_matter():
    ahead = Lookahead(story({"A": "[[B]]", "B": "(set: $x to 1)It is $x. [[A]]"}, "harlowe"), True)
    assert not ahead.may_be_read("A", "x")
    in_a_hook = Lookahead(
        story({"A": "[[B]]", "B": "(if: $y)[(set: $x to 1)]It is $x. [[A]]"}, "harlowe"), True
    )
    assert in_a_hook.may_be_read("A", "x")


def test_a_variable_in_a_text_that_a_widget_stores_matters_everywhere():
    widgets = '<<widget "note">><<set $log to _args[0]>><</widget>><<widget "keep" container>><<set $log to _contents>>'
    for call in ('<<note "You have $gold.">>', "<<keep>>You have $gold.<</keep>>"):
        tale = story({"W": widgets, "A": f"{call}[[B]]", "B": "[[C]]", "C": "$log"})
        assert Lookahead(tale, True).may_be_read("B", "gold")


def test_assignments_may_contain_quotes_and_brackets():
    uses = variable_uses('(set: $a to (a: 1, "x)", $b), $c to "$d")[[on]]')
    assert uses.settings == (("a", frozenset({"b"})), ("c", frozenset({"d"}))) and not uses.read


def test_only_visits_that_a_passage_reads_are_counted():
    tale = story({"A": '<<if visited("B") gte 2>>x<</if>>[[B]][[C]]', "B": "[[A]]", "C": "[[A]]"})
    past = Identity(tale)._past
    assert past("A", ("A", "B", "A")) == past("A", ("A", "B", "A", "C", "A"))
    assert past("A", ("A", "B", "A")) != past("A", ("A", "B", "A", "B", "A"))


def test_the_variables_of_a_sound_library_do_not_distinguish_states(open_story):
    passages = {
        "A": "A hall. [[on->B]] [[leave->End]]",
        "B": "{{(window.Chapel.playing += 1, '')}}A room. [[back->A]]",
        "End": ".",
    }
    script = "window.Chapel = { options: { storagekey: '%%{}-1' }, playing: 0 };"
    game = open_story(passages, script=script.replace("{}", "hal"))
    assert len(textgames.compile_game(game, cache=False)) == 3
    other = open_story(passages, script=script.replace("{}", "else"))
    other.search_seconds = 0.3
    with pytest.raises(InputError, match="search longer with --seconds"):
        textgames.compile_game(other, cache=False)
