"""The settings of a training run as a form: what can be set on the page, and what a form that comes back means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.registry import is_object
from drrn.runs.config import recommended_settings
from drrn.settings import VECTOR_ENCODERS, Settings, all_settings, recipe, settings_for

FILES = ("vectors", "sentences")  # settings that name a file or a module: none of a page's business
COMMON = ("model", "rounds", "episodes_per_round", "replicas", "seed", "hidden", "layers", "encoder", "learner",
          "learning_rate", "discount", "alpha", "exploration")  # fmt: skip
NOT_BY_PAGE = (*VECTOR_ENCODERS, "sentence")  # encoders that need such files
MOST: dict[str, float] = {  # what a page may ask of the machine
    "rounds": 10_000, "episodes_per_round": 100_000, "replicas": 64, "hidden": 4096, "layers": 8,
    "evaluation_episodes": 100_000, "history": 20, "workers": max(1, os.cpu_count() or 1),
}  # fmt: skip


def told_form(game: Game, *, paper: bool) -> list[dict[str, Any]]:
    """Every setting with what this game would be learned with, in a sentence each."""
    defaults = settings_for(recipe(paper=paper, recommended=_suiting(game)), {}).flat()
    names = [name for name in all_settings() if name not in FILES]
    names.sort(key=lambda name: COMMON.index(name) if name in COMMON else len(COMMON))
    return [_told(name, defaults[name]) for name in names]


def _told(name: str, default: Any) -> dict[str, Any]:
    declared = all_settings()[name]
    return {
        "name": name,
        "kind": declared.kind.__name__,
        "optional": declared.optional,
        "default": default,
        "help": declared.help,
        "choices": [choice for choice in declared.choices if choice not in NOT_BY_PAGE],
        "least": declared.least,
        "most": MOST.get(name, declared.most),
        "above": declared.above,
        "group": "common" if name in COMMON else "more",
    }


def settings_of_form(game: Game, given: Mapping[str, Any], *, paper: bool) -> Settings:
    """What a run learns with that a form asks for; a setting that names a file or code is refused."""
    for name in given:
        if name in FILES:
            raise InputError(f"{name} names a file: it can be given on the command line only")
    _check_plain(given)
    settings = settings_for(recipe(paper=paper, recommended=_suiting(game), given=given), given)
    _check_plain(settings.flat())
    for name, most in MOST.items():
        value = settings.flat()[name]
        if value > most:
            raise InputError(f"{name} is {value}; on this page it can be at most {most:g}")
    return settings


def _suiting(game: Game) -> dict[str, Any]:
    """Settings that suit the game, as its author wrote them; such a file may be anybody's."""
    return {name: value for name, value in recommended_settings(game).items() if name not in FILES}


def _check_plain(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        if isinstance(value, str) and (is_object(value) or value in NOT_BY_PAGE):
            raise InputError(
                f'{name} "{value}" can be given on the command line only: choose another'
            )
