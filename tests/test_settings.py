"""Settings: groups, checks, settings without effect, the two recipes, schedules."""

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

import drrn
from drrn.cli import main, parser
from drrn.errors import InputError
from drrn.lab.experiments.plan import VARIANTS, Scale, settings_of
from drrn.lab.experiments.results import Results, difference
from drrn.models import Shape, build_model
from drrn.models.encoders.recurrent import GRUEncoder
from drrn.runs.config import recommended_settings
from drrn.settings import (
    ENCODERS,
    GROUPS,
    LEARNERS,
    MODELS,
    PAPER,
    RETIRED,
    STRONG,
    STRONG_CHANGES,
    Settings,
    all_settings,
    recipe,
    settings_for,
)
from drrn.text import Store
from tests.runs import FEW, SMALL, SMALL_STRONG, results_of, resume_command, same_results, train
from tests.sample_games import Doors


def test_given_settings_override_those_of_the_game_which_override_the_defaults():
    assert settings_for({}, {}) == Settings()
    assert settings_for({"alpha": 0.7}, {}).exploration.alpha == 0.7
    assert settings_for({"alpha": 0.7}, {"alpha": 3.0}).exploration.alpha == 3.0
    with pytest.raises(InputError, match='no setting is named "alhpa"'):
        settings_for({"alhpa": 0.7}, {})
    with pytest.raises(InputError, match="epochs is true; it must be a whole number"):
        settings_for({"epochs": True}, {})


def test_the_papers_games_recommend_the_papers_settings():
    class Tale(Doors):
        name = "tale"
        title = "A tale"
        training: ClassVar = {"alpha": 0.7}

    game = Tale()
    assert recommended_settings(game) == {"alpha": 0.7}
    game.title = "Saving John"
    assert recommended_settings(game) == {"alpha": 0.7, "epochs": 3}


def test_options_override_the_settings_of_a_game(tale, tmp_path):
    tale.write_text(
        tale.read_text().replace("[[ending]]", "[training]\nalpha_start = 0.25\n[[ending]]", 1)
    )
    for number, (words, start) in enumerate(
        [([], 0.25), (["--alpha-start", "0.5"], 0.5), (["--alpha-start", "none"], None)]
    ):
        assert train(tale, tmp_path / str(number), "--rounds", "1", *words) == 0
        config = json.loads((tmp_path / str(number) / "config.json").read_text())
        assert config["settings"]["alpha_start"] == start


