"""The form of a training run: a field for each setting, and the check of what was entered."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drrn.runs.config import recommended_settings
from drrn.settings import VECTOR_ENCODERS, Settings, all_settings, recipe, settings_for
from textgames.errors import InputError
from textgames.files import read_toml
from textgames.game.contract import Game
from textgames.registry import is_object

FILES = ("vectors", "sentences")  # settings that name a file or code: not available on the page
FILE_ENCODERS = (*VECTOR_ENCODERS, "sentence")  # encoders that need them
TABLE = read_toml(Path(__file__).with_name("server.toml"))
# The group of each setting in the form, in order. The last one has all others.
GROUPS = {name: group for group, names in TABLE["groups"].items() for name in names.split()}
OTHERS = list(TABLE["groups"])[-1]
LIMITS: dict[str, float] = {**TABLE["limits"], "workers": max(1, os.cpu_count() or 1)}


def settings_form(game: Game, *, paper: bool) -> list[dict[str, Any]]:
    """A field for each setting, with the default for this game, by groups."""
    defaults = settings_for(recipe(paper=paper, recommended=_recommended(game)), {}).flat()
    names = [name for name in all_settings() if name not in FILES]
    order = [*GROUPS, *(name for name in names if name not in GROUPS)]
    names.sort(key=order.index)
    return [_field(name, defaults[name]) for name in names]


def _field(name: str, default: Any) -> dict[str, Any]:
    setting = all_settings()[name]
    return {
        **{key: getattr(setting, key) for key in ("name", "optional", "help", "least")},
        "kind": setting.kind.__name__,
        "default": default,
        "choices": [choice for choice in setting.choices if choice not in FILE_ENCODERS],
        "most": LIMITS.get(name, setting.most),
        "group": GROUPS.get(name, OTHERS),
        "label": TABLE["labels"].get(name, name[0].upper() + name[1:].replace("_", " ")),
    }


def settings_from(game: Game, values: Mapping[str, Any], *, paper: bool) -> Settings:
    """The settings that a form asks for.

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
    """The settings that the story's TOML recommends. An uploaded one is not trusted."""
    settings = recommended_settings(game)
    return {name: value for name, value in settings.items() if name not in FILES}


def _check_no_code(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        is_code = isinstance(value, str) and (is_object(value) or value in FILE_ENCODERS)
        if is_code or (name in FILES and value is not None):
            raise InputError(f'{name} "{value}" is available only on the command line')
