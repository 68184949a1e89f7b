"""Installs the paper's two games from a clone of the authors' repository, converted to Twee.

Saving John is a pickle of passages; its simulator remembers which path the player took. The
passages of Machine of Death are methods of a class. A method adds to `self.text`,
`self.current_links` and `self.actions`, sets `self.params`, draws random numbers, and shows other
passages by calling them from `self.methodDict`: in Twee these are text, links, <<set>>, random()
and <<display>>.

The simulator is Python 2: its source is parsed to a syntax tree, which is read and never executed.
"""

import argparse
import ast
import hashlib
import io
import json
import pickle
import re
import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from lab.authors import added
from lab.authors.added import HOW, REPOSITORY, Origin, games_folder
from storytest.twine.story import unescape_html
from textgames.errors import InputError
from textgames.files import read_bytes, write_atomically
from textgames.openers import make

SIMULATOR = "simulators/MySimulator.py"
Links = list[tuple[str, str]]  # label, target

# --- Python 2: a character of the source is a byte, and the bytes of a string are UTF-8

Code = ast.ClassDef | ast.FunctionDef


def parse_python2(data: bytes) -> ast.Module:
    """The syntax tree, in which `<>` is `!=` and lines that print are `pass`."""
    source = data.decode("latin-1").replace("<>", "!=")
    source = re.sub(r"^(\s*)print\b.*", r"\1pass", source, flags=re.M)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes that Python 2 accepted
        return ast.parse(source)


def member(parent: ast.Module | Code, name: str) -> Code:
    nodes = (node for node in parent.body if isinstance(node, Code))
    return next(node for node in nodes if node.name == name)


def literal(node: ast.AST) -> Any:
    """A number, a string or a list of strings."""
    return _decoded(ast.literal_eval(node))


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    return value.encode("latin-1").decode("utf-8") if isinstance(value, str) else value


class StoryNode:
    """A passage of the pickled story."""

    text: str
    actions: list[str]
    links: list[str]


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """The one class that the files name. Anything else could run code."""
        if (module, name) == ("__main__", "StoryNode"):
            return StoryNode
        raise InputError(f"a pickle names {module}.{name}, which is not part of a story")


def read_pickle(data: bytes) -> Any:
    """The plain data and the story nodes of a published file, whose hash is checked."""
    return _PlainUnpickler(io.BytesIO(data), encoding="utf-8").load()


# --- Twee

EDGE = "/%%/"  # an empty comment: preserves a line break at the edge of a passage
MARKUP = re.compile(r"\[\[([^|\]]*)\|[^\]]*\]\]|<<.*?>>")


@dataclass(frozen=True)
class Story:
    """A story in Twee."""

    passages: Mapping[str, str]  # by name
    start: str
    displayed: Set[str] = frozenset()  # passages that others include, with breaks at their edges

    @property
    def twee(self) -> str:
        parts = [f":: StoryData\n{json.dumps({'start': self.start}, ensure_ascii=False)}"]
        for name, text in self.passages.items():
            header = re.sub(r"([\\{}])", r"\\\1", name)
            if name in self.displayed:
                text = EDGE * text.startswith("\n") + text + EDGE * (text != text.rstrip())
            body = re.sub(r"^::", r"\\::", text.strip("\n"), flags=re.M)
            parts.append(f":: {header}\n{body}")
        return "\n\n\n".join(parts) + "\n"

    def passages_with(self, words: str) -> list[tuple[str, str]]:
        """The passages that contain words, and the words with the passage's apostrophes."""
        matches = []
        for name, text in self.passages.items():
            plain = MARKUP.sub(r"\1", text)
            start = plain.replace("’", "'").find(words.replace("’", "'"))
            if start >= 0:
                matches.append((name, plain[start : start + len(words)]))
        return matches


def links_in_text(texts: Sequence[str], links: Links) -> list[str] | None:
    """The texts with each link at its words, in order, or None if a link's words are missing."""
    rest = "\0".join(texts)
    result = ""
    for label, target in links:
        match = re.search(rf"(?<!\w){re.escape(label)}(?!\w)", rest)
        if match is None:
            return None
        result += f"{rest[: match.start()]}[[{label}|{target}]]"
        rest = rest[match.end() :]
    return (result + rest).split("\0") if links else None


