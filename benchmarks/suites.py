"""Measure steps per second of CPU time of random play through each suite's adaptor, and with the bare suite.

python benchmarks/suites.py [--seconds 20] twx:coin textworld:PATH.z8 jericho:PATH.z5 scienceworld:boil …
python benchmarks/suites.py --first 15000 twx:coin …           CPU time of the first steps, the start included
python benchmarks/suites.py --memory 5000 jericho:PATH.z5 …    memory of an environment during the first steps
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import drrn
from textsuites.catalogue import SUITES, SuiteChoice, read_choice
from textsuites.environments import TwxEnvironment

Page = tuple[list[str], bool]  # the actions, and whether the episode is over


def adaptor(name: str) -> Iterator[Page]:
    """Play at random through our game."""
    game = drrn.make(name)
    choose = random.Random(0)
    try:
        while True:
            page = game.reset(choose.getrandbits(31))
            for _ in range(game.max_steps):  # type: ignore[attr-defined]
                if page.ended:
                    break
                page = game.step(choose.randrange(len(page.actions)))
                yield list(page.actions), page.ended
    finally:
        game.close()  # type: ignore[attr-defined]


def bare(choice: SuiteChoice) -> Iterator[Page]:
    """Play at random with the suite's own calls, in this process."""
    reset, step = OPEN[choice.suite.name](choice)
    choose = random.Random(0)
    while True:
        actions, over = reset(choose.getrandbits(31))
        for _ in range(choice.options["max_steps"]):
            if over or not actions:
                break
            actions, over = step(choose.choice(actions))
            yield actions, over


def twx(choice: SuiteChoice) -> Any:
    environment = TwxEnvironment(choice.game, choice.options)  # for the game's properties and seeds
    env = environment.env
    fold = choice.options["fold"]
    seeds = environment.seeds[fold]

    def step(action: str) -> Page:
        _, _, done, info = env.step(action)
        return info["validActions"], done

    return lambda seed: (
        env.reset(seed=seeds[seed % len(seeds)], gameFold=fold)[1]["validActions"],
        False,
    ), step


def textworld(choice: SuiteChoice) -> Any:
    import textworld as suite

    infos = ["description", "inventory", "admissible_commands", "score", "won", "lost"]
    env = suite.start(choice.game, suite.EnvInfos(**dict.fromkeys(infos, True)))

    def step(action: str) -> Page:
        state, _, done = env.step(action)
        return state["admissible_commands"], done

    return lambda seed: (env.reset()["admissible_commands"], False), step


def jericho(choice: SuiteChoice) -> Any:
    import jericho as suite

    from textsuites.environments import JerichoEnvironment

    env = JerichoEnvironment(
        choice.game, choice.options
    ).env  # its tagger, without our memory of menus
    assert isinstance(env, suite.FrotzEnv)

    def reset(seed: int) -> Page:
        env.seed(1 + seed % 1000)
        env.reset()
        return env.get_valid_actions(use_parallel=False), False

    def step(action: str) -> Page:
        done = env.step(action)[2]
        return env.get_valid_actions(use_parallel=False), done

    return reset, step


def scienceworld(choice: SuiteChoice) -> Any:
    import scienceworld as suite

    env = suite.ScienceWorldEnv("", envStepLimit=10**9)  # without our calls
    env.load(choice.game, choice.options["variation"] or 0, choice.options["simplifications"])

    def step(action: str) -> Page:
        _, _, done, info = env.step(action)
        return info["valid"], done

    return lambda seed: (env.reset()[1]["valid"], False), step


OPEN: dict[str, Callable[[SuiteChoice], Any]] = {
    "twx": twx,
    "textworld": textworld,
    "jericho": jericho,
    "scienceworld": scienceworld,
}


def processes() -> dict[int, list[str]]:
    """Return the fields of /proc/PID/stat of this process and of all that it started (Linux)."""
    every = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            every[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
    found = {}
    for number, fields in every.items():
        ancestor = number
        while ancestor in every and ancestor != os.getpid():
            ancestor = int(every[ancestor][1])
        if ancestor == os.getpid():
            found[number] = fields
    return found


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all that it started, Java included."""
    ticks = sum(int(fields[11]) + int(fields[12]) for fields in processes().values())
    return ticks / os.sysconf("SC_CLK_TCK")


def print_memory(names: Sequence[str], steps: int) -> None:
    """Print the memory of the processes of one environment, ten times in that number of steps."""
    for name in names:
        play = adaptor(name)
        for number in range(1, steps + 1):
            next(play)
            if number % max(1, steps // 10) == 0:
                pages = [int(one[21]) for pid, one in processes().items() if pid != os.getpid()]
                megabytes = sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6
                print(f"{name[-50:]:<50} {number:>7,} steps {megabytes:>6.0f} MB", flush=True)
        play.close()  # type: ignore[attr-defined]


class Rate(NamedTuple):
    """Steps per second of CPU time, and per second."""

    cpu: float
    wall: float


def rates(plays: Sequence[Iterator[Page]], seconds: float) -> list[Rate]:
    """Return the speed of each play, in turns of half a second, so that load affects all.

    Each first plays as long without being measured, while Java compiles its own code.
    """
    steps = [0] * len(plays)
    spent = [0.0] * len(plays)
    passed = [0.0] * len(plays)
    for play in plays:
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            next(play)
    start = time.perf_counter()
    while time.perf_counter() - start < seconds * len(plays):
        for i, play in enumerate(plays):
            before = cpu_seconds()
            turn = time.perf_counter()
            while time.perf_counter() - turn < 0.5:
                next(play)
                steps[i] += 1
            passed[i] += time.perf_counter() - turn
            spent[i] += cpu_seconds() - before
    return [
        Rate(count / cpu, count / wall)
        for count, cpu, wall in zip(steps, spent, passed, strict=True)
    ]


def print_first(names: Sequence[str], steps: int) -> None:
    """Print the CPU seconds of the first steps, with the start of the suite."""
    print(f"{'CPU seconds, start included':<50} {'adaptor':>9} {'bare':>9}")
    for name in names:
        spent = []
        for start in (partial(adaptor, name), partial(bare, read_choice(name))):
            before = cpu_seconds()
            play = start()
            for _ in range(steps):
                next(play)
            spent.append(cpu_seconds() - before)
            play.close()  # type: ignore[attr-defined]
            del play
            gc.collect()
            time.sleep(1)  # until Java has ended
        print(f"{name[-50:]:<50} {spent[0]:>9.1f} {spent[1]:>9.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--first", type=int, metavar="STEPS", help="CPU time of the first steps")
    parser.add_argument("--memory", type=int, metavar="STEPS", help="memory of an environment")
    parser.add_argument("names", nargs="+", metavar="NAME", help=f"games of {', '.join(SUITES)}")
    options = parser.parse_args()
    if options.memory:
        print_memory(options.names, options.memory)
        return
    if options.first:
        print_first(options.names, options.first)
        return
    columns = ("adaptor", "bare", "ratio") * 2
    print(f"{'steps per second of CPU time, and per second':<50}", *(f"{c:>9}" for c in columns))
    for name in options.names:
        plays = [adaptor(name), bare(read_choice(name))]
        ours, theirs = rates(plays, options.seconds)
        plays[0].close()  # type: ignore[attr-defined]
        numbers = [ours.cpu, theirs.cpu, ours.cpu / theirs.cpu]
        numbers += [ours.wall, theirs.wall, ours.wall / theirs.wall]
        print(f"{name[-50:]:<50}", *(f"{number:>9,.2f}" for number in numbers), flush=True)


if __name__ == "__main__":
    main()
