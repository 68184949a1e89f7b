"""A person at the terminal: pages, choices, undo, and the score at the end."""

from __future__ import annotations

import getpass
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from rich.markup import escape

from drrn.cli.page_view import PageView
from drrn.cli.typed import LONG_MENU, meant, told_menu
from drrn.game.contract import Game, Observation
from drrn.game.optional import ending_of, is_stopped
from drrn.serve import scores
from drrn.writing import visible

KEYS = "[b]u[/b] undo, [b]r[/b] restart, [b]q[/b] quit"
HELP = f"a number chooses; {KEYS}"
HELP_COMMANDS = f"type a command, or the beginnings of its words; [b]help[/b] lists them, [b]look[/b] the page; {KEYS}"
BEST_SHOWN = 3  # of a long menu, what the agent thinks best


class Adviser(Protocol):
    """What an agent thinks of a page that this game has or has not shown before."""

    def __call__(
        self, observation: Observation, *, seen: bool
    ) -> tuple[Iterable[float], Iterable[float]]:
        """Q of each action, and with what probability the agent would take it."""


class Sitting:
    """One person's sitting: game after game, each with a seed of its own."""

    def __init__(
        self, game: Game, seed: int, player: str | None, path: Path, adviser: Adviser | None = None
    ) -> None:
        self.game = game
        self.seed = seed
        self.path = path
        self.adviser = adviser
        self.player = player or _login()
        self.view = PageView()
        self.console = self.view.console
        self.taken: list[int] = []
        self.undone = 0
        self.shown: set[str] = set()  # texts of the pages before this one

    def begin(self) -> None:
        """Play until the person leaves."""
        self.view.title(self.game)
        if len(self.game.reset(self.seed).actions) <= LONG_MENU:
            told = f"{HELP}; beside each action the agent's Q-value" if self.adviser else HELP
            self.console.print(told, style="dim")
        while self._one_game():
            self.seed += 1

    def _one_game(self) -> bool:
        """Whether another game should follow."""
        self.taken = []
        self.undone = 0
        observation, total = self._replay()
        while not observation.ended:
            self._page(observation)
            if is_stopped(self.game):
                self.console.print(
                    "The game stops here, before an end; nothing is recorded.", style="dim"
                )
                return self._again()
            answer = self._ask(observation)
            if answer is None:
                self.console.print("You leave before the end; nothing is recorded.", style="dim")
                return False
            if answer == "r":
                self.console.rule("again")
                return True
            if answer == "u":
                self.console.print("One step back.", style="dim")
                self.undone += bool(self.taken)
                self.taken = self.taken[:-1]
            else:
                self.taken.append(int(answer))
            observation, total = self._replay()
        self._end(observation, total)
        return self._again()

    def _replay(self) -> tuple[Observation, float]:
        """The page the taken steps lead to: the seed makes the same game each time, so undo is one step fewer."""
        observation = self.game.reset(self.seed)
        total = 0.0
        self.shown = set()
        for index in self.taken:
            self.shown.add(observation.text)
            observation = self.game.step(index)
            total += observation.reward
        return observation, total

    def _page(self, observation: Observation) -> None:
        self.view.text(observation)
        if len(observation.actions) > LONG_MENU:
            self._commands(observation)
            return
        advice = self._advice(observation) if self.adviser else [""] * len(observation.actions)
        for number, (action, advised) in enumerate(
            zip(observation.actions, advice, strict=True), 1
        ):
            self.view.action(number, action, advised)
        if self.adviser and observation.text in self.shown:
            self.console.print(
                "This page was shown before: the agent would now draw, by these chances.",
                style="dim",
            )

    def _commands(self, observation: Observation) -> None:
        """A menu too long to be numbered; what the last command paid, since such games seldom answer."""
        if self.taken:
            self.console.print(f"Your last command paid {observation.reward:g}.", style="dim")
        else:
            self._help(observation)
        if self.adviser:
            q = list(self.adviser(observation, seen=observation.text in self.shown)[0])
            order = sorted(range(len(q)), key=lambda place: -q[place])[:BEST_SHOWN]
            told = ", ".join(f"{observation.actions[place]} {q[place]:.2f}" for place in order)
            self.console.print(f"the agent: {escape(visible(told))}", style="bold yellow")

    def _help(self, observation: Observation) -> None:
        """The keys, and the commands of a long menu."""
        lines = map(escape, map(visible, told_menu(observation.actions)))
        self.console.print("\n".join([HELP_COMMANDS, *lines]), width=self.view.width, style="dim")

    def _advice(self, observation: Observation) -> list[str]:
        """Q of each action, and what the agent would take; on a page shown before, with what chance it would."""
        assert self.adviser is not None
        seen = observation.text in self.shown
        advice = []
        for q, share in zip(*self.adviser(observation, seen=seen), strict=True):
            chosen = " ← the agent's choice" if share == 1 else f" ← {share:.0%}" if seen else ""
            advice.append(f" [dim]{q:.2f}[/][bold yellow]{chosen}[/]")
        return advice

    def _ask(self, observation: Observation) -> str | None:
        """An index as a string, 'u', 'r', or None to leave."""
        while True:
            try:
                answer = self.console.input("\n[bold cyan]>[/] ").strip().lower()
            except (EOFError, RuntimeError):  # the terminal is gone
                self.console.print()
                return None
            if answer in ("q", "quit", "exit"):
                return None
            if answer in ("u", "undo") and not self.taken:
                self.console.print(
                    "This is the first page; there is nothing to take back.", style="dim"
                )
            elif answer in ("u", "undo", "r", "restart"):
                return answer[0]
            elif self._is_number(answer, observation):
                return str(int(answer) - 1)
            elif len(named := meant(answer, observation.actions)) == 1:
                return str(named[0])
            elif answer in ("l", "look"):
                self._page(observation)
            elif answer in ("", "?", "help") and len(observation.actions) > LONG_MENU:
                self._help(observation)
            else:
                self._refuse(answer, observation, named)

    def _is_number(self, answer: str, observation: Observation) -> bool:
        """Whether it is the number of an action; those of a long menu are not numbered."""
        most = len(observation.actions)
        return (
            most <= LONG_MENU
            and answer.isdecimal()
            and len(answer) < 6
            and 1 <= int(answer) <= most
        )

    def _refuse(self, answer: str, observation: Observation, named: list[int]) -> None:
        """Why an answer chooses nothing."""
        if len(observation.actions) <= LONG_MENU:
            self.console.print(f"Choose from 1 to {len(observation.actions)}: {HELP}", style="dim")
        elif named:
            some = ", ".join(sorted(observation.actions[place] for place in named)[:6])
            more = ", …" if len(named) > 6 else ""
            self.console.print(
                f'"{escape(answer)}" may be {escape(visible(some))}{more}: type more of it.',
                style="dim",
            )
        else:
            self.console.print(
                f'No such command: "{escape(visible(answer))}". Type [b]help[/b] for the commands.',
                style="dim",
            )

    def _end(self, observation: Observation, total: float) -> None:
        self.view.ending(observation, total, len(self.taken))
        score = scores.FinishedGame(
            when=scores.now(),
            game=self.game.name,
            player=self.player,
            seed=self.seed,
            undone=self.undone,
            steps=len(self.taken),
            final_reward=observation.reward,
            total=round(total, 6),
            ending=ending_of(self.game, observation) or "",
        )
        try:
            scores.append(self.path, score)
        except OSError as error:
            self.console.print(
                f"The score could not be kept in {self.path}: {error.strerror}", style="red"
            )
            return
        practice = " as practice, since a step was taken back" if self.undone else ""
        kept = f"Kept for {escape(self.player)} in {escape(str(self.path))}{practice}."
        self.console.print(kept, style="dim", soft_wrap=True)

    def _again(self) -> bool:
        try:
            answer = self.console.input("\nPlay again? [dim](y/n)[/] ").strip().lower()
        except EOFError:
            answer = ""
        again = answer in ("y", "yes", "r", "restart")
        if not again:
            self.console.print()  # what comes next begins a line
        return again


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "player"
