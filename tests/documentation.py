"""Code blocks of the documentation, and a reader that follows them in a folder."""

from __future__ import annotations

import importlib
import re
import runpy
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import drrn.cli
import storytest.cli
from lab.__main__ import PROGRAM as LAB
from textgames import command_line

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?:<!-- (?P<comment>[^\n]*?) -->\n)?"
    r'```(?P<language>\w*)(?: title="(?P<title>[^"]*)")?\n(?P<text>.*?)^```$',
    re.M | re.S,
)
PROGRAMS = {"drrn": drrn.cli.PROGRAM, "storytest": storytest.cli.PROGRAM, "python -m lab": LAB}
PASSAGE = re.compile(r"^:: (?P<name>[^\n]+)\n.*?(?=^:: |\Z)", re.M | re.S)

# Comments before a block: why it is not run, or not run in a short test, or the smaller settings
# with which a short test runs it.
NOT_RUN = "not run: "
RUN_IN_FULL = "run in full: "
RUN_WITH = "run with: "
HIDDEN = re.compile(r"…|\s[\d,]+ transitions/s")  # parts of a line that are not compared


@dataclass(frozen=True)
class Block:
    """A code block, and the comment before it, which controls how tests run it."""

    language: str
    title: str
    comment: str
    text: str

    @property
    def smaller_settings(self) -> str:
        """Settings with which a test runs the block quickly."""
        if not self.comment.startswith(RUN_WITH):
            return ""
        return self.comment.removeprefix(RUN_WITH)


def pages() -> list[Path]:
    """Return README.md and every page of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """Return the code blocks of a page."""
    matches = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [
        Block(match["language"], match["title"] or "", match["comment"] or "", match["text"])
        for match in matches
    ]


class Reader:
    """Follows the blocks of a page, one after another, in the current folder.

    Without `is_full`, trainings are shortened, and what they print is not compared.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str], is_full: bool = False) -> None:
        self.capsys = capsys
        self.is_full = is_full
        self.scope: dict[str, Any] = {"__name__": "tutorial"}
        self.printed = ""  # by the Python code of the last block

    def follow(self, block: Block) -> None:
        """Write the file of a block, or run its Python code or its commands."""
        if block.comment.startswith(NOT_RUN):
            return
        if block.comment.startswith(RUN_IN_FULL) and not self.is_full:
            return
        if block.title:
            self._write(block)
        elif block.language == "python":
            self._execute(block)
        elif block.language == "text" and self.printed and self.is_full:
            _compare("the code", block.text.splitlines(), self.printed)
        elif block.language == "console":
            for command, lines in commands_of(block):
                self._run(command, lines, block)

    def _execute(self, block: Block) -> None:
        code = block.text
        if not self.is_full:
            for name, value in re.findall(r"(\w+)=(\d+)", block.smaller_settings):
                code = re.sub(rf"\b{name}=\d+", f"{name}={value}", code)
        self.capsys.readouterr()
        exec(compile(code, "tutorial", "exec"), self.scope)
        self.printed = self.capsys.readouterr().out

    def _write(self, block: Block) -> None:
        """Write a block's file; the title may say that it is appended or replaces some passages."""
        name, _, mode = block.title.partition(", ")
        path = Path(name)
        text = block.text
        if mode == "added":
            text = f"{path.read_text(encoding='utf-8')}\n\n{text}"
        elif mode == "changed passages":
            new_passages = {match["name"]: match.group() for match in PASSAGE.finditer(text)}

            def replace(match: re.Match[str]) -> str:
                return new_passages.get(match["name"], match.group()).rstrip() + "\n\n"

            text = PASSAGE.sub(replace, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        sys.modules.pop(path.stem, None)  # a new process would import it again
        importlib.invalidate_caches()

    def _run(self, command: str, lines: list[str], block: Block) -> None:
        """Run a command of ours and compare its output with the lines on the page."""
        words = shlex.split(command, comments=True)
        output_file = None
        if ">" in words:
            output_file = words[-1]
            words = words[: words.index(">")]
        self.capsys.readouterr()
        if words[:2] == ["python", "-m"]:
            _run_module(words[2:])
        else:
            assert words[0] in PROGRAMS, f"it is not run: write why not before {command}"
            codes = (0, 1) if words[0] == "storytest" else (0,)  # 1: the story has an error
            smaller = [] if self.is_full else block.smaller_settings.split()
            assert command_line.main(PROGRAMS[words[0]], [*words[1:], *smaller]) in codes, command
        output = self.capsys.readouterr().out
        if output_file:
            Path(output_file).write_text(output, encoding="utf-8")
        if self.is_full or not block.comment:
            _compare(command, lines, output)


def _run_module(words: list[str]) -> None:
    """Run `python -m MODULE ARGUMENT …` in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        patch.delitem(sys.modules, words[0], raising=False)  # runpy warns if it was imported
        runpy.run_module(words[0], run_name="__main__")


def _compare(command: str, lines: list[str], output: str) -> None:
    """Check that the parts of these lines were printed."""
    for line in lines:
        for part in filter(None, map(str.strip, HIDDEN.split(line))):
            assert part in output, f"{command} did not print {part!r} but\n{output}"


def commands_of(block: Block) -> list[tuple[str, list[str]]]:
    """Return each command after a $, with the lines below it."""
    commands: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif commands:
            commands[-1][1].append(line)
    return commands