def links_on_lines(links: Links) -> str:
    """Write each link on a separate line, as a choice."""
    return "".join(f"\n[[{label}|{target}]]" for label, target in links) + ("\n" if links else "")


# --- Saving John


def read_saving_john(data: bytes, tree: ast.Module) -> Story:
    """Convert the pickled story, with the player's path in the variable $path.

    One page shows its first link and, of the others, the one of the player's path.
    """
    simulator = member(tree, "SavingJohnSimulator")
    read = member(simulator, "Read")
    paths = {path: literal(link) for path, link in _cases(read, "self.params_path")}
    leads = dict(_cases(member(simulator, "Act"), "self.tiddler"))  # passage → path that it sets
    page = _page_start(read)
    passages, start = read_pickle(data)
    bodies = {}
    for name, node in passages.items():
        text, links = _pickled_passage(node)
        set_path = f'<<set $path = "{literal(leads[name])}">>' if name in leads else ""
        choices = links_on_lines(links)
        if text.startswith(page):
            choices = links_on_lines(links[:1])
            for path, number in paths.items():
                choices += f'<<if $path is "{path}">>{links_on_lines([links[number]])}<<endif>>'
        bodies[name] = f"{set_path}{text}\n{choices}"
    return Story(bodies, start)


def _pickled_passage(node: StoryNode) -> tuple[str, Links]:
    """Text and links of a passage. In its text, a line break is a backslash and an n."""
    labels = [unescape_html(label) for label in node.actions]
    text = unescape_html(node.text.replace("\\n", "\n"))
    return text, list(zip(labels, node.links, strict=True))


def _page_start(read: Code) -> str:
    """How the text of the page starts that `Read` treats in another way."""
    tests = (statement.test for statement in read.body if isinstance(statement, ast.If))
    call = next(test for test in tests if isinstance(test, ast.Call))
    return str(literal(call.args[0]))


def _cases(method: Code, name: str) -> list[tuple[str, ast.expr]]:
    """Values and assigned expressions, from `if name == "value": x = …` and its elifs."""
    cases = []
    for node in ast.walk(method):
        match node:
            case ast.If(ast.Compare(left, [ast.Eq()], [value]), [ast.Assign([_], then)]):
                if ast.unparse(left) == name:
                    cases.append((literal(value), then))
    return cases


# --- Machine of Death


def read_machine_of_death(tree: ast.Module) -> tuple[Story, list[str]]:
    """The story of the simulator's class, and the labels of all its links."""
    simulator = member(tree, "MachineOfDeathSimulator")
    passages: dict[str, _Passage] = {}
    for statement in member(simulator, "__init__").body:
        match statement:
            case ast.Assign([ast.Subscript(table, name)], method):  # self.methodDict["Name"] = …
                if ast.unparse(table) == "self.methodDict":
                    method_name = ast.unparse(method).removeprefix("self.")
                    passages[literal(name)] = _Passage(member(simulator, method_name))
    displayed = {name for passage in passages.values() for name in passage.displayed}
    sources = {name: passage.source for name, passage in passages.items()}
    labels = [label for passage in passages.values() for label in passage.labels]
    assignments = (s for s in member(simulator, "Restart").body if isinstance(s, ast.Assign))
    values = {ast.unparse(s.targets[0]): s.value for s in assignments}
    start = literal(values["self.current_tiddler"])
    return Story(sources, start, displayed), list(dict.fromkeys(labels))


def paraphrases(originals: bytes, others: bytes, labels: Sequence[str]) -> dict[str, str]:
    """Action → paraphrase, in the order of the file.

    The published lists have no quotation marks around an action, the story has some.
    """
    spellings: dict[str, list[str]] = {}
    for label in labels:
        spellings.setdefault(_bare(label), []).append(" ".join(unescape_html(label).split()))
    pairs = {}
    for original, paraphrase in zip(_lines(originals), _lines(others), strict=True):
        for label in spellings.get(_bare(original), []):
            pairs[label] = unescape_html(paraphrase)
    return pairs


def _bare(label: str) -> str:
    return " ".join(re.sub(r"&quot;|[\"“”]", " ", label).split())


def _lines(data: bytes) -> list[str]:
    return [line.strip() for line in data.decode("utf-8").rstrip().split("\n")]


# --- Methods to Twee

