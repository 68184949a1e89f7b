"""Players: random, best, trained agents, people, language models and your own functions."""

import hashlib
import json
import operator
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from drrn.arena.llm import Answers, Endpoint, LocalModel, Options, Prompt
from drrn.arena.match import Match, Result
from textgames import registry
from textgames.compiled.oracle import SolvedCompiled, SolvedGame
from textgames.compiled.solve import CLOSE
from textgames.errors import InputError, did_you_mean, require
from textgames.files import append_line, home, read_bytes, read_lines, slug
from textgames.game.contract import Game, Observation
from textgames.openers import GameSpec
from textgames.wording import check_texts

Chooser = Callable[[Match], int | str | None]
KINDS = ("random", "best", "agent:RUN", "person:NAME", "llm:MODEL", "module:function")
ANOTHER_VERSION = "the saved game belongs to another version of this game; delete its line in"


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

    def prepare(self, spec: GameSpec, seeds: Sequence[int]) -> Sequence[int]:
        """The seeds of its matches in a game. `seeds` are those of all players."""
        return seeds

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


class AgentPlayer(Player):
    """A trained agent. The replica with the number seed modulo replicas plays."""

    def __init__(self, name: str, folder: Path) -> None:
        from drrn.runs.agent import Agent
        from drrn.runs.run import Run
        from drrn.runs.storage import WEIGHTS

        self.agent = Agent.load(folder)
        weights = hashlib.sha256(read_bytes(folder / WEIGHTS)).hexdigest()
        super().__init__(name, weights=weights, recipe=Run(folder).config.get("recipe"))

    def chooser(self, seed: int) -> Chooser:
        policy = self.agent.policy(seed=seed, replica=seed % len(self.agent.model.seeds))
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
        answer = self.function(page.text, list(page.actions), list(match.history.pages))
        return answer if isinstance(answer, str) else operator.index(answer)


# --- people: the page appends a line to games.jsonl for each game that was finished without help


@dataclass(frozen=True)
class PersonGame:
    """A finished game of a person."""

    player: str
    game: str
    source: str
    seed: int
    choices: list[int]  # indices of actions in the author's order

    def __post_init__(self) -> None:
        check_texts("player, game or source", (self.player, self.game, self.source))
        numbers = (self.seed, *self.choices)
        if not all(type(each) is int for each in numbers) or min(self.choices, default=0) < 0:
            raise ValueError("the seed and the choices must be whole numbers, no choice below 0")


def games_file() -> Path:
    """The path of games.jsonl."""
    return home() / "games.jsonl"


def save_game(game: PersonGame) -> None:
    """Append a finished game."""
    append_line(games_file(), json.dumps(asdict(game)))


def read_games() -> list[PersonGame]:
    """All games that people finished, the oldest first."""
    path = games_file()
    lines = read_lines(path) if path.exists() else []
    games = []
    for number, line in enumerate(lines, 1):
        try:
            games.append(PersonGame(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise InputError(f"{path}, line {number}: damaged: {error}; delete the line") from error
    return games


class PersonPlayer(Player):
    """The games that a person finished, with the seeds of the page."""

    def __init__(self, name: str, person: str) -> None:
        super().__init__(name)
        games = read_games()
        self.games = [game for game in games if game.player == person]
        if not self.games:
            near = did_you_mean(person, sorted({game.player for game in games}))
            cure = "finish a game on the page (drrn serve) under this name"
            raise InputError(f'person "{person}" has no finished games; {cure}.{near}')

    def prepare(self, spec: GameSpec, seeds: Sequence[int]) -> Sequence[int]:
        """The seeds of the person's games. The first game with a seed counts."""
        self.spec = replace(spec, shuffle=False)
        names = (name_of(spec), spec.source)
        games = [each for each in self.games if each.game in names or each.source in names]
        self.choices = {each.seed: each.choices for each in reversed(games)}
        return [] if spec.paraphrased else sorted(self.choices)

    def play(self, game: SolvedGame, seed: int) -> Result:
        if not isinstance(game, SolvedCompiled):
            cause = "games of people need a game that can be compiled"
            raise InputError(f"{game.name}: {cause}; leave out {self.name}")
        match = Match(FollowedGame(game, self.spec.open()))
        match.start(seed)
        for index in self.choices[seed]:
            if index < len(match.page.actions) and not match.over:
                match.decide(index)
        if not match.page.ended:
            raise InputError(f"{game.name}, seed {seed}: {ANOTHER_VERSION} {games_file()}")
        return match.result()


class FollowedGame(SolvedCompiled):
    """A solved game in the states of the original, which is played at the same time."""

    def __init__(self, game: SolvedCompiled, original: Game) -> None:
        self.__dict__.update(game.another().__dict__)
        self.original = original

    def reset(self, seed: int | None = None) -> Observation:
        self.steps = 0
        return self._arrive(self.original.reset(seed), 0)

    def step(self, index: int) -> Observation:
        self.steps += 1
        return self._arrive(self.original.step(index), int(self.game.row[self.game.slots[index]]))

    def _arrive(self, page: Observation, row: int) -> Observation:
        """Go to the first outcome of a row that shows a page."""
        graph = self.game
        for state in graph.successor[graph.row_outcomes(row)].tolist():
            arrival = graph.go_to(state)
            same = (arrival.text, tuple(arrival.actions)) == (page.text, tuple(page.actions))
            if same and abs(arrival.reward - page.reward) < CLOSE:
                return arrival
        raise InputError(f"{self.name}: {ANOTHER_VERSION} {games_file()}")


def open_player(name: str, options: Options) -> Player:
    """The player of a name, such as `best` or `agent:runs/demo`. `LABEL=` may precede it."""
    label, equals, target = name.partition("=")
    target = target if equals else name
    kind, _, rest = target.partition(":")
    if target in REFERENCES:
        return REFERENCES[target](label)
    if kind == "agent" and rest:
        require("torch")
        return AgentPlayer(label, Path(rest))
    if kind == "person" and rest:
        return PersonPlayer(label, rest)
    if kind == "llm" and rest:
        model = Path(rest).stem if rest.endswith(".gguf") else rest
        return ModelPlayer(label if equals else f"llm:{model}", rest, options)
    if registry.is_object(target):
        return FunctionPlayer(label, target)
    near = did_you_mean(target, ("random", "best", "agent", "person", "llm"))
    raise InputError(f'player "{target}": choose one of {", ".join(KINDS)}.{near}')
