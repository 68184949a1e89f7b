"""Recipes: the default settings of a run, the paper's own or the strong recipe's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from drrn.declaration import Setting
from drrn.errors import InputError
from drrn.settings import Settings

# The strong recipe (docs/beyond.md): what `drrn train` uses, unless --paper asks for the paper's settings.
STRONG: dict[str, Any] = {
    "learner": "returns",
    "discount": 0.98,
    "alpha": 1.5,
    "alpha_start": 0.5,
    "optimiser": "adam",
    "learning_rate": 0.002,
    "rate_end": 0.0001,
    "batch_size": 512,
    "updates": 100,
    "average": 0.99,
    "state_dropout": 0.1,
    "action_dropout": 0.3,
    "action_noise": 0.3,
    "vectors_noise": 1.5,
    "vectors_scale": 5.0,
    "keep": True,
    "exploration": "optimism",
}

# What the strong recipe holds for its own learner; q-learning has the paper's.
BESIDE_RETURNS = ("optimiser", "learning_rate", "rate_end", "batch_size", "updates", "average", "state_dropout",
                  "action_dropout", "action_noise", "vectors_noise")  # fmt: skip
# Where something else is asked for than the strong recipe has, what it holds beside that is left out, too: when, what.
LEFT_OUT: tuple[tuple[Callable[[Mapping[str, Any]], bool], tuple[str, ...]], ...] = (
    (lambda s: s["learner"] == "q-learning", BESIDE_RETURNS),
    (
        lambda s: s["form"] == "online",
        ("exploration", "keep", "batch_size"),
    ),  # no whole episodes to explore by
    (lambda s: s["model"] == "table", ("learning_rate",)),  # a table has a rate of its own
    (
        lambda s: s["model"] == "linear",
        ("exploration",),
    ),  # it cannot fit what is good and what was only tried
    (
        lambda s: s["optimiser"] != "adam",
        ("learning_rate", "batch_size"),
    ),  # which would diverge: gradients are summed
)
OTHER_RATES = {
    "sgd": 0.0003,
    "momentum": 0.0001,
}  # of the learner returns without Adam: returns are large targets


def recipe(
    *, paper: bool, suiting: Mapping[str, Any], given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The settings of a recipe for a game, beside the defaults of `Settings`. `suiting` are recommended by the game.

    The paper's recipe takes all of them, the strong recipe only those that it does not set itself. `given` are the
    settings that the user gives: parts of the strong recipe that do not go with them are left out.
    """
    given = given or {}
    if "alpha" in given and "alpha_relative" not in given:  # whoever names an α means that α
        suiting = {name: value for name, value in suiting.items() if name != "alpha_relative"}
    if paper:
        return dict(suiting)
    chosen = {**asdict(Settings()), **suiting, **STRONG, **given}
    if chosen["form"] == "online" and chosen["learner"] == "returns" and "learner" not in given:
        cure = "add --paper (in Python: paper=True), or choose the learner q-learning"
        raise InputError(
            f"the strong recipe learns from whole episodes, and form online has none: {cure}"
        )
    left_out = {name for counts, names in LEFT_OUT if counts(chosen) for name in names}
    found = {**suiting, **{name: value for name, value in STRONG.items() if name not in left_out}}
    if (
        chosen["learner"] == "returns"
        and chosen["optimiser"] in OTHER_RATES
        and chosen["model"] != "table"
    ):
        found["learning_rate"] = OTHER_RATES[chosen["optimiser"]]
    if "alpha" in given and isinstance(
        given["alpha"], (int, float)
    ):  # α begins at the same share of another one
        share = STRONG["alpha_start"] / STRONG["alpha"]
        found["alpha_start"] = given["alpha"] * share if given["alpha"] > 0 else None
    return found


def recipe_name(*, paper: bool) -> str:
    """The recipe's name in config.json."""
    return "paper" if paper else "strong"


def shown_defaults(setting: Setting) -> str:
    """The default of a setting, as help shows it: by either recipe, where they differ."""
    strong = STRONG.get(setting.name, setting.default)
    if strong == setting.default:
        return (
            ""
            if setting.default is None or setting.kind is bool
            else f" (default: {setting.default})"
        )
    return f" (strong: {_word(strong)}; paper: {_word(setting.default)})"


def _word(value: Any) -> str:
    return (
        f"{value:g}"
        if isinstance(value, float)
        else {None: "none", True: "on", False: "off"}.get(value, str(value))
    )
