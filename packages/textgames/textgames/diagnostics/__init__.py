"""Diagnostics: twenty small text games, each of which tests one capability of an agent.

A name such as `diagnostic:memory/2` opens one; `diagnostic:order/2/held-out` has texts that its
training variant does not show.
"""

from textgames.diagnostics import paths, reading, rewards
from textgames.diagnostics.diagnostic import LEVELS, Diagnostic
from textgames.errors import InputError, did_you_mean
from textgames.openers import GameSpec, Opener

_GAMES: tuple[type[Diagnostic], ...] = (*reading.GAMES, *paths.GAMES, *rewards.GAMES)
DIAGNOSTICS = {game.key(): game for game in _GAMES}  # in the order of figures


def open_diagnostic_of(spec: GameSpec) -> Diagnostic:
    """Open the diagnostic that a spec names, `diagnostic:NAME[/LEVEL][/held-out]`."""
    name, *parts = spec.source.partition(":")[2].split("/")
    if name not in DIAGNOSTICS:
        near = did_you_mean(name, DIAGNOSTICS)
        names = ", ".join(DIAGNOSTICS)
        raise InputError(f'no diagnostic is named "{name}".{near} Choose one of {names}')
    kind = DIAGNOSTICS[name]
    held_out = parts[-1:] == ["held-out"]
    level = (parts[:-1] if held_out else parts) or ["2"]
    if level not in [[str(each)] for each in LEVELS]:
        cure = f"use 1, 2 or 3, as in diagnostic:{name}/2"
        raise InputError(f'{spec.source}: "{"/".join(level)}" is not a level; {cure}')
    if held_out and not kind.has_held_out:
        cause = f"{name} has no held-out variant"
        raise InputError(f"{spec.source}: {cause}; use diagnostic:{name}/{level[0]}")
    return kind(int(level[0]), held_out=held_out, shuffle=spec.shuffle)


OPENER = Opener(open_diagnostic_of, "a diagnostic")
