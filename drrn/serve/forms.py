"""The settings of a training run as a form of the page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.registry import is_object
from drrn.runs.config import recommended_settings
from drrn.settings import VECTOR_ENCODERS, Settings, all_settings, recipe, settings_for

FILES = ("vectors", "sentences")  # settings that name a file or code: not available on the page
FILE_ENCODERS = (*VECTOR_ENCODERS, "sentence")  # encoders that need them
COMMON = (
    "model rounds episodes_per_round replicas seed hidden layers encoder learner "
    "learning_rate discount alpha exploration"
).split()
LIMITS: dict[str, float] = {  # of what the page may demand of the machine
    "rounds": 10_000,
    "episodes_per_round": 100_000,
    "replicas": 64,
    "hidden": 4096,
    "layers": 8,
    "evaluation_episodes": 100_000,
    "history": 20,
    "workers": max(1, os.cpu_count() or 1),
}


def settings_form(game: Game, *, paper: bool) -> list[dict[str, Any]]:
    """Return a field for each setting, with the default for this game; common ones first."""
    defaults = settings_for(recipe(paper=paper, recommended=_recommended(game)), {}).flat()
    names = [name for name in all_settings() if name not in FILES]
    names.sort(key=lambda name: COMMON.index(name) if name in COMMON else len(COMMON))
    return [_field(name, defaults[name]) for name in names]


def _field(name: str, default: Any) -> dict[str, Any]:
    setting = all_settings()[name]
    return {
        "name": name,
        "kind": setting.kind.__name__,
        "optional": setting.optional,
        "default": default,
        "help": setting.help,
        "choices": [choice for choice in setting.choices if choice not in FILE_ENCODERS],
        "least": setting.least,
        "most": LIMITS.get(name, setting.most),
        "above": setting.above,
        "group": "common" if name in COMMON else "more",
    }


def settings_from(game: Game, values: Mapping[str, Any], *, paper: bool) -> Settings:
    """Return the settings that a form asks for.

    Raises:
        InputError: A value is wrong, above the limit of the page, or names a file or code.
    """
    _check_no_code(values)
    defaults = recipe(paper=paper, recommended=_recommended(game), given=values)
    settings = settings_for(defaults, values)
    flat = settings.flat()
    _check_no_code(flat)
    for name, limit in LIMITS.items():
        if flat[name] > limit:
            raise InputError(f"{name} is {flat[name]}; the limit on this page is {limit:g}")
    return settings


def _recommended(game: Game) -> dict[str, Any]:
    """Return the settings that the story's TOML recommends; an uploaded one is not trusted."""
    settings = recommended_settings(game)
    return {name: value for name, value in settings.items() if name not in FILES}


def _check_no_code(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        is_code = isinstance(value, str) and (is_object(value) or value in FILE_ENCODERS)
        if is_code or (name in FILES and value is not None):
            raise InputError(f'{name} "{value}" is available only on the command line')
