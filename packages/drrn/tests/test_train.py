"""Training: seeds determine everything, step limits are not endings, replicas are independent."""

from typing import Any

import numpy as np
import pytest

from drrn.learning.q_learning import ReplayBuffer
from drrn.playing.policies import policy_of
from drrn.playing.stepped_rollouts import SteppedRollouts
from drrn.runs.trainer import Trainer
from drrn.settings import Settings
from tests.stories import FORK, REWARDS
from tests.trainings import CPU, SMALL, Stepped, run_training

LEARNS: dict[str, Any] = {"hidden": 20, "episodes_per_round": 40, "alpha": 0.5, "batch_size": 8}
VARIANTS = [
    {},
    {"model": "linear"},
    {"model": "max-action"},
    {"model": "per-action", "layers": 1},
    {"model": "table"},
    {"interaction": "network"},
    {"interaction": "bilinear", "action_hidden": 5},
    {"shared": True},
    {"keep": True},
    {"optimiser": "adam"},
    {"n_steps": 3},
]


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_the_same_settings_and_seed_give_identical_weights(fork, settings):
    first, one = run_training(fork, **settings)
    second, two = run_training(fork.another(), **settings)
    for name, array in first.model.state().items():
        assert np.array_equal(array, second.model.state()[name]), name
    assert [r.evaluations for r in one] == [r.evaluations for r in two]


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_a_replica_among_three_has_the_q_values_it_has_alone(fork, settings):
    """Q-values agree within 1e-4: other kernels compute the same sums."""
    together, _ = run_training(fork, **{**settings, "replicas": 3, "seed": 5})
    alone, _ = run_training(fork.another(), **{**settings, "replicas": 1, "seed": 7})
    for text in ("The sea is grey and the wind is north.", "You are out on the water."):
        actions = ["Go out.", "Row on.", "Turn back."]
        menu = actions[: together.model.shape.most_actions]
        q = [trainer.agent.ask(text, menu) for trainer in (together, alone)]
        assert q[0][2] == pytest.approx(q[1][0], abs=1e-4)


OTHERS = [pytest.param(each, marks=pytest.mark.full) for each in ("per-action", "max-action")]


@pytest.mark.parametrize("model", ["drrn", "table", *OTHERS])
def test_an_agent_learns_to_row_to_the_island(fork, model):
    rate = 0.2 if model == "table" else 0.01
    _, rounds = run_training(fork, model=model, learning_rate=rate, rounds=10, epochs=5, **LEARNS)
    first = rounds[0].mean("greedy_final_reward")
    last = rounds[-1].mean("greedy_final_reward")
    assert last == 10 >= first
    assert rounds[-1].mean("softmax_final_reward") > 8


def test_a_loop_with_a_limit_learns_the_bootstrapped_value(story):
    """Each step pays -1: Q is -1 / (1 - γ), and would be about -1 if the limit were an ending."""
    twee = ":: Start\nHere it is white.\n\n[[Cross.|There]]\n\n:: There\nThere it is black.\n\n[[Return.|Start]]\n"
    game = story(twee, "step_reward = -1\nmax_steps = 2\n")
    settings: dict[str, Any] = {"rounds": 60, "epochs": 5, "episodes_per_round": 5, "replicas": 1}
    settings |= {"model": "table", "discount": 0.5, "learning_rate": 0.3}
    trainer, rounds = run_training(game, **settings)
    q = trainer.agent.ask("There it is black.", ["Return."])
    assert q[0, 0] == pytest.approx(-2.0, abs=0.05)
    for evaluation in rounds[-1].evaluations:
        assert evaluation.measures["stopped"] == 1.0
        assert evaluation.summary.mean_final_reward == 0


