"""Settings: groups, checks, settings without effect, the two recipes, schedules."""

import json
from dataclasses import fields
from typing import Any, ClassVar

import pytest
import torch

import drrn
from drrn.cli import parser
from drrn.cli.train import _settings
from drrn.experiments.results import difference
from drrn.models import Shape, build_model
from drrn.models.encoders.recurrent import GRUEncoder
from drrn.runs.config import recommended_settings
from drrn.settings import (
    ENCODERS,
    GROUPS,
    MODELS,
    PAPER,
    RETIRED,
    STRONG,
    STRONG_CHANGES,
    Settings,
    all_settings,
    needs_text,
    recipe,
    settings_for,
)
from drrn.text import Store
from lab.experiments.plan import VARIANTS, Scale, settings_of
from lab.experiments.results import Results
from tests.commands import main
from tests.runs import SMALL, SMALL_STRONG, results_of, resume_command, same_results, train
from tests.sample_games import Doors
from tests.source_code import ROOT
from textgames.errors import InputError


def strong(**options):
    return settings_for(recipe(paper=False, given=options), options)


def config_of(run):
    return json.loads((run / "config.json").read_text())


# --- the table


def test_the_table_of_settings_is_well_formed():
    every = all_settings()
    assert list(every) == list(PAPER.flat())
    assert len(every) == sum(len(fields(group)) for group in GROUPS.values())  # unique names
    for name, each in every.items():
        assert each.help and "\n" not in each.help and not each.help.endswith("."), name
        assert each.kind in (bool, int, float, str), name
        bounds = {each.least, each.most, each.above} - {None}
        assert bool(bounds) == (each.kind in (int, float)) or name == "alpha", name
        each.check(each.default)
    assert all(PAPER.flat()[name] != value for name, value in STRONG_CHANGES.items() if "_" in name)
    assert Settings.from_flat(STRONG_CHANGES) == STRONG


def test_flat_names_and_groups_are_two_views_of_the_same_values():
    settings = Settings.from_flat(hidden=7, learner="returns", alpha=2, rounds=3)
    assert settings.model.hidden == 7 and settings.learner.name == "returns"
    assert settings.exploration.alpha == 2.0 and settings.run.rounds == 3
    assert Settings.from_flat(settings.flat()) == settings
    assert settings.replace(rounds=4).run.rounds == 4


def test_a_retired_setting_is_ignored_at_its_recorded_value_and_rejected_at_another():
    assert Settings.from_flat(RETIRED) == PAPER == settings_for(RETIRED, {})
    with pytest.raises(InputError, match="prioritised"):
        Settings.from_flat(prioritised=True)
    assert difference({**RETIRED, "hidden": 100}, {"hidden": 100}) is None
    message = difference({**RETIRED, "clip": 1.0}, {"hidden": 100})
    assert message is not None and "clip" in message


# --- values


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"alhpa": 0.7}, "alpha"),
        ({"hidden": 0}, "at least 1"),
        ({"alpha": float("nan")}, "at least 0"),
        ({"learning_rate": 0.0}, "above 0"),
        ({"discount": 1.5}, "between 0 and 1"),
        ({"hidden": 10.5}, "a whole number"),
        ({"epochs": True}, "a whole number"),
        ({"seed": None}, "a whole number"),
        ({"alpha": False}, "a number"),
        ({"learning_rate": "x"}, "a number or none"),
        ({"shared": 1}, "true or false"),
        ({"model": ["drrn"]}, "a name"),
        ({"model": "drn"}, "drrn"),
        ({"encoder": "bags"}, f"{', '.join(ENCODERS)}, or give your own"),
        ({"model": "my models:Own"}, "linear"),
        ({"optimiser": "mine:Own"}, "sgd, adam"),
        ({"shared": True, "interaction": "bilinear", "action_hidden": 5}, "action_hidden"),
    ],
)
def test_the_error_for_an_invalid_value_names_the_setting_and_what_is_valid(settings, part):
    with pytest.raises(InputError) as error:
        Settings.from_flat(**settings)
    assert part in str(error.value) and next(iter(settings)) in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("average", "none", None),
        ("average", "0.5", 0.5),
        ("keep", "yes", True),
        ("keep", "no", False),
        ("epochs", "3", 3),
        ("model", "none", "none"),
        ("epochs", "none", InputError),
        ("epochs", "2.5", InputError),
        ("keep", "maybe", InputError),
    ],
)
def test_text_is_converted_to_the_type_of_the_setting(name, text, value):
    setting = all_settings()[name]
    if value is InputError:
        with pytest.raises(InputError, match=f'{name} is "{text}"'):
            setting.read(text)
    else:
        assert setting.read(text) == value and type(setting.read(text)) is type(value)