def test_every_setting_is_an_option_of_its_type():
    words = ["--hidden", "7", "--alpha", "2", "--average", "none", "--model", "table", "--shared"]
    options = vars(parser().parse_args(["train", "long-watch", *words]))
    settings = {name: value for name, value in options.items() if name in all_settings()}
    assert settings == {
        "hidden": 7,
        "alpha": 2.0,
        "average": None,
        "model": "table",
        "shared": True,
    }
    assert list(all_settings()) == list(PAPER.flat())
    with pytest.raises(InputError, match='--average is "much"; it must be a number or none'):
        parser().parse_args(["train", "fork", "--average", "much"])


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("average", "none", None),
        ("average", "0.5", 0.5),
        ("keep", "yes", True),
        ("keep", "no", False),
        ("epochs", "3", 3),
        ("model", "none", "none"),
    ],
)
def test_text_is_converted_to_the_type_of_the_setting(name, text, value):
    result = all_settings()[name].read(text)
    assert result == value and type(result) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("epochs", "none", "a whole number"),
        ("epochs", "2.5", "a whole number"),
        ("keep", "maybe", "yes or no"),
    ],
)
def test_the_error_for_text_of_another_type_is_one_sentence(name, text, kind):
    with pytest.raises(InputError, match=f'{name} is "{text}"; it must be {kind}$'):
        all_settings()[name].read(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": 0}, "hidden is 0; it must be at least 1"),
        ({"alpha": -1.0}, "alpha is -1.0; it must be at least 0"),
        ({"model": "drn"}, 'Did you mean "drrn"?'),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; it must be above 0"),
        ({"discount": 1.5}, "it must lie between 0 and 1"),
        (
            {"shared": True, "interaction": "bilinear", "action_hidden": 5},
            "leave out action_hidden",
        ),
        ({"hidden": "abc"}, 'hidden is "abc"; it must be a whole number'),
        ({"hidden": 10.5}, "hidden is 10.5; it must be a whole number"),
        ({"hidden": True}, "hidden is true; it must be a whole number"),
        ({"seed": None}, "seed is null; it must be a whole number"),
        ({"alpha": None}, "alpha is null; it must be a number"),
        ({"alpha": False}, "alpha is false; it must be a number"),
        ({"learning_rate": "x"}, 'learning_rate is "x"; it must be a number or none'),
        ({"n_steps": 1.5}, "n_steps is 1.5; it must be a whole number"),
        ({"discount": "0.9"}, 'discount is "0.9"; it must be a number'),
        ({"shared": "no"}, 'shared is "no"; it must be true or false'),
        ({"shared": 1}, "shared is 1; it must be true or false"),
        ({"epochs": True}, "epochs is true; it must be a whole number"),
        ({"model": ["drrn"]}, 'model is ["drrn"]; it must be a name'),
        ({"learner": "q-lerning"}, 'Did you mean "q-learning"?'),
        (
            {"encoder": "bags"},
            f"choose from {', '.join(ENCODERS)}, or give your own as module:name",
        ),
        ({"action_encoder": "bags"}, f"choose from {', '.join(ENCODERS)}, or give your own"),
        ({"model": "my models:Own"}, "choose from drrn, linear"),
        ({"optimiser": "mine:Own"}, 'optimiser is "mine:Own"; choose from sgd, adam.'),
        ({"workers": 0}, "workers is 0; it must be at least 1"),
        ({"alpha": float("nan")}, "alpha is nan; it must be at least 0"),
    ],
)
def test_the_error_for_a_setting_out_of_range_names_it(settings, message):
    with pytest.raises(InputError) as error:
        Settings.from_flat(**settings)
    assert message in str(error.value)


def test_a_whole_number_is_a_valid_number():
    assert Settings.from_flat(alpha=2, learning_rate=1).exploration.alpha == 2


# --- settings without effect

UNUSED = [
    ({"model": "linear", "layers": 3}, "layers", "model drrn, max-action, per-action"),
    ({"model": "linear", "hidden": 3}, "hidden", "model drrn, max-action, per-action"),
    ({"model": "table", "hidden": 5}, "hidden", "encoder lstm, gru, attention"),
    ({"model": "table", "phrases": True}, "phrases", "encoder bag"),
    ({"model": "per-action", "interaction": "bilinear"}, "interaction", "model drrn"),
    ({"model": "max-action", "shared": True}, "shared", "model drrn"),
    ({"capacity": 100}, "capacity", "keep or exploration optimism"),
    ({"learner": "returns", "epochs": 3}, "epochs", "--paper, in Python paper=True"),
    ({"learner": "returns", "n_steps": 4}, "n_steps", "--paper, in Python paper=True"),
    ({"learner": "returns", "returns": "monte-carlo", "trace": 0.5}, "trace", "returns retrace"),
]


@pytest.mark.parametrize(("settings", "name", "needs"), UNUSED, ids=str)
def test_a_setting_without_effect_is_rejected(settings, name, needs):
    with pytest.raises(InputError) as error:
        settings_for({}, settings)
    assert f"{name} has an effect only with" in str(error.value) and needs in str(error.value)
    # Settings of a game or of another run are not rejected.
    assert settings_for(settings, {}) == Settings.from_flat(settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "linear", "phrases": True},
        {"model": "max-action", "layers": 1, "shared": False},
        {"model": "table", "action_encoder": None},
        {"keep": True, "capacity": 100},
        {"model": "mine:Own", "interaction": "network", "hidden": 3, "shared": True},
    ],
    ids=str,
)
def test_a_setting_with_an_effect_or_turned_off_is_accepted(settings):
    assert settings_for({}, settings) == Settings.from_flat(**settings)


