"""Slots of optimisers: growing tables, resumed runs, fused updates."""

import pytest
import torch

from drrn.cli import main
from drrn.learning.optimisers import Adam
from drrn.runs.run import Run
from tests.models import encoder_model, model
from tests.runs import results_of, same_results, small_options

TWEE = "".join(
    f":: {here}\nA room of {here} and of {words}.\n\n[[Go {words}.|{there}]]\n[[Leave {here}.|Out]]\n\n"
    for here, there, words in (
        ("Start", "B", "red"),
        ("B", "C", "very blue"),
        ("C", "D", "bright green"),
        ("D", "Out", "dark"),
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drrn", "per-action", "table"])
def test_an_interrupted_run_with_growing_tables_resumes_to_the_same_numbers(
    name, tmp_path, monkeypatch
):
    (tmp_path / "tale.twee").write_text(f"{TWEE}:: Out\nOut.\n")
    more = ["--model", name, "--optimiser", "adam", *(["--matches"] if name == "drrn" else [])]
    more += ["--rounds", "4", "--episodes-per-round", "2"]
    arguments = ["train", str(tmp_path / "tale.twee"), *small_options(name), *more]
    assert main([*arguments, "--out", str(tmp_path / "whole")]) == 0
    save = Run.save

    def save_and_stop(self, trainer):
        save(self, trainer)
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "save", save_and_stop)
    main([*arguments, "--out", str(tmp_path / "cut")])
    for _ in range(2):
        main(["train", "--resume", str(tmp_path / "cut")])
    monkeypatch.setattr(Run, "save", save)
    assert main(["train", "--resume", str(tmp_path / "cut")]) == 0
    assert same_results(results_of(tmp_path / "cut"), results_of(tmp_path / "whole"))


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