@pytest.mark.parametrize("model", ["drrn", pytest.param("max-action", marks=pytest.mark.full)])
def test_compiled_and_uncompiled_play_give_the_same_learning_curve_within_noise(fork, model):
    settings = {**LEARNS, "rounds": 6, "episodes_per_round": 60, "epochs": 3, "model": model}
    settings |= {"learning_rate": 0.01, "evaluation_episodes": 100, "replicas": 4}
    fast, one = run_training(fork, **settings)
    slow, two = run_training(Stepped(fork), **settings)
    assert fast.compiled is not None and slow.compiled is None
    for a, b in zip(one[2:], two[2:], strict=True):
        column = "softmax_final_reward"
        assert abs(a.mean(column) - b.mean(column)) < 1.0 + a.sd(column) + b.sd(column)


UNIFORM = policy_of("softmax", alpha=0.0)


@pytest.mark.parametrize("model", ["drrn", "max-action"])
@pytest.mark.parametrize("n_steps", [1, 3])
def test_a_compiled_rollout_has_the_same_transitions_as_a_stepped_one(story, n_steps, model):
    rewards = REWARDS.replace("max_steps = 12", "max_steps = 60")  # long enough for every episode
    trainer = Trainer(
        story(FORK, rewards, shuffle=True), Settings.from_flat(**{**SMALL, "model": model}), CPU
    )
    generators = [np.random.default_rng(r) for r in range(2)]
    stepped = SteppedRollouts(trainer.game, trainer.model)

    def transitions(rollouts):
        steps = rollouts.record(400, UNIFORM, generators)[0]
        buffer = ReplayBuffer(10_000, 0.9, n_steps)
        buffer.add(steps)
        columns = buffer.at(np.arange(len(buffer)), buffer.widest, menus=False)
        names = ("states", "rewards", "discounts", "next_states")
        cells = [columns["actions"][:, 0], *(columns[name].round(4) for name in names)]
        return {tuple(map(float, row)) for row in zip(*cells, strict=True)}

    assert transitions(trainer.rollouts) == transitions(stepped)


def test_menus_are_shuffled_and_actions_lead_to_their_successors(fork):
    trainer = Trainer(fork, Settings.from_flat(**{**SMALL, "model": "max-action"}), CPU)
    rollouts: Any = trainer.rollouts
    game = rollouts.game
    generators = [np.random.default_rng(r) for r in range(2)]
    steps = rollouts.record(600, UNIFORM, generators)[0]
    first = np.append(True, steps.last[:-1])  # steps
    inner = np.flatnonzero(first & ~steps.last)  # first steps that are not the last
    start = int(np.flatnonzero(game.start)[0])
    menu = rollouts.actions[game.page[start]]
    menus = steps.actions.padded()
    slots = range(game.first[start], game.first[start + 1])
    for slot, action in zip(slots, menu[menu >= 0], strict=True):
        share = (menus[first] == action).mean(axis=0)
        assert share[: len(slots)] == pytest.approx(1 / len(slots), abs=0.1)
        rows = inner[menus[inner, steps.taken[inner]] == action]
        successors = {rollouts.states[game.page[s]] for s in game.successor[game.outcomes(slot)]}
        assert set(steps.states[rows + 1]) <= successors


def test_a_growing_vocabulary_starts_empty_and_another_has_all_words_of_the_game(fork):
    complete = Trainer(fork, Settings.from_flat(**SMALL), CPU)
    assert complete.compiled is not None
    assert "figs" in complete.store.states.vocabulary.numbers
    growing = Trainer(Stepped(fork), Settings.from_flat(**SMALL), CPU)
    assert growing.compiled is None and not growing.store.states.vocabulary.spelled
    list(growing.train())
    assert "wind" in growing.store.states.vocabulary.numbers
    assert "row" in growing.store.actions.vocabulary.numbers


def test_evaluation_adds_no_words(fork):
    trainer = Trainer(Stepped(fork), Settings.from_flat(**SMALL), CPU)
    trainer.store.states.id("quite another text")
    words = list(trainer.store.states.vocabulary.spelled)
    trainer.agent.evaluate(fork, episodes=3)
    assert trainer.store.states.vocabulary.spelled == words and len(trainer.store.states) == 1
