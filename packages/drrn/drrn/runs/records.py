"""What a run records about its learning, for the pictures of the page: learning.json.

pages   a few pages with a choice, the most frequent ones of random play
rounds  after each round, or after every 2nd, 4th, … of long runs:
        round     its number
        alpha     α of the softmax policy that played to learn, and `optimism`, whether
                  exploration by optimism played instead
        greedy    probability that this policy takes the action with the highest Q
        played    mean return of the games that were played to learn
        error     root mean square of y - Q in the last updates, or null
        q         Q of the actions of each page, the mean over replicas
        norm      |h_s| of each page, by the first replica, or null for models without towers
        x, y      position of each action: x along h_s, so that x |h_s| is Q of the first
                  replica, and y along the direction in which the rest of h_a varies most
games   the same game played at random (round 0) and by the agent after rounds 1, 2, 5, 10, …
texts   of the games
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from drrn.models.drrn import DRRN, inner
from drrn.playing.stepped_rollouts import pages_of
from textgames.game.contract import Game, Observation, another, close, ending_of
from textgames.game.episodes import Policy, episode, random_policy

Trainer = Any  # `drrn.runs.trainer.Trainer`
Page = tuple[str, tuple[str, ...]]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Sizes:
    """How much is recorded."""

    pages: int = 8  # pages whose Q-values are recorded
    actions: int = 12  # actions of a page
    games: int = 10  # random games in which pages are counted
    steps: int = 100  # steps of a random game
    game_steps: int = 60  # steps of a recorded game
    characters: int = 2_000  # characters of a text
    rounds: int = 200  # rounds that are all recorded; later, fewer and fewer


@dataclass
class LearningRecord:
    """The record of one run, for `Run.train`.

    Example:
        >>> record = LearningRecord.of(run.learning(), trainer.round)
        >>> for finished in run.train(trainer, record=record):
        ...     print(finished.number)
    """

    pages: list[Page] | None = None  # chosen after the first round
    rounds: list[dict[str, Any]] = field(default_factory=list)
    games: list[dict[str, Any]] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)  # numbers of texts
    sizes: Sizes = field(default_factory=Sizes)

    def as_json(self) -> dict[str, Any]:
        pages = [{"text": text, "actions": actions} for text, actions in self.pages or ()]
        texts = list(self.texts)
        return {"pages": pages, "rounds": self.rounds, "games": self.games, "texts": texts}

    @classmethod
    def of(cls, data: dict[str, Any] | None, last: int) -> LearningRecord:
        """The record in learning.json up to a round. Later rounds are played again."""
        if data is None:
            return cls()
        games = [game for game in data["games"] if game["round"] <= last]
        steps = [step for game in games for step in game["steps"]]
        used = [each["end"] for each in games]
        used += [number for step in steps for number in (step["text"], step["taken"])]
        texts = data["texts"][: max(used, default=-1) + 1]
        return cls(
            pages=[(page["text"], tuple(page["actions"])) for page in data["pages"]],
            rounds=[each for each in data["rounds"] if each["round"] <= last],
            games=games,
            texts={text: number for number, text in enumerate(texts)},
        )

    def add(self, trainer: Trainer, number: int) -> None:
        """Record a finished round."""
        is_last = number == trainer.settings.run.rounds
        if self.pages is None:
            self.pages = _choose_pages(trainer, self.sizes)
            self._add_game(trainer.game, random_policy(0), 0)
        if is_last or number % _interval(number, self.sizes.rounds) == 0:
            self.rounds.append(self._round(trainer, number))
        if is_last or str(number).rstrip("0") in ("1", "2", "5"):  # 10, 20, 50, …
            self._add_game(trainer.game, trainer.agent.policy("best"), number)

    def _round(self, trainer: Trainer, number: int) -> dict[str, Any]:
        settings = trainer.settings
        parts = trainer.played_steps
        returns = [each for part in parts for steps in part for each in steps.returns]
        entry: dict[str, Any] = {
            "round": number,
            "alpha": round(settings.alpha_at(number), 6),
            "optimism": settings.explores_at(number),
            "greedy": None,
            "played": _rounded(np.mean(returns)) if returns else None,
            "error": None,
        }
        scales = np.array(trainer.scale.factors if trainer.scale else [1.0])
        if (error := trainer.learner.error) is not None:
            entry["error"] = _rounded(error / scales.mean())
        if not self.pages:
            return {**entry, "q": [], "norm": None}
        q, vectors = _read(trainer, self.pages)
        alpha = settings.alpha_at(number) * np.reshape(trainer.learner.alpha_factor, (-1, 1))
        entry["greedy"] = _rounded(np.mean([_chance(each, alpha) for each in q]))
        entry["q"] = [_rounded((each / scales[:, None]).mean(axis=0)) for each in q]
        return {**entry, **self._positions(vectors, scales[0])}

    def _positions(self, vectors: list[Floats] | None, scale: float) -> dict[str, Any]:
        """The positions of actions. y keeps its direction from one round to the next."""
        if vectors is None:
            return {"norm": None}
        before = self.rounds[-1].get("y") if self.rounds else None
        before = before or [None] * len(vectors)
        norms, x, y = zip(*map(positions, vectors, before), strict=True)
        return {
            "norm": _rounded(np.array(norms)),
            "x": [_rounded(each / scale) for each in x],
            "y": [_rounded(each / scale) for each in y],
        }

    def _add_game(self, game: Game, policy: Policy, number: int) -> None:
        copy = another(game)
        if copy is None:
            return
        pages: list[Observation] = []
        steps = []
        reward = 0.0
        for step in episode(copy, policy, 0, max_steps=self.sizes.game_steps):
            if step.index is not None:
                steps.append(self._step(pages[-1], step.index))
            pages.append(step.page)
            reward += step.page.reward
        end = self._number(pages[-1].text)
        ending = ending_of(copy, pages[-1])
        close(copy)
        game_entry = {"round": number, "steps": steps, "end": end, "ending": ending}
        self.games.append({**game_entry, "return": _rounded(reward)})

    def _step(self, page: Observation, index: int) -> dict[str, Any]:
        taken = self._number(page.actions[index])
        return {"text": self._number(page.text), "taken": taken, "of": len(page.actions)}

    def _number(self, text: str) -> int:
        return self.texts.setdefault(text[: self.sizes.characters], len(self.texts))


def positions(vectors: Floats, before: Sequence[float] | None = None) -> tuple[Any, Floats, Floats]:
    """|h_s|, and x and y of each action, from h_s and h_a of each [1 + A, H].

    x is the component along h_s. What remains of the actions is projected onto the direction in
    which it varies most. `before` has the earlier y, whose signs it keeps.
    """
    page = vectors[0].astype(np.float64)
    norm = np.linalg.norm(page)
    direction = page / max(norm, 1e-12)
    x = vectors[1:] @ direction
    rest = vectors[1:] - x[:, None] * direction
    axis = np.linalg.svd(rest - rest.mean(axis=0), full_matrices=False)[2][0]
    y = rest @ axis
    reference = y if before is None else np.array(before)
    flips = reference @ y < 0 or (before is None and y[0] < 0)
    return norm, x, -y if flips else y


def _read(trainer: Trainer, pages: Sequence[Page]) -> tuple[list[Floats], list[Floats] | None]:
    """Q [R, A] of each page, and the first replica's h_s and h_a of each [1 + A, H].

    There are no vectors if Q is not their inner product.
    """
    model = trainer.model
    store = model.store.scratch()
    rows = [store.page(text, actions) for text, actions in pages]
    batch = pages_of([rows] * len(model.seeds), store)
    counts = [len(actions) for _, actions in pages]
    with torch.no_grad():
        values = model.q(batch).cpu().numpy()
        q = [values[:, p, :count] for p, count in enumerate(counts)]
        if not isinstance(model, DRRN) or model.interaction.interact is not inner:
            return q, None
        if model.reads_pairs:
            return q, None
        s, a = (each[0].cpu().numpy() for each in model.embeddings(model.read(batch[None])[0]))
    return q, [np.concatenate([s[p, None], a[p, :count]]) for p, count in enumerate(counts)]


def _chance(q: Floats, alpha: Floats) -> float:
    """The mean probability of the best action under softmax, from Q [R, A]."""
    powers = np.exp(alpha * (q - q.max(axis=1, keepdims=True)))
    return float((1 / powers.sum(axis=1)).mean())


def _choose_pages(trainer: Trainer, sizes: Sizes) -> list[Page]:
    """The most frequent pages with a choice in random games. None if the game has no copy."""
    game = another(trainer.played)
    if game is None:
        return []
    counter: Counter[Page] = Counter()
    draw = random.Random(0)

    def choose(page: Observation) -> int:
        return draw.randrange(len(page.actions))

    for seed in range(sizes.games):
        steps = episode(game, choose, seed, max_steps=sizes.steps)
        pages = [step.page for step in steps if len(step.page.actions) > 1]
        counter.update((page.text, tuple(sorted(page.actions))) for page in pages)
    close(game)
    common = counter.most_common(sizes.pages)
    chosen = []
    for (text, actions), _ in common:  # some actions of a wide menu
        count = min(len(actions), sizes.actions)
        chosen.append((text, tuple(sorted(random.Random(0).sample(actions, count)))))
    return chosen


def _interval(number: int, all_up_to: int) -> int:
    """Which rounds near this one are recorded: 1 for each, 2 for every other."""
    return 1 << max(0, (number - 1) // all_up_to).bit_length()


def _rounded(values: Any, digits: int = 4) -> Any:
    """Numbers as lists of JSON, rounded to a few digits. What is not finite becomes null."""
    array = np.asarray(values, np.float64)
    if array.ndim:
        return [_rounded(each) for each in array]
    return float(f"{array:.{digits}g}") if np.isfinite(array) else None
