"""Protocols of papers: folds, budgets, measures and published scores, one TOML for each.

`protocol:NAME/GAME` names a game of a protocol; a game in a file is `protocol:NAME/PATH`, such as
`protocol:jericho-aaai2020/games/zork1.z5`.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textgames.declaration import without_none
from textgames.errors import InputError, did_you_mean
from textgames.files import read_toml
from textsuites.catalogue import with_options

PREFIX = "protocol:"
SUFFIX = re.compile(r"\.z\d", re.IGNORECASE)  # of a Z-machine file
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Protocol:
    """How a paper trains and scores an agent on one game, and the scores that it reports."""

    paper: str  # name of the TOML
    game: str
    name: str  # of the suite's game; {file}: the path of a file
    title: str
    source: str
    measure: str  # "test", "last tenth" of the evaluations or "last episodes" of the training
    max_steps: int
    interactions: int
    policy: str  # of our agent, whose score is reported
    settings: dict[str, Any]
    differs: str  # from the paper
    seeds: int  # of our rows
    published_interactions: str = ""
    scored_before: str = ""  # how often the scored variations were played, with other settings
    checked: str = ""  # where the published scores were verified; empty: they were not
    fold: str | None = None  # of the measured episodes
    episodes: int = 0
    scale: float = 1.0  # our scores are divided by it
    published: dict[str, float] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """Its name in a folder of results."""
        return f"{self.paper}-{self.game}"

    @property
    def training(self) -> dict[str, Any]:
        """The settings of the run, by flat name."""
        return without_none({**self.settings, "interactions": self.interactions})

    @property
    def of_file(self) -> bool:
        """Whether the game is a file that no suite includes."""
        return "{file}" in self.name

    @property
    def full_name(self) -> str:
        """What `read_protocol` reads."""
        game = f"FOLDER/{self.game}.z5" if self.of_file else self.game
        return f"{PREFIX}{self.paper}/{game}"

    def matches(self, path: Path) -> bool:
        """Return whether a path has the name of the game's file, in any case."""
        is_story = SUFFIX.fullmatch(path.suffix) is not None
        return self.of_file and is_story and path.stem.lower() == self.game

    def training_game(self, file: Path | None = None) -> str:
        """Return the name of the game to train on."""
        if self.of_file and file is None:
            raise InputError(f"{self.slug}: needs the file of the game; write {self.full_name}")
        return with_options(self.name.format(file=file), max_steps=self.max_steps)

    def test_game(self, training_game: str) -> str | None:
        """The game to score on after the training, or None if there is no separate one."""
        if self.measure != "test":
            return None
        return with_options(training_game, fold=self.fold, draw="in-order")


def protocols() -> list[Protocol]:
    """Return the protocol of each game of each paper."""
    every = []
    for path in sorted(FOLDER.glob("*.toml")):
        table = read_toml(path)
        games = table.pop("games")
        for game, own in games.items():
            settings = {**table["settings"], **own.get("settings", {})}
            every.append(Protocol(path.stem, game, **{**table, **own, "settings": settings}))
    return every


def read_protocol(name: str) -> tuple[Protocol, str]:
    """Return the protocol that `protocol:NAME/GAME` names, and the name of its training game."""
    paper, _, game = name.removeprefix(PREFIX).partition("/")
    path = Path(game).expanduser()
    every = protocols()
    for protocol in every:
        file = path if protocol.matches(path) else None
        if protocol.paper == paper and (protocol.game == game or file):
            return protocol, protocol.training_game(file)
    names = [protocol.full_name for protocol in every]
    near = did_you_mean(name, names)
    options = " A protocol has no options, which follow a question mark." if "?" in name else ""
    raise InputError(f'no protocol is named "{name}".{options}{near} Known: {", ".join(names)}')
