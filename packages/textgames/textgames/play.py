"""Play a game in a terminal: pages, numbered or typed actions, undo, and advice of an agent."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Protocol

from textgames.game.contract import Game, Observation, checked, is_stopped, title_of
from textgames.wording import counted, visible, words


class Advisor(Protocol):
    """An agent that says what it thinks of each action."""

    def begin(self) -> None:
        """Start an episode."""

    def take(self, page: Observation, index: int) -> None:
        """Record the action that the person took."""

    def thinks(self, page: Observation) -> tuple[Any, Any]:
        """The Q-value and the probability of each action."""


MAX_COLUMNS = 80  # longer lines are hard to read
LONG_MENU = 20  # more actions than this are typed, not numbered
ADVICE = 3  # actions of a long menu that the agent recommends
KEYS = "[b]u[/b] undo, [b]r[/b] restart, [b]q[/b] quit"
HELP = f"type a number; {KEYS}"
HELP_COMMANDS = (
    "type a command, or the first letters of its words; [b]help[/b] lists the commands, "
    f"[b]look[/b] repeats the page; {KEYS}"
)
DIRECTIONS = {way[0]: f"go {way}" for way in ("north", "south", "east", "west", "down")}


def matching_actions(answer: str, actions: Sequence[str]) -> list[int]:
    """The indices of the actions that an answer may mean.

    Equal actions come first, then those whose words begin with the typed ones in order, then those
    that contain them. Punctuation is ignored. The letter of a direction means to go there.
    """
    typed = words(DIRECTIONS.get(answer.strip(), answer))
    contents = list(map(words, actions))
    for fits in (operator.eq, _begins, _contains):
        matches = [index for index, action in enumerate(contents) if typed and fits(action, typed)]
        if matches:
            return matches
    return []


def menu_lines(actions: Sequence[str]) -> list[str]:
    """A long menu in few lines: verbs and objects if they combine freely, else all."""
    pairs = [action.partition(" ")[::2] for action in actions]
    verbs = sorted({verb for verb, _ in pairs})
    objects = sorted({thing for _, thing in pairs})
    if len(verbs) * len(objects) == len(set(pairs)) and all(objects):
        return [f"verbs: {', '.join(verbs)}", f"objects: {', '.join(objects)}"]
    return [", ".join(sorted(actions))]


def _begins(action: Sequence[str], typed: Sequence[str]) -> bool:
    pairs = zip(action, typed, strict=False)
    return len(action) >= len(typed) and all(word.startswith(start) for word, start in pairs)


def _contains(action: Sequence[str], typed: Sequence[str]) -> bool:
    return all(any(word.startswith(start) for word in action) for start in typed)


def print_page(page: Observation, index: int | None) -> None:
    """Print a page with an arrow at the action taken. A long menu is cut to that action."""
    print(f"\n{visible(page.text)}\n")
    for number, action in enumerate(page.actions):
        if number == index or len(page.actions) <= LONG_MENU:
            print(f"  {'→' if number == index else ' '} {visible(action)}")


class PageView:
    """Prints pages. Text of others reaches the terminal without control characters."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console = Console(highlight=False)
        self.width = min(self.console.width, MAX_COLUMNS)

    def note(self, text: str, style: str = "dim", **options: Any) -> None:
        """Print a remark in rich's markup."""
        self.console.print(text, style=style, **options)

    def title(self, game: Game) -> None:
        from rich.panel import Panel
        from rich.text import Text

        text = Text(visible(title_of(game)), justify="center", style="bold")
        self.console.print(Panel(text, width=self.width))

    def text(self, page: Observation) -> None:
        """Print the text of a page, with its links underlined."""
        from rich.text import Text

        text = Text(visible(page.text))
        text.highlight_words(list(map(visible, page.actions)), style="underline")
        self.console.print()
        self.console.print(text, width=self.width)
        self.console.print()

    def action(self, number: int, action: str, remark: str = "") -> None:
        """Print a numbered action. The remark is rich's markup."""
        self.console.print(f"  [bold cyan]{number}[/] {escaped(action)}{remark}", width=self.width)

    def ending(self, page: Observation, total: float, steps: int) -> None:
        from rich.panel import Panel
        from rich.text import Text

        self.console.print()
        self.console.print(Panel(Text(visible(page.text)), title="The end", width=self.width))
        reward = f"Final reward [b]{page.reward:g}[/b], return {total:.1f}"
        self.console.print(f"{reward}, in {counted(steps, 'step')}.")


def escaped(text: str) -> str:
    """Return text of others for rich's markup."""
    from rich.markup import escape

    return escape(visible(text))


