"""A tournament: players times games, with rows that a later run continues.

    GAME/PLAYER.jsonl   a header with the settings, then one line for each match
    answers/            answers of language models, by the hash of the prompt

A line is written when its match is over, so that nothing is lost when a tournament is interrupted.
Its decisions are [page, choice, best choice, readable, regret, gaps]: texts are numbers of the
strings in `texts` of this line and all lines before; gaps are [value, count, value, count …].
"""

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drrn.arena.match import Decision, Result
from drrn.arena.measures import Measures, measures
from drrn.arena.players import Interrupted, Player
from drrn.compiled.oracle import SolvedGame, solve_game
from drrn.errors import InputError
from drrn.files import make_folder, read_text, slug, write
from drrn.game.contract import fingerprint_of
from drrn.game.episodes import Episode
from drrn.game.make import GameSpec, spec_for
from drrn.stories.authored import Explorable

DIGITS = 9


@dataclass(frozen=True)
class Contest:
    """A game of the tournament, or its version in other words."""

    spec: GameSpec
    name: str  # short: the game's name without folder and suffix
    words: str = ""  # the set of paraphrases; "" for the original

    @property
    def label(self) -> str:
        return label_of(self.name, self.words)

    def solve(self) -> SolvedGame:
        """Open and solve the game."""
        return solve_game(self.spec.open())


def label_of(game: str, words: str) -> str:
    """Return the name of a game, with that of its paraphrases."""
    return f"{game} ({words})" if words else game


def contests_of(source: str, sets: Sequence[str] | None) -> list[Contest]:
    """Return a game, and its versions in other words.

    `sets` are names of paraphrases; none of them (an empty list) means all that the game has.
    """
    spec = spec_for(source)
    short = Path(spec.source).stem if Path(spec.source).suffix else source
    original = Contest(spec, short.replace("diagnostic:", ""))
    if sets is None:
        return [original]
    game = spec.open()
    known = list(game.rules.paraphrases) if isinstance(game, Explorable) else []
    missing = [name for name in sets if name not in known]
    if missing and known:
        raise InputError(f'{source}: no paraphrases "{missing[0]}"; it has {", ".join(known)}')
    chosen = [name for name in known if not sets or name in sets]
    others = [
        replace(original, spec=replace(spec, paraphrased=name), words=name) for name in chosen
    ]
    return [original, *others]


