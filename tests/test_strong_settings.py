"""The strong recipe's settings: schedules by hand, what does not count is refused, each part has a way off."""

import json

import pytest

from drrn.cli import main
from drrn.errors import InputError
from drrn.recipes import recipe
from drrn.settings import ONLY, Settings, settings_for
from tests.runs import FEW

# --- schedules


def test_alpha_rises_by_the_same_factor_each_round_and_stays_from_three_quarters_on():
    settings = Settings(alpha=16.0, alpha_start=1.0, rounds=17)
    assert settings.alpha_at(1) == 1.0
    assert settings.alpha_at(4) == pytest.approx(
        2.0
    )  # a quarter of the first twelve rounds: 16 to the ¼
    assert settings.alpha_at(7) == pytest.approx(4.0)
    assert [settings.alpha_at(number) for number in (13, 15, 17)] == pytest.approx([16.0] * 3)


def test_alpha_may_fall_as_well():
    settings = Settings(alpha=1.0, alpha_start=4.0, rounds=5)
    assert [settings.alpha_at(number) for number in (1, 4, 5)] == pytest.approx([4.0, 1.0, 1.0])


@pytest.mark.parametrize(
    "settings", [{"alpha": 0.7}, {"alpha": 0.0, "alpha_start": 0.5}, {"alpha": 0}], ids=str
)
def test_without_a_start_or_with_an_alpha_of_zero_it_is_the_same_in_every_round(settings):
    made = Settings(**settings, rounds=9)
    assert [made.alpha_at(number) for number in (1, 5, 9)] == [made.alpha] * 3


def test_the_rate_falls_in_a_straight_line_over_the_last_three_tenths():
    settings = Settings(learning_rate=0.5, rate_end=0.2, rounds=11)
    assert [settings.rate_at(number) for number in (1, 6, 8)] == [0.5] * 3
    assert [settings.rate_at(number) for number in (9, 10, 11)] == pytest.approx([0.4, 0.3, 0.2])


def test_a_rate_without_an_end_is_the_same_in_every_round_and_a_table_falls_from_its_own():
    assert {Settings(learning_rate=0.5, rounds=11).rate_at(number) for number in range(1, 12)} == {
        0.5
    }
    table = Settings(model="table", rate_end=0.1, rounds=11)
    assert [table.rate_at(number) for number in (1, 11)] == pytest.approx([0.2, 0.1])


def test_a_single_round_has_the_first_value_of_each_schedule():
    settings = Settings(alpha=2.0, alpha_start=0.5, learning_rate=0.5, rate_end=0.1, rounds=1)
    assert settings.alpha_at(1) == 0.5 and settings.rate_at(1) == 0.5


@pytest.mark.parametrize(
    ("share", "rounds", "last"), [(0.7, 10, 7), (0.5, 5, 2), (1.0, 3, 3), (0.0, 3, 0), (0.7, 1, 0)]
)
def test_optimism_explores_in_the_first_share_of_the_rounds(share, rounds, last):
    settings = Settings(exploration="optimism", optimism_share=share, rounds=rounds)
    assert [settings.explores_at(number) for number in range(1, rounds + 1)] == [
        n < last for n in range(rounds)
    ]
    assert not Settings(exploration="softmax", rounds=rounds).explores_at(1)


# --- what would not count

