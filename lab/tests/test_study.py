"""The experiment `reading`: what a hash, a bag, phrases and sentence vectors can and cannot score."""

import itertools
from collections import Counter
from statistics import fmean
from typing import Any

import numpy as np
import pytest

import drrn
from drrn.text import Store
from lab.experiments.measure import wording_rows
from lab.experiments.plan import PLAN
from tests.commands import main
from textgames.compiled import solve
from textgames.compiled.compile import compile_game
from textgames.diagnostics.reading import Order, Paraphrase
from textgames.game.contract import step_limit_of
from textgames.wording import words


def test_to_a_hash_similar_texts_have_nothing_in_common():
    store = Store.of_words(hashed=(True, False))
    page, actions = store.page("You see a red door.", ["open the red door", "open the door"])
    other, _ = store.page("You see a red door!", [])
    assert not {*store.states.words_of(np.array([page]))} & {
        *store.states.words_of(np.array([other]))
    }
    assert len(store.actions.words_of(np.array(actions))) == 4 + 3  # their encoder is the bag
    assert len(store.scratch().states.words_of(np.array([page]))) == 0


def test_in_other_words_a_hash_plays_at_random_and_remembers_its_own():
    few: dict[str, Any] = {"replicas": 2, "rounds": 2, "updates": 30, "evaluation_episodes": 1}
    trainer = drrn.trainer("long-watch", encoder="hash", **few)
    list(trainer.train())
    rows = wording_rows(trainer, "long-watch", [""])
    assert [(row["seed"], row["wording"]) for row in rows] == [
        *itertools.product((0, 1), [""]),
        *itertools.product((0, 1), ["reworded"]),
        *itertools.product((0, 1), ["retold"]),
    ]
    game = drrn.make("long-watch")
    chance = solve.random_play(compile_game(game), step_limit_of(game)).final_reward
    assert [row["final_reward"] for row in rows[2:]] == pytest.approx([chance] * 4, abs=1e-3)
    assert fmean(row["final_reward"] for row in rows[:2]) > chance + 1


def test_a_reader_is_limited_to_random_play_where_its_text_says_nothing():
    limited = set(PLAN["at_most_random"])
    for game in (Order(), Order(held_out=True)):
        answers: dict[tuple[str, ...], Counter[str]] = {}
        for question in game.questions():
            text, (right, _) = game.ask(question)
            answers.setdefault(tuple(sorted(words(text))), Counter())[right] += 1
        assert all(len(set(own.values())) == 1 and len(own) == 2 for own in answers.values())
        assert f"bag order {'held-out' if game.held_out else 'train'}" in limited
    own, new = (
        {text for text, _ in map(Order(held_out=side).ask, Order(held_out=side)._questions)}
        for side in (False, True)
    )
    assert not own & new
    own, new = (
        {action for part in Paraphrase(held_out=side)._sentences for action in part}
        for side in (False, True)
    )
    assert not own & new


@pytest.mark.parametrize("games", [[], ["--games", "long-watch"]])
def test_without_sentence_models_the_experiment_trains_nothing_and_says_what_fetches_them(
    games, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path))
    command = ["reproduce", "--only", "reading", "--out", str(tmp_path / "results"), *games]
    assert main(command) == 2
    assert "scripts/encoders" in capsys.readouterr().err
    assert not (tmp_path / "results/rows").exists()
