"""Diagnostics: exact scores, readers that reach them, variants, names and Gymnasium ids."""

import hashlib
import re
from itertools import combinations, product
from math import sqrt
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import textgames
from tests.game_checks import check_outcomes
from textgames.compiled.compile import can_be_compiled
from textgames.diagnostics import DIAGNOSTICS
from textgames.diagnostics.diagnostic import LEVELS
from textgames.errors import InputError
from textgames.game.contract import check_game


def opened(name: str) -> Any:
    return textgames.make(name)


NAMES = [f"diagnostic:{name}/{level}" for name, level in product(DIAGNOSTICS, LEVELS)]
HELD_OUT = [f"{name}/held-out" for name in NAMES if opened(name).has_held_out]


def key_of(name):
    return name.split(":")[1].split("/")[0]


def play(game, choose, seed):
    """Return the pages of an episode, in which `choose` sees all pages up to the present one."""
    pages = [game.reset(seed)]
    while pages[-1].actions and len(pages) <= game.max_steps:
        pages.append(game.step(pages[-1].actions.index(choose(pages))))
    return pages


def returns(game, choose, episodes):
    return [sum(page.reward for page in play(game, choose, seed)) for seed in range(episodes)]


def check_mean(scores, expected):
    """Check that the mean is within five standard errors; equal scores must be exact."""
    error = 5 * np.std(scores) / sqrt(len(scores))
    assert abs(np.mean(scores) - expected) <= error + 1e-9 * abs(expected)


def path_score(length, actions, back, steps, cost):
    """Return the expected return of random play on a path, by the distribution of its pages."""
    at = np.eye(length)[0]
    score = 0.0
    for _ in range(steps):
        score += (not cost) * at[-1] / actions - cost * at.sum()
        after = np.append(0, at[:-1]) / actions
        for page in range(length):
            after[back(page)] += at[page] * (1 - 1 / actions)
        at = after
    return score


EXACT = {
    **dict.fromkeys(("order", "noisy-rewards"), lambda n: (5, 5 / 2)),
    **dict.fromkeys(("counting", "wide"), lambda n: (5, 5 / n)),
    "numbers": lambda pairs: (10 * np.mean([b for _, b in pairs]), 10 * np.mean(pairs)),
    "noise": lambda n: (4, 2),
    "paraphrase": lambda n: (5, 5 / 3),
    "matching": lambda n: (1, 1 / n),
    "combination": lambda n: (1, 1 / (3 * n - 2)),
    "memory": lambda n: (1, 1 / 3),
    "lock": lambda n: (1, path_score(n, 4, lambda page: 0, 60, 0)),
    "sparse": lambda n: (1, path_score(n, 2, lambda page: max(page - 1, 0), 100, 0)),
    "costs": lambda n: (-n, path_score(n, 4, lambda page: page, 500, 1)),
    "temptation": lambda n: (10, 1 + 9 * 2**-n),
    "credit": lambda n: (5 + n / 10, 5 / 3 + n / 10),
    "delayed": lambda n: (10, 10 / 5),  # linear in the number of right choices
    "recurring": lambda n: (n, n / 5),
    "scale": lambda n: (5 * np.mean(n), 5 * np.mean(n) / 6),
}


@pytest.mark.parametrize("name", [n for n in NAMES + HELD_OUT if key_of(n) in EXACT])
def test_the_scores_are_those_of_the_formula(name):
    game = opened(name)
    pairs = list(combinations(range(1, game.size + 1), 2)) if key_of(name) == "numbers" else []
    pairs = [pair for pair in pairs if (sum(pair) % 5 == 0) == game.held_out]
    scores = EXACT[key_of(name)](pairs or game.size)
    assert (game.optimum, game.random_score) == pytest.approx(scores)


@pytest.mark.parametrize("name", NAMES + HELD_OUT)
def test_games_follow_the_contract_and_random_play_has_the_random_score(name):
    game = opened(name)
    assert game.name == name and game.optimum > game.random_score
    check_game(game, episodes=2, max_steps=50)
    copy = game.another()
    assert [game.reset(3), copy.reset(3), game.step(0)][1:] == [game.reset(3), copy.step(0)]
    generator = np.random.default_rng(0)
    episodes = 10 if game.max_steps > 500 else 60
    scores = returns(game, lambda pages: generator.choice(pages[-1].actions), episodes)
    check_mean([*scores, game.optimum], game.random_score)  # the best score may be too rare
    if can_be_compiled(game):
        check_outcomes(game, episodes=1, max_steps=20)


def test_the_pages_are_those_of_the_published_results():
    digest = hashlib.sha256()
    for name in NAMES + HELD_OUT:
        pages = play(opened(name), lambda pages: pages[-1].actions[0], 0)
        digest.update(repr(pages[:20]).encode())
    assert digest.hexdigest()[:16] == "ad5620cc17d024cf"
    scores = [opened(f"diagnostic:{name}/2").optimum for name in ("grid", "parser")]
    assert scores == pytest.approx([6.18223760, 5.0])


def texts_of(name):
    """Return what a variant shows: words of noise, sentences of paraphrases, or pages."""
    game = opened(name)
    episodes = [play(game, lambda pages: pages[-1].actions[0], seed) for seed in range(150)]
    pages = [page for episode in episodes for page in episode[:-1]]
    if ":noise" in name:
        return {word for page in pages for word in page.text.split()} - {"lantern", "feather"}
    if ":paraphrase" in name:
        return {action for page in pages for action in page.actions}
    return {page.text for page in pages}


@pytest.mark.parametrize("name", [name.removesuffix("/held-out") for name in HELD_OUT])
def test_held_out_texts_never_occur_in_training(name):
    training = texts_of(name)
    held_out = texts_of(f"{name}/held-out")
    assert training and held_out and not training & held_out


def test_level_2_is_the_default_and_wrong_names_have_suggestions():
    assert opened("diagnostic:memory").name == "diagnostic:memory/2"
    assert opened("diagnostic:order/held-out").name == "diagnostic:order/2/held-out"
    wrong = "memry memory/4 order/2/test lock/1/held-out".split()
    parts = '"memory" diagnostic:memory/2 "2/test" diagnostic:lock/1'.split()
    for name, part in zip(wrong, parts, strict=True):
        with pytest.raises(InputError, match=re.escape(part)):
            opened(f"diagnostic:{name}")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", DIAGNOSTICS.values())
def test_gymnasium_has_every_diagnostic(kind):
    pytest.importorskip("drrn.gym", exc_type=ImportError)
    for level in LEVELS:
        env: Any = gymnasium.make(f"drrn/Diagnostic-{kind.__name__}-v0", level=level).unwrapped
        check_env(env, skip_render_check=True)
        assert env.game.level == level