def test_options_and_arguments_without_effect_are_rejected_but_those_of_a_config_are_not(
    tale, tmp_path, capsys
):
    assert train(tale, tmp_path / "run", "--model", "linear", "--layers", "3") == 2
    assert capsys.readouterr().err.count("\n") == 1 and not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="layers has an effect only with"):
        drrn.trainer(drrn.make(tale), paper=True, model="linear", layers=3)
    assert train(tale, tmp_path / "one", "--rounds", "1", "--layers", "3") == 0
    linear = ["--model", "linear", "--out", str(tmp_path / "two")]
    assert main(["train", str(tale), "--config", str(tmp_path / "one/config.json"), *linear]) == 0


OTHER = {"hidden": 7, "layers": 3, "interaction": "network", "action_hidden": 4, "shared": True}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_uses_the_settings_that_change_its_weights(model):
    def weights(**shape):
        store = Store.of_words(["sea", "lamp"], shared=True)
        built = build_model(model, Shape(**shape), store, [0], torch.device("cpu"))
        return {name: array.shape for name, array in built.state().items()}

    base: dict[str, Any] = {"hidden": 5, "layers": 2, "interaction": "bilinear"}
    settings = Settings.from_flat(model=model)
    if model == "linear":  # has hidden units only if its encoder reads words in order
        assert not settings.uses("hidden")
        base["encoder"] = GRUEncoder
        settings = Settings.from_flat(model=model, encoder="gru")
    for name, value in OTHER.items():
        assert (weights(**base) != weights(**{**base, name: value})) == settings.uses(name), name
    reads_text = any(name.startswith("table ") for name in weights(**base))
    assert settings.uses("encoder") == reads_text
    assert Settings.from_flat(model=model).uses("phrases") == reads_text


# --- experiments


RESULTS = Path(__file__).parents[1] / "results"


def published_jobs():
    games = ("long-watch", "night-market")
    return [
        (game, name) for game, name in Results(RESULTS).jobs() if game in games and name in VARIANTS
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("game", "name"), published_jobs())
def test_published_rows_have_the_settings_of_the_plan(game, name):
    record = Results(RESULTS).record(game, name)
    assert record is not None
    actual = record["wanted"]
    plan = settings_of(game, VARIANTS[name], drrn.make(game), Scale()).flat()
    del plan["vectors"]  # a file: rows have its digest
    assert difference({key: actual[key] for key in actual if key in plan}, plan) is None


def test_a_setting_of_all_jobs_is_accepted_for_models_that_do_not_use_it():
    game = drrn.make("long-watch")
    scale = Scale(overrides={"average": 0.5})
    for variant in (each for each in VARIANTS.values() if not getattr(each, "vectors", False)):
        assert settings_of("long-watch", variant, game, scale).learner.average in (0.5, None)
    with pytest.raises(InputError, match="embedding has an effect only with"):
        settings_of("long-watch", VARIANTS["table"], game, Scale(overrides={"embedding": 8}))


def test_a_run_can_be_resumed_with_another_number_of_workers(tale, tmp_path):
    assert train(tale, tmp_path / "run", "--rounds", "1") == 0
    assert main(["train", "--resume", str(tmp_path / "run"), "--workers", "2"]) == 0


def test_settings_are_checked_without_pytorch_and_without_the_users_module(tmp_path):
    (tmp_path / "loud.py").write_text("raise SystemExit('imported')")
    code = "import sys; from drrn.settings import Settings; Settings.from_flat(model='loud:Model', interaction='a.b:c'); "
    code += "assert 'torch' not in sys.modules"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment)
    assert process.returncode == 0


# --- groups and flat names


def test_flat_names_and_groups_are_two_views_of_the_same_values():
    settings = Settings.from_flat(hidden=7, learner="returns", alpha=2.0, rounds=3)
    assert settings.model.hidden == 7 and settings.learner.name == "returns"
    assert settings.exploration.alpha == 2.0 and settings.run.rounds == 3
    assert Settings.from_flat(settings.flat()) == settings
    assert settings.replace(rounds=4).run.rounds == 4
    count = sum(len(fields(group)) for group in GROUPS.values())
    assert len(all_settings()) == count  # flat names are unique


