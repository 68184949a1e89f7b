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
import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storytest.twine.story import unescape_html
from textgames.errors import InputError
from textgames.files import home, read_bytes, write
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
# The Q-values that the paper prints for Saving John are those of a game without step rewards, as in
# its code. In the paper's text both games have one: so has the third game.
STEP_REWARDS = {"saving-john": 0.0, "machine-of-death": -0.1, "saving-john-step": -0.1}
REPOSITORY = "https://github.com/jvking/text-games"
COMMIT = "936b583"
FOLDER = "text-games"  # of the stories, in the folder of the installed games
_SUMS = Path(__file__).with_suffix(".sha256").read_text(encoding="utf-8")
# The files that the games are converted from, and their SHA-256. Other files are refused, so that
# nothing unknown is parsed.
PUBLISHED = {name: sha256 for sha256, name in (line.split() for line in _SUMS.splitlines())}


def run(options: argparse.Namespace) -> None:
    add_games(options.path)
    print(f"installed: {', '.join(STEP_REWARDS)}")


def add_games(clone: Path) -> None:
    """Install the games from a clone of the authors' repository.

    Raises:
        InputError: A file differs from the published one, or the games cannot be written.
    """
    games = home() / "games"
    files = converted(read_sources(clone))
    for name in sorted(
        files, key=lambda name: name.endswith(".toml")
    ):  # last, since they name the others
        write(games / name if name.endswith(".toml") else games / FOLDER / name, files[name])
    for name in STEP_REWARDS:
        make(name)


def read_sources(clone: Path) -> dict[str, bytes]:
    """The published files that the games are converted from, with Unix line ends."""
    if not (clone / SIMULATOR).is_file():
        cure = f"git clone {REPOSITORY}, then python -m lab games text-games"
        raise InputError(
            f"{clone}: has no {SIMULATOR}, so it is no clone of the authors' files; {cure}"
        )
    sources = {}
    for name, sha256 in PUBLISHED.items():
        data = read_bytes(clone / name).replace(
            b"\r\n", b"\n"
        )  # Windows clones have other line ends
        if hashlib.sha256(data).hexdigest() != sha256:
            restore = f"restore it with `git -C {clone} checkout {COMMIT} -- {name}`"
            raise InputError(f"{clone / name}: differs from the published file; {restore}")
        sources[name] = data
    return sources


def converted(sources: Mapping[str, bytes]) -> dict[str, str]:
    """The files of the games, by name."""
    tree = parse_python2(sources[SIMULATOR])
    machine_of_death, labels = read_machine_of_death(tree)
    stories = {
        "saving-john": read_saving_john(sources["simulators/savingjohn.pickle"], tree),
        "machine-of-death": machine_of_death,
    }
    lists = ("original", "paraphrased")
    originals, others = (sources[f"simulators/machineofdeath_{each}Actions.txt"] for each in lists)
    pairs = {"original": "paraphrase", **paraphrases(originals, others, labels)}
    lines = [f"{original}\t{paraphrase}\n" for original, paraphrase in pairs.items()]
    files = {"machine-of-death.paraphrases.tsv": "".join(lines)}
    for name, story in stories.items():
        files[f"{name}.twee"] = story.twee
    for name, step_reward in STEP_REWARDS.items():
        story_name = name.removesuffix("-step")
        files[f"{name}.toml"] = rewards_toml(tree, story_name, stories[story_name], step_reward)
    return files


# --- Rewards: the simulator's function as rules in TOML


def rewards_toml(tree: ast.Module, name: str, story: Story, step_reward: float) -> str:
    """The TOML of a game.

    A rule is written once for each passage that contains its words, so that endings are identified
    by their passages. The paper's text has the reward of an ending that the published simulator
    never recognises, because it removes entities from texts first: here it is paid.
    """
    body: list[Any] = member(tree, "AssignReward").body
    *cases, last = body  # `if story.lower() == …` and `return …`
    statements = {literal(case.test.comparators[0]): case.body for case in cases}
    ends = []
    rules = []
    for statement in statements[name.replace("-", "")]:
        match statement:
            case ast.If(ast.UnaryOp(ast.Not(), test), [ast.Return()]):
                ends = [f"ends = {{ contains = {_quoted(_words(test)[1])} }}"]
            case ast.If(test, [ast.Return(ast.expr() as reward)]):
                rules += _rules(story, *_words(test), literal(reward))
    lines = [f"# Written by `python -m lab games`.\ntitle = {_quoted(TITLES[name])}"]
    lines.append(f'story = "{FOLDER}/{name}.twee"')
    if name == "machine-of-death":
        lines.append(f'paraphrases = "{FOLDER}/{name}.paraphrases.tsv"')
    lines += [f"step_reward = {step_reward}", "max_steps = 500"]
    lines += [f"default_reward = {literal(last.value)}", *ends, *rules]
    return "\n".join(lines) + "\n"


def _rules(story: Story, how: str, source: str, reward: float) -> list[str]:
    """A rule for each passage that contains the words of an ending."""
    words = unescape_html(source)
    lines = []
    for passage, text in story.passages_with(words):
        lines += ["", "[[ending]]", f"passage = {_quoted(passage)}"]
        lines += [f"{how} = {_quoted(text)}", f"reward = {reward}"]
    return lines


def _words(test: Any) -> tuple[str, str]:
    """How and what: `ending.startswith("…")`, or `"…" in ending`."""
    if isinstance(test, ast.Call):
        return "starts_with", literal(test.args[0])
    return "contains", literal(test.left)


def _quoted(text: str) -> str:
    """A TOML string, which has the form of a JSON string."""
    return json.dumps(text, ensure_ascii=False)
