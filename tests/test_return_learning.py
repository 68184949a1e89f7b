"""Learning from returns: fast as plain, averages by hand, replicas alone, every model, interrupted and resumed."""

import numpy as np
import pytest

import drrn
from drrn.learning.fast.return_learning import FastReturnLearning
from drrn.learning.return_learning import AVERAGE_EVERY, ReturnLearning
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.text_vectors import TextVectors
from drrn.models.encoders.vectors import BagAndVectors, MeanOfVectors
from drrn.runs.trainer import torch_threads
from drrn.vectors import open_vectors
from tests.episodes import RETURNS, return_learner, state_after_rounds
from tests.models import model
from tests.sample_games import Doors
from tests.stories import FORK, SMALL_REWARDS
from tests.trainings import run_training, same_weights
from tests.vector_files import vector_file

KINDS = [ReturnLearning, FastReturnLearning]
FEW = {"updates": 5, "learning_rate": 0.001}


def near(one, two, within=2e-6):
    return one.keys() == two.keys() and all(
        np.allclose(one[name], two[name], atol=within) for name in one
    )


@pytest.fixture(autouse=True)
def one_thread():
    with torch_threads(1):
        yield


@pytest.fixture
def vectors(tmp_path):
    return TextVectors(open_vectors(vector_file(tmp_path)))


ENCODERS = [BagOfWords, MeanOfVectors, BagAndVectors]


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_fast_learner_has_the_gradients_of_the_plain_one(encoder, layers, vectors):
    """Adam's first mean after one update is a tenth of the gradient."""
    shape = {"layers": layers, "action_encoder": encoder, "vectors": vectors}
    plain, fast = (return_learner(kind, model(seeds=(0, 1), **shape), updates=1) for kind in KINDS)
    for learning in (plain, fast):
        state_after_rounds(learning, rounds=1)
    plain = plain.optimiser.slots
    fast = fast.optimiser.slots
    means = [name for name in plain if name.endswith(" m")]
    assert plain.keys() == fast.keys() and len(means) == len(plain.keys()) / 3
    for name in means:
        gradient = plain[name].numpy()
        assert (
            np.allclose(gradient, fast[name].numpy(), rtol=1e-5, atol=1e-6 * np.abs(gradient).max())
            and gradient.any()
        )


@pytest.mark.parametrize("average", [None, 0.9])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_fast_learner_moves_the_weights_as_the_plain_one_does(
    encoder, layers, average, vectors, monkeypatch
):
    """To rounding, which Adam enlarges where a gradient is near zero: so it is a few steps of a small rate."""
    shape = {"layers": layers, "action_encoder": encoder, "vectors": vectors}
    given = {"average": average, **FEW}
    plain = state_after_rounds(
        return_learner(ReturnLearning, model(seeds=(0, 1), **shape), **given)
    )
    first = model(seeds=(0, 1), **shape).state()
    monkeypatch.setattr(ReturnLearning, "fit_batch", None)  # the plain update is not asked for
    fast = state_after_rounds(
        return_learner(FastReturnLearning, model(seeds=(0, 1), **shape), **given)
    )
    assert near(plain, fast) and not near(plain, first, within=0.005)


