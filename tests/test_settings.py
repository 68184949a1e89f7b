"""Settings: one declaration makes the checks, the command line and NAME=VALUE; what would not count is refused."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import torch

import drrn
from drrn.cli import main, parser
from drrn.errors import InputError
from drrn.lab.experiments.folder import Results, difference
from drrn.lab.experiments.plan import VARIANTS, Scale, settings_of
from drrn.models import Shape, build_model
from drrn.models.encoders.gru import GRUEncoder
from drrn.runs.config import recommended_settings
from drrn.settings import MODELS, Settings, all_settings, settings_for, uses
from drrn.text import Store
from tests.runs import train


def test_what_suits_the_game_comes_before_the_defaults_and_what_is_asked_for_before_both():
    assert settings_for({}, {}) == Settings()
    assert settings_for({"alpha": 0.7}, {}).alpha == 0.7
    assert settings_for({"alpha": 0.7}, {"alpha": 3.0}).alpha == 3.0
    with pytest.raises(InputError, match='no setting is named "alhpa"'):
        settings_for({"alhpa": 0.7}, {})
    with pytest.raises(InputError, match="epochs is true; it must be a whole number"):
        settings_for({"epochs": True}, {})


def test_the_papers_games_are_learned_with_the_papers_settings():
    class Titled:
        name, title, training = "tale", "A tale", {"alpha": 0.7}

    game = Titled()
    assert recommended_settings(game) == {"alpha": 0.7}
    game.title = "Saving John"
    assert recommended_settings(game) == {"alpha": 0.7, "epochs": 3}


def test_what_suits_a_game_can_be_turned_off_on_the_command_line(tale, tmp_path):
    tale.write_text(
        tale.read_text().replace("[[ending]]", "[training]\nbag_norm = 2.0\n[[ending]]", 1)
    )
    for number, (words, norm) in enumerate(
        [([], 2.0), (["--bag-norm", "3"], 3.0), (["--bag-norm", "none"], None)]
    ):
        assert train(tale, tmp_path / str(number), "--rounds", "1", *words) == 0
        config = json.loads((tmp_path / str(number) / "config.json").read_text())
        assert config["settings"]["bag_norm"] == norm


def test_every_setting_is_an_option_that_reads_what_its_type_says():
    words = ["--hidden", "7", "--alpha", "2", "--clip", "none", "--model", "table", "--shared"]
    options = vars(parser().parse_args(["train", "long-watch", *words]))
    given = {name: value for name, value in options.items() if name in all_settings()}
    assert given == {"hidden": 7, "alpha": 2.0, "clip": None, "model": "table", "shared": True}
    assert list(all_settings()) == [f.name for f in fields(Settings)]
    with pytest.raises(InputError, match='bag_norm is "much"; it must be a number or none'):
        parser().parse_args(["train", "fork", "--bag-norm", "much"])


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("bag_norm", "none", None),
        ("bag_norm", "2", 2.0),
        ("keep", "yes", True),
        ("keep", "no", False),
        ("epochs", "3", 3),
        ("target_every", "none", None),
        ("model", "none", "none"),
    ],
)
def test_a_text_is_read_as_the_settings_type_says(name, text, value):
    found = all_settings()[name].read(text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("epochs", "none", "a whole number"),
        ("epochs", "2.5", "a whole number"),
        ("keep", "maybe", "yes or no"),
    ],
)
def test_a_text_of_another_type_is_one_sentence(name, text, said):
    with pytest.raises(InputError, match=f'{name} is "{text}"; it must be {said}$'):
        all_settings()[name].read(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": 0}, "hidden is 0; it must be at least 1"),
        ({"alpha": -1.0}, "alpha is -1.0; it must be at least 0"),
        ({"model": "drn"}, 'Did you mean "drrn"?'),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; it must be above 0"),
        ({"discount": 1.5}, "it must lie between 0 and 1"),
        ({"double": True}, "set target_every"),
        (
            {"shared": True, "interaction": "bilinear", "action_hidden": 5},
            "shared embeddings have one size",
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
            "choose from bag, lstm, gru, attention, vectors, bag+vectors, sentence, or give your own as module:name",
        ),
        ({"model": "my models:Own"}, "choose from drrn, linear"),
        ({"loss": "mine:loss"}, 'loss is "mine:loss"; choose from squared, huber.'),
        ({"workers": 0}, "workers is 0; it must be at least 1"),
        ({"alpha": float("nan")}, "alpha is nan; it must be at least 0"),
    ],
)
def test_a_setting_out_of_range_is_one_sentence(settings, message):
    with pytest.raises(InputError) as error:
        Settings(**settings)
    assert message in str(error.value)


def test_a_whole_number_will_do_where_any_number_does():
    assert Settings(alpha=2, learning_rate=1, clip=None).alpha == 2


# --- what would not count

UNUSED = [
    ({"model": "linear", "layers": 3}, 'layers is given, but the model "linear" does not use it'),
    (
        {"model": "table", "hidden": 5},
        "leave it out, or choose from drrn, linear, max-action, per-action",
    ),
    (
        {"model": "table", "bag_norm": 2.0},
        'bag_norm is given, but the model "table" does not use it',
    ),
    ({"model": "per-action", "interaction": "bilinear"}, "leave it out, or choose from drrn"),
    ({"model": "max-action", "shared": True}, 'shared is given, but the model "max-action"'),
    ({"epsilon": 0.2}, "epsilon is given, but it counts only with exploration epsilon"),
    ({"capacity": 100}, "capacity is given, but it counts only with keep, or with form online"),
    ({"form": "online", "epochs": 3}, "epochs is given, but it counts only with form rounds"),
    ({"form": "online", "keep": True}, "keep is given, but it counts only with form rounds"),
]


@pytest.mark.parametrize(("given", "message"), UNUSED, ids=str)
def test_a_setting_that_would_not_count_is_refused_where_it_was_asked_for(given, message):
    with pytest.raises(InputError) as error:
        settings_for({}, given)
    assert message in str(error.value)
    assert settings_for(given, {}) == Settings(
        **given
    )  # not where it comes from a game or another run


@pytest.mark.parametrize(
    "given",
    [
        {"model": "linear", "bag_norm": 2.0},
        {"model": "max-action", "layers": 1, "shared": False},
        {"model": "table", "bag_norm": None},
        {"exploration": "epsilon", "epsilon": 0.2},
        {"exploration": "greedy", "alpha": 2.0},
        {"keep": True, "capacity": 100},
        {"form": "online", "capacity": 100, "keep": False},
        {"model": "mine:Own", "interaction": "network", "hidden": 3, "shared": True},
    ],
    ids=str,
)
def test_a_setting_that_counts_or_is_turned_off_is_not_refused(given):
    assert settings_for({}, given) == Settings(**given)


def test_the_command_line_and_the_trainer_refuse_what_would_not_count_and_config_does_not(
    tale, tmp_path, capsys
):
    assert train(tale, tmp_path / "run", "--model", "linear", "--layers", "3") == 2
    assert capsys.readouterr().err.count("\n") == 1 and not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="layers is given"):
        drrn.trainer(drrn.make(tale), paper=True, model="linear", layers=3)
    assert train(tale, tmp_path / "one", "--rounds", "1", "--layers", "3") == 0
    config = str(tmp_path / "one/config.json")
    assert (
        main(
            [
                "train",
                str(tale),
                "--config",
                config,
                "--model",
                "linear",
                "--out",
                str(tmp_path / "two"),
            ]
        )
        == 0
    )


OTHER = {"hidden": 7, "layers": 3, "interaction": "network", "action_hidden": 4, "shared": True}


@pytest.mark.parametrize("model", MODELS)
def test_models_use_the_settings_that_the_table_says_and_no_others(model):
    """A setting is used if another value of it makes other weights; how a text is read counts where words do."""

    def weights(**shape):
        store = Store.of_words(["sea", "lamp"], shared=True)
        built = build_model(model, Shape(**shape), store, [0], torch.device("cpu"))
        return {name: array.shape for name, array in built.state().items()}

    base = {"hidden": 5, "layers": 2, "interaction": "bilinear"}
    if model == "linear":  # which has hidden units where an encoder gives it no Q-values
        base["encoder"] = GRUEncoder
    for name, value in OTHER.items():
        assert (weights(**base) != weights(**{**base, name: value})) == uses(model, name), name
    reads = any(name.startswith("table ") for name in weights(**base))
    assert all(uses(model, name) == reads for name in ("encoder", "bag_norm"))


# --- experiments


RESULTS = Path(__file__).parents[1] / "results"


def published():
    return [
        (game, name)
        for game in ("long-watch", "night-market")
        for name in Results(RESULTS).names(game)
        if name in VARIANTS
    ]


@pytest.mark.parametrize(("game", "name"), published())
def test_published_rows_have_the_settings_of_the_plan(game, name):
    made = Results(RESULTS).record(game, name)["wanted"]
    planned = asdict(settings_of(game, VARIANTS[name], drrn.make(game), Scale()))
    del planned["vectors"]  # a file: rows have its digest
    assert difference({key: made[key] for key in made if key in planned}, planned) is None


def test_a_setting_for_all_jobs_is_not_refused_for_the_models_that_do_not_use_it():
    game = drrn.make("long-watch")
    for variant in (each for each in VARIANTS.values() if not getattr(each, "vectors", False)):
        assert (
            settings_of("long-watch", variant, game, Scale(given={"bag_norm": 2.0})).bag_norm == 2.0
        )
    with pytest.raises(InputError, match="epsilon is given"):
        settings_of("long-watch", VARIANTS["table"], game, Scale(given={"epsilon": 0.2}))


def test_a_run_can_be_gone_on_with_by_another_number_of_workers(tale, tmp_path):
    assert train(tale, tmp_path / "run", "--rounds", "1") == 0
    assert main(["train", "--resume", str(tmp_path / "run"), "--workers", "2"]) == 0


def test_settings_are_checked_without_pytorch_and_without_the_users_module(tmp_path):
    (tmp_path / "loud.py").write_text("raise SystemExit('imported')")
    code = "import sys; from drrn.settings import Settings; Settings(model='loud:Model', interaction='a.b:c'); "
    code += "assert 'torch' not in sys.modules"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment).returncode == 0
    )
