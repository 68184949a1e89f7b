"""Pages in a terminal: text, numbered actions, endings. A person plays by them, and an agent is watched by them."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.text import Text

from drrn.cli.terminal import counted
from drrn.game.contract import Game, Observation
from drrn.game.optional import title_of
from drrn.writing import visible

MOST_COLUMNS = 80  # longer lines are hard to read


class PageView:
    """A terminal that shows pages; what others wrote reaches it without the characters that steer one."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)

    @property
    def width(self) -> int:
        return min(self.console.width, MOST_COLUMNS)

    def title(self, game: Game) -> None:
        self.console.print(
            Panel(Text(visible(title_of(game)), justify="center", style="bold"), width=self.width)
        )

    def text(self, observation: Observation) -> None:
        """The page's text, links that stand in it underlined."""
        text = Text(visible(observation.text))
        text.highlight_words(list(map(visible, observation.actions)), style="underline")
        self.console.print()
        self.console.print(text, width=self.width)
        self.console.print()

    def action(self, number: int, action: str, note: str = "") -> None:
        """A numbered action; the note is rich's markup."""
        self.console.print(
            f"  [bold cyan]{number}[/] {escape(visible(action))}{note}", width=self.width
        )

    def ending(self, observation: Observation, total: float, steps: int) -> None:
        self.console.print()
        self.console.print(
            Panel(Text(visible(observation.text)), title="The end", width=self.width)
        )
        reward = f"Final reward [b]{observation.reward:g}[/b], return {total:.1f}"
        self.console.print(f"{reward}, in {counted(steps, 'step')}.")
