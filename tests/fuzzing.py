"""What fuzz tests are made of: good stories, expressions, TOMLs and run folders, how they are mutated, and what must
hold of whatever comes of it: it works, or one clear sentence says why not.

    python -m tests.fuzzing MINUTES [SEED]     as scripts/fuzz calls it
"""

import argparse
import contextlib
import io
import json
import random
import shutil
import signal
import struct
import sys
import tempfile
import traceback
from pathlib import Path

import drrn
from drrn import InputError
from drrn.cli import main
from drrn.game.optional import fingerprint_of
from drrn.stories.twine import values as js
from drrn.stories.twine.page import Page
from drrn.stories.twine.script import ExpressionError, Facts
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
from tests.runs import SMALL, SMALL_STRONG
from tests.stories import FORK, REWARDS

WHAT = """Mutate stories, expressions, TOMLs, Ink and run folders for so many minutes. Each case must work, or be
refused in one sentence; those that do neither are kept in a folder, which is named, and the exit code is 1."""


def mutate(text, cuts):
    """The text with some of it cut out and snippets put in."""
    for place, length, snippet in cuts:
        at = int(place * len(text))
        text = text[:at] + snippet + text[at + length :]
    return text


def flip_bytes(data, flips):
    data = bytearray(data)
    for place, byte in flips:
        data[int(place * (len(data) - 1))] = byte
    return bytes(data)


def play(path, within=None, **options):
    """Fifty random steps, or the one clear error."""
    try:
        game = drrn.make(path, **options)
        choose = random.Random(0)
        observation = game.reset(0)
        assert fingerprint_of(game) == fingerprint_of(game)
        for _ in range(50):
            assert isinstance(observation.text, str)
            assert all(action.strip() for action in observation.actions)
            observation = (
                game.reset()
                if observation.ended
                else game.step(choose.randrange(len(observation.actions)))
            )
    except InputError as error:
        assert str(error).startswith(str(within or path)), error


def random_cuts(chance, snippets, most=5):
    """Where to cut, how much of it, and what to put in."""
    cuts = []
    for _ in range(chance.randint(1, most)):
        put_in = "".join(chance.choices(snippets, k=chance.randint(0, 3)))
        cuts.append((chance.random(), chance.choice((0, 0, 1, 3, 30)), put_in))
    return cuts


def random_flips(chance):
    return [(chance.random(), chance.randrange(256)) for _ in range(chance.randint(1, 5))]


def check_expression(source):
    """An expression has a value, or says in a few words why not."""
    try:
        expression = parse(source, Facts())
    except ExpressionError as error:
        assert 0 < len(str(error)) < 200
        return
    cells = {"$x": 7, "$y": "text", "$list": (1, "b", (True, None))}
    page = Page("Here", {}, {"Here": ("a",)}, cells, lambda outcomes: outcomes - 1)
    for _ in range(3):
        try:
            value = expression(page)
        except js.GrowthError:
            return
        assert isinstance(js.string(value), str)
        hash(value)


# --- targets: each makes something of a folder and a generator, and checks it


def a_story(folder, chance):
    good, name = chance.choice(
        [(GOOD_TWEE, "tale.twee"), (GOOD_HTML, "tale.html"), (GOOD_TWINE_2, "tale.html")]
    )
    path = folder / name
    text = mutate(good, random_cuts(chance, SNIPPETS)).encode("utf-8", "surrogatepass")
    path.write_bytes(flip_bytes(text, random_flips(chance)) if chance.random() < 0.3 else text)
    play(path, lenient=chance.random() < 0.6)
    if chance.random() < 0.1:
        command(["inspect", str(path), "--limit", "100", "--json", "--lenient"])


def an_expression(_, chance):
    check_expression(" ".join(chance.choices(TOKENS, k=chance.randint(1, 14))))