# --- settings without effect

FILES = {"vectors": "glove.txt", "sentences": "module:function"}


def met_by(needs):
    """Return settings that have the first of the values that another one needs."""
    met = {n: FILES.get(n, v if isinstance(v, bool) else v[0]) for n, v in needs.items()}
    return {**met, **({"vectors": "glove.txt"} if met.get("encoder") == "vectors" else {})}


def test_a_setting_without_effect_is_refused_if_the_user_gives_it():
    for name, each in all_settings().items():
        if not PAPER.uses(name) and name != "vectors":
            # none, false or 0 would turn the setting off
            value = each.default or {bool: True, int: 1, float: 0.5}[each.kind]
            with pytest.raises(InputError) as error:
                settings_for({}, {name: value})
            assert name in str(error.value) and needs_text(name) in str(error.value)
            met = met_by(each.needs[0])
            assert settings_for({}, {**met, name: value}).flat()[name] == value
            assert settings_for({name: value}, {}).flat()[name] == value  # of a game, or a config


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("layers", {"model": "linear"}),
        ("hidden", {"model": "table"}),
        ("interaction", {"model": "per-action"}),
        ("shared", {"model": "max-action"}),
        ("encoder", {"model": "table"}),
        ("phrases", {"encoder": "gru"}),
        ("select_words", {"encoder": "hash", "action_encoder": "bag"}),
        ("matches", {"encoder": "bag", "action_encoder": "hash"}),
        ("sentences", {"recall": False}),
        ("epochs", {"learner": "returns"}),
        ("n_steps", {"learner": "returns"}),
        ("trace", {"learner": "returns", "returns": "monte-carlo"}),
        ("listwise", {"learner": "returns", "advantages": True}),
        ("advantages", {"learner": "returns", "listwise": True}),
        ("pseudo_count", {"learner": "returns", "listwise": True}),
        ("vectors_noise", {"vectors": "glove.txt"}),
    ],
)
def test_a_setting_has_no_effect_together_with_some_others(name, others):
    assert not Settings.from_flat(others).uses(name)


def test_a_part_of_the_users_own_may_use_any_setting():
    own = Settings.from_flat(model="mine:M", encoder="mine:E", learner="mine:L", vectors="v.txt")
    unused = {needs_text(name) for name in all_settings() if not own.uses(name)}
    keep = "keep, or exploration optimism"
    assert unused == {keep, "exploration optimism", "phrases", "sentences"}


def test_a_setting_that_is_turned_off_needs_nothing():
    off = {"shared": False, "state_dropout": 0.0, "rate_end": None, "average": None, "keep": False}
    assert settings_for({}, {"model": "max-action", **off}).model.name == "max-action"
    assert strong(learner="q-learning", **off).learner.name == "q-learning"


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
    assert settings.uses("encoder") == any(name.startswith("table ") for name in weights(**base))


# --- settings of games, options and experiments


def test_given_settings_override_those_of_the_game_which_override_the_defaults():
    class Tale(Doors):
        name = "tale"
        title = "A tale"
        training: ClassVar = {"alpha": 0.7}

    game = Tale()
    assert recommended_settings(game) == {"alpha": 0.7}
    assert settings_for(recommended_settings(game), {}) == Settings.from_flat(alpha=0.7)
    assert settings_for(recommended_settings(game), {"alpha": 3.0}).exploration.alpha == 3.0
    game.title = "Saving John"
    assert recommended_settings(game) == {"alpha": 0.7, "epochs": 3}