class Session:
    """A person plays game after game. The first one starts after the choices of `start`."""

    def __init__(
        self, game: Game, seed: int, agent: Advisor | None = None, start: Sequence[int] = ()
    ) -> None:
        self.game = game
        self.seed = seed
        self.agent = agent
        self.view = PageView()
        self.start = list(start)
        self.actions: list[int] = []  # of the current game

    def play(self) -> None:
        """Play until the person quits."""
        self.view.title(self.game)
        if len(self.game.reset(self.seed).actions) <= LONG_MENU:
            more = "; the agent's Q-value follows each action" if self.agent else ""
            self.view.note(HELP + more)
        while self._play_game():
            self.seed += 1

    def _play_game(self) -> bool:
        """Play one game. Return whether another one follows."""
        self.actions = self.start
        self.start = []
        page, total = self._replay()
        while not page.ended:
            self._show(page)
            if is_stopped(self.game):
                self.view.note("The game stopped before an ending.")
                return self._plays_again()
            answer = self._ask(page)
            if answer is None:
                self.view.note("You quit before an ending.")
                return False
            if answer == "r":
                self.view.console.rule("restart")
                return True
            if answer == "u":
                self.view.note("Undid one step.")
                self.actions.pop()
                page, total = self._replay()
            else:
                self.actions.append(int(answer))
                page = self._step(page, int(answer), len(self.actions))
                total += page.reward
        self.view.ending(page, total, len(self.actions))
        return self._plays_again()

    def _replay(self) -> tuple[Observation, float]:
        """The current page and the return so far. The seed makes each replay equal."""
        page = checked(self.game, self.game.reset(self.seed))
        total = 0.0
        if self.agent:
            self.agent.begin()
        for number, index in enumerate(self.actions, 1):
            page = self._step(page, index, number)
            total += page.reward
        return page, total

    def _step(self, page: Observation, index: int, number: int) -> Observation:
        if self.agent:
            self.agent.take(page, index)
        return checked(self.game, self.game.step(index), number)

    def _show(self, page: Observation) -> None:
        self.view.text(page)
        thoughts: tuple[Any, Any] = self.agent.thinks(page) if self.agent else ((), ())
        q, probabilities = thoughts
        if len(page.actions) > LONG_MENU:
            self._show_commands(page, q)
            return
        draws = self.agent is not None and max(probabilities) < 1
        for index, action in enumerate(page.actions):
            remark = ""
            if self.agent:
                choice = f" ← {probabilities[index]:.0%}" if draws else ""
                if probabilities[index] == 1:
                    choice = " ← the agent's choice"
                remark = f" [dim]{q[index]:.2f}[/][bold yellow]{choice}[/]"
            self.view.action(index + 1, action, remark)
        if draws:
            self.view.note("The agent draws an action with these probabilities.")

    def _show_commands(self, page: Observation, q: Sequence[float]) -> None:
        """Print what the last command paid, since such games often say nothing, and advice."""
        if self.actions:
            self.view.note(f"Your last command paid {page.reward:g}.")
        else:
            self._show_help(page)
        if self.agent:
            best = sorted(range(len(q)), key=lambda index: -q[index])[:ADVICE]
            text = ", ".join(f"{page.actions[index]} {q[index]:.2f}" for index in best)
            self.view.note(f"the agent: {escaped(text)}", "bold yellow")

    def _show_help(self, page: Observation) -> None:
        lines = [HELP_COMMANDS, *map(escaped, menu_lines(page.actions))]
        self.view.note("\n".join(lines), width=self.view.width)

    def _ask(self, page: Observation) -> str | None:
        """Return an index as a string, "u", "r", or None to quit."""
        is_long = len(page.actions) > LONG_MENU
        numbers = {} if is_long else {str(i + 1): str(i) for i in range(len(page.actions))}
        while True:
            answer = self._input("\n[bold cyan]>[/] ")
            matches = matching_actions(answer or "", page.actions)
            if answer is None or answer in ("q", "quit", "exit"):
                return None
            if answer in ("u", "undo") and not self.actions:
                self.view.note("This is the first page; there is nothing to undo.")
            elif answer in ("u", "undo", "r", "restart"):
                return answer[0]
            elif answer in numbers:
                return numbers[answer]
            elif len(matches) == 1:
                return str(matches[0])
            elif answer in ("l", "look"):
                self._show(page)
            elif answer in ("", "?", "help") and is_long:
                self._show_help(page)
            else:
                self._refuse(answer, page, matches)

    def _input(self, prompt: str) -> str | None:
        try:
            return self.view.console.input(prompt).strip().lower()
        except (EOFError, RuntimeError):  # the terminal is closed
            self.view.console.print()
            return None

    def _refuse(self, answer: str, page: Observation, matches: list[int]) -> None:
        if len(page.actions) <= LONG_MENU:
            self.view.note(f"Choose from 1 to {len(page.actions)}: {HELP}")
        elif matches:
            names = sorted(page.actions[index] for index in matches)
            more = ", …" if len(names) > 6 else ""
            some = escaped(", ".join(names[:6]))
            self.view.note(f'"{escaped(answer)}" could mean {some}{more}; type more of it.')
        else:
            self.view.note(f'No command "{escaped(answer)}". Type [b]help[/b] for the commands.')

    def _plays_again(self) -> bool:
        answer = self._input("\nPlay again? [dim](y/n)[/] ")
        again = answer in ("y", "yes", "r", "restart")
        if answer is not None and not again:
            self.view.console.print()
        return again