def a_toml(folder, chance):
    (folder / "tale.twee").write_text(GOOD_TWEE)
    path = folder / "tale.toml"
    text = mutate(GOOD_TOML, random_cuts(chance, TOML_SNIPPETS, 3)).encode("utf-8", "surrogatepass")
    path.write_bytes(flip_bytes(text, random_flips(chance)) if chance.random() < 0.2 else text)
    play(path, lenient=chance.random() < 0.8, within=folder)
    if chance.random() < 0.1:
        command(["test", str(path), "--games", "5", "--lenient"])


def an_ink_story(folder, chance):
    path = folder / "tale.json"
    text = mutate(json.dumps(STALL), random_cuts(chance, JSON_SNIPPETS, 2)).encode(
        "utf-8", "surrogatepass"
    )
    path.write_bytes(flip_bytes(text, random_flips(chance)) if chance.random() < 0.3 else text)
    play(path)


def a_run_folder(folder, chance):
    """A run some of whose files were damaged: every command works, or says in one sentence what is wrong."""
    good = chance.choice(good_runs())
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(good, run)
    if chance.random() < 0.6:
        (run / "hashes.json").unlink()  # which would find every damage first
    for path in chance.sample(
        sorted(path for path in run.iterdir() if path.is_file()), chance.randint(1, 2)
    ):
        damage(path, chance)
    commands = [
        ["ask", str(run), "--state", "The sea", "--action", "Go out.", "--action", "x"],
        ["evaluate", str(run), "--episodes", "1"],
        ["runs", str(folder)],
        ["compare", str(run), str(run)],
        ["watch", str(run), "--seconds", "0", "--seed", "1", "--episodes", "1"],
        ["train", "--resume", str(run), "--rounds", "2"],
    ]
    if not is_large(run / "config.json"):
        for each in chance.sample(commands, 2):
            command(each)


def damage(path, chance):
    """A file that is cut, flipped, mutated, emptied, swapped or gone."""
    data, kind = path.read_bytes(), chance.randrange(9)
    if kind == 0:
        path.write_bytes(data[: int(chance.random() * len(data))])
    elif kind == 1 and data:
        path.write_bytes(flip_bytes(data, random_flips(chance)))
    elif kind == 2:
        path.write_bytes(chance.choice([b"", b"{}", b"[]", b"null", b"\xff\xfe", b"PK\x03\x04"]))
    elif kind == 3:
        path.unlink()
    elif kind == 4:
        path.write_bytes(chance.choice(sorted(path.parent.iterdir())).read_bytes())
    elif kind == 5:
        text = mutate(data.decode("latin-1"), random_cuts(chance, JSON_SNIPPETS, 3))
        path.write_bytes(text.encode("latin-1", "replace"))
    elif path.suffix == ".json":
        path.write_bytes(other_json(data, chance))
    elif path.suffix == ".safetensors":
        (length,) = struct.unpack("<Q", data[:8])
        header = other_json(data[8 : 8 + length], chance)
        path.write_bytes(struct.pack("<Q", len(header)) + header + data[8 + length :])


VALUES = [
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
    "",
    "x",
    "drrn",
    [],
    {},
    [1],
    {"x": 1},
    "é\x1b[2J",
    10**18,
    [[]],
]


def other_json(data, chance):
    """JSON in which one value, somewhere inside, is another, is gone, or stands twice."""
    whole = json.loads(data)
    if "__metadata__" in whole and "state" in whole["__metadata__"] and chance.random() < 0.5:
        metadata = whole["__metadata__"]
        metadata["state"] = other_json(metadata["state"], chance).decode()
        return json.dumps(whole).encode()
    at = whole
    while isinstance(at, dict | list) and at:
        key = chance.choice(sorted(at)) if isinstance(at, dict) else chance.randrange(len(at))
        if not isinstance(at[key], dict | list) or not at[key] or chance.random() < 0.2:
            if chance.random() < 0.2:
                del at[key]
            else:
                at[key] = chance.choice(
                    [*VALUES, at[chance.choice(list(at))] if isinstance(at, dict) else 3]
                )
            break
        at = at[key]
    return json.dumps(whole).encode()