def test_a_retired_setting_is_ignored_at_its_recorded_value_and_rejected_at_another():
    assert Settings.from_flat(RETIRED) == PAPER == settings_for(RETIRED, {})
    with pytest.raises(InputError, match="prioritised is True, but this setting was removed"):
        Settings.from_flat(prioritised=True)
    assert difference({**RETIRED, "hidden": 100}, {"hidden": 100}) is None
    message = difference({**RETIRED, "clip": 1.0}, {"hidden": 100})
    assert message is not None and "clip is 1.0" in message


# Settings that differ from the paper's, as chosen before settings had groups: paper's recipe or
# strong one, settings that the game recommends, given settings, result.
RETURNS_AND_ADAM: dict[str, Any] = {
    "learner": "returns",
    "optimiser": "adam",
    "learning_rate": 0.002,
    "rate_end": 0.0001,
    "batch_size": 512,
    "average": 0.99,
    "state_dropout": 0.1,
    "action_dropout": 0.3,
    "action_noise": 0.3,
    "vectors_noise": 1.5,
    "survey": True,
}
BASE: dict[str, Any] = {
    "vectors_scale": 5.0,
    "discount": 0.98,
    "keep": True,
    "exploration": "optimism",
}
ALPHA: dict[str, Any] = {"alpha": 1.5, "alpha_start": 0.5}
CHOICES: list[tuple[bool, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (False, {}, {}, {**RETURNS_AND_ADAM, **BASE, **ALPHA}),
    (True, {"alpha": 0.7, "epochs": 3}, {}, {"alpha": 0.7, "epochs": 3}),
    (True, {"alpha_relative": True}, {"alpha": 0.2}, {"alpha": 0.2}),
    (False, {"alpha": 0.7, "updates": 9}, {}, {**RETURNS_AND_ADAM, **BASE, **ALPHA}),
    (False, {}, {"learner": "q-learning"}, {**BASE, **ALPHA, "vectors_scale": 1.0}),
    (
        False,
        {},
        {"model": "table"},
        {**RETURNS_AND_ADAM, **BASE, **ALPHA, "model": "table", "learning_rate": None},
    ),
    (
        False,
        {},
        {"model": "linear"},
        {**RETURNS_AND_ADAM, **BASE, **ALPHA, "model": "linear", "exploration": "softmax"},
    ),
    (
        False,
        {},
        {"optimiser": "sgd"},
        {
            **RETURNS_AND_ADAM,
            **BASE,
            **ALPHA,
            "optimiser": "sgd",
            "learning_rate": 0.0003,
            "batch_size": 32,
        },
    ),
    (
        False,
        {},
        {"optimiser": "sgd", "model": "table"},
        {
            **RETURNS_AND_ADAM,
            **BASE,
            **ALPHA,
            "optimiser": "sgd",
            "learning_rate": None,
            "batch_size": 32,
            "model": "table",
        },
    ),
    (
        False,
        {"alpha_relative": True},
        {"alpha": 3.0},
        {**RETURNS_AND_ADAM, **BASE, "alpha": 3.0, "alpha_start": 1.0},
    ),
    (False, {}, {"alpha": 0}, {**RETURNS_AND_ADAM, **BASE, "alpha": 0}),
    (
        False,
        {"hidden": 30},
        {"learner": "mine:Own"},
        {**RETURNS_AND_ADAM, **BASE, **ALPHA, "hidden": 30, "learner": "mine:Own"},
    ),
]


@pytest.mark.parametrize(("paper", "recommended", "options", "result"), CHOICES)
def test_the_recipes_adapt_to_given_settings(paper, recommended, options, result):
    base = recipe(paper=paper, recommended=recommended, given=options)
    assert settings_for(base, options).flat() == {**PAPER.flat(), **result}


# --- recipes

FEW_IN_PYTHON: dict[str, Any] = {
    "hidden": 6,
    "rounds": 1,
    "episodes_per_round": 6,
    "evaluation_episodes": 2,
    "replicas": 1,
}
SMALL_IN_PYTHON: dict[str, Any] = {  # like tests.runs.SMALL
    "hidden": 6,
    "rounds": 3,
    "episodes_per_round": 8,
    "evaluation_episodes": 4,
    "replicas": 2,
}


def strong(**options):
    return settings_for(recipe(paper=False, recommended={}, given=options), options)


def config_of(run):
    return json.loads((run / "config.json").read_text())


def test_the_strong_recipe_is_the_default(tale, tmp_path):
    assert main(["train", str(tale), "--out", str(tmp_path / "strong"), *SMALL_STRONG]) == 0
    assert main(["train", str(tale), "--out", str(tmp_path / "paper"), *SMALL]) == 0
    one = config_of(tmp_path / "strong")
    two = config_of(tmp_path / "paper")
    assert (one["recipe"], two["recipe"]) == ("strong", "paper")
    recommended = recommended_settings(drrn.make(tale))
    assert two["settings"] == Settings.from_flat(recommended, **SMALL_IN_PYTHON, epochs=2).flat()
    changes = {
        name: value
        for name, value in STRONG_CHANGES.items()
        if name not in ("updates", "batch_size", "survey")
    }
    assert changes.items() <= one["settings"].items()
    assert drrn.trainer(Doors(), paper=True).settings == PAPER
    assert drrn.trainer(Doors(), survey=False).settings == STRONG.replace(survey=False)


def test_a_resumed_run_of_the_strong_recipe_has_the_results_of_an_uninterrupted_one(tale, tmp_path):
    arguments = ["train", str(tale), *SMALL_STRONG]
    assert main([*arguments, "--out", str(tmp_path / "whole")]) == 0
    trainer = drrn.trainer(drrn.make(tale), updates=3, batch_size=8, **SMALL_IN_PYTHON)
    next(trainer.train())
    trainer.save(tmp_path / "cut")
    assert main(resume_command(tmp_path / "cut")) == 0
    assert same_results(results_of(tmp_path / "whole"), results_of(tmp_path / "cut"))
    assert config_of(tmp_path / "cut")["recipe"] == "strong"


OFF: list[tuple[str, str, Any]] = [
    ("--no-keep", "keep", False),
    ("--capacity 9", "capacity", 9),
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
    ("--no-survey", "survey", False),
]


@pytest.mark.parametrize(("words", "name", "value"), OFF, ids=[words for words, *_ in OFF])
def test_each_part_of_the_strong_recipe_can_be_turned_off(tale, tmp_path, words, name, value):
    small = [*FEW, "--rounds", "2"]
    if "q-learning" not in words:
        small += ["--updates", "2", "--batch-size", "4"]
    assert main(["train", str(tale), "--out", str(tmp_path / "run"), *small, *words.split()]) == 0
    assert config_of(tmp_path / "run")["settings"][name] == value
    given = {name: value, "survey": False}
    assert strong(**given) == drrn.trainer(Doors(), **given).settings


def test_every_change_of_the_strong_recipe_is_tested():
    assert set(STRONG_CHANGES) <= {name for _, name, _ in OFF} | {
        "alpha",
        "learning_rate",
        "batch_size",
        "updates",
        "action_noise",
        "vectors_noise",
        "vectors_scale",
    }


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_model_is_trained_by_the_strong_recipe_with_both_learners(model, learner):
    small = {name: value for name, value in FEW_IN_PYTHON.items() if name != "hidden"}
    if learner == "returns":
        small["updates"] = 5
    trainer = drrn.trainer("long-watch", model=model, learner=learner, **small)
    assert len(list(trainer.train())) == 1


def test_the_strong_recipe_uses_the_learning_rate_of_a_table():
    assert strong(model="table").learning_rate == 0.2
    assert strong(model="table", learning_rate=0.1).learning_rate == 0.1
    assert strong().learning_rate == STRONG_CHANGES["learning_rate"]


def test_a_linear_model_explores_by_softmax_by_default():
    assert strong(model="linear").exploration.name == "softmax"
    assert strong(model="linear", exploration="optimism").exploration.name == "optimism"


def test_sgd_has_a_lower_learning_rate_and_a_smaller_batch():
    settings = strong(optimiser="sgd")
    assert settings.learning_rate == 0.0003 and settings.learner.batch_size == 32
    assert strong(optimiser="sgd", learner="q-learning").learning_rate == 0.001


def test_alpha_starts_at_the_same_share_of_any_alpha():
    alpha: Any = STRONG_CHANGES["alpha"]
    start: Any = STRONG_CHANGES["alpha_start"]
    assert strong(alpha=3.0).exploration.alpha_start == pytest.approx(3.0 * start / alpha)
    assert strong(alpha=alpha).exploration.alpha_start == pytest.approx(start)
    assert strong(alpha=3.0, alpha_start=0.1).exploration.alpha_start == 0.1
    assert strong(alpha=0).exploration.alpha_start is None


def test_the_error_for_a_setting_of_the_papers_learner_names_the_paper_option():
    for options in ({"epochs": 3}, {"n_steps": 4}):
        with pytest.raises(InputError, match="--paper, in Python paper=True"):
            strong(**options)
        assert strong(**options, learner="q-learning")
    settings = strong(learner="q-learning", state_dropout=0.0, keep=False, average=None)
    assert settings.learner.name == "q-learning"


def train_by_config(tale, config, out):
    return main(["train", str(tale), "--config", str(config), "--out", str(out)])


@pytest.mark.parametrize(("name", "small"), [("strong", SMALL_STRONG), ("paper", SMALL)])
def test_the_config_of_a_run_includes_its_recipe(tale, tmp_path, name, small):
    run = tmp_path / name
    assert main(["train", str(tale), "--out", str(run), *small, "--rounds", "1"]) == 0
    assert train_by_config(tale, run, tmp_path / "again") == 0
    assert config_of(tmp_path / "again") == config_of(run)


def test_a_config_from_before_recipes_uses_the_papers(tale, tmp_path):
    run = tmp_path / "paper"
    assert main(["train", str(tale), "--out", str(run), *SMALL, "--rounds", "1"]) == 0
    config = config_of(run)
    later = ("learner", "keep", "average")
    old = {name: value for name, value in config["settings"].items() if name not in later}
    (tmp_path / "old.json").write_text(json.dumps({"settings": old}))
    assert train_by_config(tale, tmp_path / "old.json", tmp_path / "old") == 0
    assert config_of(tmp_path / "old") == config


def test_a_config_of_settings_without_a_recipe_uses_the_strong_recipe(tale, tmp_path):
    (tmp_path / "loose.json").write_text(json.dumps({**FEW_IN_PYTHON, "updates": 2}))
    assert train_by_config(tale, tmp_path / "loose.json", tmp_path / "loose") == 0
    assert config_of(tmp_path / "loose")["settings"]["learner"] == "returns"


def test_paper_and_config_exclude_each_other(tale, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["train", str(tale), "--out", str(run), *SMALL_STRONG, "--rounds", "1"]) == 0
    capsys.readouterr()
    assert main(["train", str(tale), "--paper", "--config", str(run)]) == 2
    assert "leave out --paper or --config" in capsys.readouterr().err


def test_help_has_the_values_of_both_recipes(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help-all"])
    output = " ".join(capsys.readouterr().out.split())
    assert "drrn train long-watch --paper the paper's settings" in output
    for words in (
        "γ (strong: 0.98; paper: 0.9)",
        "(strong: on; paper: off)",
        "--no-keep the opposite of --keep",
        "(default: 100)",
    ):
        assert words in output


def test_a_resumed_run_keeps_its_recipe(capsys):
    assert main(["train", "--resume", "nowhere", "--paper"]) == 2
    assert "leave out --paper" in capsys.readouterr().err


# --- schedules


def test_alpha_rises_geometrically_over_three_quarters_of_the_rounds():
    settings = Settings.from_flat(alpha=16.0, alpha_start=1.0, rounds=17)
    assert settings.alpha_at(1) == 1.0
    assert settings.alpha_at(4) == pytest.approx(2.0)  # 16 ** ¼ after a quarter of 12 rounds
    assert settings.alpha_at(7) == pytest.approx(4.0)
    assert [settings.alpha_at(number) for number in (13, 15, 17)] == pytest.approx([16.0] * 3)


def test_alpha_may_fall():
    settings = Settings.from_flat(alpha=1.0, alpha_start=4.0, rounds=5)
    assert [settings.alpha_at(number) for number in (1, 4, 5)] == pytest.approx([4.0, 1.0, 1.0])


@pytest.mark.parametrize(
    "options", [{"alpha": 0.7}, {"alpha": 0.0, "alpha_start": 0.5}, {"alpha": 0}], ids=str
)
def test_alpha_is_constant_without_a_start_or_if_it_is_zero(options):
    settings = Settings.from_flat(**options, rounds=9)
    alphas = [settings.alpha_at(number) for number in (1, 5, 9)]
    assert alphas == [settings.exploration.alpha] * 3


def test_the_learning_rate_falls_linearly_over_the_last_three_tenths():
    settings = Settings.from_flat(learning_rate=0.5, rate_end=0.2, rounds=11)
    assert [settings.learning_rate_at(number) for number in (1, 6, 8)] == [0.5] * 3
    assert [settings.learning_rate_at(number) for number in (9, 10, 11)] == pytest.approx(
        [0.4, 0.3, 0.2]
    )


def test_a_learning_rate_without_an_end_is_constant_and_that_of_a_table_falls_from_its_own():
    constant = Settings.from_flat(learning_rate=0.5, rounds=11)
    assert {constant.learning_rate_at(number) for number in range(1, 12)} == {0.5}
    table = Settings.from_flat(model="table", rate_end=0.1, rounds=11)
    assert [table.learning_rate_at(number) for number in (1, 11)] == pytest.approx([0.2, 0.1])


def test_a_single_round_has_the_first_value_of_each_schedule():
    settings = Settings.from_flat(
        alpha=2.0, alpha_start=0.5, learning_rate=0.5, rate_end=0.1, rounds=1
    )
    assert settings.alpha_at(1) == 0.5 and settings.learning_rate_at(1) == 0.5


@pytest.mark.parametrize(
    ("share", "rounds", "last"), [(0.7, 10, 7), (0.5, 5, 2), (1.0, 3, 3), (0.0, 3, 0), (0.7, 1, 0)]
)
def test_optimism_explores_in_the_first_share_of_the_rounds(share, rounds, last):
    settings = Settings.from_flat(exploration="optimism", optimism_share=share, rounds=rounds)
    assert [settings.explores_at(number) for number in range(1, rounds + 1)] == [
        n < last for n in range(rounds)
    ]
    assert not Settings.from_flat(exploration="softmax", rounds=rounds).explores_at(1)


def test_a_plan_follows_optimism():
    settings: dict[str, Any] = {"after_optimism": "plan", "optimism_share": 0.5, "rounds": 4}
    plans = Settings.from_flat(exploration="optimism", **settings)
    assert [plans.plans_at(number) for number in (1, 2, 3, 4)] == [False, False, True, True]
    assert not Settings.from_flat(exploration="softmax", **settings).plans_at(4)
    with pytest.raises(drrn.InputError, match="choose a smaller optimism_share"):
        plans.replace(optimism_share=1.0)


# --- settings that need others

DEPENDENT: list[tuple[str, Any, dict[str, Any]]] = [
    ("rate_end", 0.0001, {"learner": "returns"}),
    ("updates", 5, {"learner": "returns"}),
    ("count_power", 1.0, {"learner": "returns"}),
    ("alpha_spread", True, {"learner": "returns"}),
    ("advantages", True, {"learner": "returns"}),
    ("listwise", True, {"learner": "returns"}),
    ("survey", True, {"learner": "returns"}),
    ("average", 0.9, {"learner": "returns"}),
    ("state_dropout", 0.1, {"learner": "returns"}),
    ("action_dropout", 0.1, {"learner": "returns"}),
    ("action_noise", 0.1, {"learner": "returns"}),
    ("returns", "retrace", {"learner": "returns"}),
    ("returns", "monte-carlo", {"exploration": "optimism"}),
    ("sweeps", 1, {"exploration": "optimism"}),
    ("pseudo_count", 1.0, {"learner": "returns"}),
    ("trace", 0.5, {"learner": "returns"}),
    ("optimism", 3.0, {"exploration": "optimism"}),
    ("optimism_share", 0.5, {"exploration": "optimism"}),
    ("after_optimism", "plan", {"exploration": "optimism"}),
    ("optimism_count", 1.0, {"exploration": "optimism"}),
    ("replan", 10, {"exploration": "optimism"}),
    ("capacity", 10, {"exploration": "optimism"}),
    ("capacity", 10, {"keep": True}),
    ("vectors_scale", 2.0, {"vectors": "glove.txt"}),
    ("vectors_noise", 1.0, {"vectors": "glove.txt", "learner": "returns"}),
    ("lstm_gain", 2.0, {"encoder": "lstm"}),
    ("embedding", 8, {"encoder": "gru"}),
    ("recall", True, {"sentences": "module:function"}),
    ("pairs_only", True, {"phrases": True}),
]


@pytest.mark.parametrize(("name", "value", "needs"), DEPENDENT, ids=str)
def test_the_error_for_a_setting_without_effect_names_what_it_needs(name, value, needs):
    with pytest.raises(InputError, match=f"{name} has an effect only with") as e:
        settings_for({}, {name: value})
    assert any(needed in str(e.value) for needed in needs)
    assert settings_for({}, {name: value, **needs}).flat()[name] == value


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("select_words", {"encoder": "hash", "action_encoder": "bag"}),
        ("matches", {"encoder": "bag", "action_encoder": "hash"}),
        ("listwise", {"learner": "returns", "advantages": True}),
        ("advantages", {"learner": "returns", "listwise": True}),
        ("pseudo_count", {"learner": "returns", "listwise": True}),
    ],
)
def test_settings_that_cancel_each_other_are_refused(name, others):
    with pytest.raises(InputError, match="has an effect only with"):
        settings_for({}, {**others, name: 5.0 if name == "pseudo_count" else True})
    assert not Settings.from_flat(others).uses(name)


