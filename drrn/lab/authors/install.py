"""Installs the paper's two games from a clone of the authors' repository; nothing of it is run."""

import ast
import hashlib
import json
import re
import shutil
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import read_bytes, write_atomically
from drrn.game.make import make
from drrn.lab.authors import stories
from drrn.lab.authors.stories import SIMULATOR, Story, literal
from drrn.stories import added
from drrn.stories.added import HOW, REPOSITORY, Origin, games_folder
from drrn.stories.twine.story import unescape_html

TITLES = {"saving-john": "Saving John", "machine-of-death": "Machine of Death"}
STEP_REWARD = -0.1  # in the paper, in both games
COMMIT = "936b583"
MAX_BYTES = 4 * 2**20  # the largest published file has 160,000
_SUMS = resources.files("drrn.lab.authors").joinpath("published.sha256").read_text(encoding="utf-8")
# The files that the games are converted from, and their published SHA-256. Other files are refused,
# so that nothing unknown is parsed.
PUBLISHED = {name: sha256 for sha256, name in (line.split() for line in _SUMS.splitlines())}


def add_games(clone: Path, *, as_published: bool = False) -> Origin:
    """Install both games from a clone; return what they were converted from.

    By `as_published`, rewards are those of the published code, not those of the paper. Files that
    differ from the published ones are refused.
    """
    sources = read_sources(clone)
    files = converted(sources, as_published=as_published)
    folder = f"text-games-{_sha256(repr(sorted(files.items())).encode())[:12]}"
    hashes = {name: _sha256(data) for name, data in sources.items()}
    sums = "\n".join(f"{sha256}  {name}" for name, sha256 in hashes.items())
    origin = Origin(folder, _sha256(sums.encode()), hashes, as_published)
    before = added.origin_if_sound()
    try:
        _write(files, origin)
    except OSError as error:
        why = f"{error.strerror}; the old games are unchanged"
        raise InputError(f"{games_folder()}: cannot be written: {why}") from error
    if before is not None and before.folder != origin.folder:
        shutil.rmtree(before.path, ignore_errors=True)
    return origin


def read_sources(clone: Path) -> dict[str, bytes]:
    """Return the published files that the games are converted from, with Unix line ends."""
    if not clone.is_dir():
        raise InputError(f"{clone}: no such folder; name a clone of {REPOSITORY} ({HOW})")
    if not (clone / SIMULATOR).is_file():
        raise InputError(
            f"{clone}: not a clone of {REPOSITORY}, since it has no {SIMULATOR}; {HOW}"
        )
    sources = {}
    for name in PUBLISHED:  # Windows clones have other line ends
        sources[name] = read_bytes(clone / name, MAX_BYTES).replace(b"\r\n", b"\n")
    for name, data in sources.items():
        if _sha256(data) != PUBLISHED[name]:
            restore = f"restore it with `git -C {clone} checkout {COMMIT} -- {name}`"
            raise InputError(f"{clone / name}: differs from the published file; {restore}")
    return sources


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def converted(sources: dict[str, bytes], *, as_published: bool) -> dict[str, str]:
    """Return the files of both games, by name."""
    tree = stories.parse_python2(sources[SIMULATOR])
    machine_of_death, labels = stories.read_machine_of_death(tree)
    twee = {
        "saving-john": stories.read_saving_john(sources["simulators/savingjohn.pickle"], tree),
        "machine-of-death": machine_of_death,
    }
    originals = sources["simulators/machineofdeath_originalActions.txt"]
    others = sources["simulators/machineofdeath_paraphrasedActions.txt"]
    pairs = {"original": "paraphrase", **stories.paraphrases(originals, others, labels)}
    lines = [f"{original}\t{paraphrase}\n" for original, paraphrase in pairs.items()]
    files = {"machine-of-death.paraphrases.tsv": "".join(lines)}
    for name, story in twee.items():
        prefix = f"simulators/{name.replace('-', '')}"
        vocabulary = {
            "states": _vocabulary(sources[f"{prefix}_wordId.pickle"]),
            "actions": _vocabulary(sources[f"{prefix}_actionId.pickle"]),
        }
        files[f"{name}.twee"] = story.twee
        files[f"{name}.toml"] = rewards_toml(tree, name, story, published=as_published)
        files[f"{name}.vocabulary.json"] = json.dumps(vocabulary, ensure_ascii=False)
    return files