def test_every_setting_is_an_option_of_its_type(tale):
    words = "--hidden 7 --alpha 2 --average none --no-keep --vectors-noise 0 --optimiser sgd"
    options = parser().parse_args(["train", str(tale), *words.split()])
    settings, paper = _settings(options, Doors())
    assert not paper and settings == strong(
        hidden=7, alpha=2.0, average=None, keep=False, vectors_noise=0.0, optimiser="sgd"
    )
    with pytest.raises(InputError, match='--average is "much"'):
        parser().parse_args(["train", "fork", "--average", "much"])


def test_options_and_arguments_without_effect_are_refused_but_those_of_a_config_are_not(
    tale, tmp_path, capsys
):
    assert train(tale, tmp_path / "run", "--model", "linear", "--layers", "3") == 2
    assert capsys.readouterr().err.count("\n") == 1 and not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="layers"):
        drrn.trainer(drrn.make(tale), paper=True, model="linear", layers=3)
    (tmp_path / "config.json").write_text(json.dumps({"layers": 3}))
    words = ["train", str(tale), "--config", str(tmp_path / "config.json"), "--model", "linear"]
    assert _settings(parser().parse_args(words), Doors())[0].model.layers == 3


RESULTS = ROOT / "results"


@pytest.mark.parametrize("game", ["long-watch", "night-market"])
def test_published_rows_have_the_settings_of_the_plan(game):
    results = Results(RESULTS)
    opened = drrn.make(game)
    names = [name for each, name in results.jobs() if each == game and name in VARIANTS]
    assert len(names) > 5
    for name in names:
        stored = results.load(game, name)
        assert stored is not None
        actual = stored.record["wanted"]
        plan = settings_of(game, VARIANTS[name], opened, Scale()).flat()
        del plan["vectors"]  # a file: rows have its digest
        assert difference({key: actual[key] for key in actual if key in plan}, plan) is None, name


# --- recipes

BY_Q: dict[str, Any] = {
    "updates": 100,
    "average": None,
    "optimiser": "sgd",
    "learning_rate": None,
    "survey": False,
}
BY_Q |= {"rate_end": None, "batch_size": 32, "state_dropout": 0.0, "action_dropout": 0.0}
BY_Q |= {"action_noise": 0.0, "vectors_noise": 0.0, "vectors_scale": 1.0, "learner": "q-learning"}


@pytest.mark.parametrize(
    ("given", "changes"),  # of the strong recipe
    [
        ({}, {}),
        ({"updates": 9}, {}),
        ({"learner": "q-learning"}, BY_Q),
        ({"learner": "mine:Own"}, {}),
        ({"model": "table"}, {"learning_rate": None}),
        ({"model": "linear"}, {"exploration": "softmax"}),
        ({"model": "linear", "exploration": "optimism"}, {}),
        ({"optimiser": "sgd"}, {"learning_rate": 0.0003, "batch_size": 32}),
        ({"optimiser": "sgd", "model": "table"}, {"learning_rate": None, "batch_size": 32}),
        ({"alpha": 3.0}, {"alpha_start": 1.0}),
        ({"alpha": 3.0, "alpha_start": 0.1}, {}),
        ({"alpha": 0}, {"alpha_start": None}),
    ],
    ids=str,
)
def test_the_strong_recipe_adapts_to_given_settings(given, changes):
    assert strong(**given).flat() == {**STRONG.flat(), **changes, **given}


def test_the_papers_recipe_takes_the_settings_of_the_game():
    game = {"alpha": 0.7, "epochs": 3}
    assert recipe(paper=True, recommended=game) == game
    assert recipe(paper=False, recommended=game)["alpha"] == STRONG_CHANGES["alpha"]
    absolute = recipe(paper=True, recommended={"alpha_relative": True}, given={"alpha": 0.2})
    assert absolute == {}


def test_the_error_for_a_setting_of_the_papers_learner_names_the_paper_option():
    for options in ({"epochs": 3}, {"n_steps": 4}):
        with pytest.raises(InputError, match="--paper"):
            strong(**options)
        assert strong(**options, learner="q-learning")


