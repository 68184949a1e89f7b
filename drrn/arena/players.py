"""Players: random, best, agents, language models and your own functions.

random            every action with the same probability
best              an action with the highest Q*
agent:RUN         a trained agent, by its deployed policy; its replicas play in turn
person:NAME       the games that a person finished, with the choices that were saved
llm:MODEL         a language model behind --endpoint, or a local file, llm:PATH.gguf
module:function   (text, actions, history) → the index of an action, or words
"""

import hashlib
import operator
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn import registry
from drrn.arena.llm import Answers, Endpoint, LanguageModel, LocalModel, Prompt, Sampling
from drrn.arena.match import Match, Result
from drrn.compiled.oracle import SolvedGame
from drrn.errors import InputError, did_you_mean, require
from drrn.files import read_bytes, slug

if TYPE_CHECKING:
    from drrn.arena.tournament import Contest

Chooser = Callable[[Match], int | str | None]
KINDS = ("random", "best", "agent:RUN", "person:NAME", "llm:MODEL", "module:function")


@dataclass(frozen=True)
class Options:
    """What players of a tournament have in common."""

    folder: Path  # of the tournament: the cache of answers is there
    history: int = 2  # earlier pages in a prompt
    endpoint: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    sampling: Sampling = field(default_factory=Sampling)
    prompt: Prompt | None = None
    concurrency: int = 4  # matches of a language model at once
    sha256: str = ""  # of a local model's file


class Interrupted(Exception):  # noqa: N818 - not an error
    """The tournament stops; the match in progress is not counted."""


class Player:
    """A player: `chooser` returns a function that chooses the actions of one episode."""

    history = 0
    concurrency = 1

    def __init__(self, name: str, **settings: Any) -> None:
        """`settings` are recorded with the rows: rows of other settings are not continued."""
        self.name = name
        self.settings = settings
        self.stop = threading.Event()

    def prepare(self, contest: "Contest", seeds: Sequence[int]) -> Sequence[int]:
        """Return the seeds of its matches in a game; `seeds` are those of all players."""
        return seeds

    def chooser(self, game: SolvedGame, seed: int) -> Chooser:
        raise NotImplementedError

    def play(self, game: SolvedGame, seed: int) -> Result:
        """Play one episode."""
        match = Match(game, self.history)
        match.start(seed)
        choose = self.chooser(game, seed)
        while not match.over:
            if self.stop.is_set():
                raise Interrupted
            match.decide(choose(match))
        return match.result()


class RandomPlayer(Player):
    """Takes every action with the same probability."""

    def chooser(self, game: SolvedGame, seed: int) -> Chooser:
        draw = random.Random(f"random player {seed}")
        return lambda match: draw.randrange(len(match.page.actions))


class BestPlayer(Player):
    """Takes an action with the highest Q*."""

    def chooser(self, game: SolvedGame, seed: int) -> Chooser:
        def choose(match: Match) -> int:
            q = list(match.game.q_star())
            return q.index(max(q))

        return choose


class AgentPlayer(Player):
    """A trained agent; the replica with the number seed modulo replicas plays."""

    def __init__(self, name: str, folder: Path) -> None:
        from drrn.runs.agent import Agent
        from drrn.runs.run import Run
        from drrn.runs.storage import WEIGHTS

        self.agent = Agent.load(folder)
        recipe = Run(folder).config.get("recipe")
        weights = hashlib.sha256(read_bytes(folder / WEIGHTS)).hexdigest()
        super().__init__(name, weights=weights, recipe=recipe)

    def chooser(self, game: SolvedGame, seed: int) -> Chooser:
        policy = self.agent.policy(seed=seed, replica=seed % len(self.agent.model.seeds))
        return lambda match: policy(match.page)


class ModelPlayer(Player):
    """A language model; several matches at once."""

    def __init__(self, name: str, model: str, options: Options) -> None:
        prompt = options.prompt or Prompt()
        self.history = options.history
        backend: Endpoint | LocalModel
        if model.endswith(".gguf"):
            backend = LocalModel(Path(model), options.sha256)
        elif options.endpoint:
            backend = Endpoint(options.endpoint, model, options.key_variable)
            self.concurrency = options.concurrency
        else:
            raise InputError(f"llm:{model}: give --endpoint URL, or the path of a .gguf file")
        sampling = options.sampling
        answers = Answers(options.folder / "answers" / f"{slug(backend.model)}.jsonl")
        self.model = LanguageModel(backend, sampling, prompt, answers)
        how = {"temperature": sampling.temperature, "max_tokens": sampling.max_tokens}
        super().__init__(
            name, model=backend.model, prompt=prompt.text, history=options.history, **how
        )

    def chooser(self, game: SolvedGame, seed: int) -> Chooser:
        return self.model.choose


class FunctionPlayer(Player):
    """A user's function (text, actions, history) → index or words.

    `history` has (text, action) for each earlier page of the episode.
    """

    history = 10**6

    def __init__(self, name: str, target: str) -> None:
        self.function = registry.resolve("player", target, {})
        super().__init__(name, function=target)

    def chooser(self, game: SolvedGame, seed: int) -> Chooser:
        def choose(match: Match) -> int | str | None:
            page = match.page
            answer = self.function(page.text, list(page.actions), list(match.history.pages))
            return answer if isinstance(answer, str) else operator.index(answer)

        return choose


def open_player(name: str, options: Options) -> Player:
    """Return the player of a name, such as `best` or `agent:runs/demo`; `LABEL=` may precede it."""
    label, equals, target = name.partition("=")
    if not equals:
        target = name
    kind, _, rest = target.partition(":")
    if target == "random":
        return RandomPlayer(label)
    if target == "best":
        return BestPlayer(label)
    if kind == "agent" and rest:
        require("torch", "torch")
        return AgentPlayer(label, Path(rest))
    if kind == "person" and rest:
        from drrn.arena.people import PersonPlayer

        return PersonPlayer(label, rest)
    if kind == "llm" and rest:
        return ModelPlayer(label if equals else f"llm:{Path(rest).stem}", rest, options)
    if registry.is_object(target):
        return FunctionPlayer(label, target)
    near = did_you_mean(target, ("random", "best", "agent", "person", "llm"))
    raise InputError(f'player "{target}": choose one of {", ".join(KINDS)}.{near}')