def _vocabulary(data: bytes) -> dict[str, int]:
    """Return the published indices of words."""
    words: dict[str, int] = stories.read_pickle(data)
    return dict(sorted(words.items(), key=lambda item: item[1]))


def _write(files: dict[str, str], origin: Origin) -> None:
    """Write to a temporary folder, check that the games open, then move them and the record."""
    games_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=".text-games-", dir=games_folder(), ignore_cleanup_errors=True
    ) as temporary:
        folder = Path(temporary) / "games"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        for name in added.NAMES:
            make(folder / f"{name}.toml")  # it can be played
        shutil.rmtree(origin.path, ignore_errors=True)  # the same files, or edited ones
        folder.rename(origin.path)
        write_atomically(added.record_path(), origin.to_json().encode())


# --- Rewards: the simulator's function as rules in TOML


def rewards_toml(tree: ast.Module, name: str, story: Story, *, published: bool) -> str:
    """Return the TOML, with rewards as in the published code or as in the paper.

    A rule is written once for each passage that contains its words, so that endings are identified
    by their passages.
    """
    body: list[Any] = stories.member(tree, "AssignReward").body
    *cases, last = body  # `if story.lower() == …` and `return …`
    statements = {literal(case.test.comparators[0]): case.body for case in cases}
    otherwise = literal(last.value)
    step = 0.0
    ends = []
    rules = []
    for statement in statements[name.replace("-", "")]:
        match statement:
            case ast.If(ast.UnaryOp(ast.Not(), test), [ast.Return(ast.expr() as reward)]):
                step = literal(reward)  # of a page that does not end the story
                ends = [f"ends = {{ contains = {_quoted(_words(test)[1])} }}"]
            case ast.If(test, [ast.Return(ast.expr() as reward)]):
                missed = otherwise if published else None
                rules += _rules(story, *_words(test), literal(reward), missed)
    kind = "the published code" if published else "the paper"
    lines = [f"# Written by `drrn games add`; rewards as in {kind}."]
    lines += [f"title = {_quoted(TITLES[name])}", f'story = "{name}.twee"']
    if name == "machine-of-death":
        lines.append(f'paraphrases = "{name}.paraphrases.tsv"')
    lines.append(f"step_reward = {step if published else STEP_REWARD}")
    lines += ["max_steps = 500", f"default_reward = {otherwise}", *ends, *rules]
    return "\n".join(lines) + "\n"


def _rules(story: Story, how: str, source: str, reward: float, missed: float | None) -> list[str]:
    """Return a rule for each passage that contains the words of an ending.

    `missed`: the reward of an ending that the published simulator does not recognise, because it
    removes entities from texts first, or because an apostrophe differs.
    """
    words = unescape_html(source)
    recognised = not re.search(r"&#?\w+;", source)
    lines = []
    for passage, text in story.passages_with(words) or [("", words)]:
        pays = reward if missed is None or (recognised and text == words) else missed
        lines += ["", "[[ending]]"] + [f"passage = {_quoted(passage)}"] * bool(passage)
        lines += [f"{how} = {_quoted(text)}", f"reward = {pays}"]
    return lines


def _words(test: ast.expr) -> tuple[str, str]:
    """Return how and what: `ending.startswith("…")`, or `"…" in ending`."""
    if isinstance(test, ast.Call):
        return "starts_with", literal(test.args[0])
    assert isinstance(test, ast.Compare)
    return "contains", literal(test.left)


def _quoted(text: str) -> str:
    """Return a TOML string, which has the form of a JSON string."""
    return json.dumps(text, ensure_ascii=False)
