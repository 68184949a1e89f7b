"""The pages of the documentation, cut into blocks of code, and a reader who does in a folder what a page says."""

import importlib
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from drrn.cli import main

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r'^(?:<!-- (?P<told>[^\n]*?) -->\n)?```(?P<language>\w*)(?: title="(?P<title>[^"]*)")?\n(?P<text>.*?)^```$',
    re.M | re.S,
)
PASSAGE = re.compile(r"^:: (?P<name>[^\n]+)\n.*?(?=^:: |\Z)", re.M | re.S)
NOT_RUN, RUN_WITH, NOT_COMPARED = "not run: ", "run with: ", "not compared: "


@dataclass(frozen=True)
class Block:
    """A block of code; what a comment before it tells of how it is run."""

    language: str
    title: str
    told: str
    text: str

    @property
    def smaller(self):
        """The settings that it is run with here, so that a test takes a moment."""
        return self.told.removeprefix(RUN_WITH) if self.told.startswith(RUN_WITH) else ""


def pages():
    """README.md and every page of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page):
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(b["language"], b["title"] or "", b["told"] or "", b["text"]) for b in found]


class Reader:
    """Does what the blocks of a page say, one after the other, in the current folder."""

    def __init__(self, capsys):
        self.capsys, self.scope = capsys, {"__name__": "tutorial"}

    def follow(self, block):
        if block.told.startswith(NOT_RUN):
            return
        if block.title:
            self.write(block)
        elif block.language == "python":
            code = block.text
            for name, value in re.findall(r"(\w+)=(\d+)", block.smaller):
                code = re.sub(rf"\b{name}=\d+", f"{name}={value}", code)
            exec(compile(code, "tutorial", "exec"), self.scope)
        elif block.language == "console":
            for command, shown in commands_of(block):
                self.run(command, shown, block)

    def write(self, block):
        """A file as a block has it, with more at its end, or with some of its passages changed."""
        name, _, how = block.title.partition(", ")
        path, text = Path(name), block.text
        if how == "added":
            text = f"{path.read_text(encoding='utf-8')}\n\n{text}"
        elif how == "changed passages":
            changed = {passage["name"]: passage.group() for passage in PASSAGE.finditer(text)}
            old = path.read_text(encoding="utf-8")
            text = PASSAGE.sub(
                lambda passage: changed.get(passage["name"], passage.group()).rstrip() + "\n\n", old
            )
        path.write_text(text, encoding="utf-8")
        sys.modules.pop(
            path.stem, None
        )  # each command would be a process of its own, and import it anew
        importlib.invalidate_caches()

    def run(self, command, shown, block):
        words = shlex.split(command, comments=True)
        words, into = (words[: words.index(">")], words[-1]) if ">" in words else (words, None)
        assert words[0] == "drrn", (
            f"only commands of drrn are run here: say why not before {command}"
        )
        self.capsys.readouterr()
        assert main([*words[1:], *block.smaller.split()]) == 0, command
        printed = self.capsys.readouterr().out
        if into:
            Path(into).write_text(printed, encoding="utf-8")
        for line in shown if not block.told else ():
            for part in filter(None, map(str.strip, line.split("…"))):
                assert part in printed, f"{command} did not print {part!r} but\n{printed}"


def commands_of(block):
    """Each command after a $, with the lines that the page shows below it."""
    found = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found
