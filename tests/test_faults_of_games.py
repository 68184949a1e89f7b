"""Games: what a check of the contract accepts, and searches and patterns that end."""

import pytest

import drrn
from drrn.errors import InputError
from drrn.games import ContractError, Observation
from drrn.games.stories.teller import Teller
from tests.sample_games import Walk


class Teaches(Walk):
    """A page about HTML."""

    shown = "The tag <b> makes words bold, and x < y > z compares."

    def look_around(self):
        return Observation(self.shown, super().look_around().actions)


def test_a_page_that_speaks_of_a_tag_keeps_the_contract():
    drrn.check_game(Teaches())


@pytest.mark.parametrize("shown", ["<b>Stone</b>", "a<br>b", "<B class='x'>Stone</B>", "[[on]]", "<<set $x>>", "&amp;"])
def test_markup_breaks_the_contract_unless_the_game_shows_it_on_purpose(shown, monkeypatch):
    monkeypatch.setattr(Teaches, "shown", shown)
    with pytest.raises(ContractError, match="on purpose"):
        drrn.check_game(Teaches())
    drrn.check_game(Teaches(), markup=True)


def test_a_compilation_does_no_more_than_its_limit(monkeypatch, tmp_path):
    told, outcomes = [], Teller.outcomes
    monkeypatch.setattr(Teller, "outcomes", lambda *arguments: told.append(1) or outcomes(*arguments))
    with pytest.raises(InputError, match="more than 200 states"):
        drrn.compile_game(drrn.make("night-market"), limit=200, cache=tmp_path)
    assert len(told) < 10 * 200  # of about 100,000


def test_what_a_small_limit_cut_short_is_not_kept_for_others(tmp_path):
    game = drrn.make("long-watch")
    whole = drrn.compile_game(game, cache=False)
    cut = drrn.compile_game(game, limit=whole.live_states, cache=tmp_path)
    assert not cut.raw_complete and cut.live_states == whole.live_states
    assert drrn.compile_game(game, cache=tmp_path).raw_states == whole.raw_states