def test_every_setting_without_effect_in_the_papers_recipe_is_tested():
    without_effect = {name for name in all_settings() if not PAPER.uses(name)}
    assert without_effect == {name for name, *_ in DEPENDENT} | {"vectors"}
    own = Settings.from_flat(model="mine:M", encoder="mine:E", learner="mine:L", vectors="v.txt")
    others = {name for name in without_effect if not own.uses(name)}
    assert others == {
        "after_optimism",
        "capacity",
        "optimism",
        "optimism_count",
        "pairs_only",
        "optimism_share",
        "recall",
        "replan",
    }


# --- parts turned off on the command line

MORE_OFF: dict[str, dict[str, Any]] = {
    "--action-noise 0": {"action_noise": 0.0},
    "--sweeps 1 --count-power 0": {"sweeps": 1, "count_power": 0.0},
    "--optimism-share 0": {"optimism_share": 0.0},
    "--vectors-noise 0": {"vectors_noise": 0.0},
    "--vectors-scale 1 --vectors small.txt": {"vectors_scale": 1.0},
}


@pytest.mark.parametrize("words", MORE_OFF)
@pytest.mark.usefixtures("working_folder")
def test_defaults_that_the_strong_recipe_uses_can_be_turned_off(tale, tmp_path, words):
    (tmp_path / "small.txt").write_text("go 1.5 2\nout 1 -1\nstay 0.5 1\n")
    small = [*FEW, "--rounds", "1", "--updates", "2", "--batch-size", "4"]
    assert main(["train", str(tale), "--out", str(tmp_path / "run"), *small, *words.split()]) == 0
    assert MORE_OFF[words].items() <= config_of(tmp_path / "run")["settings"].items()


def test_a_part_of_another_learner_may_be_turned_off():
    off = {"state_dropout": 0.0, "action_noise": 0.0, "rate_end": None, "average": None}
    assert strong(learner="q-learning", **off).learner.name == "q-learning"


def test_the_strong_recipe_omits_settings_that_the_learner_does_not_use():
    base = recipe(paper=False, given={"learner": "q-learning"})
    assert "updates" not in base and "batch_size" not in base and base["keep"]
    own = recipe(paper=False, given={"learner": "mine:Own"})
    assert own["updates"] == STRONG_CHANGES["updates"]