SIZES = (
    "episodes_per_round evaluation_episodes epochs updates sweeps replicas batch_size hidden layers workers history"
).split()


def is_large(config):
    """Whether settings that were changed ask for more than a test has time for: that is allowed, and no fault."""
    with contextlib.suppress(
        OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError
    ):
        settings = json.loads(config.read_bytes())["settings"]
        return any(
            isinstance(settings.get(name), int | float) and settings[name] > 300 for name in SIZES
        )
    return False


def command(arguments):
    """A command ends with a usual code, and what is wrong is one line."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = main(arguments)
    assert code in (0, 1, 2), f"{arguments[0]}: exit code {code}"
    lines = [line for line in error.getvalue().splitlines() if line.startswith("drrn: ")]
    assert code != 2 or len(lines) == 1, f"{arguments[0]}: {error.getvalue()}"


_good_runs = []


def good_runs():
    """Finished runs to be damaged, made once: the paper's recipe, the strong one, and a table."""
    if not _good_runs:
        folder = Path(tempfile.mkdtemp())
        (folder / "tale.twee").write_text(FORK)
        (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
        kinds = [
            SMALL,
            SMALL_STRONG,
            [word for word in SMALL if word not in ("--hidden", "6")] + ["--model", "table"],
        ]
        for number, kind in enumerate(kinds):
            run = folder / f"good-{number}"
            command(["train", str(folder / "tale.toml"), "--out", str(run), *kind, "--rounds", "1"])
            (run / "curve.png").unlink(missing_ok=True)
            _good_runs.append(run)
    return _good_runs


# Each target, and how many cases of it the tests try; the long form draws them by these numbers.
TARGETS = {a_story: 60, an_expression: 100, a_toml: 120, an_ink_story: 60, a_run_folder: 25}


class TookLongError(Exception):
    """A case that ran longer than any should."""


def fuzz_for(minutes, seed):
    """Cases until the time is up; what failed is kept in a folder and told."""
    over, found, tried = [], {}, 0
    signal.signal(signal.SIGALRM, lambda *_: over.append(True))
    signal.signal(signal.SIGPROF, _took_long)
    good_runs()
    signal.alarm(int(minutes * 60))
    kept = Path(tempfile.mkdtemp(prefix="drrn-fuzz-"))
    targets, weights = list(TARGETS), [1.0, 2.0, 1.0, 0.6, 0.5]
    while not over:
        (target,) = random.Random(f"{seed} {tried}").choices(targets, weights)
        with tempfile.TemporaryDirectory() as name:
            fault = fault_of(target, Path(name), f"{seed} {tried} case")
            if fault and (kind := kind_of(fault)) not in found:
                found[kind] = place = kept / str(tried)
                shutil.copytree(name, place)
                print(f"\n{target.__name__} {tried}: {place}\n{fault}", flush=True)
        tried += 1
    print(f"{tried} cases in {minutes:g} minutes: {len(found)} kinds of faults")
    return len(found)


def kind_of(fault):
    """What faults are told apart by: where they came up, and what they are."""
    lines = fault.strip().splitlines()
    where = [line for line in lines if line.startswith("  File")]
    return where[-1] if where else "", lines[-1].partition(":")[0]


def fault_of(target, folder, seed):
    """What a case ran into, or nothing."""
    signal.setitimer(signal.ITIMER_PROF, 30)
    try:
        target(folder, random.Random(seed))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def _took_long(*_):
    raise TookLongError("30 seconds of the processor")


def asked():
    """What the command line asks for."""
    options = argparse.ArgumentParser(prog="scripts/fuzz", description=WHAT)
    options.add_argument("minutes", type=float, nargs="?", default=10, help="(default: 10)")
    options.add_argument(
        "seed", type=int, nargs="?", default=0, help="of the mutations (default: 0)"
    )
    return vars(options.parse_args())


if __name__ == "__main__":
    sys.exit(min(1, fuzz_for(**asked())))
