"""Readers of stories: Twee (versions 1 and 3), published Twine pages (1 and 2), folders of Twee."""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from storytest.twine.story import Passage, Story, build_story, check_passage_name, unescape_html
from textgames.errors import InputError
from textgames.files import decode, read_bytes

TWEE = (".twee", ".tw", ".twee2", ".txt")
HTML = (".html", ".htm")
IN_A_FOLDER = (".twee", ".tw")
# Tags of other files in a folder of Twee files, as Tweego assigns them.
EXTRA_FILES = {".js": "script", ".css": "stylesheet"}
EXTRA_FOLDERS = "js javascript script scripts css style styles macros widgets".split()
SETTINGS = "StorySettings"
ONCE = ("StoryData", "StoryTitle", "Start")  # a second one means a second story


def read_story(path: Path, encoding: str | None = None) -> Story:
    """Read the story in a Twee file, a published Twine page, or a folder of Twee files."""
    if path.is_dir():
        return read_files(story_files(path), str(path), encoding)
    text = decode(read_bytes(path), str(path), encoding)
    suffix = path.suffix.lower()
    if suffix in HTML or (suffix not in TWEE and text.lstrip()[:1] == "<"):
        return read_twine_html(text, str(path))
    return read_twee(text, str(path))


def read_files(files: Sequence[Path], source: str, encoding: str | None = None) -> Story:
    """Read one story from several files, in their order: Twee, scripts and style sheets."""
    passages: list[Passage] = []
    file_of: dict[str, Path] = {}
    for path in files:
        text = decode(read_bytes(path), str(path), encoding)
        tag = EXTRA_FILES.get(path.suffix.lower())
        new = [Passage(path.name, text, (tag,))] if tag else twee_passages(text, str(path))
        for name in (passage.name for passage in new if passage.name in ONCE):
            if file_of.setdefault(name, path) != path:
                cause = f'{file_of[name].name} and {path.name} both have a passage "{name}"'
                cure = "a folder is one story, so open a file, or put each story in its own folder"
                raise InputError(f"{source}: {cause}; {cure}")
        passages += new
    return _twee_story(passages, source)


def story_files(folder: Path, most: int = 5_000) -> list[Path]:
    """The Twee files in and below a folder, then scripts and styles near them."""
    twee: list[Path] = []
    extra: list[Path] = []
    for parent, folders, names in os.walk(folder):
        visible = (name for name in folders if not name.startswith("."))
        folders[:] = sorted(name for name in visible if name != "node_modules")
        paths = [Path(parent, name) for name in sorted(names) if not name.startswith(".")]
        sources = [path for path in paths if path.suffix.lower() in IN_A_FOLDER]
        twee += sources
        is_near = twee and Path(parent).name.lower() in EXTRA_FOLDERS  # such as js
        if sources or is_near:
            extra += [path for path in paths if path.suffix.lower() in EXTRA_FILES]
        if len(twee) + len(extra) > most:
            message = f"{folder}: more than {most:,} files; name the folder of one story"
            raise InputError(message)
    if not twee:
        suffixes = ", ".join(IN_A_FOLDER)
        raise InputError(f"{folder}: no Twee files ({suffixes}) in this folder; name the story")
    return sorted(twee) + sorted(extra)


# --- Twee

# A backslash makes a bracket part of the name.
METADATA = re.compile(r"(?<!\\)\{.*\}$")
POSITION = re.compile(r'"position"\s*:\s*"([^"]*)"')
TAGS = re.compile(r"(?<!\\)\[([^\[\]]*)\]$")


def read_twee(text: str, source: str) -> Story:
    """Read a story in Twee notation. `source` is the file in error messages."""
    return _twee_story(twee_passages(text, source), source)


def twee_passages(text: str, source: str) -> list[Passage]:
    """The passages of a Twee file, in order."""
    sections: list[tuple[int, str, list[str]]] = []  # line, header, body
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("::"):
            sections.append((number, line, []))
        elif sections:
            sections[-1][2].append(line[1:] if line.startswith("\\::") else line)
    return [_passage(*section, source) for section in sections]


def _passage(line: int, header: str, body: list[str], source: str) -> Passage:
    rest = METADATA.sub("", header[2:].strip()).rstrip()
    match = TAGS.search(rest)
    name = re.sub(r"\\(.)", r"\1", rest[: match.start()] if match else rest).strip().lstrip(": ")
    check_passage_name(name, f"{source}, line {line}")
    tags = tuple(match[1].replace("\\", "").split()) if match else ()
    blank = next((i for i, text in enumerate(body) if text.strip()), len(body))
    text = "\n".join(body[blank:]).rstrip()
    position = POSITION.search(header)
    point = _point(position[1] if position else "")
    return Passage(name, text, tags, line + 1 + blank, position=point)


def _point(text: str) -> tuple[float, float] | None:
    """A position that Twine wrote, such as 600,400, or None."""
    with contextlib.suppress(ValueError):
        x, y = (float(number) for number in text.split(","))
        if max(abs(x), abs(y)) < 1e6:  # pixels
            return x, y
    return None


