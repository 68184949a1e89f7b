"""Learning from returns: fast and plain updates, averages, replicas, every model, resumed runs."""

from typing import Any

import numpy as np
import pytest

import drrn
from drrn.learning.equations import softmax
from drrn.learning.fast.return_learning import FastReturnLearning
from drrn.learning.return_learning import ReturnLearning
from drrn.models import Pages
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.text_vectors import TextVectors
from drrn.models.encoders.vectors import BagAndVectors, MeanOfVectors
from drrn.vectors import open_vectors
from tests.episodes import RETURNS, return_learner, state_after_rounds, steps_of
from tests.models import model
from tests.stories import FORK, SMALL_REWARDS
from tests.trainings import Stepped, run_training, same_weights
from tests.vector_files import vector_file

pytestmark = pytest.mark.usefixtures("one_thread")
KINDS = [ReturnLearning, FastReturnLearning]
FEW: dict[str, Any] = {"updates": 5, "learning_rate": 0.001}


def all_close(one, two, tolerance=2e-6):
    return one.keys() == two.keys() and all(
        np.allclose(one[name], two[name], atol=tolerance) for name in one
    )


@pytest.fixture
def vectors(tmp_path):
    return TextVectors(open_vectors(vector_file(tmp_path)))


ENCODERS = [BagOfWords, MeanOfVectors, BagAndVectors]


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_fast_learner_has_the_gradients_of_the_plain_one(encoder, layers, vectors):
    """Adam's first mean after one update is a tenth of the gradient."""
    shape = {"layers": layers, "action_encoder": encoder, "vectors": vectors}
    learners = [return_learner(kind, model(seeds=(0, 1), **shape), updates=1) for kind in KINDS]
    for learning in learners:
        state_after_rounds(learning, rounds=1)
    plain, fast = (learning.optimiser.slots for learning in learners)
    means = [name for name in plain if name.endswith(" m")]
    assert plain.keys() == fast.keys() and len(means) == len(plain.keys()) / 3
    for name in means:
        gradient = plain[name].numpy()
        tolerance = 1e-6 * np.abs(gradient).max()
        assert np.allclose(gradient, fast[name].numpy(), rtol=1e-5, atol=tolerance)
        assert gradient.any()


@pytest.mark.parametrize("average", [None, 0.9])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_fast_learner_makes_the_updates_of_the_plain_one(
    encoder, layers, average, vectors, monkeypatch
):
    """A few steps of a small rate: Adam enlarges rounding errors where a gradient is near zero."""
    shape = {"layers": layers, "action_encoder": encoder, "vectors": vectors}
    settings = {"average": average, **FEW}
    first = model(seeds=(0, 1), **shape).state()
    states = []
    for kind in KINDS:
        states.append(
            state_after_rounds(return_learner(kind, model(seeds=(0, 1), **shape), **settings))
        )
        monkeypatch.setattr(ReturnLearning, "fit_batch", None)  # the fast one does not call it
    assert all_close(*states) and not all_close(states[0], first, tolerance=0.005)


@pytest.mark.parametrize("kind", KINDS)
def test_the_playing_model_is_the_moving_average_of_the_learning_one(kind):
    learning = return_learner(kind, model(), average=0.9, updates=4)
    average = learning.model.state()["weight state b1"].copy()
    for number in range(6):
        state_after_rounds(learning, rounds=1)
        student = learning.student.state()["weight state b1"]
        decay = min(0.9**4, (2 + number) / (5 + number))
        average = decay * average + (1 - decay) * student
        assert np.allclose(learning.model.state()["weight state b1"], average, atol=1e-6)
    assert not np.allclose(average, student, atol=1e-4)