@dataclass
class Rows:
    """The matches of one player in one game, in a file."""

    path: Path
    header: dict[str, Any]
    results: list[Result] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Rows":
        """Read a file; a last line that was cut short is dropped."""
        lines = read_text(path).splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            write(path, "".join(lines[:-1]))
            lines.pop()
        try:
            rows = cls(path, json.loads(lines[0]))
            for line in lines[1:]:
                rows.results.append(rows._result(json.loads(line)))
        except (ValueError, LookupError, TypeError) as error:
            raise InputError(f"{path}: damaged: {error}; delete it to play again") from error
        return rows

    @classmethod
    def open(cls, path: Path, header: dict[str, Any]) -> "Rows":
        """Read the rows of the same game and player, or start a new file."""
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size:
                rows = cls.read(path)
                different = [key for key in header if rows.header.get(key) != header[key]]
                if different:
                    cause = f"these rows have another {different[0]}"
                    raise InputError(f"{path}: {cause}; choose another --out, or delete the file")
                return rows
        make_folder(path.parent)
        write(path, json.dumps(header, ensure_ascii=False) + "\n")
        return cls(path, header)

    @property
    def player(self) -> str:
        return str(self.header["player"])

    @property
    def game(self) -> str:
        return str(self.header["game"])

    @property
    def label(self) -> str:
        """The name of the game, and of the paraphrases."""
        return label_of(self.game, self.header["words"])

    def measures(self) -> Measures:
        """Measure the player by these matches."""
        return measures(self.results, self.header["best"], self.header["random"])

    def add(self, result: Result) -> None:
        """Append a match."""
        first_new = len(self.texts)
        decisions = [self._row(decision) for decision in result.decisions]
        entry = {
            "seed": result.seed,
            "final_reward": round(result.episode.final_reward, DIGITS),
            "return": round(result.episode.total, DIGITS),
            "ending": result.episode.ending,
            "luck": round(result.luck, DIGITS),
            "tokens": list(result.tokens),
            "texts": list(self.texts)[first_new:],
            "decisions": decisions,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
        self.results.append(result)

    def _row(self, decision: Decision) -> list[Any]:
        texts = (decision.page, decision.choice, decision.best)
        numbers = [self.texts.setdefault(text, len(self.texts)) for text in texts]
        counts = sorted(Counter(round(gap, DIGITS) for gap in decision.gaps).items())
        flat = [number for pair in counts for number in pair]
        return [*numbers, int(decision.readable), round(decision.regret, DIGITS), flat]

    def _result(self, entry: dict[str, Any]) -> Result:
        for text in entry["texts"]:
            self.texts[text] = len(self.texts)
        names = list(self.texts)
        decisions = []
        for page, choice, best, readable, regret, flat in entry["decisions"]:
            gaps = [flat[i] for i in range(0, len(flat), 2) for _ in range(flat[i + 1])]
            texts = (names[page], names[choice], names[best])
            decisions.append(Decision(*texts, tuple(gaps), regret, bool(readable)))
        outcome = (entry["final_reward"], entry["return"], len(decisions), entry["ending"])
        prompts, answers = entry["tokens"]
        luck = entry["luck"]
        episode = Episode(*outcome)
        return Result(entry["seed"], episode, luck, tuple(decisions), (prompts, answers))


def rows_path(folder: Path, contest: str, player: str) -> Path:
    """Return the file of a player's matches in a game."""
    return folder / slug(contest) / f"{slug(player)}.jsonl"


def read_all(folder: Path) -> list[Rows]:
    """Read the rows of a tournament."""
    paths = sorted(folder.glob("*/*.jsonl"))
    rows = [Rows.read(path) for path in paths if path.parent.name != "answers"]
    return [each for each in rows if each.results]


def play(
    contest: Contest,
    game: SolvedGame,
    player: Player,
    seeds: Sequence[int],
    folder: Path,
    hide: Callable[[str], str] = str,
) -> Iterator[Result]:
    """Play the matches that have no row yet, and yield each when it is over.

    `hide` returns what is written in place of a text of the game, such as its hash.
    """
    header = {
        "game": contest.name,
        "words": contest.words,
        "title": game.title,
        "fingerprint": fingerprint_of(game.game),
        "best": round(game.best, DIGITS),
        "random": round(game.random, DIGITS),
        "player": player.name,
        "settings": player.settings,
    }
    rows = Rows.open(rows_path(folder, contest.label, player.name), header)
    done = {result.seed for result in rows.results}
    left = [seed for seed in player.prepare(contest, seeds) if seed not in done]
    for result in _matches(game, player, left):
        rows.add(_with_texts(result, hide))
        yield result


def _with_texts(result: Result, hide: Callable[[str], str]) -> Result:
    decisions = tuple(
        replace(each, page=hide(each.page), choice=hide(each.choice), best=hide(each.best))
        for each in result.decisions
    )
    ending = result.episode.ending
    episode = replace(result.episode, ending=ending and hide(ending))
    return replace(result, episode=episode, decisions=decisions)


def _matches(game: SolvedGame, player: Player, seeds: Sequence[int]) -> Iterator[Result]:
    """Yield the matches as they end; several at once if the player allows that."""
    if player.concurrency == 1:
        for seed in seeds:
            yield player.play(game, seed)
        return
    pool = ThreadPoolExecutor(player.concurrency)
    play_one: Callable[[int], Result] = lambda seed: player.play(game.another(), seed)  # noqa: E731
    waiting: set[Future[Result]] = {pool.submit(play_one, seed) for seed in seeds}
    try:
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        player.stop.set()
        pool.shutdown(cancel_futures=True)
        player.stop.clear()
        for future in waiting:
            if not future.cancelled():
                with contextlib.suppress(Interrupted, InputError):
                    future.result()
