"""What `drrn inspect` prints of a game that can only be stepped."""

from __future__ import annotations

import sys
import time

from drrn.cli.terminal import counted, one_line, table
from drrn.stories.playtest.sampled import SampledValue
from drrn.stories.playtest.stepped_survey import EndingMet, PlayProgress, SteppedSurvey
from drrn.stories.playtest.told import estimated

BAR = 20  # characters of the progress bar
LAST_WORDS = 60  # characters


def told_stepped_survey(found: SteppedSurvey) -> str:
    """The survey as text."""
    parts = [found.title, f"Sampled: {found.why_not}", _seen(found), _play(found)]
    if found.endings:
        parts += [f"Endings met ({len(found.endings)})", _endings(found.endings)]
    elif found.games:
        parts.append("Endings met: none")
    if found.note:
        parts.append(f"Seeds: {found.note}")
    return "\n\n".join(parts)


def _seen(found: SteppedSurvey) -> str:
    menus = found.menus
    return table(
        [
            [
                "Pages seen",
                f"{found.pages:,} distinct texts, {found.words_per_description:.1f} words on average",
            ],
            ["Actions seen", f"{found.actions:,} distinct texts"],
            ["Actions at once", f"{menus.least:,} to {menus.most:,}, {menus.mean:.1f} on average"],
            ["Vocabulary, states", f"at least {found.state_vocabulary:,} words"],
            ["Vocabulary, actions", f"at least {found.action_vocabulary:,} words"],
        ]
    )


def _play(found: SteppedSurvey) -> str:
    """Random play; each number with its standard error."""
    cut = ", then Ctrl-C" if found.interrupted else ""
    played = f"{counted(found.games, 'game')}, {counted(found.steps_taken, 'step')} in {found.seconds:.0f} s{cut}"
    if not (found.returns and found.steps and found.stopped and found.final_reward):
        more = (
            ""
            if found.interrupted
            else f"; more time: --seconds {2 * max(1, round(found.seconds))}"
        )
        return f"Random play ({played}): no game was finished{more}"
    rows = [
        ["return", f"{_number(found.returns)}; the highest was {found.best_return:g}"],
        ["final reward", _number(found.final_reward)],
        ["steps", f"{_number(found.steps)}; the limit is {found.max_steps:,}"],
        ["stopped, not ended", estimated(found.stopped)],
    ]
    lines = "\n".join(f"  {line}" for line in table(rows).splitlines())
    return f"Random play ({played}; mean ± standard error)\n\n{lines}"


def _endings(endings: list[EndingMet]) -> str:
    rows = [
        [ending.name, estimated(ending.share), _number(ending.returns), ending.fewest_steps,
         one_line(ending.last_words)[:LAST_WORDS]]
        for ending in endings
    ]  # fmt: skip
    drawn = table(rows, header=["ending", "share", "return", "fewest steps", "last words"])
    return "\n".join(f"  {line}" for line in drawn.splitlines())


def _number(value: SampledValue) -> str:
    return f"{value.mean:.2f} ± {value.error:.2f}"


def play_progress(games: int, seconds: float) -> PlayProgress | None:
    """A bar that tells how far games and time have gone, where a person looks on."""
    if not sys.stderr.isatty():
        return None
    begun = shown = time.monotonic()

    def show(played: int, steps: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now > shown + 0.2:
            shown = now
            gone = max(played / games, (now - begun) / seconds)
            bar = ("█" * round(BAR * min(1.0, gone))).ljust(BAR, "░")
            what = f"{played:,} of {games:,} games, {steps:,} steps, {now - begun:.0f} of {seconds:.0f} s"
            print(f"\r{bar} {what} (Ctrl-C: report now)\x1b[K", end="", file=sys.stderr, flush=True)

    return show