def _twee_story(passages: list[Passage], source: str) -> Story:
    """The story, with the start and format of Twee 3's StoryData."""
    data = next((passage for passage in passages if passage.name == "StoryData"), None)
    if data is None or not data.text.strip():
        return build_story(source, passages)
    location = f"{source}, line {data.line}"
    try:
        table = json.loads(data.text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{location}: StoryData is not valid JSON: {error}") from error
    if not isinstance(table, dict):
        raise InputError(f"{location}: StoryData must be a JSON object")
    start = table.get("start")
    name = table.get("format")
    return build_story(
        source,
        passages,
        start=start if start and isinstance(start, str) else "Start",
        format=name.lower() if isinstance(name, str) else "",
        data=table,
    )


# --- published pages
# A few patterns read the little HTML of a story, each character once: a general parser needs
# minutes for a megabyte of stray `<`.

TWINE_1 = re.compile(r"\bid\s*=\s*[\"']?store-?area\b", re.I)
TWINE_2 = re.compile(r"<tw-storydata\b", re.I)
TWINE_2_END = re.compile(r"</tw-storydata\b", re.I)
ATTRIBUTE = re.compile(
    r"""[\s/]*(?:"|'|=)*([^\s=>"'/]+)\s*(?:=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?"""
)
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
OBFUSCATED = re.compile(r"obfuscate\s*:\s*(?:rot13|swap)", re.I)
# Twine 1's notation of line breaks, tabs and backslashes.
ESCAPES = {"\\n": "\n", "\\t": "\t", "\\s": "\\", "\\\\": "\\"}


def read_twine_html(text: str, source: str) -> Story:
    """Read the story of a published HTML file. `source` is the file in error messages."""
    if match := TWINE_2.search(text):
        return _read_twine_2(text, match.start(), source)
    if match := TWINE_1.search(text):
        return _read_twine_1(text, match.start(), source)
    cure = "use the file that Publish to File saves in Twine"
    raise InputError(f"{source}: no Twine story in this HTML; {cure}")


def _read_twine_2(text: str, position: int, source: str) -> Story:
    root, position = _attributes(text, position + len("<tw-storydata"))
    end = TWINE_2_END.search(text, position)
    passages = []
    start = ""
    end_position = end.start() if end else len(text)
    for attributes, body, line in _elements(text, "tw-passagedata", position, end_position):
        name = attributes.get("name", "").strip()
        tags = tuple(attributes.get("tags", "").split())
        point = _point(attributes.get("position", ""))
        passages.append(Passage(name, body, tags, line, position=point))
        if "pid" in attributes and attributes["pid"] == root.get("startnode"):
            start = name
    return build_story(
        source,
        passages,
        title=root.get("name", ""),
        start=start or (passages[0].name if passages else "Start"),
        format=root.get("format", "").lower(),
        data={key: root[key] for key in ("ifid", "format-version") if key in root},
    )


def _read_twine_1(text: str, position: int, source: str) -> Story:
    elements = [e for e in _elements(text, "div", position, len(text)) if "tiddler" in e[0]]
    passages = []
    for attributes, source_text, line in elements:
        name = attributes["tiddler"]
        tags = attributes.get("tags", "")
        body = _unescape(source_text)
        if name == SETTINGS and OBFUSCATED.search(body):
            cure = "publish it again without this setting"
            raise InputError(f"{source}: the story is obfuscated; {cure}")
        if name != "StoryIncludes":  # publishing has included them already
            on_one_line = "\n" not in source_text
            point = _point(attributes.get("twine-position", ""))
            passages.append(
                Passage(name.strip(), body, tuple(tags.split()), line, on_one_line, position=point)
            )
    return build_story(source, passages, start="Start")


def _elements(
    text: str, name: str, position: int, end: int
) -> Iterator[tuple[dict[str, str], str, int]]:
    edge = re.compile(rf"</?{name}\b", re.I)
    line = 1
    last = 0
    while opening := edge.search(text, position, end):
        position = opening.end()
        if opening.group()[1] == "/":
            continue
        line += text.count("\n", last, opening.start())
        last = opening.start()
        attributes, position = _attributes(text, position)
        after = edge.search(text, position, end)
        inside = text[position : after.start() if after else end]
        yield attributes, _unix_lines(unescape_html(TAG.sub("", inside))), line


def _attributes(text: str, position: int) -> tuple[dict[str, str], int]:
    attributes: dict[str, str] = {}
    while match := ATTRIBUTE.match(text, position):
        name, *values = match.groups()
        attributes.setdefault(name.lower(), unescape_html(next(filter(None, values), "")))
        position = match.end()
    close = text.find(">", position)
    return attributes, close + 1 if close >= 0 else len(text)


def _unescape(text: str) -> str:
    return _unix_lines(re.sub(r"\\[nts\\]", lambda match: ESCAPES[match.group()], text))


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
