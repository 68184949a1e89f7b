"""Games of rewards: small, large, random, rare, late or negative."""

from collections.abc import Iterable, Sequence
from functools import cached_property

from textgames.diagnostics.diagnostic import (
    END,
    Diagnostic,
    FiniteDiagnostic,
    Page,
    Questions,
    Result,
    coined_words,
)
from textgames.diagnostics.paths import landmark


class Recurring(FiniteDiagnostic):
    """Recurring pages: the same five pages every day, for a long time."""

    capability = "recurring pages"
    levels = (100, 500, 800)  # steps
    max_steps = 800
    texts = (
        "Dawn. Mist lies on the yard.",
        "Morning. The hens make a noise.",
        "Noon. The sun is high.",
        "Evening. A boat lands.",
        "Night. The wind rises.",
    )
    tasks = ("Sweep.", "Scatter some grain.", "Sleep.", "Buy fish.", "Close the shutters.")

    def results(self, state: int, index: int) -> Iterable[Result]:
        reward = float(index == state % 5)
        yield 1.0, END if state + 1 == self.size else state + 1, reward

    def page(self, state: int) -> Page:
        return self.texts[state % 5], self.tasks


class Delayed(Diagnostic):
    """Delayed pay: the same five pages every day, paid together at the end."""

    capability = "delayed pay"
    levels = Recurring.levels
    max_steps = Recurring.max_steps

    def starts(self) -> Iterable[Result]:
        yield 1.0, (0, 0), 0.0

    def results(self, state: tuple[int, int], index: int) -> Iterable[Result]:
        step = state[0] + 1
        right = state[1] + (index == state[0] % 5)
        if step == self.size:
            yield 1.0, END, 10.0 * right / self.size
        else:
            yield 1.0, (step, right), 0.0

    def page(self, state: tuple[int, int]) -> Page:
        return Recurring.texts[state[0] % 5], Recurring.tasks

    def q_star(self) -> Sequence[float]:
        """Q* of each action of the current page."""
        step, right = self._state[0]
        later = self.size - step - 1
        total = (right + (option == step % 5) + later for option in self._options)
        return [10.0 * each / self.size for each in total]

    @cached_property
    def _scores(self) -> tuple[float, float]:
        return 10.0, 10.0 / len(Recurring.tasks)


class Scale(Questions):
    """Reward scale: the same questions pay very little, or very much, or both."""

    capability = "reward scale"
    levels = ((0.01,), (1_000.0,), (0.01, 1.0, 100.0))  # rewards of the kinds of questions
    animals = ("cat", "horse", "squirrel", "panda", "bear", "hen")
    foods = ("Fish.", "Hay.", "Nuts.", "Bamboo.", "Honey.", "Grain.")

    def questions(self) -> Iterable[int]:
        return range(6)

    def pays(self, question: int) -> Sequence[float]:
        return [self.size[question % len(self.size)] * each for each in self._pays]

    def ask(self, question: int) -> Page:
        foods = (*self.foods[question:], *self.foods[:question])
        return f"The {self.animals[question]} is hungry.", foods


class NoisyRewards(Questions):
    """Noisy rewards: a fair coin adds or subtracts several times the difference of two actions."""

    capability = "noisy rewards"
    levels = (1.0, 3.0, 6.0)  # added or subtracted
    shops = ("baker", "smith", "tailor", "cooper")
    wares = ("Buy flour.", "Buy iron.", "Buy cloth.", "Buy wood.")

    def questions(self) -> Iterable[int]:
        return range(4)

    def pays(self, question: int) -> Sequence[float]:
        return (1.0, 0.5, 0.0)

    def results(self, state: tuple[int, int], index: int) -> Iterable[Result]:
        for _, successor, reward in super().results(state, index):
            yield 0.5, successor, reward + self.size
            yield 0.5, successor, reward - self.size

    def ask(self, question: int) -> Page:
        wares = [self.wares[(question + i) % 4] for i in range(3)]
        return f"You trade with the {self.shops[question]}.", wares


class Wide(Questions):
    """Wide menus: hundreds of actions, of which one is right."""

    capability = "wide menus"
    levels = (100, 300, 600)  # actions
    bells = ("copper", "silver", "glass", "wooden", "iron")

    def questions(self) -> Iterable[int]:
        return range(len(self.bells))

    def ask(self, question: int) -> Page:
        return f"The {self.bells[question]} bell rings.", self._menus[question]

    @cached_property
    def _menus(self) -> list[list[str]]:
        words = [f"Call {word}." for word in coined_words(self.size)]
        return [words[17 * i :] + words[: 17 * i] for i in range(len(self.bells))]


class Temptation(FiniteDiagnostic):
    """Temptation: a small reward on every page, and a large one at the end of the path."""

    capability = "temptation"
    levels = (5, 10, 20)  # steps

    def results(self, state: int, index: int) -> Iterable[Result]:
        if index == 0:
            yield 1.0, END, 1.0
        elif state + 1 == self.size:
            yield 1.0, END, 10.0
        else:
            yield 1.0, state + 1, 0.0

    def page(self, state: int) -> Page:
        return f"{landmark(state)} A copper coin lies here.", ("Take it home.", "Walk on.")


class Credit(FiniteDiagnostic):
    """Long credit: the first choice decides the last reward. Small random ones distract."""

    capability = "long credit"
    levels = (10, 20, 30)  # steps in between
    weathers = ("It rains.", "It snows.", "The sun burns.")
    things = ("Pack the umbrella.", "Pack the sledge.", "Pack the hat.")

    def starts(self) -> Iterable[Result]:
        return [(1 / 3, (0, weather), 0.0) for weather in range(3)]

    def results(self, state: tuple[int, int], index: int) -> Iterable[Result]:
        step, number = state
        if step == 0:
            yield 1.0, (1, int(index == number)), 0.0
            return
        is_last = step == self.size
        reward = 5.0 * number if is_last else 0.0
        for gift in (0.0, 0.2):
            yield 0.5, END if is_last else (step + 1, number), reward + gift

    def page(self, state: tuple[int, int]) -> Page:
        step, number = state
        if step == 0:
            return f"{self.weathers[number]} A long journey starts.", self.things
        return f"{landmark(step)} People live here.", ("Talk to them.", "Work for them.")


GAMES = (Wide, Temptation, Credit, Delayed, Recurring, NoisyRewards, Scale)
