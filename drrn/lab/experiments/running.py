"""Running one job: from its beginning, or from where it was interrupted, to its rows."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.make import make
from drrn.game.optional import close, fingerprint_of, sources_of
from drrn.lab.experiments.added import PARSERS, SUITE_JOBS
from drrn.lab.experiments.beyond import FOLLOWED, REWORDED
from drrn.lab.experiments.folder import GAME, Results, difference
from drrn.lab.experiments.plan import BEST, PAIRED
from drrn.lab.experiments.rows import EVALUATIONS, FACTS, KINDS, Row, text_of
from drrn.lab.experiments.variants import Added, Beyond, Swept, Variant
from drrn.runs import storage
from drrn.settings import Settings
from drrn.stories.authored import paraphrases_of
from drrn.stories.twine.rules import DEFAULT_SET

FACTS_EDITION = 2  # raised whenever what is told of a game changes, so that it is told anew

if TYPE_CHECKING:
    from drrn.runs.run import Run
    from drrn.runs.scores import Round
    from drrn.runs.trainer import Trainer


@dataclass(frozen=True)
class Work:
    """A job, or a game's own facts (no variant), and all that it needs to know."""

    root: Path
    source: str  # what `make` opens
    game: str
    variant: Variant | None
    settings: Settings
    final: dict[str, int]  # episodes after the last round, by policy
    hashes: dict[str, str | None]  # of the game and its paraphrases
    commit: str
    device: str = "cpu"
    vectors: str | None = (
        None  # the digest of the word vectors, where its settings name a file of them
    )
    suite: bool = False  # whether the game is of a suite, whose facts are fewer

    @property
    def name(self) -> str:
        return self.variant.name if self.variant else GAME

    @property
    def wanted(self) -> dict[str, Any]:
        """The settings and hashes that its rows must have been made with, to count."""
        if self.variant is None:
            told = {
                "alpha": self.settings.exploration.alpha,
                "discount": self.settings.learner.discount,
            }
            return {**self.hashes, **told, "edition": FACTS_EDITION}
        final = {f"final_{policy}": episodes for policy, episodes in self.final.items()}
        read = {"vectors": self.vectors} if self.vectors else {}  # wherever the file lies
        return {**self.hashes, **self.settings.flat(), **final, **read}


def hashes_of(game: Game, variant: Variant | None = None) -> dict[str, str | None]:
    """Hashes of what a result belongs to: the game with its rewards, and the other words of its actions."""
    found = {"sha256": fingerprint_of(game), "paraphrases": _hash_of(paraphrases_of(game))}
    return (
        {**found, REWORDED: _hash_of(paraphrases_of(game, REWORDED))}
        if isinstance(variant, Beyond)
        else found
    )


def _hash_of(said: Mapping[str, str] | None) -> str | None:
    return None if said is None else hashlib.sha256(repr(sorted(said.items())).encode()).hexdigest()


def is_done(work: Work) -> bool:
    """Whether its rows are there. Rows, or a run half-way, that were made otherwise are an `InputError`."""
    results = Results(work.root)
    stored = results.load(work.game, work.name)
    made: dict[str, Any] | None = stored.record["wanted"] if stored else None
    place = results.stem(work.game, work.name).with_name(f"{work.name}.csv")
    if made is None and (results.work(work.game, work.name) / "config.json").exists():
        from drrn.runs.config import read_config
        from drrn.runs.run import Run

        place = results.work(work.game, work.name)
        try:
            begun = read_config(place)
        except InputError as error:
            raise InputError(f"{error}: --again begins anew") from error
        if (place / "checkpoint.safetensors").exists():
            storage.load_tensors(place / "checkpoint.safetensors")  # whole, or it must begin anew
            Run(place).rows()
        read = {"vectors": begun["vectors"].get("sha256")} if begun.get("vectors") else {}
        made = {**work.wanted, **begun["settings"], "sha256": begun["game"]["sha256"], **read}
    if made is not None and (apart := difference(made, work.wanted)):
        raise InputError(
            f"{place}: made otherwise ({apart}): give another --out, or --again to make it anew"
        )
    return stored is not None


