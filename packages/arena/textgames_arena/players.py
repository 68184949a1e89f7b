"""Players: random, best, language models, your own functions, and those of other packages."""

import hashlib
import json
import operator
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from textgames import registry
from textgames.compiled.oracle import SolvedGame
from textgames.errors import InputError, did_you_mean
from textgames.files import slug
from textgames.openers import GameSpec
from textgames_arena.llm import Answers, Endpoint, LocalModel, Options, Prompt
from textgames_arena.match import Match, Result

Chooser = Callable[[Match], int | str | None]
KINDS = ("random", "best", "llm:MODEL", "module:function")


def name_of(spec: GameSpec) -> str:
    """The short name of a game, without folder, suffix and kind."""
    path = Path(spec.source)
    return path.stem if path.is_absolute() else spec.source.removeprefix("diagnostic:")


class Player:
    """A player: `chooser` returns a function that chooses the actions of one episode."""

    history = 0
    concurrency = 1

    def __init__(self, name: str, **settings: Any) -> None:
        """`settings` are recorded with the rows: rows of other settings are not continued."""
        self.name = name
        self.settings = settings
        self.stop = threading.Event()

    def chooser(self, seed: int) -> Chooser:
        return self.choose

    def choose(self, match: Match) -> int | str:
        """The index of an action of the current page, or a text that names one."""
        raise NotImplementedError

    def play(self, game: SolvedGame, seed: int) -> Result:
        """Play one episode."""
        match = Match(game, self.history)
        match.start(seed)
        choose = self.chooser(seed)
        while not match.over:
            if self.stop.is_set():
                raise InputError("the tournament was stopped")
            match.decide(choose(match))
        return match.result()


class RandomPlayer(Player):
    """Takes every action with the same probability."""

    def chooser(self, seed: int) -> Chooser:
        draw = random.Random(f"random player {seed}")
        return lambda match: draw.randrange(len(match.page.actions))


class BestPlayer(Player):
    """Takes an action with the highest Q*."""

    def choose(self, match: Match) -> int:
        return int(np.argmax(match.game.q_star()))


REFERENCES: dict[str, type[Player]] = {"random": RandomPlayer, "best": BestPlayer}


class InstalledPlayer(Player):
    """A player of another package, such as `agent:RUN` of drrn.

    The package has an entry point of the group `textgames.players`, whose name is the kind of the
    player. Its value is a function that takes the text after the colon. It returns the settings to
    record, and a function from the seed of a match to a `Policy`.
    """

    def __init__(self, name: str, kind: str, text: str) -> None:
        settings, self.policy_of = registry.load(registry.registered("player")[kind])(text)
        super().__init__(name, **settings)

    def chooser(self, seed: int) -> Chooser:
        policy = self.policy_of(seed)
        return lambda match: policy(match.page)


class ModelPlayer(Player):
    """A language model. Answers are taken from the cache if possible."""

    def __init__(self, name: str, model: str, options: Options) -> None:
        self.options = options
        self.history = options.history
        self.prompt = Prompt(options.prompt)
        self.backend: Endpoint | LocalModel
        if model.endswith(".gguf"):
            self.backend = LocalModel(Path(model), options)
        elif options.endpoint:
            self.backend = Endpoint(model, options)
            self.concurrency = options.concurrency
        else:
            raise InputError(f"llm:{model}: give --endpoint URL, or the path of a .gguf file")
        model = self.backend.model
        self.answers = Answers(options.folder / "answers" / f"{slug(model)}.jsonl")
        how = {"temperature": options.temperature, "max_tokens": options.max_tokens}
        super().__init__(name, model=model, prompt=self.prompt.text, history=self.history, **how)

    def choose(self, match: Match) -> str:
        prompt = self.prompt.fill(match)
        temperature = self.options.temperature or 0  # 0.0 has the key of 0
        identity: list[Any] = [self.backend.model, temperature, self.options.max_tokens]
        if temperature:  # a random answer belongs to one page of one episode
            identity += [match.seed, len(match.decisions)]
        key = hashlib.sha256(json.dumps([*identity, prompt]).encode()).hexdigest()
        answer = self.answers.get(key)
        if answer is None:
            answer = self.backend.answer(prompt, match.seed)
            if answer.text:
                self.answers.add(key, answer)
        match.tokens.append(answer.tokens)
        return answer.text


class FunctionPlayer(Player):
    """A user's function (text, actions, history of (text, action)) → index or words."""

    history = 10**6

    def __init__(self, name: str, target: str) -> None:
        self.function = registry.resolve("player", target, {})
        super().__init__(name, function=target)

    def choose(self, match: Match) -> int | str:
        page = match.page
        try:
            answer = self.function(page.text, list(page.actions), list(match.history.pages))
        except Exception as error:
            raise InputError(f"player {self.name}: {registry.failure_in(error)}") from error
        return answer if isinstance(answer, str) else operator.index(answer)


def open_player(name: str, options: Options) -> Player:
    """The player of a name, such as `best` or `agent:runs/demo`. `LABEL=` may precede it."""
    label, equals, target = name.partition("=")
    target = target if equals else name
    kind, _, rest = target.partition(":")
    if target in REFERENCES:
        return REFERENCES[target](label)
    if kind == "llm" and rest:
        model = Path(rest).stem if rest.endswith(".gguf") else rest
        return ModelPlayer(label if equals else f"llm:{model}", rest, options)
    installed = registry.registered("player")
    if kind in installed and rest:
        return InstalledPlayer(label, kind, rest)
    if registry.is_object(target):
        return FunctionPlayer(label, target)
    near = did_you_mean(target, (*REFERENCES, "llm", *installed))
    kinds = [*KINDS, *(f"{each}:…" for each in installed)]
    raise InputError(f'player "{target}": choose one of {", ".join(kinds)}.{near}')
