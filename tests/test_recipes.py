"""The two recipes: the strong one, unless the paper's is asked for; every part of it can be switched off."""

import json
from dataclasses import asdict

import pytest

import drrn
from drrn.cli import main
from drrn.errors import InputError
from drrn.recipes import STRONG, recipe
from drrn.runs.config import recommended_settings
from drrn.settings import LEARNERS, MODELS, Settings, settings_for
from tests.runs import FEW, SMALL, SMALL_STRONG, numbers, resuming, same
from tests.sample_games import Doors

FEW_IN_PYTHON = {
    "hidden": 6,
    "rounds": 1,
    "episodes_per_round": 6,
    "evaluation_episodes": 2,
    "replicas": 1,
}


def strong(**given):
    return settings_for(recipe(paper=False, suiting={}, given=given), given)


def config_of(run):
    return json.loads((run / "config.json").read_text())


def test_the_recipe_is_the_strong_one_unless_the_papers_is_asked_for(tale, tmp_path):
    assert main(["train", str(tale), "--out", str(tmp_path / "strong"), *SMALL_STRONG]) == 0
    assert main(["train", str(tale), "--out", str(tmp_path / "paper"), *SMALL]) == 0
    one, two = config_of(tmp_path / "strong"), config_of(tmp_path / "paper")
    assert (one["recipe"], two["recipe"]) == ("strong", "paper")
    given = {
        **FEW_IN_PYTHON,
        "rounds": 3,
        "episodes_per_round": 8,
        "evaluation_episodes": 4,
        "replicas": 2,
    }
    assert two["settings"] == asdict(
        Settings(**recommended_settings(drrn.make(tale)), **given, epochs=2)
    )
    kept = {name: value for name, value in STRONG.items() if name not in ("updates", "batch_size")}
    assert kept.items() <= one["settings"].items()
    assert drrn.trainer(Doors(), paper=True).settings == Settings()
    assert drrn.trainer(Doors()).settings == Settings(**STRONG)


def test_a_run_of_the_strong_recipe_goes_on_as_if_it_had_never_been_stopped(tale, tmp_path):
    arguments = ["train", str(tale), *SMALL_STRONG]
    assert main([*arguments, "--out", str(tmp_path / "whole")]) == 0
    trainer = drrn.trainer(drrn.make(tale), updates=3, batch_size=8, **{**FEW_IN_PYTHON, "rounds": 3,
                           "episodes_per_round": 8, "evaluation_episodes": 4, "replicas": 2})  # fmt: skip
    next(trainer.train())
    trainer.save(tmp_path / "cut")
    assert main(resuming(tmp_path / "cut")) == 0
    assert same(numbers(tmp_path / "whole"), numbers(tmp_path / "cut"))
    assert config_of(tmp_path / "cut")["recipe"] == "strong"


OFF = [
    ("--no-keep", "keep", False),
    ("--returns monte-carlo", "returns", "monte-carlo"),
    ("--trace 0", "trace", 0.0),
    ("--discount 0.9", "discount", 0.9),
    ("--alpha-start none", "alpha_start", None),
    ("--rate-end none", "rate_end", None),
    ("--optimiser sgd", "optimiser", "sgd"),
    ("--average none", "average", None),
    ("--state-dropout 0", "state_dropout", 0.0),
    ("--action-dropout 0", "action_dropout", 0.0),
    ("--exploration softmax", "exploration", "softmax"),
    ("--learner q-learning", "learner", "q-learning"),
]


@pytest.mark.parametrize(("words", "name", "value"), OFF, ids=[words for words, *_ in OFF])
def test_each_part_of_the_strong_recipe_can_be_switched_off(tale, tmp_path, words, name, value):
    small = [
        *FEW,
        "--rounds",
        "2",
        *([] if "q-learning" in words else ["--updates", "2", "--batch-size", "4"]),
    ]
    assert main(["train", str(tale), "--out", str(tmp_path / "run"), *small, *words.split()]) == 0
    assert config_of(tmp_path / "run")["settings"][name] == value
    assert strong(**{name: value}) == drrn.trainer(Doors(), **{name: value}).settings


def test_what_the_strong_recipe_turns_on_is_all_among_the_parts_that_can_be_switched_off():
    assert set(STRONG) <= {name for _, name, _ in OFF} | {
        "alpha", "learning_rate", "batch_size", "updates", "action_noise", "vectors_noise", "vectors_scale",
    }  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_model_learns_by_the_strong_recipe_with_either_learner(model, learner):
    given = {name: value for name, value in FEW_IN_PYTHON.items() if name != "hidden"}
    trainer = drrn.trainer("long-watch", model=model, learner=learner, **given)
    assert len(list(trainer.train())) == 1


def test_a_table_has_its_own_rate_in_the_strong_recipe_too():
    assert strong(model="table").eta == 0.2
    assert strong(model="table", learning_rate=0.1).eta == 0.1
    assert strong().eta == STRONG["learning_rate"]


