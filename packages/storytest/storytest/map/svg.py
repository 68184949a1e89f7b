"""The map of a story as SVG: self-contained, light and dark, with a group per page for scripts."""

import math
import re
from pathlib import Path

from storytest.map.layers import Page, breadth, shorten
from storytest.map.layout import Layout, Line
from storytest.map.story_map import UNREACHED, UNWRITTEN, WRONG, StoryMap, story_map
from textgames.compiled.compile import compile_game
from textgames.errors import InputError, require
from textgames.game.contract import Game, title_of
from textgames.notebook import Picture
from textgames.pages import rendered
from textgames.wording import counted

NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
NOT_TRIED = "not tried"


def check_map_file(file: Path) -> None:
    """Raise InputError if a map cannot be written to a file. Existing files are not overwritten."""
    require("jinja2")
    if file.suffix.lower() != ".svg":
        raise InputError(f"{file}: a map is an SVG file; choose a name that ends in .svg")
    if file.exists():
        raise InputError(f"{file}: already exists; choose another name for the map")
    if not file.parent.is_dir():
        raise InputError(f"{file}: no folder {file.parent}; create it first")


def game_map(game: Game) -> Picture:
    """The map of a game that can be compiled."""
    return Picture(story_map_svg(story_map(compile_game(game))), f"map of {title_of(game)}")


def story_map_svg(story: StoryMap, *, with_style: bool = True, legend: bool = True) -> str:
    """Draw a map as one `<svg class="story-map">`, for a file or for a page of HTML.

    Each node is `<g class="page" id="page-N" data-number="N" data-page="label">`, where N is its
    index in the lists of `story`. Each line is `<path class="edge" data-from="N …" data-to="N">`.
    Without its style, the page must load `map.css`, as if inline styles are forbidden.
    """
    drawing = Drawing(story, legend)
    text = rendered("storytest/story_map.svg", drawing=drawing, with_style=with_style)
    return NOT_XML.sub("", text).lstrip()


def legend_html(story: StoryMap) -> str:
    """Write the legend of a map as a list in HTML, for a page that shows it outside the map."""
    return rendered("storytest/map_legend.html", story=story).lstrip()


class Drawing:
    """A map with its layout, and the texts and sizes that the template asks for."""

    legend_height = 206
    legend_width = 620.0

    def __init__(self, story: StoryMap, legend: bool) -> None:
        self.story = story
        self.layout = Layout(story)
        self.box_width = round(self.layout.shape.width)
        self.row_letters = self.layout.shape.row_letters
        self.top = self.legend_height if legend else 0
        self.boxes = list(zip(self.layout.boxes, self.layout.corners, strict=True))
        self.width = max(self.layout.width, self.legend_width if legend else 0.0)
        self.title = shorten(story.name, int((self.width - 48) / 10))
        self.height = self.layout.height + self.top

    @property
    def counts(self) -> str:
        endings = sum(reward is not None for reward in self.story.reward)
        missing = sum(flaw != WRONG for flaw, _ in self.story.flaws.values())
        others = counted(len(self.story.labels) - endings - missing, self.story.noun)
        so_far = ", as far as explored" if self.story.partial else ""
        return f"{others}, {counted(endings, 'ending')}{so_far}"

    def stroke(self, frequency: float) -> float:
        return 0.9 + 2.9 * min(1.0, math.sqrt(max(frequency, 0.0)))

    def curve(self, line: Line) -> str:
        points = [f"{x:.1f} {y:.1f}" for x, y in line.points]
        return f"M{points[0]}C{' '.join(points[1:])}"

    def links(self, line: Line, most: int = 12) -> list[str]:
        story = self.story
        lines = []
        for source in line.sources:
            actions = story.actions[source, line.target]
            for action, frequency in sorted(actions.items(), key=lambda item: -item[1]):
                ends = f"{story.labels[source]} “{action}” → {story.labels[line.target]}"
                lines.append(f"{ends}: {frequency:.2g} times in a random game")
        rest = len(lines) - most
        return [*lines[:most], f"… and {rest} more"] if rest > 0 else lines

    def line_class(self, line: Line) -> str:
        missing = {n for n, (flaw, _) in self.story.flaws.items() if flaw != WRONG}
        is_untaken = line.target in missing or missing.issuperset(line.sources)
        return ("back" if line.back else "on") + " untaken" * is_untaken

    def page_class(self, node: int) -> str:
        """The classes of a node. r0 is the worst reward, r4 is 0, r8 is the best."""
        flaw = self.story.flaws.get(node, ("",))[0]
        if flaw in (UNREACHED, UNWRITTEN):
            return f"page {flaw}"
        return f"{self._page_class(node)} {flaw}".rstrip()

    def _page_class(self, node: int) -> str:
        reward = self.story.reward[node]
        if reward is not None:
            span = max(abs(other) for other in self.story.reward if other is not None) or 1.0
            return f"page ending r{round(8 * (0.5 + 0.5 * reward / span))}"
        if self.story.trap[node]:
            return "page trap"
        return "page" if self.story.distance[node] else "page start"

    def tooltip(self, node: int, letters: int = 300) -> str:
        story = self.story
        text = story.texts[node] if story.texts else ""
        if len(text) > letters:
            text = text[:letters].rsplit(" ", 1)[0] + " …"
        flaw, words = story.flaws.get(node, ("", ""))
        if flaw in (UNREACHED, UNWRITTEN):
            return f"{story.labels[node]}\n{words}\n{text}".rstrip()
        text = f"{words}\n{text}".lstrip()
        visits = f"{story.visits[node]:.2g} times in a random game"
        steps = f"{story.distance[node]} steps from the start at least"
        return f"{story.labels[node]}\n{visits}, {steps}\n{text}".rstrip()

    def origins(self, page: Page) -> str:
        """Name the nodes that lead to a page that no line leads to."""
        more = f" +{len(page.origins) - 1}" if len(page.origins) > 1 else ""
        name = f"from {self.story.labels[page.origins[0]]}"
        return shorten(name, self.row_letters - len(more)) + more

    def row_texts(self, page: Page, number: int, name_letters: int = 14) -> tuple[str, str]:
        """The text of a link and the name of its target ("" if a line shows it)."""
        row = page.rows[number]
        words = row.text or "…"
        if not row.targets:
            return shorten(words, self.row_letters - breadth(NOT_TRIED) - 1), NOT_TRIED
        targets = self.layout.references.get((page.node, number))
        if not targets:
            return shorten(words, self.row_letters), ""
        chip = self._reference(page.node, targets[0])
        more = f" +{len(targets) - 1}" if len(targets) > 1 else ""
        room = self.row_letters - 1 - breadth(more)
        least = min(breadth(chip), name_letters, room)
        words = shorten(words, max(room - breadth(chip), room - max(least, room // 2)))
        return words, shorten(chip, max(room - breadth(words), least)) + more

    def _reference(self, source: int, target: int) -> str:
        if source == target:
            return "↻"
        layer = self.layout.layer_of_node
        arrow = "→" if layer[target] > layer[source] else "↩"
        return f"{arrow} {self.story.labels[target]}"
