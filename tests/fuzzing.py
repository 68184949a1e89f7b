"""Fuzz tests: a mutated story, expression, TOML or run folder works or fails with one sentence.

python -m tests.fuzzing MINUTES [SEED]     as scripts/fuzz calls it
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import drrn
from drrn import InputError
from storytest.twine import values as js
from storytest.twine.script import ExpressionError, Facts, Page
from storytest.twine.twine1.expressions import parse
from tests.fuzz_corpus import (
    GOOD_HTML,
    GOOD_TOML,
    GOOD_TWEE,
    GOOD_TWINE_2,
    JSON_SNIPPETS,
    SNIPPETS,
    TOKENS,
    TOML_SNIPPETS,
)
from tests.fuzz_runs import MEGABYTE, fuzz_run, good_runs
from tests.fuzz_runs import counts as run_counts
from tests.ink_stories import STALL
from tests.mutations import Cut, check_command, flip_bytes, mutate, random_cuts, random_flips
from textgames.game.contract import fingerprint_of

DESCRIPTION = """Mutate stories, expressions, TOMLs, Ink files and run folders for some minutes. Each
case must work or fail with one sentence. Other cases are saved in a folder, and the exit code is 1."""
CASE_SECONDS = 30  # CPU time


def play(path: Path, error_prefix: Path | None = None, **options: Any) -> None:
    """Play fifty random steps, or check that the error starts with the path."""
    try:
        game = drrn.make(path, **options)
        generator = Random(0)
        page = game.reset(0)
        assert fingerprint_of(game) == fingerprint_of(game)
        for _ in range(50):
            assert isinstance(page.text, str)
            assert all(action.strip() for action in page.actions)
            if page.ended:
                page = game.reset()
                continue
            page = game.step(generator.randrange(len(page.actions)))
    except InputError as error:
        assert str(error).startswith(str(error_prefix or path)), error


def check_expression(source: str) -> None:
    """Check that an expression has values, or that the error is short."""
    try:
        expression = parse(source, Facts())
    except ExpressionError as error:
        assert 0 < len(str(error)) < 200
        return
    cells: dict[str, js.Value] = {"$x": 7, "$y": "text", "$list": (1, "b", (True, None))}
    page = Page("Here", {}, {"Here": ("a",)}, cells, lambda outcomes: outcomes - 1)
    for _ in range(3):
        try:
            value = expression(page)
        except js.GrowthError:
            return
        assert isinstance(js.string(value), str)
        hash(value)


# Targets: each writes a mutated case into a folder and checks it.


def fuzz_story(folder: Path, generator: Random) -> None:
    files = [(GOOD_TWEE, "tale.twee"), (GOOD_HTML, "tale.html"), (GOOD_TWINE_2, "tale.html")]
    text, name = generator.choice(files)
    path = folder / name
    _write_mutated(path, text, random_cuts(generator, SNIPPETS), generator, flip_probability=0.3)
    play(path, lenient=generator.random() < 0.6)
    if generator.random() < 0.1:
        check_command(["inspect", str(path), "--limit", "100", "--json", "--lenient"])


def fuzz_expression(folder: Path, generator: Random) -> None:
    check_expression(" ".join(generator.choices(TOKENS, k=generator.randint(1, 14))))


def fuzz_toml(folder: Path, generator: Random) -> None:
    (folder / "tale.twee").write_text(GOOD_TWEE)
    path = folder / "tale.toml"
    cuts = random_cuts(generator, TOML_SNIPPETS, 3)
    _write_mutated(path, GOOD_TOML, cuts, generator, flip_probability=0.2)
    play(path, lenient=generator.random() < 0.8, error_prefix=folder)
    if generator.random() < 0.1:
        check_command(["test", str(path), "--seconds", "1", "--jobs", "1", "--lenient"])


def fuzz_ink(folder: Path, generator: Random) -> None:
    path = folder / "tale.json"
    cuts = random_cuts(generator, JSON_SNIPPETS, 2)
    _write_mutated(path, json.dumps(STALL), cuts, generator, flip_probability=0.3)
    play(path)


def _write_mutated(
    path: Path, text: str, cuts: list[Cut], generator: Random, flip_probability: float
) -> None:
    data = mutate(text, cuts).encode("utf-8", "surrogatepass")
    if generator.random() < flip_probability:
        data = flip_bytes(data, random_flips(generator))
    path.write_bytes(data)


Target = Callable[[Path, Random], None]

# Each target, and the number of its cases in the test suite.
TARGETS: dict[Target, int] = {
    fuzz_story: 60,
    fuzz_expression: 100,
    fuzz_toml: 120,
    fuzz_ink: 60,
    fuzz_run: 25,
}
WEIGHTS = (1.0, 2.0, 1.0, 0.6, 0.5)  # of each target in scripts/fuzz


class CaseTimeoutError(Exception):
    """A case used too much CPU time."""


def fuzz(minutes: float, seed: int, only: str = "", cases: int = sys.maxsize) -> int:
    """Try cases for some minutes; save and print failures; return the number of their kinds."""
    timeouts: list[bool] = []
    signal.signal(signal.SIGALRM, lambda *_: timeouts.append(True))
    signal.signal(signal.SIGPROF, _raise_timeout)
    good_runs()
    signal.alarm(int(minutes * 60))
    failures = Path(tempfile.mkdtemp(prefix="drrn-fuzz-"))
    kinds: set[tuple[str, str]] = set()
    case = 0
    counts: Counter[Target] = Counter()
    chosen = [target for target in TARGETS if only in target.__name__]
    weights = [WEIGHTS[list(TARGETS).index(target)] for target in chosen]
    while not timeouts and case < cases:
        (target,) = random.Random(f"{seed} {case}").choices(chosen, weights)
        counts[target] += 1
        with tempfile.TemporaryDirectory() as name:
            failure = failure_of(target, Path(name), f"{seed} {case} case")
            if failure and (kind := kind_of(failure)) not in kinds:
                kinds.add(kind)
                shutil.copytree(name, failures / str(case))
                print(f"\n{target.__name__} {case}: {failures / str(case)}\n{failure}", flush=True)
        case += 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE
    print(f"{case:,} cases: {len(kinds)} kinds of failures")
    print(", ".join(f"{target.__name__} {count:,}" for target, count in counts.items()))
    print(", ".join(f"{name} {count:,}" for name, count in sorted(run_counts.items())))
    print(f"at most {memory:.0f} MB")
    return len(kinds)


def kind_of(failure: str) -> tuple[str, str]:
    """Return the last source line of a traceback and the type of the exception."""
    lines = failure.strip().splitlines()
    sources = [line for line in lines if line.startswith("  File")]
    return sources[-1] if sources else "", ":".join(lines[-1].split(":")[:3])[:80]


def failure_of(target: Target, folder: Path, seed: str) -> str:
    """Return the traceback of a case, or an empty string."""
    signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)
    try:
        target(folder, random.Random(seed))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def _raise_timeout(*_: object) -> None:
    raise CaseTimeoutError(f"{CASE_SECONDS} seconds of CPU time")


def parse_arguments() -> dict[str, Any]:
    """Parse the command line."""
    options = argparse.ArgumentParser(prog="scripts/fuzz", description=DESCRIPTION)
    options.add_argument("minutes", type=float, nargs="?", default=10, help="(default: 10)")
    options.add_argument("seed", type=int, nargs="?", default=0, help="(default: 0)")
    options.add_argument("only", nargs="?", default="", help="part of a target's name, such as run")
    options.add_argument("--cases", type=int, default=sys.maxsize, help="(default: no limit)")
    return vars(options.parse_args())


if __name__ == "__main__":
    sys.exit(min(1, fuzz(**parse_arguments())))