OPERATORS = {"==": "is", "!=": "neq", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
COMPARISON = re.compile(r"\((\S+ \S+ \S+)\)")
VARIABLE = re.compile(r"self\.params\['(\w+)'\]")
RANDOM = re.compile(r"int\(np\.floor\(np\.random\.random\(\) \* (\d+) \+ (\d+)\)\)")


class _Passage:
    """The Twee of one method, the passages that it includes, and the labels of its links."""

    def __init__(self, method: Code) -> None:
        self.displayed: set[str] = set()
        self.labels: list[str] = []
        self.source = self._block(method.body[:-1])  # the last statement is a return

    def _block(self, statements: Sequence[ast.stmt]) -> str:
        """Convert statements. A link whose words are in the texts before it is inserted there."""
        pieces: list[str] = []
        texts: list[int] = []  # indices of pieces that are plain text
        targets: list[str] = []  # of links whose labels follow
        for statement in statements:
            match statement:
                case ast.AugAssign(target, ast.Add(), value) if ast.unparse(target) == "self.text":
                    texts.append(len(pieces))
                    pieces.append(_text(value))
                case ast.AugAssign(target, ast.Add(), value):
                    words = literal(value)
                    if ast.unparse(target) == "self.current_links":
                        targets = words
                    else:
                        self._add_links(words, targets, pieces, texts)
                case ast.If(test, body, otherwise):
                    then = f"<<if {_expression(test)}>>{self._block(body)}"
                    then += f"<<else>>{self._block(otherwise)}" if otherwise else ""
                    pieces.append(f"{then}<<endif>>")
                case ast.Assign([target], value):
                    pieces.append(f"<<set {_expression(target)} = {_expression(value)}>>")
                case ast.Expr(ast.Call(ast.Subscript(_, name), [], [])):
                    pieces.append(self._display(literal(name)))
        return "".join(pieces)

    def _add_links(
        self, labels: list[str], targets: list[str], pieces: list[str], texts: list[int]
    ) -> None:
        self.labels += labels
        links = list(zip(map(unescape_html, labels), targets, strict=True))
        with_links = links_in_text([pieces[index] for index in texts], links)
        if not with_links:
            pieces.append(links_on_lines(links))
            return
        for index, text in zip(texts, with_links, strict=True):
            pieces[index] = text
        texts.clear()

    def _display(self, name: str) -> str:
        self.displayed.add(name)
        return f"<<display '{name}'>>" if '"' in name else f'<<display "{name}">>'


def _text(node: ast.expr) -> str:
    """Convert a sum of strings and `str(self.params[…])`."""
    match node:
        case ast.BinOp(left, ast.Add(), right):
            return _text(left) + _text(right)
        case ast.Call(ast.Name("str"), [variable], []):
            return f"<<print {_expression(variable)}>>"
    # The conversion of the published text from the story's source left an <<endif>>.
    return unescape_html(literal(node)).replace("<<endif>>", "")


def _expression(node: ast.expr) -> str:
    """Convert numbers, variables, comparisons, sums and random numbers."""
    code = VARIABLE.sub(r"$\1", ast.unparse(node))
    code = COMPARISON.sub(r"\1", code)  # `unparse` puts the third of three into parentheses
    for sign, word in OPERATORS.items():
        code = code.replace(f" {sign} ", f" {word} ")
    return RANDOM.sub(lambda m: f"random({m[2]}, {int(m[1]) + int(m[2]) - 1})", code)


# --- Installation

TITLES = {"saving-john": "Saving John", "machine-of-death": "Machine of Death"}
STEP_REWARD = -0.1  # in the paper, in both games
COMMIT = "936b583"
_SUMS = resources.files("lab.authors").joinpath("published.sha256").read_text(encoding="utf-8")
# The files that the games are converted from, and their published SHA-256. Other files are refused,
# so that nothing unknown is parsed.
PUBLISHED = {name: sha256 for sha256, name in (line.split() for line in _SUMS.splitlines())}


def run(options: argparse.Namespace) -> None:
    """Install the games, and print what they come from."""
    before = added.origin_if_sound()
    origin = add_games(options.path, as_published=options.as_published)
    what = "installed" if before is None else "installed again"
    print(f"{' and '.join(added.NAMES)}: {what}: {origin}")
    if before is not None and before != origin:
        print(f"before: {before}")


def add_games(clone: Path, *, as_published: bool = False) -> Origin:
    """Install both games from a clone.

    Args:
        clone: A clone of the authors' repository.
        as_published: Take the rewards of the published code instead of those of the paper.

    Returns:
        What the games were converted from.

    Raises:
        InputError: A file differs from the published one, or the games cannot be written.
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
    """The published files that the games are converted from, with Unix line ends."""
    if not clone.is_dir():
        raise InputError(f"{clone}: no such folder; name a clone of {REPOSITORY} ({HOW})")
    if not (clone / SIMULATOR).is_file():
        message = f"{clone}: not a clone of {REPOSITORY}, since it has no {SIMULATOR}; {HOW}"
        raise InputError(message)
    sources = {}
    for name in PUBLISHED:  # Windows clones have other line ends
        data = read_bytes(clone / name, 4 * 2**20)  # the largest has 160,000 bytes
        sources[name] = data.replace(b"\r\n", b"\n")
    for name, data in sources.items():
        if _sha256(data) != PUBLISHED[name]:
            restore = f"restore it with `git -C {clone} checkout {COMMIT} -- {name}`"
            raise InputError(f"{clone / name}: differs from the published file; {restore}")
    return sources


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def converted(sources: dict[str, bytes], *, as_published: bool) -> dict[str, str]:
    """The files of both games, by name."""
    tree = parse_python2(sources[SIMULATOR])
    machine_of_death, labels = read_machine_of_death(tree)
    twee = {
        "saving-john": read_saving_john(sources["simulators/savingjohn.pickle"], tree),
        "machine-of-death": machine_of_death,
    }
    originals = sources["simulators/machineofdeath_originalActions.txt"]
    others = sources["simulators/machineofdeath_paraphrasedActions.txt"]
    pairs = {"original": "paraphrase", **paraphrases(originals, others, labels)}
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
    """The published indices of words."""
    words: dict[str, int] = read_pickle(data)
    return dict(sorted(words.items(), key=lambda item: item[1]))


def _write(files: dict[str, str], origin: Origin) -> None:
    """Write to a temporary folder, check that the games open, then move them and the record."""
    games_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=".text-games-", dir=games_folder(), ignore_cleanup_errors=True
    ) as temporary:
        folder = Path(temporary) / origin.folder
        folder.mkdir()
        tomls = {}
        for name, text in files.items():
            if name.endswith(".toml"):
                inside = rf'\1"{origin.folder}/'
                text = tomls[name] = re.sub(r'(?m)^((?:story|paraphrases) = )"', inside, text)
            path = Path(temporary, name) if name in tomls else folder / name
            path.write_text(text, encoding="utf-8", newline="\n")
        for name in tomls:
            make(Path(temporary, name))  # it can be played
        shutil.rmtree(origin.path, ignore_errors=True)  # the same files, or edited ones
        folder.rename(origin.path)
        for name, text in tomls.items():
            write_atomically(games_folder() / name, text.encode())
        write_atomically(added.record_path(), origin.to_json().encode())


# --- Rewards: the simulator's function as rules in TOML


def rewards_toml(tree: ast.Module, name: str, story: Story, *, published: bool) -> str:
    """The TOML of a game, with rewards as in the published code or as in the paper.

    A rule is written once for each passage that contains its words, so that endings are identified
    by their passages.
    """
    body: list[Any] = member(tree, "AssignReward").body
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
    lines = [f"# Written by `python -m lab games`; rewards as in {kind}."]
    lines += [f"title = {_quoted(TITLES[name])}", f'story = "{name}.twee"']
    if name == "machine-of-death":
        lines.append(f'paraphrases = "{name}.paraphrases.tsv"')
    lines.append(f"step_reward = {step if published else STEP_REWARD}")
    lines += ["max_steps = 500", f"default_reward = {otherwise}", *ends, *rules]
    return "\n".join(lines) + "\n"


def _rules(story: Story, how: str, source: str, reward: float, missed: float | None) -> list[str]:
    """A rule for each passage that contains the words of an ending.

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
    """How and what: `ending.startswith("…")`, or `"…" in ending`."""
    if isinstance(test, ast.Call):
        return "starts_with", literal(test.args[0])
    assert isinstance(test, ast.Compare)
    return "contains", literal(test.left)


def _quoted(text: str) -> str:
    """A TOML string, which has the form of a JSON string."""
    return json.dumps(text, ensure_ascii=False)