def run(work: Work) -> Iterator[Round]:
    """Do the work, round by round; rows are there when it ends."""
    start = time.perf_counter()
    game = make(work.source)
    if hashes_of(game, work.variant) != work.hashes:
        raise InputError(f"{work.source}: the story was changed meanwhile: run the command again")
    try:
        if work.variant is None:
            _store_facts(work, game, start)
        else:
            yield from _learn(work, work.variant, game, start)
    finally:
        close(game)


def _learn(work: Work, variant: Variant, game: Game, start: float) -> Iterator[Round]:
    from drrn.lab.experiments.quests import keep_played
    from drrn.lab.experiments.trace import EPISODES, trace_of
    from drrn.runs.trainer import Trainer

    trainer = Trainer(game, work.settings, work.device)
    run = run_folder(work, trainer)
    trace = trace_of(run.folder, work.game, trainer.compiled) if variant == BEST else None
    clock = Clock(run, work, start)
    for finished in trainer.train():
        episodes = finished.number * work.settings.run.episodes_per_round
        if trace and (episodes in EPISODES or finished.number == work.settings.run.rounds):
            trace.look(
                trainer.model, episodes
            )  # before the checkpoint: a round that is not kept is done again
        if isinstance(variant, Added):
            keep_played(run, trainer)
        run.save(trainer)
        clock.tick(finished.learning_seconds)
        yield finished
    files = _measured(work, variant, game, trainer, run)
    if trace:
        last = work.settings.run.rounds * work.settings.run.episodes_per_round
        files[".embeddings"] = text_of(
            trace.rows(work.settings.run.seeds, last), KINDS[".embeddings"]
        )
    _store(work, game, files, clock.seconds(), clock.made_by)
    (run.folder / "checkpoint.safetensors").unlink(
        missing_ok=True
    )  # the rows are there: nothing to go on with


def run_folder(work: Work, trainer: Trainer) -> Run:
    """The run where it was cut, put back into the trainer; or a new one."""
    from drrn.runs.run import Run

    folder = Results(work.root).work(work.game, work.name)
    if not (folder / "checkpoint.safetensors").exists():
        shutil.rmtree(folder, ignore_errors=True)  # interrupted in its first round
        return Run.create(folder, trainer)
    run = Run(folder)
    run.restore(trainer)
    return run


def _measured(
    work: Work, variant: Variant, game: Game, trainer: Trainer, run: Run
) -> dict[str, str]:
    """The text of each file of rows."""
    from drrn.lab.experiments import measure

    if isinstance(variant, Beyond):
        return _measured_beyond(work, game, trainer, run)
    if isinstance(variant, Added):
        return _measured_added(work, game, trainer, run)
    if isinstance(variant, Swept):
        return _measured_swept(work, game, trainer, run)
    common: Row = {"game": work.game, **asdict(variant)}
    rows = measure.round_rows(run.rows(), common)
    rows += measure.final_rows(trainer, game, work.final, common)
    has_paraphrases = paraphrases_of(game) is not None
    if has_paraphrases:
        paraphrased = make(work.source, paraphrased=True)
        rows += measure.final_rows(trainer, paraphrased, work.final, common, paraphrased=True)
    files = {"": text_of(rows, EVALUATIONS)}
    compiled = trainer.compiled
    if compiled and has_paraphrases and variant in PAIRED:
        files[".pairs"] = text_of(measure.pair_rows(trainer.model, game, compiled), KINDS[".pairs"])
    if (
        compiled
        and variant == BEST
        and (examples := measure.example_rows(trainer, work.game, game, compiled))
    ):
        files[".examples"] = text_of(examples, KINDS[".examples"])
    return files


def _measured_beyond(work: Work, game: Game, trainer: Trainer, run: Run) -> dict[str, str]:
    """The same of a job beyond the paper: by `best`, too, and in other words altogether."""
    from drrn.lab.experiments import measure

    common: Row = {"game": work.game, **{name: work.settings.flat()[name] for name in asdict(BEST)}}
    rows = measure.round_rows(run.rows(), common, FOLLOWED)
    rows += measure.final_rows(trainer, game, work.final, common)
    files = {}
    for name, ending in ((DEFAULT_SET, ""), (REWORDED, f".{REWORDED}")):
        if paraphrases_of(game, name) is not None:
            other = make(work.source, paraphrased=name)
            said = measure.final_rows(trainer, other, work.final, common, paraphrased=True)
            if ending:
                files[ending] = text_of(said, KINDS[ending])
            else:
                rows += said
    return {"": text_of(rows, EVALUATIONS), **files}


