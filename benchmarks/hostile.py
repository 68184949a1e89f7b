"""Hostile pages: each must work, or end with one sentence, in `play`, `test` and `inspect`.

python -m benchmarks.hostile [MINUTES [SEED [FORMATS]]] [--jobs N]     as scripts/hostile calls it
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.commands import process as process_of
from tests.tiny_engine import tiny_story

MOST_SECONDS = 150  # of CPU, for a command and its processes
PATIENCE = 1200  # seconds
MOST_MEMORY = 1024  # MB of any process
SPARSE = "const a = []; a[4294967290] = 1;"
EMPTY = "const a = []; a.length = 4294967295;"
SCRIPTS = {
    "forEach": f"{EMPTY} a.forEach(x => x)",
    "map": f"{EMPTY} a.map(x => x)",
    "includes": f"{EMPTY} a.includes(1)",
    "indexOf": f"{EMPTY} a.indexOf(1)",
    "splice": f"{SPARSE} a.splice(0, 1)",
    "sort": f"{SPARSE} a.sort()",
    "reverse": f"{SPARSE} a.reverse()",
    "join": "const a = []; a.length = 400000000; a.join('x')",
    "power": "7n ** 100000000n",
    "factorial": "let f = 1n; for (let i = 1n; i < 1000000n; i++) f *= i",
    "Intl": "for (;;) new Intl.DateTimeFormat('en', {timeStyle: 'full', timeZone: 'UTC'}).format()",
    "collator": "'x'.repeat(2 ** 28).localeCompare('x'.repeat(2 ** 28) + 'y')",
    "regular expression": "/(x+x+)+y/.test('x'.repeat(60))",
    "loop": "for (;;);",
    "promises": "(async () => { for (;;) await 0 })()",
    "timers": "(function again() { setTimeout(again) ; setTimeout(again) })()",
    "recursion": "(function deeper() { deeper() })()",
    "growing arrays": "const k = []; for (;;) k.push(new Array(1000).fill(0.5))",
    "growing buffers": "const k = []; for (;;) k.push(new Uint8Array(1e7).fill(1))",
    "growing text": "let t = 'x'; for (;;) t += t + t",
    "growing page": "for (;;) document.body.appendChild(document.createElement('a'))",
    "links": "document.body.innerHTML += '<a href=\"#\">x</a>'.repeat(100000)",
    "save is an array": "__drrn.save = () => [1, 2]",
    "save is junk": "__drrn.save = () => 'junk'",
    "save is too long": "__drrn.save = () => 'x'.repeat(2 ** 30)",
    "save is deep": "__drrn.save = () => '['.repeat(1000000)",
    "save loops": "__drrn.save = () => { for (;;); }",
    "restore throws": "__drrn.restore = () => { throw {} }",
    "page is junk": "__drrn.page = () => '{}'",
    "JSON is replaced": "JSON.stringify = () => 'junk'; JSON.parse = () => 5",
    "prototypes": "Object.prototype.toString = null; Array.prototype.map = null",
    "document is deleted": "document.documentElement.remove()",
}
PASSAGES = {"Start": "A hall.\n\n[[Go->Next]]", "Next": "A yard.\n\n[[Back->Start]] [[End->End]]"}
PASSAGES |= {"End": "The end."}
INLINE = {  # how the page of a format runs a script
    "harlowe": "<script>{}</script>",
    "sugarcube": "<<script>>{}<</script>>",
    "snowman": "<% {} %>",
    "chapbook": "[JavaScript]\n{}\n[continue]\n",
}
TWINE_1 = {
    "links": "[[x|Next]]" * 100_001,
    "cycling links": "<<cyclinglink $a 'x' 'y' 'z'>>" * 3_000,
    "growing text": "<<set $a = 'x'>>" + "<<set $a = $a + $a>>" * 64 + "<<print $a>>",
    "display": "<<display 'Start'>>",
    "nesting": "<<if true>>" * 5_000 + "x" + "<<endif>>" * 5_000,
    "expression": f"<<print {'(' * 5_000}1{')' * 5_000}>>",
    "choices": "<<if either(0,1)>>x<<endif>>" * 2_000,
}
COMMANDS = {
    "play": ["play", "--policy", "random", "--episodes", "2"],
    "test": ["test", "--seconds", "5", "--jobs", "1"],
    "inspect": ["inspect", "--seconds", "10", "--limit", "2000"],
}


def twee(kind: str, passages: dict[str, str]) -> str:
    """Return a story in Twee; `kind` is the format."""
    data = {"ifid": "A7F0B8B2-6D0E-4E0C-8C1B-7C1E0D3F9A52", "format": kind}
    body = "".join(f"\n\n:: {name}\n{text}" for name, text in passages.items())
    return f":: StoryTitle\nHostile\n\n:: StoryData\n{json.dumps(data)}{body}\n"


def pages(formats: list[str]) -> dict[str, tuple[str, str]]:
    """Return the name and the contents of a file for each hostile page."""
    table = {}
    for name, script in SCRIPTS.items():
        table[f"tiny, at the start, {name}"] = ("page.html", tiny_story(PASSAGES, script=script))
        for passage in ("Start", "Next"):
            code = "{{(function () {" + script + "})()}}"
            passages = {**PASSAGES, passage: code + PASSAGES[passage]}
            table[f"tiny, {passage}, {name}"] = ("page.html", tiny_story(passages))
        for kind in formats:
            passages = {**PASSAGES, "Start": INLINE[kind].format(script) + PASSAGES["Start"]}
            table[f"{kind}, {name}"] = ("page.twee", twee(kind, passages))
    for name, text in TWINE_1.items():
        passages = {**PASSAGES, "Start": text + PASSAGES["Start"]}
        body = "\n\n".join(f":: {each}\n{source}" for each, source in passages.items())
        table[f"Twine 1, {name}"] = ("page.twee", body)
    return table


def outcome(command: list[str], environment: dict[str, str]) -> tuple[str, float, float]:
    """Run a command; return what happened, the CPU seconds, and the MB of its largest process."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            process_of(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environment,
        )
        deadline = start + PATIENCE
        done = (0, 0, None)
        while not done[0] and time.monotonic() < deadline:
            done = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0.05)
        if not done[0]:
            process.kill()
            done = os.wait4(process.pid, 0)
        seconds = done[2].ru_utime + done[2].ru_stime
        code = os.waitstatus_to_exitcode(done[1])
        process.returncode = code
        errors.seek(0)
        text = errors.read()
    memory = done[2].ru_maxrss / 1024
    sentences = sum(line.startswith(("drrn: ", "storytest: ")) for line in text.splitlines())
    if seconds >= MOST_SECONDS or code == -9:
        return "hangs", seconds, memory
    if memory > MOST_MEMORY:
        return f"needs {memory:.0f} MB", seconds, memory
    if "Traceback" in text or code not in (0, 1, 2) or (code == 2 and sentences != 1):
        return f"exit code {code}: {text[-1500:]}", seconds, memory
    return "one sentence" if code == 2 else "works", seconds, memory


