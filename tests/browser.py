"""A server of the page and the system's Chromium, for tests in a real browser."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.stories import FORK, REWARDS

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
EXPECTATIONS = """
[[expect]]
ending = "Island"
odds = ">= 10 %"
[[expect]]
best = ">= 20"
"""


def chromium_path() -> str | None:
    """Return the path of the system's Chromium, or None: Playwright uses the one it installs."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser; skips the test if none is installed."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=chromium_path(), args=["--no-sandbox"]
            )
        except sync_api.Error as error:
            pytest.skip(f"Chromium does not start: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


AGENT = ("drrn.runs", "drrn.playing", "drrn.learning", "drrn.models", "drrn.settings", "drrn.arena")
BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in {names}):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Block())
"""


class PageServer:
    """The command `serve` in a separate process and an empty folder.

    Its processes cannot import the `missing` modules.
    """

    def __init__(
        self, folder: Path, *options: str, program: str = "drrn", missing: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self.options = options
        self.program = program
        (folder / "sitecustomize.py").write_text(BLOCK.format(names=tuple(missing)))
        self.port = "0"
        self.link = self.start()

    def start(self) -> str:
        command = [sys.executable, "-m", self.program]
        command += ["serve", "--no-browser", "--runs", "runs", "--port", self.port, *self.options]
        environment = {
            **os.environ,
            "TEXTGAMES_HOME": str(self.folder / "home"),
            "OMP_NUM_THREADS": "1",
        }
        environment["PYTHONPATH"] = os.pathsep.join([str(self.folder), *filter(None, sys.path)])
        with (self.folder / "errors").open("w") as errors:
            pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": errors, "text": True}
            self.process = subprocess.Popen(command, cwd=self.folder, env=environment, **pipes)
        assert self.process.stdout is not None
        link = self.process.stdout.readline().strip()
        assert link.startswith("http://"), (self.folder / "errors").read_text()
        self.port = link.split("/")[2].rpartition(":")[2]
        return link

    def kill(self) -> None:
        self.process.kill()
        self._wait()

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self._wait()

    def _wait(self) -> None:
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


def small_story() -> list[dict[str, Any]]:
    """Return a story and its TOML as files to drop on the page."""
    toml = f'story = "sea.twee"\ntitle = "The Grey Sea"\n{REWARDS}{EXPECTATIONS}'
    story = ":: StoryTitle\nThe Grey Sea\n\n" + FORK
    return [
        {"name": "sea.twee", "mimeType": "text/plain", "text": story},
        {"name": "sea.toml", "mimeType": "text/plain", "text": toml},
    ]


DROP_FILES = """files => {
  const transfer = new DataTransfer();
  for (const file of files) transfer.items.add(new File([file.text], file.name, { type: file.mimeType }));
  for (const name of ["dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(name, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }
}"""

# JavaScript: texts whose contrast with their background is below 4.5, or 3 if large (WCAG, AA).
LOW_CONTRAST_TEXTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => top.slice(0, 3).map((value, i) => value * top[3] + under[i] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => [r, g, b].map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const words = walker.currentNode.data.trim();
    if (!words || !element.checkVisibility() || element.closest("svg, :disabled, .unseen, option, script")) continue;
    const style = getComputedStyle(element);
    const under = behind(element);
    const pair = [light(over(rgba(style.color), under)), light(under)].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
    if (contrast < (large ? 3 : 4.5)) texts.push(`${words.slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return texts;
}"""

# JavaScript: controls without a name for screen readers.
UNNAMED_CONTROLS = """() => [...document.querySelectorAll("a[href], button, input, select, summary")].filter((element) => {
  if (!element.checkVisibility() || element.closest("svg")) return false;
  const labels = [...(element.labels || [])].map((label) => label.textContent).join("");
  return !(element.getAttribute("aria-label") || labels || element.textContent).trim();
}).map((element) => element.outerHTML.slice(0, 120))"""
