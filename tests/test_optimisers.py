"""What an optimiser keeps for each weight, while tables grow and after a run was cut."""

import pytest
import torch

from drrn.cli import main
from drrn.learning.optimisers import Momentum
from drrn.training.record import Run
from tests.runs import numbers, same, small
from tests.small_models import model

TWEE = "".join(
    f":: {here}\nA room of {here} and of {words}.\n\n[[Go {words}.|{there}]]\n[[Leave {here}.|Out]]\n\n"
    for here, there, words in (
        ("Start", "B", "red"),
        ("B", "C", "very blue"),
        ("C", "D", "bright green"),
        ("D", "Out", "dark"),
    )
)


@pytest.mark.parametrize("optimiser", ["adam", "momentum"])
@pytest.mark.parametrize("name", ["drrn", "per-action", "table"])
def test_a_growing_run_that_was_cut_ends_with_the_numbers_of_one_that_was_not(name, optimiser, tmp_path, monkeypatch):
    (tmp_path / "tale.twee").write_text(f"{TWEE}:: Out\nOut.\n")
    more = ["--model", name, "--optimiser", optimiser, "--grow", "--target-every", "3"]
    more += ["--rounds", "4", "--episodes-per-round", "2"]
    arguments = ["train", str(tmp_path / "tale.twee"), *small(name), *more]
    assert main([*arguments, "--out", str(tmp_path / "whole")]) == 0
    keep = Run.keep

    def keep_and_stop(self, trainer):
        keep(self, trainer)
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "keep", keep_and_stop)
    main([*arguments, "--out", str(tmp_path / "cut")])
    for _ in range(2):
        main(["train", "--resume", str(tmp_path / "cut")])
    monkeypatch.setattr(Run, "keep", keep)
    assert main(["train", "--resume", str(tmp_path / "cut")]) == 0
    assert same(numbers(tmp_path / "cut"), numbers(tmp_path / "whole"))


def test_a_slot_takes_the_room_of_its_weight_whether_larger_or_smaller():
    optimiser = Momentum(model(), 0.1)
    optimiser.slots["w"] = torch.tensor([[[1.0], [2.0], [0.0]]])
    assert optimiser.slot("w", torch.zeros(1, 2, 1)).tolist() == [[[1.0], [2.0]]]
    assert optimiser.slot("w", torch.zeros(1, 4, 1)).tolist() == [[[1.0], [2.0], [0.0], [0.0]]]