BY_RETURNS = "with the learner returns"
OR_OPTIMISM = "with the learner returns, or with exploration optimism"
REFUSED = [
    ("rate_end", 0.0001, BY_RETURNS, {"learner": "returns"}),
    ("updates", 5, BY_RETURNS, {"learner": "returns"}),
    ("count_power", 1.0, BY_RETURNS, {"learner": "returns"}),
    ("average", 0.9, BY_RETURNS, {"learner": "returns"}),
    ("state_dropout", 0.1, BY_RETURNS, {"learner": "returns"}),
    ("action_dropout", 0.1, BY_RETURNS, {"learner": "returns"}),
    ("action_noise", 0.1, BY_RETURNS, {"learner": "returns"}),
    ("returns", "retrace", OR_OPTIMISM, {"learner": "returns"}),
    ("returns", "monte-carlo", OR_OPTIMISM, {"exploration": "optimism"}),
    ("sweeps", 1, OR_OPTIMISM, {"exploration": "optimism"}),
    ("pseudo_count", 1.0, OR_OPTIMISM, {"learner": "returns"}),
    ("trace", 0.5, "with the learner returns, and with returns retrace", {"learner": "returns"}),
    ("optimism", 3.0, "with exploration optimism", {"exploration": "optimism"}),
    ("optimism_share", 0.5, "with exploration optimism", {"exploration": "optimism"}),
    ("replan", 10, "with exploration optimism", {"exploration": "optimism"}),
    (
        "capacity",
        10,
        "with keep, or with form online, or with exploration optimism",
        {"exploration": "optimism"},
    ),
    ("vectors_scale", 2.0, "with vectors or sentences", {"vectors": "glove.txt"}),
    (
        "vectors_noise",
        1.0,
        "with vectors and learner returns",
        {"vectors": "glove.txt", "learner": "returns"},
    ),
]


@pytest.mark.parametrize(("name", "value", "when", "cure"), REFUSED, ids=lambda value: str(value))
def test_a_part_that_would_not_count_is_refused_and_the_sentence_says_when_it_does(
    name, value, when, cure
):
    with pytest.raises(InputError) as error:
        settings_for({}, {name: value})
    assert (
        str(error.value)
        == f"{name} is given, but it counts only {when}: leave it out, or set that, too"
    )
    assert getattr(settings_for({}, {name: value, **cure}), name) == value


def test_retrace_has_a_trace_and_monte_carlo_has_none():
    with pytest.raises(
        InputError, match="trace is given, but it counts only with the learner returns, and with"
    ):
        settings_for({}, {"trace": 0.5, "learner": "returns", "returns": "monte-carlo"})


def test_every_setting_that_counts_only_with_the_recipes_parts_is_among_those_refused():
    older = {
        "epochs",
        "hidden",
        "embedding",
        "sentences",
        "vectors_trained",
        "lstm_gain",
        "bag_norm",
        "vectors",
        "keep",
        "epsilon",
        "n_steps",
        "target_every",
        "double",
        "prioritised",
    }
    assert set(ONLY) - older == {name for name, *_ in REFUSED}


# --- ways off, from the command line

OFF = {
    "--action-noise 0": {"action_noise": 0.0},
    "--sweeps 1 --count-power 0": {"sweeps": 1, "count_power": 0.0},
    "--optimism-share 0": {"optimism_share": 0.0},
    "--vectors-noise 0": {"vectors_noise": 0.0},
    "--vectors-scale 1 --vectors small.txt": {"vectors_scale": 1.0},
}


@pytest.mark.parametrize("words", OFF)
@pytest.mark.usefixtures("own_folder")
def test_what_is_not_in_the_recipes_own_list_can_be_switched_off_as_well(tale, tmp_path, words):
    (tmp_path / "small.txt").write_text("go 1.5 2\nout 1 -1\nstay 0.5 1\n")
    small = [*FEW, "--rounds", "1", "--updates", "2", "--batch-size", "4"]
    assert main(["train", str(tale), "--out", str(tmp_path / "run"), *small, *words.split()]) == 0
    assert (
        OFF[words].items()
        <= json.loads((tmp_path / "run/config.json").read_text())["settings"].items()
    )


def test_a_part_that_is_off_already_need_not_count():
    given = {
        "learner": "q-learning",
        "state_dropout": 0.0,
        "action_noise": 0.0,
        "rate_end": None,
        "average": None,
    }
    assert settings_for(recipe(paper=False, suiting={}, given=given), given).learner == "q-learning"