class Masks:
    """A generator that leaves out the same words, whoever asks; all else is a usual one's."""

    def __init__(self, *seed):
        self.usual = np.random.default_rng(seed)
        self.masks = np.random.default_rng(seed)

    def random(self, size, *kind):
        if not kind:
            return self.usual.random(size)
        return (self.masks.random(size) >= 0.4).astype(np.float32)

    def bytes(self, count):
        return ((self.masks.random(count // 2) >= 0.4) * 65535).astype(np.uint16).tobytes()

    def __getattr__(self, name):
        return getattr(self.usual, name)


def test_with_word_dropout_both_learn_the_same_once_they_leave_out_the_same_words():
    found = []
    for kind in KINDS:  # the batch is so large that it holds every text
        learning = return_learner(
            kind, model(seeds=(0, 1)), state_dropout=0.4, action_dropout=0.4, batch_size=300, **FEW
        )
        found.append(state_after_rounds(learning, make=Masks))
    assert near(*found)
    without = state_after_rounds(
        return_learner(FastReturnLearning, model(seeds=(0, 1)), batch_size=300, **FEW), make=Masks
    )
    assert not near(found[0], without, within=0.001)


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_that_plays_is_the_moving_average_of_the_weights_that_learn(kind):
    learning = return_learner(kind, model(), average=0.9, updates=AVERAGE_EVERY)
    average = learning.model.state()["weight state b1"].copy()
    for number in range(6):
        state_after_rounds(learning, rounds=1)
        student = learning.student.state()["weight state b1"]
        decay = min(0.9**AVERAGE_EVERY, (2 + number) / (5 + number))
        average = decay * average + (1 - decay) * student
        assert np.allclose(learning.model.state()["weight state b1"], average, atol=1e-6)
    assert not np.allclose(average, student, atol=1e-4)


@pytest.mark.parametrize(
    "settings", [{}, {"state_dropout": 0.3, "action_dropout": 0.3, "average": 0.9}], ids=str
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_replica_among_three_learns_what_it_learns_alone(kind, settings):
    together = state_after_rounds(return_learner(kind, model(seeds=(5, 6, 7)), **settings))
    alone = state_after_rounds(return_learner(kind, model(seeds=(6,)), **settings))
    assert all(np.allclose(together[name][1], alone[name][0], atol=1e-6) for name in alone)


MODELS = [
    {},
    {"interaction": "bilinear", "action_hidden": 5},
    {"interaction": "network"},
    {"shared": True},
    {"model": "linear"},
    {"model": "max-action"},
    {"model": "per-action"},
    {"model": "table", "learning_rate": 0.3},
]
LEARNED = {
    **RETURNS,
    "learning_rate": 0.02,
    "rounds": 3,
    "episodes_per_round": 20,
    "updates": 60,
    "alpha": 4.0,
}
NOISE = {"average": 0.9, "state_dropout": 0.1, "action_dropout": 0.1}


@pytest.fixture
def small_fork(story):
    """Returns between -1 and 1: Q of a small network is bounded by its number of units, and larger ones saturate it."""
    return story(FORK, SMALL_REWARDS, shuffle=True)


def greedy_returns(game, **settings):
    _, rounds = run_training(game, **{**LEARNED, **settings})
    return [done.summary.mean_return for done in rounds[-1].evaluations if done.policy == "greedy"]


@pytest.mark.parametrize("settings", MODELS, ids=str)
def test_every_model_learns_a_small_story_from_returns(small_fork, settings):
    assert min(greedy_returns(small_fork, **{**NOISE, **settings})) > 0.9


BOUNDS = [
    {"discount": 1.0},
    {"alpha": 0.0},
    {"trace": 0.0},
    {"returns": "monte-carlo"},
    {"keep": False},
]


@pytest.mark.parametrize("settings", BOUNDS, ids=str)
def test_settings_at_their_bounds_are_learned_with(small_fork, settings):
    assert min(greedy_returns(small_fork, **settings)) > 0.9


def test_a_first_page_that_ends_the_story_leaves_nothing_to_learn(story):
    for more in ({}, {"no_compile": True}, {"exploration": "optimism"}, {"model": "table"}):
        trainer, rounds = run_training(
            story(":: Start\nThe end.\n"), **{**RETURNS, **NOISE, **more}
        )
        assert [done.transitions for done in rounds] == [0, 0] and trainer.round == 2


def test_a_story_whose_actions_have_no_words_is_learned():
    class Arrows(Doors):
        def look(self, state):
            seen = super().look(state)
            return type(seen)(seen.text, tuple("<>"[: len(seen.actions)]), seen.reward)

    assert len(run_training(Arrows(), **{**RETURNS, **NOISE})[1]) == 2


WAYS = [
    {},
    {"no_compile": True},
    {"grow": True},
    {"grow": True, "capacity": 30},
    {"model": "max-action", "no_compile": True},
    {"model": "table", "grow": True},
]


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_a_resumed_run_has_the_numbers_of_one_that_went_on(fork, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "drrn.runs.trainer.FEW_TEXTS", 0
    )  # texts are forgotten and renumbered after every round
    given = {
        **RETURNS,
        **NOISE,
        "rounds": 4,
        "exploration": "optimism",
        "replan": 5,
        "alpha_start": 0.5,
        **settings,
    }
    given |= {"episodes_per_round": 10, "evaluation_episodes": 3, "replicas": 2}
    given |= {} if settings.get("model") == "table" else {"hidden": 6}
    whole, again, cut = (drrn.trainer(fork.another(), **given) for _ in range(3))
    assert [list(each.train())[-1].number for each in (whole, again)] == [4, 4]
    for finished in cut.train():
        cut.save(tmp_path / "run")
        if finished.number == 2:
            break
    resumed = drrn.resume(tmp_path / "run", fork.another())
    list(resumed.train())
    assert (
        same_weights(whole, again) and same_weights(whole, resumed) and resumed.rows == whole.rows
    )


@pytest.mark.parametrize("where", ["play", "learn"])
def test_a_round_that_was_interrupted_is_told_once(fork, where, monkeypatch):
    given = {
        **RETURNS,
        "exploration": "optimism",
        "replan": 4,
        "hidden": 6,
        "replicas": 2,
        "rounds": 3,
    }
    given |= {"episodes_per_round": 12, "evaluation_episodes": 3}
    whole, cut = (drrn.trainer(fork.another(), **given) for _ in range(2))
    list(whole.train())
    going = cut.train()
    next(going)
    owner, name = (cut.rollouts, "record") if where == "play" else (cut.learner, "fit")
    usual = getattr(owner, name)
    calls = []

    def interrupted(*given, **named):
        calls.append(1)
        if len(calls) == (2 if where == "play" else 1):
            raise KeyboardInterrupt
        return usual(*given, **named)

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(going)
    monkeypatch.setattr(owner, name, usual)
    list(cut.train())
    assert same_weights(whole, cut) and [len(m) for m in cut.learner.memories] == [
        len(m) for m in whole.learner.memories
    ]
