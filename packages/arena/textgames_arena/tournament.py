"""A tournament: players times games, with rows that a later run continues.

    GAME/PLAYER.jsonl   a header with the settings, then one line for each match
    answers/            answers of language models, by the hash of the prompt

A line is written when its match is over, and an answer when it arrives: an interrupted tournament
loses at most the answers in flight. A decision is [page, choice, best choice, readable, regret,
gaps]. Texts are numbers of the strings in `texts` of this line and all lines before, and gaps are
[value, count, value, count …].
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from textgames.compiled.oracle import SolvedGame
from textgames.errors import InputError
from textgames.files import append_line, read_lines, slug, write
from textgames.game.contract import fingerprint_of, story_of
from textgames.game.episodes import Episode
from textgames.openers import GameSpec, spec_for
from textgames.progress import tracked
from textgames_arena.match import Decision, Result
from textgames_arena.players import Player, name_of

DIGITS = 9


def specs_of(source: str, sets: Sequence[str] | None = None) -> list[GameSpec]:
    """A game, and its versions in other words: the named sets, or all for an empty list."""
    spec = spec_for(source)
    names = [] if sets is None else list(story_of(spec.open()).paraphrase_sets)
    if sets is not None and not names:
        raise InputError(f"{source}: this game has no paraphrases; leave out --paraphrased")
    missing = [name for name in sets or () if name not in names]
    if missing:
        raise InputError(f'{source}: no paraphrases "{missing[0]}"; it has {", ".join(names)}')
    chosen = [name for name in names if not sets or name in sets]
    return [spec, *(replace(spec, paraphrased=name) for name in chosen)]


@dataclass
class Rows:
    """The matches of one player in one game, in a file."""

    path: Path
    header: dict[str, Any]
    results: list[Result] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)
    hide: Callable[[str], str] = str  # returns what is written in place of a text

    def __post_init__(self) -> None:
        self.game: str = self.header["game"]
        self.player: str = self.header["player"]
        words = self.header["words"]
        self.label = f"{self.game} ({words})" if words else self.game

    @classmethod
    def read(cls, path: Path) -> "Rows":
        """Read a file, in the order of the seeds. A last line that was cut short is dropped."""
        lines = read_lines(path)
        if lines and not lines[-1].endswith("\n"):
            write(path, "".join(lines[:-1]))
            lines.pop()
        try:
            rows = cls(path, json.loads(lines[0]))
            for line in lines[1:]:
                rows.results.append(rows._result(json.loads(line)))
            rows.results.sort(key=lambda result: result.seed)
        except (ValueError, LookupError, TypeError) as error:
            raise InputError(f"{path}: damaged: {error}; delete it to play again") from error
        return rows

    @classmethod
    def open(cls, folder: Path, header: dict[str, Any]) -> "Rows":
        """Read the rows of the same game and player, or start a new file."""
        new = cls(folder, header)
        path = folder / slug(new.label) / f"{slug(new.player)}.jsonl"
        if not path.exists() or not path.stat().st_size:
            write(path, json.dumps(header, ensure_ascii=False) + "\n")
        rows = cls.read(path)
        different = [key for key in header if rows.header.get(key) != header[key]]
        if different:
            cause = f"these rows have another {different[0]}"
            raise InputError(f"{path}: {cause}; choose another --out, or delete the file")
        return rows

    def add(self, result: Result) -> None:
        """Append a match."""
        first_new = len(self.texts)
        ending = result.episode.ending
        decisions = [self._row(decision) for decision in result.decisions]
        entry = {
            "seed": result.seed,
            "final_reward": round(result.episode.final_reward, DIGITS),
            "return": round(result.episode.total, DIGITS),
            "ending": ending and self.hide(ending),
            "luck": round(result.luck, DIGITS),
            "tokens": list(result.tokens),
            "texts": list(self.texts)[first_new:],
            "decisions": decisions,
        }
        append_line(self.path, json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
        self.results.append(result)

    def _row(self, decision: Decision) -> list[Any]:
        texts = map(self.hide, (decision.page, decision.choice, decision.best))
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
        outcome = (entry["final_reward"], entry["return"], len(decisions), entry["ending"])
        tokens: Any = tuple(entry["tokens"])
        return Result(entry["seed"], Episode(*outcome), entry["luck"], tuple(decisions), tokens)


def read_all(folder: Path) -> list[Rows]:
    """Read the rows of a tournament."""
    paths = sorted(folder.glob("*/*.jsonl"))
    rows = [Rows.read(path) for path in paths if path.parent.name != "answers"]
    return [each for each in rows if each.results]


def play(
    spec: GameSpec,
    game: SolvedGame,
    player: Player,
    seeds: Sequence[int],
    folder: Path,
    hide: Callable[[str], str] = str,
) -> list[Result]:
    """Play the matches that have no row yet. `hide` returns what is written in place of a text."""
    header = {
        "game": name_of(spec),
        "words": spec.paraphrased or "",
        "title": game.title,
        "fingerprint": fingerprint_of(game.game),
        "best": round(game.best, DIGITS),
        "random": round(game.random, DIGITS),
        "player": player.name,
        "settings": player.settings,
    }
    rows = Rows.open(folder, header)
    rows.hide = hide
    done = {result.seed for result in rows.results}
    missing = [seed for seed in seeds if seed not in done]
    matches = _matches(game, player, missing)
    for result in tracked(matches, len(missing), f"{rows.label}, {player.name}"):
        rows.add(result)
    return sorted(rows.results[len(done) :], key=lambda result: result.seed)


def _matches(game: SolvedGame, player: Player, seeds: Sequence[int]) -> Iterator[Result]:
    """Yield each match when it is over. Several are played at once if possible."""
    finished: SimpleQueue[Future[Result]] = SimpleQueue()
    pool = ThreadPoolExecutor(player.concurrency)
    try:
        for seed in seeds:
            match = pool.submit(lambda each: player.play(game.another(), each), seed)
            match.add_done_callback(finished.put)
        for _ in seeds:
            yield finished.get().result()
    finally:
        player.stop.set()
        pool.shutdown(cancel_futures=True)
        player.stop.clear()
