"""The agents of `drrn diagnose`, and settings as they are written on the command line."""

from collections.abc import Iterable, Sequence
from typing import Any

from drrn.settings import all_settings
from textgames.declaration import Setting
from textgames.errors import InputError, did_you_mean

OWN_OPTIONS = ("seed", "replicas")  # settings that have options of the commands
RANDOM = "random"  # the agent that is not trained
# Settings by name. `paper`: on top of the paper's recipe instead of the strong one.
AGENTS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"paper": True},
    "gru": {"encoder": "gru"},
    "lstm": {"encoder": "lstm"},
    "attention": {"encoder": "attention"},
    # At a learning rate of 0.001 it diverges on pages of many words.
    "linear": {"paper": True, "model": "linear", "learning_rate": 0.0001},
    "max-action": {"paper": True, "model": "max-action"},
    "per-action": {"paper": True, "model": "per-action"},
    RANDOM: {},
}


def setting_named(name: str, reserved: Sequence[str] = ()) -> Setting:
    """The declaration of a setting. Reserved ones and those with their own option are refused."""
    settings = all_settings()
    if name not in settings:
        near = did_you_mean(name, settings)
        raise InputError(f'no setting is named "{name}".{near} See: drrn train --help-all')
    if name in (*OWN_OPTIONS, *reserved):
        raise InputError(f"{name} cannot be set: it differs between jobs, or has its own option")
    return settings[name]


def read_settings(
    texts: Iterable[str], reserved: Sequence[str] = (), option: str = "--set"
) -> dict[str, Any]:
    """Parse NAME=VALUE."""
    settings = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            settings[name] = setting_named(name, reserved).read(value)
        except InputError as error:
            raise InputError(f'{option} "{text}": {error}') from error
    return settings


def agent_settings(text: str) -> dict[str, Any]:
    """The settings of an agent: NAME, or NAME=VALUE,NAME=VALUE, or a name and settings."""
    parts = text.split(",")
    base, *settings = ["default", *parts] if "=" in parts[0] else parts
    if base not in AGENTS or (settings and base == RANDOM):
        near = did_you_mean(base, AGENTS)
        choices = f"Choose from {', '.join(AGENTS)}, or give settings such as encoder=gru,history=4"
        raise InputError(f'--agent "{text}": no such agent.{near} {choices}')
    return {**AGENTS[base], **read_settings(settings, option="--agent")}


def settings_text(settings: dict[str, Any], separator: str = " ") -> str:
    """Settings as a person writes them."""
    parts = [f"{name}={value_text(value)}" for name, value in settings.items()]
    return separator.join(parts)


def value_text(value: Any) -> str:
    """The value of a setting as a person writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    return "none" if value is None else str(value)


def seeds_text(seeds: Sequence[int]) -> str:
    """Consecutive seeds as a person writes them."""
    return f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
