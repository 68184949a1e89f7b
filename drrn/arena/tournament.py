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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drrn.arena.match import Contest, Decision, Result
from drrn.arena.players import Interrupted, Player
from drrn.compiled.oracle import SolvedGame, solve_game
from drrn.errors import InputError
from drrn.files import make_folder, read_text, slug, write
from drrn.game.contract import fingerprint_of
from drrn.game.episodes import Episode
from drrn.game.make import spec_for
from drrn.progress import tracked
from drrn.stories.authored import Explorable

DIGITS = 9


def label_of(game: str, words: str) -> str:
    """Return the name of a game, with that of its paraphrases."""
    return f"{game} ({words})" if words else game


def contests_of(source: str, sets: Sequence[str] | None = None) -> list[Contest]:
    """Return a game, and its versions in other words.

    `sets` are names of paraphrases; none of them (an empty list) means all that the game has.
    """
    spec = spec_for(source)
    short = Path(spec.source).stem if Path(spec.source).suffix else source
    original = Contest(spec, short.replace("diagnostic:", ""))
    game = spec.open() if sets is not None else None
    names = list(game.rules.paraphrases) if isinstance(game, Explorable) else []
    if sets is not None and not names:
        raise InputError(f"{source}: this game has no paraphrases; leave out --paraphrased")
    missing = [name for name in sets or () if name not in names]
    if missing:
        raise InputError(f'{source}: no paraphrases "{missing[0]}"; it has {", ".join(names)}')
    chosen = [name for name in names if not sets or name in sets]
    specs = {name: replace(spec, paraphrased=name) for name in chosen}
    return [original, *(replace(original, spec=specs[name], words=name) for name in chosen)]


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
        if path.exists() and path.stat().st_size:
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
        return label_of(self.game, self.header["words"])

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
        for *numbers, readable, regret, flat in entry["decisions"]:
            gaps = [flat[i] for i in range(0, len(flat), 2) for _ in range(flat[i + 1])]
            page, choice, best = (names[number] for number in numbers)
            decisions.append(Decision(page, choice, best, tuple(gaps), regret, bool(readable)))
        prompts, answers = entry["tokens"]
        count = len(decisions)
        episode = Episode(entry["final_reward"], entry["return"], count, entry["ending"])
        tokens = (prompts, answers)
        return Result(entry["seed"], episode, entry["luck"], tuple(decisions), tokens)


def read_all(folder: Path) -> list[Rows]:
    """Read the rows of a tournament."""
    paths = sorted(folder.glob("*/*.jsonl"))
    rows = [Rows.read(path) for path in paths if path.parent.name != "answers"]
    return [each for each in rows if each.results]


def play_contest(
    contest: Contest, seeds: Mapping[Player, range], folder: Path, hide: Callable[[str], str] = str
) -> None:
    """Play the matches of a game that have no row yet, with a progress bar."""
    game = solve_game(contest.spec.open())
    for player, own in seeds.items():
        label = f"{label_of(contest.name, contest.words)}, {player.name}"
        for _ in tracked(play(contest, game, player, own, folder, hide), len(own), label):
            pass


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
    label = label_of(contest.name, contest.words)
    rows = Rows.open(folder / slug(label) / f"{slug(player.name)}.jsonl", header)
    done = {result.seed for result in rows.results}
    missing = [seed for seed in player.prepare(contest, seeds) if seed not in done]
    for result in _matches(game, player, missing):
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
        yield from (player.play(game, seed) for seed in seeds)
        return
    pool = ThreadPoolExecutor(player.concurrency)
    waiting: set[Future[Result]] = {
        pool.submit(lambda seed: player.play(game.another(), seed), seed) for seed in seeds
    }
    try:
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda future: future.exception() is not None):
                yield future.result()
    finally:
        player.stop.set()
        pool.shutdown(cancel_futures=True)
        player.stop.clear()
        for future in waiting:
            if not future.cancelled():
                with contextlib.suppress(Interrupted, InputError):
                    future.result()
