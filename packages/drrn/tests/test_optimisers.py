"""Slots of optimisers: growing tables, resumed runs, fused updates."""

import pytest
import torch

import drrn
from drrn.learning.optimisers import Adam
from tests.models import encoder_model, model
from tests.trainings import SMALL, Stepped, same_weights

TWEE = "".join(
    f":: {here}\nA room of {here} and of {words}.\n\n[[Go {words}.|{there}]]\n[[Leave {here}.|Out]]\n\n"
    for here, there, words in (
        ("Start", "B", "red"),
        ("B", "C", "very blue"),
        ("C", "D", "bright green"),
        ("D", "Out", "dark"),
    )
)


@pytest.mark.parametrize("model_name", ["drrn", "table"])
def test_an_interrupted_run_with_growing_tables_resumes_to_the_same_numbers(
    model_name, story, tmp_path
):
    game = Stepped(story(f"{TWEE}:: Out\nOut.\n"))
    settings = {**SMALL, "rounds": 4, "episodes_per_round": 2, "evaluation_episodes": 2}
    if model_name == "table":
        del settings["hidden"]
    settings |= {"model": model_name, "optimiser": "adam", "paper": True}
    whole, cut = (drrn.trainer(game.another(), **settings) for _ in range(2))
    words = [len(whole.store.states.vocabulary) for _ in whole.train()]
    assert words[0] < words[-1]
    for _ in range(4):
        next(iter(cut.train()))
        cut.save(tmp_path / "run")
        cut = drrn.resume(tmp_path / "run", game.another())
    assert cut.rows == whole.rows and same_weights(cut, whole)


def test_a_slot_is_resized_to_the_shape_of_its_weight():
    optimiser = Adam(model(), 0.1)
    optimiser.slots["w"] = torch.tensor([[[1.0], [2.0], [0.0]]])
    assert optimiser.slot("w", torch.zeros(1, 2, 1)).tolist() == [[[1.0], [2.0]]]
    assert optimiser.slot("w", torch.zeros(1, 4, 1)).tolist() == [[[1.0], [2.0], [0.0], [0.0]]]


def test_fused_adam_makes_the_same_steps_as_plain_adam():
    plain, fused = (Adam(encoder_model("gru", seeds=(0, 1, 2)), 0.01) for _ in range(2))
    chance = torch.Generator().manual_seed(0)
    for active in (
        [True, True, True],
        [True, False, True],
        [False, False, True],
        [True, True, True],
    ):
        for optimiser, move in ((plain, Adam.move_one_by_one), (fused, Adam.move_fused)):
            chance.manual_seed(len(active) + sum(active))
            weights = optimiser.model.weights
            full = {
                name: (weight, torch.randn(weight.shape, generator=chance))
                for name, weight in weights.items()
            }
            move(optimiser, full, torch.tensor(active))
    for optimiser in (plain, fused):
        assert optimiser.slots["state in t"].view(-1).tolist() == [3, 2, 4]
    for name, weight in plain.model.weights.items():
        assert torch.allclose(weight, fused.model.weights[name], atol=1e-6), name