def test_a_linear_model_explores_by_softmax_unless_told_otherwise():
    assert strong(model="linear").exploration == "softmax"
    assert strong(model="linear", exploration="optimism").exploration == "optimism"


def test_without_adam_the_rate_is_one_that_does_not_diverge():
    assert (strong(optimiser="sgd").eta, strong(optimiser="sgd").batch_size) == (0.0003, 32)
    assert strong(optimiser="momentum").eta == 0.0001
    assert strong(optimiser="momentum", learner="q-learning").eta == 0.001


def test_alpha_begins_at_the_same_share_of_any_alpha():
    assert strong(alpha=3.0).alpha_start == pytest.approx(
        3.0 * STRONG["alpha_start"] / STRONG["alpha"]
    )
    assert strong(alpha=STRONG["alpha"]).alpha_start == pytest.approx(STRONG["alpha_start"])
    assert strong(alpha=3.0, alpha_start=0.1).alpha_start == 0.1
    assert strong(alpha=0).alpha_start is None


def test_the_online_form_needs_the_papers_recipe_or_q_learning(tale, tmp_path, capsys):
    small = "--form online --hidden 4 --rounds 1 --episodes-per-round 2 --evaluation-episodes 2 --replicas 1".split()
    assert main(["train", str(tale), "--out", str(tmp_path / "a"), *small]) == 2
    error = capsys.readouterr().err
    assert (
        "add --paper (in Python: paper=True), or choose the learner q-learning" in error
        and error.count("\n") == 1
    )
    assert main(["train", str(tale), "--out", str(tmp_path / "b"), *small, "--paper"]) == 0
    assert (
        main(["train", str(tale), "--out", str(tmp_path / "c"), *small, "--learner", "q-learning"])
        == 0
    )
    assert config_of(tmp_path / "c")["settings"]["exploration"] == "softmax"
    with pytest.raises(InputError, match="exploration optimism needs whole episodes"):
        strong(form="online", learner="q-learning", exploration="optimism")


def test_what_only_the_papers_learner_counts_is_refused_with_the_cure():
    for given in ({"epochs": 3}, {"n_steps": 4}, {"target_every": 9}, {"prioritised": True}):
        with pytest.raises(InputError, match="--paper, in Python paper=True"):
            strong(**given)
        assert strong(**given, learner="q-learning")
    assert (
        strong(learner="q-learning", state_dropout=0.0, keep=False, average=None).learner
        == "q-learning"
    )


def test_config_of_a_run_brings_its_recipe_and_loose_settings_do_not(tale, tmp_path, capsys):
    for name, small in (("strong", SMALL_STRONG), ("paper", SMALL)):
        assert (
            main(["train", str(tale), "--out", str(tmp_path / name), *small, "--rounds", "1"]) == 0
        )
        again = [
            "train",
            str(tale),
            "--config",
            str(tmp_path / name),
            "--out",
            str(tmp_path / f"{name} again"),
        ]
        assert main(again) == 0
        assert config_of(tmp_path / f"{name} again") == config_of(tmp_path / name)
    old = config_of(tmp_path / "paper")
    older = {
        name: value
        for name, value in old["settings"].items()
        if name not in ("learner", "keep", "average")
    }
    (tmp_path / "old.json").write_text(
        json.dumps({"settings": older})
    )  # of a run before there were recipes
    assert (
        main(
            [
                "train",
                str(tale),
                "--config",
                str(tmp_path / "old.json"),
                "--out",
                str(tmp_path / "old"),
            ]
        )
        == 0
    )
    assert config_of(tmp_path / "old") == old
    (tmp_path / "loose.json").write_text(json.dumps({**FEW_IN_PYTHON, "updates": 2}))
    assert (
        main(
            [
                "train",
                str(tale),
                "--config",
                str(tmp_path / "loose.json"),
                "--out",
                str(tmp_path / "loose"),
            ]
        )
        == 0
    )
    assert config_of(tmp_path / "loose")["settings"]["learner"] == "returns"
    capsys.readouterr()
    assert main(["train", str(tale), "--paper", "--config", str(tmp_path / "strong")]) == 2
    assert "leave out --paper, or --config" in capsys.readouterr().err


def test_help_tells_of_both_recipes_and_shows_both_values_where_they_differ(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert told.index("drrn train GAME --paper the paper's settings") < told.index("options:")
    for words in (
        "γ (strong: 0.98; paper: 0.9)",
        "(strong: on; paper: off)",
        "--keep, --no-keep",
        "(default: 100)",
    ):
        assert words in told


def test_a_resumed_run_keeps_its_recipe(capsys):
    assert main(["train", "--resume", "nowhere", "--paper"]) == 2
    assert "a resumed run keeps its settings: leave out --paper" in capsys.readouterr().err