def attack(minutes: float, seed: int, formats: Path, jobs: int) -> int:
    """Try hostile pages in a random order for some minutes; return the number of failures."""
    until = time.monotonic() + 60 * minutes
    counts: Counter[str] = Counter()
    longest = largest = 0.0
    slowest = ""
    failures = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        environment = {**os.environ, "TEXTGAMES_HOME": f"{folder}/home"}
        installed = []
        for kind in INLINE:
            command = process_of(["formats", "add", str(formats / kind)])
            done = subprocess.run(command, env=environment, capture_output=True, check=False)
            installed += [kind] * (done.returncode == 0)
        table = pages(installed)
        cases = list(itertools.product(table, COMMANDS))
        random.Random(seed).shuffle(cases)

        def attempt(name: str, command: str) -> tuple[str, float, float] | None:
            if time.monotonic() > until:
                return None
            file, text = table[name]
            path = Path(tempfile.mkdtemp(dir=folder), file)
            path.write_text(text, encoding="utf-8")
            first, *options = COMMANDS[command]
            return outcome([first, str(path), *options], environment)

        results = pool.map(attempt, *zip(*cases, strict=True))
        for (name, command), result in zip(cases, results, strict=True):
            if result is None:
                continue
            what, seconds, memory = result
            if seconds > longest:
                longest, slowest = seconds, f"{command}, {name}"
            largest = max(largest, memory)
            if what not in ("works", "one sentence"):
                failures += 1
                print(f"\n{command}, {name}: {what}", flush=True)
                what = "failure"
            counts[f"{command}: {what}"] += 1
    print(
        f"{sum(counts.values())} of {len(cases)} cases: {len(table)} pages, {len(COMMANDS)} commands"
    )
    print(f"formats: tiny, Twine 1, {', '.join(installed)}")
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(f"at most {longest:.0f} s of CPU ({slowest}) and {largest:.0f} MB; {failures} failures")
    return failures


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    options = argparse.ArgumentParser(prog="scripts/hostile")
    options.add_argument("minutes", type=float, nargs="?", default=60, help="(default: 60)")
    options.add_argument("seed", type=int, nargs="?", default=0, help="(default: 0)")
    options.add_argument("formats", type=Path, nargs="?", default=Path("formats"))
    options.add_argument(
        "--jobs",
        type=int,
        choices=range(1, 65),
        default=1,
        metavar="N",
        help="pages at once (default: 1)",
    )
    return options.parse_args()


if __name__ == "__main__":
    sys.exit(min(1, attack(**vars(parse_arguments()))))
