"""Fuzz tests: a mutated story, expression, TOML or run folder works or fails with one sentence.

python -m tests.fuzzing MINUTES [SEED]     as scripts/fuzz calls it
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import drrn
from drrn import InputError
from drrn.cli import main
from drrn.game.contract import fingerprint_of
from drrn.stories.twine import values as js
from drrn.stories.twine.script import ExpressionError, Facts, Page
from drrn.stories.twine.twine1.expressions import parse
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
from tests.ink_stories import STALL
from tests.runs import SMALL, SMALL_STRONG, rehash
from tests.stories import FORK, REWARDS

DESCRIPTION = """Mutate stories, expressions, TOMLs, Ink files and run folders for some minutes. Each
case must work or fail with one sentence. Other cases are saved in a folder, and the exit code is 1."""
CASE_SECONDS = 30  # CPU time
MEGABYTE = 2**20 if sys.platform == "darwin" else 2**10  # units of ru_maxrss

Cut = tuple[float, int, str]  # position as a fraction, length, replacement


def mutate(text: str, cuts: Iterable[Cut]) -> str:
    """Return the text with parts replaced by snippets."""
    for fraction, length, snippet in cuts:
        start = int(fraction * len(text))
        text = text[:start] + snippet + text[start + length :]
    return text


def flip_bytes(data: bytes, flips: Iterable[tuple[float, int]]) -> bytes:
    """Return the data with some bytes replaced; positions are fractions."""
    result = bytearray(data)
    for fraction, byte in flips:
        result[int(fraction * (len(result) - 1))] = byte
    return bytes(result)


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


def random_cuts(generator: Random, snippets: Sequence[str], limit: int = 5) -> list[Cut]:
    """Return one to `limit` random cuts."""
    cuts = []
    for _ in range(generator.randint(1, limit)):
        snippet = "".join(generator.choices(snippets, k=generator.randint(0, 3)))
        cuts.append((generator.random(), generator.choice((0, 0, 1, 3, 30)), snippet))
    return cuts


def random_flips(generator: Random) -> list[tuple[float, int]]:
    """Return one to five random replacements of bytes."""
    count = generator.randint(1, 5)
    return [(generator.random(), generator.randrange(256)) for _ in range(count)]


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


def fuzz_run(folder: Path, generator: Random) -> None:
    """Damage some files of a run, and run two commands on it.

    hashes.json would reveal every damage first, so it is often updated or deleted.
    """
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(generator.choice(good_runs()), run)
    hashes = generator.choice(["old", "new", "none"])
    if hashes == "none":
        (run / "hashes.json").unlink()
    files = sorted(path for path in run.iterdir() if path.is_file())
    for path in generator.sample(files, generator.randint(1, 2)):
        damage(path, generator)
    if hashes == "new" and (run / "hashes.json").is_file():
        rehash(run)
    tale = str(good_runs()[0].parent / "tale.toml")
    commands = [
        ["ask", str(run), "--state", "The sea", "--action", "Go out.", "--action", "x"],
        ["evaluate", str(run), "--episodes", "1"],
        ["runs", str(folder)],
        ["runs", str(folder), "--json"],
        ["compare", str(run), str(run)],
        ["play", tale, "--agent", str(run), "--policy", "greedy", "--episodes", "1"],
        ["watch", str(run), "--seconds", "0", "--seed", "1", "--episodes", "1"],
        ["train", "--resume", str(run), "--rounds", "2"],
    ]
    if not has_large_settings(run / "config.json"):
        unverified = ["--unverified"] if hashes == "none" and generator.random() < 0.8 else []
        for command in generator.sample(commands, 2):
            check_command([*command, *unverified])


def damage(path: Path, generator: Random) -> None:
    """Truncate, flip, replace, delete or mutate a file, or put a folder in its place."""
    data = path.read_bytes()
    kind = generator.randrange(10)
    if kind == 0:
        path.write_bytes(data[: int(generator.random() * len(data))])
    elif kind == 1 and data:
        path.write_bytes(flip_bytes(data, random_flips(generator)))
    elif kind == 2:
        path.write_bytes(generator.choice([b"", b"{}", b"[]", b"null", b"\xff\xfe", b"PK\x03\x04"]))
    elif kind == 3:
        path.unlink()
    elif kind == 9:
        path.unlink()
        path.mkdir()
    elif kind == 4:
        files = sorted(each for each in path.parent.iterdir() if each.is_file())
        path.write_bytes(generator.choice(files).read_bytes())
    elif kind == 5:
        text = mutate(data.decode("latin-1"), random_cuts(generator, JSON_SNIPPETS, 3))
        path.write_bytes(text.encode("latin-1", "replace"))
    elif path.suffix == ".json":
        path.write_bytes(mutate_json(data, generator))
    elif path.suffix == ".safetensors":
        (length,) = struct.unpack("<Q", data[:8])
        header = mutate_json(data[8 : 8 + length], generator)
        path.write_bytes(struct.pack("<Q", len(header)) + header + data[8 + length :])


SCALARS: list[Any] = [
    None,
    True,
    0,
    -1,
    1,
    2,
    7,
    1.5,
    -2.5,
    1e30,
    10**18,
    "",
    "x",
    "drrn",
    "é\x1b[2J",
    "\ud800",
]
CONTAINERS: list[Any] = [[], {}, [1], {"x": 1}, [[]]]


def mutate_json(data: bytes | str, generator: Random) -> bytes:
    """Return JSON in which one value is replaced, deleted or duplicated."""
    document = json.loads(data)
    metadata = document.get("__metadata__", {}) if isinstance(document, dict) else {}
    if "state" in metadata and generator.random() < 0.5:
        metadata["state"] = mutate_json(metadata["state"], generator).decode()
        return json.dumps(document).encode()
    node = document
    while isinstance(node, dict | list) and node:
        keys = sorted(node) if isinstance(node, dict) else range(len(node))
        key = generator.choice(keys)
        child = node[key]
        if not isinstance(child, dict | list) or not child or generator.random() < 0.2:
            if generator.random() < 0.2:
                del node[key]
            else:
                sibling = node[generator.choice(keys)]
                node[key] = generator.choice([*SCALARS, *CONTAINERS, sibling])
            break
        node = child
    return json.dumps(document).encode()


SIZES = (
    "episodes_per_round evaluation_episodes epochs updates sweeps replicas batch_size hidden "
    "layers workers history"
).split()


def has_large_settings(config: Path) -> bool:
    """Whether mutated settings are valid but need more time than a test has."""
    errors = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
    with contextlib.suppress(*errors):
        settings = json.loads(config.read_bytes())["settings"]
        values = [settings.get(name) for name in SIZES]
        return any(isinstance(value, int | float) and value > 300 for value in values)
    return False


def check_command(arguments: list[str]) -> None:
    """Check that a command exits with 0, 1 or 2, and that 2 comes with one line of error.

    An error in the command itself would hide that nothing was tested.
    """
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        code = main(arguments)
    assert code in (0, 1, 2), f"{arguments[0]}: exit code {code}"
    lines = [line for line in errors.getvalue().splitlines() if line.startswith("drrn: ")]
    assert code != 2 or len(lines) == 1, f"{arguments[0]}: {errors.getvalue()}"
    assert "--help)" not in errors.getvalue(), f"a command that drrn does not have: {lines}"


@cache
def good_runs() -> list[Path]:
    """Train three runs to damage: the paper's recipe, the strong one, and a table."""
    folder = Path(tempfile.mkdtemp())
    (folder / "tale.twee").write_text(FORK)
    (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    table = [word for word in SMALL if word not in ("--hidden", "6")] + ["--model", "table"]
    runs = []
    for number, options in enumerate((SMALL, SMALL_STRONG, table)):
        run = folder / f"good-{number}"
        story = str(folder / "tale.toml")
        check_command(["train", story, "--out", str(run), *options, "--rounds", "1"])
        (run / "curve.png").unlink(missing_ok=True)
        runs.append(run)
    return runs


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


def fuzz(minutes: float, seed: int, only: str = "") -> int:
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
    while not timeouts:
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
    print(f"{case} cases in {minutes:g} minutes: {len(kinds)} kinds of failures")
    print(", ".join(f"{target.__name__} {count}" for target, count in counts.items()))
    print(f"{memory:.0f} MB at most")
    return len(kinds)


def kind_of(failure: str) -> tuple[str, str]:
    """Return the last source line of a traceback and the type of the exception."""
    lines = failure.strip().splitlines()
    sources = [line for line in lines if line.startswith("  File")]
    return sources[-1] if sources else "", lines[-1].partition(":")[0]


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
    return vars(options.parse_args())


if __name__ == "__main__":
    sys.exit(min(1, fuzz(**parse_arguments())))