def _measured_swept(work: Work, game: Game, trainer: Trainer, run: Run) -> dict[str, str]:
    """The same of a job of a sweep: no more than how it plays."""
    from drrn.lab.experiments import measure

    common: Row = {"game": work.game, **{name: work.settings.flat()[name] for name in asdict(BEST)}}
    rows = measure.round_rows(run.rows(), common, FOLLOWED)
    return {
        "": text_of([*rows, *measure.final_rows(trainer, game, work.final, common)], EVALUATIONS)
    }


def _measured_added(work: Work, game: Game, trainer: Trainer, run: Run) -> dict[str, str]:
    """The same of a comparison that was added: the share of quests done, too, where the game has quests."""
    from drrn.lab.experiments import measure, quests

    common: Row = {"game": work.game, **{name: work.settings.flat()[name] for name in asdict(BEST)}}
    rows = measure.round_rows(run.rows(), common)
    found = measure.final_evaluations(trainer, trainer.played, work.final)
    rows += measure.rows_of_evaluations(found, work.settings, common)
    if paraphrases_of(game) is not None:
        other = make(work.source, paraphrased=True)
        rows += measure.final_rows(trainer, other, work.final, common, paraphrased=True)
    files = {"": text_of(rows, EVALUATIONS)}
    if work.variant in (*PARSERS, *SUITE_JOBS):
        told = quests.round_quests(run, work.settings.run.seeds) + quests.final_quests(
            found, trainer, run
        )
        files[".quests"] = text_of(told, KINDS[".quests"])
    return files


def _store_facts(work: Work, game: Game, start: float) -> None:
    from drrn.lab.experiments.facts import facts, suite_facts

    told = suite_facts(game, work.source) if work.suite else facts(game, work.settings)
    rows = [{"measure": name, "value": value} for name, value in told.items()]
    seconds = {"whole": round(time.perf_counter() - start, 1)}
    _store(
        work,
        game,
        {"": text_of(rows, FACTS)},
        seconds,
        {"commit": [work.commit], "device": [work.device]},
    )


def _store(
    work: Work,
    game: Game,
    files: dict[str, str],
    seconds: dict[str, float],
    made_by: dict[str, list[str]],
) -> None:
    from drrn.lab.experiments.provenance import versions

    record = {
        "wanted": work.wanted, "sources": sources_of(game), "versions": versions(), "seconds": seconds,
        **{name: ", ".join(each) for name, each in made_by.items()},
        **({"vectors": Path(str(work.settings.model.vectors)).name} if work.vectors else {}),
    }  # fmt: skip
    Results(work.root).store(work.game, work.name, files, record)


class Clock:
    """How long a job took, and the commits and devices that made it: the parts included that came before it was cut."""

    def __init__(self, run: Run, work: Work, start: float) -> None:
        self.run = run
        self.start = start
        self.learned = 0.0
        self.before = {"whole": 0.0, "learning": 0.0}
        self.made_by = {"commit": [work.commit], "device": [work.device]}
        with suppress(OSError, ValueError, TypeError, KeyError):
            kept = json.loads((run.folder / "clock.json").read_text(encoding="utf-8"))
            made_by = {
                name: list(dict.fromkeys([*kept[name], *now])) for name, now in self.made_by.items()
            }
            self.before = dict(kept["seconds"])
            self.made_by = made_by

    def tick(self, learning: float) -> None:
        self.learned += learning
        self.run.write("clock.json", json.dumps({"seconds": self.seconds(), **self.made_by}))

    def seconds(self) -> dict[str, float]:
        whole = self.before["whole"] + time.perf_counter() - self.start
        return {
            "whole": round(whole, 1),
            "learning": round(self.before["learning"] + self.learned, 1),
        }
