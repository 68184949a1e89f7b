"""The settings that a sweep varies, as Optuna's distributions."""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from drrn.experiments.agents import OWN_OPTIONS
from drrn.settings import all_settings
from textgames.declaration import Setting
from textgames.errors import InputError, did_you_mean, require

Changes = dict[str, Any]  # the settings of a combination, by name
Space = dict[str, Any]  # Optuna's distribution of each setting
RANGE = re.compile(r"(?P<log>log:)?(?P<low>[^:,]+?)\.\.(?P<high>[^:,]+?)(?::(?P<by>[^:,]*))?")
NOTATION = "write NAME=VALUE,VALUE… or NAME=LOW..HIGH:STEP or NAME=log:LOW..HIGH:COUNT"


def read_space(texts: Sequence[str]) -> Space:
    """Parse NAME=VALUES, each of another setting.

    A single range without a step stands for all its numbers, anything else for listed values.
    """
    distributions = require("optuna").distributions
    space: Space = {}
    for text in texts:
        name, _, right = text.partition("=")
        try:
            if name in space:
                raise InputError(f"{name} occurs twice; combine its values")
            setting = _setting(name)
            parts = [_part(setting, each) for each in right.split(",")]
            if len(parts) == 1 and isinstance(parts[0], tuple):
                low, high, is_log = parts[0]
                is_whole = setting.kind is int
                kind = (
                    distributions.IntDistribution if is_whole else distributions.FloatDistribution
                )
                space[name] = kind(low, high, log=is_log)
            else:
                values = list(itertools.chain.from_iterable(parts))
                for value in values:
                    setting.check(value)
                space[name] = distributions.CategoricalDistribution(list(dict.fromkeys(values)))
        except InputError as error:
            raise InputError(f'--vary "{text}": {error}') from error
    return space


def _setting(name: str) -> Setting:
    settings = all_settings()
    if name not in settings:
        near = did_you_mean(name, settings)
        raise InputError(f'no setting is named "{name}".{near} See: drrn train --help')
    if name in OWN_OPTIONS:
        options = "--seeds, --first-seed, --report-seeds, --first-report-seed"
        raise InputError(f"{name} cannot be varied; use {options}")
    if settings[name].same_results:
        raise InputError(f"results do not depend on {name}")
    return settings[name]


def _part(setting: Setting, text: str, most: int = 10_000) -> list[Any] | tuple[float, float, bool]:
    """The values of a part of a list, or the bounds of a range without a step and its scale."""
    match = RANGE.fullmatch(text) if setting.kind in (int, float) else None
    if match is None:
        return [setting.read(text)]
    low, high = (setting.read(match[side]) for side in ("low", "high"))
    is_log = bool(match["log"])
    if low is None or high is None or not -math.inf < low <= high < math.inf:
        raise InputError(f"there is no range from {low} to {high}; {NOTATION}")
    if is_log and low <= 0:
        raise InputError("a log: range needs a LOW above 0")
    setting.check(low)
    setting.check(high)
    if match["by"] is None and (is_log or setting.kind is float):
        return low, high, is_log
    try:
        step = 1.0 if match["by"] is None else float(match["by"])
    except ValueError as error:
        raise InputError(f'the step "{match["by"]}" is not a number; {NOTATION}') from error
    if is_log:
        count = int(step)
        factor = (high / low) ** (1 / max(1, count - 1))
        values = [low * factor**number for number in range(min(count, most))]
    else:
        count = int(min((high - low) / step, most) + 1e-9) + 1 if step > 0 else 0
        values = [round(low + number * step, 12) for number in range(count)]
    if not 1 + is_log <= count <= most:
        raise InputError(
            f"the range has {count:,} values, not {1 + is_log} to {most:,}; {NOTATION}"
        )
    if setting.kind is int:
        return [round(value) for value in values]
    # rounded, to be the same on every machine
    return [float(f"{value:.6g}") if is_log else value for value in values]


def grid(space: Space) -> Iterator[Changes]:
    """All combinations. The last setting changes first."""
    for values in itertools.product(*(each.choices for each in space.values())):
        yield dict(zip(space, values, strict=True))


def grid_size(space: Space) -> int | None:
    """The number of combinations. None if a range has no step."""
    return math.prod(len(getattr(each, "choices", ())) for each in space.values()) or None


def suggest(trial: Any, space: Space) -> Changes:
    """The values of a trial. Optuna chooses those that the trial does not have yet."""
    changes: Changes = {}
    for name, each in space.items():
        if hasattr(each, "choices"):
            changes[name] = trial.suggest_categorical(name, each.choices)
        else:
            number = trial.suggest_float if isinstance(each.low, float) else trial.suggest_int
            changes[name] = number(name, each.low, each.high, log=each.log)
    return changes