@pytest.mark.parametrize(("name", "small"), [("strong", SMALL_STRONG), ("paper", SMALL)])
def test_a_run_has_its_recipe_and_is_repeated_from_its_config(tale, tmp_path, name, small):
    run = tmp_path / name
    assert main(["train", str(tale), "--out", str(run), *small]) == 0
    config = config_of(run)
    again = ["train", str(tale), "--config", str(run), "--out", str(tmp_path / "cut")]
    assert main([*again, "--rounds", "1"]) == 0
    assert main([*resume_command(tmp_path / "cut"), "--rounds", "3", "--workers", "2"]) == 0
    config["settings"]["workers"] = 2  # does not change results
    assert config_of(tmp_path / "cut") == config and config["recipe"] == name
    if name == "paper":  # α and η of the strong recipe follow the number of rounds
        assert same_results(results_of(run), results_of(tmp_path / "cut"))


def test_the_recipe_of_a_config_or_of_a_resumed_run_stays(tale, tmp_path, capsys):
    (tmp_path / "config.json").write_text(json.dumps({"recipe": "strong", "settings": {}}))
    path = str(tmp_path / "config.json")
    assert main(["train", str(tale), "--paper", "--config", path]) == 2
    assert "--paper" in capsys.readouterr().err
    assert main(["train", "--resume", "nowhere", "--paper"]) == 2
    assert "--paper" in capsys.readouterr().err


# --- schedules


@pytest.mark.parametrize(
    ("settings", "alphas"),
    [
        ({"alpha": 16.0, "alpha_start": 1.0}, [1.0, 2.0, 4.0, 16.0, 16.0]),  # 16 ** ¼ after 3 of 12
        ({"alpha": 1.0, "alpha_start": 16.0}, [16.0, 8.0, 4.0, 1.0, 1.0]),
        ({"alpha": 0.7}, [0.7] * 5),
        ({"alpha": 0.0, "alpha_start": 0.5}, [0.0] * 5),
    ],
)
def test_alpha_changes_geometrically_over_three_quarters_of_the_rounds(settings, alphas):
    settings = Settings.from_flat(settings, rounds=17)
    assert [settings.alpha_at(n) for n in (1, 4, 7, 13, 17)] == pytest.approx(alphas)


@pytest.mark.parametrize(
    ("settings", "rates"),
    [
        ({"learning_rate": 0.5, "rate_end": 0.2}, [0.5, 0.5, 0.4, 0.3, 0.2]),
        ({"learning_rate": 0.5}, [0.5] * 5),
        ({"model": "table", "rate_end": 0.05}, [0.2, 0.2, 0.15, 0.1, 0.05]),
    ],
)
def test_the_learning_rate_falls_linearly_over_the_last_three_tenths(settings, rates):
    settings = Settings.from_flat(settings, rounds=11)
    assert [settings.learning_rate_at(n) for n in (1, 8, 9, 10, 11)] == pytest.approx(rates)


@pytest.mark.parametrize(
    ("share", "rounds", "last"), [(0.7, 10, 7), (0.5, 5, 2), (1.0, 3, 3), (0.0, 3, 0), (0.7, 1, 0)]
)
def test_optimism_explores_in_the_first_share_of_the_rounds(share, rounds, last):
    settings = Settings.from_flat(exploration="optimism", optimism_share=share, rounds=rounds)
    numbers = range(1, rounds + 1)
    assert [settings.explores_at(n) for n in numbers] == [n <= last for n in numbers]
    assert not settings.replace(exploration="softmax").explores_at(1)


def test_a_plan_follows_optimism():
    plans = Settings.from_flat(
        exploration="optimism", after_optimism="plan", optimism_share=0.5, rounds=4
    )
    assert [plans.plans_at(number) for number in (1, 2, 3, 4)] == [False, False, True, True]
    assert not plans.replace(exploration="softmax").plans_at(4)
    with pytest.raises(InputError, match="optimism_share"):
        plans.replace(optimism_share=1.0)