@pytest.mark.parametrize(
    "settings", [{}, {"state_dropout": 0.3, "action_dropout": 0.3, "average": 0.9}], ids=str
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_replica_among_three_learns_the_same_as_alone(kind, settings):
    together = state_after_rounds(return_learner(kind, model(seeds=(5, 6, 7)), **settings))
    alone = state_after_rounds(return_learner(kind, model(seeds=(6,)), **settings))
    assert all(np.allclose(together[name][1], alone[name][0], atol=1e-6) for name in alone)


FULL = (
    {"interaction": "bilinear", "action_hidden": 5},
    {"interaction": "network"},
    {"shared": True},
    {"model": "linear"},
    {"model": "per-action"},
)
BOUNDS: tuple[dict[str, Any], ...] = (
    {"discount": 1.0, "average": None},
    {"alpha": 0.0, "average": None},
    {"trace": 0.0},
    {"returns": "monte-carlo"},
    {"keep": False},
)
MODELS = [
    {},
    {"model": "max-action"},
    {"model": "table", "learning_rate": 0.3},
    *(pytest.param(settings, marks=pytest.mark.full) for settings in (*FULL, *BOUNDS)),
]
TRAINING: dict[str, Any] = {
    **RETURNS,
    "learning_rate": 0.02,
    "rounds": 3,
    "episodes_per_round": 20,
    "updates": 60,
    "alpha": 4.0,
}
NOISE: dict[str, Any] = {"average": 0.9, "state_dropout": 0.1, "action_dropout": 0.1}


@pytest.fixture
def small_fork(story):
    """The small story with returns in -1..1: larger ones saturate a small network."""
    return story(FORK, SMALL_REWARDS, shuffle=True)


def greedy_returns(game, **settings):
    _, rounds = run_training(game, **{**TRAINING, **settings})
    evaluations = rounds[-1].evaluations
    return [each.summary.mean_return for each in evaluations if each.policy == "greedy"]


@pytest.mark.parametrize("settings", MODELS, ids=str)
def test_every_model_learns_a_small_story_from_returns(small_fork, settings):
    assert min(greedy_returns(small_fork, **{**NOISE, **settings})) > 0.9


VARIANTS: list[Any] = [
    (lambda game: game, {}),
    (Stepped, {"capacity": 30}),
    pytest.param(Stepped, {"model": "max-action"}, marks=pytest.mark.full),
]


@pytest.mark.parametrize(("wrap", "variant"), VARIANTS)
def test_a_resumed_run_has_the_numbers_of_an_uninterrupted_one(
    fork, wrap, variant, tmp_path, monkeypatch
):
    # texts are dropped and renumbered after every round
    monkeypatch.setattr("drrn.runs.trainer.Trainer.few_texts", 0)
    game = wrap(fork)
    settings: dict[str, Any] = {**RETURNS, **NOISE, "exploration": "optimism", "replan": 5}
    settings |= {"rounds": 4, "episodes_per_round": 10, "evaluation_episodes": 3, "replicas": 2}
    settings |= {"alpha_start": 0.5, "hidden": 6, **variant}
    whole, again, interrupted = (drrn.trainer(game.another(), **settings) for _ in range(3))
    assert [list(each.train())[-1].number for each in (whole, again)] == [4, 4]
    for result in interrupted.train():
        interrupted.save(tmp_path / "run")
        if result.number == 2:
            break
    resumed = drrn.resume(tmp_path / "run", game.another())
    list(resumed.train())
    assert same_weights(whole, again)
    assert same_weights(whole, resumed)
    assert resumed.rows == whole.rows


@pytest.mark.parametrize("where", ["play", "learn"])
def test_an_interrupted_round_is_repeated(fork, where, monkeypatch):
    settings: dict[str, Any] = {**RETURNS, "exploration": "optimism", "replan": 4, "hidden": 6}
    settings |= {"rounds": 3, "episodes_per_round": 12, "evaluation_episodes": 3, "replicas": 2}
    whole, stopped = (drrn.trainer(fork.another(), **settings) for _ in range(2))
    list(whole.train())
    rounds = stopped.train()
    next(rounds)
    play = (stopped.rollouts, "record", 2)
    owner, name, last_call = play if where == "play" else (stopped.learner, "fit", 1)
    method = getattr(owner, name)
    calls = 0

    def interrupt(*arguments, **options):
        nonlocal calls
        calls += 1
        if calls == last_call:
            raise KeyboardInterrupt
        return method(*arguments, **options)

    monkeypatch.setattr(owner, name, interrupt)
    with pytest.raises(KeyboardInterrupt):
        next(rounds)
    monkeypatch.setattr(owner, name, method)
    list(stopped.train())
    assert same_weights(whole, stopped)
    sizes = [len(memory) for memory in whole.learner.memories]
    assert [len(memory) for memory in stopped.learner.memories] == sizes


def test_a_listwise_fit_has_the_policy_of_the_mean_returns():
    """Returns of a thousand on all actions do not matter to it, differences of one do."""
    settings = {"listwise": True, "updates": 400, "batch_size": 64, "alpha": 3.0, "average": None}
    learning = return_learner(FastReturnLearning, model(seeds=(0, 1)), **settings)
    menu = [0, 1, 2]
    for r in range(2):
        for state, at in np.ndindex(3, 3):
            reward = 1000.0 + (state + at + r) % 3
            learning.observe(r, steps_of(([(state, menu, at, reward)], (0, []))))
    learning.learn([np.random.default_rng(r) for r in range(2)])
    pages = Pages(np.tile(np.arange(3), (2, 1)), np.tile(menu, (2, 3, 1)))
    q = learning.student.q(pages).numpy()
    for r, state in np.ndindex(2, 3):
        returns = (state + np.arange(3) + r) % 3
        expected = np.exp(3.0 * returns) / np.exp(3.0 * returns).sum()
        assert np.allclose(softmax(q[r, state], np.ones(3, bool), 3.0), expected, atol=0.02)
